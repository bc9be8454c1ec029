package query

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// top reads an expression that stands in no other one.
func (p *parser) top() *Term {
	t, _ := p.expr(nil, 0, 1, 1)
	return t
}

// precedence is how strongly an operator binds, 0 if it is none.
func precedence(s string) int {
	switch s {
	case "+", "-":
		return 1
	case "*", "/":
		return 2
	}
	return 0
}

var operators = map[string]Op{"+": Add, "-": Sub, "*": Mul, "/": Div}

// expr reads an expression of operators that bind at least as strongly as least
// says, which begins with left if that was read already. It stands in depth
// other ones. Height is how deep the term is.
func (p *parser) expr(left *Term, height, least, depth int) (*Term, int) {
	if left == nil {
		if left, height = p.primary(depth); left == nil {
			return nil, 0
		}
	}
	for p.tok.kind == symbol && precedence(p.tok.s) >= least {
		op := p.tok
		p.advance()
		right, h := p.expr(nil, 0, precedence(op.s)+1, depth)
		if right == nil {
			return nil, 0
		}
		left = &Term{Pos: left.Pos, Op: operators[op.s], Args: []*Term{left, right}}
		if height = max(height, h) + 1; height > MaxNesting {
			p.deep(op.Pos)
			return nil, 0
		}
	}
	return left, height
}

func (p *parser) deep(at Pos) {
	p.fail(at, "give parts of it names: X = ...", "an expression nested deeper than %d", MaxNesting)
}

// primary reads what stands between operators.
func (p *parser) primary(depth int) (*Term, int) {
	if depth > MaxNesting {
		p.deep(p.tok.Pos)
		return nil, 0
	}
	t := &Term{Pos: p.tok.Pos, Name: p.tok.s}
	switch {
	case p.tok.kind == variable:
		t.Op = Var
	case p.tok.kind == nobody:
		p.anons++
		t.Op, t.Name = Anon, "_"+strconv.Itoa(p.anons)
	case p.tok.kind == setting:
		t.Op, t.Name, t.Setting = Const, "", p.tok.s
		p.uses = append(p.uses, t)
	case p.tok.is("("):
		p.advance()
		t, height := p.expr(nil, 0, 1, depth+1)
		if t == nil || !p.expect(")", "") {
			return nil, 0
		}
		return t, height
	case p.tok.kind == word && p.ahead.is("("):
		return p.call(depth)
	case p.tok.kind == word:
		p.word()
		return nil, 0
	default:
		return p.constant(), 1
	}
	p.advance()
	return t, 1
}

// word reports a lower-case name that is no call.
func (p *parser) word() {
	name := p.tok.s
	switch {
	case p.ahead.is("<") && AggregateNamed(name) != nil:
		p.fail(p.tok.Pos, "fill a table by a rule of its own, and use that table here", "%s<...> stands only in heads", name)
	case slips[name] != "":
		p.unexpected("a value")
	default:
		p.fail(p.tok.Pos, fmt.Sprintf("variables are upper case (%s), and texts stand in quotes (%q)", capital(name), name), "%s has no value", name)
	}
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// call reads: name(expr, ...).
func (p *parser) call(depth int) (*Term, int) {
	t := &Term{Pos: p.tok.Pos, Op: Call, Name: p.tok.s}
	p.advance()
	p.advance()
	if p.tok.is(")") {
		p.advance()
		return t, 1
	}
	height := 0
	t.Args = p.list(")", func() *Term {
		a, h := p.expr(nil, 0, 1, depth+1)
		height = max(height, h)
		return a
	})
	if t.Args == nil {
		return nil, 0
	}
	if height++; height > MaxNesting {
		p.deep(t.Pos)
		return nil, 0
	}
	return t, height
}

// constant reads a text, or a number with or without a sign.
func (p *parser) constant() *Term {
	t := &Term{Pos: p.tok.Pos, Op: Const}
	if p.tok.kind == text {
		t.Value, t.Type = Value{S: p.tok.s}, Text
		p.advance()
		return t
	}
	sign := ""
	if p.tok.is("-") {
		sign = "-"
		p.advance()
		if p.tok.kind == variable || p.tok.is("(") {
			p.fail(t.Pos, "write 0 - X", "a sign stands only before numbers")
			return nil
		}
	}
	if p.tok.kind != number {
		p.unexpected("a value")
		return nil
	}
	var err error
	if t.Value, t.Type, err = toNumber(sign+p.tok.s, p.tok.unit); err != nil {
		at := p.tok.Pos
		hint := ""
		if err == errUnit {
			at.Col += utf8.RuneCountInString(p.tok.s)
			hint = "units are " + list(unitNames)
		}
		p.fail(at, hint, "%s%s%s: %v", sign, p.tok.s, p.tok.unit, err)
		return nil
	}
	p.advance()
	return t
}
