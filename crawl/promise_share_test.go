package crawl

import (
	"testing"
	"time"

	"weir/bandwidth"
	"weir/frontier"
)

// census asks the Engine how busy it is.
func (h *hand) census() Counted {
	h.t.Helper()
	all := pull[Counted](h.step(Census{}))
	if len(all) != 1 {
		h.t.Fatalf("%d answers", len(all))
	}
	return all[0]
}

// A node says what it could use: about what it uses, and much more if its share of the
// limit is in the way.
func TestWantsMoreThanItsShare(t *testing.T) {
	h := newHand(t, 64, Bandwidth{Limits: Limits{Rate: 100_000}})
	h.start(monday)
	h.census()
	second := func(w bandwidth.Wire) Counted {
		for range 10 {
			h.wire(w)
		}
		return h.census()
	}
	if c := second(bandwidth.Wire{Limit: 1e5, Rate: 2e4, Bytes: 2000}); c.Wanted < 20_000 || c.Wanted > 40_000 {
		t.Errorf("one that uses 20 KB/s of 100 wants %.0f", c.Wanted)
	}
	if c := second(bandwidth.Wire{Limit: 1e5, Rate: 1e5, Bytes: 9900}); c.Wanted < 3e5 || c.Wanted > 1e6 {
		t.Errorf("one that uses all of 100 KB/s wants %.0f", c.Wanted)
	}
	if c := second(bandwidth.Wire{Limit: 1e5, Backlog: 80_000}); c.Wanted < 3e5 || c.Wanted > 1e6 {
		t.Errorf("one that cannot read what has come wants %.0f", c.Wanted)
	}
	if c := second(bandwidth.Wire{Limit: 1e5}); c.Wanted != 0 || c.Owed != 0 || c.Asked != 0 {
		t.Errorf("one that is idle wants %.0f, owes %.0f and asks for %.0f", c.Wanted, c.Owed, c.Asked)
	}
}

// A promise takes its part of the limit before demands do; one that the share is too
// small for asks for more, and is given when that has come.
func TestPromiseAsksForItsShare(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(200 * time.Second)})
	k.cfg.Bandwidth.Rate = 1000
	k.start()
	k.explore()
	k.hears("a.org refused.")
	c := k.census()
	if c.Owed != 0 || c.Asked < 4000 || c.Asked > 20_000 || c.Wanted < c.Asked {
		t.Fatalf("for 790 KB in 200 s it owes %.0f, asks for %.0f and wants %.0f", c.Owed, c.Asked, c.Wanted)
	}
	k.step(Command{Limits: &Limits{Rate: int64(c.Asked)}})
	k.wait(planPause + lookPause)
	k.hears("a.org held.")
	if c := k.census(); c.Owed < 4000 || c.Asked != 0 || c.Wanted < c.Owed {
		t.Fatalf("for 790 KB in 200 s it owes %.0f, asks for %.0f and wants %.0f", c.Owed, c.Asked, c.Wanted)
	}
}

// The deadline of a site that goes to another node is that one's to keep: nothing is
// said of it any more, until the site comes back.
func TestPromiseMoves(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Hour)}, Demand{Host: "c.org", Deadline: in(2 * time.Hour)})
	k.cfg.Shared = true
	st := k.open() // the Ledger is alone, and its sites are all in partition 0
	k.step(monday)
	k.step(Adopted{})
	k.step(st)
	k.explore()
	k.hears("a.org held.")
	if c := k.census(); c.Owed == 0 {
		t.Error("nothing is owed")
	}

	k.step(Disowned{Parts: []uint16{0}})
	for len(k.flying) > 0 {
		k.serve(k.flying[0].Host, 10_000, 0)
	}
	k.wait(3 * time.Hour)
	k.hears("")
	if all := k.engine.Status().Promises; len(all) != 0 {
		t.Fatalf("another node's promises are %+v", all)
	}
	if c := k.census(); c.Owed+c.Asked != 0 {
		t.Errorf("%.0f is owed, %.0f asked for", c.Owed, c.Asked)
	}

	k.step(Command{Demands: []Demand{{Host: "a.org", Deadline: in(4 * time.Hour)}}})
	id, err := k.ledger.siteID("http://a.org")
	k.must(err)
	s, err := k.ledger.site(id)
	k.must(err)
	k.step(Adopted{Sites: []frontier.Known{s.known()}})
	k.wait(planPause)
	k.hears("a.org held.")
}
