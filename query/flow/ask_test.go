package flow_test

import (
	"errors"
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

// inquiry is a Part that works out some tables of a program over a crawl that
// is over.
type inquiry struct {
	testing.TB
	*query.Checked
	part *flow.Part
	out  flow.Out
}

func newInquiry(t testing.TB, c *query.Checked, s flow.State, tables ...string) *inquiry {
	t.Helper()
	p, diags := flow.Compile(c, flow.Options{Given: []string{"crawl"}, Tables: tables})
	if query.Failed(diags) {
		t.Fatal(format(c.Program, diags))
	}
	x, err := flow.NewPart(p, s, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	x.Now(snapshot)
	q := &inquiry{TB: t, Checked: c, part: x}
	q.take(x.Start(&q.out))
	return q
}

func (q *inquiry) take(err error) {
	q.Helper()
	if err != nil {
		q.Fatal(err)
	}
	q.out.Reset()
}

func (q *inquiry) page(f *page.Facts) { q.take(q.part.Page(f, &q.out)) }

func (q *inquiry) crawled(u string, depth int64) { q.take(q.part.Crawled(u, depth, 0, &q.out)) }

func (q *inquiry) finish() { q.take(flow.Finish([]*flow.Part{q.part})) }

func (q *inquiry) rows(table string, fn func(line string)) {
	t := q.Table(table)
	q.take(q.part.Rows(t, func(r flow.Row) bool { fn(printed(t.Types, r)); return true }))
}

// written is a state that takes changes and is not a Mem, as one on disk is.
type written struct{ mem *flow.Mem }

func (w written) Get(key []byte) ([]byte, bool, error) { return w.mem.Get(key) }
func (w written) Set(key, value []byte) error          { return w.mem.Set(key, value) }
func (w written) Delete(key []byte) error              { return w.mem.Delete(key) }
func (w written) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	return w.mem.Scan(lower, upper, fn)
}

func TestAnswersAreSorted(t *testing.T) {
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
		q := newInquiry(t, c, s)
		for i, w := range slices.Backward(four) {
			f := w.facts()
			f.Depth = uint16(i)
			q.crawled(w.url, int64(i))
			q.page(f)
		}
		q.crawled("http://c.test/", 2)
		q.finish()
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
			q.rows(table, func(line string) { got = append(got, line) })
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s:\n%s\nwant\n%s", name, table, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// What grows past its bound is given up, wherever it grows: with the pages, or in
// a final level.
func TestAnswersKeepToTheirMemory(t *testing.T) {
	const near = "near(U, X) :- link(U, V), link(V, X). far(U, X) :- near(U, X), !linked(U, X). linked(U, V) :- link(U, V). "
	for name, program := range map[string]string{
		"live":      near,
		"final":     "far(U, X) :- link(U, V), link(V, X), !linked(U, X). linked(U, V) :- link(U, V).",
		"recursive": "far(U, V) :- link(U, V). far(U, W) :- far(U, V), link(V, W).",
	} {
		mem := flow.NewMem()
		mem.Bound(1 << 20)
		q := newInquiry(t, asked(t, program), mem)
		web, err := newCrawled(1000), error(nil)
		for i := 0; i < 100 && err == nil; i++ {
			err = q.part.Page(web.page(i, false), &q.out)
			q.out.Reset()
		}
		if err == nil {
			err = flow.Finish([]*flow.Part{q.part})
		}
		if !errors.Is(err, flow.ErrFull) {
			t.Errorf("%s: %v", name, err)
		}
		if n := mem.Len(); n > 20_000 {
			t.Errorf("%s: %d rows in a megabyte", name, n)
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

// benchQuestion asks a crawl of 20,000 pages.
func benchQuestion(b *testing.B, program, table string, words bool) {
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
		q := newInquiry(b, c, flow.NewMem(), table)
		for _, f := range facts {
			q.page(f)
		}
		q.finish()
		q.take(q.part.Rows(c.Table(table), func(flow.Row) bool { rows++; return true }))
	}
	used := (cputime.Used() - from).Seconds() / float64(b.N)
	b.ReportMetric(used, "cpu-s")
	b.ReportMetric(float64(rows), "rows")
	b.ReportMetric(float64(rows)/used, "rows/cpu-s")
}

func BenchmarkTwoHops(b *testing.B) {
	benchQuestion(b, "near(U, X) :- link(U, V), link(V, X).", "near", false)
}

func BenchmarkInvertedIndex(b *testing.B) {
	benchQuestion(b, "index(W, U, N) :- word(U, W, N).", "index", true)
}

func BenchmarkIndegree(b *testing.B) {
	benchQuestion(b, "indegree(V, count<U>) :- link(U, V).", "indegree", false)
}

func BenchmarkPageRank(b *testing.B) {
	benchQuestion(b, `
		outdeg(U, count<V>) :- link(U, V).
		rank(U, 0, 1.0) :- fetched(U).
		give(V, I, U, X) :- rank(U, I, R), outdeg(U, N), link(U, V), X = 0.85*R/N, I < 20.
		give(V, I, V, 0.15) :- rank(V, I, _), I < 20.
		rank(V, I+1, sum<X>) :- give(V, I, U, X).
		best(top<100, R, V>) :- rank(V, 20, R).`, "best", false)
}
