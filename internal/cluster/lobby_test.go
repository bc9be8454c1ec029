package cluster

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Whoever asks a node that ends meanwhile hears that, and not only that a file has ended.
func TestNodeThatEndsHangsUp(t *testing.T) {
	ca := authority(t)
	dir, err := Issue(ca, "a", []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loadCerts(dir, "a", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var l *lobby
	told := make(chan struct{})
	l, err = openLobby("127.0.0.1:0", c, time.Now, func(error) {}, func(context.Context, caller, *request) *answer {
		l.stop()
		<-told
		return new(answer)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	cl, err := Dial(l.ln.Addr().String(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Ask(t.Context(), "", "status", nil); !errors.Is(err, ErrHungUp) {
		t.Errorf("%v", err)
	}
	close(told)
}
