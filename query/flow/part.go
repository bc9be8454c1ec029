package flow

import (
	"encoding/binary"
	"fmt"

	"weir/page"
	"weir/query"
)

// Part is one partition of a running program. It is not safe for concurrent use.
// After an error it is of no use any more: what was delivered may be known in
// part.
type Part struct {
	plan   *Plan
	id, of int
	db     keeper
	mem    *Mem                // db, if it is one
	over   *overlay            // db, if the state is only to be read
	desk   *desk               // db, if the state is another Writer
	envs   []env               // by rule
	halls  []*hall             // of small tables, by store
	keeps  []*Store            // of page facts
	memos  []memo              // of lookups in halls
	picked []int32             // links of the page that passed the sieves so far
	drops  []int64             // by rule
	owns   func(part int) bool // the partitions of a shared Part; nil: it has one
	level  int                 // stages above it wait
	phase  Phase               // of final levels
	batch  batch
	queue  []event
	head   int // of queue

	// Of the delivery that goes on.
	out   *Out
	facts *page.Facts
	found int   // where what is found on the page lives; -1: what comes is not found on a page
	given bool  // all nodes work this out
	told  bool  // it has come from all partitions
	text  arena // rows in queue

	key, val, buf, old []byte
	row                Row
	sealing            [][]string // rows of sealed pools that the page has given so far
}

// event is a new row whose readers have not been told yet.
type event struct {
	store *Store
	key   halves
	value string
	given bool
}

// NewPart returns partition id, of so many, with what its state has kept.
func NewPart(p *Plan, s State, id, of int) (*Part, error) {
	if id < 0 || id >= of {
		return nil, fmt.Errorf("there is no partition %d of %d", id, of)
	}
	x := &Part{plan: p, id: id, of: of, found: -1, envs: make([]env, len(p.Rules)), halls: make([]*hall, len(p.Stores)), memos: make([]memo, p.memos), drops: make([]int64, len(p.Rules)), sealing: make([][]string, p.seals)}
	for i, r := range p.Rules {
		x.envs[i].v = make([]query.Value, len(r.Vars))
	}
	switch s := s.(type) {
	case *Mem:
		x.db, x.mem = s, s
	case Writer:
		x.desk = &desk{state: s}
		x.db = x.desk
	default:
		x.over = &overlay{state: s}
		x.db = x.over
	}
	for _, st := range p.Stores {
		if st.keep != nil {
			x.keeps = append(x.keeps, st)
		}
		if !st.Small {
			continue
		}
		h := st.hall.empty()
		x.halls[st.ID] = h
		x.db.scan(st.Paths[0], nil, func(key, value string) bool {
			h.put(st.row(key, value))
			return true
		})
		// What was turned away before is not known any more, only that something was.
		_, h.turned.full = x.db.get(p.turned, st.mark())
	}
	return x, x.failed()
}

// Start works out what follows from inputs and from rules without a body, and
// tells again how long hosts are to rest.
func (x *Part) Start(out *Out) error {
	x.begin(out)
	if t := x.plan.Program.Table("wait"); t != nil && x.plan.tables[t.ID] != nil {
		st := x.plan.tables[t.ID]
		x.db.scan(st.Paths[0], nil, func(key, value string) bool {
			x.notice(st, halves{head: key}, value)
			return true
		})
	}
	if x.uses(0) {
		x.given = true
		for _, s := range x.plan.Stages {
			if !s.Flows && s.run != nil && s.Level == 0 {
				s.run(x, &x.envs[s.Rule.index])
			}
		}
	}
	return x.end()
}

// Seed takes a page that the user names.
func (x *Part) Seed(u page.URL, score float64, out *Out) error {
	x.given = true
	return x.Give(x.plan.Program.Table("seed"), Row{text(u.String()), query.FloatValue(score)}, out)
}

// Crawled takes a new or better row of crawl from whoever keeps it. The plan's
// KeepsCrawl says whether that is needed.
func (x *Part) Crawled(u string, depth int64, priority float64, out *Out) error {
	t := x.plan.Program.Table("crawl")
	row := Row{text(u), number(depth), query.FloatValue(priority)}
	return x.Give(t, row[:t.Arity()], out)
}

// Give takes a row of seed, of crawl, or of another table that is given to the
// program.
func (x *Part) Give(t *query.Table, row Row, out *Out) error {
	x.begin(out)
	if st := x.plan.tables[t.ID]; st != nil {
		x.key, x.val = st.pack(x.key[:0], x.val[:0], row)
		if st.Small {
			x.spread(st)
		} else {
			x.land(st, x.key, x.val)
		}
	}
	return x.end()
}

// Page takes the sealed facts of a page that lives here: for the first time, or
// again because its depth is better now or a small table has grown.
func (x *Part) Page(f *page.Facts, out *Out) error {
	x.begin(out)
	x.facts = f
	x.find(f)
	for _, st := range x.keeps {
		st.keep(x, &x.envs[st.picks.Stage.Rule.index])
	}
	x.drain()
	x.find(f)
	for _, s := range x.plan.Stages {
		if s.Flows {
			x.batch.on = x.mem != nil && x.of == 1
			s.run(x, &x.envs[s.Rule.index])
			x.flush()
		}
	}
	x.seal()
	err := x.end()
	x.facts = nil
	return err
}

// turn notes that pages may have been turned away by a small table, and what they
// asked for.
func (x *Part) turn(h *hall, st *Store, sum uint64) {
	if h.turned.bits == nil && !h.turned.full {
		x.db.add(x.plan.turned, st.mark(), 0, nil)
	}
	h.turned.add(sum)
}

// mark is the store's key in Plan.turned.
func (st *Store) mark() []byte { return binary.BigEndian.AppendUint32(nil, st.ID) }

// Tuple takes a row that a partition has sent.
func (x *Part) Tuple(t Tuple, out *Out) error {
	x.begin(out)
	if int64(t.Input) >= int64(len(x.plan.Stores)) {
		return fmt.Errorf("a tuple for input %d: %w", t.Input, errRow)
	}
	st := x.plan.Stores[t.Input]
	key, value, err := st.cutRow(x.text.text(t.Row))
	if err != nil {
		return fmt.Errorf("a tuple for input %d: %w", t.Input, err)
	}
	x.key, x.val = append(x.key[:0], key...), append(x.val[:0], value...)
	x.told = t.To == Everywhere
	x.land(st, x.key, x.val)
	return x.end()
}

// Now says what now() is, in seconds since 1970: the time of the snapshot that a
// question is asked of.
func (x *Part) Now(seconds int64) {
	for i := range x.envs {
		x.envs[i].now = seconds
	}
}

// Committed says that everything that was put out is in the State now.
func (x *Part) Committed() {
	if x.over != nil {
		x.over.committed()
	}
}

// Rows calls fn for the rows of a table that live here, sorted by their columns,
// until it returns false.
func (x *Part) Rows(t *query.Table, fn func(Row) bool) error {
	st := x.plan.tables[t.ID]
	if st == nil {
		return nil
	}
	x.db.sorted(st.Paths[0], nil, func(key, value string) bool {
		row := st.row(key, value)
		if (st.Small || x.owns != nil && !st.rules()) && !x.mine(x.home(st.Types[0], row[0])) {
			return true
		}
		return fn(row)
	})
	return x.failed()
}

// Find calls fn for the rows of a table that have a value in their first column,
// sorted by the others, until it returns false.
func (x *Part) Find(t *query.Table, first query.Value, fn func(Row) bool) error {
	st := x.plan.tables[t.ID]
	if st == nil {
		return nil
	}
	x.db.sorted(st.Paths[0], appendValue(nil, st.Types[0], first), func(key, value string) bool { return fn(st.row(key, value)) })
	return x.failed()
}

// Drops returns how many rows of a rule were dropped since an expression had no
// value: a division by zero, a number too large.
func (x *Part) Drops(r *Rule) int64 { return x.drops[r.index] }

// begin starts a delivery.
func (x *Part) begin(out *Out) {
	x.out = out
	if x.over != nil {
		x.over.out = out
	}
}

// end works off what a delivery has led to.
func (x *Part) end() error {
	x.drain()
	x.text.reset()
	x.out, x.given, x.told = nil, false, false
	return x.failed()
}

// failed returns the first error of the state.
func (x *Part) failed() error {
	switch {
	case x.over != nil:
		x.over.text.reset()
		return x.over.err
	case x.desk != nil:
		return x.desk.err
	case x.mem.full():
		return ErrFull
	}
	return nil
}

// broken says that there is no use in going on.
func (x *Part) broken() bool {
	switch {
	case x.over != nil:
		return x.over.err != nil
	case x.desk != nil:
		return x.desk.err != nil
	}
	return x.mem.full()
}

// sound says that expressions of a rule had values; if not, a row is dropped.
func (x *Part) sound(e *env, rule int) bool {
	if e.failed {
		e.failed = false
		x.drops[rule]++
		return false
	}
	return true
}

func (x *Part) home(t query.Type, v query.Value) int {
	return x.plan.Options.Home(t, v, x.of)
}

// deliver brings the row in key and val to a partition.
func (x *Part) deliver(st *Store, to int) {
	switch {
	case x.batch.on && len(x.val) == 0 && !st.Passes && !st.Small:
		x.batch.add(x, st, x.key)
	case x.of == 1:
		x.land(st, x.key, x.val)
	case x.owns != nil:
		x.share(st, to)
	default:
		x.send(st, to)
	}
}

// send sends the row in key and val to a partition.
func (x *Part) send(st *Store, to int) {
	row := st.appendRow(make([]byte, 0, len(x.key)+len(x.val)+2), x.key, x.val)
	x.out.Send = append(x.out.Send, Tuple{To: to, Input: st.ID, Row: row})
}

// spread brings the row in key and val to all partitions.
func (x *Part) spread(st *Store) {
	if x.owns != nil {
		x.share(st, Everywhere)
		return
	}
	for to := range x.of {
		x.deliver(st, to)
	}
}

// land takes a row into a store of this partition, and says whether it is new. What
// is has its readers told.
func (x *Part) land(st *Store, key, value []byte) bool {
	return x.landCut(st, key, st.cut(st.Paths[0], key), value)
}

// landCut is land for a key of which is known how it is cut.
func (x *Part) landCut(st *Store, key []byte, cut int, value []byte) bool {
	var kept halves
	switch {
	case st.Passes:
	case x.desk != nil && st.quiet && st.point: // whether it is new matters to nobody
		x.db.set(st.Paths[0], key, 0, nil)
		x.index(st, key, nil, true)
		return true
	default:
		path := st.Paths[0]
		k, old, found := x.db.add(path, key, cut, value)
		kept = k
		if found {
			if st.point {
				return false
			}
			var better bool
			if x.old, better = st.better(x.old[:0], old, x.text.text(value)); !better {
				return false
			}
			value = x.old
			x.db.set(path, key, cut, value)
		}
		if len(st.Paths) > 1 {
			x.index(st, key, value, found)
		}
	}
	x.tell(st, kept, key, value)
	return true
}

// tell has the readers of a store told of a new or better row, which is also in
// key and val. Its key may be kept already.
func (x *Part) tell(st *Store, kept halves, key, value []byte) {
	if x.owns != nil && st.rules() && !x.told && !x.given {
		x.send(st, Everywhere)
	}
	if st.quiet {
		return
	}
	if kept.head == "" {
		kept.head = x.text.text(key)
	}
	now := ""
	if len(value) > 0 {
		now = x.text.text(value)
	}
	x.announce(st, kept, now)
}

// announce is tell for a row of this partition only that may be kept as it is.
func (x *Part) announce(st *Store, key halves, value string) {
	x.notice(st, key, value)
	if len(st.Readers) > 0 || st.Pool != nil {
		x.queue = append(x.queue, event{store: st, key: key, value: value, given: x.given})
	}
}

// index brings a row's other paths up to date.
func (x *Part) index(st *Store, key, value []byte, found bool) {
	k := string(key)
	for _, p := range st.Paths[1:] {
		x.buf = st.arrange(x.buf[:0], p, k)
		if found {
			x.db.set(p, x.buf, st.cut(p, x.buf), value)
		} else {
			x.db.add(p, x.buf, st.cut(p, x.buf), value)
		}
	}
}

// notice acts on a new row of a table that means something to the caller, or is
// kept in memory.
func (x *Part) notice(st *Store, k halves, value string) {
	if !st.special && !st.Small {
		return
	}
	key := k.whole()
	switch {
	case st.Small:
		h, row := x.halls[st.ID], st.row(key, value)
		if h.put(row) && h.late(row) {
			x.out.Stale = true
		}
	case st.Table.Name == "stop" && x.out.Stop == "":
		x.out.Stop = st.row(key, value)[0].S
	case st.Table.Name == "wait":
		row := st.row(key, value)
		seconds := float64(row[1].N)
		if st.Types[1] == query.Float {
			seconds = row[1].Float()
		}
		x.out.Waits = append(x.out.Waits, Wait{Host: row[0].S, Seconds: seconds})
	}
}

// drain tells of new rows, first come first told, until nothing is new.
func (x *Part) drain() {
	x.found = -1
	for ; x.head < len(x.queue); x.head++ {
		if x.head > 1024 && x.head > len(x.queue)/2 {
			x.queue = append(x.queue[:0], x.queue[x.head:]...)
			x.head = 0
		}
		if x.head%1024 == 1023 && x.broken() {
			break
		}
		ev := x.queue[x.head]
		if ev.store.Pool != nil {
			x.given = false
			x.pooled(ev.store.Pool, ev.key)
		}
		for _, in := range ev.store.Readers {
			x.given = ev.given && in.alone()
			if in.Stage.Level <= x.level && (!in.home || x.here(ev)) {
				in.on(x, ev.key, ev.value)
			}
		}
	}
	x.queue, x.head = x.queue[:0], 0
}

// here says that a row of a small table, which is everywhere, lives here.
func (x *Part) here(ev event) bool {
	v, _, _ := cutValue(ev.key.head, ev.store.Types[0])
	return x.uses(x.home(ev.store.Types[0], v))
}

// replay runs a stage over all that its inputs have, when what it looks at is
// complete.
func (x *Part) replay(s *Stage) {
	if s.run != nil {
		if x.id == 0 {
			s.run(x, &x.envs[s.Rule.index])
			x.drain()
		}
		return
	}
	for _, in := range s.Inputs {
		if in.on == nil {
			continue
		}
		x.db.scan(in.Store.Paths[0], nil, func(key, value string) bool {
			if k := (halves{head: key}); !in.home || x.here(event{store: in.Store, key: k}) {
				in.on(x, k, value)
				x.rest()
			}
			return !x.broken()
		})
		return
	}
}
