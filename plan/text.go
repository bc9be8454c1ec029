package plan

import (
	"fmt"
	"math"
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

// timeText writes a span of time for people, in its two largest units: 2 h 5 min.
func timeText(seconds float64) string {
	switch {
	case math.IsInf(seconds, 0) || seconds >= 1e15:
		return "for ever"
	case seconds < 0.9995:
		return fmt.Sprintf("%.0f ms", max(seconds, 0)*1000)
	case seconds < 9.95:
		return fmt.Sprintf("%.1f s", seconds)
	}
	units := []struct {
		name string
		of   int64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}
	n := int64(math.Round(seconds))
	for i, u := range units {
		if n < u.of && u.of > 1 {
			continue
		}
		text := fmt.Sprintf("%d %s", n/u.of, u.name)
		if i+1 < len(units) {
			if small := n % u.of / units[i+1].of; small > 0 {
				text += fmt.Sprintf(" %d %s", small, units[i+1].name)
			}
		}
		return text
	}
	return "0 s"
}
