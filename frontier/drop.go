package frontier

import (
	"slices"

	"weir/page"
)

// Drop forgets all entries of the sites in these partitions, which are in order:
// others ask for them from now on. What was handed out goes on; connections are
// closed as soon as they fall free. What the hosts need of our manners stays.
//
// A site that comes back is described by Add again.
func (f *Frontier) Drop(parts []uint16) {
	f.useless = true
	for _, n := range slices.Clone(f.naps.items) {
		if s := n.site; f.gone(parts, s) {
			f.naps.remove(n)
			s.away = false
			f.work--
		}
	}
	for s := range f.sites.all() {
		if f.gone(parts, s) {
			f.drop(s)
		}
	}
}

func (f *Frontier) gone(parts []uint16, s *site) bool {
	_, is := slices.BinarySearch(parts, f.Part(s.id))
	return is
}

// place notes the partition of a site.
func (f *Frontier) place(k Known) {
	if k.Part == 0 && int(k.ID) >= len(f.parts) {
		return
	}
	if n := int(k.ID) + 1 - len(f.parts); n > 0 {
		f.parts = append(f.parts, make([]uint16, n)...)
	}
	f.parts[k.ID] = k.Part
}

// Part returns the partition of a site.
func (f *Frontier) Part(id page.SiteID) uint16 {
	if int(id) >= len(f.parts) {
		return 0
	}
	return f.parts[id]
}

func (f *Frontier) drop(s *site) {
	h := s.host
	if _, loading := f.loads[s.id]; loading {
		f.loads[s.id] = true
	}
	if s.asleep() {
		f.asleep -= s.queued
	} else {
		f.work -= s.queued
	}
	s.queued, s.asked, s.dropped = 0, 0, true
	f.earn(s, 0)
	s.chill()
	s.setLow(Place{})
	f.heat(s)
	f.rerank(s)
	if h.line.conn == s && h.state == resting {
		f.timers.remove(h)
		f.hold(h)
	}
}

// met lets a host rest as if its last visit had ended now.
func (f *Frontier) met(now page.Time, h *host) {
	if l := h.line; l != &f.noLine {
		l.end = max(l.end, now)
	}
	f.postpone(h, now.Add(f.wait(h)))
}
