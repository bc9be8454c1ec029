package cluster

import (
	"context"
	"errors"
	"net"
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

// Whoever hears nothing in time learns where, and whether anything is there at all.
func TestNoAnswerInTime(t *testing.T) {
	dir, err := Issue(authority(t), "a", []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loadCerts(dir, "a", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, addr string) *LateError {
		cl, err := Dial(addr, dir)
		if err != nil {
			t.Fatal(err)
		}
		tries(func() bool {
			_, err = cl.Ask(ctx, "", "status", nil)
			return !errors.Is(err, ErrHungUp)
		})
		var late *LateError
		if !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) || late.Addr != addr {
			t.Fatalf("%v", err)
		}
		return late
	}

	mute, err := net.Listen("tcp", "127.0.0.1:0") // the system connects, and nobody says a word
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if late := ask(ctx, mute.Addr().String()); late.Met {
		t.Errorf("%v", late)
	}

	over, end := context.WithCancelCause(t.Context())
	told := make(chan struct{})
	l, err := openLobby("127.0.0.1:0", c, time.Now, func(error) {}, func(context.Context, caller, *request) *answer {
		end(context.DeadlineExceeded)
		<-told
		return new(answer)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	defer close(told)
	if late := ask(over, l.ln.Addr().String()); !late.Met {
		t.Errorf("%v", late)
	}
}
