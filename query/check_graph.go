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
				i := slices.Index(open, n)
				members := slices.Clone(open[i:])
				open = open[:i]
				for _, m := range members {
					index[m] = -1
				}
				list = append(list, members)
			}
		}
	}
	return list
}

// cycle reports the final edges within a group, unless it counts its rounds.
func (c *checker) cycle(g int, edges []*edge) {
	if c.step(g, edges) {
		return
	}
	c.blamed[g] = true
	name := ""
	if crawl := c.byName["crawl"]; crawl != nil && c.group[crawl.ID] == g {
		name = "crawl"
	}
	for _, e := range edges {
		who := name
		if who == "" {
			who = e.from.Name
		}
		hint := e.hint
		if way := c.way(e.to, e.from); len(way) > 1 {
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
		var because *edge
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
						raise(1, e)
					}
				case e.final(), stepped, e.to.Step >= 0:
					raise(below+1, e)
				default:
					raise(below, e)
				}
			}
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
		if t.Level > 0 && !c.blamed[c.group[t.ID]] {
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
	c.fail(e.Pos, e.hint, "%s on %s, which is settled only when the crawl is over", what, e.why)
}
