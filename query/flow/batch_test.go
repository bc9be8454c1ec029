package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/internal/cputime"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// newBatch compiles a question for what is asked of it.
func newBatch(t testing.TB, c *query.Checked, s flow.Writer, tables ...string) *flow.Batch {
	t.Helper()
	p, diags := flow.Compile(c, flow.Options{Given: []string{"crawl"}, Tables: tables})
	if query.Failed(diags) {
		t.Fatal(format(c.Program, diags))
	}
	b, err := flow.NewBatch(p, s, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// written is a state that is neither a Mem nor knows of one: what a batch keeps
// on disk.
type written struct{ mem *flow.Mem }

func (w written) Get(key []byte) ([]byte, bool, error) { return w.mem.Get(key) }
func (w written) Set(key, value []byte) error          { return w.mem.Set(key, value) }
func (w written) Delete(key []byte) error              { return w.mem.Delete(key) }
func (w written) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	return w.mem.Scan(lower, upper, fn)
}

func TestBatchTellsSortedRows(t *testing.T) {
	const program = `
		index(W, U, N) :- word(U, W, N).
		near(U, X) :- link(U, V), link(V, X).
		deep(U, D) :- crawl(U, D), D > 0.
		waits(U) :- crawl(U), !seen(U).
		seen(U) :- fetched(U).
		best(top<2, N, W>) :- said(W, N).
		said(W, sum<N>) :- index(W, U, N).`
	c := asked(t, program)
	for name, s := range map[string]flow.Writer{"memory": flow.NewMem(), "disk": written{flow.NewMem()}} {
		b := newBatch(t, c, s)
		for i, w := range slices.Backward(four) {
			f := w.facts()
			f.Depth = uint16(i)
			if err := b.Crawl(w.url, int64(i), 0); err != nil {
				t.Fatal(err)
			}
			if err := b.Page(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Crawl("http://c.test/", 2, 0); err != nil {
			t.Fatal(err)
		}
		if err := b.Finish(); err != nil {
			t.Fatal(err)
		}
		if pages, waiting := b.SoFar(); pages != 4 || waiting != 1 {
			t.Errorf("%s: so far %d pages, %d waiting", name, pages, waiting)
		}
		for table, want := range map[string][]string{
			"index": {"panel http://a.test/ 1", "panel http://a.test/1 1", "solar http://a.test/ 2", "solar http://a.test/2 1", "wind http://b.test/ 1"},
			"near": {"http://a.test/ http://a.test/", "http://a.test/ http://b.test/", "http://a.test/ http://c.test/",
				"http://a.test/1 http://a.test/1", "http://a.test/1 http://a.test/2", "http://a.test/1 http://b.test/", "http://a.test/1 http://c.test/",
				"http://a.test/2 http://a.test/1", "http://a.test/2 http://a.test/2", "http://a.test/2 http://b.test/"},
			"deep":  {"http://a.test/1 1", "http://a.test/2 2", "http://b.test/ 3", "http://c.test/ 2"},
			"waits": {"http://c.test/"},
			"best":  {"1 3 solar", "2 2 panel"},
		} {
			var got []string
			tab := c.Table(table)
			if err := b.Rows(tab, func(r flow.Row) bool { got = append(got, printed(tab.Types, r)); return true }); err != nil {
				t.Fatal(err)
			}
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%s: %s:\n%s\nwant\n%s", name, table, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// crawled is a web of some size: hosts of a hundred pages, and thirty links a
// page, two of three to the same host.
type crawled struct {
	*rand.Rand
	urls  []page.URL
	words []string
}

func newCrawled(pages int) *crawled {
	c := &crawled{Rand: rand.New(rand.NewPCG(7, 7))}
	for i := range pages {
		c.urls = append(c.urls, page.Canonical(fmt.Sprintf("https://www.host-%d.example.org/section/page-%d.html", i/100, i)))
	}
	for i := range 50_000 {
		c.words = append(c.words, fmt.Sprintf("word%d", i))
	}
	return c
}

func (c *crawled) page(i int, words bool) *page.Facts {
	f := &page.Facts{URL: c.urls[i], Outcome: page.OK, Status: 200, Mime: "text/html"}
	for k := range 30 {
		to := i/100*100 + c.IntN(100)
		if k%3 == 0 {
			to = c.IntN(len(c.urls))
		}
		f.Links = append(f.Links, page.Link{URL: c.urls[min(to, len(c.urls)-1)]})
	}
	if words {
		z := rand.NewZipf(c.Rand, 1.2, 20, uint64(len(c.words)-1))
		said := map[uint64]bool{}
		for len(said) < 300 {
			if w := z.Uint64(); !said[w] {
				said[w] = true
				f.Words = append(f.Words, page.Word{Term: c.words[w], N: 1 + c.IntN(9)})
			}
		}
	}
	return f
}

// benchBatch asks a crawl of 20,000 pages.
func benchBatch(b *testing.B, program, table string, words bool) {
	const pages = 20_000
	c := asked(b, program)
	web := newCrawled(pages)
	var facts []*page.Facts
	for i := range pages {
		facts = append(facts, web.page(i, words))
	}
	rows, from := 0, cputime.Used()
	for b.Loop() {
		rows = 0
		batch := newBatch(b, c, flow.NewMem(), table)
		for _, f := range facts {
			if err := batch.Page(f); err != nil {
				b.Fatal(err)
			}
		}
		if err := batch.Finish(); err != nil {
			b.Fatal(err)
		}
		if err := batch.Rows(c.Table(table), func(flow.Row) bool { rows++; return true }); err != nil {
			b.Fatal(err)
		}
	}
	used := (cputime.Used() - from).Seconds() / float64(b.N)
	b.ReportMetric(used, "cpu-s")
	b.ReportMetric(float64(rows), "rows")
	b.ReportMetric(float64(rows)/used, "rows/cpu-s")
}

func BenchmarkTwoHops(b *testing.B) {
	benchBatch(b, "near(U, X) :- link(U, V), link(V, X).", "near", false)
}

func BenchmarkInvertedIndex(b *testing.B) {
	benchBatch(b, "index(W, U, N) :- word(U, W, N).", "index", true)
}

func BenchmarkIndegree(b *testing.B) {
	benchBatch(b, "indegree(V, count<U>) :- link(U, V).", "indegree", false)
}

func BenchmarkPageRank(b *testing.B) {
	benchBatch(b, `
		outdeg(U, count<V>) :- link(U, V).
		rank(U, 0, 1.0) :- fetched(U).
		give(V, I, U, X) :- rank(U, I, R), outdeg(U, N), link(U, V), X = 0.85*R/N, I < 20.
		give(V, I, V, 0.15) :- rank(V, I, _), I < 20.
		rank(V, I+1, sum<X>) :- give(V, I, U, X).
		best(top<100, R, V>) :- rank(V, 20, R).`, "best", false)
}
