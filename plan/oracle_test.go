package plan

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
)

// wild says how rich random problems are.
type wild struct {
	sites    int
	steps    int  // of the link, at most
	releases bool // some sites may not begin at once
	caps     bool
	weights  bool
	deadline float64 // share of sites that have one
	tight    float64 // how much longer deadlines are than the work takes
}

// random returns a problem with small numbers, so that ties are common.
func (w wild) random(r *rand.Rand) *Problem {
	p := &Problem{Link: []Step{{0, float64(1 + r.IntN(8))}}}
	for range r.IntN(w.steps + 1) {
		last := p.Link[len(p.Link)-1].From
		p.Link = append(p.Link, Step{last + float64(1+r.IntN(6)), float64(r.IntN(9))})
	}
	p.Link[len(p.Link)-1].Rate += 1
	total, most := 0.0, 0.0
	for _, s := range p.Link {
		most = max(most, s.Rate)
	}
	for i := range w.sites {
		s := Site{Name: fmt.Sprintf("site%d", i), Size: float64(1 + r.IntN(12))}
		if w.caps && r.IntN(3) > 0 {
			s.Cap = float64(1+r.IntN(8)) / 8 * most
		}
		if w.weights {
			s.Weight = float64(1 + r.IntN(5))
		}
		if w.releases && r.IntN(2) == 0 {
			s.NotBefore = float64(r.IntN(8))
		}
		total += s.Size
		p.Sites = append(p.Sites, s)
	}
	l := newLink(p.Link)
	for i := range p.Sites {
		if s := &p.Sites[i]; r.Float64() < w.deadline {
			s.Deadline = math.Ceil(4*(s.NotBefore+s.Size/min(s.Most(), most)+r.Float64()*w.tight*l.time(total))) / 4
		}
	}
	return p
}

// oracle decides admission the slow way: a flow from the sites in the order of
// deadlines to every stretch of time, by shortest augmenting paths in a dense
// matrix. It returns the first site that fails, -1 if none does, and by how many
// bytes it does: close to 0 means that rounding decides.
func oracle(p *Problem) (fails int, lacks float64) {
	order := promised(p)
	times := cuts(p)
	n, k := len(order), len(times)-1
	// Node 0 is the source, then sites, then stretches, then the sink.
	size := n + k + 2
	room := make([][]float64, size)
	for i := range room {
		room[i] = make([]float64, size)
	}
	for c := range k {
		room[1+n+c][size-1] = rateAt(p, times[c]) * (times[c+1] - times[c])
	}
	for x, i := range order {
		s := &p.Sites[i]
		for c := range k {
			if times[c] >= s.NotBefore && times[c+1] <= s.Deadline {
				room[1+x][1+n+c] = min(s.Most(), 1e9) * (times[c+1] - times[c])
			}
		}
		room[0][1+x] = s.Size
		for augment(room) > 1e-11 {
		}
		if lacks := room[0][1+x]; lacks > 1e-7 {
			return i, lacks
		}
	}
	return -1, 0
}

func augment(room [][]float64) float64 {
	n := len(room)
	from := make([]int, n)
	for i := range from {
		from[i] = -1
	}
	queue := []int{0}
	from[0] = 0
	for len(queue) > 0 && from[n-1] < 0 {
		a := queue[0]
		queue = queue[1:]
		for b := range n {
			if from[b] < 0 && room[a][b] > 1e-11 {
				from[b] = a
				queue = append(queue, b)
			}
		}
	}
	if from[n-1] < 0 {
		return 0
	}
	least := math.Inf(1)
	for b := n - 1; b != 0; b = from[b] {
		least = min(least, room[from[b]][b])
	}
	for b := n - 1; b != 0; b = from[b] {
		room[from[b]][b] -= least
		room[b][from[b]] += least
	}
	return least
}

// promised returns the sites with deadlines and work, by deadline.
func promised(p *Problem) []int {
	var order []int
	for i := range p.Sites {
		if p.Sites[i].Deadline != 0 && p.Sites[i].Size > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Sites[a].Deadline, p.Sites[b].Deadline) })
	return order
}

// cuts returns the times between which nothing changes, until the last deadline.
func cuts(p *Problem) []float64 {
	times := []float64{0}
	for _, i := range promised(p) {
		times = append(times, p.Sites[i].NotBefore, max(p.Sites[i].Deadline, 0))
	}
	last := slices.Max(times)
	for _, s := range p.Link {
		if s.From < last {
			times = append(times, s.From)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

func rateAt(p *Problem, t float64) float64 {
	rate := 0.0
	for _, s := range p.Link {
		if s.From <= t {
			rate = s.Rate
		}
	}
	return rate
}

// writeAdmissionLP writes admission as a linear program for any solver: its
// optimum is the most bytes of sites with deadlines that can be done in time, so
// all deadlines can be kept if and only if that is want.
func writeAdmissionLP(w io.Writer, p *Problem) (want float64, err error) {
	b := bufio.NewWriter(w)
	order, times := promised(p), cuts(p)
	may := func(i, c int) bool {
		s := &p.Sites[i]
		return times[c] >= s.NotBefore && times[c+1] <= s.Deadline
	}
	fmt.Fprint(b, "\\ the most bytes that can be done in time\nMaximize\n obj: 0 none")
	for _, i := range order {
		for c := range len(times) - 1 {
			if may(i, c) {
				fmt.Fprintf(b, " + x_%d_%d", i, c)
			}
		}
	}
	fmt.Fprint(b, "\nSubject To\n")
	for _, i := range order {
		want += p.Sites[i].Size
		fmt.Fprintf(b, " size_%d: 0 none", i)
		for c := range len(times) - 1 {
			if may(i, c) {
				fmt.Fprintf(b, " + x_%d_%d", i, c)
			}
		}
		fmt.Fprintf(b, " <= %.17g\n", p.Sites[i].Size)
	}
	for c := range len(times) - 1 {
		fmt.Fprintf(b, " link_%d: 0 none", c)
		for _, i := range order {
			if may(i, c) {
				fmt.Fprintf(b, " + x_%d_%d", i, c)
			}
		}
		fmt.Fprintf(b, " <= %.17g\n", rateAt(p, times[c])*(times[c+1]-times[c]))
	}
	fmt.Fprint(b, "Bounds\n 0 <= none <= 0\n")
	for _, i := range order {
		for c := range len(times) - 1 {
			if most := p.Sites[i].Most() * (times[c+1] - times[c]); may(i, c) && !math.IsInf(most, 1) {
				fmt.Fprintf(b, " 0 <= x_%d_%d <= %.17g\n", i, c, most)
			}
		}
	}
	fmt.Fprint(b, "End\n")
	return want, b.Flush()
}
