package flow

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/page"
	"weir/query"
)

// Compile makes a program ready to run. What it cannot run it reports.
func Compile(c *query.Checked, o Options) (*Plan, []query.Diag) {
	p := &Plan{turned: &Path{}, paths: 1, Program: c, Options: o, tables: make([]*Store, len(c.Tables)), files: make([]*hall, len(c.Tables))}
	var diags []query.Diag
	var rules []*Rule
	for _, r := range c.Rules {
		if slices.Contains(o.Given, r.Head.Table) || o.Crawl && c.Table(r.Head.Table).Level > 0 {
			continue
		}
		rule, d := p.split(r)
		if d != nil {
			diags = append(diags, *d)
			continue
		}
		rules = append(rules, rule)
	}
	p.choose(rules)
	p.share()
	for i, r := range p.Rules {
		r.index = i
		p.head(r)
	}
	for _, s := range p.Stages {
		p.feed(s)
	}
	for _, st := range p.Stores {
		st.Passes = p.passes(st)
		special := st.Table != nil && (st.Table.Name == "stop" || st.Table.Name == "wait")
		st.quiet = len(st.Readers) == 0 && st.Pool == nil && !st.Small && !special
	}
	for _, st := range p.Stores {
		if st.picks != nil {
			p.report(st.picks.Stage.Rule, p.linkKept(st), &diags)
		}
	}
	for _, s := range p.Stages {
		p.report(s.Rule, p.link(s), &diags)
	}
	if p.paths > math.MaxUint16 {
		diags = append(diags, query.Diag{Message: fmt.Sprintf("the program has to keep rows in %d orders, and %d are possible", p.paths, math.MaxUint16),
			Hint: "split it into several programs"})
	}
	p.watch()
	return p, diags
}

func (p *Plan) report(r *Rule, err error, diags *[]query.Diag) {
	if err != nil {
		*diags = append(*diags, query.Diag{Pos: r.Pos, Message: err.Error()})
	}
}

// choose keeps the rules that were asked for and those whose tables they read.
func (p *Plan) choose(rules []*Rule) {
	keep := make([]bool, len(p.Program.Tables))
	var need func(t *query.Table)
	need = func(t *query.Table) {
		if t.Kind != query.Derived || keep[t.ID] || slices.Contains(p.Options.Given, t.Name) {
			return
		}
		keep[t.ID] = true
		for _, r := range t.Rules {
			p.reads(r, need)
		}
	}
	for _, t := range p.Program.Tables {
		switch {
		case p.Options.Crawl:
			if t.Kind == query.Derived && t.Level == 0 && (t.Steers || t.Live) {
				need(t)
			}
		case len(p.Options.Tables) == 0 || slices.Contains(p.Options.Tables, t.Name):
			need(t)
		}
	}
	if p.Options.Crawl {
		p.near(rules, keep)
	}
	for _, r := range rules {
		if keep[r.Head.ID] {
			p.Rules = append(p.Rules, r)
		}
	}
}

// reads calls fn for every table in a rule's body.
func (p *Plan) reads(r *query.Rule, fn func(*query.Table)) {
	for _, l := range r.Body {
		if l.Atom != nil {
			fn(p.Program.Table(l.Atom.Table))
		}
	}
}

// near also keeps the tables that can be had without sending rows about.
func (p *Plan) near(rules []*Rule, keep []bool) {
	local := make([]bool, len(keep))
	for _, t := range p.Program.Tables {
		local[t.ID] = t.Kind == query.Derived && t.Level == 0
	}
	for again := true; again; {
		again = false
		for _, r := range rules {
			if !local[r.Head.ID] || keep[r.Head.ID] {
				continue
			}
			ok := len(r.Stages) == 1 && (!r.Ships || r.Root().At == "")
			p.reads(r.Rule, func(t *query.Table) {
				ok = ok && (t.Kind != query.Derived || keep[t.ID] || local[t.ID] || slices.Contains(p.Options.Given, t.Name))
			})
			if !ok {
				local[r.Head.ID], again = false, true
			}
		}
	}
	for i := range keep {
		keep[i] = keep[i] || local[i]
	}
}

// share finds out at which level stages run, and lets rules that send the same
// rows to the same place do so once.
func (p *Plan) share() {
	known := map[string]*Stage{}
	for _, r := range p.Rules {
		var stages []*Stage
		for _, s := range r.Stages {
			for _, in := range slices.Concat(s.Inputs, s.Absent) {
				in.Stage = s
				if in.From != nil {
					in.From = in.From.same()
				}
			}
			s.Hides = r.Head.Steers && !p.Options.IgnoreRobots && slices.ContainsFunc(slices.Concat(s.Inputs, s.Absent), isLink)
			s.Level = p.level(s)
			if s.Sends != nil {
				sign := s.signature()
				if other := known[sign]; other != nil {
					s.twin = other
					stages = append(stages, other)
					continue
				}
				known[sign] = s
				s.Into = p.store(&Store{Writers: []*Stage{s}, Types: r.types(s.Sends)})
			}
			s.ID = len(p.Stages)
			p.Stages = append(p.Stages, s)
			stages = append(stages, s)
		}
		r.Stages = stages
	}
}

func isLink(in *Input) bool {
	return in.Table != nil && in.Table.Kind == query.PageFact && facts[in.Table.Name].link
}

// same returns the stage that does what s does.
func (s *Stage) same() *Stage {
	if s.twin != nil {
		return s.twin
	}
	return s
}

func (r *Rule) types(slots []int) []query.Type {
	var types []query.Type
	for _, s := range slots {
		types = append(types, r.Vars[s].Type)
	}
	return types
}

// level returns when a stage may run: when all that growth could take back is
// complete.
func (p *Plan) level(s *Stage) int {
	head, level := s.Rule.Head.Level, 0
	for _, in := range s.Inputs {
		if in.From != nil {
			level = max(level, in.From.Level)
			continue
		}
		level = max(level, in.Table.Level)
		for i, l := range in.Table.Lattice {
			if l != query.Each && (in.Columns[i].Slot >= 0 || in.Columns[i].Const != nil) {
				level = max(level, min(in.Table.Level+1, head)) // the exact value, perhaps
			}
		}
	}
	for _, in := range s.Absent {
		switch {
		case in.From != nil:
			level = max(level, in.From.Level+1)
		case in.Table.Kind == query.Derived, in.Table.Kind == query.SeedFact:
			level = max(level, in.Table.Level+1)
		case in.Table.Kind == query.PageFact && !in.sealed:
			level = max(level, 1)
		}
	}
	timely := slices.ContainsFunc(s.Conds, func(c *Cond) bool { return strings.Contains(c.Literal.String(), "now()") })
	if s.Sends == nil {
		timely = timely || strings.Contains(s.Rule.Rule.Head.String(), "now()")
	}
	if timely {
		level = max(level, head)
	}
	if s.Rule.Head.Step >= 0 {
		p.postpone(s)
		level = min(level, head)
	}
	return level
}

// signature says what a stage sends, whatever its variables are called.
func (s *Stage) signature() string {
	var b strings.Builder
	names := map[int]string{}
	name := func(slot int) string {
		if names[slot] == "" {
			names[slot] = fmt.Sprint("V", len(names))
		}
		return names[slot]
	}
	columns := func(in *Input) {
		if in.From != nil {
			fmt.Fprintf(&b, "from %d", in.From.Into.ID)
		} else {
			b.WriteString(in.Table.Name)
		}
		for _, c := range in.Columns {
			switch {
			case c.Const != nil:
				fmt.Fprintf(&b, " %q/%d", c.Const.S, c.Const.N)
			case c.Slot >= 0:
				b.WriteString(" " + name(c.Slot))
			default:
				b.WriteString(" _")
			}
		}
		b.WriteString("; ")
	}
	fmt.Fprintf(&b, "%d %t: ", s.Level, s.Hides)
	if s.late != nil {
		fmt.Fprintf(&b, "%s %d: ", s.Rule.Head.Name, s.late.ahead)
	}
	for _, in := range s.Inputs {
		columns(in)
	}
	for _, in := range s.Absent {
		b.WriteByte('!')
		columns(in)
	}
	for _, c := range s.Conds {
		b.WriteString(c.Literal.String())
		for _, v := range c.vars {
			fmt.Fprintf(&b, " %s=%s", s.Rule.Vars[v].Name, name(v))
		}
		b.WriteString("; ")
	}
	for _, v := range s.Sends {
		b.WriteString(" " + name(v))
	}
	return b.String()
}

// store numbers a store and finds its key.
func (p *Plan) store(st *Store) *Store {
	st.ID = uint32(len(p.Stores))
	if st.Lattice == nil {
		st.Lattice = make([]query.Lattice, len(st.Types))
	}
	for i, l := range st.Lattice {
		if l == query.Each {
			st.keys = append(st.keys, i)
		} else {
			st.lats = append(st.lats, i)
		}
	}
	st.point = len(st.lats) == 0
	if st.Small {
		st.hall = newHall(st.Types, st.Lattice)
	}
	p.Stores = append(p.Stores, st)
	p.addPath(st, st.keys, 0)
	return st
}

func (p *Plan) addPath(st *Store, columns []int, prefix int) *Path {
	path := &Path{ID: uint16(p.paths), Columns: columns, Prefix: prefix}
	p.paths++
	st.Paths = append(st.Paths, path)
	return path
}

// path returns a path of a store that begins with the columns.
func (p *Plan) path(st *Store, columns []int) *Path {
	n := len(columns)
	for i, path := range st.Paths {
		if (path.Prefix == n || i == 0 && path.Prefix == 0) && slices.Equal(path.Columns[:n], columns) {
			path.Prefix = n
			return path
		}
	}
	order := slices.Clone(columns)
	for _, c := range st.keys {
		if !slices.Contains(columns, c) {
			order = append(order, c)
		}
	}
	return p.addPath(st, order, n)
}

// table returns the store of a table that is not a page's fact.
func (p *Plan) table(t *query.Table) *Store {
	if p.tables[t.ID] == nil {
		st := &Store{Table: t, Types: t.Types, Lattice: t.Lattice, Small: t.Small}
		for i := range t.Types {
			st.Columns = append(st.Columns, i)
		}
		p.tables[t.ID] = p.store(st)
	}
	return p.tables[t.ID]
}

// kept returns the store of a page fact that an input waits for: of the columns
// that it looks at, in rows that can matter to it.
func (p *Plan) kept(in *Input) *Store {
	st := &Store{Table: in.Table, Hides: in.Stage.Hides && isLink(in)}
	where := map[int]int{} // the columns of slots
	for i, c := range in.Columns {
		switch {
		case c.Slot >= 0:
			if first, twice := where[c.Slot]; twice {
				st.where += fmt.Sprintf("%d=%d;", i, first)
				continue
			}
			where[c.Slot] = i
		case c.Const != nil:
			st.where += fmt.Sprintf("%d is %q/%d;", i, c.Const.S, c.Const.N)
		}
		if i == 0 || c.Slot >= 0 {
			st.Columns = append(st.Columns, i)
			st.Types = append(st.Types, in.Table.Types[i])
		}
	}
	var own []*Cond
	for _, c := range in.Stage.Conds {
		if !in.decides(c) {
			continue
		}
		own = append(own, c)
		st.where += c.Literal.String()
		for _, v := range c.vars {
			st.where += fmt.Sprintf(" %s at %d", in.Stage.Rule.name(v), where[v])
		}
	}
	for _, o := range p.Stores {
		if o.Table == st.Table && o.Hides == st.Hides && slices.Equal(o.Columns, st.Columns) && o.where == st.where {
			return o
		}
	}
	st.picks, st.own = in, own
	return p.store(st)
}

// decides says that the rows of an input alone decide a condition.
func (in *Input) decides(c *Cond) bool {
	return c.Slot < 0 && len(c.vars) > 0 && slices.Contains(in.Stage.Inputs, in) && !slices.ContainsFunc(c.vars, func(v int) bool {
		return !slices.ContainsFunc(in.Columns, func(k Column) bool { return k.Slot == v })
	})
}

// head prepares where a rule's rows go.
func (p *Plan) head(r *Rule) {
	if r.Head.Name != "crawl" {
		p.table(r.Head)
	}
	p.pools(r)
}

// feed says how the rows of a stage's inputs come.
func (p *Plan) feed(s *Stage) {
	s.Flows = s.flows()
	for _, in := range slices.Concat(s.Inputs, s.Absent) {
		switch {
		case in.From != nil:
			in.Source, in.Store = FromStore, in.From.Into
		case in.Table.Kind == query.File:
			in.Source = FromFile
			if p.files[in.Table.ID] == nil {
				p.files[in.Table.ID] = newHall(in.Table.Types, in.Table.Lattice)
			}
		case in.Table.Small && !in.home:
			in.Source, in.Store = FromSmall, p.table(in.Table)
		case s.Flows && in.Table.Kind == query.PageFact:
			in.Source = FromPage
		case s.Flows: // crawl
			in.Source = FromCrawl
		case in.Table.Kind == query.PageFact:
			in.Source, in.Store = FromStore, p.kept(in)
		default:
			in.Source, in.Store = FromStore, p.table(in.Table)
		}
	}
	if s.Flows {
		return
	}
	for _, in := range s.Inputs {
		if in.Store != nil {
			in.Store.Readers = append(in.Store.Readers, in)
		}
	}
}

// flows says that all a stage needs comes with one page.
func (s *Stage) flows() bool {
	var first *Column
	same := func(in *Input) bool {
		c := &in.Columns[0]
		if first == nil {
			first = c
		}
		return c.Slot == first.Slot && (c.Slot >= 0 || c.Const != nil && *c.Const == *first.Const)
	}
	pages := 0
	for _, in := range s.Inputs {
		switch {
		case in.From != nil:
			return false
		case in.Table.Kind == query.PageFact:
			if !same(in) {
				return false
			}
			pages++
		case in.Table.Name == "crawl":
			if !same(in) {
				return false
			}
		case in.Table.Kind == query.File, in.Table.Small && !in.home:
		default:
			return false
		}
	}
	for _, in := range s.Absent {
		if in.From != nil || in.Table.Kind != query.File && !(in.Table.Kind == query.PageFact && same(in)) {
			return false
		}
	}
	return pages > 0 && s.Level == 0
}

// passes says that nobody looks up rows of a store, and whoever is told of one
// twice does not mind: rows that are handed in from outside, where they are known
// already, and those that only pools take in.
func (p *Plan) passes(st *Store) bool {
	if st.Table == nil {
		return false
	}
	pours := p.pours(st)
	if st.Table.Name != "crawl" && st.Table.Kind != query.SeedFact && !slices.Contains(p.Options.Given, st.Table.Name) && !pours {
		return false
	}
	for _, s := range p.Stages {
		for _, in := range s.Absent {
			if in.Store == st {
				return false
			}
		}
	}
	for _, in := range st.Readers {
		alone := !slices.ContainsFunc(in.Stage.Inputs, func(o *Input) bool { return o != in && o.Store != nil })
		if !alone || in.Stage.Level > 0 && !pours {
			return false
		}
	}
	return true
}

// pours says that a table was not asked for, and that all who read it put what
// they find into pools, as soon as it is derived.
func (p *Plan) pours(st *Store) bool {
	t := st.Table
	if t.Kind != query.Derived || slices.Contains(p.Options.Given, t.Name) || len(p.Options.Tables) == 0 || slices.Contains(p.Options.Tables, t.Name) || p.Options.Crawl ||
		t.Small || !st.point || len(st.Readers) == 0 {
		return false
	}
	for _, in := range st.Readers {
		if len(in.Stage.Rule.Pools) == 0 || in.Stage.Sends != nil {
			return false
		}
		for _, r := range p.Rules {
			if r.Head == t && r.Root().Level < in.Stage.Level && len(r.Pools) == 0 {
				return false
			}
		}
	}
	return true
}

// watch finds out what the caller has to tell the Parts.
func (p *Plan) watch() {
	crawl := p.Program.Table("crawl")
	p.KeepsCrawl = crawl != nil && p.tables[crawl.ID] != nil
	for _, r := range p.Program.Rules {
		for _, l := range r.Body {
			if l.Atom == nil || l.Atom.Table != "crawl" {
				continue
			}
			p.TestsDepth = p.TestsDepth || tests(r, l.Atom, 1)
			p.TestsPriority = p.TestsPriority || tests(r, l.Atom, 2)
		}
	}
}

// tests says that a rule does more with a column of crawl than to pass it on in
// the same column.
func tests(r *query.Rule, a *query.Atom, column int) bool {
	if column >= len(a.Args) || a.Args[column].Op == query.Anon {
		return false
	}
	v := a.Args[column]
	if v.Op != query.Var {
		return true
	}
	uses := 0
	count := func(t *query.Term) {
		t.Vars(func(o *query.Term) {
			if o.Name == v.Name {
				uses++
			}
		})
	}
	for i, t := range r.Head.Args {
		if r.Head.Table != "crawl" || i != column {
			count(t)
		}
	}
	for _, l := range r.Body {
		switch {
		case l.Atom != nil:
			for _, t := range l.Atom.Args {
				count(t)
			}
		case l.Test != nil:
			count(l.Test)
		default:
			count(l.Compare.L)
			count(l.Compare.R)
		}
	}
	return uses > 1
}

// Wants returns which facts the rules look at.
func (p *Plan) Wants() page.Want {
	var w page.Want
	for _, s := range p.Stages {
		for _, in := range slices.Concat(s.Inputs, s.Absent) {
			if in.Table == nil {
				continue
			}
			switch in.Table.Name {
			case "link":
				w.Anchors = w.Anchors || in.Columns[2].Slot >= 0 || in.Columns[2].Const != nil
			case "requisite":
				w.Requisites = true
			case "sitemap", "robots":
				w.Sitemaps = true
			case "word":
				w.Words = true
			case "header":
				w.Headers = true
			case "meta":
				w.Metas = true
			case "hreflang":
				w.Translations = true
			}
		}
	}
	return w
}

// Exchanges says that rows of a stage go to another place: to a stage, or, from a
// rule's root, to the home of what it derives.
func (s *Stage) Exchanges() bool {
	return s.Sends != nil || s.Rule.Ships && s.Rule.Head.Name != "crawl"
}
