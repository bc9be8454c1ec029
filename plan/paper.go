package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// MaxT gives every site one rate for its whole crawl, all of them at once, so
// that the longest crawl is as short as it can be and deadlines are kept: the
// M-MAXT of Zhu et al., section V.A. A crawl is counted from its site's
// NotBefore, which the paper does not know; so are the caps, the manners and
// the weights that it does not know either.
//
// Deadlines bind whatever the Problem's Objective. It fails with *Unsuited when
// the link changes or there are more sites than MaxSites, and with *Shortage
// when constant rates cannot keep the deadlines: rates that change over time
// might still, see Admit.
func MaxT(p *Problem) (*Plan, error) {
	return atOnce(p, "maxt", func(s *Site) float64 { return s.Size })
}

// SumT gives every site one rate for its whole crawl, all of them at once, so
// that the weighted sum of the times when they are done is as small as it can be and
// deadlines are kept: the M-SUMT of Zhu et al., section V.A. It fails as MaxT does.
func SumT(p *Problem) (*Plan, error) {
	return atOnce(p, "sumt", func(s *Site) float64 { return math.Sqrt(s.Worth() * s.Size) })
}

// CPQ crawls the sites in batches of MaxSites in the order of their deadlines,
// those without one last, and shares the link within a batch by size, so that
// all of a batch are done together: the crawling priority queue of Zhu et al.,
// section V.B. Nobody of a batch starts before all of the last one are done, and
// every batch takes the start-up time before its first byte. A cap or a least
// speed that binds moves the share of the others in the batch.
//
// Deadlines give the order and nothing else: those that are missed are counted in the
// Plan. It fails with *Unsuited when the link changes, and with *Shortage when
// it cannot carry the least speeds of a batch.
func CPQ(p *Problem) (*Plan, error) {
	const method = "cpq"
	link, err := level(p, method)
	if err != nil {
		return nil, err
	}
	var queue []int
	for i := range p.Sites {
		if p.Sites[i].Size > 0 {
			queue = append(queue, i)
		}
	}
	slices.SortStableFunc(queue, func(i, j int) int {
		return cmp.Compare(p.Sites[i].Due(), p.Sites[j].Due())
	})
	batch := len(queue)
	if p.MaxSites > 0 {
		batch = min(batch, p.MaxSites)
	}
	courses := idle(p)
	now := 0.0
	for len(queue) > 0 {
		next := queue[:min(batch, len(queue))]
		queue = queue[len(next):]
		bands := make([]band, len(next))
		for k, i := range next {
			s := &p.Sites[i]
			most := min(s.Most(), link)
			bands[k] = band{shape: s.Size, least: min(p.MinRate, most), most: most}
		}
		rates, need := share(bands, link)
		if need > link {
			return nil, &Shortage{Method: method, Site: -1, Need: need, Have: link,
				why: fmt.Sprintf("%d sites at a time at the least speed take %s, and the link has %s", len(next), rateText(need), rateText(link))}
		}
		end := now
		for k, i := range next {
			courses[i] = steady(p, i, now, rates[k])
			end = max(end, courses[i].Finish)
		}
		now = end
	}
	return planOf(p, method, courses), nil
}

// Unsuited says that a Problem has something that a method does not know.
type Unsuited struct{ Method, Why string }

func (e *Unsuited) Error() string { return e.Method + ": " + e.Why }

// Shortage says that a method has no plan for a Problem, since the rates that
// it would need are not there.
type Shortage struct {
	Method string
	Site   int     // whose own speed is too low; -1: the link is, for all of them together
	Need   float64 // the rate that it would take; infinite: none will do
	Have   float64
	why    string
}

func (e *Shortage) Error() string { return e.Method + ": " + e.why }

// atOnce crawls all sites at the same time, at rates of the given shape as far
// as deadlines and caps allow.
func atOnce(p *Problem, method string, shape func(*Site) float64) (*Plan, error) {
	link, err := level(p, method)
	if err != nil {
		return nil, err
	}
	var busy []int
	var bands []band
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Size <= 0 {
			continue
		}
		most := min(s.Most(), link)
		b := band{shape: shape(s), least: min(p.MinRate, most), most: most}
		if s.Deadline != 0 {
			b.least = max(b.least, s.Size/max(s.Deadline-s.NotBefore-p.Startup, 0))
		}
		if b.least > most*(1+tiny) {
			return nil, narrow(p, method, i, b)
		}
		b.least = min(b.least, most)
		busy = append(busy, i)
		bands = append(bands, b)
	}
	if p.MaxSites > 0 && len(busy) > p.MaxSites {
		return nil, &Unsuited{method, fmt.Sprintf("it crawls all sites at once, and %d are more than the %d at a time", len(busy), p.MaxSites)}
	}
	rates, need := share(bands, link)
	if need > link*(1+tiny) {
		return nil, &Shortage{Method: method, Site: -1, Need: need, Have: link,
			why: fmt.Sprintf("constant rates that keep all deadlines take %s, and the link has %s", rateText(need), rateText(link))}
	}
	courses := idle(p)
	for k, i := range busy {
		courses[i] = steady(p, i, 0, rates[k])
	}
	return planOf(p, method, courses), nil
}

// narrow says why a site's deadline is out of its own reach.
func narrow(p *Problem, method string, i int, b band) error {
	s := &p.Sites[i]
	e := &Shortage{Method: method, Site: i, Need: b.least, Have: b.most}
	switch {
	case math.IsInf(b.least, 1):
		e.why = fmt.Sprintf("%s cannot begin before its deadline", s.Name)
	case s.Most() <= b.most:
		e.why = fmt.Sprintf("%s would have to be crawled at %s, and gives no more than %s", s.Name, rateText(b.least), rateText(b.most))
	default:
		e.why = fmt.Sprintf("%s would have to be crawled at %s, and the whole link has %s", s.Name, rateText(b.least), rateText(b.most))
	}
	return e
}

// level checks a Problem and returns the rate of its link, which must never change.
func level(p *Problem, method string) (float64, error) {
	if err := p.Check(); err != nil {
		return 0, err
	}
	rate := 0.0
	for i, s := range p.Link {
		if i > 0 && s.Rate != rate {
			return 0, &Unsuited{method, "its rates never change, so it cannot follow a link that does"}
		}
		rate = s.Rate
	}
	return rate, nil
}

// band is a site's claim in a share of the link: any rate between two bounds, and
// among several sites as its shape is to theirs.
type band struct{ shape, least, most float64 }

func (b band) at(scale float64) float64 { return max(b.least, min(scale*b.shape, b.most)) }

// share gives each band its rate at the highest scale at which all fit into the
// link. Need is what they take at the least: more than the link, and there are
// no rates beyond the least ones.
//
// The paper goes round: it gives shares by shape, holds those that miss their
// deadline at their bound, and shares out the rest again. That ends where
// the sum of all bands, which grows with the scale in straight lines between the scales
// where a band meets a bound, meets the link: found here by bisection over those.
func share(bands []band, link float64) (rates []float64, need float64) {
	total := func(scale float64) (sum float64) {
		for _, b := range bands {
			sum += b.at(scale)
		}
		return sum
	}
	need = total(0)
	corners := make([]float64, 0, 2*len(bands))
	for _, b := range bands {
		corners = append(corners, b.least/b.shape, b.most/b.shape)
	}
	slices.Sort(corners)
	k := sort.Search(len(corners), func(k int) bool { return total(corners[k]) > link })
	scale := math.Inf(1) // the link has room for all of them at their most
	if k < len(corners) {
		low, high := 0.0, corners[k]
		if k > 0 {
			low = corners[k-1]
		}
		var fixed, slope float64
		for _, b := range bands {
			switch {
			case b.least/b.shape >= high:
				fixed += b.least
			case b.most/b.shape <= low:
				fixed += b.most
			default:
				slope += b.shape
			}
		}
		scale = low
		if slope > 0 {
			scale = min(max(low, (link-fixed)/slope), high)
		}
	}
	rates = make([]float64, len(bands))
	for k, b := range bands {
		rates[k] = b.at(scale)
	}
	return rates, need
}

// steady is the course of a site at one rate, from a time on or when it may begin.
func steady(p *Problem, i int, from, rate float64) Course {
	s := &p.Sites[i]
	start := max(from, s.NotBefore)
	first := start + p.Startup
	finish := first + s.Size/rate
	return Course{Start: start, Finish: finish, Rates: []Rate{{From: first, To: finish, Rate: rate}}}
}

// planOf makes a Plan of courses that nobody has a bound for.
func planOf(p *Problem, method string, courses []Course) *Plan {
	pl := &Plan{Method: method, Courses: courses, Bound: math.Inf(-1)}
	pl.tally(p)
	return pl
}

// idle returns the courses of sites that have nothing to come.
func idle(p *Problem) []Course {
	courses := make([]Course, len(p.Sites))
	for i := range courses {
		at := p.Sites[i].NotBefore
		courses[i] = Course{Start: at, Finish: at}
	}
	return courses
}
