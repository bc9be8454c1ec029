package flow

import (
	"fmt"
	"slices"
	"strings"

	"weir/query"
)

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
			s.Hides = p.steers(r.Head) && !p.Options.IgnoreRobots && slices.ContainsFunc(slices.Concat(s.Inputs, s.Absent), isLink)
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

// steers says that rules of a table do not see links that a crawler must not
// follow, unless robots are ignored.
func (p *Plan) steers(t *query.Table) bool {
	return t.Steers || slices.Contains(p.Options.Steers, t.Name)
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
