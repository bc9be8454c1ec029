package flow

import (
	"slices"
	"strings"
)

// shared are the boxes that programs which share a crawl have together: pages are
// fetched and read once for all of them, and wait in one queue.
var shared = []string{OpFetch, OpExtract, OpReorder, OpThrottle}

// Share draws the plans of programs that share a crawl as one: with one Fetch, and
// for the rest each has its own boxes, which bear its name.
func Share(names []string, plans []*Graph) *Graph {
	m := &merger{g: &Graph{Scheme: plans[0].Scheme}, of: map[string]int{}}
	for i, g := range plans {
		m.add(names[i], g)
	}
	return m.sorted()
}

// merger is a drawing of several plans in the making.
type merger struct {
	g  *Graph
	of map[string]int // a shared box, by its kind
}

// add draws one more plan.
func (m *merger) add(name string, g *Graph) {
	ids := make([]int, len(g.Operators)+1)
	for _, o := range g.Operators {
		if at := m.of[o.Kind]; at > 0 && slices.Contains(shared, o.Kind) {
			had := &m.g.Operators[at-1]
			had.Detail = together(had.Detail, o.Detail)
			had.Stores = distinct(had.Stores, o.Stores)
			ids[o.ID] = at
			continue
		}
		id := len(m.g.Operators) + 1
		ids[o.ID], o.ID = id, id
		if slices.Contains(shared, o.Kind) {
			m.of[o.Kind] = id
		} else {
			o.Detail = name + ": " + o.Detail
		}
		m.g.Operators = append(m.g.Operators, o)
	}
	for _, e := range g.Edges {
		e.From, e.To = ids[e.From], ids[e.To]
		if !slices.Contains(m.g.Edges, e) {
			m.g.Edges = append(m.g.Edges, e)
		}
	}
}

// together are the words of two boxes, each once.
func together(a, b string) string {
	return strings.Join(distinct(strings.Split(a, ", "), strings.Split(b, ", ")), ", ")
}

// distinct is a with what else b has.
func distinct(a, b []string) []string {
	a = slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// sorted numbers the boxes so that all edges lead forward that are not Back: of
// those that could come next, the first that was drawn does.
func (m *merger) sorted() *Graph {
	n := len(m.g.Operators)
	before := make([]int, n+1) // edges into a box that are not drawn yet
	for _, e := range m.g.Edges {
		if !e.Back {
			before[e.To]++
		}
	}
	out := &Graph{Scheme: m.g.Scheme}
	ids := make([]int, n+1)
	for range n {
		next := slices.IndexFunc(m.g.Operators, func(o Operator) bool { return ids[o.ID] == 0 && before[o.ID] == 0 })
		if next < 0 {
			next = slices.IndexFunc(m.g.Operators, func(o Operator) bool { return ids[o.ID] == 0 })
		}
		o := m.g.Operators[next]
		for _, e := range m.g.Edges {
			if e.From == o.ID && !e.Back {
				before[e.To]--
			}
		}
		ids[o.ID] = len(out.Operators) + 1
		o.ID = ids[o.ID]
		out.Operators = append(out.Operators, o)
	}
	for _, e := range m.g.Edges {
		e.From, e.To = ids[e.From], ids[e.To]
		e.Back = e.Back || e.From >= e.To
		out.Edges = append(out.Edges, e)
	}
	return out
}
