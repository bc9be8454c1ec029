package flow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/internal/cputime"
	"weir/page"
)

const (
	benchPages = 20_000
	benchLinks = 30
)

// benchWeb makes pages on 100 hosts that link to one another, three of four
// links to the own host, with anchors and titles.
func benchWeb(b *testing.B) []page.Facts {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	urls := make([]page.URL, benchPages)
	for i := range urls {
		urls[i] = mustURL(b, fmt.Sprintf("https://www.site%02d.example.org/docs/section/%d/page-%d.html", i%100, i%7, i))
	}
	web := make([]page.Facts, benchPages)
	for i := range web {
		f := &web[i]
		*f = page.Facts{URL: urls[i], Depth: uint16(i % 3), Outcome: page.OK, Status: 200, Mime: "text/html", Title: fmt.Sprintf("Page %d of the docs", i/2)}
		if i%10 == 0 {
			f.Outcome, f.Status = page.ClientError, 404
			continue
		}
		for range benchLinks {
			to := r.IntN(benchPages/100)*100 + i%100
			if r.IntN(4) == 0 {
				to = r.IntN(benchPages)
			}
			// Each a text of its own, beside its neighbours, as a parser makes them.
			f.Links = append(f.Links, page.Link{URL: page.Canonical(strings.Clone(urls[to].String())), Text: "read more about solar panels"})
		}
	}
	return web
}

func benchmark(b *testing.B, src string, o Options, seeds int) {
	web := benchWeb(b)
	plan := compile(b, src, o)
	facts := 0
	for i := range web {
		facts += len(web[i].Links)
	}
	var out Out
	b.ReportAllocs()
	from := cputime.Used()
	for b.Loop() {
		x, err := NewPart(plan, NewMem(), 0, 1)
		if err != nil {
			b.Fatal(err)
		}
		for i := range seeds {
			out.Reset()
			if err := x.Seed(web[i].URL, 0, &out); err != nil {
				b.Fatal(err)
			}
		}
		for i := range web {
			out.Reset()
			if err := x.Page(&web[i], &out); err != nil {
				b.Fatal(err)
			}
		}
	}
	// Other processes may have the machine for themselves: only our own time counts.
	b.ReportMetric(float64(facts)*float64(b.N)/(cputime.Used()-from).Seconds(), "facts/cpu-s")
	b.ReportMetric(0, "ns/op")
}

// The plain programs: 5 million link facts a second are asked for.

func BenchmarkPlainHosts(b *testing.B) {
	benchmark(b, plainProgram, Options{Crawl: true}, 100)
}

func BenchmarkPlainOneHost(b *testing.B) {
	benchmark(b, plainProgram, Options{Crawl: true}, 1)
}

func BenchmarkPlainAny(b *testing.B) {
	benchmark(b, `crawl(U, 0, S) :- seed(U, S).
crawl(V, D+1, P) :- crawl(U, D, P), link(U, V).`, Options{Crawl: true}, 1)
}

// General programs: 800,000 link facts a second are asked for.

const benchCrawl = `crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < 3.
`

func BenchmarkTitle(b *testing.B) {
	benchmark(b, `crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V, A), title(U, T), contains(T, "docs"), contains(lower(A), "solar"), D < 6.`, Options{Crawl: true}, 1)
}

func BenchmarkRegexp(b *testing.B) {
	benchmark(b, `crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < 6, matches(V, "/page-[0-9]+5\\.html$"), !contains(V, "google").`, Options{Crawl: true}, 1)
}

func BenchmarkBroken(b *testing.B) {
	benchmark(b, benchCrawl+`live broken. broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400.`, Options{Crawl: true}, 1)
}

func BenchmarkPopular(b *testing.B) {
	benchmark(b, `crawl(U, 0) :- seed(U).
pop(V, max count<U>) :- link(U, V).
crawl(V, 1) :- pop(V, N), N >= 3.`, Options{Crawl: true}, 1)
}

func BenchmarkStoredLinks(b *testing.B) {
	benchmark(b, benchCrawl+`live seen. seen(U, V) :- link(U, V).`, Options{Crawl: true}, 1)
}
