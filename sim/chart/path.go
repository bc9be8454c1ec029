package chart

import "math"

// box is where the lines are.
type box struct{ left, top, right, bottom float64 }

func (b box) x(s *scale, v float64) float64 { return b.left + s.pos(v)*(b.right-b.left) }
func (b box) y(s *scale, v float64) float64 { return b.bottom - s.pos(v)*(b.bottom-b.top) }

// crisp moves a thin line onto the pixels.
func crisp(v float64) float64 { return math.Floor(v) + 0.5 }

// line draws one line, piece by piece where it is interrupted.
func (b box) line(to canvas, l Line, xs, ys *scale, p paint, dashed bool) {
	var piece []float64
	flush := func() {
		if len(piece) >= 4 && !l.Bare {
			for _, part := range b.clip(thin(piece)) {
				to.path(simplify(nil, part), p, 2.2, dashed)
			}
		} else if len(piece) == 2 && b.holds(piece[0], piece[1]) && !l.Points && !l.Bare {
			to.dot(piece[0], piece[1], 2, p) // a point between two gaps
		}
		piece = piece[:0]
	}
	for i := range l.X {
		if !xs.shows(l.X[i]) || !ys.shows(l.Y[i]) {
			flush()
			continue
		}
		x, y := b.x(xs, l.X[i]), b.y(ys, l.Y[i])
		if l.Step && len(piece) > 0 {
			piece = append(piece, x, piece[len(piece)-1])
		}
		piece = append(piece, x, y)
	}
	flush()
	if !l.Points && !l.Bare {
		return
	}
	radius := 3.2
	if len(l.X) > 200 {
		radius = 1.8
	}
	for i := range l.X {
		if !xs.shows(l.X[i]) || !ys.shows(l.Y[i]) {
			continue
		}
		x, y := b.x(xs, l.X[i]), b.y(ys, l.Y[i])
		if b.holds(x, y) {
			to.dot(x, y, radius, p)
		}
	}
}

func (b box) holds(x, y float64) bool {
	return x >= b.left-0.5 && x <= b.right+0.5 && y >= b.top-0.5 && y <= b.bottom+0.5
}

// clip cuts a path to the box, which a fixed range may make smaller than the
// data.
func (b box) clip(xy []float64) [][]float64 {
	var parts [][]float64
	var part []float64
	for i := 0; i+3 < len(xy); i += 2 {
		x0, y0, x1, y1, ok := b.cut(xy[i], xy[i+1], xy[i+2], xy[i+3])
		if !ok {
			continue
		}
		if n := len(part); n == 0 || part[n-2] != x0 || part[n-1] != y0 {
			if n > 0 {
				parts = append(parts, part)
			}
			part = []float64{x0, y0}
		}
		part = append(part, x1, y1)
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// cut returns the piece of a segment in the box.
func (b box) cut(x0, y0, x1, y1 float64) (ax, ay, bx, by float64, ok bool) {
	const slack = 0.5 // a line along the edge keeps its width
	from, to := 0.0, 1.0
	for _, e := range [4][2]float64{
		{x0 - x1, x0 - (b.left - slack)}, {x1 - x0, b.right + slack - x0},
		{y0 - y1, y0 - (b.top - slack)}, {y1 - y0, b.bottom + slack - y0},
	} {
		switch toward, room := e[0], e[1]; {
		case toward == 0 && room < 0:
			return 0, 0, 0, 0, false
		case toward < 0:
			from = max(from, room/toward)
		case toward > 0:
			to = min(to, room/toward)
		}
	}
	if from > to {
		return 0, 0, 0, 0, false
	}
	ax, ay, bx, by = x0, y0, x1, y1
	if from > 0 {
		ax, ay = x0+from*(x1-x0), y0+from*(y1-y0)
	}
	if to < 1 {
		bx, by = x0+to*(x1-x0), y0+to*(y1-y0)
	}
	return ax, ay, bx, by, true
}

// thin leaves out points nobody can see: of those that fall into one pixel
// from left to right, the first, lowest, highest and last remain.
func thin(xy []float64) []float64 {
	n := len(xy) / 2
	if n < 400 {
		return xy
	}
	out := make([]float64, 0, 1024)
	for i := 0; i < n; {
		column := math.Floor(xy[2*i])
		low, high, j := i, i, i
		for ; j < n && math.Floor(xy[2*j]) == column; j++ {
			if xy[2*j+1] < xy[2*low+1] {
				low = j
			}
			if xy[2*j+1] > xy[2*high+1] {
				high = j
			}
		}
		last := -1
		for _, k := range [4]int{i, min(low, high), max(low, high), j - 1} {
			if k != last {
				out = append(out, xy[2*k], xy[2*k+1])
				last = k
			}
		}
		i = j
	}
	return out
}

// simplify appends to out the corners of a path: points within a fraction of a
// pixel of the line between their neighbours are left out (Ramer, Douglas and
// Peucker).
func simplify(out, xy []float64) []float64 {
	const slack = 0.05
	n := len(xy)
	x0, y0, x1, y1 := xy[0], xy[1], xy[n-2], xy[n-1]
	far, at := slack, 0
	for i := 2; i < n-2; i += 2 {
		if d := distance(xy[i], xy[i+1], x0, y0, x1, y1); d > far {
			far, at = d, i
		}
	}
	if at > 0 {
		out = simplify(out, xy[:at+2])
		return simplify(out[:len(out)-2], xy[at:])
	}
	return append(out, x0, y0, x1, y1)
}

// distance returns how far a point is from a segment.
func distance(x, y, x0, y0, x1, y1 float64) float64 {
	dx, dy := x1-x0, y1-y0
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = min(max(((x-x0)*dx+(y-y0)*dy)/length, 0), 1)
	}
	return math.Hypot(x-x0-along*dx, y-y0-along*dy)
}
