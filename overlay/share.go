package overlay

import (
	"cmp"
	"math/bits"
	"slices"
)

// The common limit is dealt out by the teller (quiet_desk.go). A grant answers a
// report and is void when the node has sent another: so a report says what the node
// has, and all that was offered before it means nothing any more. A share counts
// from when it is offered until a report says that it is smaller, or the session is
// over, and with it the requests. So the shares that nodes follow never add up to
// more than the limit, whatever is lost or late.

// deal offers shares. What is lowered must be known to be before others get it.
func (d *desk) deal(m *Member) {
	total, known := int64(0), m.now >= d.deals
	wishes := make([]wish, len(d.seats))
	for i := range d.seats {
		c := &d.seats[i]
		known = known && c.last.count > 0
		total += c.counted()
		wishes[i] = wish{owed: int64(c.last.owed), asked: int64(c.last.asked), wanted: int64(c.last.wanted)}
		if c.open() { // it may have been lost
			m.offer(i)
		}
	}
	if !known {
		return
	}
	shares := divide(m.cfg.Limit, wishes)
	short := m.cfg.Limit - total // of what some should have more
	for i, share := range shares {
		if c := &d.seats[i]; !c.open() && share > int64(c.last.have)+share/20 {
			short -= share - int64(c.last.have)
		}
	}
	for i, share := range shares {
		c := &d.seats[i]
		have, slack := int64(c.last.have), share/20
		if share < have && short < 0 {
			slack = 0 // however little each has too much: others wait for it
		}
		if c.open() || share >= have-slack && share <= have+slack {
			continue
		}
		if share > have {
			share = min(share, have+m.cfg.Limit-total)
			if share <= have {
				continue
			}
			total += share - have
		}
		c.offer = grant{term: d.term, session: c.last.session, count: c.last.count, rate: uint64(share)}
		m.offer(i)
	}
}

// offer sends a node the share that it should have.
func (m *Member) offer(i int) {
	d := &m.talk.desk
	name, g := d.peers[i].Name, d.seats[i].offer
	if name == m.cfg.Name {
		m.hear(name, &g)
	} else {
		m.do(Send{To: name, Data: writeWord(&g)})
	}
}

// open reports whether the node may follow the offer yet.
func (c *chair) open() bool { return c.offer.count != 0 && c.offer.count == c.last.count }

// counted is the most that the node may follow now.
func (c *chair) counted() int64 {
	if c.open() {
		return int64(max(c.last.have, c.offer.rate))
	}
	return int64(c.last.have)
}

// wish is what a node could use, what of that it has promised, and what it could
// promise besides.
type wish struct{ owed, asked, wanted int64 }

// divide splits a limit: promises first, in proportion if they are too many; then
// what could be promised; then demands; and what nobody has asked for goes to all
// alike, so that who wants more can begin.
func divide(limit int64, wishes []wish) []int64 {
	shares := make([]int64, len(wishes))
	if len(wishes) == 0 {
		return shares
	}
	owed := int64(0)
	for _, w := range wishes {
		owed += w.owed
	}
	left := limit
	for i, w := range wishes {
		shares[i] = w.owed
		if owed > limit {
			hi, lo := bits.Mul64(uint64(w.owed), uint64(limit))
			part, _ := bits.Div64(hi, lo, uint64(owed))
			shares[i] = int64(part)
		}
		left -= shares[i]
	}
	left = fill(shares, left, func(i int) int64 { return wishes[i].owed + wishes[i].asked })
	left = fill(shares, left, func(i int) int64 { return wishes[i].wanted })
	for i := range shares {
		shares[i] += left / int64(len(shares))
	}
	return shares
}

// fill raises shares up to what each should have, the smallest wants in full and the
// others alike, and returns what is left.
func fill(shares []int64, left int64, upTo func(i int) int64) int64 {
	wants := make([]int64, len(shares))
	order := make([]int, len(shares))
	for i := range order {
		order[i], wants[i] = i, max(0, upTo(i)-shares[i])
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(wants[i], wants[j]) })
	for n, i := range order {
		more := min(wants[i], left/int64(len(order)-n))
		shares[i] += more
		left -= more
	}
	return left
}
