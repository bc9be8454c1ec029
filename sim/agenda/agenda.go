// Package agenda keeps what will happen on a virtual clock, and gives it out in the
// order of its moments.
package agenda

import "weir/page"

// Agenda is a 4-ary heap of things to come. Of those at one moment the one that was
// planned first comes first. The zero Agenda is empty and ready. Not safe for
// concurrent use; whoever leads the clock owns it.
type Agenda[T any] struct {
	items []item[T]
	seq   uint64
}

type item[T any] struct {
	at  page.Time
	seq uint64 // the order of planning breaks ties
	x   T
}

func (a *item[T]) before(b *item[T]) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// Next is when something happens next, if anything does.
func (g *Agenda[T]) Next() (page.Time, bool) {
	if len(g.items) == 0 {
		return 0, false
	}
	return g.items[0].at, true
}

// Add plans x.
func (g *Agenda[T]) Add(at page.Time, x T) {
	g.seq++
	it := item[T]{at, g.seq, x}
	g.items = append(g.items, it)
	i := len(g.items) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !it.before(&g.items[p]) {
			break
		}
		g.items[i] = g.items[p]
		i = p
	}
	g.items[i] = it
}

// Pop takes out what happens next, which there must be, and says when.
func (g *Agenda[T]) Pop() (page.Time, T) {
	top := g.items[0]
	last := len(g.items) - 1
	it := g.items[last]
	g.items[last] = item[T]{}
	g.items = g.items[:last]
	if last == 0 {
		return top.at, top.x
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= last {
			break
		}
		best := c
		for j := c + 1; j < min(c+4, last); j++ {
			if g.items[j].before(&g.items[best]) {
				best = j
			}
		}
		if !g.items[best].before(&it) {
			break
		}
		g.items[i] = g.items[best]
		i = best
	}
	g.items[i] = it
	return top.at, top.x
}
