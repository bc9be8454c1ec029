package flow

import (
	"fmt"
	"strings"

	"weir/query"
)

// String is the plan in a compact form: for each rule its stages, in the order
// that rows pass them, then what is kept.
//
//	broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400.
//	  @U flows {link} => V
//	  @V {fetched, from @U | S >= 400} => broken
//
// @x is the home of x, => an Exchange, -> a row that stays where it is.
func (p *Plan) String() string {
	var b strings.Builder
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "%s\n", r.Rule)
		for _, s := range r.Stages {
			fmt.Fprintf(&b, "  %s\n", s.show(r))
		}
	}
	for _, st := range p.Stores {
		fmt.Fprintf(&b, "%s\n", st)
	}
	var tells []string
	for _, f := range []struct {
		name string
		on   bool
	}{{"keeps crawl", p.KeepsCrawl}, {"tests depth", p.TestsDepth}, {"tests priority", p.TestsPriority}} {
		if f.on {
			tells = append(tells, f.name)
		}
	}
	if len(tells) > 0 {
		fmt.Fprintf(&b, "%s\n", strings.Join(tells, ", "))
	}
	return b.String()
}

func (s *Stage) show(r *Rule) string {
	var b strings.Builder
	if s.At != "" {
		fmt.Fprintf(&b, "@%s ", s.At)
	}
	if s.Level > 0 {
		fmt.Fprintf(&b, "level %d ", s.Level)
	}
	if s.Flows {
		b.WriteString("flows ")
	}
	var parts []string
	for _, in := range s.Inputs {
		parts = append(parts, in.String())
	}
	for _, in := range s.Absent {
		parts = append(parts, "!"+in.String())
	}
	b.WriteString("{" + strings.Join(parts, ", "))
	for i, c := range s.Conds {
		b.WriteString([]string{" | ", ", "}[min(i, 1)])
		b.WriteString(c.Literal.String())
	}
	b.WriteString("}")
	arrow := "->"
	if s.Exchanges() {
		arrow = "=>"
	}
	switch {
	case s.Sends != nil:
		var names []string
		for _, v := range s.Sends {
			names = append(names, s.Rule.name(v))
		}
		fmt.Fprintf(&b, " => %s", strings.Join(names, " "))
		if s.Rule != r {
			fmt.Fprintf(&b, " (shared)")
		}
	case len(r.Pools) > 0 && r.Pools[0].Store != nil:
		fmt.Fprintf(&b, " %s %s's pool", arrow, r.Head.Name)
	default:
		fmt.Fprintf(&b, " %s %s", arrow, r.Head.Name)
	}
	return b.String()
}

func (in *Input) String() string {
	switch {
	case in.From != nil:
		return "from @" + in.From.At
	case in.Source == FromSmall:
		return in.Table.Name + " everywhere"
	}
	return in.Table.Name
}

// name of a slot, for people.
func (r *Rule) name(slot int) string {
	if n := r.Vars[slot].Name; n != "" {
		return n
	}
	return "#" + fmt.Sprint(slot)
}

// String says what a store keeps, and by which columns it is looked up.
func (st *Store) String() string {
	var b strings.Builder
	switch {
	case st.Passes:
		b.WriteString("pass ")
	case st.Small:
		b.WriteString("keep everywhere ")
	default:
		b.WriteString("keep ")
	}
	var columns []string
	for i, t := range st.Types {
		c := t.String()
		if st.Table != nil && st.Table.Columns[st.Columns[i]] != "" {
			c = st.Table.Columns[st.Columns[i]]
		}
		if l := st.Lattice[i]; l != query.Each {
			c = l.String() + " " + c
		}
		columns = append(columns, c)
	}
	fmt.Fprintf(&b, "%s(%s)", st.Name(), strings.Join(columns, ", "))
	for i, c := range st.own {
		b.WriteString([]string{" where ", ", "}[min(i, 1)] + c.Literal.String())
	}
	for _, p := range st.Paths {
		if p.Prefix == 0 {
			continue
		}
		var by []string
		for _, c := range p.Columns[:p.Prefix] {
			by = append(by, columns[c])
		}
		fmt.Fprintf(&b, " by %s", strings.Join(by, "+"))
	}
	return b.String()
}

// Name is what people call a store.
func (st *Store) Name() string {
	switch {
	case st.Pool != nil:
		return st.Pool.Rule.Head.Name + "'s pool"
	case st.Sums != nil:
		return st.Sums.Rule.Head.Name + "'s " + st.Sums.Fold.String()
	case st.Table != nil:
		return st.Table.Name
	}
	w := st.Writers[0]
	return fmt.Sprintf("rows of rule %d from @%s", w.Rule.ID+1, w.At)
}
