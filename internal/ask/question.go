package ask

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/query"
	"weir/query/flow"
)

// Question is what a person asks.
type Question struct {
	Name  string // for messages
	Text  string
	Table string // the answer; "": that of the last rule. With a table the text may be empty.
	Sets  []query.Setting
	Own   *Own // the program of the crawl; nil: it has none that could be used

	// Programs are those that share the crawl, when the question is about none of them.
	Programs []string
	Tables   map[string][]string // what each of them derives, if that is known
}

// Program is a question that means something. It is not safe for concurrent use.
type Program struct {
	*query.Checked
	Answer *query.Table

	plan   *flow.Plan
	own    *Own
	kept   []string // tables whose rows the crawl has
	asked  []string // inputs of the question itself
	loaded bool     // its inputs are
}

// orders are the tables that tell the crawler what to do. A question may read
// them, and derive none: there is nothing left to be done when a crawl is asked.
var orders = []string{"crawl", "stop", "wait"}

// Read finds out what the question means. Positions of what is wrong with it are
// those of its text.
func (q Question) Read() (*Program, []query.Diag) {
	text, before, diags := q.rules()
	if query.Failed(diags) {
		return nil, diags
	}
	asked, diags := query.Parse(q.Name, text, q.Sets...)
	if query.Failed(diags) {
		return nil, q.shift(diags, before)
	}
	for _, r := range asked.Rules {
		if slices.Contains(orders, r.Head.Table) {
			return nil, q.shift([]query.Diag{{Pos: r.Pos, Message: "a question cannot derive " + r.Head.Table + ": nothing is fetched for it", Hint: "give the table another name"}}, before)
		}
	}
	_, checked, diags := query.Load(q.Name, text+"\n"+q.Own.usable(asked), []string{"crawl"}, q.Sets...)
	diags = q.shift(mine(diags, text), before)
	if checked == nil {
		for i := range diags {
			q.hint(&diags[i])
		}
		return nil, diags
	}
	name, diag := q.answer(asked)
	if diag != nil {
		return nil, []query.Diag{*diag}
	}
	p := &Program{Checked: checked, Answer: checked.Table(name), own: q.Own, kept: q.kept(asked, checked)}
	for _, in := range asked.Inputs {
		p.asked = append(p.asked, in.Table)
	}
	var more []query.Diag
	p.plan, more = flow.Compile(checked, q.options(asked, name, p.kept))
	diags = append(diags, q.shift(more, before)...)
	if query.Failed(more) {
		return nil, diags
	}
	return p, diags
}

// hint says of a table that there is not whose it may be.
func (q Question) hint(d *query.Diag) {
	if len(q.Programs) == 0 || !strings.HasPrefix(d.Message, "there is no table") {
		return
	}
	var with []string
	for _, name := range q.Programs {
		for _, table := range q.Tables[name] {
			if strings.HasSuffix(d.Message, " "+table) {
				with = append(with, name)
			}
		}
	}
	switch {
	case len(with) > 0:
		d.Hint = "of the programs that share the crawl it is one of " + strings.Join(with, " and ") + ": --of " + strings.Join(with, ", --of ")
	case d.Hint == "":
		d.Hint = "a table of a program that shares the crawl needs its name: --of " + strings.Join(q.Programs, ", --of ")
	}
}

// options say what to compile. Tables that steer the crawl mean what they mean in
// its own program.
func (q Question) options(asked *query.Program, table string, kept []string) flow.Options {
	o := flow.Options{Tables: []string{table}, Given: append([]string{"crawl"}, kept...)}
	if q.Own == nil {
		return o
	}
	o.IgnoreRobots = q.Own.plan.Options.IgnoreRobots
	taken := heads(asked)
	for _, t := range q.Own.plan.Program.Tables {
		if t.Steers && !slices.Contains(taken, t.Name) {
			o.Steers = append(o.Steers, t.Name)
		}
	}
	return o
}

// kept are the tables of the crawl's own program whose rows it has, so that they
// need not be worked out again.
func (q Question) kept(asked *query.Program, c *query.Checked) []string {
	if q.Own == nil {
		return nil
	}
	taken := heads(asked)
	var names []string
	for _, name := range q.Own.Tables() {
		if t, had := c.Table(name), q.Own.plan.Program.Table(name); q.Own.Keeps(name) && !slices.Contains(taken, name) && slices.Equal(t.Types, had.Types) {
			names = append(names, name)
		}
	}
	return names
}

// heads are the tables that a program derives, and its inputs.
func heads(p *query.Program) []string {
	var names []string
	for _, r := range p.Rules {
		names = append(names, r.Head.Table)
	}
	for _, in := range p.Inputs {
		names = append(names, in.Table)
	}
	return names
}

// rules is the question as rules, and how many lines stand before its text in it.
func (q Question) rules() (text string, before int, diags []query.Diag) {
	if !isBody(q.Text) || q.Table != "" && strings.TrimSpace(q.Text) == "" {
		return q.Text, 0, nil
	}
	body := strings.TrimRight(q.Text, " \t\r\n")
	body = strings.TrimSuffix(body, ".")
	if strings.TrimSpace(body) == "" {
		return "", 0, []query.Diag{{Message: "the question is empty", Hint: "ask for instance: link(U, V), fetched(V, S), S >= 400"}}
	}
	const head = "answer(0) :-\n"
	probe, diags := query.Parse(q.Name, head+body+"\n.\n", q.Sets...)
	if query.Failed(diags) {
		dot := strings.Count(head+body, "\n") + 2
		if slices.ContainsFunc(diags, func(d query.Diag) bool { return d.Line == dot }) {
			_, diags = query.Parse(q.Name, head+body, q.Sets...) // nobody but us has written that dot
		}
		return "", 0, q.shift(diags, 1)
	}
	vars := variables(probe.Rules[0])
	if len(vars) == 0 {
		vars = []string{`"yes"`}
	}
	return "answer(" + strings.Join(vars, ", ") + ") :-\n" + body + "\n.\n", 1, nil
}

// isBody says that a text has no rule in it and declares nothing.
func isBody(text string) bool {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"' && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '`':
			end := strings.IndexAny(rest[1:], "`\n")
			if end < 0 {
				return true
			}
			i += end + 1
		case c == '%' || strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				return true
			}
			i += end
		case strings.HasPrefix(rest, ":-"):
			return false
		}
	}
	return true
}

// variables are those of a rule's body, in the order in which they appear.
func variables(r *query.Rule) []string {
	var names []string
	note := func(t *query.Term) {
		if t.Op == query.Var && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	for _, l := range r.Body {
		switch {
		case l.Atom != nil:
			for _, a := range l.Atom.Args {
				a.Vars(note)
			}
		case l.Test != nil:
			l.Test.Vars(note)
		case l.Compare != nil:
			l.Compare.L.Vars(note)
			l.Compare.R.Vars(note)
		}
	}
	return names
}

// answer names the table that is asked for.
func (q Question) answer(asked *query.Program) (string, *query.Diag) {
	if q.Table == "" {
		if len(asked.Rules) == 0 {
			return "", &query.Diag{Message: "the question has no rule", Hint: "ask for instance: broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400."}
		}
		return asked.Rules[len(asked.Rules)-1].Head.Table, nil
	}
	var names []string
	for _, r := range asked.Rules {
		if !slices.Contains(names, r.Head.Table) {
			names = append(names, r.Head.Table)
		}
	}
	if q.Own != nil {
		names = append(names, q.Own.Tables()...)
	}
	if slices.Contains(names, q.Table) {
		return q.Table, nil
	}
	hint := "there are " + strings.Join(names, ", ")
	if near := query.Nearest(q.Table, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return "", &query.Diag{Message: fmt.Sprintf("no rule derives a table %s", q.Table), Hint: hint}
}

// usable is what a question may use of the crawl's program: its tables, but for
// crawl, and for those that the question derives itself. Settings have their
// values already. Small tables are small for questions too: rules may not run
// without that. What live means is over with the crawl.
func (o *Own) usable(asked *query.Program) string {
	if o == nil {
		return ""
	}
	taken := append(heads(asked), "crawl")
	var b strings.Builder
	for _, in := range o.Inputs {
		if !slices.Contains(taken, in.Table) {
			only := query.Program{Inputs: []*query.Input{in}}
			b.WriteString(only.String())
		}
	}
	for _, m := range o.Smalls {
		if !slices.Contains(taken, m.Table) {
			only := query.Program{Smalls: []*query.Mark{m}}
			b.WriteString(only.String())
		}
	}
	for _, r := range o.Program.Rules {
		if !slices.Contains(taken, r.Head.Table) {
			b.WriteString(valued(r) + "\n")
		}
	}
	return b.String()
}

// valued is a rule with the values of its settings in their places.
func valued(r *query.Rule) string {
	var names []string
	terms := func(fn func(*query.Term)) {
		walk := func(t *query.Term) { t.Walk(fn) }
		for _, a := range r.Head.Args {
			walk(a)
		}
		for _, l := range r.Body {
			switch {
			case l.Atom != nil:
				for _, a := range l.Atom.Args {
					walk(a)
				}
			case l.Test != nil:
				walk(l.Test)
			case l.Compare != nil:
				walk(l.Compare.L)
				walk(l.Compare.R)
			}
		}
	}
	terms(func(t *query.Term) {
		names = append(names, t.Setting)
		t.Setting = ""
	})
	text := r.String()
	terms(func(t *query.Term) {
		t.Setting, names = names[0], names[1:]
	})
	return text
}

// shift moves what was found to where it stands in the question: behind a body is
// the end of its last line.
func (q Question) shift(diags []query.Diag, before int) []query.Diag {
	if before == 0 {
		return diags
	}
	lines := strings.Split(strings.TrimRight(q.Text, "\r\n"), "\n")
	for i := range diags {
		d := &diags[i]
		if d.Line == 0 {
			continue
		}
		if d.Line = max(1, d.Line-before); d.Line > len(lines) {
			d.Pos = query.Pos{Line: len(lines), Col: utf8.RuneCountInString(lines[len(lines)-1]) + 1}
		}
	}
	return diags
}

// mine leaves warnings about the crawl's own program out: it was checked when the
// crawl began.
func mine(diags []query.Diag, text string) []query.Diag {
	last := strings.Count(text, "\n") + 1
	return slices.DeleteFunc(diags, func(d query.Diag) bool { return d.Warning && d.Line > last })
}

// Format is what is wrong with the question as a person should see it.
func (q Question) Format(d query.Diag) string {
	return d.Format(&query.Program{Name: q.Name, Text: q.Text})
}
