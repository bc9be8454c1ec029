package overlay

import (
	"encoding/binary"

	"weir/page"
)

// The teller counts the pages that all nodes have fetched, and their bytes, and lets each
// have a part of what is left (Config.Pages, Config.Bytes). How large a page is shows when
// it is there: so of bytes all may have more than the bound in the end, by the pages that
// are under way then.

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
		d.had, d.spent, d.known = [measures]int64{}, [measures]int64{}, true
	}
	for i := range d.seats {
		c := &d.seats[i]
		if named == all {
			c.print = c.last.print
		}
		for k := range c.last.sums {
			was, is := &c.was[k], &c.last.sums[k]
			switch {
			case named == all:
				d.had[k] += int64(is.fetched)
				d.spent[k] += int64(is.fetched + is.under)
			case c.heard:
				if c.print == c.last.print {
					d.had[k] += int64(is.fetched) - int64(was.fetched)
				}
				d.spent[k] += int64(is.begun) - int64(was.begun)
			}
			if c.print == c.last.print {
				was.fetched = is.fetched
			}
			was.begun = is.begun
		}
		c.heard = c.last.count > 0
	}
}

// bounds are what all nodes together should fetch; 0: there is no such bound.
func (m *Member) bounds() [measures]int64 { return [measures]int64{m.cfg.Pages, m.cfg.Bytes} }

// weigh sees whether the nodes have fetched as much as they should. It says so again and
// again: some may not have heard it, and others come later.
func (d *desk) weigh(m *Member) {
	d.tally(m)
	if !d.known {
		return
	}
	for k, bound := range m.bounds() {
		if bound == 0 || d.had[k] < bound {
			continue
		}
		if d.full == 0 || m.now >= d.full.Add(m.scale(talkSoon, 1000)) {
			d.full = m.now
			w := enough{term: d.term, of: uint64(k)}
			m.do(Say{writeWord(&w)})
			m.hear(m.cfg.Name, &w)
		}
		return
	}
	d.ration(m)
}

// pot is what is left of a bound.
type pot struct {
	free   int64 // and no node may begin
	busy   int64 // nodes that would
	little int64 // for each of the others
	most   int64 // for those
}

// ration divides what is left of the bounds, but for what is under way, among the nodes
// that have something to do; the others get a little, to begin with when they have.
// It goes as with the limit (share.go): a node may follow what it has, or what it was
// offered, and what one is to do without goes to others when it says so.
func (d *desk) ration(m *Member) {
	bounds := m.bounds()
	var pots [measures]pot
	all := m.now >= d.deals
	for k, bound := range bounds {
		p, left := &pots[k], max(bound-d.spent[k], 0)
		p.free = left
		for i := range d.seats {
			c := &d.seats[i]
			all = all && c.last.count > 0
			if p.free -= c.unused(k); c.busy(k) {
				p.busy++
			}
		}
		p.little = left / int64(8*len(d.seats))
		p.most = left - p.little*(int64(len(d.seats))-p.busy)
	}
	if !all {
		return
	}
	for i := range d.seats {
		c := &d.seats[i]
		if c.ration.count != c.last.count {
			next, news := room{term: d.term, session: c.last.session, count: c.last.count}, false
			for k, bound := range bounds {
				if bound > 0 {
					has := c.unused(k)
					more := pots[k].offer(c.busy(k), has)
					news = news || more != has
					next.upTo[k] = c.last.sums[k].begun + uint64(more)
				}
			}
			if !news {
				continue
			}
			c.ration = next
		}
		w := c.ration // once more, if it was lost
		if name := d.peers[i].Name; name == m.cfg.Name {
			m.hear(name, &w)
		} else {
			m.do(Send{To: name, Data: writeWord(&w)})
		}
	}
}

// offer is how much a node may begin that has so much: no less, unless it is far less.
func (p *pot) offer(busy bool, has int64) int64 {
	more := p.little
	if busy {
		more = (p.most + p.busy - 1) / p.busy
	}
	if more = min(more, has+max(p.free, 0)); more < has && 2*more > has {
		return has
	}
	p.free -= max(more-has, 0)
	return more
}

// unused is how much the node may begin.
func (c *chair) unused(k int) int64 {
	upTo := c.last.sums[k].room
	if c.ration.count == c.last.count {
		upTo = max(upTo, c.ration.upTo[k])
	}
	return max(0, int64(upTo)-int64(c.last.sums[k].begun))
}

// busy reports whether the node would begin more pages if it might.
func (c *chair) busy(k int) bool {
	return c.last.idle == 0 && (c.last.sums[ofPages].under > 0 || c.unused(k) == 0)
}
