package node

import (
	"bufio"
	"io"
	"testing"

	"weir/crawl"
	"weir/overlay"
)

// TestHaltAndEnough: that a rule says stop and that there are pages enough are two things.
// The second is kept though the first came before, and stays when that is taken back; and
// the Engine is told by the peer alone, how things are then.
func TestHaltAndEnough(t *testing.T) {
	n := &node{events: make(chan crawl.Event, 9), log: &journal{w: bufio.NewWriter(io.Discard)}}
	p := newPeer(n, Peer{})
	told := func(want crawl.Hold) {
		t.Helper()
		if len(n.events) != 0 {
			t.Errorf("%+v was told by another", <-n.events)
		}
		for range p.take() {
			p.hold(t.Context())
		}
		var last crawl.Event
		for len(n.events) > 0 {
			last = <-n.events
		}
		if last != want {
			t.Errorf("told %+v, want %+v", last, want)
		}
	}
	p.halt("a rule")
	told(crawl.Hold{Enough: true})
	p.halt("")
	p.throttled = true
	told(crawl.Hold{On: true})
	p.throttled = false
	p.halt("a rule")
	p.halt("")
	p.halt("a rule")
	told(crawl.Hold{Enough: true})
	p.satisfied(t.Context(), crawl.StopPages)
	<-n.events
	if len(p.works) != 1 || <-p.works != overlay.Action(overlay.Enough{}) {
		t.Error("that there is enough is not kept")
	}
	p.halt("")
	told(crawl.Hold{Enough: true})
	if !p.full() {
		t.Error("there is not enough any more")
	}
}
