package query

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bare is p without positions, its name and its text: what it says.
func bare(p *Program) *Program {
	q := *p
	q.Name, q.Text = "", ""
	forget(reflect.ValueOf(&q))
	return &q
}

// forget sets all positions in v to nowhere.
func forget(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			forget(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			forget(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Pos]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			forget(v.Field(i))
		}
	}
}

// again fails unless what is printed of p reads as p, and prints as it was.
func again(t interface {
	Helper()
	Fatalf(string, ...any)
}, p *Program) {
	t.Helper()
	printed := p.String()
	q, diags := Parse("printed", printed)
	if len(diags) > 0 {
		t.Fatalf("what was printed does not read:\n%s", format(q, diags))
	}
	if s := q.String(); s != printed {
		t.Fatalf("printed\n%sthen\n%s", printed, s)
	}
	if !reflect.DeepEqual(bare(p), bare(q)) {
		t.Fatalf("%s reads as another program, printed\n%s", p.Text, printed)
	}
}

// TestPrinting says how programs are written by hand and by weir.
func TestPrinting(t *testing.T) {
	for _, c := range []struct{ by, printed string }{
		{`a( U,0 ):-seed(U).`, `a(U, 0) :- seed(U).`},
		{`a(((U))) :- seed(U).`, `a(U) :- seed(U).`},
		{`a(1+2*3, (1+2)*3, 1-(2-3), 1-2-3, 8/(4/2), 8/4/2).`, `a(1+2*3, (1+2)*3, 1-(2-3), 1-2-3, 8/(4/2), 8/4/2).`},
		{`a(1 - -2, -3, -0.0, 2.0, 1e21, 0.000001).`, `a(1--2, -3, 0.0, 2.0, 1e+21, 1e-06).`},
		{`a(30s, 5m, 2h, 7d, 1.5h, 500ms, 10KB, 2MB, 1KiB, 1.5KB).`, `a(30, 300, 7200, 604800, 5400, 0.5, 10000, 2000000, 1024, 1500).`},
		{`a("\.pdf$", "\d", "\\d", "\t", "\\t", "\\", "\"", "é").`, `a("\.pdf$", "\d", "\d", "\t", "\\t", "\\", "\"", "é").`},
		{"a(`\\.\"x\\`, `\\n`).", `a("\.\"x\\", "\\n").`},
		{`a(V, min(D+1), max P, max count<U>, count<>, top<3, N, V>) :- b(V, D, P, U, N).`,
			`a(V, min D+1, max P, max count<U>, count<>, top<3, N, V>) :- b(V, D, P, U, N).`},
		{`a(sum<-1*X>) :- b(X), X<-1, X>=-1.`, `a(sum<-1*X>) :- b(X), X < -1, X >= -1.`},
		{`a(U) :- b(U, _, _), !c(_), !matches(U, "x"), now() > time("2026-01-01").`,
			`a(U) :- b(U, _, _), !c(_), !matches(U, "x"), now() > time("2026-01-01").`},
		{"live a, b. a(1). small c. input b(url, int) from \"b\\\\c.txt\". set x = 3. d($x). set y = \"q\".",
			"set x = 3.\nset y = \"q\".\ninput b(url, int) from \"b\\c.txt\".\nsmall c.\nlive a.\nlive b.\na(1).\nd($x)."},
	} {
		p, diags := Parse("x", c.by)
		if len(diags) > 0 {
			t.Errorf("%s", format(p, diags))
			continue
		}
		if got := strings.TrimSuffix(p.String(), "\n"); got != c.printed {
			t.Errorf("%s\nis printed\n%s\nwant\n%s", c.by, got, c.printed)
		}
		again(t, p)
	}
}

// anyRune is what may stand in a program.
var anyRune = rapid.Rune().Filter(func(r rune) bool { return r != 0 })

// TestPrintedReadsAlike makes programs at random and reads what is printed.
func TestPrintedReadsAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Program{
			Rules:  rapid.SliceOfN(rapid.Custom(anyRule), 0, 4).Draw(t, "rules"),
			Inputs: rapid.SliceOfN(rapid.Custom(anyInput), 0, 2).Draw(t, "inputs"),
			Lives:  rapid.SliceOfN(rapid.Custom(anyMark), 0, 2).Draw(t, "lives"),
		}
		for i, r := range p.Rules {
			r.ID = i
			count := 0
			everyTerm(r, func(t *Term) {
				if t.Op == Anon {
					count++
					t.Name = fmt.Sprintf("_%d", count)
				}
			})
		}
		empty(&p.Rules)
		empty(&p.Inputs)
		empty(&p.Lives)
		again(t, p)
	})
}

// empty makes nothing of an empty slice, as the parser does.
func empty[T any](s *[]T) {
	if len(*s) == 0 {
		*s = nil
	}
}

func everyTerm(r *Rule, fn func(*Term)) {
	lists := [][]*Term{r.Head.Args}
	for _, l := range r.Body {
		switch {
		case l.Atom != nil:
			lists = append(lists, l.Atom.Args)
		case l.Test != nil:
			lists = append(lists, l.Test.Args)
		default:
			lists = append(lists, []*Term{l.Compare.L, l.Compare.R})
		}
	}
	for _, terms := range lists {
		for _, t := range terms {
			t.Walk(fn)
		}
	}
}

func anyTable(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "crawl", "host", "input", "set", "min", "from", "x_1"}).Draw(t, "table")
}

func anyRule(t *rapid.T) *Rule {
	r := &Rule{Head: &Atom{Table: anyTable(t)}}
	for range rapid.IntRange(1, 3).Draw(t, "columns") {
		c := anyTerm(t, 0)
		if rapid.Bool().Draw(t, "aggregate") {
			c = &Term{Op: Aggregate, Name: rapid.SampledFrom(aggregateNames()).Draw(t, "by")}
			for range rapid.IntRange(0, 2).Draw(t, "arguments") {
				c.Args = append(c.Args, anyTerm(t, 1))
			}
		}
		c.Lattice = rapid.SampledFrom([]Lattice{Each, Min, Max}).Draw(t, "lattice")
		r.Head.Args = append(r.Head.Args, c)
	}
	for range rapid.IntRange(0, 3).Draw(t, "literals") {
		l := &Literal{}
		switch rapid.IntRange(0, 2).Draw(t, "literal") {
		case 0:
			l.Neg = rapid.Bool().Draw(t, "not")
			l.Atom = &Atom{Table: anyTable(t), Args: []*Term{anyTerm(t, 1)}}
		case 1:
			l.Neg = rapid.Bool().Draw(t, "not")
			l.Test = &Term{Op: Call, Name: "contains", Args: []*Term{anyTerm(t, 1), anyTerm(t, 1)}}
		default:
			op := rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">="}).Draw(t, "op")
			l.Compare = &Compare{Op: op, L: anyTerm(t, 0), R: anyTerm(t, 0)}
		}
		r.Body = append(r.Body, l)
	}
	return r
}

func anyTerm(t *rapid.T, depth int) *Term {
	switch op := Op(rapid.IntRange(0, int(Div)).Draw(t, "op")); {
	case op == Var:
		return &Term{Name: rapid.SampledFrom([]string{"U", "V", "Max"}).Draw(t, "variable")}
	case op == Anon:
		return &Term{Op: Anon}
	case op == Call && depth < 4:
		c := &Term{Op: Call, Name: rapid.SampledFrom([]string{"host", "now", "f"}).Draw(t, "function")}
		for range rapid.IntRange(0, 2).Draw(t, "arguments") {
			c.Args = append(c.Args, anyTerm(t, depth+1))
		}
		return c
	case op >= Add && depth < 4:
		return &Term{Op: op, Args: []*Term{anyTerm(t, depth+1), anyTerm(t, depth+1)}}
	}
	switch c := (&Term{Op: Const}); rapid.IntRange(0, 2).Draw(t, "constant") {
	case 0:
		c.Type, c.Value.N = Int, rapid.Int64().Draw(t, "int")
		return c
	case 1:
		c.Type, c.Value = Float, FloatValue(rapid.Float64().Draw(t, "float"))
		return c
	default:
		c.Type, c.Value.S = Text, rapid.StringOf(rapid.OneOf(anyRune, rapid.SampledFrom([]rune("\"\\\n\t\r`ntrd$%/")))).Draw(t, "text")
		return c
	}
}

func anyInput(t *rapid.T) *Input {
	return &Input{
		Table: anyTable(t),
		Types: rapid.SliceOfN(rapid.SampledFrom([]Type{URL, Text, Int, Float, Time}), 1, 3).Draw(t, "types"),
		File:  rapid.StringOfN(anyRune, 1, 10, -1).Draw(t, "file"),
	}
}

func anyMark(t *rapid.T) *Mark { return &Mark{Table: anyTable(t)} }

// FuzzParse reads anything. What it finds no fault with reads the same when
// printed, and whatever it says can be shown.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"crawl(U, 0) :- seed(U).", `a("\.", -1.5e3, 30s, $x) :- !b(_), matches(X, "(") .`, "set x = 3. live a. small b.",
		"input a(url, int) from `b`.", "a(top<1, X, Y>, min X) :- X + 1 * (2 - Y) < 3.", "\xff\"\n`", "a(1.2.3)# b\n.", "\ufeffa(1).",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, diags := Parse("f", s, Setting{"x", "3"})
		if len(diags) > MaxErrors+1 {
			t.Fatalf("%d errors", len(diags))
		}
		for _, d := range diags {
			if d.Message == "" || d.Format(p) == "" || d.Line < 0 || d.Line > 0 && d.Col < 1 {
				t.Fatalf("%+v", d)
			}
		}
		if !Failed(diags) {
			again(t, p)
		}
	})
}
