package frontier

import "math"

// roster is a heap of hosts, as heap is of anything, for those through which all
// hosts of a crawl pass. Their keys lie in it: to compare two hosts, which may
// both be far away in memory, takes no look at them unless they are equals.
//
// key says how early a host goes. Those below coarse only say so roughly, and
// finer decides between two of them that are alike; else who came first goes
// first. A host whose key or finer order has changed must be fixed before
// anything else is done.
type roster struct {
	items []standing
	key   func(*host) int64
	finer func(a, b *host) int // as cmp.Compare
}

type standing struct {
	key  int64
	host *host
}

const coarse = math.MinInt64 + 256

func (r *roster) before(a, b standing) bool {
	if a.key != b.key {
		return a.key < b.key
	}
	if a.key < coarse {
		if c := r.finer(a.host, b.host); c != 0 {
			return c < 0
		}
	}
	return a.host.turn < b.host.turn
}

func (r *roster) len() int { return len(r.items) }

func (r *roster) top() *host { return r.items[0].host }

func (r *roster) push(h *host) {
	x := standing{r.key(h), h}
	r.items = append(r.items, x)
	r.up(len(r.items)-1, x)
}

func (r *roster) pop() *host {
	h := r.items[0].host
	r.remove(h)
	return h
}

// fix restores the order after a host's key has changed.
func (r *roster) fix(h *host) { r.settle(int(h.placed)-1, standing{r.key(h), h}) }

func (r *roster) remove(h *host) {
	i, last := int(h.placed)-1, len(r.items)-1
	h.placed = 0
	moved := r.items[last]
	r.items[last] = standing{}
	r.items = r.items[:last]
	if i < last {
		r.settle(i, moved)
	}
}

// settle puts x where it belongs, now that i is free.
func (r *roster) settle(i int, x standing) {
	if !r.up(i, x) {
		r.down(i, x)
	}
}

func (r *roster) set(i int, x standing) {
	r.items[i] = x
	x.host.placed = int32(i + 1)
}

func (r *roster) up(i int, x standing) bool {
	moved := false
	for i > 0 {
		p := (i - 1) / 4
		if !r.before(x, r.items[p]) {
			break
		}
		r.set(i, r.items[p])
		i, moved = p, true
	}
	r.set(i, x)
	return moved
}

func (r *roster) down(i int, x standing) {
	for {
		c := 4*i + 1
		if c >= len(r.items) {
			break
		}
		best := c
		for j := c + 1; j < min(c+4, len(r.items)); j++ {
			if r.before(r.items[j], r.items[best]) {
				best = j
			}
		}
		if !r.before(r.items[best], x) {
			break
		}
		r.set(i, r.items[best])
		i = best
	}
	r.set(i, x)
}
