package flow_test

import (
	"fmt"
	"math"
	"slices"

	"weir/query"
)

// A graph is what the oracles know of a program's tables before they run it.
type graph struct {
	*query.Checked
	rules   map[string][]*query.Rule
	lattice map[string][]query.Lattice
	page    map[string]bool
	steers  map[string]bool
	needs   map[string]map[string]bool // what a table depends on, near and far
	parts   [][]string                 // tables that depend on one another, in an order in which each part needs only earlier ones
	step    map[string]int             // the step column of tables that have one
}

func newGraph(c *query.Checked) *graph {
	g := &graph{
		Checked: c, rules: map[string][]*query.Rule{}, lattice: map[string][]query.Lattice{},
		page: map[string]bool{}, steers: map[string]bool{}, step: map[string]int{},
	}
	direct := map[string]map[string]bool{}
	for _, t := range c.Tables {
		g.lattice[t.Name] = make([]query.Lattice, t.Arity())
		g.page[t.Name] = t.Kind == query.PageFact
		direct[t.Name] = map[string]bool{}
		if g.page[t.Name] { // a page is fetched because crawl asks for it
			direct[t.Name]["crawl"] = true
		}
		if t.Step >= 0 && t.Kind == query.Derived {
			g.step[t.Name] = t.Step
		}
	}
	for _, r := range c.Rules {
		h := r.Head
		g.rules[h.Table] = append(g.rules[h.Table], r)
		for i, t := range h.Args {
			if t.Lattice != query.Each {
				g.lattice[h.Table][i] = t.Lattice
			}
		}
		switch h.Table {
		case "crawl":
			copy(g.lattice["crawl"], []query.Lattice{query.Each, query.Min, query.Max})
		case "wait":
			copy(g.lattice["wait"], []query.Lattice{query.Each, query.Max})
		}
		for _, l := range r.Body {
			if l.Atom != nil {
				direct[h.Table][l.Atom.Table] = true
			}
		}
	}
	g.needs = closure(direct)
	for _, t := range c.Tables {
		for _, order := range []string{"crawl", "stop", "wait"} {
			g.steers[t.Name] = g.steers[t.Name] || t.Name == order || g.needs[order][t.Name]
		}
	}
	var names []string
	for _, t := range c.Tables {
		names = append(names, t.Name)
	}
	g.parts = partsOf(names, g.needs)
	return g
}

// closure returns everything that can be reached from each name.
func closure(direct map[string]map[string]bool) map[string]map[string]bool {
	far := map[string]map[string]bool{}
	for from := range direct {
		far[from] = map[string]bool{}
		var visit func(string)
		visit = func(at string) {
			for to := range direct[at] {
				if !far[from][to] {
					far[from][to] = true
					visit(to)
				}
			}
		}
		visit(from)
	}
	return far
}

// partsOf groups names that need one another. Whoever needs a group needs more
// than the group does, so sorting by that gives an order.
func partsOf(names []string, needs map[string]map[string]bool) [][]string {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return len(needs[a]) - len(needs[b]) })
	var parts [][]string
	done := map[string]bool{}
	for _, a := range names {
		if done[a] {
			continue
		}
		part := []string{a}
		done[a] = true
		for _, b := range names {
			if !done[b] && needs[a][b] && needs[b][a] {
				part = append(part, b)
				done[b] = true
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// together says that two tables depend on one another.
func (g *graph) together(a, b string) bool { return a == b || g.needs[a][b] && g.needs[b][a] }

// stepped says that a part recurses through an aggregate, step by step.
func (g *graph) stepped(part []string) bool {
	for _, t := range part {
		if _, ok := g.step[t]; ok && g.needs[t][t] {
			return true
		}
	}
	return false
}

// unroll returns the last step of stepped tables, and their order within a step.
func (g *graph) unroll(tables []string) (int, [][]string) {
	last := 0
	direct := map[string]map[string]bool{}
	for _, t := range tables {
		last = max(last, g.Table(t).Rounds)
		direct[t] = map[string]bool{}
		for _, r := range g.rules[t] {
			for _, l := range r.Body {
				if l.Atom != nil && slices.Contains(tables, l.Atom.Table) && !g.advances(r) {
					direct[t][l.Atom.Table] = true
				}
			}
		}
	}
	return last, partsOf(tables, closure(direct))
}

// advances says that a rule leads from one step to the next.
func (g *graph) advances(r *query.Rule) bool {
	return r.Head.Args[g.step[r.Head.Table]].Op == query.Add
}

// flat returns a rule's body and head with tables' columns reduced to variables
// and constants: p(host(U)) becomes p(X), X = host(U).
func flat(r *query.Rule) ([]*query.Literal, []*query.Term) {
	var body []*query.Literal
	n := 0
	for _, l := range r.Body {
		if l.Atom == nil || l.Neg {
			body = append(body, l)
			continue
		}
		a := *l.Atom
		a.Args = slices.Clone(a.Args)
		for i, t := range a.Args {
			if t.Op == query.Call || t.Op == query.Add || t.Op == query.Sub || t.Op == query.Mul || t.Op == query.Div {
				n++
				v := &query.Term{Op: query.Var, Name: fmt.Sprintf("F'%d", n), Type: t.Type}
				a.Args[i] = v
				body = append(body, &query.Literal{Compare: &query.Compare{Op: "=", L: v, R: t}})
			}
		}
		body = append(body, &query.Literal{Atom: &a})
	}
	return body, r.Head.Args
}

func unfloat(v query.Value) float64 { return math.Float64frombits(uint64(v.N)) }
