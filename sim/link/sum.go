package link

import "math"

// sum adds and takes away numbers for as long as one likes: what rounding
// loses is kept beside it, so that a speed of one byte per second is still
// right after a billion came and went.
type sum struct{ total, lost float64 }

func (s *sum) value() float64 { return s.total + s.lost }

func (s *sum) add(x float64) {
	total := s.total + x
	part := total - s.total
	s.lost += (s.total - (total - part)) + (x - part)
	s.total = total
}

// addTimes adds n times x.
func (s *sum) addTimes(x float64, n int) {
	product := float64(x * float64(n))
	s.add(product)
	s.lost += math.FMA(x, float64(n), -product)
}
