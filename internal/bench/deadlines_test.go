package main

import (
	"reflect"
	"testing"
	"time"

	"weir/internal/testweb"
)

// A contest is drawn from its seed alone, and is what it claims: deadlines that a
// site of twice the size that was told could meet alone, sizes wrong by at most
// two, one server that slows down, and a link for about a third of the sites.
func TestContest(t *testing.T) {
	for seed := range uint64(50) {
		c := newContest(seed, 1)
		if !reflect.DeepEqual(c, newContest(seed, 1)) {
			t.Fatalf("seed %d draws two contests", seed)
		}
		speeds, slows := 0.0, 0
		for _, s := range c.sites {
			speeds += float64(s.Size) / cycle(s, 1)
			if s.Slows.Factor > 0 {
				slows++
			}
		}
		if share := float64(c.limit) / speeds; len(c.sites) != contestSites || len(c.dues) != contestDues || slows != 1 || share < 0.28 || share > 0.31 {
			t.Errorf("seed %d: %d sites, %d deadlines, %d slow down, the link is %.2f of what they bring", seed, len(c.sites), len(c.dues), slows, share)
		}
		for i, d := range c.dues {
			s := c.sites[d.site]
			size := float64(s.Pages * s.Size)
			if wrong := float64(d.told) / size; wrong < 0.49 || wrong > 2.01 {
				t.Errorf("seed %d: %s has %.0f bytes, %d were told", seed, s.Name, size, d.told)
			}
			if alone := 2 * float64(d.told) / size * float64(s.Pages) * cycle(s, 1); alone > d.after.Seconds() {
				t.Errorf("seed %d: %s needs %.0f s if it is twice as large as was told, and has %v", seed, s.Name, alone, d.after)
			}
			if i > 0 && d.after < c.dues[i-1].after || d.after > 6*time.Minute || s.Pages < contestLeast {
				t.Errorf("seed %d: %s has %d pages, due after %v", seed, s.Name, s.Pages, d.after)
			}
		}
		if last := c.last(); last != c.dues[contestDues-1].after {
			t.Errorf("seed %d ends after %v", seed, last)
		}
	}
}

// The servers' account decides, against the deadline that the crawl was held to.
func TestJudge(t *testing.T) {
	begun := time.Unix(1000, 0)
	c := &contest{sites: testweb.Even(3, testweb.Site{Pages: 5})}
	for i := range c.sites {
		c.dues = append(c.dues, due{site: i, after: time.Minute})
	}
	var r result
	r.audit.Hosts = []testweb.Host{
		{Host: "s0000.test", Pages: 5, Latest: begun.Add(59500 * time.Millisecond)},
		{Host: "s0001.test", Pages: 5, Latest: begun.Add(61 * time.Second)},
		{Host: "s0002.test", Pages: 4, Latest: begun.Add(time.Second)},
	}
	p := played{standing: map[string]string{}}
	if p.judge(c, begun, r); p.met != 1 || p.kept != 0 || p.done[0] != "60 s" || p.done[1] != "61 s!" || p.done[2] != "never" {
		t.Errorf("judged as %+v", p)
	}
	r.Promises = append(r.Promises, promised{"s0000.test", begun.Add(59 * time.Second), "kept"})
	p = played{standing: map[string]string{}}
	if p.judge(c, begun, r); p.met != 0 || p.kept != 1 {
		t.Errorf("judged as %+v with a deadline that is a second earlier", p)
	}
}
