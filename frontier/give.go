package frontier

import "weir/page"

// A host that waits for a connection here may be given to another node that has one
// free: all its pages go to a partition of that node, which asks for them from then on.
// They go as pages do that end without a request. What is found of the host later is
// the caller's to send there.

const (
	// given is how pages end, while they are given away.
	given = page.OK

	// giveLook is how many hosts that wait are looked at.
	giveLook = 256
)

// giving is what of a site is still to be given away.
type giving struct {
	to   uint16
	left int64
}

// Gift is what may be given away: up to Hosts hosts of up to Pages pages each, of which
// May says so in all partitions that pages of it wait in.
type Gift struct {
	Hosts int
	Pages int64
	May   func(host string, part uint16) bool
}

// Spare counts the hosts that could be given away now.
func (f *Frontier) Spare(g Gift) int { return len(f.spares(&g)) }

// Give gives hosts away to a partition, those that came last first, about.
func (f *Frontier) Give(to uint16, g Gift) {
	all := f.spares(&g)
	for _, h := range all {
		for _, s := range h.sites.all() {
			s.over = given
			if f.gifts == nil {
				f.gifts = map[page.SiteID]giving{}
			}
			f.gifts[s.id] = giving{to, s.queued}
		}
		f.ready.remove(h)
		f.line(h)
	}
}

// spares returns hosts that could be given away.
func (f *Frontier) spares(g *Gift) (all []*host) {
	if f.active+f.lent < f.cfg.Conns || f.stopping {
		return nil
	}
	waiting := f.ready.items
	waiting = waiting[max(0, len(waiting)-giveLook):]
	for i := len(waiting) - 1; i >= 0 && len(all) < g.Hosts; i-- {
		if h := waiting[i].host; g.takes(f, h) {
			all = append(all, h)
		}
	}
	return all
}

// takes says that a host may be given away: nothing is under way for it, and all that
// waits of it may go.
func (g *Gift) takes(f *Frontier, h *host) bool {
	if h.urge > 0 || h.care.dead != page.None || h.line.errands.len() > 0 || h.sites.len() == 0 {
		return false
	}
	pages := int64(0)
	for _, s := range h.sites.all() {
		if s.over != page.None || !g.May(h.name, f.Part(s.id)) {
			return false
		}
		pages += s.queued
	}
	return pages <= g.Pages
}

// give gives the site's first page away.
func (f *Frontier) give(now page.Time, h *host, s *site) Pick {
	g := f.gifts[s.id]
	p := Pick{Kind: Give, Site: s.id, Host: h.name, To: g.to}
	if g.left--; g.left > 0 {
		f.gifts[s.id] = g
	} else {
		f.gave(s) // what came meanwhile stays
	}
	p.Entry = f.take(s)
	f.use(s, Declined(p.Entry.Counted))
	f.decline(h)
	f.queue(h)
	f.rest(now, h)
	return p
}

// gave ends the giving of a site.
func (f *Frontier) gave(s *site) {
	if _, ok := f.gifts[s.id]; ok {
		delete(f.gifts, s.id)
		s.over = page.None
	}
}
