package overlay

import (
	"encoding/binary"

	"weir/page"
)

// The teller counts the pages that all nodes have fetched, and lets each have a part
// of those that are left (Config.Pages).

// Print stands for a partition under an epoch in sums that say which ones were
// counted.
func Print(part int, epoch uint64) uint64 {
	return page.Sum(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(part)), epoch))
}

// tally adds up what the nodes have fetched. Reports are of different moments: a
// partition that moves may be in two of them, or in none. So they count if together
// they name each partition once. Else what was counted last does, and what nodes have
// done since: at least what those whose partitions are the same have fetched, at most
// what each has begun.
func (d *desk) tally(m *Member) {
	all, named := uint64(0), uint64(0)
	for p := range m.parts {
		all += Print(p, m.parts[p].epoch)
	}
	for i := range d.seats {
		named += d.seats[i].last.print
	}
	if named == all {
		d.pages, d.spent, d.known = 0, 0, true
	}
	for i := range d.seats {
		c := &d.seats[i]
		switch r := &c.last; {
		case named == all:
			d.pages += int64(r.fetched)
			d.spent += int64(r.fetched + r.under)
			c.print = r.print
		case c.heard:
			if c.print == r.print {
				d.pages += int64(r.fetched) - int64(c.pages)
			}
			d.spent += int64(r.begun) - int64(c.begun)
		}
		if c.print == c.last.print {
			c.pages = c.last.fetched
		}
		c.begun, c.heard = c.last.begun, c.last.count > 0
	}
}

// weigh sees whether the nodes have fetched as many pages as they should. It says so
// again and again: some may not have heard it, and others come later.
func (d *desk) weigh(m *Member) {
	d.tally(m)
	switch {
	case !d.known:
	case d.pages < m.cfg.Pages:
		d.ration(m)
	case d.full == 0 || m.now >= d.full.Add(m.scale(talkSoon, 1000)):
		d.full = m.now
		w := enough{term: d.term}
		m.do(Say{writeWord(&w)})
		m.hear(m.cfg.Name, &w)
	}
}

// ration divides the pages that are left, but for those under way, among the nodes
// that have something to do; the others get a little, to begin with when they have.
// It goes as with the limit (share.go): a node may follow what it has, or what it was
// offered, and what one is to do without goes to others when it says so.
func (d *desk) ration(m *Member) {
	left, free, busy, all := m.cfg.Pages-d.spent, int64(0), int64(0), m.now >= d.deals
	for i := range d.seats {
		c := &d.seats[i]
		all = all && c.last.count > 0
		free -= c.unused()
		if c.busy() {
			busy++
		}
	}
	if !all {
		return
	}
	left = max(left, 0)
	free += left
	little := left / int64(8*len(d.seats))
	most := left - little*(int64(len(d.seats))-busy)
	for i := range d.seats {
		c := &d.seats[i]
		if c.ration.count != c.last.count {
			more, has := little, c.unused()
			if c.busy() {
				more = (most + busy - 1) / busy
			}
			if more = min(more, has+max(free, 0)); more == has || more < has && 2*more > has {
				continue
			}
			free -= max(more-has, 0)
			c.ration = room{term: d.term, session: c.last.session, count: c.last.count, pages: c.last.begun + uint64(more)}
		}
		w := c.ration // once more, if it was lost
		if name := d.peers[i].Name; name == m.cfg.Name {
			m.hear(name, &w)
		} else {
			m.do(Send{To: name, Data: writeWord(&w)})
		}
	}
}

// unused is how many pages the node may begin.
func (c *chair) unused() int64 {
	pages := c.last.room
	if c.ration.count == c.last.count {
		pages = max(pages, c.ration.pages)
	}
	return max(0, int64(pages)-int64(c.last.begun))
}

// busy reports whether the node would begin more pages if it might.
func (c *chair) busy() bool { return c.last.idle == 0 && (c.last.under > 0 || c.unused() == 0) }
