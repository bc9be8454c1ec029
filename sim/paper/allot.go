package paper

import (
	"fmt"
	"math"
	"strings"

	"weir/plan"
	"weir/sim/chart"
)

// setting is one column of figures 4 to 9 of Zhu et al.: six sites and a link.
type setting struct {
	x     float64 // where it stands in the figure
	link  float64 // kbit/s
	sizes []float64
	dues  []float64
	extra bool // beyond the four of the paper
}

// sweep is a series of settings in which one thing changes.
type sweep struct {
	axis     string
	assumed  string
	settings []setting
}

var (
	sixSizes = []float64{24e3, 40e3, 64e3, 96e3, 150e3, 220e3} // kbit
	sixDues  = []float64{0, 400, 0, 600, 0, 800}
	mixed    = []float64{0.8, 1.2, 1, 0.8, 1.2, 1}
	straits  = []float64{1.5, 1.25, 1, 0.8, 0.65} // what deadlines are multiplied with, the last beyond the paper
)

const sixAssumed = "The paper prints no sizes and no deadlines, and its captions are lost in the copy at hand: which figure shows what is read from the text. Six sites of 24, 40, 64, 96, 150 and 220 Mbit, every second with a deadline, of 400, 600 and 800 s (assumed). "

func linkSweep() sweep {
	s := sweep{axis: "link, kbit/s", assumed: sixAssumed + "The link has the paper's 800, 900, 1000 and 1100 kbit/s."}
	for _, link := range []float64{800, 900, 1000, 1100} {
		s.settings = append(s.settings, setting{x: link, link: link, sizes: sixSizes, dues: sixDues})
	}
	return s
}

func sizeSweep() sweep {
	s := sweep{axis: "sizes, kbit in all", assumed: sixAssumed + "The link has 1000 kbit/s, and the sizes are 0.56 and 0.8 of these, these times 0.8, 1.2, 1, 0.8, 1.2, 1, and 1.15 of these."}
	for _, sizes := range [][]float64{scaled(sixSizes, 0.56), scaled(sixSizes, 0.8), scaled(sixSizes, mixed...), scaled(sixSizes, 1.15)} {
		s.settings = append(s.settings, setting{x: total(sizes), link: 1000, sizes: sizes, dues: sixDues})
	}
	return s
}

func rigourSweep() sweep {
	s := sweep{axis: "rigour, kbit/s", assumed: sixAssumed + "The link has 1000 kbit/s, and the deadlines are 1.5, 1.25, 1 and 0.8 of these, and as a fifth set, beyond the paper, 0.65. The rigour of a set is the sum of D/t*, what constant rates must give the sites with deadlines."}
	for i, f := range straits {
		set := setting{link: 1000, sizes: sixSizes, dues: scaled(sixDues, f), extra: i == 4}
		for k, due := range set.dues {
			if due > 0 {
				set.x += set.sizes[k] / due
			}
		}
		s.settings = append(s.settings, set)
	}
	return s
}

// scaled multiplies values, each with its own factor or all with one.
func scaled(values []float64, by ...float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by[i%len(by)]
	}
	return out
}

func total(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func (s *setting) problem() *plan.Problem {
	p := &plan.Problem{Link: []plan.Step{{Rate: s.link}}}
	for i, size := range s.sizes {
		p.Sites = append(p.Sites, plan.Site{Name: fmt.Sprintf("site %d", i+1), Size: size, Deadline: s.dues[i]})
	}
	return p
}

// yardstick is what a figure shows of a plan.
type yardstick struct {
	name  string // with its unit
	of    func(*plan.Plan) float64
	bound func(*setting, *plan.Plan) float64 // of weir's plan: what no plan can be below
}

var (
	byMax = yardstick{"maximum of the crawl times, s", func(p *plan.Plan) float64 { return p.Max },
		func(s *setting, _ *plan.Plan) float64 { return total(s.sizes) / s.link }}
	bySum = yardstick{"sum of the crawl times, s", func(p *plan.Plan) float64 { return p.Sum },
		func(_ *setting, p *plan.Plan) float64 { return p.Bound }}
)

// allotted is what the methods make of a setting, by one yardstick. What a
// method has no plan for is NaN.
type allotted struct {
	setting
	maxt, sumt, ours, bound float64
}

func (y *yardstick) measure(s sweep) []allotted {
	var all []allotted
	for _, set := range s.settings {
		a := allotted{setting: set, maxt: nan, sumt: nan}
		p := set.problem()
		if pl, err := plan.MaxT(p); err == nil {
			a.maxt = y.of(pl)
		}
		if pl, err := plan.SumT(p); err == nil {
			a.sumt = y.of(pl)
		}
		ours := plan.Solve(p, plan.Options{})
		a.ours, a.bound = y.of(ours), y.bound(&set, ours)
		all = append(all, a)
	}
	return all
}

// sixSites are figures 4 to 9.
func sixSites() []Experiment {
	figure := func(n int, title string, s sweep, y yardstick, claim string, judge func(f *Finding, all []allotted)) Experiment {
		return Experiment{
			Name: fmt.Sprintf("zhu-%d", n), Title: title, Paper: claim + " A picture, no numbers.",
			Setup: s.assumed + " weir is one plan, that of the least sum, in both kinds of figures. The bound is what no plan can be below.",
			judge: func(_ *record, f *Finding) {
				all := y.measure(s)
				f.allotted(fmt.Sprintf("Zhu et al., figure %d: %s", n, y.name), s.axis, y.name, all)
				judge(f, all)
			},
		}
	}
	const (
		maxClaim = "The maximum crawling time of M-MAXT is less than that of M-SUMT."
		sumClaim = "The sum of crawling times of M-SUMT is less than that of M-MAXT."
	)
	return []Experiment{
		figure(4, "Six sites, the link: the longest crawl", linkSweep(), byMax, maxClaim, judgeMax),
		figure(5, "Six sites, the link: the sum of crawls", linkSweep(), bySum, sumClaim, judgeSum),
		figure(6, "Six sites, the sizes: the longest crawl", sizeSweep(), byMax, maxClaim, judgeMax),
		figure(7, "Six sites, the sizes: the sum of crawls", sizeSweep(), bySum, sumClaim, judgeSum),
		figure(8, "Six sites, the rigour of deadlines: the longest crawl", rigourSweep(), byMax,
			maxClaim+" The difference is almost constant as the rigour grows.", judgeMaxRigour),
		figure(9, "Six sites, the rigour of deadlines: the sum of crawls", rigourSweep(), bySum,
			sumClaim+" The difference decreases as the rigour grows.", judgeSumRigour),
	}
}

// allotted puts the methods beside each other.
func (f *Finding) allotted(title, axis, what string, all []allotted) {
	t := &chart.Table{Title: what, Columns: []string{axis, "M-MAXT", "M-SUMT", "difference", "weir", "bound", "M-MAXT : weir", "M-SUMT : weir"}}
	c := &chart.Chart{Title: title, X: chart.Axis{Label: axis}, Y: chart.Axis{Label: what}}
	lines := []chart.Line{{Name: "M-MAXT", Points: true}, {Name: "M-SUMT", Points: true}, {Name: "weir", Points: true}, {Name: "bound", Dashed: true}}
	top := 0.0
	for _, a := range all {
		t.Add(tenths(a.x), tenths(a.maxt), tenths(a.sumt), tenths(math.Abs(a.maxt-a.sumt)), tenths(a.ours), tenths(a.bound), round(a.maxt/a.ours), round(a.sumt/a.ours))
		for i, y := range []float64{a.maxt, a.sumt, a.ours, a.bound} {
			lines[i].X, lines[i].Y = append(lines[i].X, a.x), append(lines[i].Y, y)
			if y > top {
				top = y
			}
		}
	}
	first, last := all[0].x, all[len(all)-1].x
	c.Lines, c.X.From, c.X.To, c.Y.To = lines, first-0.05*(last-first), last+0.05*(last-first), 1.05*top
	f.table("", t)
	f.chart("chart", c)
}

// everywhere adds a target: one value is lower than another in all settings.
func (f *Finding) everywhere(what, want string, all []allotted, low, high func(allotted) float64) {
	have, least := len(all) > 0, math.Inf(1)
	for _, a := range all {
		part := 1 - low(a)/high(a)
		have = have && !math.IsNaN(part)
		least = min(least, part)
	}
	f.target(what, want, have, least > 0, "lower by %.1f%% at least", 100*least)
}

func maxtOf(a allotted) float64 { return a.maxt }
func sumtOf(a allotted) float64 { return a.sumt }
func oursOf(a allotted) float64 { return a.ours }

// tight says that no plan can be better than weir's.
func (f *Finding) tight(all []allotted) {
	most := 0.0
	for _, a := range all {
		most = max(most, above(a.ours, a.bound))
	}
	f.target("weir", "at the bound, so that no plan is better", len(all) > 0, most == 0, "%.2g%% above it at most", most)
}

const commentSix = "M-MAXT and M-SUMT give a site one rate for its whole crawl, so the link lies idle in part once the first site is done. weir gives the link to the sites one after the other, the smallest first " +
	"as far as the deadlines leave a choice: the link is full until the end, which makes the longest crawl as short as it can be, and small sites do not wait for large ones, which makes the sum small. "

// above says by how many percent a value exceeds its bound. What arithmetic
// leaves is nothing.
func above(v, bound float64) float64 {
	if v <= bound*(1+1e-6) {
		return 0
	}
	return 100 * (v/bound - 1)
}

func judgeMax(f *Finding, all []allotted) {
	f.everywhere("M-MAXT below M-SUMT", "at every point", all, maxtOf, sumtOf)
	f.tight(all)
	f.Comment = commentSix + "The claim of the paper holds by construction: M-MAXT is the best of all constant rates by this measure."
}

func judgeSum(f *Finding, all []allotted) {
	f.everywhere("M-SUMT below M-MAXT", "at every point", all, sumtOf, maxtOf)
	f.everywhere("weir below M-SUMT", "at every point", all, oursOf, sumtOf)
	f.tight(all)
	f.Comment = commentSix + "The claim of the paper holds by construction: M-SUMT is the best of all constant rates by this measure."
}

// gaps are the differences of the two methods, with and without the settings
// beyond the paper's.
func gaps(all []allotted) (paper, beyond []float64) {
	for _, a := range all {
		d := math.Abs(a.maxt - a.sumt)
		if beyond = append(beyond, d); !a.extra {
			paper = append(paper, d)
		}
	}
	return paper, beyond
}

func judgeMaxRigour(f *Finding, all []allotted) {
	judgeMax(f, all)
	constant := func(what string, d []float64) {
		low, high := math.Inf(1), 0.0
		for _, v := range d {
			low, high = min(low, v), max(high, v)
		}
		f.target(what, "almost constant: the largest at most 1.25 times the smallest", !math.IsNaN(low+high), high <= 1.25*low, "%.0f to %.0f s: %.2f times", low, high, high/low)
	}
	paper, beyond := gaps(all)
	constant("difference, four sets", paper)
	constant("difference, with the fifth", beyond)
	f.Comment += " How the difference goes depends on which deadlines bind in which method: while none does it is constant, " +
		"and as the rigour nears the link what is left for sites without deadlines nears nothing, and both methods' times grow without bound. weir's do not: with rates that change, what is due by each deadline must fit into the time until then, and D/t* is of no account."
}

func judgeSumRigour(f *Finding, all []allotted) {
	judgeSum(f, all)
	falling := func(what string, d []float64) {
		met, have := true, true
		for i := range d {
			have = have && !math.IsNaN(d[i])
			met = met && (i == 0 || d[i] < d[i-1])
		}
		f.target(what, "decreases with the rigour", have, met, "%s s", list(d))
	}
	paper, beyond := gaps(all)
	falling("difference, four sets", paper)
	falling("difference, with the fifth", beyond)
	f.Comment += " The difference falls over the four sets as in the paper, and grows in the fifth: deadlines then take most of the link, and both sums hang on how the rest of it is shared."
}

// tenths leaves one digit after the point, and none from 1000 on.
func tenths(v float64) float64 {
	if math.Abs(v) >= 1000 {
		return math.Round(v)
	}
	return math.Round(v*10) / 10
}

// list writes whole numbers in a row.
func list(values []float64) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%.0f", v))
	}
	return strings.Join(all, ", ")
}
