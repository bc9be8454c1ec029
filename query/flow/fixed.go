package flow

import (
	"math"
	"math/bits"
)

// fixed is a sum that does not depend on the order of what is added: a whole
// number of steps of 2^-96, in 192 bits, two's complement, the lowest word first.
//
// What is added is rounded to a step, halves to the even one, which changes
// nothing at sizes from 2^-44 up (2^-44 is 5.7e-14). Terms stay below 2^63, so that no
// 2^32 of them can overflow, in whatever order they come.
type fixed [3]uint64

const (
	fixedStep = 96               // bits behind the point
	termLimit = float64(1 << 63) // terms are smaller
)

// addInt adds n.
func (f *fixed) addInt(n int64) {
	f.add(fixed{0, uint64(n) << 32, uint64(n >> 32)})
}

// addFloat adds x, and reports whether it could: terms of 2^63 and more are too
// large.
func (f *fixed) addFloat(x float64) bool {
	if !(math.Abs(x) < termLimit) {
		return false
	}
	b := math.Float64bits(x)
	mantissa, exponent := b&(1<<52-1), int(b>>52&0x7ff)
	if exponent == 0 {
		exponent = 1
	} else {
		mantissa |= 1 << 52
	}
	t := shifted(mantissa, exponent-1075+fixedStep)
	if b>>63 != 0 {
		t.negate()
	}
	f.add(t)
	return true
}

// shifted returns m * 2^by, rounded to a whole number. by is below 128.
func shifted(m uint64, by int) fixed {
	switch {
	case by >= 64:
		return fixed{0, m << (by - 64), m >> (128 - by)}
	case by >= 0:
		return fixed{m << by, m >> (64 - by), 0}
	case by < -63:
		return fixed{}
	}
	return fixed{halfEven(m, uint(-by), false)}
}

// halfEven returns m / 2^by rounded to the nearest, halves to the even number;
// more says that m is a little larger than it looks. by is from 1 to 63.
func halfEven(m uint64, by uint, more bool) uint64 {
	n, rest, half := m>>by, m&(1<<by-1), uint64(1)<<(by-1)
	if rest > half || rest == half && (more || n&1 == 1) {
		n++
	}
	return n
}

func (f *fixed) add(t fixed) {
	var c uint64
	f[0], c = bits.Add64(f[0], t[0], 0)
	f[1], c = bits.Add64(f[1], t[1], c)
	f[2], _ = bits.Add64(f[2], t[2], c)
}

func (f *fixed) negate() {
	var c uint64
	f[0], c = bits.Sub64(0, f[0], 0)
	f[1], c = bits.Sub64(0, f[1], c)
	f[2], _ = bits.Sub64(0, f[2], c)
}

// int returns the sum of whole terms, and whether an int64 holds it.
func (f *fixed) int() (int64, bool) {
	n := int64(f[2]<<32 | f[1]>>32)
	return n, int64(f[2])>>31 == n>>63
}

// float returns the float nearest to the sum.
func (f *fixed) float() float64 {
	m, sign := *f, 1.0
	if int64(m[2]) < 0 {
		m.negate()
		sign = -1
	}
	for i := len(m) - 1; i >= 0; i-- {
		if m[i] == 0 {
			continue
		}
		// The 64 bits from the highest one down, and whether any are left.
		zeros := uint(bits.LeadingZeros64(m[i]))
		top, more := m[i]<<zeros, false
		if i > 0 {
			top |= m[i-1] >> (64 - zeros)
			more = m[i-1]<<zeros != 0 || i > 1 && m[0] != 0
		}
		return sign * math.Ldexp(float64(halfEven(top, 11, more)), 64*i-int(zeros)+11-fixedStep)
	}
	return 0
}
