package chart

import (
	"math"
	"strconv"
	"strings"
)

// scale maps values to 0..1 and chooses the ticks.
type scale struct {
	from, to float64
	log      bool
	ticks    []tick
}

type tick struct {
	at    float64
	label string // empty: a line without a number
}

// newScale fits an axis to its data, with about n ticks. A tight one ends with
// its data, otherwise it ends at ticks.
func newScale(a Axis, lo, hi float64, n int, tight bool) scale {
	fixed := a.From < a.To && finite(a.From) && finite(a.To) && (!a.Log || a.From > 0)
	if fixed {
		lo, hi = a.From, a.To
	}
	if a.Log {
		return logScale(a.Unit, lo, hi, n, fixed || tight && lo < hi)
	}
	if lo > hi {
		lo, hi = 0, 1 // nothing to draw
	}
	if !fixed {
		// Zero is shown if it is not far away: a line's height then means something.
		if lo > 0 && lo < hi/2 {
			lo = 0
		} else if hi < 0 && hi > lo/2 {
			hi = 0
		}
		if lo == hi {
			lo, hi = min(lo, 0), max(hi, 0)
			if lo == hi {
				hi = 1
			}
		}
	}
	s := scale{from: lo, to: hi}
	step := niceStep(hi/float64(n)-lo/float64(n), a.Unit, max(math.Abs(lo), math.Abs(hi)))
	if !(step > 0) || math.IsInf(step, 0) {
		return s // the range is smaller or larger than numbers can tell
	}
	first, last := math.Floor(lo/step+1e-9), math.Ceil(hi/step-1e-9)
	if !fixed && !tight {
		// Rounding must not leave out the ends.
		s.from, s.to = max(min(first*step, lo), -math.MaxFloat64), min(max(last*step, hi), math.MaxFloat64)
	}
	label := labeller(a.Unit, max(math.Abs(s.from), math.Abs(s.to)), step)
	for i := range 1000 {
		v := (first + float64(i)) * step
		if v > s.to+step*1e-9 {
			break
		}
		// Next to large numbers small steps may not move.
		if n := len(s.ticks); v >= s.from-step*1e-9 && (n == 0 || v > s.ticks[n-1].at) {
			s.ticks = append(s.ticks, tick{v, label(v)})
		}
	}
	return s
}

func logScale(u Unit, lo, hi float64, n int, fixed bool) scale {
	if !(lo <= hi) || lo <= 0 {
		lo, hi = 1, 10
	}
	first, last := math.Floor(math.Log10(lo)+1e-9), math.Ceil(math.Log10(hi)-1e-9)
	if first == last {
		last++
	}
	s := scale{from: lo, to: hi, log: true}
	if !fixed {
		s.from = max(min(math.Pow(10, first), lo), math.SmallestNonzeroFloat64)
		s.to = min(max(math.Pow(10, last), hi), math.MaxFloat64)
		// Most of a decade empty at an end is trimmed to 2 or 5.
		for _, m := range []float64{5, 2} {
			if v := s.from * m; v <= lo*(1+1e-9) {
				s.from = v
				break
			}
		}
		for _, m := range []float64{5, 2} {
			if v := s.to / m; v >= hi*(1-1e-9) && v > s.from {
				s.to = v
				break
			}
		}
	}
	every := max(1, math.Ceil((last-first)/float64(n)))
	between := last-first <= 3
	for e := first; e <= last; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if at := s.pos(v); at < -1e-9 || at > 1+1e-9 || m > 1 && !between {
				continue
			}
			if m > 1 || math.Mod(e-first, every) == 0 {
				s.ticks = append(s.ticks, tick{v, labeller(u, v, v)(v)})
			} else if every <= 3 {
				s.ticks = append(s.ticks, tick{at: v})
			}
		}
	}
	if len(s.ticks) < 2 && s.to < 10*s.from {
		// So little of a decade is almost straight.
		s.ticks = newScale(Axis{Unit: u, From: s.from, To: s.to}, s.from, s.to, n, true).ticks
	}
	return s
}

// pos returns where v lies, 0 at the beginning and 1 at the end. Far outside it
// is only said to be far.
func (s *scale) pos(v float64) float64 {
	at := 0.0
	if s.log {
		at = (math.Log(v) - math.Log(s.from)) / (math.Log(s.to) - math.Log(s.from))
	} else {
		// Halves, since the whole may be more than a number can hold.
		at = (v/2 - s.from/2) / (s.to/2 - s.from/2)
	}
	if math.IsNaN(at) {
		return 0 // the range is too small to divide
	}
	return min(max(at, -100), 100)
}

// shows reports whether v can be drawn at all.
func (s *scale) shows(v float64) bool { return finite(v) && (!s.log || v > 0) }

// spans are the units of time, and the name of each.
var spans = []struct {
	seconds float64
	name    string
}{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}

// span returns the unit in which to write a time of about v seconds.
func span(v float64) (seconds float64, name string) {
	for _, s := range spans {
		if v >= 2*s.seconds {
			return s.seconds, s.name
		}
	}
	return 1, "s"
}

// niceStep rounds a step up to 1, 2 or 5 times a power of ten of the unit shown.
func niceStep(step float64, u Unit, largest float64) float64 {
	one := 1.0
	if u == Seconds {
		one, _ = span(largest)
	}
	power := math.Pow(10, math.Floor(math.Log10(step/one)))
	for _, m := range []float64{1, 2, 5, 10} {
		if v := m * power * one; v >= step*(1-1e-9) {
			return v
		}
	}
	return 10 * power * one
}

// prefixes are powers of a thousand, from the largest.
var prefixes = []struct {
	value float64
	name  string
}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}

// labeller returns how the ticks of an axis are written that reaches to
// largest in steps: all with the same decimals and, so that they compare, the
// same prefix or span.
func labeller(u Unit, largest, step float64) func(float64) string {
	one, suffix := 1.0, ""
	switch u {
	case Percent:
		one, suffix = 0.01, "%"
	case Seconds:
		one, suffix = span(largest)
		suffix = " " + suffix
	default:
		for _, p := range prefixes {
			if largest >= p.value*(1-1e-9) {
				one, suffix = p.value, p.name
				break
			}
		}
		switch u {
		case Bytes:
			suffix = " " + strings.ToUpper(suffix) + "B"
		case Speed:
			suffix = " " + strings.ToUpper(suffix) + "B/s"
		}
	}
	decimals := 0
	if s := step / one; s > 0 {
		for decimals < 12 && math.Abs(s-math.Round(s)) > s*1e-6 {
			decimals++
			s *= 10
		}
	}
	return func(v float64) string {
		if math.Abs(v) < step*1e-9 {
			v = 0
		}
		if v == 0 && (u == Number || u == Percent) {
			return "0" + strings.TrimLeft(suffix, "kMGTP")
		}
		return minus(strconv.FormatFloat(v/one, 'f', decimals, 64)) + suffix
	}
}

// minus writes a minus sign as one.
func minus(s string) string {
	if strings.HasPrefix(s, "-") {
		return "−" + s[1:]
	}
	return s
}

// Format writes a number with three digits, in its unit: 12.3k, 45%, 1.5 h,
// 20 KB.
func (u Unit) Format(v float64) string {
	if !finite(v) {
		return "–"
	}
	size := math.Abs(v)
	one := 1.0
	switch u {
	case Percent:
		one = 0.01
	case Seconds:
		one, _ = span(size)
	default:
		for _, p := range prefixes {
			if size >= p.value*0.9995 {
				one = p.value
				break
			}
		}
	}
	if size == 0 {
		return labeller(u, 0, 1)(0)
	}
	digits := math.Floor(math.Log10(size/one*1.0005)) + 1
	step := one * math.Pow(10, max(digits-3, -9))
	rounded := math.Round(v/step) * step
	s := labeller(u, max(math.Abs(rounded), one), min(step, one))(rounded)
	return trimZeros(s)
}

// trimZeros takes zeros after the decimal point away.
func trimZeros(s string) string {
	dot := strings.IndexByte(s, '.')
	if dot < 0 {
		return s
	}
	end := dot + 1
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	number := strings.TrimRight(s[:end], "0")
	return strings.TrimSuffix(number, ".") + s[end:]
}
