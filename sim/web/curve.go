package web

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// A curve turns evenly spread random numbers into ones with another
// distribution: it tabulates the inverse of a distribution function and goes
// straight between its points.
//
// Webs must be the same on every machine, but math.Exp and its kin are not the
// same to the last bit on every processor, nor are sums that a compiler may
// fuse. They therefore only serve to make the table, whose points are rounded
// to whole numbers; all that happens per draw is exact integer arithmetic. A
// last bit could still turn a rounding, at about one point in 10^9.
type curve struct {
	at   []uint64 // 1<<bits points and one more
	bits uint
}

// fraction is how many bits of a curve's value stand behind the point.
const fraction = 16

// newCurve tabulates f over [0, 1] at 1<<logN points; f must not fall, and
// stay below 2^47.
func newCurve(logN uint, f func(u float64) float64) curve {
	n := 1 << logN
	c := curve{make([]uint64, n+1), logN}
	for i := range c.at {
		c.at[i] = uint64(math.Round(f(float64(i)/float64(n)) * (1 << fraction)))
	}
	return c
}

// draw returns f at u/2^64, times 1<<fraction.
func (c *curve) draw(u uint64) uint64 {
	i := u >> (64 - c.bits)
	a, b := c.at[i], c.at[i+1]
	part, _ := bits.Mul64(b-a, u<<c.bits)
	return a + part
}

// Spread is a log-normal distribution by its median and the standard deviation
// of its natural logarithm. It is cut at four deviations on either side. A
// Sigma of 0 makes every value the median.
type Spread struct{ Median, Sigma float64 }

// Mean is the mean of the distribution.
func (s Spread) Mean() float64 { return s.Median * math.Exp(s.Sigma*s.Sigma/2) }

// curve tabulates the distribution times unit, held between lo and hi.
func (s Spread) curve(unit, lo, hi float64) curve {
	return newCurve(14, func(u float64) float64 {
		z := math.Sqrt2 * math.Erfinv(2*u-1)
		z = min(max(z, -4), 4)
		return min(max(s.Median*unit*math.Exp(s.Sigma*z), lo), hi)
	})
}

// power tabulates u^k in units of 2^-32, for place. The end is left out, as u
// never comes to 1.
func power(k float64) curve {
	const unit, last = 1 << (32 - fraction), 1.0 / (1 << fraction)
	return newCurve(12, func(u float64) float64 { return min(math.Pow(u, k)*unit, unit-last) })
}

// place picks one of n, in order of liking: with a curve made by power, the
// one at u^k of the way.
func (c *curve) place(r *rand.PCG, n int) int {
	return int(c.draw(r.Uint64()) * uint64(n) >> 32)
}

// below returns an evenly spread number below n.
func below(r *rand.PCG, n int) int {
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(hi)
}

// chance is a probability in units of 2^-32; at compares 32 random bits to it.
type chance uint64

func newChance(p float64) chance { return chance(math.Round(min(max(p, 0), 1) * (1 << 32))) }

func (c chance) at(random uint32) bool { return chance(random) < c }

// urn draws sites in proportion to whole weights.
type urn struct {
	sum   []uint64 // of the weights up to and with each site
	guide []uint32 // where the search begins
}

func newUrn(weight []uint64) urn {
	u := urn{sum: make([]uint64, len(weight)), guide: make([]uint32, 4*len(weight)+1)}
	var total uint64
	for i, w := range weight {
		total += w
		u.sum[i] = total
	}
	i := uint32(0)
	for g := range u.guide {
		hi, lo := bits.Mul64(total, uint64(g))
		from, _ := bits.Div64(hi, lo, uint64(len(u.guide)))
		for int(i) < len(weight)-1 && u.sum[i] <= from {
			i++
		}
		u.guide[g] = i
	}
	return u
}

// draw needs a weight above zero.
func (u *urn) draw(r *rand.PCG) int {
	x := r.Uint64()
	at, _ := bits.Mul64(x, u.sum[len(u.sum)-1])
	g, _ := bits.Mul64(x, uint64(len(u.guide)))
	i := u.guide[g]
	for u.sum[i] <= at {
		i++
	}
	return int(i)
}
