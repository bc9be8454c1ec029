package query

import "math"

// bounds are the least and the greatest value that a term can have, as far as the
// rule says.
func (r *clause) bounds(t *Term) (low, high float64) {
	if v, ok := constant(t); ok {
		return v, v
	}
	switch t.Op {
	case Var:
		return r.limits(t)
	case Call:
		if t.Name == "len" || t.Name == "depth" {
			return 0, math.Inf(1)
		}
	case Add:
		al, ah, bl, bh := r.both(t)
		return al + bl, ah + bh
	case Sub:
		al, ah, bl, bh := r.both(t)
		return al - bh, ah - bl
	case Mul:
		al, ah, bl, bh := r.both(t)
		return hull(times(al, bl), times(al, bh), times(ah, bl), times(ah, bh))
	case Div:
		al, ah, bl, bh := r.both(t)
		if bl > 0 || bh < 0 {
			return hull(al/bl, al/bh, ah/bl, ah/bh)
		}
	case Aggregate:
		if t.Name == "count" {
			return 0, math.Inf(1)
		}
	}
	return math.Inf(-1), math.Inf(1)
}

func (r *clause) both(t *Term) (al, ah, bl, bh float64) {
	al, ah = r.bounds(t.Args[0])
	bl, bh = r.bounds(t.Args[1])
	return al, ah, bl, bh
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
		if math.IsNaN(v) {
			return math.Inf(-1), math.Inf(1)
		}
		low, high = min(low, v), max(high, v)
	}
	return low, high
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
			if t.Type == Int {
				a = math.Trunc(a)
			}
		}
		return a, !math.IsNaN(a) && !math.IsInf(a, 0)
	}
	return 0, false
}

// limits are the bounds of a variable.
func (r *clause) limits(v *Term) (low, high float64) {
	b := r.binding(v)
	if !b.limited {
		b.limited = true
		b.low, b.high = math.Inf(-1), math.Inf(1)
		for _, p := range b.atoms {
			if t := r.reads[p.lit]; t.Kind == PageFact && t.Types[p.col] == Int {
				b.low = 0 // a status, a size, a count
			}
		}
		if b.def != nil {
			b.low, b.high = r.bounds(b.def)
		}
		for _, l := range r.Body {
			if l.Compare != nil {
				b.restrict(l.Compare.Op, l.Compare.L, l.Compare.R)
				b.restrict(mirrored[l.Compare.Op], l.Compare.R, l.Compare.L)
			}
		}
	}
	return b.low, b.high
}

var mirrored = map[string]string{"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// restrict takes in what a comparison with a constant says of the variable. Of
// X+c < d the bound is d-c.
func (b *binding) restrict(op string, l, r *Term) {
	limit, ok := constant(r)
	if !ok {
		return
	}
	if l.Op == Add || l.Op == Sub {
		c, ok := constant(l.Args[1])
		if !ok {
			return
		}
		if l.Op == Add {
			c = -c
		}
		l, limit = l.Args[0], limit+c
	}
	if l.Op != Var || l.Name != b.name {
		return
	}
	switch op {
	case "<", "<=":
		b.high = min(b.high, limit)
	case ">", ">=":
		b.low = max(b.low, limit)
	case "=":
		b.low, b.high = max(b.low, limit), min(b.high, limit)
	}
}
