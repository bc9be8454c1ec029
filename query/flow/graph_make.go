package flow

import (
	"slices"
	"strings"

	"weir/query"
)

// Graph returns the plan as boxes and arrows.
func (p *Plan) Graph() *Graph {
	m := &sketch{
		plan:    p,
		tables:  make([]int, len(p.Program.Tables)),
		sources: make([]int, len(p.Program.Tables)),
		moves:   make([]int, len(p.Stores)),
		stages:  make([]tap, len(p.Stages)),
		kept:    p.keeps(),
	}
	m.spine()
	for _, steers := range []bool{true, false} {
		for _, r := range p.Rules {
			if r.Head.Steers == steers {
				m.rule(r)
			}
		}
	}
	for _, l := range m.later {
		m.edge(m.source(l.in), l.to)
	}
	m.circle()
	return m.sorted()
}

// keeps says which tables, by ID, a crawl keeps up; nil when that is not the
// question.
func (p *Plan) keeps() []bool {
	if p.Options.Crawl || len(p.Options.Given) > 0 || p.Program.Table("crawl") == nil {
		return nil
	}
	small, diags := Compile(p.Program, Options{Scheme: p.Options.Scheme, Spread: p.Options.Spread, Crawl: true})
	if query.Failed(diags) {
		return nil
	}
	kept := make([]bool, len(p.Program.Tables))
	for _, r := range small.Rules {
		kept[r.Head.ID] = true
	}
	return kept
}

// sketch is a graph in the making. Boxes are numbered as they come and sorted at the end.
type sketch struct {
	plan    *Plan
	boxes   []Operator
	edges   []Edge
	tables  []int // by table: the box that its rows come out of, 0: none yet
	sources []int // by table: the Scan of an input or of seeds
	moves   []int // by store: its Exchange
	stages  []tap // by stage
	kept    []bool
	extract int // the box that pages' facts come out of
	dup     int // DupElim: where crawl is looked up
	queue   int // Reorder
	valve   int // Throttle
	later   []link
}

// link is an arrow to draw once all tables have their boxes.
type link struct {
	in *Input
	to int
}

// tap is where a stage's rows come out of: its last box or, if it does nothing
// with them, its only input.
type tap struct {
	box int
	in  *Input
}

// lead draws an arrow from a tap.
func (m *sketch) lead(t tap, to int) {
	if t.in != nil {
		m.later = append(m.later, link{t.in, to})
		return
	}
	m.edge(t.box, to)
}

func (m *sketch) box(o Operator) int {
	o.ID = len(m.boxes) + 1
	m.boxes = append(m.boxes, o)
	return o.ID
}

func (m *sketch) edge(from, to int) {
	if from == 0 || to == 0 {
		return
	}
	e := Edge{From: from, To: to, Exchange: m.boxes[from-1].Kind == OpExchange}
	if !slices.Contains(m.edges, e) {
		m.edges = append(m.edges, e)
	}
}

// crawled says that this plan crawls, not only asks.
func (m *sketch) crawled() bool {
	return m.plan.Program.Table("crawl") != nil && !slices.Contains(m.plan.Options.Given, "crawl")
}

// spine draws what all crawls have: from the pages that wait to their facts.
func (m *sketch) spine() {
	url := m.key("U", query.URL)
	if !m.crawled() {
		scan := m.box(Operator{Kind: OpScan, Detail: "pages of the crawl", Key: url})
		m.extract = m.box(Operator{Kind: OpExtract, Detail: m.facts(), Key: url})
		m.dup = scan
		m.edge(scan, m.extract)
		return
	}
	scan := m.box(Operator{Kind: OpScan, Detail: "pages to crawl", Key: url})
	detail := "one row a url"
	if c := m.plan.Program.Table("crawl"); c.Arity() > 2 {
		detail += ", least depth, highest priority"
	} else if c.Arity() > 1 {
		detail += ", least depth"
	}
	m.dup = m.box(Operator{Kind: OpDupElim, Detail: detail, Key: url, Stores: []string{"crawl"}})
	fetch := m.box(Operator{Kind: OpFetch, Detail: "as robots.txt allows", Key: url})
	m.extract = m.box(Operator{Kind: OpExtract, Detail: m.facts(), Key: url})
	m.edge(scan, m.dup)
	m.edge(m.dup, fetch)
	m.edge(fetch, m.extract)
}

// facts lists the page facts that rules read.
func (m *sketch) facts() string {
	var names []string
	for _, t := range m.plan.Program.Tables {
		if t.Kind == query.PageFact && m.reads(t) {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func (m *sketch) reads(t *query.Table) bool {
	for _, s := range m.plan.Stages {
		for _, in := range slices.Concat(s.Inputs, s.Absent) {
			if in.Table == t {
				return true
			}
		}
	}
	return false
}

// key says what a box's partition is found by: by host, all URLs of a host are
// at home with its name.
func (m *sketch) key(at string, typ query.Type) string {
	if m.plan.Options.Scheme == ByHost && typ == query.URL && at != "" && at != "_" {
		return "host(" + at + ")"
	}
	return at
}

func (m *sketch) stageKey(s *Stage) string {
	for _, v := range s.Rule.Vars {
		if v.Name == s.At && v.Name != "" {
			return m.key(s.At, v.Type)
		}
	}
	return s.At
}

// rule draws a rule: its stages, what they send one another, and what becomes of
// what it derives.
func (m *sketch) rule(r *Rule) {
	var out tap
	for _, s := range r.Stages {
		if out = m.stages[s.ID]; out == (tap{}) {
			out = m.stage(s)
			m.stages[s.ID] = out
		}
		if s != r.Root() {
			m.lead(out, m.exchange(s, out))
		}
	}
	if r.Head.Name == "crawl" && m.crawled() {
		m.order(r, out)
		return
	}
	m.lead(m.derived(r, out), m.table(r))
}

// stage draws a join and its conditions.
func (m *sketch) stage(s *Stage) tap {
	o := Operator{Kind: OpJoin, Key: m.stageKey(s), Final: m.final(s.Rule.Head)}
	var parts []string
	for _, in := range s.Inputs {
		parts = append(parts, m.name(in))
		o.Stores = m.keep(o.Stores, in)
		if in.Table != nil && in.Table.Name == "redirect" && s.Rule.Head.Name == "crawl" {
			o.Kind = OpRedirect
		}
	}
	for _, in := range s.Absent {
		parts = append(parts, "!"+m.name(in))
		o.Stores = m.keep(o.Stores, in)
	}
	var conds []string
	for _, c := range s.Conds {
		if text := condition(c); text != "" {
			conds = append(conds, text)
		}
	}
	switch {
	case len(parts) == 0:
		return tap{box: m.box(Operator{Kind: OpScan, Detail: s.Rule.Rule.Head.String(), Key: o.Key, Final: o.Final})}
	case len(parts) == 1 && len(o.Stores) == 0 && o.Kind == OpJoin:
		if len(conds) == 0 && !picks(s.Inputs[0]) {
			return tap{in: s.Inputs[0]}
		}
		o.Kind = OpSelect
		parts, conds = append(parts, conds...), nil
	}
	o.Detail = strings.Join(parts, ", ")
	out := m.box(o)
	m.takes(s, out)
	if len(conds) > 0 {
		sel := m.box(Operator{Kind: OpSelect, Detail: strings.Join(conds, ", "), Key: o.Key, Final: o.Final})
		m.edge(out, sel)
		out = sel
	}
	return tap{box: out}
}

// picks says that an input takes only rows with certain values.
func picks(in *Input) bool {
	used := make(map[int]bool, len(in.Columns))
	for _, c := range in.Columns {
		if c.Const != nil || c.Slot >= 0 && used[c.Slot] {
			return true
		}
		used[c.Slot] = true
	}
	return false
}

// takes remembers whose rows a stage takes.
func (m *sketch) takes(s *Stage, box int) {
	for _, in := range slices.Concat(s.Inputs, s.Absent) {
		m.later = append(m.later, link{in, box})
	}
}

// source is the box that an input's rows come out of.
func (m *sketch) source(in *Input) int {
	switch t := in.Table; {
	case t == nil:
		return m.moves[in.Store.ID]
	case t.Kind == query.File || t.Kind == query.SeedFact:
		return m.scan(t)
	case in.Source == FromPage || in.Source == FromCrawl || t.Kind == query.PageFact:
		return m.extract
	case t.Name == "crawl" && m.tables[t.ID] == 0:
		return m.dup
	default:
		return m.tables[t.ID]
	}
}

// scan is the box of an input or of the seeds.
func (m *sketch) scan(t *query.Table) int {
	if m.sources[t.ID] == 0 {
		detail := "seed(url, score)"
		if t.Kind == query.File {
			detail = t.Name + " from " + t.Input.File
		}
		o := Operator{Kind: OpScan, Detail: detail, Key: m.key("url", query.URL), Table: t.Name}
		if t.Kind == query.File {
			o.Key = "everywhere"
		}
		m.sources[t.ID] = m.box(o)
	}
	return m.sources[t.ID]
}

// name writes an input as the rule does; rows of another stage by their
// variables.
func (m *sketch) name(in *Input) string {
	if in.Atom != nil {
		a := *in.Atom
		for len(a.Args) > 1 && a.Args[len(a.Args)-1].Op == query.Anon && (in.Table.Kind != query.Derived || in.Table.Name == "crawl") {
			a.Args = a.Args[:len(a.Args)-1]
		}
		return a.String()
	}
	var names []string
	for _, c := range in.Columns {
		name := "_"
		if c.Slot >= 0 && in.Stage.Rule.Vars[c.Slot].Name != "" {
			name = in.Stage.Rule.Vars[c.Slot].Name
		}
		names = append(names, name)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// vars names what a stage sends.
func (s *Stage) vars() []string {
	var names []string
	for _, slot := range s.Sends {
		name := s.Rule.Vars[slot].Name
		if name == "" {
			name = "_"
		}
		names = append(names, name)
	}
	return names
}

// keep adds what a stage keeps of an input: tables that rules derive are kept by
// themselves.
func (m *sketch) keep(keeps []string, in *Input) []string {
	if in.Source != FromStore || in.Store == nil || in.Store.Passes || in.Table != nil && in.Table.Kind == query.Derived {
		return keeps
	}
	name := ""
	if in.Table != nil {
		name = in.Table.Name
	} else {
		name = m.name(in)
	}
	if slices.Contains(keeps, name) {
		return keeps
	}
	return append(keeps, name)
}

// exchange is the box between a stage and the one its rows are sent to.
func (m *sketch) exchange(s *Stage, from tap) int {
	if id := m.moves[s.Into.ID]; id != 0 {
		return id
	}
	names := s.vars()
	v := s.Rule.Vars[s.Sends[0]]
	detail := "(" + strings.Join(names, ", ") + ")"
	if from.in != nil {
		detail = m.name(from.in)
	}
	m.moves[s.Into.ID] = m.box(Operator{
		Kind: OpExchange, Detail: detail, Key: m.key(names[0], v.Type), Final: m.final(s.Rule.Head),
	})
	return m.moves[s.Into.ID]
}

// order draws what becomes of crawl rows.
func (m *sketch) order(r *Rule, out tap) {
	head := r.Rule.Head
	if r.Ships {
		first := head.Args[0]
		at := m.box(Operator{Kind: OpExchange, Detail: head.String(), Key: m.key(first.String(), query.URL)})
		m.lead(out, at)
		out = tap{box: at}
	}
	if m.queue == 0 {
		detail := "as --order says"
		if r.Head.Arity() > 2 {
			detail = "by priority"
		}
		key := m.key("url", query.URL)
		m.queue = m.box(Operator{Kind: OpReorder, Detail: detail, Key: key, Stores: []string{"queue"}})
		m.valve = m.box(Operator{Kind: OpThrottle, Detail: "waits of hosts, limits", Key: m.key("url", query.URL)})
		m.tables[r.Head.ID] = m.box(Operator{Kind: OpPublish, Detail: "crawl", Key: key, Table: "crawl"})
		m.edge(m.queue, m.valve)
		m.edge(m.valve, m.tables[r.Head.ID])
	}
	m.lead(out, m.queue)
}

// circle closes the circle of a crawl: what is published is scanned.
func (m *sketch) circle() {
	c := m.plan.Program.Table("crawl")
	if m.queue != 0 {
		m.edge(m.tables[c.ID], 1)
		m.tables[c.ID] = 0
	}
	if w := m.plan.Program.Table("wait"); w != nil && m.tables[w.ID] != 0 {
		m.edge(m.tables[w.ID], m.valve)
	}
}

// derived draws what lies between a rule's solutions and its table.
func (m *sketch) derived(r *Rule, out tap) tap {
	head, final := r.Rule.Head, m.final(r.Head)
	key := m.homeOf(r)
	if r.Ships {
		detail := head.String()
		if len(r.Pools) > 0 {
			detail = "solutions of " + detail
		}
		at := m.box(Operator{Kind: OpExchange, Detail: detail, Key: key, Final: final})
		m.lead(out, at)
		out = tap{box: at}
	}
	if len(r.Pools) == 0 {
		return out
	}
	agg := Operator{Kind: OpAggregate, Detail: head.String(), Key: key, Final: final}
	if slices.ContainsFunc(r.Pools, func(p *Pool) bool { return p.Store != nil }) {
		agg.Stores = []string{"solutions"}
	}
	at := m.box(agg)
	m.lead(out, at)
	return tap{box: at}
}

// table is the box in which a table's rows come together.
func (m *sketch) table(r *Rule) int {
	t := r.Head
	if m.tables[t.ID] != 0 {
		return m.tables[t.ID]
	}
	o := Operator{Kind: OpPublish, Detail: t.Name, Key: m.homeOf(r), Table: t.Name, Final: m.final(t)}
	if t.Small {
		o.Key = "everywhere"
	}
	if s := m.plan.storeOf(t); s != nil && !s.Passes {
		o.Stores = []string{t.Name}
	}
	m.tables[t.ID] = m.box(o)
	return m.tables[t.ID]
}

func (p *Plan) storeOf(t *query.Table) *Store {
	for _, s := range p.Stores {
		if s.Table == t {
			return s
		}
	}
	return nil
}

// homeOf is what decides where a rule's rows live.
func (m *sketch) homeOf(r *Rule) string {
	first := *r.Rule.Head.Args[0]
	if first.Op == query.Aggregate {
		return "one place"
	}
	first.Lattice = query.Each
	return m.key(first.String(), r.Head.Types[0])
}

// final says that a table is not kept up during the crawl.
func (m *sketch) final(t *query.Table) bool {
	return t.Level > 0 || m.kept != nil && !m.kept[t.ID]
}

// condition writes a condition as the rule does; those that only take an
// expression out of a column are in the atom already.
func condition(c *Cond) string {
	if c.Literal == nil {
		return ""
	}
	if k := c.Literal.Compare; k != nil && (unnamed(k.L) || unnamed(k.R)) {
		return ""
	}
	return c.Literal.String()
}

func unnamed(t *query.Term) bool { return t.Op == query.Var && strings.HasPrefix(t.Name, "#") }

// sorted numbers boxes so that edges lead forward, each box as soon after those
// it takes rows from as can be; edges that close a circle are marked.
func (m *sketch) sorted() *Graph {
	n := len(m.boxes) + 1
	next := make([][]int, n) // edges, by box
	for i, e := range m.edges {
		next[e.From] = append(next[e.From], i)
	}
	// Depth first: an edge to a box that is still being visited closes a circle.
	state := make([]uint8, n)
	var visit func(int)
	visit = func(b int) {
		state[b] = 1
		for _, i := range next[b] {
			switch e := &m.edges[i]; state[e.To] {
			case 0:
				visit(e.To)
			case 1:
				e.Back = true
			}
		}
		state[b] = 2
	}
	for b := 1; b < n; b++ {
		if state[b] == 0 {
			visit(b)
		}
	}
	missing := make([]int, n)
	for _, e := range m.edges {
		if !e.Back {
			missing[e.To]++
		}
	}
	var ready [2][]int // live ones go first
	free := func(b int) {
		late := 0
		if m.boxes[b-1].Final {
			late = 1
		}
		ready[late] = append(ready[late], b)
	}
	for b := n - 1; b > 0; b-- {
		if missing[b] == 0 {
			free(b)
		}
	}
	number := make([]int, n)
	g := &Graph{Scheme: m.plan.Options.Scheme}
	for len(g.Operators) < len(m.boxes) {
		late := 0
		if len(ready[0]) == 0 {
			late = 1
		}
		b := ready[late][len(ready[late])-1]
		ready[late] = ready[late][:len(ready[late])-1]
		o := m.boxes[b-1]
		o.ID = len(g.Operators) + 1
		number[b] = o.ID
		g.Operators = append(g.Operators, o)
		var freed []int
		for _, i := range next[b] {
			if e := m.edges[i]; !e.Back {
				if missing[e.To]--; missing[e.To] == 0 {
					freed = append(freed, e.To)
				}
			}
		}
		slices.SortFunc(freed, func(a, b int) int { return b - a })
		for _, b := range freed {
			free(b)
		}
	}
	for _, e := range m.edges {
		e.From, e.To = number[e.From], number[e.To]
		g.Edges = append(g.Edges, e)
	}
	slices.SortFunc(g.Edges, func(a, b Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return g
}
