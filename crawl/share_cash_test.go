package crawl

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// TestCashIsShared holds the cash of a crawl that three nodes share to plain sums: what
// seeds bring, and pages hand on to pages of other nodes, waits with those, or gathers
// where it was handed on, until pages end that lead nowhere. A page that ends must not be
// linked to after that, as what it is given then is gone: so there are layers of pages,
// and each is crawled when all of the one before has ended.
//
// A crash costs what had gathered, and what pages of the node had gained since their last
// step. Nodes that have told all before they crash make none.
func TestCashIsShared(t *testing.T) {
	const layers, wide = 4, 8
	name := func(layer, n int) string { return fmt.Sprintf("http://h%d.test/%d-%d", (layer+n)%6, layer, n) }
	rapid.Check(t, func(t *rapid.T) {
		scheme := mustScheme(rapid.SampledFrom([]string{"host", "url", "host-2"}).Draw(t, "scheme"))
		plan := sharedPlan(t, "crawl(U, 0) :- seed(U). crawl(V, D+1) :- crawl(U, D), link(U, V).", scheme)
		b := &bank{fleet: newFleet(t, plan, true), owed: map[string]float64{}}
		b.order, b.keys = frontier.SiteOPIC{}, overlay.NewKeys(scheme, fleetParts)
		if rapid.Bool().Draw(t, "two programs") {
			b.more = []*flow.Plan{plan}
		}
		b.slots = rapid.SampledFrom([]int{2, sentSlots}).Draw(t, "slots") // with 2 rows put others out
		for layer := range layers - 1 {
			for n := range wide {
				for range rapid.IntRange(0, 6).Draw(t, "links") {
					to := name(layer+1, rapid.IntRange(0, wide-1).Draw(t, "link"))
					b.web[name(layer, n)] = append(b.web[name(layer, n)], to)
				}
			}
		}
		for n := range wide {
			b.seeds = append(b.seeds, name(0, n))
			b.owed[name(0, n)] = 1
		}
		b.crew(3)
		for _, s := range b.nodes {
			b.limit(s)
			s.tell()
		}
		for part := range fleetParts {
			b.nodes[part%3].adopt(part)
		}
		b.audit()
		for layer := range layers - 1 {
			for range rapid.IntRange(0, 60).Draw(t, "steps") {
				s := b.nodes[rapid.IntRange(0, 2).Draw(t, "node")]
				switch rapid.IntRange(0, 4).Draw(t, "act") {
				case 0, 1:
					b.spend(s, layer)
				case 2:
					s.commit()
				case 3:
					if len(s.outbox) > 0 {
						s.post(false)
					}
				case 4:
					b.hear(s)
				}
			}
			for _, s := range b.nodes {
				for b.spend(s, layer) {
				}
			}
			b.audit()
			if rapid.Bool().Draw(t, "crashes") {
				b.crash(b.nodes[rapid.IntRange(0, 2).Draw(t, "crasher")])
				b.audit()
			}
		}
	})
}

// bank is a fleet whose cash is counted.
type bank struct {
	*fleet
	slots int
	owed  map[string]float64 // to pages that wait
	over  float64            // handed on to nobody, or lost in crashes
}

func (b *bank) limit(s *ship) { s.l.share.sent = newSent(b.slots) }

// hear lets a node read the logs of its partitions.
func (b *bank) hear(s *ship) {
	for part, o := range b.owner {
		if o == b.index(s) {
			s.read(part)
		}
	}
}

// coin is what a page has that waits with its owner.
func (b *bank) coin(s *ship, k page.Key) *coin {
	r, err := s.l.page(k)
	s.must(err)
	c, err := s.l.weigh(r)
	s.must(err)
	return c
}

// gathered is what a node has not sent of a page's cash.
func (b *bank) gathered(s *ship, u string) float64 {
	print := fingerprint(page.Key{Hash: worldSecret.Hash(u)})
	if x := s.l.share.sent.at(print); x.print == print {
		return float64(x.score)
	}
	return 0
}

// spend ends a page of a layer that waits with a node. It reports whether there was one.
func (b *bank) spend(s *ship, layer int) bool {
	keys := slices.SortedFunc(maps.Keys(s.queued), func(x, y page.Key) int { return strings.Compare(s.queued[x], s.queued[y]) })
	keys = slices.DeleteFunc(keys, func(k page.Key) bool { return !strings.Contains(s.queued[k], fmt.Sprintf("/%d-", layer)) })
	if len(keys) == 0 {
		return false
	}
	k := rapid.SampledFrom(keys).Draw(b.t, "page")
	u := s.queued[k]
	worth := float64(b.coin(s, k).score())
	to := map[string]bool{}
	for _, v := range b.web[u] {
		to[v] = true
	}
	for v := range to {
		b.owed[v] += worth / float64(len(to))
	}
	if len(to) == 0 {
		b.over += worth
	}
	delete(b.owed, u)
	delete(s.queued, k)
	s.answer(s.begin(&voyage{key: k, url: u, counted: s.books.counted[k]}))
	return true
}

// audit lets all nodes hear of everything, and counts.
func (b *bank) audit() {
	for said := -1; said != b.said; {
		said = b.said
		for _, s := range b.nodes {
			s.tell()
		}
		for _, s := range b.nodes {
			b.hear(s)
		}
	}
	sum := b.over
	for _, s := range b.nodes {
		for _, x := range s.l.share.sent.slots {
			sum += float64(x.score)
		}
		for k, u := range s.queued {
			has := float64(b.coin(s, k).score())
			sum += has
			for _, other := range b.nodes {
				has += b.gathered(other, u)
			}
			if b.slots == sentSlots && math.Abs(has-b.owed[u]) > 1e-5*b.owed[u] {
				b.t.Fatalf("%s has %v, and should have %v", u, has, b.owed[u])
			}
		}
	}
	if want := float64(len(b.seeds)); math.Abs(sum-want) > 1e-4*want {
		b.t.Fatalf("there is cash of %v, and was of %v", sum, want)
	}
}

// crash starts a node anew that had told everything, and has it go on.
func (b *bank) crash(s *ship) {
	s.commit() // what was posted is forgotten
	for _, x := range s.l.share.sent.slots {
		b.over += float64(x.score)
	}
	for u := range b.owed {
		b.owed[u] -= b.gathered(s, u)
	}
	for k, u := range s.queued {
		gain := float64(b.coin(s, k).gain)
		b.over += gain
		b.owed[u] -= gain
	}
	s.open()
	b.limit(s)
	for part, o := range b.owner {
		if o == b.index(s) {
			s.adopt(part)
		}
	}
}

// TestSentCash: whatever rows come, and however few slots there are, what was given was
// sent or is there; and a row that is sent again for cash carries what rows do on the mean.
func TestSentCash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSent(rapid.IntRange(1, 9).Draw(t, "slots"))
		given, gone := 0.0, 0.0
		for range rapid.IntRange(0, 300).Draw(t, "links") {
			print := uint64(rapid.IntRange(1, 12).Draw(t, "page"))
			depth := uint16(rapid.IntRange(0, 2).Draw(t, "depth"))
			cash := rapid.SampledFrom([]float32{0, 1e-6, 0.01, 1, 30}).Draw(t, "cash")
			was, mean := *s.at(print), s.mean
			ships, news := s.pay(print, depth, cash)
			given += float64(cash)
			gone += float64(ships)
			switch known := was.print == print && was.depth <= depth; {
			case !known && !news:
				t.Fatalf("page %d at depth %d was not sent; its slot had %+v", print, depth, was)
			case known && news && ships < mean:
				t.Fatalf("a row was sent again for %v, of a mean of %v", ships, mean)
			case known && !news && s.at(print).score >= mean && mean > 0:
				t.Fatalf("%v waits, of a mean of %v", s.at(print).score, mean)
			}
		}
		for _, x := range s.slots {
			gone += float64(x.score)
		}
		if math.Abs(gone-given) > 1e-4*given {
			t.Fatalf("%v was given, and %v is there or sent", given, gone)
		}
	})
}
