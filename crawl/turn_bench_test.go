package crawl

import (
	"fmt"
	"testing"
	"time"

	"weir/frontier"
	"weir/page"
	"weir/plan"
)

// BenchmarkTurn is one page of a crawl that never ends, as the Engine sees it: it
// is ordered, answered and durable, and another page of its site is queued. Of the
// thousand sites some have deadlines.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{0, 8, 600} {
		b.Run(fmt.Sprintf("deadlines=%d", n), func(b *testing.B) { benchmarkTurn(b, n) })
	}
}

func benchmarkTurn(b *testing.B, deadlines int) {
	const sites = 1000
	cfg := EngineConfig{Order: "length", Open: 64, Loads: 4, Resolves: 4, Frontier: frontier.Config{
		PerConn: 1, Conns: 32, PerServer: 4, PerCDN: 32, CDNDomains: 50, Window: 64, Hot: 2 * sites, NoRobots: true, Proxy: true,
	}}
	for i := range deadlines {
		cfg.Demands = append(cfg.Demands, Demand{Host: fmt.Sprintf("h%d.org", i), Deadline: in(time.Duration(10+i) * time.Hour)})
	}
	e, err := NewEngine(cfg)
	if err != nil {
		b.Fatal(err)
	}
	var all []frontier.Known
	for i := range sites {
		all = append(all, frontier.Known{ID: page.SiteID(i + 1), Name: fmt.Sprintf("http://h%d.org", i)})
	}
	seq := uint64(0)
	entry := func(id page.SiteID) Queued {
		seq++
		return Queued{id, frontier.Entry{Hash: seq, Place: frontier.Place{Seq: seq}, Rest: "/"}}
	}
	first := Committed{Sites: all}
	for i := range sites {
		for range 3 {
			first.Queued = append(first.Queued, entry(page.SiteID(i+1)))
		}
	}
	var flying []Fetch
	now, turn := page.Time(1), 0
	var step func(ev Event)
	step = func(ev Event) {
		for _, o := range e.Step(now, ev) {
			switch o := o.(type) {
			case Fetch:
				flying = append(flying, o)
			case Plan:
				defer func() { step(Planned{Version: o.Version, Reserved: plan.Reserve(o.Link, o.Promises)}) }()
			}
		}
	}
	step(monday)
	step(first)
	step(Start{})
	done := Committed{IDs: make([]uint64, 1), Sites: make([]frontier.Known, 1), Queued: make([]Queued, 1)}
	for b.Loop() {
		if turn++; turn%100 == 0 {
			now = now.Add(10 * time.Millisecond) // ten thousand pages a second
		}
		f := flying[0]
		flying = append(flying[:0], flying[1:]...)
		step(Done{ID: f.ID, Outcome: page.OK, Status: 200, Bytes: 10_000, Elapsed: time.Millisecond})
		done.IDs[0], done.Sites[0], done.Queued[0] = f.ID, all[f.Site-1], entry(f.Site)
		step(done)
	}
}

// BenchmarkStatus: the driver asks again and again.
func BenchmarkStatus(b *testing.B) {
	e, err := NewEngine(EngineConfig{Order: "length"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Status()
	}
}
