package program

import (
	"slices"
	"strings"

	"weir/query"
)

// Add returns the program with the clauses of another behind its own, and with
// that one's settings and inputs. What is wrong with a clause is told where it
// was written.
func (s *Source) Add(more *Source) *Source {
	text := s.Text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	added := strings.TrimPrefix(more.Text, "\ufeff")
	sum := &Source{Name: s.Name, Text: text + added, tail: &Source{Name: more.Name, Text: added}, above: strings.Count(text, "\n")}
	sum.Settings = slices.DeleteFunc(slices.Clone(s.Settings), func(v query.Setting) bool {
		return slices.ContainsFunc(more.Settings, func(w query.Setting) bool { return w.Name == v.Name })
	})
	sum.Settings = append(sum.Settings, more.Settings...)
	sum.Inputs = append(slices.Clone(s.Inputs), more.Inputs...)
	return sum
}

// Has says that the rows of an input are there.
func (s *Source) Has(table string) bool {
	return slices.ContainsFunc(s.Inputs, func(f File) bool { return f.Table == table })
}

// Format is a fault of the program as a person should see it.
func (s *Source) Format(p *query.Program, d query.Diag) string {
	if s == nil || s.tail == nil || d.Line <= s.above {
		return d.Format(p)
	}
	d.Line -= s.above
	return d.Format(&query.Program{Name: s.tail.Name, Text: s.tail.Text})
}

// Diff lists the clauses that only one of two programs has, as weir writes them.
// Texts that do not parse differ in what can be read of them.
func Diff(was, is *Source) (gone, fresh []string) {
	a, b := was.clauses(), is.clauses()
	return without(a, b), without(b, a)
}

func (s *Source) clauses() []string {
	p, _ := query.Parse(s.Name, s.Text, s.Settings...)
	return slices.DeleteFunc(strings.Split(p.String(), "\n"), func(line string) bool { return line == "" })
}

// without returns the lines of a that b does not have, as often as it has them
// less.
func without(a, b []string) []string {
	left := map[string]int{}
	for _, line := range b {
		left[line]++
	}
	var out []string
	for _, line := range a {
		if left[line]--; left[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}
