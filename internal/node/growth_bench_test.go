package node

import (
	"bytes"
	"encoding/binary"
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
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	o := growingStore
	o.ReadOnly = true // nothing is compacted meanwhile
	b.ReportMetric(micros(w.ask(b, dir, o)), "us/link-asked")
	o.Cache = 512 << 20
	b.ReportMetric(micros(w.ask(b, dir, o)), "us/link-asked-512MB")
}

// ask opens the store of a web that has stopped growing, and returns what a link
// costs that it is asked for: those of a page at once, in the order of their rows,
// as the Ledger asks for links that it does not remember.
func (w *growing) ask(b *testing.B, dir string, o store.Options) time.Duration {
	s, err := store.Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	const pages = 20_000
	var used time.Duration
	asked := 0
	for range 2 { // the first time fills the cache
		want, found := 0, 0
		asked = 0
		rows := make([][][]byte, pages)
		for i := range rows {
			var known int
			rows[i], known = w.rows()
			asked += len(rows[i])
			want += known
		}
		from := cputime.Used()
		for _, keys := range rows {
			if err := s.Find(keys, func(int, []byte) { found++ }); err != nil {
				b.Fatal(err)
			}
		}
		used = cputime.Used() - from
		if found != want {
			b.Fatalf("%d links were found, %d are known", found, want)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return used / time.Duration(asked)
}

// rows returns the keys of the links of a page that was met, in order, and how
// many of them have a row: a quarter of the links are new.
func (w *growing) rows() (keys [][]byte, known int) {
	self := w.queue[w.rng.IntN(len(w.queue))]
	for range 30 {
		site := w.aim(self.site)
		to := place{site, w.known[site]}
		if w.ids[site] == 0 {
			continue // nothing of a new site is asked for
		}
		if w.rng.IntN(4) == 0 {
			to.n += w.rng.Int32N(1 << 30)
		} else {
			to.n = w.rng.Int32N(to.n)
		}
		key := binary.BigEndian.AppendUint32([]byte{'u'}, uint32(w.ids[site]))
		key = binary.BigEndian.AppendUint64(key, w.link(to).Hash)
		i, twice := slices.BinarySearchFunc(keys, key, bytes.Compare)
		if twice {
			continue
		}
		keys = slices.Insert(keys, i, key)
		if to.n < w.known[site] {
			known++
		}
	}
	return keys, known
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
