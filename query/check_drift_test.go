package query

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A situation gives the variables of a rule their values.
type situation map[string]int64

// value works a term out in ints, or fails as a row would be dropped.
func (s situation) value(r *clause, t *Term) (int64, bool) {
	switch t.Op {
	case Var:
		if def := r.binding(t).def; def != nil {
			return s.value(r, def)
		}
		return s[t.Name], true
	case Const:
		return t.Value.N, true
	}
	a, ok := s.value(r, t.Args[0])
	b, good := s.value(r, t.Args[1])
	if !ok || !good || t.Op == Div && b == 0 {
		return 0, false
	}
	switch t.Op {
	case Add:
		return a + b, true
	case Sub:
		return a - b, true
	case Mul:
		return a * b, true
	}
	return a / b, true
}

// holds says that all comparisons of the rule hold.
func (s situation) holds(r *clause) bool {
	for _, l := range r.Body {
		if l.Compare == nil {
			continue
		}
		a, ok := s.value(r, l.Compare.L)
		b, good := s.value(r, l.Compare.R)
		if !ok || !good {
			return false
		}
		switch l.Compare.Op {
		case "=":
			ok = a == b
		case "!=":
			ok = a != b
		case "<":
			ok = a < b
		case "<=":
			ok = a <= b
		case ">":
			ok = a > b
		case ">=":
			ok = a >= b
		}
		if !ok {
			return false
		}
	}
	return true
}

// anyExpr is an expression of the table's columns: D is min, P is max, N neither.
func anyExpr(t *rapid.T) string {
	leaf := rapid.SampledFrom([]string{"D", "D", "P", "P", "N", "X", "-2", "-1", "0", "1", "2", "3"})
	op := rapid.SampledFrom([]string{"+", "-", "*", "/"})
	s := leaf.Draw(t, "leaf")
	for range rapid.IntRange(0, 2).Draw(t, "operators") {
		next, by := op.Draw(t, "op"), leaf.Draw(t, "leaf")
		if next == "/" && by == "0" {
			by = "N" // which may be 0, and unlike 0 itself is not refused
		}
		s = fmt.Sprintf("(%s %s %s)", s, next, by)
	}
	return s
}

// drifter checks a rule of random expressions over a table with a min, a max and
// a plain column, and returns it with its only edge.
func drifter(t *rapid.T) (*clause, *edge) {
	expr := rapid.Custom(anyExpr)
	body := []string{"a(U, D, P, N)", "X = " + strings.NewReplacer("X", "1").Replace(expr.Draw(t, "x"))}
	for range rapid.IntRange(0, 2).Draw(t, "comparisons") {
		op := rapid.SampledFrom([]string{"<", "<=", ">", ">=", "=", "!="}).Draw(t, "compare")
		body = append(body, expr.Draw(t, "left")+" "+op+" "+expr.Draw(t, "right"))
	}
	text := fmt.Sprintf(`crawl(U) :- seed(U).
a("http://a.org/", min -1, max -1, -1).
p(U, min %s, max %s) :- %s.
`, expr.Draw(t, "min"), expr.Draw(t, "max"), strings.Join(body, ", "))
	p, diags := Parse("a.dl", text)
	if Failed(diags) {
		t.Fatalf("%s", format(p, diags))
	}
	c := &checker{prog: p, byName: map[string]*Table{}}
	c.declare()
	c.resolve()
	c.infer()
	c.typeRules()
	c.floors()
	c.connect()
	if len(c.diags) > 0 {
		t.Fatalf("%s", format(p, c.diags))
	}
	return c.rules[2], c.out[c.byName["p"].ID][0]
}

func anySituation(t *rapid.T) situation {
	n := rapid.Int64Range(-6, 6)
	return situation{"D": n.Draw(t, "D"), "P": n.Draw(t, "P"), "N": n.Draw(t, "N")}
}

// A rule that is live concludes no less from a better row: what held still holds,
// and its own columns are no worse. (The table of allowed uses of min and max
// columns, query.md section 1.)
func TestBetterRowsKeepConclusions(t *testing.T) {
	live := 0
	rapid.Check(t, func(t *rapid.T) {
		r, e := drifter(t)
		if e.final() {
			return
		}
		live++
		for range 20 {
			was := anySituation(t)
			now := situation{"N": was["N"],
				"D": was["D"] - rapid.Int64Range(0, 4).Draw(t, "less"),
				"P": was["P"] + rapid.Int64Range(0, 4).Draw(t, "more")}
			low, ok1 := was.value(r, r.Head.Args[1])
			high, ok2 := was.value(r, r.Head.Args[2])
			if !was.holds(r) || !ok1 || !ok2 {
				continue
			}
			lower, ok1 := now.value(r, r.Head.Args[1])
			higher, ok2 := now.value(r, r.Head.Args[2])
			if !now.holds(r) || !ok1 || !ok2 {
				t.Fatalf("%s\nholds for %v and not for %v", r.Rule, was, now)
			}
			if lower > low || higher < high {
				t.Fatalf("%s\nis worse for %v than for %v", r.Rule, now, was)
			}
		}
	})
	t.Logf("%d rules are live", live)
}

// What the bounds of terms promise holds whenever the rule's comparisons do, and
// so does how much more than a variable a term can be.
func TestBoundsHold(t *testing.T) {
	inside := func(t *rapid.T, r *clause, what string, got int64, low, high float64) {
		if math.IsNaN(low) || math.IsNaN(high) || float64(got) < low || float64(got) > high {
			t.Fatalf("%s\n%s is %d, not from %v to %v", r.Rule, what, got, low, high)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r, _ := drifter(t)
		for range 20 {
			s := anySituation(t)
			if !s.holds(r) {
				continue
			}
			for _, a := range r.Head.Args[1:] {
				got, ok := s.value(r, a)
				if !ok {
					continue
				}
				low, high := r.bounds(a)
				inside(t, r, a.String(), got, low, high)
				for _, v := range r.bases(a) {
					name := r.bound[v].name
					low, high := r.change(a, v)
					inside(t, r, a.String()+" less "+name, got-s[name], low, high)
				}
			}
		}
	})
}
