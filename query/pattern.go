package query

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// Bounds of patterns. An instruction is a step of the compiled pattern; it costs
// some forty bytes, and a character may cost the work of as many.
const (
	maxPattern = 4 << 10 // bytes
	maxSteps   = 10_000  // instructions of one pattern
	maxAll     = 500_000 // of all patterns of a program
)

var (
	errLong  = fmt.Errorf("it is longer than %d bytes", maxPattern)
	errLarge = fmt.Errorf("it compiles to more than %d instructions", maxSteps)
)

// patterns checks what the tests of the program match texts with.
func (p *parser) patterns() {
	steps := make(map[string]int) // of those that are right
	all := 0
	for _, r := range p.prog.Rules {
		for _, l := range r.Body {
			if l.Test == nil || l.Test.Name != "matches" || len(l.Test.Args) != 2 {
				continue
			}
			arg := l.Test.Args[1]
			switch {
			case arg.Op != Const:
				p.report(Diag{Pos: arg.Pos, Message: "the pattern of matches must be a constant", Hint: "contains(Text, Part) takes any value"})
				continue
			case arg.Type != Text || steps[arg.Value.S] > 0:
				continue
			}
			n, err := patternSteps(arg.Value.S)
			if err != nil {
				p.reportPattern(arg, err)
				continue
			}
			steps[arg.Value.S] = n
			if all += n; all > maxAll {
				p.report(Diag{Pos: arg.Pos, Message: fmt.Sprintf("the program's patterns up to here compile to more than %d instructions", maxAll),
					Hint: "a list of hosts or words is better kept in an input"})
				return
			}
		}
	}
}

// CheckPattern says what is wrong with a pattern of matches, nil if nothing is.
func CheckPattern(pattern string) error {
	_, err := patternSteps(pattern)
	return err
}

// patternSteps is how many instructions the pattern compiles to, at most. What
// it takes no error of compiles.
func patternSteps(pattern string) (int, error) {
	if len(pattern) > maxPattern {
		return 0, errLong
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	n := steps(re) + 2
	if n > maxSteps {
		return 0, errLarge
	}
	return n, nil
}

// steps is how many instructions re compiles to, without compiling it. Beyond
// maxSteps it is any number beyond.
func steps(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n = min(n+steps(sub), maxSteps+1)
	}
	switch re.Op {
	case syntax.OpConcat:
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n = 1 + len(re.Rune)/16 // a table that is searched
	case syntax.OpAlternate:
		n += len(re.Sub)
	case syntax.OpCapture, syntax.OpStar:
		n += 2
	case syntax.OpRepeat:
		times := max(re.Min, re.Max, 1)
		n *= times
		if re.Min != re.Max {
			n += times
		}
	default:
		n++
	}
	return min(n, maxSteps+1)
}

// reportPattern says what is wrong with a pattern and, if it stands here and not
// in a setting, in which place of it.
func (p *parser) reportPattern(arg *Term, err error) {
	d := Diag{Pos: arg.Pos, Message: "bad pattern: " + err.Error()}
	var bad *syntax.Error
	if errors.As(err, &bad) {
		d.Message = "bad pattern: " + bad.Code.String()
		if bad.Expr != arg.Value.S {
			d.Message += ": " + bad.Expr
			if arg.Setting == "" && len(p.diags) < MaxErrors {
				d.Pos = p.within(arg.Pos, strings.Index(arg.Value.S, bad.Expr))
			}
		}
		switch bad.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape:
			d.Hint = "patterns are RE2 expressions: they can neither look around nor refer back"
		case syntax.ErrInvalidRepeatSize:
			d.Hint = "repeats count up to 1000, those within others multiplied"
		}
	}
	if arg.Setting != "" && d.Hint == "" {
		d.Hint = fmt.Sprintf("$%s is %s", arg.Setting, short(arg.Value.S))
	}
	p.report(d)
}

// within is the place of the i-th byte of the text that stands at pos.
func (p *parser) within(pos Pos, i int) Pos {
	line, ok := lineOf(p.prog.Text, pos.Line)
	if !ok || i < 0 {
		return pos
	}
	from := 0
	for at := range line {
		if from++; from == pos.Col {
			line = line[at:]
			break
		}
	}
	raw := strings.HasPrefix(line, "`")
	pos.Col++
	for at, n := 1, 0; at < len(line) && n < i; at, n = at+1, n+1 {
		if !raw && line[at] == '\\' && at+1 < len(line) && strings.IndexByte(escapes, line[at+1]) >= 0 {
			at++
			pos.Col++
		}
		if line[at]&0xc0 != 0x80 { // the first byte of a character
			pos.Col++
		}
	}
	return pos
}
