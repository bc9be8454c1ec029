package crawl

import (
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

// books are what an Engine knows of how many pages sites have had: what the Ledger told
// of them, and what its own orders add.
type books struct {
	used    map[page.SiteID]int64 // of sites that it knows
	counted map[page.Key]bool     // of pages that wait
	stale   []voyage              // entries of pages that have ended, and wait again
	flights map[uint64]*voyage
}

// voyage is an order whose end is not durable.
type voyage struct {
	id      uint64
	key     page.Key
	url     string
	waits   Waits
	counted bool
	change  int64

	answered bool
}

func newBooks() books {
	return books{used: map[page.SiteID]int64{}, counted: map[page.Key]bool{}, flights: map[uint64]*voyage{}}
}

// heard takes what is durable, and holds what is known of adopted sites to the Ledger.
func (s *ship) heard(ev *Committed) {
	for _, k := range ev.Sites {
		s.books.describe(k)
	}
	for _, id := range ev.Vain {
		if v := s.books.flights[id]; v != nil {
			s.books.add(v, -v.change)
		}
	}
	for _, id := range ev.IDs {
		delete(s.books.flights, id)
	}
	for _, q := range ev.Queued {
		k := page.Key{Site: q.Site, Hash: q.Entry.Hash}
		if u, waits := s.queued[k]; waits && s.books.counted[k] != q.Entry.Counted { // it is not told when a page that waits ends
			s.books.stale = append(s.books.stale, voyage{key: k, url: u, counted: s.books.counted[k]})
		}
		s.books.counted[k] = q.Entry.Counted
	}
	for id, n := range s.books.used {
		site, err := s.l.site(id)
		s.must(err)
		if want := site.fetched + s.books.under(id); n != want {
			s.fl.t.Fatalf("%s takes %s to have %d pages, it has %d", s.name, site.name, n, want)
		}
		if site.fetched < 0 {
			s.fl.t.Fatalf("%s has %d pages", site.name, site.fetched)
		}
	}
}

// describe takes what the Ledger tells of a site.
func (b *books) describe(k frontier.Known) {
	if _, known := b.used[k.ID]; known {
		b.used[k.ID] += k.More
	} else {
		b.used[k.ID] = k.Used
	}
}

// add notes what an order adds to its site, if that is known.
func (b *books) add(v *voyage, n int64) {
	v.change += n
	if _, known := b.used[v.key.Site]; known {
		b.used[v.key.Site] += n
	}
}

// under is what orders have added of which the Ledger has not heard.
func (b *books) under(id page.SiteID) (n int64) {
	for _, v := range b.flights {
		if v.key.Site == id {
			n += v.change
		}
	}
	return n
}

// order takes a page that waits; nil if none does, or it ended without a request.
func (s *ship) order() *voyage {
	if n := len(s.books.stale); n > 0 {
		v := s.books.stale[n-1]
		s.books.stale = s.books.stale[:n-1]
		return s.begin(&v)
	}
	keys := slices.SortedFunc(maps.Keys(s.queued), func(a, b page.Key) int { return strings.Compare(s.queued[a], s.queued[b]) })
	if len(keys) == 0 {
		return nil
	}
	k := rapid.SampledFrom(keys).Draw(s.fl.t, "page")
	v := &voyage{key: k, url: s.queued[k], counted: s.books.counted[k]}
	delete(s.queued, k)
	return s.begin(v)
}

// begin orders an entry.
func (s *ship) begin(v *voyage) *voyage {
	k := v.key
	var err error
	v.waits, err = ReadWaits(s.kv, k)
	s.must(err)
	if w := v.waits; !s.alone && (!w.Still || w.Had) && !s.l.Doubtful() {
		s.fl.t.Fatalf("%s is sure of %s: %+v", s.name, v.url, w)
	}
	s.id++
	v.id = s.id
	s.books.flights[v.id] = v
	away, err := s.l.away(k, 0)
	s.must(err)
	if away {
		v.answered = true
		s.books.add(v, frontier.Declined(v.counted))
		s.must(s.l.Settle(v.id, k.Site, frontier.Entry{Hash: k.Hash, Counted: v.counted, Rest: mustURL(v.url).Rest()}, page.SteeredAway))
		return nil
	}
	s.books.add(v, frontier.Begun(v.counted))
	return v
}

// land answers the first order that is under way and meets a condition. It reports
// whether there was one.
func (s *ship) land(which func(*voyage) bool) bool {
	for _, id := range slices.Sorted(maps.Keys(s.books.flights)) {
		if v := s.books.flights[id]; !v.answered && which(v) {
			s.answer(v)
			return true
		}
	}
	return false
}

// answer ends an order.
func (s *ship) answer(v *voyage) {
	k := v.key
	v.answered = true
	s.fl.now++
	x, lent := s.fl.facts(k, v.url), false
	if v.waits.Had {
		if at, ok := s.fl.lent(s, v.url, v.waits.Since); ok {
			x, lent = s.fl.factsAt(k, v.url, at), true
			x.Lent = true
		}
	}
	if !lent {
		s.fl.asked[v.url]++
	}
	if s.row(k).state == stateQueued {
		s.held[k] = v.url
	}
	x.Counted = v.counted
	s.books.add(v, frontier.Ended(v.counted, x.Outcome, 0))
	s.must(s.l.Page(v.id, x, Archived{File: 1, Length: 1}, false))
}

// audit holds what the Ledger says of how many pages sites have had to their rows.
func (s *ship) audit() {
	had := map[page.SiteID]int64{}
	s.must(s.kv.Scan([]byte{keyURL}, []byte{keyURL + 1}, func(key, value []byte) bool {
		k, err := readPageKey(key)
		s.must(err)
		var r urlRow
		s.must(r.read(value))
		if r.counted || r.state == stateEnded && r.outcome.Row().Answer && !r.handed() {
			had[k.Site]++
		}
		return true
	}))
	for id, n := range had {
		site, err := s.l.site(id)
		s.must(err)
		if site.fetched != n {
			s.fl.t.Fatalf("%s says that %s has %d pages, by its rows it has %d", s.name, site.name, site.fetched, n)
		}
	}
}

// TestOrdersOfPagesThatCameBack: a page ends by what another node did while its entry
// waits here, or its order is under way, and is wanted again by a program that comes. What
// becomes of that order counts once; and no budget keeps the page from being fetched.
func TestOrdersOfPagesThatCameBack(t *testing.T) {
	for _, flying := range []bool{true, false} {
		once(t, func(t *rapid.T) {
			f := newFleet(t, sharedPlan(t, narrow("0-9"), overlay.Scheme{}), true)
			f.later = []*flow.Plan{sharedPlan(t, narrow("0-9"), overlay.Scheme{})}
			f.since, f.left = []int64{0}, make([]bool, 2)
			f.keys = overlay.NewKeys(overlay.Scheme{}, fleetParts)
			f.was, f.turn = newFleet(t, nil, false), math.MaxInt64
			f.crew(1)
			const u = "http://h.test/p1"
			s, other, part := f.nodes[0], &ship{fl: f, origin: 7}, f.keys.Home(mustURL(u))
			says := func(r overlay.Record) { f.append(other, overlay.Post{Part: part, Records: []overlay.Record{r}}) }
			says(overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u)}}})
			s.adopt(part)
			k := slices.Collect(maps.Keys(s.queued))[0]
			var v *voyage
			if flying {
				v = s.order()
			}
			says(overlay.Done{Pages: []overlay.Ended{{Site: mustURL(u).Site(), Hash: k.Hash, Outcome: page.OK, Status: 200}}})
			s.read(part)
			if r := s.row(k); r.state != stateEnded {
				t.Fatalf("it has ended: %+v", r)
			}
			s.enrol()
			s.again()
			says(overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u), Program: 1}}})
			s.read(part)
			if r := s.row(k); r.state != stateQueued || !r.counted {
				t.Fatalf("it waits again: %+v", r)
			}
			if flying {
				s.answer(v)
				s.commit() // which compares the counts
				return
			}
			s.id++
			s.must(s.l.Settle(s.id, k.Site, frontier.Entry{Hash: k.Hash, Rest: "/p1"}, page.SiteBudget))
			s.commit()
			if r := s.row(k); r.state != stateQueued || !r.counted {
				t.Fatalf("a budget has ended it: %+v", r)
			}
		})
	}
}
