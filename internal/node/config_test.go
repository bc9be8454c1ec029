package node

import (
	"testing"
	"time"

	"weir/crawl"
)

// What is left takes as long as its hosts' rests let it, not as long as it would have
// taken all hosts together.
func TestTimeLeft(t *testing.T) {
	s := Status{Run: 100 * time.Second, Pages: 10}
	s.Totals = crawl.Totals{Seen: 1300, Queued: 300, Fetched: 1000}
	s.Started = crawl.Totals{Seen: 1300, Queued: 1300} // nothing is found any more
	for _, c := range []struct {
		what  string
		pages float64
		pause time.Duration
		want  time.Duration
	}{
		{"all hosts", 10, 0, 30 * time.Second},
		{"a good moment", 20, 0, 30 * time.Second},
		{"one host is left", 0.5, 0, 600 * time.Second},
		{"nothing comes just now", 0, 0, 0},
		{"all hosts rest", 0.5, time.Minute, 0},
	} {
		s.Pages, s.Pause = c.pages, c.pause
		if got, ok := s.ETA(Config{}); got.Round(time.Second) != c.want && ok || ok != (c.want > 0) {
			t.Errorf("%s: %v, %v, want %v", c.what, got, ok, c.want)
		}
	}
}
