package crawl

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/page"
)

func newBank(t testing.TB) *book {
	b := &book{t: t, kv: &memory{}, order: frontier.SiteOPIC{}}
	b.reopen()
	return b
}

func (b *book) score(u string) float32 { return b.info(u).Entry.Score }

func (b *book) cash(u string) float64 {
	s, err := b.site(b.key(u).Site)
	b.must(err)
	return s.cash
}

// A page that is fetched hands its cash on, in equal parts: once to each page,
// however often it links to it.
func TestCashIsHandedOn(t *testing.T) {
	b := newBank(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.must(b.Seed(mustURL(a+"/rich"), 8))
	if b.flush(); b.score(a+"/") != 1 || b.cash(a+"/") != 9 {
		t.Fatalf("a seed has %v, its site %v", b.score(a+"/"), b.cash(a+"/"))
	}
	const other = "http://b.example"
	b.visit(a+"/", page.OK, nil, a+"/x", a+"/x", other+"/y", a+"/", a+"/rich")
	ev := b.flush()
	if b.score(a+"/x") != 0.25 || b.score(other+"/y") != 0.25 || b.cash(other+"/y") != 0.25 {
		t.Errorf("%v and %v, at a site with %v, want a quarter", b.score(a+"/x"), b.score(other+"/y"), b.cash(other+"/y"))
	}
	if len(ev.Moved) != 0 || b.score(a+"/rich") != 8 {
		t.Errorf("a gain of less than a step was written: %+v", ev.Moved)
	}
	if b.cash(a+"/") != 8.25 {
		t.Errorf("the site has %v", b.cash(a+"/"))
	}
	b.visit(a+"/rich", page.OK, nil, a+"/x") // with the quarter that was not written
	ev = b.flush()
	if len(ev.Moved) != 1 || ev.Moved[0].Was != 0.25 || ev.Moved[0].Entry.Score != 8.5 || b.score(a+"/x") != 8.5 || b.cash(a+"/x") != 8.5 {
		t.Fatalf("moved %+v; the page has %v, the site %v", ev.Moved, b.score(a+"/x"), b.cash(a+"/"))
	}
	if old := ev.Moved[0].Old; !ev.Moved[0].Entry.Place.Before(old) {
		t.Errorf("richer, and at %v after %v", ev.Moved[0].Entry.Place, old)
	}
}

// A redirect hands on everything, an error nothing, and a page that comes again
// keeps what it has gained.
func TestCashOfOtherEnds(t *testing.T) {
	b := newBank(t)
	for _, u := range []string{"/", "/again", "/gone"} {
		b.must(b.Seed(mustURL(a+u), 4))
	}
	b.flush()
	b.visit(a+"/gone", page.ClientError, nil)
	b.visit(a+"/", page.Redirected, func(f *page.Facts) { f.Redirect = link(a + "/to") })
	b.flush()
	if b.score(a+"/to") != 4 || b.cash(a+"/") != 8 {
		t.Errorf("the redirect's target has %v, the site %v", b.score(a+"/to"), b.cash(a+"/"))
	}
	b.visit(a+"/to", page.OK, nil, a+"/again", a+"/1", a+"/2", a+"/3", a+"/4")
	b.visit(a+"/again", page.ServerError, nil)
	if ev := b.flush(); len(ev.Queued) != 5 || b.score(a+"/again") != 4.8 {
		t.Errorf("%v after a try that failed; %+v", b.score(a+"/again"), ev)
	}
}

// TestCashIsKept compares the Ledger with plain sums, over restarts and with too
// little memory for every page: nothing is worth more than it should be, and
// without those a page that ends is worth all that it was given.
func TestCashIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &book{t: t, kv: &memory{}, order: frontier.SiteOPIC{}}
		b.memory = rapid.SampledFrom([]int64{0, 300, 30_000}).Draw(t, "memory")
		b.reopen()
		exact := b.memory == 0
		name := func(n int) string { return fmt.Sprintf("http://s%d.example/%d", n%3, n) }
		owed := map[int]float64{} // of pages that wait
		ended := map[int]bool{}
		for n := range 3 {
			b.must(b.Seed(mustURL(name(n)), float32(n+1)))
			owed[n] = float64(n + 1)
		}
		b.flush()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				b.flush()
			case 1:
				b.flush()
				b.reopen() // and the memory of pages with it
				b.Recall(nil, true)
				b.seen.full = true
				exact = false
			default:
				n := rapid.IntRange(0, 29).Draw(t, "page")
				if _, waits := owed[n]; !waits {
					continue
				}
				var links []string
				to := map[int]bool{}
				for range rapid.IntRange(0, 6).Draw(t, "links") {
					m := rapid.IntRange(0, 29).Draw(t, "link")
					to[m] = true
					links = append(links, name(m))
				}
				worth := owed[n]
				delete(owed, n)
				ended[n] = true
				b.visit(name(n), page.OK, nil, links...)
				for m := range to {
					if !ended[m] {
						owed[m] += worth / float64(len(to))
					}
				}
			}
		}
		b.flush()
		for n, want := range owed {
			c, err := b.weigh(mustRecord(b, name(n)))
			b.must(err)
			got, stored := float64(c.score()), float64(b.score(name(n)))
			if got > want*1.00001 || stored > got || got >= frontier.Step*stored*1.00001 {
				t.Fatalf("page %d has %v, %v of it stored, and should have %v", n, got, stored, want)
			}
			if exact && math.Abs(got-want) > 1e-5*want {
				t.Fatalf("page %d has %v and should have %v", n, got, want)
			}
		}
	})
}

func mustRecord(b *book, u string) *pageRecord {
	r, err := b.page(b.key(u))
	b.must(err)
	if r == nil {
		b.t.Fatalf("%s is not known", u)
	}
	return r
}

// The table finds every page for as long as it may grow, and never more than it
// was told.
func TestPurse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &purse{budget: rapid.SampledFrom([]int64{0, 64, 320, 2000}).Draw(t, "budget")}
		want := map[uint64]float32{}
		for n := range rapid.IntRange(0, 300).Draw(t, "puts") {
			print := uint64(rapid.IntRange(0, 400).Draw(t, "page"))<<shardBits<<32 | uint64(rapid.IntRange(0, 1).Draw(t, "shard"))
			want[print] = float32(n)
			p.put(print, stateQueued, 0, float32(n))
			if p.budget > 0 && p.bytes > p.budget {
				t.Fatalf("%d bytes, %d are allowed", p.bytes, p.budget)
			}
		}
		for print, stored := range want {
			c := p.find(print)
			if c == nil && p.budget == 0 || c != nil && c.stored != stored {
				t.Fatalf("page %x is %+v, want %v", print, c, stored)
			}
		}
		if p.find(1<<60) != nil {
			t.Fatal("a page that was never put is there")
		}
	})
}

// A page that gains enough to move keeps what its link does not say of it: the
// redirects that led there, and how often it was tried.
func TestMovedPagesKeepTheirPast(t *testing.T) {
	b := newBank(t)
	for _, u := range []string{"/", "/rich", "/tried"} {
		b.must(b.Seed(mustURL(a+u), 1))
	}
	b.flush()
	b.visit(a+"/", page.Redirected, func(f *page.Facts) { f.Redirect = link(a + "/to") })
	b.visit(a+"/tried", page.ServerError, nil)
	b.flush()
	b.reopen() // nothing of it is at hand
	b.visit(a+"/rich", page.OK, nil, a+"/to", a+"/tried", a+"/new")
	b.flush()
	b.must(b.Seed(mustURL(a+"/rich2"), 30))
	b.flush()
	b.visit(a+"/rich2", page.OK, nil, a+"/to", a+"/tried", a+"/new")
	ev := b.flush()
	if len(ev.Moved) != 3 {
		t.Fatalf("%d pages moved, want 3: %+v", len(ev.Moved), ev.Moved)
	}
	for u, want := range map[string]frontier.Entry{"/to": {Hops: 1}, "/tried": {Attempt: 1, Root: true}, "/new": {Depth: 1}} {
		got := b.info(a + u).Entry
		if got.Hops != want.Hops || got.Attempt != want.Attempt || got.Root != want.Root && u == "/tried" || got.Rest != u || u == "/new" && got.Depth != 1 {
			t.Errorf("%s is queued as %+v", u, got)
		}
	}
}
