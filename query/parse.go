package query

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Setting is a value that the user gives a program: --set name=value.
type Setting struct{ Name, Value string }

// Parse reads a program. Name stands in messages. It reports every fault in one
// go: at most one a clause, then it goes on behind the clause's dot. The program
// it returns is never nil; it holds the clauses that were read, and means
// nothing unless there are no errors.
//
// Settings override what the program sets. Their values are read as constants
// are (3, 1.5, 30s, 10KB, "text"), and as texts otherwise.
func Parse(name, text string, settings ...Setting) (*Program, []Diag) {
	text = strings.TrimPrefix(text, "\ufeff")
	p := &parser{prog: &Program{Name: name, Text: text}, sets: map[string]*Set{}}
	if len(text) > MaxProgram {
		p.report(Diag{
			Message: fmt.Sprintf("the program has %d bytes, at most %d are allowed", len(text), MaxProgram),
			Hint:    `put long lists into a file: input blocked(text) from "blocked.txt".`,
		})
		p.prog.vague = true
		return p.prog, p.diags
	}
	if d := notText(text); d != nil {
		p.report(*d)
		p.prog.vague = true
		return p.prog, p.diags
	}
	p.lex = newLexer(text)
	p.advance()
	p.advance()
	for p.tok.kind != end && !p.full {
		p.clause()
	}
	p.settle(settings)
	p.patterns()
	return p.prog, Tidy(p.diags)
}

// notText is what is wrong with a program that is no text, or nil. One such fault
// is enough: nothing behind it can be told.
func notText(s string) *Diag {
	i := 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	if i == len(s) {
		return nil
	}
	d := &Diag{Message: fmt.Sprintf("this is no text: the byte %#02x is not UTF-8", s[i]), Hint: "save the program as UTF-8"}
	if s[i] == 0 {
		d.Message, d.Hint = "this is no text: it has a byte 0", "a program is plain text in UTF-8"
	}
	line := s[strings.LastIndexByte(s[:i], '\n')+1 : i]
	d.Pos = Pos{strings.Count(s[:i], "\n") + 1, utf8.RuneCountInString(line) + 1}
	return d
}

// parser reads one program by recursive descent. A function that meets a fault
// reports it with fail and returns nil or false, and so does everyone up to
// clause.
type parser struct {
	lex   *lexer
	tok   token // the one to look at
	ahead token // the one behind it
	last  Pos   // behind the token before
	prog  *Program
	diags []Diag
	full  bool    // there are too many rules
	head  Pos     // of the clause
	about string  // the table that it derives or declares, once it is known
	lost  bool    // the clause has a fault
	anons int     // in the clause
	uses  []*Term // of settings, in order
	sets  map[string]*Set
}

func (p *parser) advance() {
	p.last = p.tok.after
	p.tok, p.ahead = p.ahead, p.lex.next()
}

func (p *parser) report(d Diag) { p.diags = append(p.diags, d) }

// fail reports the fault of a clause.
func (p *parser) fail(at Pos, hint, format string, args ...any) {
	p.report(Diag{Pos: at, Message: fmt.Sprintf(format, args...), Hint: hint})
	p.lost = true
}

// clause reads one clause with its dot, or reports a fault and goes behind its
// dot.
func (p *parser) clause() {
	p.head, p.about, p.lost, p.anons = p.tok.Pos, "", false, 0
	uses := len(p.uses)
	switch {
	case p.declares("input"):
		p.input()
	case p.declares("set"):
		p.set()
	case p.declares("live"):
		p.marks(&p.prog.Lives)
	case p.declares("small"):
		p.marks(&p.prog.Smalls)
	default:
		p.rule()
	}
	if !p.lost {
		return
	}
	p.uses = p.uses[:uses]
	p.prog.lost = append(p.prog.lost, p.about)
	p.prog.vague = p.prog.vague || p.about == "" || p.full
	for p.tok.kind != end && !p.tok.is(".") {
		p.advance()
	}
	p.advance()
}

// declares says that the clause is a declaration of that kind. What has a bracket
// behind it is a table of that name.
func (p *parser) declares(as string) bool {
	return p.tok.kind == word && p.tok.s == as && !p.ahead.is("(")
}

// dot ends a clause. If another clause begins where it should be, only the dot
// is missing, and nothing needs to be skipped.
func (p *parser) dot() bool {
	switch {
	case p.tok.is("."):
		p.advance()
	case p.tok.kind == end, p.tok.first && p.tok.kind == word && p.tok.Col <= p.head.Col:
		p.report(Diag{Pos: p.last, Message: fmt.Sprintf("the clause that begins in line %d lacks its dot", p.head.Line), Hint: "end it with a ."})
	default:
		return p.unexpected("a comma, or the dot that ends the clause")
	}
	return true
}

// expect goes behind the symbol s, which must stand here.
func (p *parser) expect(s, where string) bool {
	if !p.tok.is(s) {
		return p.unexpected(s + where)
	}
	p.advance()
	return true
}

// name goes behind a lower-case name, which must stand here.
func (p *parser) name(what string) (string, bool) {
	if p.tok.kind != word {
		return "", p.unexpected(what)
	}
	s := p.tok.s
	p.advance()
	return s, true
}

// slips are what people write who come from elsewhere.
var slips = map[string]string{
	":":    "a rule reads head :- body.",
	":=":   "a rule reads head :- body.",
	"==":   "equality is written =",
	"=<":   "write <=",
	"=>":   "write >=",
	"&":    "conditions are joined by commas",
	"&&":   "conditions are joined by commas",
	"and":  "conditions are joined by commas",
	"|":    "write two rules with the same head: a row that either derives is in the table",
	"||":   "write two rules with the same head: a row that either derives is in the table",
	"or":   "write two rules with the same head: a row that either derives is in the table",
	";":    "conditions are joined by commas, and a clause ends with a dot",
	"not":  "negation is written !table(...)",
	"\\":   "negation is written !table(...)",
	"min":  "min and max stand in the columns of heads, min<X> too",
	"max":  "min and max stand in the columns of heads, min<X> too",
	"from": `an input reads: input blocked(text) from "blocked.txt".`,
}

// unexpected reports that something else should stand here. It returns false.
func (p *parser) unexpected(want string) bool {
	t := p.tok
	switch t.kind {
	case end: // what stands before it is not complete
		p.fail(p.last, "", "expected %s, found the end of the text", want)
	case bad:
		p.fail(t.Pos, t.hint, "%s", t.s)
	case symbol, word:
		p.fail(t.Pos, slips[t.s], "expected %s, found %s", want, t.s)
	default:
		p.fail(t.Pos, "", "expected %s, found %s", want, t.show())
	}
	return false
}

// show is the token as a message names it.
func (t token) show() string {
	switch t.kind {
	case text:
		return "a text"
	case number:
		return t.s + t.unit
	case setting:
		return "$" + t.s
	}
	return t.s
}

// input reads: input table(type, ...) from "file".
func (p *parser) input() {
	p.advance()
	in := &Input{Pos: p.tok.Pos}
	var ok bool
	if in.Table, ok = p.table("the table's name"); !ok {
		return
	}
	if p.about = in.Table; !p.expect("(", " and the types of the columns") {
		return
	}
	for {
		at := p.tok.Pos
		name, ok := p.name("the type of a column")
		if !ok {
			return
		}
		typ := typeNamed(name)
		if typ == Unknown {
			p.fail(at, suggest(name, typeNames), "there is no type %s", name)
			return
		}
		if in.Types = append(in.Types, typ); len(in.Types) > MaxColumns {
			p.fail(at, "", "more than %d columns", MaxColumns)
			return
		}
		if !p.tok.is(",") {
			break
		}
		p.advance()
	}
	if !p.expect(")", " or a comma") {
		return
	}
	if p.tok.kind != word || p.tok.s != "from" {
		p.unexpected("from and the name of a file")
		return
	}
	p.advance()
	if p.tok.kind != text || p.tok.s == "" {
		p.unexpected("the name of a file in quotes")
		return
	}
	in.File = p.tok.s
	p.advance()
	if p.dot() {
		p.prog.Inputs = append(p.prog.Inputs, in)
	}
}

// set reads: set name = constant.
func (p *parser) set() {
	p.advance()
	s := &Set{Pos: p.tok.Pos}
	var ok bool
	if s.Name, ok = p.name("the setting's name"); !ok || !p.expect("=", " and its value") {
		return
	}
	if other := p.sets[s.Name]; other != nil {
		p.fail(s.Pos, "a setting has one value; --set gives it another", "%s is already set in line %d", s.Name, other.Line)
		return
	}
	t := p.constant()
	if t == nil {
		return
	}
	s.Value, s.Type = t.Value, t.Type
	if p.dot() {
		p.prog.Sets = append(p.prog.Sets, s)
		p.sets[s.Name] = s
	}
}

// marks reads: live table, ... and small table, ...
func (p *parser) marks(to *[]*Mark) {
	p.advance()
	var marks []*Mark
	for {
		m := &Mark{Pos: p.tok.Pos}
		var ok bool
		if m.Table, ok = p.table("the name of a table"); !ok {
			return
		}
		marks = append(marks, m)
		if !p.tok.is(",") {
			break
		}
		p.advance()
	}
	if p.dot() {
		*to = append(*to, marks...)
	}
}

// table goes behind the name of a table, which must stand here.
func (p *parser) table(what string) (string, bool) {
	at := p.tok
	name, ok := p.name(what)
	if ok && TestNamed(name) != nil {
		p.fail(at.Pos, "give the table another name", "%s is a test, no table can have its name", name)
		return "", false
	}
	return name, ok
}

// rule reads: head. and head :- literal, ... .
func (p *parser) rule() {
	if len(p.prog.Rules) == MaxRules {
		p.fail(p.tok.Pos, "rules that differ in constants only can be one rule and an input", "more than %d rules", MaxRules)
		p.full = true
		return
	}
	r := &Rule{Pos: p.head, ID: len(p.prog.Rules), Head: &Atom{Pos: p.head}}
	var ok bool
	if p.tok.kind == variable {
		p.about = strings.ToLower(p.tok.s)
		p.fail(p.tok.Pos, "tables are lower case, variables upper case", "a clause begins with a table, not with the variable %s", p.tok.s)
		return
	}
	if r.Head.Table, ok = p.table("a clause: a table, input, set, live or small"); !ok {
		return
	}
	if p.about = r.Head.Table; !p.expect("(", " and the columns of "+r.Head.Table) {
		return
	}
	if r.Head.Args = p.list(")", p.column); r.Head.Args == nil {
		return
	}
	if p.tok.is(":-") {
		for {
			p.advance()
			l := p.literal()
			if l == nil {
				return
			}
			if r.Body = append(r.Body, l); len(r.Body) > MaxLiterals {
				p.fail(l.Pos, "put alternatives into an input, or some conditions into a table of their own", "more than %d conditions in one rule", MaxLiterals)
				return
			}
			if !p.tok.is(",") {
				break
			}
		}
	}
	if len(r.Body) == 0 && p.tok.kind == symbol && !p.tok.is(".") {
		p.fail(p.tok.Pos, "a rule reads head :- body.", "expected :- or the dot that ends the clause, found %s", p.tok.s)
		return
	}
	if p.dot() {
		p.prog.Rules = append(p.prog.Rules, r)
	}
}

// list reads what item reads, one or more times with commas between, and goes
// behind the bracket that closes it.
func (p *parser) list(closed string, item func() *Term) []*Term {
	var terms []*Term
	for {
		at := p.tok.Pos
		t := item()
		if t == nil {
			return nil
		}
		if terms = append(terms, t); len(terms) > MaxColumns {
			p.fail(at, "", "more than %d columns or arguments", MaxColumns)
			return nil
		}
		if !p.tok.is(",") {
			break
		}
		p.advance()
	}
	if !p.expect(closed, " or a comma") {
		return nil
	}
	return terms
}

// column reads a column of a head.
func (p *parser) column() *Term {
	lattice := Each
	if p.tok.kind == word && !p.ahead.is("<") {
		switch p.tok.s {
		case "min":
			lattice = Min
		case "max":
			lattice = Max
		}
		if lattice != Each {
			p.advance()
		}
	}
	t := p.cell()
	if t != nil {
		t.Lattice = lattice
	}
	return t
}

// cell reads an aggregate or an expression.
func (p *parser) cell() *Term {
	if p.tok.kind != word || !p.ahead.is("<") {
		return p.top()
	}
	t := &Term{Pos: p.tok.Pos, Op: Aggregate, Name: p.tok.s}
	if AggregateNamed(t.Name) == nil {
		p.fail(t.Pos, suggest(t.Name, aggregateNames()), "there is no aggregate %s", t.Name)
		return nil
	}
	p.advance()
	p.advance()
	if p.tok.is(">") {
		p.advance()
		return t
	}
	if t.Args = p.list(">", p.top); t.Args == nil {
		return nil
	}
	return t
}

// literal reads one condition of a body.
func (p *parser) literal() *Literal {
	l := &Literal{Pos: p.tok.Pos}
	if l.Neg = p.tok.is("!"); l.Neg {
		p.advance()
	}
	if p.tok.kind != word || !p.ahead.is("(") {
		if l.Neg {
			p.unexpected("a table or a test behind !")
			return nil
		}
		return p.comparison(l, nil, 0)
	}
	call, height := p.call(1)
	switch {
	case call == nil:
		return nil
	case TestNamed(call.Name) != nil:
		if p.operator() {
			p.fail(p.tok.Pos, "write it alone, or with ! before it", "%s is a test: it holds or not and has no value", call.Name)
			return nil
		}
		l.Test = call
	case !p.operator():
		l.Atom = &Atom{Pos: call.Pos, Table: call.Name, Args: call.Args}
	case l.Neg:
		p.fail(l.Pos, "turn the comparison round: != is the contrary of =", "! stands before a table or a test, not before a comparison")
		return nil
	default:
		return p.comparison(l, call, height)
	}
	return l
}

// operator says that an expression or a comparison goes on here.
func (p *parser) operator() bool {
	return p.tok.kind == symbol && (precedence(p.tok.s) > 0 || comparing(p.tok.s))
}

func comparing(s string) bool {
	switch s {
	case "=", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

// comparison reads: expr op expr. The beginning of the first one may have been
// read already.
func (p *parser) comparison(l *Literal, first *Term, height int) *Literal {
	left, _ := p.expr(first, height, 1, 1)
	if left == nil {
		return nil
	}
	if p.tok.kind != symbol || !comparing(p.tok.s) {
		p.unexpected("a comparison: = != < <= > >=")
		return nil
	}
	l.Compare = &Compare{Pos: p.tok.Pos, Op: p.tok.s, L: left}
	p.advance()
	if l.Compare.Op == "<" && p.tok.is(">") {
		p.fail(l.Compare.Pos, "write !=", "<> is no comparison")
		return nil
	}
	if l.Compare.R = p.top(); l.Compare.R == nil {
		return nil
	}
	if p.tok.kind == symbol && comparing(p.tok.s) {
		p.fail(p.tok.Pos, "write two conditions with a comma between", "a comparison has two sides")
		return nil
	}
	return l
}
