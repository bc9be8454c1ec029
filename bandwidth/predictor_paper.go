package bandwidth

import "math"

// The paper's form: B(IP, h, w), 48 plain averages of the measured rate.

// noIdea is the Sigma of an estimate with nothing behind it: a factor of ten
// either way is within 1.5 of it.
const noIdea = 1.5

// learnExact applies the formula of section 2 to every hour of the day's kind w.
// The paper does not say what the table starts from; here the first measure
// fills it, so that no estimate lies outside of what was measured.
func (s *server) learnExact(alpha *[24]float32, w, minute int, rate float64) {
	m := float32(rate)
	if s.n == 0 {
		s.hour = new([2][24]float32)
		for w := range s.hour {
			for h := range s.hour[w] {
				s.hour[w][h] = m
			}
		}
		s.n, s.err = 1, noIdea*noIdea
		return
	}
	s.judge(ln(rate / float64(s.hour[w][minute/60])))
	hour := &s.hour[w]
	for h, a := range alpha {
		hour[h] = float32((1-a)*hour[h]) + float32(a*m)
	}
	s.n = min(s.n+1, maxCount)
}

const (
	errGain = 0.1  // how fast the idea of one's own error moves
	minErr  = 1e-4 // nobody is surer than one in a hundred
)

// judge takes in how far the logarithm of a rate was from what was foretold.
func (s *server) judge(e float32) {
	s.err = max(s.err+float32(max(errGain, 1/float32(s.n+1))*(float32(e*e)-s.err)), minErr)
}

func (s *server) rateExact(w, minute int) Estimate {
	return Estimate{Rate: float64(s.hour[w][minute/60]), Sigma: math.Sqrt(float64(s.err)), Known: true}
}
