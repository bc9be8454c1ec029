package query

import (
	"strconv"
	"strings"
	"time"
)

// String is the program as weir writes it: declarations first, then the rules.
// [Parse] reads it as the same program.
func (p *Program) String() string {
	var b strings.Builder
	for _, s := range p.Sets {
		b.WriteString("set " + s.Name + " = " + show(s.Value, s.Type) + ".\n")
	}
	for _, in := range p.Inputs {
		types := make([]string, len(in.Types))
		for i, t := range in.Types {
			types[i] = t.String()
		}
		b.WriteString("input " + in.Table + "(" + strings.Join(types, ", ") + ") from " + Quote(in.File) + ".\n")
	}
	for _, m := range p.Smalls {
		b.WriteString("small " + m.Table + ".\n")
	}
	for _, m := range p.Lives {
		b.WriteString("live " + m.Table + ".\n")
	}
	for _, r := range p.Rules {
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// String is the rule as weir writes it, with its dot.
func (r *Rule) String() string {
	var b strings.Builder
	b.WriteString(r.Head.String())
	for i, l := range r.Body {
		if i == 0 {
			b.WriteString(" :- ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(l.String())
	}
	b.WriteString(".")
	return b.String()
}

// String leaves out the columns that Check filled in.
func (a *Atom) String() string {
	n := len(a.Args)
	for n > 1 && a.Args[n-1].Op == Anon && strings.HasPrefix(a.Args[n-1].Name, filled) {
		n--
	}
	return a.Table + "(" + terms(a.Args[:n]) + ")"
}

func (l *Literal) String() string {
	s := ""
	if l.Neg {
		s = "!"
	}
	switch {
	case l.Atom != nil:
		return s + l.Atom.String()
	case l.Test != nil:
		return s + l.Test.String()
	}
	return l.Compare.String()
}

func (c *Compare) String() string { return c.L.String() + " " + c.Op + " " + c.R.String() }

func terms(list []*Term) string {
	s := make([]string, len(list))
	for i, t := range list {
		s[i] = t.String()
	}
	return strings.Join(s, ", ")
}

// String is the term as weir writes it. Brackets stand only where they must.
func (t *Term) String() string {
	var b strings.Builder
	if t.Lattice != Each {
		b.WriteString(t.Lattice.String() + " ")
	}
	t.write(&b, 0)
	return b.String()
}

var signs = map[Op]string{Add: "+", Sub: "-", Mul: "*", Div: "/"}

// write writes t as an operand of an operator that binds as strongly as least
// says.
func (t *Term) write(b *strings.Builder, least int) {
	switch t.Op {
	case Var:
		b.WriteString(t.Name)
	case Anon:
		b.WriteString("_")
	case Const:
		if t.Setting != "" {
			b.WriteString("$" + t.Setting)
			return
		}
		b.WriteString(show(t.Value, t.Type))
	case Call:
		b.WriteString(t.Name + "(")
		writeList(b, t.Args)
		b.WriteString(")")
	case Aggregate:
		b.WriteString(t.Name + "<")
		writeList(b, t.Args)
		b.WriteString(">")
	default:
		sign := signs[t.Op]
		binds := precedence(sign)
		if binds < least {
			b.WriteString("(")
			defer b.WriteString(")")
		}
		t.Args[0].write(b, binds)
		b.WriteString(sign)
		t.Args[1].write(b, binds+1)
	}
}

func writeList(b *strings.Builder, list []*Term) {
	for i, t := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		t.write(b, 0)
	}
}

// show is a constant as a program writes it.
func show(v Value, t Type) string {
	switch t {
	case Int:
		return strconv.FormatInt(v.N, 10)
	case Float:
		s := strconv.FormatFloat(v.Float(), 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case Time:
		return `time("` + time.Unix(v.N, 0).UTC().Format(time.RFC3339) + `")`
	}
	return Quote(v.S)
}
