package survey

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/page"
)

func numbered(i int) page.URL { return page.Canonical(fmt.Sprintf("http://a.test/%d", i)) }

// TestSketchCounts lists URLs again and again: each counts once.
func TestSketchCounts(t *testing.T) {
	for _, n := range []int{0, 1, 100, sketched, sketched + 1, 5 * sketched, 40 * sketched} {
		s := sketch{secret: page.Secret{1}, draw: 10}
		for range 2 {
			for i := range n {
				s.add(numbered(i))
			}
		}
		got, slack := s.count(), 0.0
		if n > sketched {
			slack = 4 / math.Sqrt(sketched) // four standard errors; the hash is fixed, so it holds always or never
		}
		if math.Abs(got-float64(n)) > slack*float64(n) {
			t.Errorf("%d URLs count as %v", n, got)
		}
		if urls := s.urls(); len(urls) != min(n, 10) {
			t.Errorf("%d of %d URLs were drawn", len(urls), n)
		}
	}
}

// TestSketchDraws checks that what is drawn depends on what was listed alone, and
// not on the order or on how often.
func TestSketchDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.IntRange(0, 50)).Draw(t, "list")
		n := rapid.IntRange(1, 20).Draw(t, "draw")
		a, b := sketch{draw: n}, sketch{draw: n}
		different := map[int]bool{}
		for _, i := range list {
			a.add(numbered(i))
			different[i] = true
		}
		for _, i := range rapid.Permutation(list).Draw(t, "order") {
			b.add(numbered(i))
			b.add(numbered(i))
		}
		if a.count() != float64(len(different)) || b.count() != a.count() {
			t.Fatalf("%d different URLs count as %v and %v", len(different), a.count(), b.count())
		}
		if !slices.Equal(a.urls(), b.urls()) || len(a.urls()) != min(n, len(different)) {
			t.Fatalf("drawn %v and %v", a.urls(), b.urls())
		}
	})
}

// TestDoubtHolds draws samples of sites whose pages are more or less of a size:
// the mean of the whole lies within the bounds about four times in five, and
// less often where few large pages, which a small sample misses, weigh the most.
func TestDoubtHolds(t *testing.T) {
	const trials = 4000
	for spread, least := range map[float64]float64{0.3: 0.76, 0.8: 0.70, 1.2: 0.62} {
		for _, n := range []int64{5, 20, 100} {
			r := rand.New(rand.NewPCG(1, 2))
			whole := math.Exp(spread * spread / 2) // the mean of the population
			inside := 0
			for range trials {
				var sum, squares float64
				for range n {
					size := math.Exp(spread * r.NormFloat64())
					sum += size
					squares += size * size
				}
				mean, doubt := sum/float64(n), meanDoubt(n, sum, squares)
				if math.Abs(math.Log(whole/mean)) <= doubt {
					inside++
				}
			}
			share := float64(inside) / trials
			if share < least || share > 0.85 {
				t.Errorf("spread %v, %d pages: the mean lies within the bounds in %.3f of the cases", spread, n, share)
			}
		}
	}
}

func TestShareDoubt(t *testing.T) {
	for _, tc := range []struct{ good, n int }{{10, 10}, {5, 10}, {1, 10}, {1, 1}, {90, 100}} {
		down, up := shareDoubt(tc.good, tc.n)
		p := float64(tc.good) / float64(tc.n)
		if down <= 0 || up < 0 || p*math.Exp(up) > 1+1e-9 || tc.good < tc.n && up == 0 {
			t.Errorf("%d of %d: down %v, up %v", tc.good, tc.n, down, up)
		}
	}
	// Newcombe (1998), table I, of Wilson's interval, there for 95%: 81 of 263 is 0.2553 to 0.3662.
	// For four fifths the standard error of 0.308 is 0.0285: about 0.273 to 0.346.
	down, up := shareDoubt(81, 263)
	p := 81.0 / 263
	if low, high := p*math.Exp(-down), p*math.Exp(up); math.Abs(low-0.273) > 0.002 || math.Abs(high-0.346) > 0.002 {
		t.Errorf("81 of 263: %v to %v", low, high)
	}
}

// TestUnseen looks at some pages of sites whose links lead anywhere: how many
// pages there are is told within the bounds about four times in five, and less
// often where hardly any two links meet: the estimate is low then.
func TestUnseen(t *testing.T) {
	const trials, links = 1000, 10
	for n, least := range map[int]float64{100: 0.7, 1000: 0.7, 5000: 0.55} {
		r := rand.New(rand.NewPCG(3, 4))
		inside := 0
		for range trials {
			times := map[int]int{}
			const looks = 20
			for range looks {
				met := map[int]bool{}
				for range links {
					met[r.IntN(n)] = true
				}
				for i := range met {
					times[i]++
				}
			}
			var once, twice int64
			for _, k := range times {
				switch k {
				case 1:
					once++
				case 2:
					twice++
				}
			}
			pages, doubt := unseen(looks, once, twice)
			if math.Abs(math.Log(float64(n-len(times))/pages)) <= doubt {
				inside++
			}
		}
		if share := float64(inside) / trials; share < least || share > 0.92 {
			t.Errorf("%d pages: within the bounds in %.3f of the cases", n, share)
		}
	}
	if pages, doubt := unseen(1, 5, 0); pages != 0 || doubt != 0 {
		t.Errorf("one look tells of %v pages, doubt %v", pages, doubt)
	}
}
