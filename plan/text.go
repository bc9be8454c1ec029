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
