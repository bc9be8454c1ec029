package plan

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
)

// maxTerms bounds a Program: more of them, and neither the file nor the
// solver's time is worth it.
const maxTerms = 2_000_000

// Program is the mixed-integer program of Zhu et al., section V.B, repaired: time
// is cut into slots of one length, and in every slot a site is on or off and has
// bytes set aside. A solver that reads LP files chooses so that the Objective, of
// times counted at the ends of slots, is as small as it can be.
//
// The paper has exactly m sites in every slot, done within it, and charges each
// at the slot's end. Its objective is then m d (1 + 2 + ... + n/m): a constant,
// whoever is in which slot, so that a solver has nothing to choose, and all slots
// are as long as the fullest needs. That is why its CPQ, whose batches take no
// longer than they must, "beats" its MILP in figures 10 and 11. Here a site stays
// on for as many slots as it likes and is charged for those until it is done.
//
// With slots of length d, for each site i (size D, cap B, weight w) and slot k:
//
//	min  sum w f,  f = d (1 + o_1 + o_2 + ...) o: still open when slot k ends (1 - e)
//	x_1 + ... + x_k + o_k >= 1,  o_k <= o_k-1  x: share of D set aside; o = 0 from the deadline on
//	sum_i D x_ik <= U d,  sum_i y_ik <= m      y: on
//	v* d y <= D x <= B d y
//	a_k >= y_k - y_k-1,  a_k <= y_k,  a_k <= 1 - y_k-1,  sum_k a_k <= 1    a: starts
//
// For Max it is min z, z >= f; for Lateness z >= f - due; for Tardiness it is
// min sum w t, t >= f - due, t >= 0; and for the latter two no o is 0 for a deadline.
//
// A slot in which a site starts gives it only what is left after the start-up
// time s. So with 0 < s < d a slot has two parts, of s and d-s, each with rows and
// an x of its own, since nobody can make up in the second part for a link that lay
// idle in the first. A site sets aside the least speed v* in its last slot too,
// though it may be done before the slot is.
type Program struct {
	p     *Problem
	link  float64 // at its most
	slot  float64
	slots int
	busy  []int // sites that have something to come
	parts []stint
}

// stint is a stretch of every slot.
type stint struct {
	letter       string  // of its variables
	from, length float64 // within the slot
	lead         bool    // sites that start in the slot get nothing
}

// Slots makes the Program of a Problem, with so many slots of the given length. A
// deadline that binds counts from the end of the slot before it, a NotBefore from
// the slot after it, and a link that changes within a slot at the least that it
// has there. All sites must be done within the slots.
//
// It fails with *Unsuited when the Program would be too large, when slots are
// shorter than the start-up time, or when a deadline that binds lies within the
// first slot.
func Slots(p *Problem, slot float64, slots int) (*Program, error) {
	const method = "mip"
	if err := p.Check(); err != nil {
		return nil, err
	}
	if !(slot > 0) || math.IsInf(slot, 1) || slots < 1 {
		return nil, &Unsuited{method, fmt.Sprintf("%d slots of %v are none", slots, slot)}
	}
	if slot < p.Startup {
		return nil, &Unsuited{method, fmt.Sprintf("slots of %s are shorter than the start-up time, %s", timeText(slot), timeText(p.Startup))}
	}
	g := &Program{p: p, slot: slot, slots: slots}
	for _, s := range p.Link {
		g.link = max(g.link, s.Rate)
	}
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Size <= 0 {
			continue
		}
		g.busy = append(g.busy, i)
		if g.due(s) < 1 {
			return nil, &Unsuited{method, fmt.Sprintf("the deadline of %s lies within the first slot of %s: take shorter ones", s.Name, timeText(slot))}
		}
	}
	if p.Startup > 0 {
		g.parts = append(g.parts, stint{"u", 0, p.Startup, true})
	}
	if slot > p.Startup {
		g.parts = append(g.parts, stint{"x", p.Startup, slot - p.Startup, false})
	}
	perSite := float64(slots) * (float64(float64(slots)/2) + 8) * float64(len(g.parts))
	if terms := perSite * float64(len(g.busy)); terms > maxTerms {
		return nil, &Unsuited{method, fmt.Sprintf("%d sites in %d slots make a program of about %.0f million terms, and %d million are the most: take fewer, longer slots",
			len(g.busy), slots, math.Ceil(terms/1e6), maxTerms/1_000_000)}
	}
	return g, nil
}

// due returns the number of slots in which a site has to be done: those that end
// by its deadline, if that binds.
func (g *Program) due(s *Site) int {
	if s.Deadline == 0 || g.p.Objective.wishes() {
		return g.slots
	}
	return int(max(0, min(float64(g.slots), math.Floor(s.Deadline/g.slot*(1+tiny)))))
}

// first returns the first slot in which a site may be on.
func (g *Program) first(s *Site) int {
	return int(min(float64(g.slots), math.Ceil(s.NotBefore/g.slot*(1-tiny))))
}

// carries returns what the link carries at least in a part of a slot.
func (g *Program) carries(k int, q stint) float64 {
	from := float64(float64(k)*g.slot) + q.from
	to := from + q.length
	rate := math.Inf(1)
	for i, s := range g.p.Link {
		ends := i+1 < len(g.p.Link) && g.p.Link[i+1].From <= from*(1+tiny)
		if !ends && s.From < to*(1-tiny) {
			rate = min(rate, s.Rate)
		}
	}
	return rate * q.length
}

// bounds returns the least and the most that a site which is on may set
// aside in a part, as shares of its size.
func (g *Program) bounds(s *Site, q stint) (least, most float64) {
	rate := min(s.Most(), g.link)
	return min(g.p.MinRate, rate) * q.length / s.Size, rate * q.length / s.Size
}

func name(letter string, site, slot int) string {
	return letter + strconv.Itoa(site) + "_" + strconv.Itoa(slot)
}

// WriteLP writes the Program in the LP format that cbc, HiGHS and glpsol read.
// Variables are called by a letter, the number of the site and the slot, both from 0.
func (g *Program) WriteLP(w io.Writer) error {
	f := &lpWriter{w: bufio.NewWriter(w)}
	f.line(fmt.Sprintf("\\ %d sites, %d slots of %v", len(g.busy), g.slots, g.slot))
	f.line("Minimize")
	g.writeObjective(f)
	f.line("Subject To")
	g.writeTimes(f)
	for k := range g.slots {
		g.writeSlot(f, k)
	}
	for _, i := range g.busy {
		g.writeSite(f, i)
	}
	f.line("Bounds")
	f.line(" one = 1")
	if g.p.Objective == Lateness {
		f.line(" z >= " + number(-g.latest()))
	}
	for _, i := range g.busy {
		s := &g.p.Sites[i]
		for k := range min(g.first(s), g.slots) {
			f.line(" " + name("y", i, k) + " = 0")
		}
		for k := max(g.due(s)-1, 0); k < g.slots; k++ {
			f.line(" " + name("o", i, k) + " = 0")
		}
	}
	if len(g.busy) > 0 {
		f.line("Binaries")
		for _, i := range g.busy {
			for k := range g.slots {
				f.line(" " + name("y", i, k) + " " + name("o", i, k))
			}
		}
	}
	f.line("End")
	if f.err != nil {
		return f.err
	}
	return f.w.Flush()
}

// writeObjective writes what is to be small.
func (g *Program) writeObjective(f *lpWriter) {
	f.begin("charge")
	constant := 0.0
	for _, i := range g.busy {
		s := &g.p.Sites[i]
		switch g.p.Objective {
		case Sum:
			charge := float64(s.Worth() * g.slot)
			constant += charge
			for k := range g.slots {
				f.term(charge, name("o", i, k))
			}
		case Tardiness:
			if s.Deadline != 0 {
				f.term(s.Worth(), "t"+strconv.Itoa(i))
			}
		}
	}
	if g.p.Objective == Max || g.p.Objective == Lateness {
		f.term(1, "z")
	}
	// Not every reader takes a number in an objective, or none.
	f.term(constant, "one")
	f.end("")
}

// writeTimes writes what objectives other than the sum have to do with the times
// when sites are done.
func (g *Program) writeTimes(f *lpWriter) {
	least := "z"
	for _, i := range g.busy {
		s := &g.p.Sites[i]
		due := 0.0
		switch g.p.Objective {
		case Sum:
			return
		case Tardiness:
			least = "t" + strconv.Itoa(i)
			fallthrough
		case Lateness:
			if due = s.Deadline; due == 0 {
				continue
			}
		}
		f.begin("")
		f.term(1, least)
		for k := range g.slots {
			f.term(-g.slot, name("o", i, k))
		}
		f.end(">= " + number(g.slot-due))
	}
}

// latest returns the last deadline: no lateness is further below 0.
func (g *Program) latest() float64 {
	latest := 0.0
	for _, i := range g.busy {
		latest = max(latest, g.p.Sites[i].Deadline)
	}
	return latest
}

// writeSlot writes what holds for all sites of a slot together.
func (g *Program) writeSlot(f *lpWriter, k int) {
	if len(g.busy) == 0 {
		return
	}
	for _, q := range g.parts {
		scale := g.link * q.length
		f.begin("")
		for _, i := range g.busy {
			f.term(g.p.Sites[i].Size/scale, name(q.letter, i, k))
		}
		f.end("<= " + number(g.carries(k, q)/scale))
	}
	if m := g.p.MaxSites; m > 0 && m < len(g.busy) {
		f.begin("")
		for _, i := range g.busy {
			f.term(1, name("y", i, k))
		}
		f.end("<= " + strconv.Itoa(m))
	}
}

// writeSite writes what holds for one site over all slots.
func (g *Program) writeSite(f *lpWriter, i int) {
	s := &g.p.Sites[i]
	row := func(end string, terms ...any) {
		f.begin("")
		for n := 0; n < len(terms); n += 2 {
			f.term(terms[n].(float64), terms[n+1].(string))
		}
		f.end(end)
	}
	starts := g.p.Startup > 0
	for k := range g.slots {
		y, a, o := name("y", i, k), name("a", i, k), name("o", i, k)
		for _, q := range g.parts {
			x := name(q.letter, i, k)
			least, most := g.bounds(s, q)
			if q.lead {
				row("<= 0", 1.0, x, -most, y, most, a)
			} else {
				row("<= 0", 1.0, x, -most, y)
			}
			switch {
			case least == 0:
			case q.lead:
				row(">= 0", 1.0, x, -least, y, least, a)
			default:
				row(">= 0", 1.0, x, -least, y)
			}
		}
		if starts {
			row("<= 0", 1.0, a, -1.0, y)
			if k == 0 {
				row(">= 0", 1.0, a, -1.0, y)
			} else {
				before := name("y", i, k-1)
				row(">= 0", 1.0, a, -1.0, y, 1.0, before)
				row("<= 1", 1.0, a, 1.0, before)
			}
		}
		if k > 0 {
			row("<= 0", 1.0, o, -1.0, name("o", i, k-1))
		}
		f.begin("")
		for l := range k + 1 {
			for _, q := range g.parts {
				f.term(1, name(q.letter, i, l))
			}
		}
		f.term(1, o)
		f.end(">= 1")
	}
	if starts {
		f.begin("")
		for k := range g.slots {
			f.term(1, name("a", i, k))
		}
		f.end("<= 1")
	}
}

// Plan reads a solver's values, those that are not given being 0, and makes the
// Plan that they stand for. A site is done when its bytes are, which may be before
// the slot ends. Solvers round: what is missing or too much by that is mended, and
// the Plan is verified before it is returned.
func (g *Program) Plan(values map[string]float64) (*Plan, error) {
	sets := g.read(values)
	courses := idle(g.p)
	for n, i := range g.busy {
		s := &g.p.Sites[i]
		c := &courses[i]
		left := s.Size
		for k := range g.slots {
			for m, q := range g.parts {
				bytes := sets[(k*len(g.parts)+m)*len(g.busy)+n]
				if bytes <= 0 || left <= 0 {
					continue
				}
				from := float64(float64(k)*g.slot) + q.from
				r := Rate{From: from, To: from + q.length, Rate: bytes / q.length}
				if left-bytes <= tiny*s.Size {
					r.To = from + left/r.Rate
					bytes = left
				}
				left -= bytes
				c.Rates = append(c.Rates, r)
			}
		}
		if left > 0 {
			return nil, fmt.Errorf("the solver's values leave %.3g%% of %s undone", 100*left/s.Size, s.Name)
		}
		c.Rates = join(c.Rates)
		c.Start = c.Rates[0].From - g.p.Startup
		c.Finish = c.Rates[len(c.Rates)-1].To
	}
	pl := planOf(g.p, "mip", courses)
	if err := Verify(g.p, pl); err != nil {
		return nil, fmt.Errorf("the solver's values make no plan: %w", err)
	}
	return pl, nil
}

// read returns the bytes that every busy site sets aside in every part of a slot,
// by part and then by site: within all bounds, and enough for every site if
// that takes no more than what solvers round.
func (g *Program) read(values map[string]float64) []float64 {
	const rounding = 1e-5
	sets := make([]float64, 0, g.slots*len(g.parts)*len(g.busy))
	tops := make([]float64, 0, cap(sets))
	var rooms []float64 // what is left of the link
	for k := range g.slots {
		for _, q := range g.parts {
			sum, carries := 0.0, g.carries(k, q)
			at := len(sets)
			for _, i := range g.busy {
				s := &g.p.Sites[i]
				_, top := g.bounds(s, q)
				if values[name("y", i, k)] < 0.5 || q.lead && values[name("a", i, k)] > 0.5 {
					top = 0
				}
				x := min(values[name(q.letter, i, k)], top) * s.Size
				if !(x > tiny*s.Size) {
					x = 0
				}
				sets, tops = append(sets, x), append(tops, top*s.Size)
				sum += x
			}
			if sum > carries {
				for n := range sets[at:] {
					sets[at+n] *= carries / sum
				}
				sum = carries
			}
			rooms = append(rooms, carries-sum)
		}
	}
	for n, i := range g.busy {
		missing := g.p.Sites[i].Size
		for r := range rooms {
			// What a solver sets aside for a site that is done must not make up, late,
			// for what it rounded away before.
			at := r*len(g.busy) + n
			if missing <= rounding*g.p.Sites[i].Size {
				rooms[r] += sets[at]
				sets[at] = 0
			}
			missing -= sets[at]
		}
		if missing > rounding*g.p.Sites[i].Size {
			continue
		}
		for r := range rooms {
			if missing <= 0 {
				break
			}
			at := r*len(g.busy) + n
			if sets[at] == 0 {
				continue
			}
			more := max(0, min(missing, tops[at]-sets[at], rooms[r]))
			sets[at] += more
			rooms[r] -= more
			missing -= more
		}
		// No room is left: Verify decides whether anybody would notice.
		if size := g.p.Sites[i].Size; missing > 0 {
			for r := range rooms {
				sets[r*len(g.busy)+n] *= size / (size - missing)
			}
		}
	}
	return sets
}

// lpWriter writes rows of the LP format, in lines short enough for every reader.
type lpWriter struct {
	w     *bufio.Writer
	width int
	err   error // the first
}

func (f *lpWriter) print(s string) {
	if f.err == nil {
		_, f.err = f.w.WriteString(s)
	}
}

func (f *lpWriter) line(s string) { f.print(s + "\n") }

// begin opens a row, which may have a name.
func (f *lpWriter) begin(name string) {
	f.width = 0
	if name != "" {
		f.print(" " + name + ":")
	}
}

func (f *lpWriter) term(factor float64, name string) {
	const widest = 200
	sign := " + "
	if factor < 0 {
		sign = " - "
	}
	text := sign + number(math.Abs(factor)) + " " + name
	if f.width += len(text); f.width > widest {
		f.print("\n")
		f.width = len(text)
	}
	f.print(text)
}

func (f *lpWriter) end(relation string) {
	if relation != "" {
		relation = " " + relation
	}
	f.line(relation)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
