package query

import "slices"

// Load parses a program and checks it. Clauses that could not be read do not
// hide the faults of others: of what has nothing to do with them it tells what
// Check says, too. Given is as for [Check]. The program is never nil; Checked is
// when there is an error.
func Load(name, text string, given []string, settings ...Setting) (*Program, *Checked, []Diag) {
	p, diags := Parse(name, text, settings...)
	if !Failed(diags) {
		c, diags := Check(p, given...)
		return p, c, diags
	}
	if p.vague {
		return p, nil, diags
	}
	known := p.known()
	_, more := Check(p, given...)
	for _, d := range more {
		i, found := slices.BinarySearchFunc(known, d.Pos, func(k clauseStart, at Pos) int { return k.compare(at) })
		if !found {
			i--
		}
		if !d.Warning && i >= 0 && known[i].whole {
			diags = append(diags, d)
		}
	}
	return p, nil, Tidy(diags)
}

// clauseStart is where a clause begins, and whether all tables that it reads or
// fills are known.
type clauseStart struct {
	Pos
	whole bool
}

// known returns the clauses that were read, in order. One is not whole if a
// clause that was lost was about one of its tables, or about one that these are
// derived from.
func (p *Program) known() []clauseStart {
	tainted := make(map[string]bool, len(p.lost))
	for _, table := range p.lost {
		tainted[table] = true
	}
	readsTainted := func(l *Literal) bool { return l.Atom != nil && tainted[l.Atom.Table] }
	for again := true; again; {
		again = false
		for _, r := range p.Rules {
			if !tainted[r.Head.Table] && slices.ContainsFunc(r.Body, readsTainted) {
				tainted[r.Head.Table], again = true, true
			}
		}
	}
	var starts []clauseStart
	for _, r := range p.Rules {
		starts = append(starts, clauseStart{r.Pos, !tainted[r.Head.Table]})
	}
	for _, in := range p.Inputs {
		starts = append(starts, clauseStart{in.Pos, true})
	}
	for _, m := range slices.Concat(p.Lives, p.Smalls) {
		starts = append(starts, clauseStart{m.Pos, !tainted[m.Table]})
	}
	slices.SortFunc(starts, func(a, b clauseStart) int { return a.compare(b.Pos) })
	return starts
}
