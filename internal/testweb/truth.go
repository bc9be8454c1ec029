package testweb

import "slices"

// Truth lists every URL that a complete and polite crawl from all start pages fetches with a 200, sorted. It follows every link,
// also to other sites, retries what fails a few times, obeys robots.txt and stays out of traps and hostile sites. A page
// of the wrong type is fetched, but shows no links; a page that is cut short is fetched and shows all of them, though Served never
// lists it.
func (w *Web) Truth() []string {
	t := newTruth(w)
	for _, s := range w.plain {
		t.visit(s.index, 0)
	}
	t.run(func(link) bool { return true })
	return t.list()
}

// TruthOf is the truth of site i for a crawl that starts there and does not leave it.
func (w *Web) TruthOf(i int) []string {
	t := newTruth(w)
	if w.sites[i].behaviour == nil && w.sites[i].folder == nil {
		t.visit(i, 0)
	}
	t.run(func(l link) bool { return l.site == i })
	return t.list()
}

// truth is a crawl of the web's description rather than of the web.
type truth struct {
	web   *Web
	seen  []bitset
	queue []link
	good  []link
}

func newTruth(w *Web) *truth { return &truth{web: w, seen: make([]bitset, len(w.sites))} }

func (t *truth) visit(site, page int) {
	if t.seen[site] == nil {
		t.seen[site] = newBitset(t.web.sites[site].Pages)
	}
	if t.seen[site].set(page) {
		t.queue = append(t.queue, link{site: site, page: page})
	}
}

func (t *truth) run(follow func(link) bool) {
	add := func(l link) {
		if l.page >= 0 && follow(l) {
			t.visit(l.site, l.page)
		}
	}
	for len(t.queue) > 0 {
		l := t.queue[len(t.queue)-1]
		t.queue = t.queue[:len(t.queue)-1]
		s := t.web.sites[l.site]
		if s.shut() || s.rules.denies(pagePath(l.page)) && s.open200() {
			continue
		}
		var kind FaultKind
		if f := s.fault(l.page); f != nil && f.Times == 0 {
			kind = f.Kind
		}
		switch kind {
		case NotFound, Broken, Unavailable, Busy, Dropped:
			continue
		case RedirectPage, RedirectSite, RedirectLoop:
			add(s.leads(kind, l.page))
			continue
		}
		t.good = append(t.good, l)
		switch kind {
		case WrongType:
		case Duplicate:
			add(link{site: l.site, page: 0})
		default:
			s.links(l.page, add)
		}
	}
}

// shut sites have a robots.txt that never comes, which forbids everything.
func (s *site) shut() bool {
	return s.RobotsTimes == 0 && (s.RobotsStatus >= 500 || s.RobotsStatus == 429)
}

// open200 says whether the rules are ever read: a robots.txt with another status allows everything.
func (s *site) open200() bool { return s.RobotsStatus == 0 || s.RobotsTimes > 0 }

func (t *truth) list() []string {
	out := make([]string, len(t.good))
	for i, l := range t.good {
		out[i] = t.web.sites[l.site].origin + pagePath(l.page)
	}
	slices.Sort(out)
	return out
}

// bitset is a set of page numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

// set adds i and says whether it is new.
func (b bitset) set(i int) bool {
	if b.has(i) {
		return false
	}
	b[i/64] |= 1 << (i % 64)
	return true
}

func (b bitset) clear(i int)    { b[i/64] &^= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
