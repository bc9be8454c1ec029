package node

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A quantile is that of the sorted durations, or at most an eighth more.
func TestLatencyQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l latency
		var all []time.Duration
		for range rapid.IntRange(1, 300).Draw(t, "n") {
			d := time.Duration(rapid.Int64Range(1, 1<<rapid.IntRange(1, 40).Draw(t, "size")).Draw(t, "d")) * time.Microsecond
			l.add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.99} {
			want := all[int(q*float64(len(all)))]
			if got := l.quantile(q); got < want || got > want+want/8+time.Microsecond {
				t.Errorf("quantile %v of %d = %v, want %v", q, len(all), got, want)
			}
		}
		if l.quantile(1) != all[len(all)-1] {
			t.Error("the largest is not the last")
		}
	})
}
