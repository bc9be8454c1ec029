package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// settle gives every $name its value.
func (p *parser) settle(given []Setting) {
	var names []string // that the program mentions
	for _, s := range p.prog.Sets {
		names = append(names, s.Name)
	}
	for _, t := range p.uses {
		names = append(names, t.Setting)
	}
	mentioned := make(map[string]bool, len(names))
	for _, n := range names {
		mentioned[n] = true
	}
	for i, g := range given {
		if fault, hint := unprintable(g.Value); fault != "" {
			p.report(Diag{Message: fmt.Sprintf("--set %s=%s: %s", g.Name, short(g.Value), fault), Hint: hint})
			if p.sets[g.Name] != nil {
				continue
			}
			g.Value = "" // or it would have no value on top of that
		}
		if slices.ContainsFunc(given[:i], func(other Setting) bool { return other.Name == g.Name }) {
			p.report(Diag{Message: fmt.Sprintf("--set %s=%s: %s is given twice", g.Name, g.Value, g.Name), Hint: "leave one of the two out"})
			continue
		}
		if !mentioned[g.Name] {
			hint := "in rules a setting is written $max"
			if len(names) > 0 {
				hint = suggest(g.Name, distinct(names))
			}
			p.report(Diag{Message: fmt.Sprintf("--set %s=%s: the program has no setting %s", g.Name, g.Value, g.Name), Hint: hint})
			continue
		}
		p.override(g)
	}
	missing := map[string]bool{}
	for _, t := range p.uses {
		s := p.sets[t.Setting]
		switch {
		case s != nil:
			t.Value, t.Type = s.Value, s.Type
		case !missing[t.Setting]:
			p.prog.vague = true
			missing[t.Setting] = true
			p.report(Diag{Pos: t.Pos, Message: fmt.Sprintf("$%s has no value", t.Setting),
				Hint: fmt.Sprintf("give it one with --set %[1]s=VALUE, or a usual one in the program: set %[1]s = 3.", t.Setting)})
		}
	}
}

// unprintable says why a user's value cannot be kept on a line of its own, or "".
func unprintable(s string) (fault, hint string) {
	switch {
	case len(s) > MaxText:
		return fmt.Sprintf("a text of %d bytes, at most %d are allowed", len(s), MaxText), ""
	case !utf8.ValidString(s):
		return "this is no text: it is not UTF-8", ""
	case strings.ContainsAny(s, "\r\n"):
		return "a value has one line", `a text of several lines can stand in the program, as in set word = "one\ntwo".`
	case strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }):
		return "this is no text: it has a control character", ""
	}
	return "", ""
}

// override gives a setting the user's value. A setting that the program does not
// set is set by then, so that the program as printed stands for itself.
func (p *parser) override(g Setting) {
	v, typ := toConstant(g.Value)
	s := p.sets[g.Name]
	switch {
	case s == nil:
		s = &Set{Name: g.Name}
		p.sets[g.Name] = s
		p.prog.Sets = append(p.prog.Sets, s)
	case s.Type == Text && typ != Text:
		v, typ = Value{S: g.Value}, Text
	case s.Type == Float && typ == Int:
		v, typ = FloatValue(float64(v.N)), Float
	case s.Type != Text && typ == Text:
		p.report(Diag{Message: fmt.Sprintf("--set %s=%s: this is no number", g.Name, g.Value),
			Hint: fmt.Sprintf("the program sets it to %s in line %d", show(s.Value, s.Type), s.Line)})
		return
	}
	s.Value, s.Type = v, typ
}

func distinct(names []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// suggest names what was probably meant, and what there is.
func suggest(name string, among []string) string {
	hint := "there is " + list(among)
	if near := Nearest(name, among); near != "" {
		hint = "did you mean " + near + "? T" + hint[1:]
	}
	return hint
}

// list is names as people list them.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

var typeNames = []string{"url", "text", "int", "float", "time"}

// typeNamed returns the type of a name, or Unknown.
func typeNamed(name string) Type {
	for t := URL; t <= Time; t++ {
		if t.String() == name {
			return t
		}
	}
	return Unknown
}

func aggregateNames() []string {
	var names []string
	for _, a := range Aggregates {
		names = append(names, a.Name)
	}
	return names
}
