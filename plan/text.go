package plan

import (
	"fmt"
	"math"
	"strconv"
)

// sizeText writes a number of bytes for people: 12.5 GB.
func sizeText(n float64) string {
	prefix := ""
	for _, p := range []string{"K", "M", "G", "T", "P"} {
		if n < 999.5 {
			break
		}
		n, prefix = n/1000, p
	}
	switch {
	case n >= 99.95 || prefix == "" && n == math.Trunc(n):
		return fmt.Sprintf("%.0f %sB", n, prefix)
	case n < 0.95:
		return fmt.Sprintf("%.2g %sB", n, prefix)
	}
	return fmt.Sprintf("%.1f %sB", n, prefix)
}

// rateText writes a rate for people: 1.2 MB/s.
func rateText(rate float64) string {
	if math.IsInf(rate, 1) {
		return "any rate"
	}
	return sizeText(rate) + "/s"
}

// timeText writes a span of time for people, in its two largest units: 2h05m.
func timeText(seconds float64) string {
	switch {
	case math.IsInf(seconds, 0) || seconds >= 1e15:
		return "for ever"
	case seconds < 0.9995:
		return strconv.FormatFloat(math.Round(max(seconds, 0)*1000)/1000, 'f', -1, 64) + "s"
	case seconds < 9.95, seconds < 59.95 && math.Abs(seconds-math.Round(seconds)) >= 0.05:
		return fmt.Sprintf("%.1fs", seconds)
	}
	switch n := int64(math.Round(seconds)); {
	case n < 60:
		return fmt.Sprintf("%ds", n)
	case n < 3600:
		return fmt.Sprintf("%dm%02ds", n/60, n%60)
	case n < 48*3600:
		return fmt.Sprintf("%dh%02dm", n/3600, n%3600/60)
	default:
		return fmt.Sprintf("%dd%02dh", n/86400, n%86400/3600)
	}
}

// timeUnit is the least difference that timeText shows between times of that length.
func timeUnit(seconds float64) float64 {
	switch {
	case seconds < 0.9995:
		return 0.001
	case seconds < 59.95:
		return 0.1
	case seconds < 3599.5:
		return 1
	case seconds < 48*3600-0.5:
		return 60
	}
	return 3600
}

// upTime rounds a time up to what timeText shows of it.
func upTime(seconds float64) float64 {
	unit := timeUnit(seconds)
	return max(seconds, float64(math.Ceil(float64(seconds/unit)-tiny)*unit))
}

// upSize rounds a size up to what sizeText shows of it.
func upSize(n float64) float64 {
	return max(n, float64(math.Ceil(float64(n/sizeUnit(n))-tiny)*sizeUnit(n)))
}

// sizeUnit is the least difference that sizeText shows between sizes like it.
func sizeUnit(n float64) float64 {
	unit := 1.0
	for n/unit >= 999.5 && unit < 1e15 {
		unit *= 1000
	}
	switch of := n / unit; {
	case of >= 99.95:
	case of < 0.95:
		unit *= math.Pow(10, math.Floor(math.Log10(of))-1)
	default:
		unit /= 10
	}
	return unit
}
