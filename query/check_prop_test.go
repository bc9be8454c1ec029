package query

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

// samples are all programs of testdata.
func samples(tb testing.TB) []string {
	tb.Helper()
	var list []string
	files, _ := filepath.Glob("testdata/programs/*.dl")
	for _, file := range files {
		list = append(list, program(tb, file))
	}
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range archives {
		for _, f := range txtar.Parse([]byte(program(tb, file))).Files {
			if strings.HasSuffix(f.Name, ".dl") {
				list = append(list, string(f.Data))
			}
		}
	}
	return list
}

// FuzzCheck checks whatever can be read, as sound does.
func FuzzCheck(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, text) })
}

// sound checks a program and what must hold of the answer: it is the same for the
// same text, checking again what was checked changes nothing, and what passes
// keeps its own rules.
func sound(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) *Checked {
	t.Helper()
	p, diags := Parse("a.dl", text)
	if Failed(diags) {
		return nil
	}
	c, diags := Check(p)
	if (c == nil) != Failed(diags) {
		t.Fatalf("checked %v, but failed %v", c != nil, Failed(diags))
	}
	q, _ := Parse("a.dl", text)
	d, again := Check(q)
	if a, b := format(p, diags), format(q, again); a != b {
		t.Fatalf("the same program gets two answers:\n%s\n%s", a, b)
	}
	if c == nil {
		return nil
	}
	if a, b := overview(c), overview(d); a != b {
		t.Fatalf("the same program has two meanings:\n%s\n%s", a, b)
	}
	before := p.String()
	e, again := Check(p)
	if a, b := format(p, diags), format(p, again); a != b || p.String() != before || overview(e) != overview(c) {
		t.Fatalf("checked again:\n%s\n%s\n%s\n%s", b, p, overview(e), overview(c))
	}
	for _, table := range c.Tables {
		for _, r := range table.Rules {
			lawful(t, c, table, r)
		}
	}
	return c
}

func overview(c *Checked) string {
	var b strings.Builder
	for _, t := range c.Tables {
		b.WriteString(described(t) + "\n")
	}
	return b.String()
}

// lawful says of a rule what every rule that passes must keep to.
func lawful(t interface {
	Helper()
	Fatalf(string, ...any)
}, c *Checked, head *Table, r *Rule) {
	t.Helper()
	typed := func(a *Term) {
		a.Walk(func(a *Term) {
			if a.Type == Unknown {
				t.Fatalf("%s has no type in\n%s", a, r)
			}
		})
	}
	col := 0
	for _, a := range r.Head.Args {
		typed(a)
		if want := head.Types[col+width(a)-1]; a.Type != want && (a.Type != Int || want != Float) {
			t.Fatalf("%s is %s, its column is %s in\n%s", a, a.Type, want, r)
		}
		col += width(a)
	}
	if head.Steers && head.Level > 0 {
		t.Fatalf("%s steers and is of level %d", head.Name, head.Level)
	}
	for _, l := range r.Body {
		if l.Test != nil {
			for _, a := range l.Test.Args {
				typed(a)
			}
		}
		if l.Compare != nil {
			typed(l.Compare.L)
			typed(l.Compare.R)
		}
		if l.Atom == nil {
			continue
		}
		body := c.Table(l.Atom.Table)
		if len(l.Atom.Args) != body.Arity() {
			t.Fatalf("%s has %d columns in\n%s", body.Name, len(l.Atom.Args), r)
		}
		for i, a := range l.Atom.Args {
			if typed(a); a.Type != body.Types[i] {
				t.Fatalf("%s is %s, its column is %s in\n%s", a, a.Type, body.Types[i], r)
			}
		}
		settled := body.Level < head.Level || head.Step >= 0 && body.Step >= 0
		switch {
		case body.Level > head.Level:
			t.Fatalf("%s of level %d reads %s of level %d in\n%s", head.Name, head.Level, body.Name, body.Level, r)
		case head.Steers && !body.Steers:
			t.Fatalf("%s steers and reads %s, which does not, in\n%s", head.Name, body.Name, r)
		case r.Class == Final && !settled:
			t.Fatalf("%s aggregates %s of its own level in\n%s", head.Name, body.Name, r)
		case l.Neg && body.Kind == Derived && !settled:
			t.Fatalf("%s reads !%s of its own level in\n%s", head.Name, body.Name, r)
		}
	}
}

func TestSamples(t *testing.T) {
	for _, s := range samples(t) {
		sound(t, s)
	}
}

// Pieces of random rules.
var (
	pieceHeads = []string{"crawl(U, 0)", "crawl(V, D+1)", "crawl(V, D)", "p(U, N)", "p(V, N+1)", "p(U, 0)", "q(U)", "q(V)", "r(U, min D)", "r(V, min D+1)", "r(V, min D-1)",
		"s(V, max count<U>)", "s(V, max N)", "t(U, count<V>)", "t(H, sum<N>)", "w(U, I, X)", "w(U, 0, 1.0)", "w(V, I+1, sum<X>)", "b(top<3, N, U>)", "stop(H)", "wait(H, N)", "q(\"http://a.org\")"}
	pieceAtoms = []string{"seed(U)", "seed(U, X)", "link(U, V)", "link(V, U)", "crawl(U, D)", "crawl(U, D)", "crawl(V, _)", "fetched(U, N)", "fetched(V)", "word(U, H, N)", "p(U, N)", "p(V, I)", "q(U)", "q(V)",
		"r(U, D)", "r(V, N)", "s(U, N)", "t(U, N)", "t(H, N)", "w(U, I, X)", "w(V, I, X)", "closed(H)", "b(I, N, U)", "!q(V)", "!closed(H)", "!title(U, _)", "!p(U, N)", "!r(V, _)"}
	pieceTests = []string{"D < 3", "D > 3", "N < 5", "N > 1", "I < 4", "H = host(U)", "N = len(H)", "N = D", "D = 0", "X = 0.5", "X = N*0.5", "contains(U, \"a\")", "U != V", "N = D+1", "now() > time(\"2026-01-01\")", "I = N+1"}
)

// TestRandomPrograms grows programs by rules that leave them a meaning.
func TestRandomPrograms(t *testing.T) {
	kept, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := "input closed(text) from \"closed.txt\".\ncrawl(U, 0) :- seed(U).\n"
		for _, h := range rapid.SliceOfN(rapid.SampledFrom(pieceHeads), 5, 30).Draw(t, "heads") {
			body := rapid.SliceOfN(rapid.SampledFrom(pieceAtoms), 1, 3).Draw(t, "atoms")
			body = append(body, rapid.SliceOfN(rapid.SampledFrom(pieceTests), 0, 2).Draw(t, "tests")...)
			longer := fmt.Sprintf("%s%s :- %s.\n", text, h, strings.Join(body, ", "))
			all++
			if sound(t, longer) != nil {
				text = longer
				kept++
			}
		}
	})
	t.Logf("%d of %d rules are kept", kept, all)
}

// Every variable is twice the one before: whoever writes them out never ends.
func TestLongEquations(t *testing.T) {
	var b strings.Builder
	b.WriteString("crawl(U) :- seed(U).\nn(U, 0) :- seed(U).\nn(U, X900) :- n(U, X0)")
	for i := range 900 {
		fmt.Fprintf(&b, ", X%d = X%d + X%d", i+1, i, i)
	}
	b.WriteString(", X0 < 10.\n")
	sound(t, b.String())
}

// large is a program of n rules in which every table needs many others.
func large(n int) string {
	var b strings.Builder
	b.WriteString("crawl(U, 0) :- seed(U).\ncrawl(V, D+1) :- crawl(U, D), link(U, V), D < 5.\nt0(U, N) :- fetched(U, N).\n")
	for i := range n {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "t%d(V, N) :- t%d(U, N), link(U, V), N < 10, host(U) != host(V).\n", i+1, i)
		case 1:
			fmt.Fprintf(&b, "t%d(V, N) :- t%d(U, N), t%d(V, N), link(U, V), contains(V, \"a\").\n", i+1, i, i/2)
		case 2:
			fmt.Fprintf(&b, "t%d(U, M) :- t%d(U, N), M = N+1, M < 100.\n", i+1, i)
		case 3:
			fmt.Fprintf(&b, "t%d(U, max count<V>) :- t%d(U, _), link(U, V).\n", i+1, i)
		}
	}
	return b.String()
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{10, 1_000, 9_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := large(n)
			for b.Loop() {
				b.StopTimer()
				p, diags := Parse("large.dl", text)
				if Failed(diags) {
					b.Fatal(format(p, diags[:1]))
				}
				b.StartTimer()
				if _, diags := Check(p); Failed(diags) {
					b.Fatal(format(p, diags[:1]))
				}
			}
		})
	}
}
