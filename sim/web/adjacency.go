package web

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
)

// streamLabels is the stream of random numbers that orders the visits of
// label propagation.
const streamLabels = 100

// ReadAdjacency reads a bare graph, plain or compressed with gzip: line i, from
// 0, holds the numbers of the pages that page i links to. cnr-2000 comes in
// this form.
//
// Such a graph tells no sites. They are guessed by label propagation: a page
// joins the site that most of its links, either way, lead to, up to fill.Cap
// pages a site (0: no bound). The page with the most links to it becomes the
// home page, and the others follow in that order. Sizes and servers are drawn
// as fill says. Its sites are therefore made up, though its links are real.
func ReadAdjacency(r io.Reader, fill Shape) (*Web, error) {
	r, err := unzip(r)
	if err != nil {
		return nil, err
	}
	off, adj := []uint32{0}, []uint32{}
	err = lines(r, func(line []byte) error {
		if len(off) > MaxPages {
			return fmt.Errorf("more than %d pages", MaxPages)
		}
		if adj, err = numbers(adj, line); err != nil {
			return err
		}
		off = append(off, uint32(len(adj)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	n := len(off) - 1
	if n == 0 {
		return nil, ErrEmpty
	}
	for p := range n {
		for _, t := range adj[off[p]:off[p+1]] {
			if int(t) >= n {
				return nil, fmt.Errorf("line %d: link to page %d of %d: unknown page", p+1, t, n)
			}
		}
	}
	return guessed(off, adj, &fill)
}

// ReadPairs reads a list of links between numbers, plain or compressed with
// gzip: each line holds the page that links and the page that is linked to. The
// graphs of SNAP come in this form. Empty lines and lines that begin with # are
// skipped. A page is what some line names, whatever its number. Sites are
// guessed as ReadAdjacency does.
func ReadPairs(r io.Reader, fill Shape) (*Web, error) {
	r, err := unzip(r)
	if err != nil {
		return nil, err
	}
	var links [][2]uint32
	number := map[uint32]uint32{}
	page := func(name uint32) uint32 {
		p, ok := number[name]
		if !ok {
			p = uint32(len(number))
			number[name] = p
		}
		return p
	}
	var pair []uint32
	err = lines(r, func(line []byte) error {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			return nil
		}
		if pair, err = numbers(pair[:0], line); err != nil {
			return err
		}
		if len(pair) != 2 {
			return fmt.Errorf("%s; a link is the numbers of two pages", fields(len(pair)))
		}
		if len(links) >= maxEdges {
			return fmt.Errorf("more than %d links", maxEdges)
		}
		links = append(links, [2]uint32{page(pair[0]), page(pair[1])})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(links) == 0 {
		return nil, ErrEmpty
	}
	off := make([]uint32, len(number)+1)
	for _, l := range links {
		off[l[0]+1]++
	}
	for p := range len(number) {
		off[p+1] += off[p]
	}
	adj, next := make([]uint32, len(links)), slices.Clone(off)
	for _, l := range links {
		adj[next[l[0]]] = l[1]
		next[l[0]]++
	}
	return guessed(off, adj, &fill)
}

// numbers appends the numbers on a line.
func numbers(to []uint32, line []byte) ([]uint32, error) {
	x, in := uint64(0), false
	for i := 0; i <= len(line); i++ {
		switch {
		case i < len(line) && '0' <= line[i] && line[i] <= '9':
			x, in = x*10+uint64(line[i]-'0'), true
			if x >= MaxPages {
				return nil, fmt.Errorf("page %s: numbers are below %d", digits(line, i), MaxPages)
			}
		case i == len(line) || line[i] == ' ' || line[i] == '\t' || line[i] == '\r':
			if in {
				if len(to) >= MaxLinks {
					return nil, fmt.Errorf("more than %d links", MaxLinks)
				}
				to = append(to, uint32(x))
			}
			x, in = 0, false
		default:
			return nil, fmt.Errorf("%q is not a digit; a line holds the numbers of pages", line[i])
		}
	}
	return to, nil
}

// digits returns the number around a place in a line, as it is written.
func digits(line []byte, at int) string {
	from, to := at, at
	for from > 0 && '0' <= line[from-1] && line[from-1] <= '9' {
		from--
	}
	for to < len(line) && '0' <= line[to] && line[to] <= '9' && to-from < 40 {
		to++
	}
	return string(line[from:to])
}

// guessed makes a web of a graph without sites.
func guessed(off, adj []uint32, fill *Shape) (*Web, error) {
	n := len(off) - 1
	most := fill.Cap
	if most <= 0 {
		most = n
	}
	label := propagate(off, adj, most, rand.NewPCG(fill.Seed, streamLabels))
	in := make([]uint32, n)
	for _, t := range adj {
		in[t]++
	}
	order := make([]uint32, n)
	for p := range order {
		order[p] = uint32(p)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		switch {
		case label[a] != label[b]:
			return int(label[a]) - int(label[b])
		case in[a] != in[b]:
			return int(in[b]) - int(in[a])
		}
		return int(a) - int(b)
	})
	g := &group{of: make([]uint32, n), at: make([]uint32, n)}
	for k, p := range order {
		if k == 0 || label[p] != label[order[k-1]] {
			g.count = append(g.count, 0)
		}
		s := len(g.count) - 1
		g.count[s]++
		g.of[p], g.at[p] = uint32(s), uint32(k)
	}
	w := &Web{Sites: make([]Site, len(g.count))}
	g.number(w)
	if err := g.fill(w, fill); err != nil {
		return nil, err
	}
	w.links(func(yield func(from, to uint32)) {
		for p := range uint32(n) {
			for _, t := range adj[off[p]:off[p+1]] {
				yield(g.at[p], g.at[t])
			}
		}
	})
	if err := w.Check(); err != nil {
		return nil, err
	}
	return w, nil
}

// propagate gives pages that are closely linked the same label, at most most of
// them. Six rounds settle all but a few.
func propagate(off, adj []uint32, most int, r *rand.PCG) (label []uint32) {
	n := len(off) - 1
	from, around := bothWays(off, adj)
	label = make([]uint32, n)
	size := make([]int, n)
	order := make([]uint32, n)
	for p := range n {
		label[p], size[p], order[p] = uint32(p), 1, uint32(p)
	}
	shuffle(r, order)
	votes := make([]int, n)
	for range 6 {
		for _, p := range order {
			near := around[from[p]:from[p+1]]
			own, best, lead := label[p], label[p], 0
			for _, t := range near {
				l := label[t]
				votes[l]++
				if votes[l] > lead && (l == own || size[l] < most) {
					best, lead = l, votes[l]
				}
			}
			for _, t := range near {
				votes[label[t]] = 0
			}
			size[own]--
			size[best]++
			label[p] = best
		}
	}
	return label
}

// bothWays returns the neighbours of each page, whichever way the links lead.
func bothWays(off, adj []uint32) (from []uint64, around []uint32) {
	n := len(off) - 1
	from = make([]uint64, n+2) // one more: filling moves each start to the next
	for p := range n {
		from[p+2] += uint64(off[p+1] - off[p])
	}
	for _, t := range adj {
		from[t+2]++
	}
	for p := range n + 1 {
		from[p+1] += from[p]
	}
	around = make([]uint32, 2*len(adj))
	add := func(p, t uint32) {
		around[from[p+1]] = t
		from[p+1]++
	}
	for p := range uint32(n) {
		for _, t := range adj[off[p]:off[p+1]] {
			add(p, t)
			add(t, p)
		}
	}
	return from[:n+1], around
}
