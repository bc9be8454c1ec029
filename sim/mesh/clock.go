package mesh

import "weir/page"

// thing is something that will happen.
type thing struct {
	at  page.Time
	seq uint64 // the order of planning breaks ties
	do  func()
}

func (a *thing) before(b *thing) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// agenda is a heap of things to come.
type agenda struct {
	items []thing
	seq   uint64
}

func (g *agenda) add(at page.Time, do func()) {
	g.seq++
	x := thing{at, g.seq, do}
	g.items = append(g.items, x)
	i := len(g.items) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !x.before(&g.items[p]) {
			break
		}
		g.items[i] = g.items[p]
		i = p
	}
	g.items[i] = x
}

func (g *agenda) pop() thing {
	top := g.items[0]
	last := len(g.items) - 1
	x := g.items[last]
	g.items[last] = thing{}
	g.items = g.items[:last]
	i := 0
	for i < last {
		least, first := i, 4*i+1
		for c := first; c < min(first+4, last); c++ {
			if least == i && g.items[c].before(&x) || least != i && g.items[c].before(&g.items[least]) {
				least = c
			}
		}
		if least == i {
			break
		}
		g.items[i] = g.items[least]
		i = least
	}
	if last > 0 {
		g.items[i] = x
	}
	return top
}
