package query

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind says what a token is.
type kind uint8

const (
	end      kind = iota // of the program
	word                 // lower case: tables, functions, declarations
	variable             // upper case
	nobody               // _
	text                 // "..." or `...`, unquoted in s
	number               // s is the digits, unit what follows them
	setting              // $name, without the dollar in s
	symbol               // s is the operator or bracket
	bad                  // s says what is wrong with it
)

type token struct {
	Pos
	kind  kind
	s     string
	unit  string
	hint  string // of a bad one
	after Pos    // where the next character stands
	first bool   // on its line
}

// is says that t is the symbol s.
func (t token) is(s string) bool { return t.kind == symbol && t.s == s }

// lexer cuts a text, which is UTF-8, into tokens. It goes through every byte once.
type lexer struct {
	text  string
	i     int // the next byte
	pos   Pos // of it
	fresh bool
	dot   bool // a token has swallowed the dot of its clause
}

func newLexer(s string) *lexer {
	return &lexer{text: s, pos: Pos{1, 1}, fresh: true}
}

// symbols that are longer than a character come before their beginnings. Those
// that no grammar rule takes are here for the messages.
var symbols = []string{":-", ":=", "=<", "=>", "==", "!=", "<=", ">=", "&&", "||",
	"(", ")", ",", ".", "!", "=", "<", ">", "+", "-", "*", "/", ":", ";", "&", "|", "[", "]", "{", "}"}

// next returns the next token; after the end it returns the end again.
func (x *lexer) next() token {
	if x.dot {
		x.dot = false
		return token{Pos: x.pos, kind: symbol, s: ".", after: x.pos}
	}
	x.space()
	t := token{Pos: x.pos, first: x.fresh}
	x.fresh = false
	x.scan(&t)
	t.after = x.pos
	return t
}

// space skips white space and comments.
func (x *lexer) space() {
	for x.i < len(x.text) {
		switch c := x.text[x.i]; {
		case c == '\n':
			x.i++
			x.pos = Pos{x.pos.Line + 1, 1}
			x.fresh = true
		case c == ' ' || c == '\t' || c == '\r':
			x.skip(1)
		case c == '%' || strings.HasPrefix(x.text[x.i:], "//"):
			x.skip(len(x.line()))
		default:
			return
		}
	}
}

// line is what is left of the current line.
func (x *lexer) line() string {
	line, _, _ := strings.Cut(x.text[x.i:], "\n")
	return line
}

// skip goes on by n bytes, none of which ends a line.
func (x *lexer) skip(n int) {
	x.pos.Col += utf8.RuneCountInString(x.text[x.i : x.i+n])
	x.i += n
}

// take returns the bytes from here on for which ok holds, and goes on behind them.
func (x *lexer) take(ok func(c byte) bool) string {
	from := x.i
	for x.i < len(x.text) && ok(x.text[x.i]) {
		x.i++
	}
	x.pos.Col += x.i - from // ok takes only ASCII
	return x.text[from:x.i]
}

func (x *lexer) scan(t *token) {
	if x.i == len(x.text) {
		t.kind = end
		return
	}
	switch c := x.text[x.i]; {
	case lower(c):
		t.kind, t.s = word, x.take(letter)
	case upper(c):
		t.kind, t.s = variable, x.take(letter)
	case digit(c):
		x.number(t)
	case c == '_':
		t.kind, t.s = nobody, x.take(letter)
		if t.s != "_" {
			t.kind, t.hint = bad, "variables begin with a capital letter; _ alone stands for any value"
			t.s = "the name " + t.s + " begins with _"
		}
	case c == '$':
		x.skip(1)
		t.kind, t.s = setting, x.take(letter)
		if t.s == "" {
			t.kind, t.s, t.hint = bad, "a name must follow $", "settings are written $max"
		}
	case c == '"':
		x.quoted(t)
	case c == '`':
		x.raw(t)
	default:
		x.symbol(t)
	}
	if t.kind != text && t.kind != bad && len(t.s) > MaxName {
		t.kind, t.s, t.hint = bad, fmt.Sprintf("a name or number of %d characters, at most %d are allowed", len(t.s), MaxName), ""
	}
}

func (x *lexer) symbol(t *token) {
	for _, s := range symbols {
		if strings.HasPrefix(x.text[x.i:], s) {
			x.skip(len(s))
			t.kind, t.s = symbol, s
			return
		}
	}
	r, n := utf8.DecodeRuneInString(x.text[x.i:])
	x.skip(n)
	t.kind, t.s = bad, fmt.Sprintf("%q has no meaning here", r)
	if unicode.IsPrint(r) {
		t.s = string(r) + " has no meaning here"
	}
	switch {
	case strings.ContainsRune("'\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb", r):
		t.hint = `texts stand in "double quotes" or in ` + "`backquotes`"
	case r == '#':
		t.hint = "comments begin with % or //"
		if t.first {
			x.skip(len(x.line()))
			x.dot = true // it is a comment, and no part of the next clause
		}
	case r == '\u2190':
		t.hint = "a rule reads head :- body."
	}
}

// number reads digits, a fraction, an exponent and what sticks to them. A dot
// without a digit behind it ends the clause.
func (x *lexer) number(t *token) {
	from := x.i
	x.take(digit)
	if x.at(0, '.') && x.digitAt(1) {
		x.skip(1)
		x.take(digit)
	}
	if x.at(0, 'e') && (x.digitAt(1) || (x.at(1, '+') || x.at(1, '-')) && x.digitAt(2)) {
		x.skip(2)
		x.take(digit)
	}
	t.kind, t.s = number, x.text[from:x.i]
	t.unit = x.take(letter)
	if x.at(0, '.') && x.digitAt(1) {
		x.take(func(c byte) bool { return c == '.' || letter(c) })
		t.kind, t.s = bad, "a number has one point"
	}
}

func (x *lexer) at(ahead int, c byte) bool {
	return x.i+ahead < len(x.text) && x.text[x.i+ahead] == c
}

func (x *lexer) digitAt(ahead int) bool {
	return x.i+ahead < len(x.text) && digit(x.text[x.i+ahead])
}

// quoted reads a text in double quotes. A backslash before " \ n t r makes a
// quote, a backslash, a newline, a tab, a return. Before anything else it
// stands for itself, so that patterns need no second one: "\.pdf$", "\bsolar\b".
func (x *lexer) quoted(t *token) {
	for i := x.i + 1; i < len(x.text) && x.text[i] != '\n'; i++ {
		switch x.text[i] {
		case '\\':
			if i+1 < len(x.text) && x.text[i+1] != '\n' {
				i++
			}
		case '"':
			x.closed(t, i, unquote(x.text[x.i+1:i]))
			return
		}
	}
	x.endless(t)
}

// raw reads a text in backquotes, in which everything stands for itself.
func (x *lexer) raw(t *token) {
	i := strings.IndexAny(x.text[x.i+1:], "`\n") + x.i + 1
	if i == x.i || x.text[i] == '\n' {
		x.endless(t)
		return
	}
	x.closed(t, i, x.text[x.i+1:i])
}

// closed makes a token of the text that the quote at i closes, unless it is too
// long.
func (x *lexer) closed(t *token, i int, s string) {
	x.skip(i + 1 - x.i)
	t.kind, t.s = text, s
	if len(s) > MaxText {
		t.kind, t.s = bad, fmt.Sprintf("a text of %d bytes, at most %d are allowed", len(s), MaxText)
	}
}

// endless reports a text whose line ends before it does. The dot at the end of
// that line most probably ends the clause.
func (x *lexer) endless(t *token) {
	line := x.line()
	t.kind, t.s = bad, "this text does not end on its line"
	t.hint = "close it with " + line[:1]
	if line[0] == '"' {
		t.hint += `; a quote within it is written \"`
	}
	x.skip(len(line))
	x.dot = strings.HasSuffix(strings.TrimSpace(line), ".")
}

// escapes and what they stand for.
const (
	escapes = `"\ntr`
	escaped = "\"\\\n\t\r"
)

func unquote(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			if e := strings.IndexByte(escapes, s[i+1]); e >= 0 {
				c = escaped[e]
				i++
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Quote is s as a program writes it. It has a backslash more than s only where it
// must.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		c := s[i]
		switch e := strings.IndexByte(escaped, c); {
		case e < 0:
			b.WriteByte(c)
		case c == '\\' && i+1 < len(s) && !strings.Contains(escapes+escaped, s[i+1:i+2]):
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(escapes[e])
		}
	}
	b.WriteByte('"')
	return b.String()
}

func lower(c byte) bool  { return 'a' <= c && c <= 'z' }
func upper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return lower(c) || upper(c) || digit(c) || c == '_' }
