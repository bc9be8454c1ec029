package main

import (
	"runtime"
	"testing"
	"time"
)

// A heap that has grown needs no ballast.
func TestBallastIsDropped(t *testing.T) {
	dropped := make(chan struct{})
	heap := make([]byte, 16<<20)
	carry(make([]byte, 1<<20), func() { close(dropped) })
	for end := time.Now().Add(5 * time.Minute); ; {
		runtime.GC()
		select {
		case <-dropped:
			runtime.KeepAlive(heap)
			return
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("it is kept")
		}
	}
}
