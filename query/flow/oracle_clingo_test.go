package flow_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"weir/query"
)

// aggregate writes a rule whose head aggregates: sol are the solutions, by group,
// arguments and named variables.
func (t *translation) aggregate(r *query.Rule, name string, b *aspBody, args []string) {
	numbered := func(prefix string, n int) []string {
		var v []string
		for i := range n {
			v = append(v, fmt.Sprint(prefix, i))
		}
		return v
	}
	var group, values []string
	for i, a := range r.Head.Args {
		if a.Op != query.Aggregate {
			group = append(group, args[i])
		}
		if a.Op == query.Aggregate {
			for _, x := range a.Args {
				values = append(values, t.term(b, x))
			}
		}
	}
	named := slices.Sorted(maps.Values(b.names))
	sol := fmt.Sprintf("sol_%d_%s", r.ID, name)
	t.line("%s(%s)%s", sol, strings.Join(slices.Concat(group, values, named), ","), tail(b.lits))
	g, v, n := numbered("G", len(group)), numbered("Y", len(values)), numbered("Z", len(named))
	all := fmt.Sprintf("%s(%s)", sol, strings.Join(slices.Concat(g, v, n), ","))
	some := fmt.Sprintf("%s(%s)", sol, strings.Join(slices.Concat(g, slices.Repeat([]string{"_"}, len(v)+len(n))), ","))
	body := []string{some}
	if r.Class == query.Sealed {
		u := ""
		for _, l := range r.Body {
			if l.Atom != nil && t.page[l.Atom.Table] {
				u = t.term(b, l.Atom.Args[0])
			}
		}
		body = append(body, "page(G"+fmt.Sprint(slices.Index(group, u))+")")
	}
	var row []string
	for i, a := range r.Head.Args {
		if a.Op != query.Aggregate {
			row, g = append(row, g[0]), g[1:]
			continue
		}
		mine := v[:len(a.Args)]
		v = v[len(a.Args):]
		result := fmt.Sprint("N", i)
		grows := t.lattice[r.Head.Table][i] != query.Each
		row = append(row, result)
		switch a.Name {
		case "count":
			set := strings.Join(mine, ",")
			if len(mine) == 0 {
				set = strings.Join(append(n, "1"), ",")
			}
			if grows { // it may count what it leads to
				body = append(body, fmt.Sprintf("%s = 1..%d, #count{ %s : %s } >= %s", result, t.bound, set, all, result))
			} else {
				body = append(body, fmt.Sprintf("%s = #count{ %s : %s }", result, set, all))
			}
		case "sum":
			body = append(body, fmt.Sprintf("%s = #sum{ %s : %s }", result, strings.Join(slices.Concat(mine, n), ","), all))
		case "min", "max":
			if grows {
				body = append(body, all, result+" = "+mine[0])
			} else {
				body = append(body, fmt.Sprintf("%s = #%s{ %s : %s }", result, a.Name, mine[0], all))
			}
		case "top":
			row = t.top(sol, all, row[:len(row)-1], &body)
		}
	}
	t.head(r.Head.Table, name, row, body)
}

// top ranks the solutions of a group by counting those before each. It stands
// alone in its head, so its arguments are Y0, Y1 and Y2.
func (t *translation) top(sol, all string, group []string, body *[]string) []string {
	pair := func(score, x string) string {
		return fmt.Sprintf("pair_%s(%s)", sol, strings.Join(slices.Concat(group, []string{"Y0", score, x}), ","))
	}
	t.line("%s :- %s.", pair("Y1", "Y2"), all)
	before := fmt.Sprintf("before_%s(%s)", sol, strings.Join(slices.Concat(group, []string{"Y1", "Y2", "Y3", "Y4"}), ","))
	t.line("%s :- %s, %s, Y3 > Y1.", before, pair("Y1", "Y2"), pair("Y3", "Y4"))
	t.line("%s :- %s, %s, Y3 = Y1, Y4 < Y2.", before, pair("Y1", "Y2"), pair("Y3", "Y4"))
	*body = append(*body, pair("Y1", "Y2"), fmt.Sprintf("M = #count{ Y3,Y4 : %s }", before), "M < Y0", "N = M+1")
	return slices.Concat(group, []string{"N", "Y1", "Y2"})
}

// clingo returns the rows of tables in the one model that a program has.
func clingo(text string) (map[string][][]any, error) {
	cmd := exec.Command("clingo", "--outf=2", "--warn=none", "-")
	cmd.Stdin = strings.NewReader(text)
	var errs strings.Builder
	cmd.Stderr = &errs
	raw, _ := cmd.Output() // its exit code says satisfiable
	var out struct {
		Result string
		Call   []struct {
			Witnesses []struct{ Value []string }
		}
	}
	if err := json.Unmarshal(raw, &out); err != nil || out.Result != "SATISFIABLE" {
		return nil, fmt.Errorf("clingo says %q: %s", out.Result, errs.String())
	}
	rows := map[string][][]any{}
	for _, c := range out.Call {
		for _, w := range c.Witnesses {
			for _, s := range w.Value {
				name, row, err := atom(s)
				if err != nil {
					return nil, fmt.Errorf("clingo's %s: %w", s, err)
				}
				rows[name] = append(rows[name], row)
			}
		}
	}
	return rows, nil
}

// atom reads t_name("text",12).
func atom(s string) (string, []any, error) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(s, "t_"), "(")
	var row []any
	for rest != "" && rest != ")" {
		if rest[0] == '"' {
			q, after, _ := strings.Cut(rest[1:], `"`)
			v, err := hex.DecodeString(q)
			if err != nil {
				return "", nil, err
			}
			row, rest = append(row, string(v)), strings.TrimPrefix(after, ",")
			continue
		}
		end := strings.IndexAny(rest, ",)")
		n, err := strconv.ParseInt(rest[:end], 10, 64)
		if err != nil {
			return "", nil, err
		}
		row, rest = append(row, n), strings.TrimPrefix(rest[end:], ",")
	}
	return name, row, nil
}
