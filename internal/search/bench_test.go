package search

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/internal/parse"
	"weir/internal/store"
	"weir/page"
)

// zipfPages makes pages of words as frequent as those of a language: about four
// hundred a page, out of a hundred thousand.
func zipfPages(b testing.TB, n int) *shelf {
	rng := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(rng, 1.1, 8, 100_000)
	s := &shelf{end: Point{1, 0}}
	var text strings.Builder
	for i := range n {
		text.Reset()
		for range 100 + rng.IntN(600) {
			fmt.Fprintf(&text, "w%d ", zipf.Uint64())
		}
		u, err := page.Parse(fmt.Sprintf("https://site%d.example.org/section/page-%d.html", i%50, i))
		if err != nil {
			b.Fatal(err)
		}
		p := Page{URL: u, Title: fmt.Sprint("Page number ", i), Words: parse.Words(text.String()), Place: store.Place{File: 1, Offset: s.end.Offset, Length: 8000}}
		s.end = End(p.Place)
		s.pages = append(s.pages, p)
	}
	return s
}

// BenchmarkIndex indexes 20,000 pages whose words are at hand.
func BenchmarkIndex(b *testing.B) {
	s := zipfPages(b, 20_000)
	for b.Loop() {
		begin := time.Now()
		x, err := Open(b.TempDir(), Options{FS: vfs.Default, Crawl: crawlID})
		if err != nil {
			b.Fatal(err)
		}
		if err := x.Update(b.Context(), s, s.end); err != nil {
			b.Fatal(err)
		}
		t := x.Stats()
		b.ReportMetric(float64(t.Pages)/time.Since(begin).Seconds(), "pages/s")
		b.ReportMetric(float64(t.Bytes)/float64(t.Postings), "bytes/posting")
		b.ReportMetric(float64(t.Segments), "segments")
		x.Close()
	}
}

// BenchmarkSearch asks an index of 20,000 pages.
func BenchmarkSearch(b *testing.B) {
	s := zipfPages(b, 20_000)
	dir := b.TempDir()
	o := Options{FS: vfs.Default, Crawl: crawlID}
	x, err := Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	if err := x.Update(b.Context(), s, s.end); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, question string }{
		{"common", "w1"}, {"two", "w3 w40"}, {"rare", "w5000 w2"}, {"missing", "nowhere"}, {"host", "w2 host:site7.example.org"},
	} {
		b.Run(c.name, func(b *testing.B) {
			q, err := Parse(c.question)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				y, err := Open(dir, o) // as a command does
				if err != nil {
					b.Fatal(err)
				}
				if _, err := y.Search(b.Context(), q, 10, nil); err != nil {
					b.Fatal(err)
				}
				y.Close()
			}
		})
	}
	b.Run("suggest", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.Suggest("w12x45"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
