package query

import "slices"

// MaxRounds bounds the rounds of stepped tables.
const MaxRounds = 10_000

// step finds out whether a group of tables counts its rounds, and if so gives
// them their step columns. PageRank is such a group:
//
//	rank(U, 0, 1.0)      :- fetched(U, 200).
//	give(V, I, U, X)     :- rank(U, I, R), outdeg(U, N), link(U, V), X = 0.85*R/N, I < 20.
//	rank(V, I+1, sum<X>) :- give(V, I, U, X).
//
// Every table has a column, the step, that is the same variable I in all atoms of
// the group in a body, and I or I+1 in the head; where the group begins it is a
// constant. Then round I is worked out when round I-1 is complete, and within a
// round no final edge may lie on a cycle. It returns what is amiss, or "".
func (c *checker) step(g int, edges []*edge) string {
	const advice = "recursion through it must count rounds in a column that is I in the body and I+1 in the head, with I < 20 for twenty rounds"
	if crawl := c.byName["crawl"]; crawl != nil && c.group[crawl.ID] == g {
		return hintFinal
	}
	s := stepper{checker: c, group: g, rules: map[*Table][]*clause{}}
	c.sound(func(r *clause) {
		if c.group[r.head.ID] != g {
			return
		}
		s.all = append(s.all, r)
		s.rules[r.head] = append(s.rules[r.head], r)
		for i, t := range r.reads {
			if t != nil && t != r.head && c.group[t.ID] == g && slices.Index(r.reads, t) == i {
				s.rules[t] = append(s.rules[t], r)
			}
		}
	})
	start := edges[0].from
	for col, typ := range start.Types {
		if typ == Int && start.Lattice[col] == Each && s.try(start, col) {
			return s.settle()
		}
	}
	return advice
}

// stepper looks for the step columns of a group.
type stepper struct {
	*checker
	group int
	all   []*clause
	rules map[*Table][]*clause // that a table of the group stands in
	step  map[*Table]int       // found so far
	adv   map[*clause]bool     // rules that go to the next round
	turns [][]*Table
}

// try looks what follows if the step of a table is that column.
func (s *stepper) try(start *Table, col int) bool {
	s.step, s.adv = map[*Table]int{start: col}, map[*clause]bool{}
	queue := []*Table{start}
	for len(queue) > 0 {
		for _, r := range s.rules[queue[0]] {
			found, ok := s.follow(r)
			if !ok {
				return false
			}
			queue = append(queue, found...)
		}
		queue = queue[1:]
	}
	return s.sound()
}

// follow gives the tables of a rule their steps, and says whether they can have
// any.
func (s *stepper) follow(r *clause) (found []*Table, ok bool) {
	count := s.counter(r)
	if count < 0 {
		return nil, s.begins(r)
	}
	for i, t := range r.reads {
		if t == nil || s.checker.group[t.ID] != s.group {
			continue
		}
		args := r.Body[i].Atom.Args
		is := func(a *Term) bool { return a.Op == Var && r.vars[a.Name] == count }
		col, known := s.step[t]
		if !known {
			col = slices.IndexFunc(args, is)
			if col < 0 || t.Types[col] != Int || t.Lattice[col] != Each {
				return nil, false
			}
			s.step[t] = col
			found = append(found, t)
		}
		if !is(args[col]) {
			return nil, false
		}
	}
	col, known := s.step[r.head]
	if !known {
		col = slices.IndexFunc(r.Head.Args, func(a *Term) bool { _, ok := r.advance(a, count); return ok })
		if col < 0 || r.head.Types[col] != Int || r.head.Lattice[col] != Each {
			return nil, false
		}
		s.step[r.head] = col
		found = append(found, r.head)
	}
	if col >= len(r.Head.Args) { // a column of top<>
		return nil, false
	}
	s.adv[r], ok = r.advance(r.Head.Args[col], count)
	return found, ok
}

// counter is the variable that counts the rounds in a rule, as far as the steps
// that are known tell; -1 if the rule reads nothing of its group.
func (s *stepper) counter(r *clause) int {
	reads := false
	for i, t := range r.reads {
		if t == nil || s.checker.group[t.ID] != s.group {
			continue
		}
		reads = true
		if col, ok := s.step[t]; ok {
			if a := r.Body[i].Atom.Args[col]; a.Op == Var {
				return r.vars[a.Name]
			}
		}
	}
	if col, ok := s.step[r.head]; ok && reads {
		if bases := r.bases(r.Head.Args[col]); len(bases) == 1 {
			return bases[0]
		}
	}
	return -1
}

// begins says that a rule reads nothing of its group, and begins with a constant
// round.
func (s *stepper) begins(r *clause) bool {
	for _, t := range r.reads {
		if t != nil && s.checker.group[t.ID] == s.group {
			return false
		}
	}
	_, ok := r.first(s.step[r.head])
	return ok
}

// first is the round that a rule begins with, if it is a constant.
func (r *clause) first(col int) (round float64, ok bool) {
	low, high := r.bounds(r.Head.Args[col])
	return low, low == high && low >= 0 && low <= MaxRounds
}

// advance says that a term is the variable plus one, and whether it is that or
// the variable itself.
func (r *clause) advance(t *Term, v int) (next, ok bool) {
	if t.Op == Var {
		b := r.binding(t)
		if b.def != nil {
			return r.advance(b.def, v)
		}
		return false, r.vars[t.Name] == v
	}
	if t.Op != Add {
		return false, false
	}
	a, one := t.Args[0], t.Args[1]
	if a.Op == Const {
		a, one = one, a
	}
	n, isConst := constant(one)
	next, ok = r.advance(a, v)
	return true, ok && !next && isConst && n == 1
}

// sound says that within a round no final edge lies on a cycle. It finds in which
// order tables are worked out.
func (s *stepper) sound() bool {
	to := make([][]int, len(s.tables))
	for _, r := range s.all {
		for _, t := range r.reads {
			if t != nil && !s.adv[r] && s.checker.group[t.ID] == s.group {
				to[r.head.ID] = append(to[r.head.ID], t.ID)
			}
		}
	}
	part := make([]int, len(s.tables))
	s.turns = nil
	for _, members := range components(to) {
		if s.checker.group[members[0]] != s.group {
			continue
		}
		var turn []*Table
		for _, m := range members {
			part[m] = len(s.turns)
			turn = append(turn, s.tables[m])
		}
		s.turns = append(s.turns, turn)
	}
	for _, t := range s.groups[s.group] {
		for _, e := range s.out[t.ID] {
			if e.final() && s.checker.group[e.to.ID] == s.group && !s.adv[e.rule] && part[e.from.ID] == part[e.to.ID] {
				return false
			}
		}
	}
	return true
}

// settle writes the steps into the tables, with how many rounds there can be. It
// returns what is amiss, or "".
func (s *stepper) settle() string {
	// Rules with a bound cannot go beyond it; the others add at most one to what
	// they read. Whether every cycle has a bound is for terminate to find out.
	last := make([]float64, len(s.tables))
	var open []*clause
	for _, r := range s.all {
		col := s.step[r.head]
		if _, high := r.bounds(r.Head.Args[col]); !isInf(high) {
			last[r.head.ID] = max(last[r.head.ID], high)
		} else {
			open = append(open, r)
		}
	}
	for range s.groups[s.group] {
		changed := false
		for _, r := range open {
			high := 0.0
			for _, t := range r.reads {
				if t != nil && s.checker.group[t.ID] == s.group {
					high = max(high, last[t.ID])
				}
			}
			if s.adv[r] {
				high++
			}
			if high > last[r.head.ID] {
				last[r.head.ID], changed = high, true
			}
		}
		if !changed {
			break
		}
	}
	rounds := 0.0
	for _, t := range s.groups[s.group] {
		rounds = max(rounds, last[t.ID])
	}
	if rounds > MaxRounds {
		return "there may be at most 10,000 rounds"
	}
	for turn, tables := range s.turns {
		for _, t := range tables {
			t.Step, t.Turn, t.Rounds = s.step[t], turn, int(rounds)
		}
	}
	for _, r := range s.all {
		r.advances = s.adv[r]
	}
	return ""
}
