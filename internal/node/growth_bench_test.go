package node

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/internal/cputime"
	"weir/internal/store"
)

// BenchmarkGrowth grows a stored crawl as a web would: sites by a power law, 30
// links a page, 88 of a hundred to the same site, four occurrences to every new
// page; groups of 100 pages, synced, no archive. Its figures are those of the
// whole process, compaction included.
//
//	go test -run '^$' -bench Growth -benchtime 1x ./internal/node -urls 10000000
func BenchmarkGrowth(b *testing.B) {
	for b.Loop() {
		growth(b)
	}
}

func growth(b *testing.B) {
	dir := b.TempDir()
	s, err := store.Create(dir, growingStore)
	if err != nil {
		b.Fatal(err)
	}
	w, err := grow(s, *growthMemory)
	if err != nil {
		b.Fatal(err)
	}
	idle := idleCost()
	var early, late time.Duration
	begin := cputime.Used()
	for w.ledger.Totals().Seen < int64(*growthURLs) {
		from, pages := cputime.Used(), w.pages
		for range 100 {
			if err := w.group(s); err != nil {
				b.Fatal(err)
			}
		}
		late = (cputime.Used()-from)/time.Duration(w.pages-pages) - idle
		if early == 0 {
			early = late
		}
	}
	micros := func(d time.Duration) float64 { return float64(d) / 1e3 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(micros((cputime.Used()-begin)/time.Duration(w.pages)-idle), "us/page")
	b.ReportMetric(micros(early), "us/page-first")
	b.ReportMetric(micros(late), "us/page-last")
	slices.Sort(w.commits)
	for _, q := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
		b.ReportMetric(w.commits[int(q.part*float64(len(w.commits)-1))].Seconds()*1e3, "ms-commit-"+q.name)
	}
	seen := float64(w.ledger.Totals().Seen)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(folder(b, dir))/seen, "B/URL")
	open := time.Now()
	if s, err = store.Open(dir, growingStore); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(open).Seconds(), "s-reopen")
	// The same again by one who remembers almost nothing and asks the store.
	if w, err = grow(s, 1<<20); err != nil {
		b.Fatal(err)
	}
	from, pages := cputime.Used(), w.pages
	for range 200 {
		if err := w.group(s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(micros((cputime.Used()-from)/time.Duration(w.pages-pages)-idle), "us/page-asking")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// idleCost is what making a page costs the benchmark itself.
func idleCost() time.Duration {
	const pages = 20_000
	w := &growing{}
	w.plant()
	from := cputime.Used()
	for range pages {
		w.page()
	}
	return (cputime.Used() - from) / pages
}

func folder(b *testing.B, dir string) (n int64) {
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
