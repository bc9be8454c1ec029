package query

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// counting is a random program of rules that count: n and m are sets of numbers, x
// has the least and y the greatest that were derived.
func counting(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("crawl(U) :- seed(U).\nn(U, 0) :- seed(U).\nm(U, 1) :- seed(U).\nx(U, min 3) :- seed(U).\ny(U, max -2) :- seed(U).\n")
	small := rapid.SampledFrom([]string{"-2", "-1", "0", "1", "2", "3"})
	op := rapid.SampledFrom([]string{"+", "-", "*", "/"})
	column := map[string]string{"n": "", "m": "", "x": "min ", "y": "max "}
	table := rapid.SampledFrom([]string{"n", "m", "x", "y"})
	for range rapid.IntRange(1, 4).Draw(t, "rules") {
		to, from := table.Draw(t, "to"), table.Draw(t, "from")
		if rapid.Bool().Draw(t, "itself") {
			from = to
		}
		expr := "K"
		for range rapid.IntRange(0, 2).Draw(t, "operators") {
			expr = fmt.Sprintf("(%s %s %s)", expr, op.Draw(t, "op"), rapid.OneOf(small, rapid.Just("K")).Draw(t, "operand"))
		}
		body := fmt.Sprintf("%s(U, K)", from)
		for range rapid.IntRange(0, 2).Draw(t, "comparisons") {
			body += fmt.Sprintf(", K %s %s", rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "compare"), rapid.SampledFrom([]string{"-5", "0", "1", "7"}).Draw(t, "bound"))
		}
		fmt.Fprintf(&b, "%s(U, %s%s) :- %s.\n", to, column[to], expr, body)
	}
	return b.String()
}

// What passes ends: whatever rules derive from what they have derived, there comes
// a time when nothing is new.
func TestWhatPassesEnds(t *testing.T) {
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		text := counting(t)
		p, diags := Parse("a.dl", text)
		if Failed(diags) {
			t.Fatalf("%s", format(p, diags))
		}
		c, _ := Check(p)
		if c == nil || c.Levels > 0 {
			return
		}
		passed++
		const many = 1_000
		rows := map[string]map[int64]bool{"n": {0: true}, "m": {1: true}, "x": {3: true}, "y": {-2: true}}
		for steps, changed := 0, true; changed; steps++ {
			changed = false
			for _, r := range p.Rules[5:] {
				from := rows[r.Body[0].Atom.Table]
				cl := &clause{Rule: r, reads: []*Table{c.Table(r.Body[0].Atom.Table)}}
				cl.reads = append(cl.reads, make([]*Table, len(r.Body)-1)...)
				cl.bind()
				var found []int64
				for k := range from {
					s := situation{"K": k}
					if v, ok := s.value(cl, r.Head.Args[1]); ok && s.holds(cl) {
						found = append(found, v)
					}
				}
				for _, v := range found {
					changed = merge(rows[r.Head.Table], v, c.Table(r.Head.Table).Lattice[1]) || changed
				}
				if len(rows[r.Head.Table]) > many || steps > many {
					t.Fatalf("this does not end:\n%s", text)
				}
			}
		}
	})
	t.Logf("%d programs pass", passed)
}

// merge puts a value into a column, and says whether that was new.
func merge(rows map[int64]bool, v int64, l Lattice) bool {
	if rows[v] {
		return false
	}
	for was := range rows {
		if l == Min && was <= v || l == Max && was >= v {
			return false
		}
	}
	if l != Each {
		clear(rows)
	}
	rows[v] = true
	return true
}
