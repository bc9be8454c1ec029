package query

import (
	"fmt"
	"slices"
	"strings"
)

// order groups tables that depend on one another, and gives each its level.
func (c *checker) order() {
	c.partition()
	c.blamed = make([]bool, len(c.groups))
	inner := make([][]*edge, len(c.groups)) // final edges within a group
	for _, e := range c.edges {
		if g := c.group[e.from.ID]; e.final() && g == c.group[e.to.ID] {
			inner[g] = append(inner[g], e)
		}
	}
	for g, edges := range inner {
		if len(edges) > 0 {
			c.cycle(g, edges)
		}
	}
	c.alone()
	c.level()
	c.steer()
}

// partition finds the groups, those first that need no others (Tarjan's strongly
// connected components).
func (c *checker) partition() {
	c.group = make([]int, len(c.tables))
	nodes := make([][]int, len(c.tables))
	for i, edges := range c.out {
		for _, e := range edges {
			nodes[i] = append(nodes[i], e.to.ID)
		}
	}
	for g, members := range components(nodes) {
		slices.Sort(members)
		var tables []*Table
		for _, m := range members {
			c.group[m] = g
			tables = append(tables, c.tables[m])
		}
		c.groups = append(c.groups, tables)
	}
}

// components returns the strongly connected components of a graph, in which to
// lists the nodes that each node leads to. A component comes behind those it
// leads to.
func components(to [][]int) (list [][]int) {
	type visit struct{ node, next int }
	index := make([]int, len(to)) // 0: not seen; -1: in a component
	low := make([]int, len(to))
	var open []int
	seen := 0
	for start := range to {
		if index[start] != 0 {
			continue
		}
		path := []visit{{node: start}}
		for len(path) > 0 {
			v := &path[len(path)-1]
			n := v.node
			if v.next == 0 {
				seen++
				index[n], low[n] = seen, seen
				open = append(open, n)
			}
			if v.next < len(to[n]) {
				m := to[n][v.next]
				v.next++
				if index[m] == 0 {
					path = append(path, visit{node: m})
				} else if index[m] > 0 {
					low[n] = min(low[n], index[m])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1].node
				low[up] = min(low[up], low[n])
			}
			if low[n] == index[n] {
				i := len(open) - 1
				for ; ; i-- {
					if index[open[i]] = -1; open[i] == n {
						break
					}
				}
				list = append(list, slices.Clone(open[i:]))
				open = open[:i]
			}
		}
	}
	return list
}

// cycle reports the final edges within a group, unless it counts its rounds.
func (c *checker) cycle(g int, edges []*edge) {
	amiss := c.step(g, edges)
	if amiss == "" {
		return
	}
	c.blamed[g] = true
	name := ""
	if crawl := c.byName["crawl"]; crawl != nil && c.group[crawl.ID] == g {
		name = "crawl"
	}
	var last Pos // an aggregate over several tables is reported once
	for _, e := range edges {
		if e.Pos == last {
			continue
		}
		last = e.Pos
		who := name
		if who == "" {
			who = e.from.Name
		}
		hint := e.hint
		if hint == hintFinal {
			hint = amiss
		}
		if c.full() {
			hint = ""
		} else if way := c.way(e.to, e.from); len(way) > 1 {
			hint = fmt.Sprintf("%s needs %s; %s", e.from.Name, strings.Join(way, ", which needs "), hint)
		}
		c.fail(e.Pos, hint, "%s feeds back into itself through %s", who, e.why)
	}
}

// way names the tables on a shortest way of dependencies between two tables of a
// group, both included.
func (c *checker) way(from, to *Table) (names []string) {
	came := map[int]*edge{from.ID: nil}
	queue := []*Table{from}
	for len(queue) > 0 && queue[0] != to {
		for _, e := range c.out[queue[0].ID] {
			if _, seen := came[e.to.ID]; !seen && c.group[e.to.ID] == c.group[to.ID] {
				came[e.to.ID] = e
				queue = append(queue, e.to)
			}
		}
		queue = queue[1:]
	}
	for t := to; ; t = came[t.ID].from {
		names = append(names, t.Name)
		if came[t.ID] == nil {
			break
		}
	}
	slices.Reverse(names)
	return names
}

// level gives each group the least level that its edges allow.
func (c *checker) level() {
	c.reason = make([]*edge, len(c.tables))
	timely := make([]*clause, len(c.tables))
	c.sound(func(r *clause) {
		if r.timely {
			timely[r.head.ID] = r
		}
	})
	for g, tables := range c.groups {
		level, stepped := 0, tables[0].Step >= 0
		var because, inside *edge
		raise := func(to int, e *edge) {
			if to > level {
				level, because = to, e
			}
		}
		for _, t := range tables {
			if r := timely[t.ID]; r != nil {
				raise(1, &edge{Pos: r.Pos, from: t, to: t, rule: r, why: "now()", hint: hintNow})
			}
			for _, e := range c.out[t.ID] {
				switch below := e.to.Level; {
				case c.group[e.to.ID] == g:
					if stepped && e.final() {
						inside = e
						raise(1, e)
					}
				case e.final(), stepped, e.to.Step >= 0:
					raise(below+1, e)
				default:
					raise(below, e)
				}
			}
		}
		if stepped {
			because = inside
		}
		for _, t := range tables {
			t.Level = level
			c.reason[t.ID] = because
		}
		c.levels = max(c.levels, level)
	}
}

// steer marks what crawl, stop and wait need, which must be live.
func (c *checker) steer() {
	var queue []*Table
	for i := range orders {
		t := c.byName[orders[i].Name]
		if t == nil {
			continue
		}
		if t.Level > 0 {
			c.late(t.Name+" decides while the crawl goes on, but it depends", t)
		}
		if !t.Steers {
			t.Steers = true
			queue = append(queue, t)
		}
	}
	for len(queue) > 0 {
		for _, e := range c.out[queue[0].ID] {
			if !e.to.Steers && e.rule != nil {
				e.to.Steers = true
				queue = append(queue, e.to)
			}
		}
		queue = queue[1:]
	}
}

// late reports that a table is settled only when the crawl is over, and why.
func (c *checker) late(what string, t *Table) {
	e := c.reason[t.ID]
	for !e.final() && c.reason[e.to.ID] != nil {
		e = c.reason[e.to.ID]
	}
	if e.hint != hintNow {
		what += " on " + e.why + ", which is settled only when the crawl is over"
	} else {
		what += " on " + e.why
	}
	c.fail(e.Pos, e.hint, "%s", what)
}

// alone reports aggregates whose tables have other rules: a group would have
// several rows where one is meant. What min or max merges may have them, and so
// may rounds, of which the first is no aggregate.
func (c *checker) alone() {
	for _, t := range c.tables {
		var aggregate *Rule
		for _, r := range t.Rules {
			if !r.single(t) {
				continue
			}
			other := t.Rules[0]
			if other == r && len(t.Rules) > 1 {
				other = t.Rules[1]
			}
			if other != r && (t.Step < 0 || aggregate != nil) && !c.blamed[c.group[t.ID]] {
				c.fail(r.Head.Pos, "use two tables, or merge the rows by max or min: "+t.Name+"(.., max ..)", "%s is aggregated here, so no other rule can derive it, as line %d does", t.Name, other.Line)
			}
			aggregate = r
		}
	}
}

// single says that the rule derives one row of t for a group, which no lattice
// merges with others.
func (r *Rule) single(t *Table) bool {
	for i, a := range r.Head.Args {
		if a.Op == Aggregate && t.Lattice[i] == Each {
			return true
		}
	}
	return false
}
