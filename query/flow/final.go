package flow

import (
	"fmt"
	"iter"
	"slices"

	"weir/query"
)

// Phase is a step of the work of final levels. It begins on every partition when
// the one before is quiet: on none is anything left to do, and nothing is on its
// way.
type Phase struct {
	Level int
	Work  Work
	Round int // of stepped tables; -1 for others
	Turn  int // in a round
}

// Work is what a phase begins with.
type Work uint8

// Kinds of work.
const (
	RunRules   Work = iota // rules of the level run over the rows below it
	SendBest               // each partition's best go to where they are ranked
	FoldGroups             // aggregates of the level are worked out
)

// Phases returns the phases of a plan in their order.
func (p *Plan) Phases() iter.Seq[Phase] {
	return func(yield func(Phase) bool) {
		for level := 1; level <= p.Program.Levels; level++ {
			if !yield(Phase{Level: level, Round: -1}) || !p.foldings(Phase{Level: level, Round: -1}, yield) {
				return
			}
			rounds, turns := p.rounds(level)
			for round := range rounds {
				for turn := range turns {
					if !p.foldings(Phase{Level: level, Round: round, Turn: turn}, yield) {
						return
					}
				}
			}
		}
	}
}

// foldings yields the phases that work out what a phase has aggregates of.
func (p *Plan) foldings(ph Phase, yield func(Phase) bool) bool {
	any, best := false, false
	for _, r := range p.Rules {
		if ph.folds(r) {
			any, best = true, best || r.Pools[0].Fold == Top
		}
	}
	for _, s := range p.Stages {
		any = any || ph.awaits(s)
	}
	if ph.Work = SendBest; best && !yield(ph) {
		return false
	}
	ph.Work = FoldGroups
	return !any || yield(ph)
}

// rounds returns how many rounds the stepped tables of a level go through, and
// how many turns there are in a round.
func (p *Plan) rounds(level int) (rounds, turns int) {
	for _, t := range p.Program.Tables {
		if t.Level == level && t.Step >= 0 {
			rounds, turns = max(rounds, t.Rounds+1), max(turns, t.Turn+1)
		}
	}
	return rounds, turns
}

// folds says that aggregates of a rule are worked out in the phase.
func (ph Phase) folds(r *Rule) bool {
	return r.Class == query.Final && len(r.Pools) > 0 && ph.has(r.Head)
}

// awaits says that a stage has waited for the phase: it looks at what a stepped
// table has not, or at values that are final only then.
func (ph Phase) awaits(s *Stage) bool { return s.late != nil && ph.has(s.Rule.Head) }

func (ph Phase) has(t *query.Table) bool {
	return t.Level == ph.Level && (t.Step >= 0) == (ph.Round >= 0) && (ph.Round < 0 || t.Turn == ph.Turn)
}

// Enter begins a phase. What is sent goes on as ever, by Tuple.
func (x *Part) Enter(ph Phase, out *Out) error {
	x.begin(out)
	x.level, x.phase = ph.Level, ph
	for _, s := range x.plan.Stages {
		if ph.Work == RunRules && s.Level == ph.Level || ph.Work == FoldGroups && ph.awaits(s) {
			x.replay(s)
		}
	}
	for _, r := range x.plan.Rules {
		switch {
		case !ph.folds(r):
		case ph.Work == SendBest && r.Pools[0].Fold == Top:
			x.sendBest(r, ph.prefix(r))
		case ph.Work == FoldGroups:
			x.fold(r, ph.prefix(r), x.pool)
			for _, p := range r.Pools {
				if ph.Round >= 0 {
					x.db.drop(p.Store.Paths[0], ph.prefix(r)) // nobody asks for it again
				}
			}
		}
	}
	return x.end()
}

// prefix is what rows of a rule's pools begin with that are worked out in the
// phase.
func (ph Phase) prefix(r *Rule) []byte {
	if ph.Round < 0 {
		return nil
	}
	return appendValue(nil, query.Int, number(int64(ph.Round)))
}

// pool walks over the rows of a pool that live here.
func (x *Part) pool(p *Pool, prefix []byte, fn func(row string)) {
	x.db.sorted(p.Store.Paths[0], prefix, func(row, _ string) bool {
		fn(row)
		x.rest()
		return !x.broken()
	})
}

// sendBest sends the best of every group to its home, where all of them are
// ranked. Until then they stay where they were found.
func (x *Part) sendBest(r *Rule, prefix []byte) {
	p := r.Pools[0]
	if x.of == 1 {
		return
	}
	f, group := p.folding(), []byte(nil)
	send := func() {
		to := p.place(string(group), x)
		for _, e := range f.best.sorted() {
			if to == x.id {
				break
			}
			x.key = append(x.key[:0], group...)
			for i, v := range []query.Value{p.Term.Args[0].Value, e.score, e.what} {
				x.key = appendValue(x.key, p.Types[len(p.Group)+i], v)
			}
			x.val = x.val[:0]
			x.deliver(p.Store, to)
		}
		f.reset()
	}
	x.pool(p, prefix, func(row string) {
		n := p.cut(row)
		if group == nil || row[:n] != string(group) {
			if group != nil {
				send()
			}
			group = append([]byte{}, row[:n]...)
		}
		f.add(row[n:])
	})
	if group != nil {
		send()
	}
}

// rest ends what hangs on one row, when many are walked over in one delivery.
func (x *Part) rest() {
	x.drain()
	if x.text.size > mostChunk {
		x.text.reset()
	}
}

// Finish works out the final levels of all partitions of a plan. All that was
// sent must have arrived.
func Finish(parts []*Part) error {
	if len(parts) == 0 {
		return nil
	}
	var out Out
	for ph := range parts[0].plan.Phases() {
		for _, x := range parts {
			if err := x.Enter(ph, &out); err != nil {
				return fmt.Errorf("work out level %d: %w", ph.Level, err)
			}
		}
		for len(out.Send) > 0 {
			sent := slices.Clone(out.Send)
			out.Reset()
			for _, t := range sent {
				if err := parts[t.To].Tuple(t, &out); err != nil {
					return fmt.Errorf("work out level %d: %w", ph.Level, err)
				}
			}
		}
		out.Reset()
	}
	return nil
}
