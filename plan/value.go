package plan

// tiny is the share of an amount that counts as nothing: far above what rounding
// leaves over thousands of sums, far below what anybody would notice.
const tiny = 1e-9

// hair is the share of a size that may be missing where it just does not fit.
const hair = 1e-11

// Products that are added to something are float64(...): a conversion keeps a
// compiler from rounding them only once, together with the sum, which machines
// differ in.

// between returns the middle of two numbers.
func between(low, high float64) float64 { return low + float64((high-low)/2) }

// Missed says whether a site that is done at finish is late, by more than rounding.
// One without anything to come never is.
func (s *Site) Missed(finish float64) bool {
	return s.Size > 0 && after(finish, s.Due())
}

// tally fills in what follows from the courses: Value, Sum, Max and Late.
func (pl *Plan) tally(p *Problem) {
	var v value
	pl.Objective = p.Objective
	pl.Sum, pl.Max, pl.Late = 0, 0, 0
	for i := range pl.Courses {
		v.add(&p.Sites[i], pl.Courses[i].Finish)
	}
	pl.Sum, pl.Max, pl.Late = v.sum, v.max, v.late
	pl.Value = v.of(p.Objective)
}

// value is what a plan comes to, by every measure; it grows site by site.
type value struct {
	sum, max  float64
	late      int
	lateness  float64 // the most, among sites with a deadline
	tardiness float64 // weighted
	due       bool    // a site with a deadline was added
}

func (v *value) add(s *Site, finish float64) {
	v.sum += float64(s.Worth() * finish)
	v.max = max(v.max, finish)
	if s.Deadline == 0 || s.Size == 0 {
		return
	}
	d := finish - s.Deadline
	if !v.due || d > v.lateness {
		v.lateness = d
	}
	v.due = true
	if s.Missed(finish) {
		v.late++
		v.tardiness += float64(s.Worth() * d)
	}
}

func (v *value) of(o Objective) float64 {
	switch o {
	case Max:
		return v.max
	case Lateness:
		return v.lateness
	case Tardiness:
		return v.tardiness
	}
	return v.sum
}
