package flow_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"

	"weir/query"
	"weir/query/flow"
)

// A fleet runs a plan on nodes among which partitions move: each has a Part that
// owns now these and then others, and reads their logs.
type fleet struct {
	*machine
	logs  [][]flow.Tuple // by partition, then what goes everywhere
	owner []int          // by partition
	nodes []*sailor
}

type sailor struct {
	read  []int // how far, by log
	held  map[string]bool
	stale bool
}

const fleetNodes = 3

// share has a fleet work the program out, as far as a crawl does, and returns how
// many rows it found and where they are not what the program means.
func (m *meaning) share(s setup) (rows int, diff string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	plan, err := m.plan(flow.Options{Scheme: s.scheme, Spread: s.spread, Crawl: true, IgnoreRobots: m.trial.web.bold})
	if err != nil {
		return 0, "", err
	}
	f := &fleet{
		machine: &machine{Rand: rand.New(rand.NewPCG(s.seed, 5)), setup: s, plan: plan, web: m.trial.web, rows: map[string]*row{}},
		logs:    make([][]flow.Tuple, s.parts+1), owner: make([]int, s.parts),
	}
	if err := f.sail(); err != nil {
		return 0, "", err
	}
	var kept, orders []*query.Table
	for _, t := range m.derived() {
		switch {
		case t.Name != "crawl" && !slices.ContainsFunc(plan.Rules, func(r *flow.Rule) bool { return r.Head == t }):
		case t.Name == "stop" || t.Name == "wait":
			orders = append(orders, t)
		default:
			kept = append(kept, t)
		}
	}
	rows, diff, err = m.compare(f.machine, kept)
	for _, c := range f.cells { // all know of these
		if diff == "" && err == nil {
			one := *f.machine
			one.cells = []*cell{c}
			_, diff, err = m.compare(&one, orders)
		}
	}
	return rows, diff, err
}

// embark begins with one Part, which takes so many messages, and brings the fleet
// what it has kept. The first node has its pages, and reads them again at the end if
// there are small tables: which of them those have turned away nobody else knows.
func (f *fleet) embark(messages int) error {
	s := f.setup
	s.parts = 1
	one, err := newMachine(f.plan, f.web, s)
	if err != nil {
		return err
	}
	var out flow.Out
	for ; messages > 0 && len(one.queue) > 0; messages-- {
		msg := one.next()
		out.Reset()
		if err := one.deliver(msg, &out); err != nil {
			return err
		}
		one.cells[0].take(msg, &out)
		one.commit(0)
	}
	err = one.cells[0].part.Ship(f.parts, func(t flow.Tuple) bool {
		to := t.To
		if to == flow.Everywhere {
			to = f.parts
		}
		f.logs[to] = append(f.logs[to], t)
		return true
	})
	f.rows = one.rows
	f.nodes[0].stale = slices.ContainsFunc(f.plan.Program.Tables, func(t *query.Table) bool { return t.Small })
	for _, u := range slices.Sorted(maps.Keys(f.rows)) {
		f.nodes[0].held[u] = f.rows[u].delivered
		if f.plan.KeepsCrawl && err == nil {
			err = f.do(0, message{kind: crawls, url: u})
		}
	}
	for _, msg := range one.queue {
		if msg.kind == pages {
			msg.to = f.home(msg.url)
			f.queue = append(f.queue, msg)
		}
	}
	return err
}

func (f *fleet) sail() error {
	for i := range fleetNodes {
		f.cells = append(f.cells, &cell{state: store{}})
		f.nodes = append(f.nodes, &sailor{read: make([]int, f.parts+1), held: map[string]bool{}})
		if err := f.launch(i); err != nil {
			return err
		}
	}
	if f.alone > 0 {
		if err := f.embark(f.alone); err != nil {
			return err
		}
	}
	for i := range fleetNodes {
		if err := f.do(i, message{kind: starts}); err != nil {
			return err
		}
		for _, s := range f.web.seeds {
			if err := f.do(i, message{kind: seeds, seed: s}); err != nil {
				return err
			}
		}
	}
	for moves := 20; ; moves-- {
		var err error
		switch i := f.IntN(fleetNodes); {
		case moves > 0 && f.IntN(4) == 0:
			err = f.move(f.IntN(f.parts), i)
		case moves > 0 && f.IntN(8) == 0:
			err = f.launch(i)
		default:
			var some bool
			if some, err = f.work(); !some && err == nil && moves <= 0 {
				return nil
			}
		}
		if f.steps++; f.steps > 100_000 {
			err = fmt.Errorf("no end after %d steps", f.steps)
		}
		if err != nil {
			return err
		}
	}
}

// launch starts a node anew, with what it has kept.
func (f *fleet) launch(i int) error {
	if err := f.revive(i); err != nil {
		return err
	}
	f.cells[i].part.Share(f.parts, func(part int) bool { return f.owner[part] == i })
	return nil
}

// do gives a node a message, and the others what it sends.
func (f *fleet) do(i int, msg message) error {
	var out flow.Out
	msg.to = i
	if err := f.deliver(msg, &out); err != nil {
		return err
	}
	f.cells[i].take(msg, &out)
	for _, t := range f.cells[i].sends {
		to := t.To
		if to == flow.Everywhere {
			to = f.parts
		}
		f.logs[to] = append(f.logs[to], t)
	}
	f.nodes[i].stale = f.nodes[i].stale || out.Stale
	f.cells[i].sends = nil
	f.commit(i)
	return nil
}

// move gives a partition to another node, which reads its log first.
func (f *fleet) move(part, to int) error {
	for f.nodes[to].read[part] < len(f.logs[part]) {
		if err := f.next(to, part); err != nil {
			return err
		}
	}
	for _, u := range slices.Sorted(maps.Keys(f.rows)) {
		if f.home(u) == part && f.plan.KeepsCrawl {
			if err := f.do(to, message{kind: crawls, url: u}); err != nil {
				return err
			}
		}
	}
	f.owner[part] = to
	return nil
}

// next has a node read the next row of a log.
func (f *fleet) next(i, log int) error {
	at := &f.nodes[i].read[log]
	t := f.logs[log][*at]
	*at++
	return f.do(i, message{kind: tuples, tuple: t})
}

// work does something that is to be done, if anything is.
func (f *fleet) work() (bool, error) {
	var todo []func() error
	for n := range f.queue {
		todo = append(todo, func() error {
			msg := f.queue[n]
			f.queue = slices.Delete(f.queue, n, n+1)
			i := f.owner[msg.to]
			f.nodes[i].held[msg.url] = true
			return f.do(i, msg)
		})
	}
	for i, n := range f.nodes {
		for log, at := range n.read {
			if at < len(f.logs[log]) && (log == f.parts || f.owner[log] == i) {
				todo = append(todo, func() error { return f.next(i, log) })
			}
		}
	}
	if len(todo) > 0 {
		return true, todo[f.IntN(len(todo))]()
	}
	for i, n := range f.nodes {
		if !n.stale {
			continue
		}
		n.stale = false
		for _, u := range slices.Sorted(maps.Keys(n.held)) {
			if !n.held[u] {
				continue
			}
			if err := f.do(i, message{kind: pages, url: u}); err != nil {
				return true, err
			}
		}
		return true, nil
	}
	return false, nil
}

// TestOracleShared: programs mean the same on nodes that share partitions, whichever
// of them owns which when, and if one alone has begun.
func TestOracleShared(t *testing.T) {
	var runs, rows, failed atomic.Int64
	each(*programs, func(x trial) {
		m, err := x.check()
		if err != nil || failed.Load() > 3 {
			return
		}
		r := rand.New(rand.NewPCG(x.seed, 6))
		for _, scheme := range []flow.Scheme{flow.ByURL, flow.ByHost, flow.ByHostN} {
			s := setup{parts: 5, scheme: scheme, spread: 2, seed: r.Uint64(), crawl: true, alone: r.IntN(2) * r.IntN(40)}
			n, diff, err := m.share(s)
			runs.Add(1)
			rows.Add(int64(n))
			if diff != "" || err != nil {
				failed.Add(1)
				t.Errorf("%v: %v\n%s\n%s", s, err, diff, x)
				return
			}
		}
	})
	t.Logf("%d runs with %d rows", runs.Load(), rows.Load())
}
