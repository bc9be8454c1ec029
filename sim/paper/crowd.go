package paper

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/plan"
	"weir/sim/chart"
)

// sites600 are made-up sites for figures 10 and 11, since the paper does not
// print its own: sizes between 1 and 20, and deadlines for about half of them.
//
//go:embed sites600.csv
var sites600 string

const (
	crawlers = 30 // m
	startup  = 2  // s, in the second table
)

var links600 = []float64{6, 7, 8, 9, 10}

// crowd600 returns the problem of figures 10 and 11.
func crowd600(link, startup float64) *plan.Problem {
	rows, err := csv.NewReader(strings.NewReader(sites600)).ReadAll()
	if err != nil {
		panic("sites600.csv: " + err.Error())
	}
	p := &plan.Problem{Link: []plan.Step{{Rate: link}}, MaxSites: crawlers, Startup: startup}
	for i, row := range rows[1:] {
		size, err1 := strconv.ParseFloat(row[0], 64)
		due, err2 := strconv.ParseFloat(row[1], 64)
		if err := cmp.Or(err1, err2); err != nil {
			panic("sites600.csv: " + err.Error())
		}
		p.Sites = append(p.Sites, plan.Site{Name: fmt.Sprintf("site %d", i+1), Size: size, Deadline: due})
	}
	return p
}

// batches is who is crawled in which slot in the paper's integer program:
// exactly m sites in each, which stay within it.
type batches [][]int

// inOrder cuts an order into slots of m.
func inOrder(order []int, m int) batches {
	return slices.Collect(slices.Chunk(order, m))
}

// evenly fills slots so that all have about as much to do: the largest first, each
// into the slot with the least so far that has room.
func evenly(p *plan.Problem) batches {
	all := make(batches, (len(p.Sites)+p.MaxSites-1)/p.MaxSites)
	load := make([]float64, len(all))
	for _, i := range by(p, func(s *plan.Site) float64 { return -s.Size }) {
		least := -1
		for k := range all {
			if len(all[k]) < p.MaxSites && (least < 0 || load[k] < load[least]) {
				least = k
			}
		}
		all[least] = append(all[least], i)
		load[least] += p.Sites[i].Size
	}
	return all
}

// by returns the sites by a key, rising.
func by(p *plan.Problem, key func(*plan.Site) float64) []int {
	order := make([]int, len(p.Sites))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(&p.Sites[a]), key(&p.Sites[b])) })
	return order
}

// needs returns the shortest slot in which all batches fit.
func (b batches) needs(p *plan.Problem) float64 {
	most := 0.0
	for _, sites := range b {
		bytes := 0.0
		for _, i := range sites {
			bytes += p.Sites[i].Size
		}
		most = max(most, p.Startup+bytes/p.Link[0].Rate)
	}
	return most
}

// objective is what the paper's program makes small: every site is charged the end
// of its slot.
func (b batches) objective(slot float64) (sum float64) {
	for k, sites := range b {
		for range sites {
			sum += float64(k+1) * slot
		}
	}
	return sum
}

// late counts sites whose slots end after their deadlines.
func (b batches) late(p *plan.Problem, slot float64) (n int) {
	for k, sites := range b {
		for _, i := range sites {
			if float64(k+1)*slot > p.Sites[i].Due()*(1+1e-9) {
				n++
			}
		}
	}
	return n
}

// evenest is the shortest slot that any assignment could do with: all slots
// full to the brim.
func evenest(p *plan.Problem) float64 {
	slots := math.Ceil(float64(len(p.Sites)) / float64(p.MaxSites))
	bytes := 0.0
	for i := range p.Sites {
		bytes += p.Sites[i].Size
	}
	return p.Startup + bytes/p.Link[0].Rate/slots
}

// queued is a column of figures 10 and 11.
type queued struct {
	link, startup float64
	cpq, ours     *plan.Plan
	end           float64    // the bound of the end: all bytes over the link, after one start-up
	slots         int        // of the paper's program
	slot          [3]float64 // the lengths that it is shown with: evenest, CPQ's longest batch, any m sites
	milp          [3]float64 // its objective then
}

// slotNames say what the lengths of slots are.
var slotNames = [3]string{"MILP, slots equally full", "MILP, slots for CPQ's batches", "MILP, slots for any 30 sites"}

// crowd makes the plans of figures 10 and 11: without a start-up time, then with.
func crowd() (all []queued, err error) {
	for _, s := range []float64{0, startup} {
		for _, link := range links600 {
			p := crowd600(link, s)
			q := queued{link: link, startup: s, ours: plan.Solve(p, plan.Options{})}
			if q.cpq, err = plan.CPQ(p); err != nil {
				return nil, err
			}
			byDue := inOrder(by(p, (*plan.Site).Due), p.MaxSites)
			largest := inOrder(by(p, func(s *plan.Site) float64 { return -s.Size }), p.MaxSites)
			q.slots = len(byDue)
			q.slot = [3]float64{evenest(p), byDue.needs(p), largest.needs(p)}
			for k, d := range q.slot {
				q.milp[k] = byDue.objective(d)
			}
			q.end = s + float64(q.slots)*(q.slot[0]-s)
			all = append(all, q)
		}
	}
	return all, nil
}

const crowdSetup = "600 sites, 30 at a time, U = 6 to 10 as in the paper. It prints neither sizes nor deadlines nor units: sizes are drawn evenly from 1 to 20, and 299 of the sites have deadlines (assumed; sim/paper/sites600.csv). " +
	"PQ-DB is taken for CPQ. The paper's integer program has slots of one length, exactly 30 sites in each, and charges every site the end of its slot. How long a slot is, it does not say: " +
	"shown are the shortest that could ever do (all slots equally full), the shortest that takes the batches of CPQ, and the shortest that takes any 30 sites."

// queues are figures 10 and 11.
func queues() []Experiment {
	return []Experiment{
		{
			Name: "zhu-10", Title: "600 sites, 30 crawlers: the sum of times",
			Paper: "A picture, no numbers: the sums of PQ-DB and of the MILP grow rapidly as U becomes small, and PQ-DB significantly outperforms the MILP.",
			Setup: crowdSetup,
			judge: func(r *record, f *Finding) { f.crowd(r, judgeQueueSum) },
		},
		{
			Name: "zhu-11", Title: "600 sites, 30 crawlers: the end",
			Paper: "A picture, no numbers: the end of both decreases as U grows, and that of PQ-DB is better than that of the MILP.",
			Setup: crowdSetup,
			judge: func(r *record, f *Finding) { f.crowd(r, judgeQueueEnd) },
		},
	}
}

func (f *Finding) crowd(r *record, judge func(f *Finding, all []queued)) {
	all, err := r.crowd()
	if err != nil {
		f.Comment = "The plans could not be made: " + err.Error()
		return
	}
	judge(f, all)
}

// curves draws a chart over U, without start-up times.
func (f *Finding) curves(title, what string, all []queued, names []string, of func(q *queued) []float64) {
	c := &chart.Chart{Title: title, X: chart.Axis{Label: "link U, size units a second"}, Y: chart.Axis{Label: what}}
	for i, name := range names {
		l := chart.Line{Name: name, Points: name != "bound", Dashed: strings.HasPrefix(name, "MILP") || name == "bound"}
		for k := range all {
			if all[k].startup > 0 {
				continue
			}
			y := of(&all[k])[i]
			l.X, l.Y = append(l.X, all[k].link), append(l.Y, y)
			c.Y.To = max(c.Y.To, 1.05*y)
		}
		c.Lines = append(c.Lines, l)
	}
	f.chart("chart", c)
}

// holds adds a target that holds for all columns with a start-up time or fails.
func (f *Finding) holds(what, want string, all []queued, s float64, met func(q *queued) bool, got func(q *queued) float64, format string) {
	ok, low, high := true, math.Inf(1), math.Inf(-1)
	for i := range all {
		if q := &all[i]; q.startup == s {
			ok = ok && met(q)
			low, high = min(low, got(q)), max(high, got(q))
		}
	}
	f.target(what, want, len(all) > 0, ok, format, low, high)
}

func judgeQueueSum(f *Finding, all []queued) {
	t := &chart.Table{Title: "sum of the times when sites are done", Columns: []string{"start-up, s", "U", "CPQ", "CPQ, late", slotNames[0], slotNames[1], slotNames[2], "weir", "weir, late", "bound", "CPQ : weir"}}
	for _, q := range all {
		t.Add(q.startup, q.link, math.Round(q.cpq.Sum), q.cpq.Late, math.Round(q.milp[0]), math.Round(q.milp[1]), math.Round(q.milp[2]), math.Round(q.ours.Sum), q.ours.Late, math.Round(q.ours.Bound), round(q.cpq.Sum/q.ours.Sum))
	}
	f.table("", t)
	f.curves("Zhu et al., figure 10: sum of times, 600 sites", "sum of times, s", all, []string{"CPQ", slotNames[0], slotNames[1], slotNames[2], "weir", "bound"},
		func(q *queued) []float64 {
			return []float64{q.cpq.Sum, q.milp[0], q.milp[1], q.milp[2], q.ours.Sum, q.ours.Bound}
		})
	constant := f.assignments(crowd600(links600[0], 0))
	first := all[0]
	inverse := func(q *queued) float64 { return q.cpq.Sum * q.link / (first.cpq.Sum * first.link) }
	f.holds("CPQ grows as U becomes small", "as 1/U: U times the sum within 0.1%", all, 0, func(q *queued) bool { return math.Abs(inverse(q)-1) < 1e-3 }, inverse, "U times the sum is %.3f to %.3f of that at U = 6")
	for k, name := range slotNames {
		ratio := func(q *queued) float64 { return q.cpq.Sum / q.milp[k] }
		f.holds("CPQ against "+name, "CPQ lower at every U", all, 0, func(q *queued) bool { return ratio(q) < 1 }, ratio, "%.3f to %.3f of it")
	}
	f.target("the paper's program", "its objective tells assignments apart", true, !constant, "%s", map[bool]string{true: "the same for all six", false: "it differs"}[constant])
	for _, at := range []float64{0, startup} {
		over := func(q *queued) float64 { return above(q.ours.Sum, q.ours.Bound) }
		f.holds(fmt.Sprintf("weir, start-up of %g s", at), "at the bound, no deadline missed", all, at, func(q *queued) bool { return over(q) == 0 && q.ours.Late == 0 }, over, "%.2g%% to %.2g%% above it")
	}
	f.Comment = "Why the paper's CPQ “beats” its MILP. In a slot there are exactly m sites, and each is charged the slot's end; so the objective is m d (1 + 2 + ... + n/m), whoever is in which slot: the second table has " +
		"six assignments with one value. There is nothing to optimise: any assignment that fits into the slots is optimal, and the paper's list of constraints has no deadlines that could tell one from another. CPQ ends a batch when it is done; " +
		"where slots take CPQ's batches no batch is longer than a slot, so CPQ can only be lower, by the time that slots leave the link idle. Had the slot been chosen as short as could be, with all slots equally full, the program would be ahead of CPQ here, if by little, " +
		"and miss more deadlines (last row). Neither is near the best: sites one after the other on the whole link, the smallest first as far as deadlines allow. " +
		"Repaired (plan.Slots), the program charges a site for the slots until it is done, and may use as many as it likes. The bound holds for it too, since it is that of one link without slots; zhu-slots has a solver work on a small one."
}

// assignments shows the paper's objective for different ways to fill the slots,
// and says whether it is the same for all.
func (f *Finding) assignments(p *plan.Problem) bool {
	largest := by(p, func(s *plan.Site) float64 { return -s.Size })
	listed := by(p, func(*plan.Site) float64 { return 0 })
	shuffled := by(p, func(s *plan.Site) float64 { return math.Mod(s.Size*7919.7, 1) })
	ways := []struct {
		name string
		b    batches
	}{
		{"by deadline, as CPQ", inOrder(by(p, (*plan.Site).Due), p.MaxSites)},
		{"smallest first", inOrder(by(p, func(s *plan.Site) float64 { return s.Size }), p.MaxSites)},
		{"largest first", inOrder(largest, p.MaxSites)},
		{"as listed", inOrder(listed, p.MaxSites)},
		{"shuffled", inOrder(shuffled, p.MaxSites)},
		{"evenly", evenly(p)},
	}
	slot := inOrder(largest, p.MaxSites).needs(p)
	t := &chart.Table{Title: fmt.Sprintf("the paper's objective at U = %g, for six ways to fill the slots", p.Link[0].Rate),
		Columns: []string{"slots filled", fmt.Sprintf("slots of %.1f s", slot), "late then", "shortest slot", "with that", "late then", "batches end when done"}}
	same := true
	for _, w := range ways {
		own := w.b.needs(p)
		same = same && w.b.objective(slot) == ways[0].b.objective(slot)
		t.Add(w.name, math.Round(w.b.objective(slot)), w.b.late(p, slot), tenths(own), math.Round(w.b.objective(own)), w.b.late(p, own), math.Round(w.b.asDone(p)))
	}
	t.Notes = append(t.Notes, "“Batches end when done” is what the assignment really comes to, and what the objective should have seen: each batch begins when the one before it is done, and all its sites end together.")
	f.table("assignments", t)
	return same
}

// asDone is the sum of times when batches follow each other without slots, all
// sites of a batch ending together.
func (b batches) asDone(p *plan.Problem) (sum float64) {
	now := 0.0
	for _, sites := range b {
		bytes := 0.0
		for _, i := range sites {
			bytes += p.Sites[i].Size
		}
		now += p.Startup + bytes/p.Link[0].Rate
		sum += float64(len(sites)) * now
	}
	return sum
}

func judgeQueueEnd(f *Finding, all []queued) {
	end := func(q *queued, k int) float64 { return float64(q.slots) * q.slot[k] }
	t := &chart.Table{Title: "when the last site is done", Columns: []string{"start-up, s", "U", "CPQ", slotNames[0], slotNames[1], slotNames[2], "weir", "bound"}}
	for i := range all {
		q := &all[i]
		t.Add(q.startup, q.link, tenths(q.cpq.Max), tenths(end(q, 0)), tenths(end(q, 1)), tenths(end(q, 2)), tenths(q.ours.Max), tenths(q.end))
	}
	f.table("", t)
	f.curves("Zhu et al., figure 11: end of the last of 600 sites", "end, s", all, []string{"CPQ", slotNames[0], slotNames[1], slotNames[2], "weir", "bound"},
		func(q *queued) []float64 {
			return []float64{q.cpq.Max, end(q, 0), end(q, 1), end(q, 2), q.ours.Max, q.end}
		})
	first := all[0]
	inverse := func(q *queued) float64 { return q.cpq.Max * q.link / (first.cpq.Max * first.link) }
	f.holds("CPQ ends earlier as U grows", "as 1/U: U times the end within 0.1%", all, 0, func(q *queued) bool { return math.Abs(inverse(q)-1) < 1e-3 }, inverse, "U times the end is %.3f to %.3f of that at U = 6")
	for k, name := range slotNames {
		ratio := func(q *queued) float64 { return q.cpq.Max / end(q, k) }
		f.holds("CPQ against "+name, "CPQ earlier at every U", all, 0, func(q *queued) bool { return ratio(q) < 1-1e-9 }, ratio, "%.3f to %.3f of it")
	}
	for _, s := range []float64{0, startup} {
		over := func(q *queued) float64 { return above(q.ours.Max, q.end) }
		f.holds(fmt.Sprintf("weir, start-up of %g s", s), "at the bound", all, s, func(q *queued) bool { return over(q) == 0 }, over, "%.2g%% to %.2g%% above it")
	}
	f.Comment = "Without start-up times everybody who keeps the link full ends when all bytes are through: CPQ, weir, and the program with slots equally full end together, and that is the bound. The MILP ends later by what its slots leave idle, " +
		"and by nothing else: the length of the slot decides, not the assignment. With a start-up of 2 s CPQ pays it once a batch, 20 times, while nothing flows; weir starts a site while others use the link, and pays it once. " +
		"weir's plan is that of the least sum: it ends no later for it."
}
