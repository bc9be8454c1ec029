package plan

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Problem is what is to be done, and over which link.
type Problem struct {
	Link      []Step // in the order of time, the first from 0 on; the last holds for ever
	Sites     []Site
	MaxSites  int     // sites at a time (m in Zhu et al.); 0 = no bound
	Startup   float64 // that a site takes before its first byte, while it counts as one of MaxSites
	MinRate   float64 // of a site that is being crawled, or its cap if that is less; 0 = none
	Objective Objective
}

// Step is the link from a time on.
type Step struct{ From, Rate float64 }

// Site is one that is to be crawled.
type Site struct {
	Name      string
	Size      float64 // bytes to come, as they take up the link (xi D); 0 = it is done
	Deadline  float64 // 0 = none; before NotBefore, or negative, it cannot be kept
	Cap       float64 // what the site can serve; 0 = whatever the link can
	Weight    float64 // in sums; 0 = 1
	NotBefore float64
	Manners   Manners
}

// Manners are what politeness asks of a site's crawl. The zero value asks for
// nothing.
type Manners struct {
	Pages    int     // p
	PerConn  int     // c, pages on a connection; 0 = 1
	Wait     float64 // w, from one connection to the next
	Delay    float64 // g, from one page to the next (crawl-delay); 0 = none
	PageTime float64 // t, that a page takes
}

// Least returns the time that a site takes at least, whatever its speed: no
// sooner than ceil(p/c) w + p t, nor p g.
func (m Manners) Least() float64 {
	p := float64(m.Pages)
	visits := math.Ceil(p / float64(max(m.PerConn, 1)))
	return max(float64(visits*m.Wait)+float64(p*m.PageTime), p*m.Delay)
}

// Most returns the highest rate of the site: its cap, or what manners leave of
// it. It is infinite when nothing bounds it.
func (s *Site) Most() float64 {
	most := math.Inf(1)
	if s.Cap > 0 {
		most = s.Cap
	}
	if t := s.Manners.Least(); t > 0 {
		most = min(most, s.Size/t)
	}
	return most
}

// Due returns the deadline, infinite when there is none.
func (s *Site) Due() float64 {
	if s.Deadline == 0 {
		return math.Inf(1)
	}
	return s.Deadline
}

// Worth returns the weight.
func (s *Site) Worth() float64 { return cmp.Or(s.Weight, 1) }

// Objective is what a Plan makes as small as it can, once the deadlines are
// kept. Lateness and Tardiness take deadlines for wishes.
type Objective uint8

const (
	Sum       Objective = iota // of the times when sites are done, weighted
	Max                        // the time when the last is
	Lateness                   // the most that a site is done after its deadline; negative when all are early
	Tardiness                  // the sum of what sites are late, weighted
)

var objectives = []string{"sum", "max", "lateness", "tardiness"}

func (o Objective) String() string {
	if int(o) < len(objectives) {
		return objectives[o]
	}
	return fmt.Sprintf("objective %d", uint8(o))
}

// wishes says that deadlines are wishes.
func (o Objective) wishes() bool { return o == Lateness || o == Tardiness }

// ParseObjective reads an Objective's name; "" is sum.
func ParseObjective(name string) (Objective, error) {
	for i, o := range objectives {
		if name == o {
			return Objective(i), nil
		}
	}
	if name == "" {
		return Sum, nil
	}
	return 0, fmt.Errorf("no objective is called %q; there are %s", name, strings.Join(objectives, ", "))
}

// Plan is an answer to a Problem.
type Plan struct {
	Method    string
	Objective Objective
	Courses   []Course // one for every site of the Problem, in its order
	Value     float64  // of the objective
	Bound     float64  // no plan that keeps as many deadlines can have a lower Value; negative infinity: not known
	Sum       float64  // of the times when sites are done, weighted
	Max       float64  // when the last is
	Late      int      // sites that are done after their deadlines
}

// Course is what a Plan has for one site.
type Course struct {
	Start  float64 // when it begins to count as one of MaxSites
	Finish float64 // infinite: never; of a site without anything to come its NotBefore, 0 as a rule
	Rates  []Rate  // in the order of time, without overlaps
}

// Rate is what a site gets for some time.
type Rate struct{ From, To, Rate float64 }

// Feasible says that all deadlines are kept.
func (p *Plan) Feasible() bool { return p.Late == 0 }

// Gap says how far the Value can be from the best there is, as a share of it: 0 is
// proved to be the best. It is infinite when nothing is known, as of a Value below
// the Bound: that is then about other plans. A Plan that is late has a Gap to plans
// that may be later still.
func (p *Plan) Gap() float64 {
	if math.IsInf(p.Bound, -1) || math.IsInf(p.Value, 1) {
		return math.Inf(1)
	}
	d, size := p.Value-p.Bound, max(math.Abs(p.Value), math.Abs(p.Bound))
	switch {
	case d < -float64(strict*size)-float64(4*tiny*p.Max):
		return math.Inf(1)
	case d <= tiny*size:
		return 0
	case p.Bound <= 0:
		return math.Inf(1)
	}
	return d / p.Bound
}

// Fault is what is wrong with a Problem.
type Fault struct {
	Site    int    // -1: it is not about a site
	Field   string // as the plan file calls it: link, size, deadline, ...
	Message string
}

func (f *Fault) Error() string { return f.Field + ": " + f.Message }
