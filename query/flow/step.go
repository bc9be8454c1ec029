package flow

import (
	"weir/query"
)

// late says when a stage runs that looks at tables of its own rounds in a way
// that growth may take back: by negation, or by the value of a min or max
// column. It waits until the round that it looks at is complete as far as it
// matters: until its head's turn.
type late struct {
	slot  int   // the variable that counts the rounds
	ahead int64 // 1 if its head is of the next round
	turn  int
}

// postpone makes a stage of a stepped table late if need be.
func (p *Plan) postpone(s *Stage) {
	if !p.retracts(s) {
		return
	}
	r := s.Rule
	s.late = &late{turn: r.Head.Turn, ahead: 1}
	for _, l := range r.Body {
		if l.Atom == nil {
			continue
		}
		if t := p.Program.Table(l.Atom.Table); abreast(t, r.Head) {
			s.late.slot = r.slot(l.Atom.Args[t.Step])
		}
	}
	if t := r.Rule.Head.Args[r.Head.Step]; t.Op == query.Var && r.slot(t) == s.late.slot {
		s.late.ahead = 0
	}
}

// retracts says that what a stage finds may be taken back when tables of its own
// rounds grow.
func (p *Plan) retracts(s *Stage) bool {
	head := s.Rule.Head
	for _, in := range s.Absent {
		if in.From != nil {
			in = in.From.Inputs[0]
		}
		if abreast(in.Table, head) {
			return true
		}
	}
	for _, in := range s.Inputs {
		if in.Table == nil || !abreast(in.Table, head) {
			continue
		}
		for i, l := range in.Table.Lattice {
			if l != query.Each && (in.Columns[i].Slot >= 0 || in.Columns[i].Const != nil) {
				return true
			}
		}
	}
	return false
}

// abreast says that two stepped tables go through their rounds together.
func abreast(a, b *query.Table) bool {
	return a.Step >= 0 && b.Step >= 0 && a.Level == b.Level
}

// gate lets a stage's solutions pass at the right time only. Those that come too
// early are found again when it is time.
func (l *late) gate(next op) op {
	return func(x *Part, e *env) {
		if e.v[l.slot].N+l.ahead == int64(x.phase.Round) && x.phase.Turn >= l.turn {
			next(x, e)
		}
	}
}
