package flow_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"weir/page"
)

// A web is what a crawl may find: some pages by their URL. Whatever else is asked
// for is not there.
type web struct {
	urls  []string // of the pages, in order
	pages map[string]*page.Facts
	seeds []seed
	files map[string][][]any // rows of inputs, by table
	bold  bool               // links are followed whatever pages ask for
}

// now is when crawls are asked, in seconds.
const now = 1002

type seed struct {
	url   string
	score float64
}

// texts is what pages say. There are few, so that pages meet in them.
var texts = []string{"red", "blue", "Red fox", "next", "blue sky", "fox"}

// odd texts are rare, and hard to keep apart.
var odd = []string{"", "\x00", "red\x00", "\xff\xff", "r\u00e9d \"fox\"", "\\", "line\nbreak", strings.Repeat("long ", 60)}

func someText(r *rand.Rand) string {
	if r.IntN(20) == 0 {
		return pick(r, odd...)
	}
	return pick(r, texts...)
}

func url(s string) page.URL {
	u, err := page.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func newWeb(r *rand.Rand) *web {
	w := &web{pages: map[string]*page.Facts{}, bold: r.IntN(5) == 0}
	hosts, pages := 2+r.IntN(4), 5+r.IntN(16)
	for i := range pages {
		host := fmt.Sprintf("h%d.test", 1+r.IntN(hosts))
		if r.IntN(6) == 0 {
			host = "www." + host
		}
		w.urls = append(w.urls, pick(r, "http://", "http://", "http://", "https://")+host+pick(r, "/", "/", "/a/", "/tag/")+fmt.Sprint("p", i)+pick(r, "", "", ".html"))
	}
	for _, u := range w.urls {
		w.pages[u] = w.page(r, u)
	}
	for range 1 + r.IntN(3) {
		w.seeds = append(w.seeds, seed{pick(r, w.urls...), float64(r.IntN(20)) / 4})
	}
	w.files = map[string][][]any{}
	for range r.IntN(3) {
		w.files["blocked"] = append(w.files["blocked"], []any{url(pick(r, w.urls...)).Host()})
	}
	for range r.IntN(5) {
		w.files["topic"] = append(w.files["topic"], []any{pick(r, texts...), int64(r.IntN(4))})
	}
	for range r.IntN(5) {
		w.files["chosen"] = append(w.files["chosen"], []any{pick(r, w.urls...)})
	}
	return w
}

func (w *web) page(r *rand.Rand, at string) *page.Facts {
	f := blank(at)
	f.At += int64(r.IntN(4)) * int64(time.Second)
	f.Elapsed = time.Duration(r.IntN(5)) * time.Second / 4
	switch r.IntN(12) {
	case 0:
		f.Outcome, f.Status = page.ClientError, 404
		return f
	case 1:
		f.Outcome = page.ConnectFailed
		return f
	case 2:
		f.Outcome, f.Status = page.Redirected, 301+r.IntN(2)
		f.Redirect = page.Link{URL: w.any(r), Kind: page.Redirect}
		return f
	}
	f.Outcome, f.Status, f.Mime, f.Bytes = page.OK, 200, pick(r, "text/html", "text/html", "text/plain"), int64(1+r.IntN(5))
	f.NoFollow = r.IntN(15) == 0
	if r.IntN(3) > 0 {
		f.Title = someText(r)
	}
	for range 1 + r.IntN(5) {
		f.Links = append(f.Links, page.Link{
			URL: w.any(r), Kind: page.Nav, Text: someText(r), Rel: pick(r, "", "", "next"), NoFollow: r.IntN(15) == 0,
		})
	}
	for range max(0, r.IntN(5)-2) {
		f.Links = append(f.Links, page.Link{URL: w.any(r), Kind: page.Requisite})
	}
	for range max(0, r.IntN(5)-2) {
		f.Links = append(f.Links, page.Link{URL: w.any(r), Kind: page.Sitemap, Rel: pick(r, "", "sitemap")})
	}
	for _, t := range texts {
		if r.IntN(4) == 0 {
			f.Words = append(f.Words, page.Word{Term: t, N: 1 + r.IntN(3)})
			f.Said += f.Words[len(f.Words)-1].N
		}
	}
	if r.IntN(20) == 0 {
		f.Words = append(f.Words, page.Word{Term: pick(r, odd...), N: 1 + r.IntN(3)})
		f.Said += f.Words[len(f.Words)-1].N
	}
	if r.IntN(3) == 0 {
		f.Metas = append(f.Metas, page.Field{Name: pick(r, "robots", "topic"), Value: pick(r, "nofollow", "red", "fox", someText(r))})
	}
	if r.IntN(3) == 0 {
		f.Headers = append(f.Headers, page.Field{Name: "server", Value: pick(r, "red", "blue")})
	}
	for range max(0, r.IntN(4)-2) {
		f.Translations = append(f.Translations, page.Translation{Lang: pick(r, "en", "de"), URL: w.any(r)})
	}
	return f
}

func (w *web) any(r *rand.Rand) page.URL { return url(pick(r, w.urls...)) }

func blank(at string) *page.Facts {
	return &page.Facts{URL: url(at), At: 1000 * int64(time.Second), Elapsed: time.Second / 4}
}

// visit returns what a visit to u teaches.
func (w *web) visit(u string) *page.Facts {
	if f := w.pages[u]; f != nil {
		return f
	}
	f := blank(u)
	f.Outcome, f.Status = page.ClientError, 404
	return f
}

// without returns w with the page u gone.
func (w *web) without(u string) *web {
	v := *w
	v.urls = slices.DeleteFunc(slices.Clone(w.urls), func(x string) bool { return x == u })
	v.pages = maps.Clone(w.pages)
	delete(v.pages, u)
	return &v
}

// with returns w with other facts of the page u.
func (w *web) with(u string, f *page.Facts) *web {
	v := *w
	v.pages = maps.Clone(w.pages)
	v.pages[u] = f
	return &v
}

// A fact is a row that a page's visit teaches; hidden ones are links that a
// crawler must not follow, which rules that steer do not see.
type fact struct {
	table  string
	row    []any
	hidden bool
}

// facts are the rows of one page. It is written apart from what flow does, from
// the meaning of the tables alone.
func (w *web) facts(u string) []fact {
	f := w.visit(u)
	rows := []fact{{table: "fetched", row: []any{u, int64(f.Status), f.Mime, f.Bytes, f.Outcome.String(), f.At / int64(time.Second), f.Elapsed.Seconds()}}}
	add := func(table string, row ...any) { rows = append(rows, fact{table: table, row: append([]any{u}, row...)}) }
	if f.Outcome == page.Redirected {
		add("redirect", f.Redirect.URL.String(), int64(f.Status))
	}
	if f.Title != "" {
		add("title", f.Title)
	}
	for _, l := range f.Links {
		switch l.Kind {
		case page.Nav:
			add("link", l.URL.String(), l.Text, l.Rel)
		case page.Requisite:
			add("requisite", l.URL.String())
		case page.Sitemap:
			add("sitemap", l.URL.String(), int64(0), map[string]string{"": "page", "sitemap": "index"}[l.Rel])
		}
		rows[len(rows)-1].hidden = !w.bold && (f.NoFollow || l.NoFollow && l.URL.Host() != f.URL.Host())
	}
	for _, x := range f.Words {
		add("word", x.Term, int64(x.N), int64(f.Said))
	}
	if f.NoIndex {
		add("noindex")
	}
	for _, x := range f.Headers {
		add("header", x.Name, x.Value)
	}
	for _, x := range f.Metas {
		add("meta", x.Name, x.Value)
	}
	for _, x := range f.Translations {
		add("hreflang", x.Lang, x.URL.String())
	}
	return rows
}

func (w *web) String() string {
	var b strings.Builder
	for _, s := range w.seeds {
		fmt.Fprintf(&b, "seed(%q, %v)\n", s.url, s.score)
	}
	for _, name := range []string{"blocked", "topic", "chosen"} {
		for _, row := range w.files[name] {
			fmt.Fprintf(&b, "%s%v\n", name, row)
		}
	}
	for _, u := range w.urls {
		for _, x := range w.facts(u) {
			fmt.Fprintf(&b, "%s%v hidden=%t\n", x.table, x.row, x.hidden)
		}
	}
	return b.String()
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
