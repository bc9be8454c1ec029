package crawl

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"weir/frontier"
	"weir/page"
)

// TestSimulation crawls made-up webs with every kind of trouble, and crashes at
// random moments. The audit holds politeness; here: every page that can be
// reached ends, once, as it must, or waits for its robots.txt, and the counters
// are those of the rows.
func TestSimulation(t *testing.T) {
	first, n := uint64(1), uint64(200)
	if *simSeed > 0 {
		first, n = *simSeed, 1
	}
	var runs, steps, loads, further int
	for seed := first; seed < first+n; seed++ {
		s := newSim(t, seed)
		s.crawl(s.rng.IntN(6))
		s.check()
		runs, steps, loads, further = runs+s.runs, steps+s.steps, loads+s.loadN, further+s.further
	}
	t.Logf("%d webs, %d runs, %d events, %d loads, %d pages by the backlog", n, runs, steps, loads, further)
	if n > 1 && further == 0 {
		t.Error("no connection carried more pages for the backlog")
	}
}

// TestSimulationToADepth does the same with a bound on the depth and without an
// archive: what is found nearer to a seed too late is delivered again from rows, and
// every page has its least depth, whatever came first and whatever crashed.
func TestSimulationToADepth(t *testing.T) {
	first, n := uint64(1), uint64(150)
	if *simSeed > 0 {
		first, n = *simSeed, 1
	}
	reread := 0
	for seed := first; seed < first+n; seed++ {
		s := newSim(t, seed)
		s.depth = 1 + int(seed%4)
		s.crawl(s.rng.IntN(6))
		s.check()
		reread += s.reread
	}
	t.Logf("%d webs, %d pages delivered again", n, reread)
	if n > 1 && reread == 0 {
		t.Error("no page was delivered again: this test shows nothing")
	}
}

// TestTraceIsReproducible: the same seed gives the same trace, byte for byte,
// and playing a trace gives every order again, over restarts too.
func TestTraceIsReproducible(t *testing.T) {
	orders := frontier.Orders()
	for seed := uint64(1); seed <= uint64(2*len(orders)); seed++ {
		var traces [2]bytes.Buffer
		for i := range traces {
			s := newSim(t, seed)
			s.cfg.Order = orders[seed%uint64(len(orders))]
			if s.trace = &traces[i]; seed%2 == 0 {
				s.wish()
			}
			s.crawl(2)
		}
		if !bytes.Equal(traces[0].Bytes(), traces[1].Bytes()) {
			t.Fatalf("seed %d: two runs gave different traces", seed)
		}
		if n, err := Replay(&traces[0]); err != nil {
			t.Fatalf("seed %d: after %d events: %v", seed, n.Events, err)
		}
	}
}

// check compares what is durable at the end with the world.
func (s *sim) check() {
	s.t.Helper()
	want := s.w.reachable()
	depths := s.w.depths()
	for u := range want {
		if s.depth >= 0 && depths[u] > s.depth {
			delete(want, u)
		}
	}
	v, err := NewView(s.kv)
	s.must(err)
	got := map[string]page.Outcome{}
	s.must(v.Pages(func(p *PageInfo) bool {
		got[p.URL.String()] = p.Outcome
		if s.depth >= 0 && p.Depth != depths[p.URL.String()] {
			s.fatalf("%s has depth %d, want %d", p.URL, p.Depth, depths[p.URL.String()])
		}
		return true
	}))
	waits := int64(0)
	s.must(v.Queue(func(p *PageInfo) bool {
		got[p.URL.String()] = page.RobotsUnreachable
		waits++
		return true
	}))
	if n := s.engine.Status().Unreachable; n != waits {
		s.fatalf("%d pages are queued at the end, %d cannot be had", waits, n)
	}
	for u, o := range want {
		if is, ok := got[u]; !ok || is != o {
			s.fatalf("%s ended as %v (%v), want %v", u, is, ok, o)
		}
	}
	for u, o := range got {
		if _, ok := want[u]; !ok {
			s.fatalf("%s (%v) cannot be reached", u, o)
		}
	}
	s.checkRows()
}

// checkRows holds that every page is in exactly one state and that sites and
// totals count them.
func (s *sim) checkRows() {
	s.t.Helper()
	s.checkCash()
	type count struct{ queued, ended, fetched, parked int64 }
	sites := map[page.SiteID]*count{}
	var all count
	totals, err := ReadTotals(s.kv)
	s.must(err)
	has := func(kind byte, k page.Key) bool { return s.kv.has(pageKey(kind, k)) }
	rows := map[byte]int64{}
	s.must(s.kv.Scan(nil, nil, func(key, value []byte) bool {
		rows[key[0]]++
		if key[0] != keyURL {
			return true
		}
		k, err := readPageKey(key)
		s.must(err)
		var r urlRow
		s.must(r.read(value))
		c := sites[k.Site]
		if c == nil {
			c = &count{}
			sites[k.Site] = c
		}
		queued := r.state == stateQueued && s.kv.has(queueKey(k.Site, r.place))
		ended, parked := has(keyText, k), has(keyPark, k)
		states := 0
		for _, in := range []bool{queued, ended, parked} {
			if in {
				states++
			}
		}
		if states != 1 || ended != (r.state == stateEnded) || parked != (r.state == stateParked) {
			s.fatalf("page %v: state %d, queued %v, ended %v, parked %v", k, r.state, queued, ended, parked)
		}
		switch r.state {
		case stateQueued:
			c.queued++
			all.queued++
		case stateParked:
			c.parked++
			all.parked++
		case stateEnded:
			c.ended++
			all.ended++
			if r.outcome.Row().Answer {
				c.fetched++
				all.fetched++
			}
		}
		return true
	}))
	if rows[keyQueue] != all.queued || rows[keyText] != all.ended || rows[keyPark] != all.parked {
		s.fatalf("rows %v, pages %+v", rows, all)
	}
	if totals.Queued != all.queued || totals.Ended() != all.ended || totals.Fetched != all.fetched || totals.Parked != all.parked ||
		totals.Seen != rows[keyURL] || int64(totals.Sites) != rows[keySite] || totals.Seeds != int64(len(s.w.seeds)) {
		s.fatalf("totals %+v, rows %+v of %d sites", totals, all, rows[keySite])
	}
	v, err := NewView(s.kv)
	s.must(err)
	s.must(v.Sites(func(i *SiteInfo) bool {
		c := sites[i.ID]
		if c == nil {
			c = &count{}
		}
		if i.Queued != c.queued || i.Ended != c.ended || i.Fetched != c.fetched || i.Parked != c.parked {
			s.fatalf("site %s counts %+v, rows %+v", i.Name, i, *c)
		}
		return true
	}))
}

// checkCash holds that every site's cash is the sum of its queued pages' scores,
// where scores are split, and that there is not more of it than the seeds had.
func (s *sim) checkCash() {
	s.t.Helper()
	if s.ledger.purse == nil {
		return
	}
	sums, all := map[page.SiteID]float64{}, 0.0
	s.must(s.kv.Scan([]byte{keyQueue}, []byte{keyQueue + 1}, func(key, value []byte) bool {
		e, err := readEntry(key, value)
		s.must(err)
		sums[page.SiteID(binary.BigEndian.Uint32(key[1:]))] += float64(e.Score)
		all += float64(e.Score)
		return true
	}))
	s.must(s.kv.Scan([]byte{keySite}, []byte{keySite + 1}, func(key, value []byte) bool {
		var row siteRow
		s.must(row.read(value))
		if sum := sums[page.SiteID(binary.BigEndian.Uint32(key[1:]))]; math.Abs(sum-row.cash) > 1e-9*(1+sum) {
			s.fatalf("site %s has %v in cash, its pages %v", row.name, row.cash, sum)
		}
		return true
	}))
	if all > 2.001*float64(len(s.w.seeds)) && s.cfg.Order == "siteopic" {
		s.fatalf("%v in cash, of %d seeds", all, len(s.w.seeds))
	}
}

// checkMoves holds that what moves stood where it is said to have stood, with
// that score: the frontier counts by it.
func (s *sim) checkMoves(ev Committed) {
	s.t.Helper()
	for _, m := range ev.Moved {
		key := queueKey(m.Site, m.Old)
		b, ok, err := s.kv.Get(key)
		s.must(err)
		e, err := readEntry(key, b)
		if !ok || err != nil || e.Score != m.Was || e.Rest != m.Entry.Rest {
			s.fatalf("%+v stood there as %+v (%v, %v)", m, e, ok, err)
		}
	}
}
