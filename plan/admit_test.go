package plan

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every answer, yes or no, is that of an independent flow.
func TestAdmitIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	yes, no := 0, 0
	for i := range 6000 {
		w := wild{
			sites: 1 + r.IntN(9), steps: i % 4, releases: i%3 == 0, caps: i%5 > 0,
			deadline: 0.3 + 0.7*r.Float64(), tight: 0.2 + 1.3*r.Float64(),
		}
		p := w.random(r)
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		a := Admit(p)
		fails, lacks := oracle(p)
		if a.Fails != fails {
			t.Fatalf("problem %d: site %d fails, the oracle says %d lacks %g\n%+v", i, a.Fails, fails, lacks, p)
		}
		if fails < 0 {
			yes++
			checkRates(t, p, a)
			continue
		}
		no++
		if d := p.Sites[fails].Size - a.Fits - lacks; d > 1e-6 || d < -1e-6 {
			t.Fatalf("problem %d: %g of site %d fit, the oracle says %g\n%+v", i, a.Fits, fails, p.Sites[fails].Size-lacks, p)
		}
	}
	if yes < 1000 || no < 1000 {
		t.Errorf("%d yes and %d no are too few of one kind to tell", yes, no)
	}
}

// checkRates fails unless an admission's rates keep every deadline.
func checkRates(t *testing.T, p *Problem, a *Admission) {
	t.Helper()
	q := *p
	q.Sites = nil
	pl := &Plan{Objective: p.Objective}
	for i, s := range p.Sites {
		if s.Deadline == 0 || s.Size == 0 {
			if a.Rates[i] != nil {
				t.Fatalf("site %d has rates, but no promise", i)
			}
			continue
		}
		rates := a.Rates[i]
		q.Sites = append(q.Sites, s)
		pl.Courses = append(pl.Courses, Course{Start: rates[0].From, Finish: rates[len(rates)-1].To, Rates: rates})
	}
	pl.tally(&q)
	if err := Verify(&q, pl); err != nil || pl.Late > 0 {
		t.Fatalf("%v, %d late\n%+v\n%+v", err, pl.Late, p, a)
	}
}

// A link that is faster, or a deadline that is later, never turns a yes to a no.
func TestAdmitIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		w := wild{sites: 1 + r.IntN(12), steps: 3, releases: r.IntN(2) == 0, caps: true, deadline: 0.8, tight: 0.9}
		p := w.random(r)
		if Admit(p).Fails >= 0 {
			return
		}
		p.Link[r.IntN(len(p.Link))].Rate *= 1.5
		if s := &p.Sites[r.IntN(len(p.Sites))]; s.Deadline > 0 {
			s.Deadline *= 2
		}
		if f := Admit(p).Fails; f >= 0 {
			t.Fatalf("site %d fails", f)
		}
	})
}

func TestAdmitCorners(t *testing.T) {
	link := []Step{{0, 10}}
	for name, tc := range map[string]struct {
		p     Problem
		fails int
		fits  float64
	}{
		"nothing":             {Problem{}, -1, 0},
		"no deadlines":        {Problem{Link: link, Sites: []Site{{Size: 1e12}}}, -1, 0},
		"just fits":           {Problem{Link: link, Sites: []Site{{Size: 100, Deadline: 10}}}, -1, 0},
		"in the past":         {Problem{Link: link, Sites: []Site{{Size: 1, Deadline: -1}}}, 0, 0},
		"before its begin":    {Problem{Link: link, Sites: []Site{{Size: 1, Deadline: 4, NotBefore: 5}}}, 0, 0},
		"nothing to come":     {Problem{Link: link, Sites: []Site{{Deadline: -1}}}, -1, 0},
		"its own speed":       {Problem{Link: link, Sites: []Site{{Size: 100, Deadline: 15, Cap: 5}}}, 0, 75},
		"its manners":         {Problem{Link: link, Sites: []Site{{Size: 100, Deadline: 15, Manners: Manners{Pages: 10, Wait: 2}}}}, 0, 75},
		"the later one":       {Problem{Link: link, Sites: []Site{{Size: 60, Deadline: 10}, {Size: 60, Deadline: 9}}}, 0, 40},
		"a pause of the link": {Problem{Link: []Step{{0, 10}, {2, 0}, {8, 10}}, Sites: []Site{{Size: 41, Deadline: 10}}}, 0, 40},
		"after it":            {Problem{Link: []Step{{0, 10}, {2, 0}, {8, 10}}, Sites: []Site{{Size: 21, Deadline: 10, NotBefore: 3}}}, 0, 20},
	} {
		if a := Admit(&tc.p); a.Fails != tc.fails || math.Abs(a.Fits-tc.fits) > 1e-9 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// Sites make way for others: the slow one fits before 5 only if the first one
// leaves some of the link to it.
func TestAdmitMovesOthers(t *testing.T) {
	p := &Problem{Link: []Step{{0, 1}}, Sites: []Site{
		{Size: 2, Deadline: 10, NotBefore: 0},
		{Size: 1, Deadline: 11, NotBefore: 0, Cap: 0.2},
		{Size: 7, Deadline: 12, NotBefore: 5},
	}}
	a := Admit(p)
	if a.Fails >= 0 {
		t.Fatalf("%+v", a)
	}
	checkRates(t, p, a)
}

// The linear program that writeAdmissionLP writes is the same question.
func TestAdmissionProgram(t *testing.T) {
	var b bytes.Buffer
	p := &Problem{Link: []Step{{0, 10}}, Sites: []Site{{Size: 60, Deadline: 10, Cap: 5}, {Size: 1}}}
	want, err := writeAdmissionLP(&b, p)
	if err != nil || want != 60 {
		t.Fatal(want, err)
	}
	for _, line := range []string{" size_0: 0 none + x_0_0 <= 60\n", " link_0: 0 none + x_0_0 <= 100\n", " 0 <= x_0_0 <= 50\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no %q in\n%s", line, &b)
		}
	}
}

func benchmarkAdmit(b *testing.B, n int, releases bool) {
	p := fleet(n, 30, 0)
	if releases {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range p.Sites {
			if s := &p.Sites[i]; r.IntN(2) == 0 && s.Deadline > 0 {
				s.NotBefore = r.Float64() * 0.5 * s.Deadline
			}
		}
	}
	if a := Admit(p); a.Fails >= 0 {
		b.Fatalf("%d fails", a.Fails)
	}
	b.ReportAllocs()
	for b.Loop() {
		Admit(p)
	}
}

func BenchmarkAdmit600(b *testing.B)         { benchmarkAdmit(b, 600, false) }
func BenchmarkAdmit600Releases(b *testing.B) { benchmarkAdmit(b, 600, true) }
func BenchmarkAdmit10000(b *testing.B)       { benchmarkAdmit(b, 10000, false) }

// fleet is a problem of many sites of uneven sizes and speeds, half of them with
// deadlines that can be kept.
func fleet(n, maxSites int, startup float64) *Problem {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	p := &Problem{Link: []Step{{0, 8}}, MaxSites: maxSites, Startup: startup}
	total := 0.0
	for i := range n {
		s := Site{Name: fmt.Sprint("site", i), Size: 1 + 19*r.Float64(), Cap: 0.5 + 7.5*r.Float64()}
		total += s.Size
		p.Sites = append(p.Sites, s)
	}
	for i := range p.Sites {
		if s := &p.Sites[i]; i%2 == 0 {
			s.Deadline = 30 + s.Size/s.Cap + (0.7+r.Float64())*total/8*r.Float64()
		}
	}
	// What is asked of the first is little enough.
	work := 0.0
	for _, i := range promised(p) {
		s := &p.Sites[i]
		work += s.Size
		s.Deadline = max(s.Deadline, 1.1*work/8+startup+s.Size/s.Cap)
	}
	return p
}
