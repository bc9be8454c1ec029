package draw

import (
	"slices"

	"weir/query/flow"
)

// spot is a place in a layered drawing: of a box, or of an edge on its way past
// a layer.
type spot struct {
	op     int // 0: an edge passes
	layer  int
	width  int
	height int
	x, y   int // of its middle, of its top
	up     []int
	down   []int
}

// leg is an edge as spots from its box to its box.
type leg struct {
	flow.Edge
	spots []int
}

// layout puts boxes into layers, each below all that it takes rows from, and
// orders the layers so that few edges cross.
type layout struct {
	spots  []spot
	layers [][]int // spots, from left to right
	legs   []leg
	width  int
	height int
}

const (
	gapX    = 22
	gapY    = 34
	passing = 10 // the width of an edge that passes a layer
	sweeps  = 8
)

// lay lays out a plan whose boxes have the sizes that size tells.
func lay(g *flow.Graph, size func(flow.Operator) (width, height int)) *layout {
	l := &layout{}
	at := make([]int, len(g.Operators)+1) // operator to spot
	for _, o := range g.Operators {
		s := spot{op: o.ID}
		s.width, s.height = size(o)
		for _, e := range g.Edges {
			if e.To == o.ID && !e.Back {
				s.layer = max(s.layer, l.spots[at[e.From]].layer+1)
			}
		}
		at[o.ID] = l.add(s)
	}
	for _, e := range g.Edges {
		from, to := at[e.From], at[e.To]
		way := leg{e, []int{from}}
		if !e.Back {
			for layer := l.spots[from].layer + 1; layer < l.spots[to].layer; layer++ {
				way.spots = append(way.spots, l.add(spot{layer: layer, width: passing}))
			}
		}
		way.spots = append(way.spots, to)
		l.legs = append(l.legs, way)
		for i := 1; i < len(way.spots) && !e.Back; i++ {
			a, b := way.spots[i-1], way.spots[i]
			l.spots[a].down = append(l.spots[a].down, b)
			l.spots[b].up = append(l.spots[b].up, a)
		}
	}
	l.order()
	l.place()
	return l
}

func (l *layout) add(s spot) int {
	for len(l.layers) <= s.layer {
		l.layers = append(l.layers, nil)
	}
	l.spots = append(l.spots, s)
	l.layers[s.layer] = append(l.layers[s.layer], len(l.spots)-1)
	return len(l.spots) - 1
}

// order sorts each layer by where its neighbours stand, down and up in turns.
func (l *layout) order() {
	rank := make([]int, len(l.spots))
	want := make([]int, len(l.spots)) // in thousandths of a rank
	for _, layer := range l.layers {
		for i, s := range layer {
			rank[s] = i
		}
	}
	for sweep := range sweeps {
		for i := range l.layers {
			layer := l.layers[i]
			if sweep%2 == 1 {
				layer = l.layers[len(l.layers)-1-i]
			}
			for _, s := range layer {
				near := l.spots[s].up
				if sweep%2 == 1 {
					near = l.spots[s].down
				}
				sum := 0
				for _, n := range near {
					sum += rank[n]
				}
				want[s] = 1000 * rank[s]
				if len(near) > 0 {
					want[s] = 1000 * sum / len(near)
				}
			}
			slices.SortStableFunc(layer, func(a, b int) int { return want[a] - want[b] })
			for j, s := range layer {
				rank[s] = j
			}
		}
	}
}

// place gives every spot its coordinates: under the middle of what leads to it
// and above what it leads to, as far as its layer has room.
func (l *layout) place() {
	y := 0
	for _, layer := range l.layers {
		tallest := 0
		for _, s := range layer {
			tallest = max(tallest, l.spots[s].height)
		}
		for _, s := range layer {
			l.spots[s].y = y
			if l.spots[s].op == 0 {
				l.spots[s].height = tallest
			}
		}
		y += tallest + gapY
	}
	l.height = max(0, y-gapY)
	for sweep := range sweeps {
		for i := range l.layers {
			layer := l.layers[i]
			if sweep%2 == 1 {
				layer = l.layers[len(l.layers)-1-i]
			}
			l.spread(layer, sweep%2 == 1)
		}
	}
	left := 0
	for i, s := range l.spots {
		if edge := s.x - s.width/2; i == 0 || edge < left {
			left = edge
		}
	}
	for i := range l.spots {
		s := &l.spots[i]
		s.x -= left
		l.width = max(l.width, s.x+(s.width+1)/2)
	}
}

// spread moves the spots of a layer to the means of their neighbours, and apart
// where they would overlap: neighbours in need of room become a block that stands
// where its members would on the mean.
func (l *layout) spread(layer []int, upward bool) {
	type block struct{ sum, n int }
	var blocks []block
	offset := make([]int, len(layer))
	for i, s := range layer {
		near := l.spots[s].up
		if upward {
			near = l.spots[s].down
		}
		want := l.spots[s].x
		if len(near) > 0 {
			want = 0
			for _, n := range near {
				want += l.spots[n].x
			}
			want /= len(near)
		}
		if i > 0 {
			offset[i] = offset[i-1] + (l.spots[layer[i-1]].width+l.spots[s].width)/2 + gapX
		}
		blocks = append(blocks, block{want - offset[i], 1})
		for n := len(blocks); n > 1 && blocks[n-2].sum*blocks[n-1].n > blocks[n-1].sum*blocks[n-2].n; n = len(blocks) {
			blocks[n-2] = block{blocks[n-2].sum + blocks[n-1].sum, blocks[n-2].n + blocks[n-1].n}
			blocks = blocks[:n-1]
		}
	}
	i := 0
	for _, b := range blocks {
		for range b.n {
			l.spots[layer[i]].x = b.sum/b.n + offset[i]
			i++
		}
	}
}
