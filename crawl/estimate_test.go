package crawl

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// some lets a site bring pages of about this size, each with this share more on
// the wire, which varies.
func (s *sample) some(r *rand.Rand, pages int, mean, xi, varies float64, cycle time.Duration) {
	for range pages {
		body := mean * math.Exp(0.5*r.NormFloat64()-0.125)
		wire := body * xi * math.Exp(varies*r.NormFloat64())
		s.add(Done{Bytes: int64(body), Wire: int64(max(wire, body))}, 0, cycle, false, true)
	}
}

// What a byte of a site takes of the link is learned, and four of five spells of
// its pages take less than is reckoned with.
func TestXiConverges(t *testing.T) {
	for _, xi := range []float64{1.02, 1.3, 2, 5} {
		below, spells := 0, 0
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 13))
			var s sample // the only site of its crawl
			s.some(r, 600, 20e3, xi, 0.4, time.Second)
			if got := s.xi(&s); got < xi*0.98 || got > xi*1.5 {
				t.Errorf("%.3f after 600 pages that take %.2f", got, xi)
			}
			for range 100 {
				var next sample
				next.some(r, spellPages-1, 20e3, xi, 0.4, time.Second)
				if spells++; next.Spell.Wire/next.Spell.Body <= s.xi(&s) {
					below++
				}
			}
		}
		if share := float64(below) / float64(spells); share < 0.7 || share > 0.95 {
			t.Errorf("%.2f of the spells of pages that take %.2f are below what is reckoned with, want four of five", share, xi)
		}
	}
}

// A site of which little is known is taken to be as others are, and what it shows
// itself counts more and more.
func TestXiShrinksToAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 14))
	var none, all, one sample
	if got := none.xi(&none); got < 1.15 || got > 1.25 {
		t.Errorf("%.3f before anything came", got)
	}
	all.some(r, 1000, 20e3, 3, 0.05, time.Second)
	last := none.xi(&all)
	if last < 2.7 || last > 3.6 {
		t.Errorf("%.3f of a site that is not known, beside others at 3", last)
	}
	for range 8 {
		one.some(r, 2*spellPages, 20e3, 1.05, 0.02, time.Second)
		next := one.xi(&all)
		if next >= last {
			t.Errorf("%.3f after %.3f, of a site at 1.05", next, last)
		}
		last = next
	}
	if last > 1.35 {
		t.Errorf("%.3f after 160 pages, of a site at 1.05", last)
	}
}

// What was said of a site's size may be wrong by a factor of two in both
// directions: with caution enough is expected, without it the truth in the end.
func TestRemainsWithWrongGuesses(t *testing.T) {
	const n, mean = 1000, 20e3
	for _, guess := range []float64{0.5, 0.7, 1, 1.4, 2} {
		r := rand.New(rand.NewPCG(2, 15))
		var s, all sample
		d := Demand{Size: int64(guess * n * mean)}
		for had := 1; had <= n; had++ {
			s.some(r, 1, mean, 1.1, 0.01, time.Second)
			known := min(8*had, n) // a tree of pages
			left := int64(known - had)
			truth := float64(n-had) * mean * 1.1
			careful, likely := s.remains(left, d, doubt, &all), s.remains(left, d, 1, &all)
			if careful < likely {
				t.Fatalf("%g with caution, %g without", careful, likely)
			}
			if had >= exploration && guess >= 0.55 && careful < 0.8*truth {
				t.Fatalf("guess %g: %d pages had, %d known: %g with caution, %g are to come", guess, had, known, careful, truth)
			}
			if had > n/2 && (likely < 0.8*truth || careful > 5*truth+1e6) {
				t.Fatalf("guess %g: %d pages had, %d known: %g to %g are expected, %g are to come", guess, had, known, likely, careful, truth)
			}
		}
		if rest := s.remains(0, d, doubt, &all); rest != 0 {
			t.Errorf("guess %g: %g bytes of nothing", guess, rest)
		}
	}
}

// Before anything came, what was said is what there is; without that, what is
// known to wait.
func TestRemainsAtFirst(t *testing.T) {
	var s, all sample
	for name, tc := range map[string]struct {
		d    Demand
		left int64
		want float64
	}{
		"nothing":         {Demand{}, 0, 0},
		"a seed":          {Demand{}, 1, usualPage},
		"a size":          {Demand{Size: 1e6}, 1, 1e6},
		"pages":           {Demand{Pages: 100}, 1, 100 * usualPage},
		"a size of pages": {Demand{Pages: 100, Size: 1e6}, 50, 1e6},
		"more than said":  {Demand{Pages: 100, Size: 1e6}, 300, 3e6},
		"nonsense":        {Demand{Pages: -5, Size: -7}, 1, usualPage},
		"all there is":    {Demand{Pages: math.MaxInt64, Size: math.MaxInt64}, 1, maxBytes},
	} {
		if got := s.remains(tc.left, tc.d, 1, &all); got < tc.want*0.99 || got > 1.3*tc.want {
			t.Errorf("%s: %g, want about %g", name, got, tc.want)
		}
	}
	all.some(rand.New(rand.NewPCG(3, 16)), 100, 5e3, 1, 0, time.Second)
	if got := s.remains(10, Demand{}, doubt, &all); got < 4e4 || got > 8e4 {
		t.Errorf("%g bytes of ten pages, those of other sites have 5 KB", got)
	}
}

// Pages without a body cost something, and do not make those that have one
// expensive.
func TestEmptyPages(t *testing.T) {
	var s, all sample
	for range 200 {
		s.add(Done{Wire: 600}, 0, time.Second, false, true)
	}
	if got := s.remains(1000, Demand{}, 1, &all); got < 5e5 || got > 2e6 {
		t.Errorf("%g bytes of a thousand empty pages that take 600", got)
	}
	for range 200 {
		s.add(Done{Bytes: 50_000, Wire: 52_000}, 0, time.Second, false, true)
	}
	if got := s.remains(1000, Demand{}, 1, &all); got < 2e7 || got > 8e7 {
		t.Errorf("%g bytes of a thousand pages, half of them empty", got)
	}
	var none sample
	for range 200 {
		none.add(Done{}, 0, 0, false, true)
	}
	if x, v := none.xi(&all), none.speed(usualPage, 1); !(x >= 1 && x < 2) || !(v >= 1) || math.IsInf(v, 0) {
		t.Errorf("xi %g, %g bytes a second, of nothing at all", x, v)
	}
}

// What came in vain counts on the wire: a robots.txt, a page that must be asked
// for again.
func TestVainBytes(t *testing.T) {
	var s, all sample
	for range 40 {
		s.add(Done{Bytes: 1000, Wire: 1000}, 0, time.Second, true, true)
		s.add(Done{Bytes: 1000, Wire: 1000}, 0, time.Second, false, false)
		s.add(Done{Bytes: 1000, Wire: 1000}, 0, time.Second, false, true)
	}
	if s.Had != 40 || s.Wire != 120_000 || s.Tries != 80 {
		t.Errorf("%+v", s)
	}
	if got := s.xi(&all); got < 2 || got > 3.5 {
		t.Errorf("xi %.2f, of a site that brings a third of its bytes to some use", got)
	}
}

// A server that asks for a long pause once is not slow.
func TestLongRest(t *testing.T) {
	var s sample
	for range 50 {
		s.add(Done{Bytes: 10_000}, 0, time.Second, false, true)
	}
	before := s.speed(usualPage, usualTime)
	s.add(Done{Bytes: 100}, 0, time.Hour, false, false)
	if got := s.speed(usualPage, usualTime); got < before/3 {
		t.Errorf("%g bytes a second, before an hour's rest %g", got, before)
	}
	for range 50 {
		s.add(Done{Bytes: 10_000}, 0, time.Hour, false, true)
	}
	if got := s.speed(usualPage, usualTime); got > 100 {
		t.Errorf("%g bytes a second, with an hour's rest after each page", got)
	}
}

// What a site can bring follows its server and its waits.
func TestSpeed(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes int64
		cycle time.Duration
	}{"usual": {20e3, time.Second}, "slow": {20e3, 30 * time.Second}, "very slow": {200, time.Hour}, "fast": {1e6, time.Millisecond}} {
		var s sample
		want := float64(tc.bytes) / tc.cycle.Seconds()
		for range 100 {
			s.add(Done{Bytes: tc.bytes}, 0, tc.cycle, false, true)
		}
		if got := s.speed(usualPage, usualTime); got < 0.5*min(want, 1e6) && got > 1 || got > 2*max(want, 1) {
			t.Errorf("%s: %g bytes a second, want %g", name, got, want)
		}
		// It falls to a third.
		for range 30 {
			s.add(Done{Bytes: tc.bytes}, 0, 3*tc.cycle, false, true)
		}
		if got := s.speed(usualPage, usualTime); got > 0.5*max(want, 2) && name != "fast" {
			t.Errorf("%s: %g bytes a second after it slowed down from %g", name, got, want)
		}
	}
}
