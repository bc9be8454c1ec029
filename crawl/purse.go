package crawl

import (
	"fmt"
	"strings"

	"weir/frontier"
	"weir/page"
)

// purse holds the scores of pages that wait, for the orders that split them, so
// that a link to a known page costs neither a read nor a write. What a page has
// gained lies here until that is a frontier.Step of its score; then its row is
// written, with the new score and at its new place. So a crash costs a page less
// than one step.
//
// A page is its fingerprint, as in seen, and the tables are as many. A page that
// has ended is kept too: most links lead to such, and what they bring is gone.
// When the table would pass its budget it stops growing, and a page puts another
// one out: what that one gained since its last step is lost, and the next link to
// it costs a read.
type purse struct {
	shards [1 << shardBits]pouch
	budget int64 // bytes, 0 = none
	bytes  int64
	twins  twins
	sum    uint64 // of what near saw
}

type pouch struct {
	coins []coin
	n     int
}

// coin is one page's score.
type coin struct {
	low    uint32
	high   uint16
	state  uint8 // 0: no page
	depth  uint8 // the least it is known with, or less than seen knows
	stored float32
	gain   float32 // since
}

const coinBytes = 16

// score is what the page is worth now.
func (c *coin) score() float32 { return c.stored + c.gain }

// find returns a page's coin, or nil. It holds until the next put.
func (p *purse) find(print uint64) *coin {
	sh, tag := &p.shards[print%(1<<shardBits)], print>>shardBits
	if sh.n == 0 {
		return nil
	}
	if c := sh.at(tag); c.state != 0 {
		return c
	}
	return nil
}

// near looks where pages are before they are asked for one by one: they lie far
// apart, and the memory finds many as fast as one while nothing depends on what
// it finds.
func (p *purse) near(prints []uint64) {
	for _, print := range prints {
		if sh := &p.shards[print%(1<<shardBits)]; sh.n > 0 {
			p.sum += uint64(sh.coins[sh.home(print>>shardBits)].state)
		}
	}
}

// loseAll makes every depth better than those that are noted.
func (p *purse) loseAll() {
	for i := range p.shards {
		for j := range p.shards[i].coins {
			p.shards[i].coins[j].depth = lost
		}
	}
}

// put notes a page with what is stored of it, and returns its coin.
func (p *purse) put(print uint64, state uint8, depth uint16, stored float32) *coin {
	sh, tag := &p.shards[print%(1<<shardBits)], print>>shardBits
	var c *coin
	if sh.n < len(sh.coins)*4/5 || p.grow(sh) {
		c = sh.at(tag)
	} else {
		c = sh.squeeze(tag)
	}
	if c.state == 0 {
		sh.n++
	}
	*c = coin{low: uint32(tag), high: uint16(tag >> 32), state: state, depth: uint8(min(depth, 255)), stored: stored}
	return c
}

// squeeze makes room for a tag in a shard that cannot grow: it takes the place of
// another, which leaves no hole, or gets none.
func (sh *pouch) squeeze(tag uint64) *coin {
	if len(sh.coins) == 0 {
		return &coin{state: stateEnded}
	}
	c := sh.at(tag)
	if c.state != 0 || sh.n < len(sh.coins)*15/16 {
		return c
	}
	if c = &sh.coins[sh.home(tag)]; c.state == 0 {
		return &coin{state: stateEnded}
	}
	return c
}

// grow gives a shard a quarter more room. It returns false when the budget does
// not allow it.
func (p *purse) grow(sh *pouch) bool {
	size := len(sh.coins) + len(sh.coins)/4 + 4
	cost := int64(size-len(sh.coins)) * coinBytes
	if p.budget > 0 && p.bytes+cost > p.budget {
		return false
	}
	p.bytes += cost
	old := sh.coins
	sh.coins = make([]coin, size)
	for _, c := range old {
		if c.state != 0 {
			*sh.at(uint64(c.high)<<32 | uint64(c.low)) = c
		}
	}
	return true
}

func (sh *pouch) home(tag uint64) int { return int(tag >> 16 * uint64(len(sh.coins)) >> 32) }

// at returns a tag's coin, or the empty one where it would be put. There is
// always one: a fifth of them is empty.
func (sh *pouch) at(tag uint64) *coin {
	low, high := uint32(tag), uint16(tag>>32)
	for i := sh.home(tag); ; {
		c := &sh.coins[i]
		if c.state == 0 || c.low == low && c.high == high {
			return c
		}
		if i++; i == len(sh.coins) {
			i = 0
		}
	}
}

// twins finds the pages that one page links to more than once.
type twins struct{ slots []uint64 }

// reset empties it, for up to n pages.
func (t *twins) reset(n int) {
	size := 8
	for size < 2*n {
		size *= 2
	}
	if size > cap(t.slots) {
		t.slots = make([]uint64, size)
	}
	t.slots = t.slots[:size]
	clear(t.slots)
}

// add says whether this is the first time.
func (t *twins) add(print uint64) bool {
	print = max(print, 1)
	for i := print; ; i++ {
		switch s := &t.slots[i%uint64(len(t.slots))]; *s {
		case 0:
			*s = print
			return true
		case print:
			return false
		}
	}
}

// split divides what a page hands on among the pages it leads to: each counts
// once. Rules name the whole score for every row.
func (l *Ledger) split(rows []Row) {
	t := &l.purse.twins
	t.reset(len(rows))
	n := 0
	for i := range rows {
		if t.add(l.prints[i]) {
			n++
		} else {
			rows[i].Score = 0
		}
	}
	for i := range rows {
		rows[i].Score /= float32(n)
	}
}

// remind is gift for a page whose coin was put out, or never was there.
func (l *Ledger) remind(k page.Key, u page.URL, amount float32) error {
	r, err := l.page(k)
	if err != nil || r == nil {
		return err
	}
	c, err := l.weigh(r)
	if err != nil {
		return err
	}
	return l.gift(k, u, c, amount)
}

// gift adds to the score of a page that is known. What a page is given that
// does not wait any more is gone.
func (l *Ledger) gift(k page.Key, u page.URL, c *coin, amount float32) error {
	if c.state != stateQueued {
		return nil
	}
	if c.gain += amount; c.score() < frontier.Step*c.stored || c.score() == c.stored {
		return nil
	}
	r, err := l.page(k)
	if err != nil || r == nil {
		return err
	}
	if !r.loaded && r.plain && !u.IsZero() { // the queue's row need not be read
		r.entry = frontier.Entry{Hash: k.Hash, Place: r.old, Depth: r.depth, Root: r.root, Score: c.stored, Version: l.cfg.Version, Rest: strings.Clone(u.Rest())}
		r.loaded, r.was = true, c.stored
	}
	return l.rate(r, c, c.score())
}

// weigh returns the coin of a page, from its row if it was put out.
func (l *Ledger) weigh(r *pageRecord) (*coin, error) {
	print := fingerprint(r.key)
	if c := l.purse.find(print); c != nil {
		return c, nil
	}
	if r.state != stateQueued {
		return l.purse.put(print, r.state, r.depth, 0), nil
	}
	if err := l.load(r); err != nil {
		return nil, err
	}
	return l.purse.put(print, stateQueued, r.depth, r.entry.Score), nil
}

// rate gives a page that waits another score, and the place of it.
func (l *Ledger) rate(r *pageRecord, c *coin, score float32) error {
	if err := l.load(r); err != nil {
		return err
	}
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	s.cash += float64(score) - float64(r.entry.Score)
	s.seq++
	l.touch(s)
	r.entry.Score = score
	c.stored, c.gain = score, 0
	r.place = l.cfg.Order.Place(r.depth, score, s.seq)
	r.entry.Place = r.place
	l.mark(r)
	return nil
}

// settleGain makes what a page has gained its own, before it is queued again.
func (l *Ledger) settleGain(s *siteRecord, r *pageRecord) error {
	c, err := l.weigh(r)
	if err != nil {
		return err
	}
	s.cash += float64(c.score()) - float64(r.entry.Score)
	r.entry.Score = c.score()
	c.stored, c.gain = r.entry.Score, 0
	return nil
}

// admit counts the score of a page that begins to wait.
func (l *Ledger) admit(s *siteRecord, r *pageRecord) {
	if l.purse != nil {
		s.cash += float64(r.entry.Score)
		l.purse.put(fingerprint(r.key), stateQueued, r.depth, r.entry.Score)
	}
}

// spend ends a page's score, and returns it.
func (l *Ledger) spend(s *siteRecord, r *pageRecord) (float32, error) {
	c, err := l.weigh(r)
	if err != nil {
		return 0, fmt.Errorf("read a page's score: %w", err)
	}
	score := c.score()
	if s.cash = max(s.cash-float64(c.stored), 0); s.queued == 0 {
		s.cash = 0 // and nothing that rounding left
	}
	c.state, c.stored, c.gain = stateEnded, 0, 0
	return score, nil
}
