package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyTight draws a problem near the edge of what can be done.
func anyTight(t *rapid.T) *Problem {
	p := &Problem{}
	at := 0.0
	for range rapid.IntRange(1, 3).Draw(t, "steps") {
		p.Link = append(p.Link, Step{at, rapid.SampledFrom([]float64{0, 2, 5, 8, 10, 20}).Draw(t, "rate")})
		at += rapid.Float64Range(1, 30).Draw(t, "for")
	}
	p.Link[len(p.Link)-1].Rate += 3
	releases := rapid.Bool().Draw(t, "releases")
	n := rapid.IntRange(1, 8).Draw(t, "n")
	for i := range n {
		s := Site{Name: fmt.Sprint("site", i), Size: rapid.Float64Range(1, 800/float64(n)).Draw(t, "size")}
		if rapid.IntRange(0, 7).Draw(t, "promised") > 0 {
			s.Deadline = rapid.Float64Range(-1, 80).Draw(t, "deadline")
		}
		switch rapid.IntRange(0, 3).Draw(t, "speed") {
		case 0:
			s.Cap = rapid.Float64Range(0.5, 20).Draw(t, "cap")
		case 1:
			s.Manners = Manners{Pages: rapid.IntRange(1, 100).Draw(t, "pages"), Wait: rapid.Float64Range(0, 0.8).Draw(t, "wait"), PerConn: rapid.IntRange(0, 3).Draw(t, "conn")}
		}
		if releases && rapid.Bool().Draw(t, "waits") {
			s.NotBefore = rapid.Float64Range(0, 30).Draw(t, "from")
		}
		p.Sites = append(p.Sites, s)
	}
	return p
}

// with returns a copy of a problem that was changed.
func with(p *Problem, change func(*Problem)) *Problem {
	q := *p
	q.Sites, q.Link = slices.Clone(p.Sites), slices.Clone(p.Link)
	change(&q)
	return &q
}

func keeps(p *Problem) bool { return Admit(p).Fails < 0 }

// Whoever follows the advice can keep every promise, and with a hundredth less
// of it somebody cannot.
func TestExplainAdvice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyTight(t)
		if p.Check() != nil {
			return
		}
		troubles := Explain(p, nil)
		a := Admit(p)
		if a.Fails < 0 {
			if len(troubles) > 0 {
				t.Fatalf("all can be kept, yet: %+v", troubles)
			}
			return
		}
		if len(troubles) == 0 || troubles[0].Site != a.Fails || !near(troubles[0].Fits, a.Fits, 1e-6) {
			t.Fatalf("%d fails, of which %v fit; told: %+v", a.Fails, a.Fits, troubles)
		}
		follow(t, p, troubles)
		slipping(t, p, troubles)
	})
}

func follow(t *rapid.T, p *Problem, troubles []Trouble) {
	moved := func(short int) *Problem {
		return with(p, func(q *Problem) {
			for k, tr := range troubles {
				s := &q.Sites[tr.Site]
				if math.IsInf(tr.Earliest, 1) {
					s.Deadline = 0
					continue
				}
				due := max(s.Deadline, 0)
				if s.Deadline = tr.Earliest; k == short {
					s.Deadline = due + 0.99*(tr.Earliest-due)
				}
			}
		})
	}
	trimmed := func(short int) *Problem {
		return with(p, func(q *Problem) {
			for k, tr := range troubles {
				s := &q.Sites[tr.Site]
				if k == short {
					tr.Trim *= 0.99
				}
				*s = s.trim(tr.Trim)
			}
		})
	}
	factor := 1.0
	linked := func(share float64) *Problem {
		return with(p, func(q *Problem) {
			for _, tr := range troubles {
				if math.IsInf(tr.LinkNeeded, 1) {
					q.Sites[tr.Site].Deadline = 0
				} else {
					factor = max(factor, tr.LinkNeeded)
				}
			}
			for i := range q.Link {
				q.Link[i].Rate *= 1 + share*(factor-1)
			}
		})
	}
	if !keeps(moved(-1)) {
		t.Fatalf("deadlines were moved, and it is not enough: %+v", troubles)
	}
	if !keeps(trimmed(-1)) {
		t.Fatalf("sites were trimmed, and it is not enough: %+v", troubles)
	}
	if !keeps(linked(1)) {
		t.Fatalf("the link was raised, and it is not enough: %+v", troubles)
	}
	if factor > 1 && keeps(linked(0.99)) {
		t.Fatalf("less than %v times the link would do: %+v", factor, troubles)
	}
	for k, tr := range troubles {
		if !math.IsInf(tr.Earliest, 1) && keeps(moved(k)) {
			t.Fatalf("%d could be earlier: %+v", tr.Site, troubles)
		}
		if keeps(trimmed(k)) {
			t.Fatalf("%d could be trimmed less: %+v", tr.Site, troubles)
		}
		if s := &p.Sites[tr.Site]; tr.Own != (s.NotBefore+tr.Least > s.Deadline*(1+1e-9)) {
			t.Fatalf("own is %v: %+v", tr.Own, tr)
		}
		if tr.Own && !math.IsInf(tr.LinkNeeded, 1) {
			t.Fatalf("a link of %v for what no link can do", tr.LinkNeeded)
		}
	}
}

func slipping(t *rapid.T, p *Problem, troubles []Trouble) {
	for _, tr := range troubles {
		if tr.Slip == nil {
			continue
		}
		slipped := func(share float64) *Problem {
			return with(p, func(q *Problem) {
				for _, other := range troubles {
					if other.Site != tr.Site {
						q.Sites[other.Site].Deadline = 0
					}
				}
				g := &q.Sites[tr.Slip.Site]
				g.Deadline += share * (tr.Slip.To - g.Deadline)
			})
		}
		if !keeps(slipped(1)) {
			t.Fatalf("%d slipped, and it is not enough: %+v", tr.Slip.Site, troubles)
		}
		if keeps(slipped(0.99)) {
			t.Fatalf("%d could slip less: %+v", tr.Slip.Site, troubles)
		}
	}
}

func TestExplainSays(t *testing.T) {
	link := []Step{{0, 1e6}}
	for _, c := range []struct {
		name string
		p    Problem
		want []string
	}{
		{"nothing", Problem{Link: link, Sites: []Site{{Name: "news", Size: 1e9, Deadline: 7200}, {Name: "blog", Size: 1e12}}}, nil},
		{"link", Problem{Link: link, Sites: []Site{{Name: "news", Size: 9e9, Deadline: 7200}, {Name: "shop", Size: 2e9, Deadline: 3600}}}, []string{
			"news cannot be done within 2h00m: besides what is due before, only 5.2 GB of its 9.0 GB fit. It could be, within 3h04m, on 1.53 times the link, or without 3.8 GB of it."}},
		{"slip", Problem{Link: link, Sites: []Site{{Name: "news", Size: 5e9, Deadline: 7200}, {Name: "shop", Size: 3e9, Deadline: 3600}}}, []string{
			"news cannot be done within 2h00m: besides what is due before, only 4.2 GB of its 5.0 GB fit. It could be, within 2h14m, on 1.12 times the link, if shop had 2h14m instead of 1h00m, or without 800 MB of it."}},
		{"wait", Problem{Link: link, Sites: []Site{{Name: "forum", Size: 3e8, Deadline: 7200, Manners: Manners{Pages: 3000, Wait: 5}}}}, []string{
			"forum cannot be done within 2h00m, whatever the link: 3,000 pages with a wait of 5.0s take 4h10m at least. It could be, within 4h10m, or without 156 MB of it."}},
		{"wait for some", Problem{Link: link, Sites: []Site{{Name: "forum", Size: 3e8, Deadline: 3000, Manners: Manners{Pages: 3000, PerConn: 10, Wait: 10, PageTime: 0.5}}}}, []string{
			"forum cannot be done within 50m00s, whatever the link: 3,000 pages with a wait of 10s after every 10 and 0.5s each take 1h15m at least. It could be, within 1h15m, or without 100 MB of it."}},
		{"crawl-delay", Problem{Link: link, Sites: []Site{{Name: "forum", Size: 3e8, Deadline: 7200, Manners: Manners{Pages: 1000, Delay: 10}}}}, []string{
			"forum cannot be done within 2h00m, whatever the link: 1,000 pages with a crawl-delay of 10s take 2h46m at least. It could be, within 2h47m, or without 84.0 MB of it."}},
		{"cap", Problem{Link: link, Sites: []Site{{Name: "slow", Size: 1e9, Cap: 1e5, Deadline: 7200}}}, []string{
			"slow cannot be done within 2h00m, whatever the link: 1.0 GB at its own 100 KB/s take 2h46m at least. It could be, within 2h47m, or without 280 MB of it."}},
		{"over", Problem{Link: link, Sites: []Site{{Name: "old", Size: 1e9, Deadline: -5}}}, []string{
			"old cannot be done in time: its deadline is over. It could be, within 16m40s."}},
		{"begin", Problem{Link: link, Sites: []Site{{Name: "night", Size: 1e9, Deadline: 60, NotBefore: 3600}}}, []string{
			"night cannot be done within 1m00s, whatever the link: it may begin only after 1h00m. It could be, within 1h17m."}},
		{"start-up", Problem{Link: link, Startup: 30, Sites: []Site{{Name: "quick", Size: 1e6, Deadline: 20}, {Name: "slow", Size: 1e6, Cap: 1e5, Deadline: 35}}}, []string{
			"quick cannot be done within 20s, whatever the link: it takes 30s to start. It could be, within 31s.",
			"slow cannot be done within 35s, whatever the link: 1.0 MB at its own 100 KB/s take 10s at least, and it takes 30s to start. It could be, within 41s, or without 500 KB of it."}},
		{"start-up counts", Problem{Link: link, Startup: 20, Sites: []Site{{Name: "a", Size: 1.2e9, Deadline: 600}}}, []string{
			"a cannot be done within 10m00s: only 580 MB of its 1.2 GB fit. It could be, within 20m20s, on 2.07 times the link, or without 620 MB of it."}},
		{"rounded up", Problem{Link: link, Sites: []Site{{Name: "a", Size: 1567e6, Deadline: 423}, {Name: "b", Size: 2383e6, Deadline: 3600}}}, []string{
			"a cannot be done within 7m03s: only 423 MB of its 1.6 GB fit. It could be, within 1h06m, on 3.71 times the link, or without 1.2 GB of it."}},
		{"no link", Problem{Link: []Step{{0, 0}, {100, 1e6}}, Sites: []Site{{Name: "early", Size: 1e6, Deadline: 50}}}, []string{
			"early cannot be done within 50s: nothing of its 1.0 MB fits. It could be, within 1m41s."}},
	} {
		if err := c.p.Check(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tr := range Explain(&c.p, nil) {
			got = append(got, tr.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// The link has room for both, one at a time has not.
func TestExplainCrowd(t *testing.T) {
	p := &Problem{Link: []Step{{0, 2e6}}, MaxSites: 1, Startup: 1,
		Sites: []Site{{Name: "a", Size: 60e6, Cap: 1e6, Deadline: 65}, {Name: "b", Size: 60e6, Cap: 1e6, Deadline: 70}}}
	pl, err := CPQ(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := Explain(p, nil); len(got) > 0 {
		t.Errorf("without a plan: %+v", got)
	}
	got := Explain(p, pl)
	if len(got) != 1 || got[0].Site != 1 || !got[0].Room || got[0].Earliest != 122 {
		t.Fatalf("%+v", got)
	}
	if want := "The link has room for b within 1m10s, but no plan was found that has it done by then with one site at a time, 1.0s to start one: the best has it after 2m02s."; got[0].Message != want {
		t.Errorf("%s\nwant %s", got[0].Message, want)
	}
}

// What is told is about the sites that are late in the plan, and what the plan has
// them late for.
func TestExplainFollowsPlan(t *testing.T) {
	link := []Step{{0, 10}}
	for _, c := range []struct {
		name string
		p    Problem
		want []string
	}{
		{"instead", Problem{Link: link, Sites: []Site{{Name: "a.org", Size: 100, Deadline: 10}, {Name: "b.org", Size: 100, Deadline: 10.5, Weight: 10}}}, []string{
			"a.org is not done within 10s so that b.org is done within 10.5s: besides what the plan keeps, only 5.0 B of its 100 B fit. It could be, within 20s, on 1.91 times the link, if b.org had 20s instead of 10.5s, or without 95 B of it."}},
		{"crowd", Problem{Link: []Step{{0, 100}}, MaxSites: 1, Sites: []Site{{Name: "a", Size: 100, Cap: 10, Deadline: 11}, {Name: "b", Size: 100, Cap: 10, Deadline: 11}, {Name: "c", Size: 1000, Cap: 10, Deadline: 50}}}, []string{
			"The link has room for a within 11s, but no plan was found that has it done by then with one site at a time: the best has it after 20s.",
			"c cannot be done within 50s, whatever the link: 1.0 KB at its own 10 B/s take 1m40s at least. It could be, within 2m00s, or without 707 B of it."}},
		{"spread", Problem{Link: link, Sites: []Site{{Name: "x", Size: 100, Deadline: 10}, {Name: "y", Size: 20, Deadline: 10.5}, {Name: "z", Size: 100, Deadline: 21.9}}}, []string{
			"y cannot be done within 10.5s: besides what is due before, only 5 B of its 20 B fit. It could be, within 22s, on 1.15 times the link, if x had 22s instead of 10s, or without 15 B of it.",
			"The link has room for z within 21.9s, but not for all that are late: so that others are late by less, the plan has it after 22s."}},
	} {
		var got []string
		for _, tr := range Explain(&c.p, solve(t, &c.p, Options{})) {
			got = append(got, tr.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// Every site that is late is told of, and no other; and whoever follows the advice
// can keep every promise.
func TestExplainAllLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyTight(t)
		p.Sites = p.Sites[:min(len(p.Sites), 6)]
		for i := range p.Sites {
			p.Sites[i].Weight = rapid.SampledFrom([]float64{0, 1, 10}).Draw(t, "weight")
		}
		if rapid.Bool().Draw(t, "crowded") {
			p.MaxSites, p.Startup = rapid.IntRange(0, 2).Draw(t, "sites"), rapid.Float64Range(0, 2).Draw(t, "startup")
		}
		if p.Check() != nil {
			return
		}
		pl := Solve(p, Options{Effort: 60})
		troubles := Explain(p, pl)
		told := make([]int, len(p.Sites))
		for _, tr := range troubles {
			told[tr.Site]++
			if tr.Message == "" {
				t.Fatalf("nothing is said: %+v", tr)
			}
		}
		for i, n := range told {
			if late := p.Sites[i].Missed(pl.Courses[i].Finish); n > 1 || late != (n == 1) {
				t.Fatalf("site %d is told of %d times, late %v: %+v", i, n, late, troubles)
			}
		}
		moved := with(p, func(q *Problem) {
			for _, tr := range troubles {
				if q.Sites[tr.Site].Deadline = tr.Earliest; math.IsInf(tr.Earliest, 1) {
					q.Sites[tr.Site].Deadline = 0
				}
			}
			for i := range q.Sites {
				q.Sites[i].Deadline += 1e-8 * math.Abs(q.Sites[i].Deadline) // of what is kept but for rounding
			}
		})
		if !keeps(moved) {
			t.Fatalf("deadlines were moved, and it is not enough: %+v", troubles)
		}
	})
}

// Hundreds of broken promises are told of; figures are for the first.
func TestExplainMany(t *testing.T) {
	p := fleet(600, 0, 0)
	p.Link[0].Rate /= 4
	troubles := Explain(p, nil)
	if len(troubles) < 20 {
		t.Fatalf("%d troubles are too few to say anything", len(troubles))
	}
	if first := troubles[0]; first.Earliest == 0 || first.Trim == 0 || first.LinkNeeded == 0 {
		t.Errorf("%+v", first)
	}
	for _, tr := range troubles {
		p.Sites[tr.Site].Deadline = 0
		if tr.Message == "" {
			t.Errorf("%+v", tr)
		}
	}
	if !keeps(p) {
		t.Error("it is not told of all")
	}
}

func benchmarkExplain(b *testing.B, n int, from float64) {
	p := fleet(n, 0, 0)
	p.Link[0].Rate /= 4
	for i := range p.Sites {
		p.Sites[i].NotBefore = from * float64(i%7)
	}
	for b.Loop() {
		Explain(p, nil)
	}
}

func BenchmarkExplain600(b *testing.B)         { benchmarkExplain(b, 600, 0) }
func BenchmarkExplain600Releases(b *testing.B) { benchmarkExplain(b, 600, 1) }
func BenchmarkExplain10000(b *testing.B)       { benchmarkExplain(b, 10000, 0) }
