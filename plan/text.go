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
