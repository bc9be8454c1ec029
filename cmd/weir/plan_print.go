package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"weir/sim/chart"
)

const (
	planRows  = 40 // of the table and the chart on a terminal
	planWidth = 80 // of the chart where there is no terminal
	rowWidth  = 57 // of a row of the table without the name
	nameWidth = 12 // of a name at least
	cellWidth = 18 // of any other column, with the space before it
)

// print writes the report for people, in lines of so many columns; 0: it does not
// go to a terminal.
func (r *planReport) print(w io.Writer, room int) error {
	if len(r.file.Sites) == 0 {
		_, err := fmt.Fprintln(w, "There is nothing to do: the plan has no sites.")
		return err
	}
	var b strings.Builder
	fold := func(text string, inset int) { b.WriteString(folded(text+"\n", room, inset)) }
	fold(r.verdict(), 0)
	for _, text := range r.advice() {
		b.WriteString("\n")
		fold("- "+text, 2)
	}
	b.WriteString("\n")
	some := 0
	if room > 0 {
		some = planRows
	}
	if err := r.table(some, room).WriteTextIn(&b, room); err != nil {
		return err
	}
	b.WriteString("\n")
	g := r.gantt(planRows)
	g.Title = ""
	if err := g.WriteTextIn(&b, cmp.Or(room, planWidth), room > 0 && blocks()); err != nil {
		return err
	}
	b.WriteString("\n")
	fold("objective "+r.objective()+"; "+r.quality(), 10)
	fold(fmt.Sprintf("link      %.0f%% used until the last site is done", 100*r.busy()), 10)
	fold(fmt.Sprintf("planned   by %s in %s", r.method, milliseconds(r.spent)), 10)
	if len(r.all) > 0 {
		b.WriteString("\n")
		if err := r.comparison().WriteTextIn(&b, room); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// blocks says whether the terminal knows more letters than those of ASCII.
func blocks() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// verdict is the answer in a sentence.
func (r *planReport) verdict() string {
	size, due := 0.0, 0
	for _, s := range r.file.Sites {
		size += s.Size
		if s.Deadline != 0 {
			due++
		}
	}
	what := fmt.Sprintf("%s, %s, over %s: ", many(int64(len(r.file.Sites)), "site"), bytesOf(size), r.file.link)
	late, p := r.plan.Late, r.plan
	switch {
	case math.IsInf(p.Max, 1):
		return what + "not every site gets done. This is the plan that comes closest."
	case late > 0 && r.wishes():
		return fmt.Sprintf("%s%s late, and all is done %s.", what, manyAre(late, "site"), r.after(p.Max))
	case late > 0 && late == due && due == 1:
		return what + "the deadline is not kept. This is the plan that comes closest: with the least lateness in sum, weighted, that was found."
	case late > 0:
		are := "are"
		if late == 1 {
			are = "is"
		}
		return fmt.Sprintf("%s%d of %s %s not kept. This is the plan that comes closest: with the least lateness in sum, weighted, that was found.", what, late, many(int64(due), "deadline"), are)
	case due == 0:
		return fmt.Sprintf("%sall is done %s.", what, r.after(p.Max))
	}
	return fmt.Sprintf("%severy deadline is kept, and all is done %s.", what, r.after(p.Max))
}

// maxAdvice is how many promises that cannot be kept are told of.
const maxAdvice = 12

// advice says of every promise that cannot be kept what is the matter, and what
// would help.
func (r *planReport) advice() []string {
	var all []string
	for i, t := range r.troubles {
		if i == maxAdvice {
			return append(all, fmt.Sprintf("and %s more; --json has all", many(int64(len(r.troubles)-i), "promise")))
		}
		text := t.message
		if r.file.clock && !math.IsNaN(t.earliest) && !math.IsInf(t.earliest, 0) {
			text += " The earliest time is " + r.by(t.earliest) + "."
		}
		all = append(all, text)
	}
	if n := len(r.troubles); n > 1 && n <= maxAdvice {
		all = append(all, "These go together: what is said of one is for the case that the others follow theirs, all in the same way.")
	}
	for i, l := range r.file.left {
		if i == maxAdvice {
			all = append(all, fmt.Sprintf("%s more are left out; --json has all.", many(int64(len(r.file.left)-i), "site")))
			break
		}
		all = append(all, l.site+" is left out, for its size is not known"+after(": ", l.why)+".")
	}
	if r.better {
		all = append(all, "--method weir keeps every deadline.")
	}
	return all
}

// manyAre is many with its verb.
func manyAre(n int, what string) string {
	if n == 1 {
		return many(1, what) + " is"
	}
	return many(int64(n), what) + " are"
}

// first returns the numbers of the most important sites, at most so many (0: all),
// in their order: those that are late, then those with little slack.
func (r *planReport) first(most int) []int {
	all := make([]int, len(r.file.Sites))
	for i := range all {
		all[i] = i
	}
	if most == 0 || len(all) <= most {
		return all
	}
	urgent := func(i int) float64 {
		slack, due := r.slack(i)
		if !due {
			return math.Inf(1)
		}
		return slack
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(urgent(i), urgent(j)) })
	all = all[:most]
	slices.Sort(all)
	return all
}

// table has a row for each site, or for the most important ones, with names that
// leave room for the rest in so many columns; 0: any.
func (r *planReport) table(most, room int) *chart.Table {
	t := &chart.Table{Columns: []string{"site", "size", "mean rate", "done", "deadline", "slack", "risk"}}
	guessed := false
	for _, i := range r.first(most) {
		s := &r.file.Sites[i]
		size, due, slack := bytesOf(s.Size), "–", "–"
		if r.file.entries[i].guessed {
			size, guessed = "~"+size, true
		}
		if left, ok := r.slack(i); ok {
			due, slack = r.when(s.Deadline), spanText(left)
		}
		t.Add(named(s.Name, room), size, bytesOf(r.mean(i))+"/s", r.when(r.plan.Courses[i].Finish), due, slack, r.risk(i))
	}
	if n := len(r.file.Sites) - len(t.Rows); n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("The %d sites with the least slack; --json and --html have the other %s too.", len(t.Rows), thousands(int64(n))))
	}
	if guessed {
		t.Notes = append(t.Notes, "~: an estimate.")
	}
	return t
}

// named cuts a name so that the row fits into so many columns; where that leaves too
// little of it, so that any other column fits beside it. 0: there is no bound.
func named(name string, room int) string {
	if room <= 0 {
		return name
	}
	if room -= rowWidth; room < nameWidth {
		room = max(room+rowWidth-cellWidth, nameWidth)
	}
	if r := []rune(name); len(r) > room {
		return string(r[:room-1]) + "~"
	}
	return name
}

// gantt draws the rates of all sites, or of the most important ones, in the order
// in which they are done.
func (r *planReport) gantt(most int) *chart.Gantt {
	g := &chart.Gantt{Title: "Who has how much of the link, and when", Unit: chart.Speed, Total: "link", Mark: "deadline", Miss: "missed"}
	if r.file.clock {
		g.Zero = r.file.now
	}
	order := r.first(most)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(r.plan.Courses[i].Finish, r.plan.Courses[j].Finish) })
	for _, i := range order {
		s, c := &r.file.Sites[i], &r.plan.Courses[i]
		row := chart.Row{Name: s.Name, Note: r.when(c.Finish), Mark: s.Deadline, Miss: r.late(i)}
		at := 0.0
		for _, p := range c.Rates {
			from := max(p.From, at) // solvers round
			at = max(p.To, from)
			row.Spans = append(row.Spans, chart.Span{From: from, To: at, Level: p.Rate})
		}
		g.Rows = append(g.Rows, row)
	}
	if len(order) < len(r.file.Sites) {
		g.Total = "" // it would be of these only
	}
	for i, s := range r.file.Link {
		end := math.Inf(1)
		if i+1 < len(r.file.Link) {
			end = r.file.Link[i+1].From
		}
		g.Room = append(g.Room, chart.Span{From: s.From, To: end, Level: s.Rate})
	}
	return g
}

// comparison has a row for each method.
func (r *planReport) comparison() *chart.Table {
	t := &chart.Table{Columns: []string{"method", "sum", "last done", "late", "objective", "from the best", "planned in"}}
	for _, a := range r.all {
		if a.plan == nil {
			t.Add(a.method, "–", "–", "–", "–", "–", milliseconds(a.spent))
			t.Notes = append(t.Notes, a.err.Error()+".")
			continue
		}
		if a.note != "" {
			t.Notes = append(t.Notes, a.note+".")
		}
		gap := "–"
		switch g := r.gap(a); {
		case g == 0:
			gap = "0%"
		case !math.IsInf(g, 1):
			gap = "≤ " + percent(g)
		}
		t.Add(a.method, spanText(a.plan.Sum), spanText(a.plan.Max), a.plan.Late, spanText(a.plan.Value), gap, milliseconds(a.spent))
	}
	return t
}

// html is the report as a page.
func (r *planReport) html() *chart.Report {
	doc := &chart.Report{Title: "Plan"}
	if len(r.file.Sites) == 0 {
		doc.Intro = "There is nothing to do: the plan has no sites."
		return doc
	}
	intro := []string{r.verdict()}
	intro = append(intro, r.advice()...)
	what := r.objective() + "; " + r.quality() + "."
	intro = append(intro, strings.ToUpper(what[:1])+what[1:]+fmt.Sprintf(" The link is used to %.0f%% until then.", 100*r.busy()))
	doc.Intro = strings.Join(intro, "\n\n")
	doc.Parts = []chart.Part{{Gantt: r.gantt(0)}, {Table: r.table(0, 0)}}
	if len(r.all) > 0 {
		doc.Parts = append(doc.Parts, chart.Part{Heading: "Methods", Table: r.comparison()})
	}
	return doc
}
