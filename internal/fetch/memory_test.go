package fetch

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"weir/page"
)

func TestBudgetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		if err := b.take(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		var order []string
		var wait sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		wait.Go(func() {
			if b.take(ctx, 9) == nil {
				t.Error("granted after giving up")
			}
		})
		synctest.Wait()
		wait.Go(func() {
			b.take(t.Context(), 2)
			order = append(order, "small")
		})
		synctest.Wait()
		if len(order) != 0 {
			t.Error("the second in the queue went first")
		}
		cancel() // now the small one fits
		wait.Wait()
		if b.try(1) {
			t.Error("more was granted than there is")
		}
		b.give(10)
		if !b.try(10) {
			t.Error("bytes were lost")
		}
	})
}

func TestBufferClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, maxBuffer).Draw(t, "bytes")
		i, size := class(n)
		if size < n || i < 0 || i >= len(pools) || size > max(2*n, minBuffer) {
			t.Fatalf("%d bytes go to class %d of %d", n, i, size)
		}
		b := getBuffer(n)
		if len(b) != 0 || cap(b) != size {
			t.Fatalf("buffer of %d for %d", cap(b), n)
		}
		putBuffer(b)
	})
}

// With memory for one small buffer, large answers go to disk instead of waiting
// for each other, and a second answer waits for the first to be released.
func TestMemoryIsBounded(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 8<<10)
	p := serve(t, says(ok+"\r\n"+body))
	cfg := local()
	cfg.Memory = minBuffer
	c := newClient(t, cfg)
	u := p.url(t, "/")
	first := open(t, c, u, p.addr.Addr()).Get(t.Context(), u, true)
	if first.Outcome != page.OK || payload(t, first) != body {
		t.Fatal(first.Outcome, first.Err)
	}
	if _, ok := first.Bytes(); ok {
		t.Error("the answer is in memory that is not there")
	}
	first.Release()

	answered := make(chan struct{}, 3)
	small := serve(t, func(s *scene) {
		s.hear()
		s.say(ok + "\r\nhi")
		answered <- struct{}{}
	})
	u = small.url(t, "/")
	held := open(t, c, u, small.addr.Addr()).Get(t.Context(), u, true)
	done := make(chan *Answer)
	ctx := t.Context()
	cn := open(t, c, u, small.addr.Addr())
	go func() { done <- cn.Get(ctx, u, true) }()
	held.Release()
	second := <-done
	if second.Outcome != page.OK || payload(t, second) != "hi" {
		t.Error(second.Outcome, second.Err)
	}

	// While it is held, the next is cut short rather than given what is not there.
	ctx, cancel := context.WithCancel(ctx)
	cn = open(t, c, u, small.addr.Addr())
	go func() { done <- cn.Get(ctx, u, true) }()
	for range 3 {
		<-answered
	}
	cancel()
	if third := <-done; third.Outcome != page.Aborted {
		t.Error(third.Outcome, third.Err)
	}
	second.Release()
}
