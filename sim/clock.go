package sim

import "weir/page"

// kind says what happens.
type kind uint8

const (
	firstByte kind = iota // a server begins to send: arg is the flow
	tick                  // the Engine wanted to be woken; counts only when arg is the last one asked for
	flush                 // what was learned becomes durable
	wire                  // the line is looked at
	ranked                // a ranking is ready
	planned               // a plan is ready
	changed               // a site's speed: arg is which change. It happens to all crawls
)

// thing is something that will happen to a crawl.
type thing struct {
	at   page.Time
	seq  uint64 // the order of planning breaks ties
	arg  uint32
	who  uint16 // which crawl
	what kind
}

func (a *thing) before(b *thing) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// agenda is a heap of things to come.
type agenda struct {
	items []thing
	seq   uint64
}

func (g *agenda) add(x thing) {
	g.seq++
	x.seq = g.seq
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
	g.items = g.items[:last]
	if last == 0 {
		return top
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
		if !g.items[best].before(&x) {
			break
		}
		g.items[i] = g.items[best]
		i = best
	}
	g.items[i] = x
	return top
}
