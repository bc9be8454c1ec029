package crawl

import (
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/page"
)

// books are what an Engine knows of how many pages sites have had: what the Ledger told
// of them, and what its own orders add.
type books struct {
	used    map[page.SiteID]int64 // of sites that it knows
	counted map[page.Key]bool     // of pages that wait
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
		s.books.counted[page.Key{Site: q.Site, Hash: q.Entry.Hash}] = q.Entry.Counted
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
	keys := slices.SortedFunc(maps.Keys(s.queued), func(a, b page.Key) int { return strings.Compare(s.queued[a], s.queued[b]) })
	if len(keys) == 0 {
		return nil
	}
	k := rapid.SampledFrom(keys).Draw(s.fl.t, "page")
	u := s.queued[k]
	w, err := ReadWaits(s.kv, k)
	s.must(err)
	if !s.alone && (!w.Still || w.Had) && !s.l.Doubtful() {
		s.fl.t.Fatalf("%s is sure of %s: %+v", s.name, u, w)
	}
	delete(s.queued, k)
	s.id++
	v := &voyage{id: s.id, key: k, url: u, waits: w, counted: s.books.counted[k]}
	s.books.flights[v.id] = v
	away, err := s.l.away(k, 0)
	s.must(err)
	if away {
		v.answered = true
		s.books.add(v, frontier.Declined(v.counted))
		s.must(s.l.Settle(v.id, k.Site, frontier.Entry{Hash: k.Hash, Rest: mustURL(u).Rest()}, page.SteeredAway))
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
