package flow_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// A machine runs a plan as a crawl does, only worse: messages overtake one
// another, come twice, and partitions forget what they have not committed. What
// comes out must be the same every time.
type machine struct {
	*rand.Rand
	setup
	plan  *flow.Plan
	web   *web
	cells []*cell
	queue []message
	rows  map[string]*row // the crawl table
	given bool            // it is complete, and not derived here
	stale bool
	steps int
}

// A setup is one way to run a program.
type setup struct {
	parts  int
	scheme flow.Scheme
	spread int
	seed   uint64
	twice  int  // percent of messages that come twice
	crash  int  // percent of commits that are lost
	order  int  // how the next message is chosen
	keep   int  // what the state is
	crawl  bool // only what a crawl keeps up is compiled, and the rest is asked for afterwards
	lazy   bool // pages are delivered again only if the plan asks for it
	alone  int  // messages that one partition takes before there are several
	faults faults
}

func (s setup) String() string {
	return fmt.Sprintf("parts=%d scheme=%s:%d seed=%d twice=%d crash=%d order=%d keep=%d crawl=%t lazy=%t alone=%d faults=%v", s.parts, s.scheme, s.spread, s.seed, s.twice, s.crash, s.order, s.keep, s.crawl, s.lazy, s.alone, s.faults)
}

func (s setup) options() *flow.Options {
	return &flow.Options{Scheme: s.scheme, Spread: s.spread}
}

// faults are ways to break the machine on purpose.
type faults struct {
	firstWins   bool // the first depth and priority of a page are kept
	noRedeliver bool // a page whose depth improves is not delivered again
	first       bool // the first value of a min or max column is kept
	loose       bool // rows that were sent are not kept where they land
	half        bool // of a page that waits for others, only what rules look for is kept, not what they want absent
}

// States.
const (
	commits = iota // a map that is changed when a cell commits
	inMem          // flow.Mem
	atOnce         // a map that the partition writes to itself
	keepKinds
)

// Orders in which messages are taken.
const (
	anyOrder = iota
	lastFirst
	firstFirst
	pagesFirst
	tuplesFirst
	orderKinds
)

// row is a row of the crawl table.
type row struct {
	depth     int64
	priority  float64
	delivered bool
}

type kind uint8

const (
	starts kind = iota
	seeds
	pages
	crawls
	gives
	tuples
	phases
)

type message struct {
	kind  kind
	to    int
	seed  seed
	url   string
	table *query.Table
	row   flow.Row
	tuple flow.Tuple
	phase flow.Phase
}

// A cell is a partition and its state.
type cell struct {
	part  *flow.Part
	state store
	// What is not yet committed.
	taken  []message
	puts   []flow.Pair
	orders []flow.Order
	sends  []flow.Tuple
	stale  bool
}

// store is the state of a cell: a map that is sorted when it is scanned.
type store map[string][]byte

func (s store) Get(key []byte) ([]byte, bool, error) {
	v, ok := s[string(key)]
	return v, ok, nil
}

// readOnly hides that a store could be written to.
type readOnly struct{ flow.State }

// Set and Delete make it a state that is written to at once.
func (s store) Set(key, value []byte) error {
	s[string(key)] = slices.Clone(value)
	return nil
}

func (s store) Delete(key []byte) error {
	delete(s, string(key))
	return nil
}

func (s store) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	for _, k := range slices.Sorted(maps.Keys(s)) {
		if k >= string(lower) && k < string(upper) && !fn([]byte(k), s[k]) {
			break
		}
	}
	return nil
}

// newMachine returns a machine that crawls.
func newMachine(plan *flow.Plan, w *web, s setup) (*machine, error) {
	m := &machine{Rand: rand.New(rand.NewPCG(s.seed, 3)), setup: s, plan: plan, web: w, rows: map[string]*row{}}
	return m, m.start()
}

// newQuestion returns a machine that asks what another has crawled, and is given
// rows of tables that the other has kept.
func newQuestion(plan *flow.Plan, crawled *machine, kept []*query.Table) (*machine, error) {
	m := &machine{Rand: crawled.Rand, setup: crawled.setup, plan: plan, web: crawled.web, rows: crawled.rows, given: true}
	for _, u := range slices.Sorted(maps.Keys(m.rows)) {
		m.queue = append(m.queue, message{kind: pages, to: m.home(u), url: u}, message{kind: crawls, to: m.home(u), url: u})
	}
	for _, t := range kept {
		rows, err := crawled.table(t)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			r := flowRow(row)
			m.queue = append(m.queue, message{kind: gives, to: m.options().Home(t.Types[0], r[0], m.parts), table: t, row: r})
		}
	}
	return m, m.start()
}

func (m *machine) start() error {
	for i := range m.parts {
		m.cells = append(m.cells, &cell{state: store{}})
		if err := m.revive(i); err != nil {
			return err
		}
		m.queue = append(m.queue, message{kind: starts, to: i})
	}
	for _, s := range m.web.seeds {
		m.queue = append(m.queue, message{kind: seeds, to: m.home(s.url), seed: s})
	}
	return nil
}

func (m *machine) home(u string) int {
	return m.options().Home(query.URL, query.Value{S: u}, m.parts)
}

// revive makes a partition anew from what it has committed.
func (m *machine) revive(i int) error {
	c := m.cells[i]
	m.queue = append(m.queue, c.taken...)
	state := []flow.State{commits: readOnly{c.state}, inMem: flow.NewMem(), atOnce: c.state}[m.keep]
	m.plan.Break(m.faults.first, m.faults.loose, m.faults.half)
	part, err := flow.NewPart(m.plan, state, i, m.parts)
	if err != nil {
		return err
	}
	part.Now(now)
	m.cells[i] = &cell{part: part, state: c.state}
	return nil
}

// run delivers messages until there are none, and nobody wants pages again.
func (m *machine) run() error {
	var out flow.Out
	for {
		for len(m.queue) > 0 {
			if m.steps++; m.steps > 200_000 {
				return fmt.Errorf("no end after %d messages", m.steps)
			}
			msg := m.next()
			out.Reset()
			if err := m.deliver(msg, &out); err != nil {
				return err
			}
			c := m.cells[msg.to]
			c.take(msg, &out)
			switch {
			case m.keep != commits || m.IntN(3) == 0:
				m.commit(msg.to)
			case m.IntN(100) < m.crash:
				if err := m.revive(msg.to); err != nil {
					return err
				}
			}
			if m.IntN(100) < m.twice && msg.kind != phases {
				m.queue = append(m.queue, msg)
			}
		}
		for i := range m.cells {
			m.commit(i)
		}
		if len(m.queue) > 0 {
			continue
		}
		if !m.stale {
			return nil
		}
		m.stale = false
		for _, u := range slices.Sorted(maps.Keys(m.rows)) {
			m.queue = append(m.queue, message{kind: pages, to: m.home(u), url: u})
		}
	}
}

// finish works out the final levels: each phase begins when all is quiet. What
// they derive is not kept for longer, so no partition may crash.
func (m *machine) finish() error {
	m.crash = 0
	if m.IntN(3) == 0 {
		var parts []*flow.Part
		for _, c := range m.cells {
			parts = append(parts, c.part)
		}
		return flow.Finish(parts)
	}
	for ph := range m.plan.Phases() {
		for i := range m.cells {
			m.queue = append(m.queue, message{kind: phases, to: i, phase: ph})
		}
		if err := m.run(); err != nil {
			return fmt.Errorf("level %d: %w", ph.Level, err)
		}
	}
	return nil
}

// next takes a message out of the queue.
func (m *machine) next() message {
	i := m.IntN(len(m.queue))
	prefer := func(k func(kind) bool) {
		for n := range m.queue {
			if j := (i + n) % len(m.queue); k(m.queue[j].kind) {
				i = j
				return
			}
		}
	}
	switch m.order {
	case lastFirst:
		i = len(m.queue) - 1
	case firstFirst:
		i = 0
	case pagesFirst:
		prefer(func(k kind) bool { return k == pages })
	case tuplesFirst:
		prefer(func(k kind) bool { return k != pages })
	}
	msg := m.queue[i]
	m.queue = slices.Delete(m.queue, i, i+1)
	return msg
}

func (m *machine) deliver(msg message, out *flow.Out) error {
	p := m.cells[msg.to].part
	switch msg.kind {
	case starts:
		return p.Start(out)
	case seeds:
		return p.Seed(url(msg.seed.url), msg.seed.score, out)
	case pages:
		m.rows[msg.url].delivered = true
		return p.Page(m.page(msg.url), out)
	case crawls:
		r := m.rows[msg.url]
		return p.Crawled(msg.url, r.depth, r.priority, out)
	case gives:
		return p.Give(msg.table, msg.row, out)
	case phases:
		return p.Enter(msg.phase, out)
	}
	return p.Tuple(msg.tuple, out)
}

// take notes what followed from a message. The Out is used again, so its parts
// are copied.
func (c *cell) take(msg message, out *flow.Out) {
	c.taken = append(c.taken, msg)
	for _, p := range out.Put {
		c.puts = append(c.puts, flow.Pair{Key: slices.Clone(p.Key), Value: slices.Clone(p.Value), Gone: p.Gone})
	}
	for _, o := range out.Crawl {
		o.URL = url(strings.Clone(o.URL.String()))
		o.Link = nil
		c.orders = append(c.orders, o)
	}
	for _, t := range out.Send {
		t.Row = slices.Clone(t.Row)
		c.sends = append(c.sends, t)
	}
	c.stale = c.stale || out.Stale
}

// commit makes everything that a cell has noted last.
func (m *machine) commit(i int) {
	c := m.cells[i]
	for _, p := range c.puts {
		if p.Gone {
			delete(c.state, string(p.Key))
		} else {
			c.state[string(p.Key)] = p.Value
		}
	}
	for _, t := range c.sends {
		m.queue = append(m.queue, message{kind: tuples, to: t.To, tuple: t})
	}
	for _, o := range c.orders {
		m.obey(o)
	}
	m.stale = m.stale || c.stale
	c.taken, c.puts, c.orders, c.sends, c.stale = nil, nil, nil, nil, false
	c.part.Committed()
}

// obey keeps the crawl table: one row a page, the least depth, the greatest
// priority.
func (m *machine) obey(o flow.Order) {
	if m.given {
		return
	}
	u := o.URL.String()
	r := m.rows[u]
	known := r != nil
	better := false
	if !known {
		r = &row{depth: o.Depth, priority: o.Priority}
		m.rows[u] = r
		better = true
		m.queue = append(m.queue, message{kind: pages, to: m.home(u), url: u})
	}
	if known && !m.faults.firstWins {
		nearer, dearer := o.Depth < r.depth, o.Priority > r.priority
		better = nearer || dearer
		r.depth, r.priority = min(r.depth, o.Depth), max(r.priority, o.Priority)
		again := better
		if m.lazy {
			again = nearer && m.plan.TestsDepth || dearer && m.plan.TestsPriority
		}
		if again && r.delivered && !m.faults.noRedeliver {
			m.queue = append(m.queue, message{kind: pages, to: m.home(u), url: u})
		}
	}
	if better && m.plan.KeepsCrawl {
		m.queue = append(m.queue, message{kind: crawls, to: m.home(u), url: u})
	}
}

// blurred returns rows of crawl without the columns that nothing hangs on: pages
// are not delivered again for them.
func (m *machine) blurred(rows [][]any) [][]any {
	exact := []bool{true, m.plan.TestsDepth || !m.lazy, m.plan.TestsPriority || !m.lazy}
	var all [][]any
	for _, row := range rows {
		row = slices.Clone(row)
		for i := range row {
			if !exact[i] {
				row[i] = int64(0)
			}
		}
		all = append(all, row)
	}
	return all
}

// page returns a page's facts as they are delivered now.
func (m *machine) page(u string) *page.Facts {
	r, f := m.rows[u], *m.web.visit(u)
	f.Depth, f.Score = uint16(max(r.depth, 0)), float32(r.priority)
	return &f
}

// table returns the rows of a derived table.
func (m *machine) table(t *query.Table) ([][]any, error) {
	var rows [][]any
	if t.Name == "crawl" {
		for _, u := range slices.Sorted(maps.Keys(m.rows)) {
			r := m.rows[u]
			rows = append(rows, []any{u, r.depth, r.priority}[:t.Arity()])
		}
		return rows, nil
	}
	for _, c := range m.cells {
		err := c.part.Rows(t, func(r flow.Row) bool {
			rows = append(rows, anyRow(t, r))
			return true
		})
		if err != nil {
			return nil, fmt.Errorf("rows of %s: %w", t.Name, err)
		}
	}
	return rows, nil
}

func anyRow(t *query.Table, r flow.Row) []any {
	var row []any
	for i, v := range r {
		switch {
		case t.Types[i].Textual():
			row = append(row, strings.Clone(v.S))
		case t.Types[i] == query.Float:
			row = append(row, v.Float())
		default:
			row = append(row, v.N)
		}
	}
	return row
}
