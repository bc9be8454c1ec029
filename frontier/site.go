package frontier

import (
	"iter"

	"weir/page"
	"weir/robots"
)

// site is one queue and one robots.txt. One that only waits for its turn holds
// nothing else: its queue and its rules are on disk.
type site struct {
	name     string
	host     *host
	hot      *hot // nil: nothing of it is in memory
	queued   int64
	used     int64  // pages fetched, or being fetched
	lowSeq   uint64 // see low
	id       page.SiteID
	placed   int32 // in host.sites
	taken    int32 // entries handed out and not yet settled durably
	unsaved  int8  // Robots picks whose end is not durable yet: RobotsHops of them and one, as a rule
	lowClass uint8
	complete bool // the window holds every entry that is not taken
	away     bool // robots.txt is being fetched, here or by an errand, or will be again
	warm     bool // counted among the sites that hold memory
	leaving  bool // in the Frontier's list of sites that may be forgotten
	dropped  bool // others may have fetched pages of it since
	fate
}

// fate is how a site's visits fail. It stays when the site is forgotten.
type fate struct {
	lost  streak       // visits that failed
	over  page.Outcome // not None: every page of the site ends so
	asked uint8        // times robots.txt could not be had in a row
}

// asleep says that robots.txt could not be had: the site is left alone in this
// run.
func (f fate) asleep() bool { return f.asked >= robotsTries }

// hot is what a site near its turn holds.
type hot struct {
	window []Entry // the first entries, in order; window[head:] is live
	head   int
	rules  *robots.Rules
	until  page.Time // when the rules must be asked for again
	size   int64     // of the rules, as counted
}

// heated returns the site's hot part, to be written to.
func (s *site) heated() *hot {
	if s.hot == nil {
		s.hot = &hot{}
	}
	return s.hot
}

// low is a place in the queue: nothing that is not taken lies before it.
func (s *site) low() Place { return Place{s.lowClass, s.lowSeq} }

func (s *site) setLow(p Place) { s.lowClass, s.lowSeq = p.Class, p.Seq }

func (s *site) live() []Entry {
	if s.hot == nil {
		return nil
	}
	return s.hot.window[s.hot.head:]
}

// rules returns the site's rules if they are known and still hold.
func (s *site) rules(now page.Time) *robots.Rules {
	if s.hot == nil || now >= s.hot.until {
		return nil
	}
	return s.hot.rules
}

// finished says that nothing is left that the frontier must know of the site,
// but its fate.
func (s *site) finished() bool {
	return s.queued == 0 && s.taken == 0 && s.unsaved == 0 && !s.away && !s.asleep() && s.host.line.conn != s
}

// first is the place of the site's first entry, or the best it could be.
func (s *site) first() Place {
	if w := s.live(); len(w) > 0 {
		return w[0].Place
	}
	return s.low()
}

// pop takes the first entry of the window.
func (s *site) pop() Entry {
	w := s.hot
	e := w.window[w.head]
	w.window[w.head] = Entry{}
	w.head++
	w.shift()
	s.setLow(e.Place.After())
	return e
}

// shift gives back the room before head, now and then.
func (w *hot) shift() {
	if w.head == len(w.window) || w.head >= 32 && w.head >= len(w.window)/2 {
		n := copy(w.window, w.window[w.head:])
		clear(w.window[n:])
		w.window, w.head = w.window[:n], 0
	}
}

// insert puts an entry into the window if it belongs there. What does not fit
// stays on disk.
func (s *site) insert(e Entry, limit int) {
	w := s.live()
	if len(w) == 0 && !s.complete {
		if e.Place.Before(s.low()) {
			s.setLow(e.Place)
		}
		return
	}
	if !s.complete && !e.Place.Before(w[len(w)-1].Place) {
		return
	}
	i := len(w)
	for i > 0 && e.Place.Before(w[i-1].Place) {
		i--
	}
	hot := s.heated()
	hot.window = append(hot.window, Entry{})
	w = s.live()
	copy(w[i+1:], w[i:])
	w[i] = e
	if len(w) > limit {
		w[len(w)-1] = Entry{}
		hot.window = hot.window[:len(hot.window)-1]
		s.complete = false
	}
	if i == 0 {
		s.setLow(e.Place)
	}
}

// drop removes the entry at a place, if the window holds it.
func (s *site) drop(p Place, hash uint64) {
	w := s.live()
	for i := range w {
		if w[i].Place == p && w[i].Hash == hash {
			copy(w[i:], w[i+1:])
			w[len(w)-1] = Entry{}
			s.hot.window = s.hot.window[:len(s.hot.window)-1]
			s.hot.shift()
			return
		}
	}
}

// chill forgets the window and the rules; they are loaded again when needed.
func (s *site) chill() {
	if w := s.live(); len(w) > 0 {
		s.setLow(w[0].Place)
	}
	s.complete = false
	if s.hot != nil {
		s.hot.window, s.hot.head, s.hot.rules = nil, 0, nil
	}
}

// nap is a site that waits to ask for its robots.txt again.
type nap struct {
	site   *site
	until  page.Time
	placed int32
}

// shelf holds the sites of a host that have pages waiting, best first. Most
// hosts have one, and then there is no heap.
type shelf struct {
	one  *site
	many *heap[*site]
}

func (q *shelf) len() int {
	switch {
	case q.many != nil:
		return q.many.len()
	case q.one != nil:
		return 1
	}
	return 0
}

func (q *shelf) top() *site {
	if q.many != nil {
		return q.many.top()
	}
	return q.one
}

// all returns them, in no order that means anything.
func (q *shelf) all() []*site {
	switch {
	case q.many != nil:
		return q.many.items
	case q.one != nil:
		return []*site{q.one}
	}
	return nil
}

func (q *shelf) push(s *site, less func(a, b *site) bool) {
	switch {
	case q.many != nil:
		q.many.push(s)
	case q.one == nil:
		q.one, s.placed = s, 1
	default:
		q.many = &heap[*site]{less: less, place: sitePlace}
		q.many.push(q.one)
		q.many.push(s)
		q.one = nil
	}
}

func (q *shelf) fix(s *site) {
	if q.many != nil {
		q.many.fix(s)
	}
}

func (q *shelf) remove(s *site) {
	if q.many == nil {
		q.one, s.placed = nil, 0
		return
	}
	if q.many.remove(s); q.many.len() == 0 {
		q.many = nil
	}
}

// index finds sites by their numbers, which are given out one after another.
type index struct {
	leaves []leaf
	n      int
}

type leaf struct {
	sites *[leafSize]*site // nil: none
	n     int
}

const leafSize = 64

func (x *index) find(id page.SiteID) *site {
	i := int(id / leafSize)
	if i >= len(x.leaves) || x.leaves[i].sites == nil {
		return nil
	}
	return x.leaves[i].sites[id%leafSize]
}

func (x *index) add(s *site) {
	for int(s.id/leafSize) >= len(x.leaves) {
		x.leaves = append(x.leaves, leaf{})
	}
	l := &x.leaves[s.id/leafSize]
	if l.sites == nil {
		l.sites = new([leafSize]*site)
	}
	l.sites[s.id%leafSize] = s
	l.n++
	x.n++
}

func (x *index) remove(id page.SiteID) {
	l := &x.leaves[id/leafSize]
	l.sites[id%leafSize] = nil
	x.n--
	if l.n--; l.n == 0 {
		l.sites = nil
	}
}

// all goes through the sites in memory, in the order of their numbers. They may be
// removed meanwhile.
func (x *index) all() iter.Seq[*site] {
	return func(yield func(*site) bool) {
		for _, l := range x.leaves {
			if l.sites == nil {
				continue
			}
			for _, s := range l.sites {
				if s != nil && !yield(s) {
					return
				}
			}
		}
	}
}
