package rank

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// textbook is PageRank as it is usually written, in float64: every round moves
// everybody's rank, and spreads what dangles or goes astray over the known pages.
func textbook(g Graph, fetched, known []bool, damping float64) []float64 {
	n, pages := g.Pages(), 0
	is := func(marks []bool, p int) bool { return marks == nil || marks[p] }
	for p := range n {
		if is(known, p) {
			pages++
		}
	}
	ranks := make([]float64, n)
	for p := range n {
		if is(known, p) {
			ranks[p] = 1 / float64(pages)
		}
	}
	for change := 1.0; change > 1e-13 && pages > 0; {
		next := make([]float64, n)
		spread := 1.0
		for p := range n {
			links := g.Adj[g.Off[p]:g.Off[p+1]]
			if !is(known, p) || !is(fetched, p) {
				continue
			}
			for _, t := range links {
				if part := damping * ranks[p] / float64(len(links)); is(known, int(t)) {
					next[t] += part
					spread -= part
				}
			}
		}
		change = 0
		for p := range n {
			if is(known, p) {
				next[p] += spread / float64(pages)
			}
			change += math.Abs(next[p] - ranks[p])
		}
		ranks = next
	}
	return ranks
}

func distance[A, B float32 | float64](a []A, b []B) (sum float64) {
	for i := range a {
		sum += math.Abs(float64(a[i]) - float64(b[i]))
	}
	return sum
}

func total(ranks []float32) (sum float64) {
	for _, r := range ranks {
		sum += float64(r)
	}
	return sum
}

// parse reads a graph written as the targets of each page: "1 2; 0; ;" has
// four pages, of which the last two have no links.
func parse(s string) Graph {
	g := Graph{Off: []uint32{0}}
	for page := range strings.SplitSeq(s, ";") {
		for t := range strings.FieldsSeq(page) {
			g.Adj = append(g.Adj, uint32(t[0]-'0'))
		}
		g.Off = append(g.Off, uint32(len(g.Adj)))
	}
	return g
}

func TestPageRankByHand(t *testing.T) {
	for _, c := range []struct {
		name, graph    string
		fetched, known []bool
		want           []float32
	}{
		{"one page", "", nil, nil, []float32{1}},
		{"one page that links to itself", "0", nil, nil, []float32{1}},
		{"pages without links are alike", ";;;", nil, nil, []float32{.25, .25, .25, .25}},
		{"a ring is alike", "1;2;0", nil, nil, []float32{1. / 3, 1. / 3, 1. / 3}},
		{"a link is worth its damping", "1;", nil, nil, []float32{1 / 2.85, 1.85 / 2.85}},
		{"a link listed twice counts twice", "1 1 2;;", nil, nil, []float32{1 / 3.85, (1 + 1.7/3) / 3.85, (1 + .85/3) / 3.85}},
		{"a page that is not fetched dangles", "1;0", []bool{true, false}, nil, []float32{1 / 2.85, 1.85 / 2.85}},
		{"a page that is not known is not there", "1 2;;", nil, []bool{true, true, false}, []float32{1 / 2.425, 1.425 / 2.425, 0}},
		{"links of a page that is not known do not count", "1;0;0", nil, []bool{true, true, false}, []float32{.5, .5, 0}},
		{"nothing is known", "1;0", nil, []bool{false, false}, []float32{0, 0}},
	} {
		for _, warm := range []bool{false, true} {
			got := make([]float32, len(c.want))
			for i := range got {
				got[i] = float32(i + 1)
			}
			PageRank(parse(c.graph), c.fetched, c.known, got, Options{Tolerance: 1e-9, Warm: warm})
			if distance(got, c.want) > 1e-6 {
				t.Errorf("%s (warm %v): %v, want %v", c.name, warm, got, c.want)
			}
		}
	}
	if rounds := PageRank(Graph{}, nil, nil, nil, Options{}); rounds != 0 {
		t.Errorf("an empty web took %d rounds", rounds)
	}
}

// draw makes a small web with hubs, dangling pages, self links and repeated links.
func draw(t *rapid.T, least int) (g Graph, fetched, known []bool) {
	n := rapid.IntRange(least, 40).Draw(t, "pages")
	g.Off = append(g.Off, 0)
	page := rapid.Custom(func(t *rapid.T) uint32 {
		return uint32(min(rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b")))
	})
	for range n {
		g.Adj = append(g.Adj, rapid.SliceOfN(page, 0, 6).Draw(t, "links")...)
		g.Off = append(g.Off, uint32(len(g.Adj)))
	}
	marks := rapid.SliceOfN(rapid.Bool(), n, n)
	if rapid.Bool().Draw(t, "some fetched") {
		fetched = marks.Draw(t, "fetched")
	}
	if rapid.Bool().Draw(t, "some known") {
		known = marks.Draw(t, "known")
	}
	return g, fetched, known
}

func TestPageRankIsTheTextbooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, fetched, known := draw(t, 1)
		opt := Options{
			Damping:   rapid.Float64Range(0.05, 0.95).Draw(t, "damping"),
			Tolerance: rapid.SampledFrom([]float64{1e-2, 1e-4, 1e-6, 1e-9}).Draw(t, "tolerance"),
			Rounds:    10_000,
			Warm:      rapid.Bool().Draw(t, "warm"),
		}
		got := rapid.SliceOfN(rapid.Float32(), g.Pages(), g.Pages()).Draw(t, "start")
		PageRank(g, fetched, known, got, opt)
		want := textbook(g, fetched, known, opt.Damping)
		if d := distance(got, want); !(d <= opt.Tolerance/(1-opt.Damping)+1e-6) {
			t.Fatalf("%v away from the textbook's:\n%v\n%v", d, got, want)
		}
		sum, all := total(got), 1.0
		if known != nil && !slices.Contains(known, true) {
			all = 0
		}
		if math.Abs(sum-all) > 1e-6 {
			t.Fatalf("ranks sum to %v", sum)
		}
		for p, r := range got {
			if r < 0 || r == 0 && (known == nil || known[p]) || r > 0 && known != nil && !known[p] {
				t.Fatalf("page %d has rank %v", p, r)
			}
		}
	})
}

func TestNumberingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, fetched, known := draw(t, 1)
		n := g.Pages()
		to := rapid.Permutation(count(n)).Draw(t, "numbering")
		from := make([]int, n)
		for p, q := range to {
			from[q] = p
		}
		h := Graph{Off: []uint32{0}}
		var fetched2, known2 []bool
		for _, p := range from {
			for _, t := range g.Adj[g.Off[p]:g.Off[p+1]] {
				h.Adj = append(h.Adj, uint32(to[t]))
			}
			h.Off = append(h.Off, uint32(len(h.Adj)))
			if fetched != nil {
				fetched2 = append(fetched2, fetched[p])
			}
			if known != nil {
				known2 = append(known2, known[p])
			}
		}
		a, b := make([]float32, n), make([]float32, n)
		PageRank(g, fetched, known, a, Options{Tolerance: 1e-12, Rounds: 1000})
		PageRank(h, fetched2, known2, b, Options{Tolerance: 1e-12, Rounds: 1000})
		for p, q := range to {
			if d := math.Abs(float64(a[p] - b[q])); d > 1e-6*float64(a[p]) {
				t.Fatalf("page %d has rank %v as %d, and %v as %d", p, a[p], p, b[q], q)
			}
		}
	})
}

func count(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, fetched, known := draw(t, 1)
		a, b := make([]float32, g.Pages()), make([]float32, g.Pages())
		opt := Options{Warm: rapid.Bool().Draw(t, "warm")}
		if PageRank(g, fetched, known, a, opt) != PageRank(g, fetched, known, b, opt) || !slices.Equal(a, b) {
			t.Fatalf("ranked twice:\n%v\n%v", a, b)
		}
	})
}

// A float32 that gathers small parts one by one loses them: here a hub has two
// million links, and a small web is ranked page by page.
func TestRanksStayExact(t *testing.T) {
	const n = 2_000_000
	g := Graph{Off: make([]uint32, n+1), Adj: make([]uint32, n)}
	for p := range n {
		g.Off[p+1] = uint32(p + 1) // all link to page 0, and that to itself
	}
	ranks := make([]float32, n)
	PageRank(g, nil, nil, ranks, Options{Tolerance: 1e-9})
	hub := (1 + .85*(n-1)) / .15
	if want := hub / (hub + n - 1); math.Abs(float64(ranks[0])-want) > 1e-7 {
		t.Errorf("the hub has %v, want %v", ranks[0], want)
	}

	g = chile(20_000, 200_000)
	ranks = make([]float32, g.Pages())
	PageRank(g, nil, nil, ranks, Options{Tolerance: 1e-8})
	for p, want := range textbook(g, nil, nil, .85) {
		if math.Abs(float64(ranks[p])/want-1) > 1e-5 {
			t.Fatalf("page %d has %v, want %v", p, ranks[p], want)
		}
	}
}

// A ranking that begins with the last one takes fewer rounds, also when the web
// has grown meanwhile, and whatever the scale.
func TestWarmStart(t *testing.T) {
	g := chile(20_000, 200_000)
	n := g.Pages()
	rnd := rand.New(rand.NewPCG(3, 4))
	fetched, known := make([]bool, n), make([]bool, n)
	fetch := func(pages int) {
		for range pages {
			p := rnd.IntN(n)
			fetched[p], known[p] = true, true
			for _, t := range g.Adj[g.Off[p]:g.Off[p+1]] {
				known[t] = true
			}
		}
	}
	fetch(5000)
	warm := make([]float32, n)
	first := PageRank(g, fetched, known, warm, Options{})
	if again := PageRank(g, fetched, known, warm, Options{Warm: true}); again > 1 {
		t.Errorf("nothing changed, and ranking took %d rounds of %d", again, first)
	}
	fetch(100)
	for p := range warm {
		warm[p] *= 1e6
	}
	rounds := PageRank(g, fetched, known, warm, Options{Warm: true})
	cold := make([]float32, n)
	if all := PageRank(g, fetched, known, cold, Options{}); rounds*2 > all {
		t.Errorf("a warm start took %d rounds, a cold one %d", rounds, all)
	}
	if d := distance(warm, cold); d > 2e-4/.15 {
		t.Errorf("a warm start ends %v from a cold one", d)
	}
}

// Whoever must leave at once gets what there is: ranks that sum to 1.
func TestStop(t *testing.T) {
	g := chile(2000, 20_000)
	for _, warm := range []bool{false, true} {
		for after := range 4 {
			ranks := make([]float32, g.Pages())
			ranks[5] = 1
			asked := 0
			rounds := PageRank(g, nil, nil, ranks, Options{Warm: warm, Stop: func() bool { asked++; return asked > after }})
			if rounds != after || math.Abs(total(ranks)-1) > 1e-5 || slices.Min(ranks) <= 0 {
				t.Errorf("stopped after %d rounds (warm: %v): %d rounds, ranks from %v sum to %v", after, warm, rounds, slices.Min(ranks), total(ranks))
			}
		}
	}
}

func TestNonsenseIsNotRanked(t *testing.T) {
	g := parse("1;0")
	for name, rank := range map[string]func(){
		"too few ranks":   func() { PageRank(g, nil, nil, make([]float32, 1), Options{}) },
		"too many marks":  func() { PageRank(g, make([]bool, 3), nil, make([]float32, 2), Options{}) },
		"damping of 1":    func() { PageRank(g, nil, nil, make([]float32, 2), Options{Damping: 1}) },
		"NaN tolerance":   func() { PageRank(g, nil, nil, make([]float32, 2), Options{Tolerance: math.NaN()}) },
		"negative rounds": func() { PageRank(g, nil, nil, make([]float32, 2), Options{Rounds: -1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was ranked", name)
				}
			}()
			rank()
		}()
	}
}
