package frontier

import (
	"time"

	"weir/page"
)

// A crawl meets more sites than it could keep in memory. One that has nothing
// to do any more is forgotten, and so is a host without sites, once it has
// rested. What must hold when they come back stays, small: the care of a host,
// the fate of a site. All else of a site is in its rows, and its addresses are
// looked up again. So a host that was forgotten is never asked sooner than one
// that was not.

// linger is how long a site or host without work is kept, when nothing else is
// said: the next page of the crawl may well lead to it.
const linger = time.Minute

// sweepStep is how many of each are looked at in one call of Next, which is
// called several times for every page.
const sweepStep = 4

// left is a site or a host that has had no work since then.
type left[T any] struct {
	who   T
	since page.Time
}

// empty notes that a site has nothing queued.
func (f *Frontier) empty(s *site) {
	if !s.leaving {
		s.leaving = true
		f.emptySites.push(left[*site]{s, f.now})
	}
}

// desert notes that a host has no sites and no work.
func (f *Frontier) desert(h *host) {
	if !h.leaving && h.known == 0 && h.state == idle {
		h.leaving = true
		f.emptyHosts.push(left[*host]{h, f.now})
	}
}

// sweep forgets a few of those that have had no work for a while.
func (f *Frontier) sweep() {
	for range sweepStep {
		if f.emptySites.len() == 0 || f.emptySites.first().since.Add(f.cfg.Linger) > f.now {
			break
		}
		s := f.emptySites.pop().who
		s.leaving = false
		_, loading := f.loads[s.id]
		switch {
		case s.finished() && !loading:
			f.forgetSite(s)
		case s.queued == 0:
			f.empty(s) // what became of its last page is not durable yet, or it was dropped
		}
	}
	for range sweepStep {
		if f.emptyHosts.len() == 0 || f.emptyHosts.first().since.Add(f.cfg.Linger) > f.now {
			break
		}
		h := f.emptyHosts.pop().who
		h.leaving = false
		switch {
		case h.known > 0 || h.state != idle:
		case h.next > f.now && h.care.bare():
			f.desert(h) // it has to rest first
		default:
			f.forgetHost(h)
		}
	}
}

func (f *Frontier) forgetSite(s *site) {
	s.chill()
	f.heat(s)
	f.sites.remove(s.id)
	if s.fate != (fate{}) {
		f.fates[s.id] = s.fate
	}
	s.host.known--
	f.desert(s.host)
}

func (f *Frontier) forgetHost(h *host) {
	f.part(h)
	if !h.care.bare() {
		h.care.until = h.next
		f.cares[h.name] = h.care
	}
	delete(f.hosts, h.name)
}

// Recall tells what others, or earlier runs, learned of a host, before its sites
// are added: its state, and the crawl-delay of one of its sites.
func (f *Frontier) Recall(now page.Time, name string, st HostState, delay time.Duration) {
	h, c := f.hosts[name], f.cares[name]
	switch {
	case h != nil:
		c = f.mind(h)
	case c == nil:
		c = &care{}
		f.cares[name] = c
	}
	if st != (HostState{}) {
		c.failures, c.last, c.saved = int32(st.Failures), max(c.last, st.Last), st
		if c.until = now.Add(st.Rest); h != nil {
			f.postpone(h, c.until)
			c.until = 0
		}
	}
	c.delay = max(c.delay, delay)
}

// Slow makes a host rest for at least so long from now on, as a crawl-delay
// would, whether it is known or not.
func (f *Frontier) Slow(now page.Time, name string, delay time.Duration) {
	if h := f.hosts[name]; h != nil {
		f.slow(h, delay)
		return
	}
	f.Recall(now, name, HostState{}, delay)
}

// Reload forgets the entries that it knows, so that they are loaded again before
// their turn: whoever keeps the queue may judge them anew.
func (f *Frontier) Reload() {
	for s := range f.sites.all() {
		if len(s.live()) == 0 {
			continue
		}
		s.setLow(s.live()[0].Place)
		s.hot.window, s.hot.head, s.complete = nil, 0, false
		f.heat(s)
		f.rerank(s)
	}
}
