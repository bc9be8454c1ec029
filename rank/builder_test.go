package rank

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// batch is some of a page's links, as a crawl's tables hold them.
type batch struct {
	from    uint64
	targets []uint64
}

func stream(batches []batch) Links {
	return func(visit func(uint64, []uint64)) error {
		for _, b := range batches {
			visit(b.from, b.targets)
		}
		return nil
	}
}

// ample is a budget for anything a test builds.
const ample = 1 << 30

// plain is the web that batches stand for, made the simple way.
func plain(batches []batch) (g Graph, number map[uint64]int) {
	number = map[uint64]int{}
	var links [][]uint32
	add := func(name uint64) uint32 {
		if _, ok := number[name]; !ok {
			number[name] = len(links)
			links = append(links, nil)
		}
		return uint32(number[name])
	}
	for _, b := range batches {
		p := add(b.from)
		for _, t := range b.targets {
			if q := add(t); q != p && !slices.Contains(links[p], q) {
				links[p] = append(links[p], q)
			}
		}
	}
	g.Off = []uint32{0}
	for _, l := range links {
		g.Adj = append(g.Adj, l...)
		g.Off = append(g.Off, uint32(len(g.Adj)))
	}
	return g, number
}

func TestBuilderRanksWhatLinksSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few names, so that pages link to themselves, come twice and in parts; some are alike in all but few bits.
		name := rapid.Map(rapid.IntRange(0, 30), func(i int) uint64 { return bits.RotateLeft64(uint64(i), i%3*30) })
		batches := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) batch {
			return batch{name.Draw(t, "from"), rapid.SliceOfN(name, 0, 5).Draw(t, "to")}
		}), 0, 30).Draw(t, "batches")
		again := slices.Clone(batches)
		if len(batches) > 0 {
			again = rapid.Permutation(batches).Draw(t, "the second time")
		}
		times := 0
		links := func(visit func(uint64, []uint64)) error {
			times++
			return stream([][]batch{batches, again}[times-1])(visit)
		}
		web, err := Builder{Budget: ample, Seed: rapid.Uint64().Draw(t, "seed")}.Build(links)
		if err != nil {
			t.Fatal(err)
		}
		g, number := plain(batches)
		if web.Pages() != g.Pages() || web.Links() != len(g.Adj) {
			t.Fatalf("%d pages with %d links, want %d with %d", web.Pages(), web.Links(), g.Pages(), len(g.Adj))
		}
		web.Rank(Options{Tolerance: 1e-9})
		want := textbook(g, nil, nil, .85)
		sum := 0.0
		for _, score := range web.scores {
			sum += float64(score)
		}
		for name, p := range number {
			score, ok := web.Score(name)
			if !ok || score < 1-1e-6 {
				t.Fatalf("page %x scores %v (%v)", name, score, ok)
			}
			if d := score/sum/want[p] - 1; math.Abs(d) > 1e-5 {
				t.Fatalf("page %x scores %v of %v, want the share %v", name, score, sum, want[p])
			}
		}
		if _, ok := web.Score(1 << 50); ok {
			t.Fatal("a page nobody knows has a score")
		}
	})
}

func TestEmptyCrawl(t *testing.T) {
	web, err := Builder{Budget: ample}.Build(stream(nil))
	if err != nil {
		t.Fatal(err)
	}
	if web.Rank(Options{}) != 0 || web.Pages() != 0 {
		t.Error("nothing was ranked")
	}
	if _, ok := web.Score(0); ok {
		t.Error("a page nobody knows has a score")
	}
}

// Scores do not depend on the seed, to the bit, else nobody could replay a crawl.
func TestSeedIsNotSeen(t *testing.T) {
	var first []float32
	for seed := range uint64(3) {
		web, err := Builder{Budget: ample, Seed: seed * 12345}.Build(stream(named(chile(3000, 30_000))))
		if err != nil {
			t.Fatal(err)
		}
		web.Rank(Options{})
		scores := web.scores
		if first == nil {
			first = scores
		}
		if !slices.Equal(scores, first) {
			t.Fatal("another seed gives other scores")
		}
	}
}

// named gives the pages of a graph names, by which none can be told from another.
func named(g Graph) []batch {
	batches := make([]batch, g.Pages())
	for p := range batches {
		batches[p].from = naming(p)
		for _, t := range g.Adj[g.Off[p]:g.Off[p+1]] {
			batches[p].targets = append(batches[p].targets, naming(int(t)))
		}
	}
	return batches
}

func naming(p int) uint64 { return stir(uint64(p)+1, 0xa0761d6478bd642f) * 0xe7037ed1a0b428db }

func TestTooLargeSaysWhatWouldDo(t *testing.T) {
	for _, pages := range []int{1, 100, 10_000, 100_000} {
		links := stream(named(chile(pages, pages*8)))
		for _, budget := range []int64{math.MinInt64, 0, 1000, int64(pages) * 10, int64(pages) * 50} {
			_, err := Builder{Budget: budget, Seed: 7}.Build(links)
			var large *TooLarge
			if !errors.As(err, &large) {
				t.Fatalf("%d pages in %d bytes: %v", pages, budget, err)
			}
			exact := need(int64(pages), large.Links)
			if large.Budget != budget || large.Need < exact || float64(large.Need) > 1.1*float64(exact) {
				t.Errorf("%d pages in %d bytes: %+v, where exactly %d would do", pages, budget, large, exact)
			}
			if pages <= sampleSize && large.Need != exact {
				t.Errorf("few pages can be counted, yet %d are said to need %d instead of %d", pages, large.Need, exact)
			}
			web, err := Builder{Budget: large.Need, Seed: 7}.Build(links)
			if err != nil {
				t.Fatalf("given what was asked for: %v", err)
			}
			web.Rank(Options{})
		}
	}
}

// However many bytes there are, 32 bits number only so many links.
func TestBeyondAllBudgets(t *testing.T) {
	c := &counter{budget: math.MaxInt64, names: newRegister(0), links: most}
	c.count(1, []uint64{2})
	err := c.fits()
	if err == nil || !strings.Contains(err.Error(), "cannot be ranked") {
		t.Errorf("%d links: %v", c.links, err)
	}
}

// What a web holds, counted array by array, stays within what need says.
func TestNeedIsEnough(t *testing.T) {
	c := &counter{budget: ample, names: newRegister(0)}
	for p := range 300_000 {
		slots := len(c.names.slots)
		c.count(naming(p), nil)
		if now := len(c.names.slots); now != slots {
			slots += now // while they double both are held
		}
		if held := 8*chunk*len(c.names.names) + 4*chunk*len(c.out) + 4*slots; int64(held) > need(int64(p+1), 0) {
			t.Fatalf("counting %d pages holds %d bytes", p+1, held)
		}
	}
	for pages := 1; pages < 300_000; pages = pages*5/4 + 1 {
		web, err := Builder{Budget: ample}.Build(stream(named(chile(pages, pages))))
		if err != nil {
			t.Fatal(err)
		}
		held := 8*chunk*len(web.names.names) + 4*len(web.names.slots) + 4*cap(web.graph.Off) + 4*cap(web.graph.Adj) + 12*pages
		if n := need(int64(pages), int64(cap(web.graph.Adj))); int64(held) > n {
			t.Errorf("ranking %d pages holds %d bytes of %d", pages, held, n)
		}
	}
}

func TestLinksThatChangeAreRefused(t *testing.T) {
	before := []batch{{1, []uint64{2, 3}}, {2, []uint64{1}}, {3, nil}}
	for name, after := range map[string][]batch{
		"a link less":         {{1, []uint64{2}}, {2, []uint64{1}}, {3, nil}},
		"a link more":         {{1, []uint64{2, 3}}, {2, []uint64{1}}, {3, []uint64{1}}},
		"many links more":     {{1, []uint64{2, 3, 2, 3, 2, 3, 2, 3}}},
		"a link elsewhere":    {{1, []uint64{2, 2}}, {2, []uint64{1}}, {3, nil}},
		"a link of another":   {{1, []uint64{2}}, {2, []uint64{1, 3}}, {3, nil}},
		"an unknown page":     {{1, []uint64{2, 3}}, {2, []uint64{1}}, {4, nil}},
		"a link to a new one": {{1, []uint64{2, 4}}, {2, []uint64{1}}, {3, nil}},
		"nothing":             nil,
	} {
		times := 0
		_, err := Builder{Budget: ample}.Build(func(visit func(uint64, []uint64)) error {
			times++
			return stream([][]batch{before, after}[times-1])(visit)
		})
		if !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("the disk is gone")
	for fails := range 2 {
		times := 0
		_, err := Builder{Budget: ample}.Build(func(visit func(uint64, []uint64)) error {
			if times++; times > fails {
				return broken
			}
			return stream(before)(visit)
		})
		if !errors.Is(err, broken) {
			t.Errorf("failing the %d. time: %v", fails+1, err)
		}
	}
}

// Names that agree in most bits, as a site could choose them, are found as fast
// as any while it does not know the seed.
func TestNamesDoNotCrowd(t *testing.T) {
	const n = 100_000
	for name, nth := range map[string]func(uint64) uint64{
		"in a row":     func(i uint64) uint64 { return i },
		"low bits 0":   func(i uint64) uint64 { return i << 44 },
		"low bits 1":   func(i uint64) uint64 { return i<<32 | 0xffffffff },
		"middle bits":  func(i uint64) uint64 { return i << 20 },
		"for seed 0":   func(i uint64) uint64 { return i * 0xf1de83e19937733d }, // the inverse of first
		"both ends":    func(i uint64) uint64 { return i>>8<<56 | i&0xff },
		"at random":    rand.New(rand.NewPCG(1, 1)).Uint64N,
		"top bits set": func(i uint64) uint64 { return ^i },
	} {
		r := newRegister(0x5ca1ab1e0ddba11)
		for i := range uint64(n) {
			if name == "at random" {
				i = 1 << 63
			}
			r.add(nth(i))
		}
		steps := 0
		for p := range r.pages {
			home := int(stir(r.name(p)^r.seed, first)) & (len(r.slots) - 1)
			at, _ := r.slot(r.name(p))
			steps += (at - home) & (len(r.slots) - 1)
		}
		if mean := float64(steps) / float64(r.pages); mean > 3 {
			t.Errorf("%s: %.1f slots are looked at in vain", name, mean)
		}
	}
}
