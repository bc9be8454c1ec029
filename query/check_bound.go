package query

import (
	"math"
	"slices"
)

// bounds are the least and the greatest value that a term can have, as far as the
// rule says.
func (r *clause) bounds(t *Term) (low, high float64) {
	if v, ok := constant(t); ok {
		return v, v
	}
	switch t.Op {
	case Var:
		return r.limits(r.binding(t))
	case Call:
		if t.Name == "len" || t.Name == "depth" {
			return 0, math.Inf(1)
		}
	case Add:
		al, ah, bl, bh := r.both(t)
		return span(al+bl, ah+bh)
	case Sub:
		al, ah, bl, bh := r.both(t)
		return span(al-bh, ah-bl)
	case Mul:
		al, ah, bl, bh := r.both(t)
		return hull(times(al, bl), times(al, bh), times(ah, bl), times(ah, bh))
	case Div:
		al, ah, bl, bh := r.both(t)
		if bl > 0 || bh < 0 {
			low, high = hull(al/bl, al/bh, ah/bl, ah/bh)
			if t.Type == Int {
				low, high = math.Trunc(low), math.Trunc(high)
			}
			return low, high
		}
	case Aggregate:
		switch t.Name {
		case "count":
			return 0, math.Inf(1)
		case "min", "max", "avg":
			return r.bounds(t.Args[0])
		case "sum":
			if low, _ := r.bounds(t.Args[0]); low >= 0 {
				return 0, math.Inf(1)
			}
		}
	}
	return math.Inf(-1), math.Inf(1)
}

// change is how much more than the variable v a term can be that comes down to it,
// at least and at most.
func (r *clause) change(t *Term, v int) (low, high float64) {
	switch t.Op {
	case Var:
		if b := r.binding(t); b.def != nil {
			return r.change(b.def, v)
		}
		return 0, 0
	case Call:
		return 0, 0 // no function makes a value that grows
	case Add, Mul:
		a, b := t.Args[0], t.Args[1]
		if !r.uses(a, v) {
			a, b = b, a
		}
		cl, ch := r.change(a, v)
		bl, bh := r.bounds(b)
		if t.Op == Add {
			return span(cl+bl, ch+bh)
		}
		return r.scaled(v, cl, ch, bl, bh)
	case Sub:
		if r.uses(t.Args[0], v) {
			cl, ch := r.change(t.Args[0], v)
			bl, bh := r.bounds(t.Args[1])
			return span(cl-bh, ch-bl)
		}
	case Div:
		// Ints are rounded towards zero: no more, if they are not negative.
		bl, bh := r.bounds(t.Args[1])
		if low, _ := r.limits(&r.bound[v]); r.uses(t.Args[0], v) && low >= 0 && bl > 0 {
			cl, ch := r.change(t.Args[0], v)
			_, high := r.scaled(v, cl, ch, 1/bh, 1/bl)
			return math.Inf(-1), high
		}
	}
	return math.Inf(-1), math.Inf(1)
}

// scaled is how much more than v a product is, of something that is cl to ch more
// than v and a factor between bl and bh: (v+c)*b - v = c*b + v*(b-1).
func (r *clause) scaled(v int, cl, ch, bl, bh float64) (low, high float64) {
	vl, vh := r.limits(&r.bound[v])
	l1, h1 := hull(times(cl, bl), times(cl, bh), times(ch, bl), times(ch, bh))
	l2, h2 := hull(times(vl, bl-1), times(vl, bh-1), times(vh, bl-1), times(vh, bh-1))
	return span(l1+l2, h1+h2)
}

// uses says that a term comes down to the variable v, among others.
func (r *clause) uses(t *Term, v int) (found bool) {
	t.Vars(func(w *Term) {
		_, ok := slices.BinarySearch(r.binding(w).bases, v)
		found = found || ok
	})
	return found
}

func isInf(f float64) bool { return math.IsInf(f, 0) || math.IsNaN(f) }

// floors finds the derived columns whose numbers cannot be negative: it takes
// all for such, and goes on taking those back that a rule contradicts.
func (c *checker) floors() {
	floor := make([][]bool, len(c.tables))
	for i, t := range c.tables {
		floor[i] = make([]bool, t.Arity())
		for col := range floor[i] {
			floor[i][col] = t.Kind == Derived && len(t.Rules) > 0 && t.Types[col].Numeric()
		}
	}
	for _, r := range c.rules {
		r.floor = floor
		if r.broken && r.head != nil {
			clear(floor[r.head.ID])
		}
	}
	c.spread((*clause).lower)
}

// lower takes back what the rule contradicts.
func (r *clause) lower(changed func(t *Table)) {
	for i := range r.bound {
		r.bound[i].known = false
	}
	for i, a := range r.Head.Args {
		if !r.floor[r.head.ID][i] {
			continue
		}
		if low, _ := r.bounds(a); !(low >= 0) {
			r.floor[r.head.ID][i] = false
			changed(r.head)
		}
	}
}

func (r *clause) both(t *Term) (al, ah, bl, bh float64) {
	al, ah = r.bounds(t.Args[0])
	bl, bh = r.bounds(t.Args[1])
	return al, ah, bl, bh
}

// span is the range from low to high. An end that is no number is not known.
func span(low, high float64) (float64, float64) {
	if !(low < math.Inf(1)) {
		low = math.Inf(-1)
	}
	if !(high > math.Inf(-1)) {
		high = math.Inf(1)
	}
	return low, high
}

// times is a product in which nothing times endless is nothing.
func times(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a * b
}

// hull is the range of some values; those that are no numbers may be anything.
func hull(values ...float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v) // not a number, if v is none
	}
	return span(low, high)
}

// constant is the value of a term that has no variables and is a number.
func constant(t *Term) (float64, bool) {
	switch t.Op {
	case Const:
		switch t.Type {
		case Int, Time:
			return float64(t.Value.N), true
		case Float:
			return t.Value.Float(), true
		}
	case Add, Sub, Mul, Div:
		a, ok := constant(t.Args[0])
		b, good := constant(t.Args[1])
		if !ok || !good {
			return 0, false
		}
		switch t.Op {
		case Add:
			a += b
		case Sub:
			a -= b
		case Mul:
			a *= b
		case Div:
			a /= b
			if whole(t) {
				a = math.Trunc(a)
			}
		}
		return a, !math.IsNaN(a) && !math.IsInf(a, 0)
	}
	return 0, false
}

// whole says that all constants of a term are ints, and so is what it makes of them.
func whole(t *Term) bool {
	ok := true
	t.Walk(func(t *Term) { ok = ok && (t.Op != Const || t.Type == Int) })
	return ok
}

// limits are the bounds of a variable.
func (r *clause) limits(b *binding) (low, high float64) {
	if !b.known {
		b.known = true
		b.low, b.high = math.Inf(-1), math.Inf(1)
		for _, p := range b.atoms {
			// Of facts, ints are a status, a size, a count.
			if t := r.reads[p.lit]; t.Kind == PageFact && t.Types[p.col] == Int || r.floor[t.ID][p.col] {
				b.low = 0
			}
		}
		if b.def != nil {
			b.low, b.high = r.bounds(b.def)
		}
		for _, l := range b.limits {
			b.restrict(l)
		}
	}
	return b.low, b.high
}

var mirrored = map[string]string{"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// limit is what a comparison with a constant says of a variable.
type limit struct {
	op    string
	value float64
}

// limited tells a variable what a comparison of l with r says of it. Of X+c < d
// that is X < d-c.
func (r *clause) limited(op string, left, right *Term) {
	value, ok := constant(right)
	if !ok {
		return
	}
	if left.Op == Add || left.Op == Sub {
		c, ok := constant(left.Args[1])
		if !ok {
			return
		}
		if left.Op == Add {
			c = -c
		}
		left, value = left.Args[0], value+c
	}
	if left.Op == Var {
		b := r.binding(left)
		b.limits = append(b.limits, limit{op, value})
	}
}

// restrict narrows the bounds by a limit.
func (b *binding) restrict(l limit) {
	switch l.op {
	case "<":
		if b.typ == Int {
			l.value = math.Ceil(l.value) - 1
		}
		fallthrough
	case "<=":
		b.high = min(b.high, l.value)
	case ">":
		if b.typ == Int {
			l.value = math.Floor(l.value) + 1
		}
		fallthrough
	case ">=":
		b.low = max(b.low, l.value)
	case "=":
		b.low, b.high = max(b.low, l.value), min(b.high, l.value)
	}
}
