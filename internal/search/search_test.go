package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"weir/internal/parse"
	"weir/internal/store"
	"weir/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const crawlID = 7

// shelf is an archive in memory: pages one after another.
type shelf struct {
	pages []Page
	texts []string
	end   Point
	reads int // pages that were read again
}

// put adds a page and returns it.
func (s *shelf) put(t testing.TB, url, title, text string) *Page {
	t.Helper()
	u, err := page.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.pages)%7 == 6 { // a new file now and then
		s.end = Point{s.end.File + 1, 0}
	}
	s.end.File = max(s.end.File, 1)
	p := Page{URL: u, Title: title, Words: parse.Words(title, text), Place: store.Place{File: s.end.File, Offset: s.end.Offset + 100, Length: 50}}
	s.end = End(p.Place)
	s.pages = append(s.pages, p)
	s.texts = append(s.texts, text)
	return &s.pages[len(s.pages)-1]
}

func (s *shelf) Pages(ctx context.Context, in []Range, fn func(*Page) error) error {
	for i := range s.pages {
		p := &s.pages[i]
		if !slices.ContainsFunc(in, func(r Range) bool { return r.Holds(p.Place) }) {
			continue
		}
		s.reads++
		if err := fn(p); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *shelf) Text(at store.Place, url string) (string, string, error) {
	for i, p := range s.pages {
		if p.Place == at {
			if p.URL.String() != url {
				return "", "", ErrDamaged
			}
			return p.Title, s.texts[i], nil
		}
	}
	return "", "", errors.New("no such record")
}

// index brings an index in a folder up to date and opens it.
func (s *shelf) index(t testing.TB, fs vfs.FS, memory int) *Index {
	t.Helper()
	x, err := Open("crawl", Options{FS: fs, Crawl: crawlID, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	if err := x.Update(t.Context(), s, s.end); err != nil {
		t.Fatal(err)
	}
	return x
}

func ask(t testing.TB, x *Index, texts Texts, question string) *Answer {
	t.Helper()
	q, err := Parse(question)
	if err != nil {
		t.Fatal(err)
	}
	a, err := x.Search(t.Context(), q, 10, texts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// names lists the paths of the hits.
func (a *Answer) names() string {
	var all []string
	for _, h := range a.Hits {
		name := h.URL[strings.LastIndexByte(h.URL, '/')+1:]
		if h.Copies > 0 {
			name += fmt.Sprintf("+%d", h.Copies)
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func library(t testing.TB) *shelf {
	s := &shelf{}
	s.put(t, "https://example.org/sun", "Sun", "solar panel on the roof, solar power for all")
	s.put(t, "https://example.org/farm", "Farm", "a wind farm beside a solar farm; panels of every kind")
	s.put(t, "https://www.example.org/both", "Wind and sun", "wind turbine, solar panel")
	s.put(t, "https://other.net/panel", "Panel", "a panel of experts about solar matters and wind")
	s.put(t, "https://other.net/mail", "Mail", "write an e-mail to the experts")
	s.put(t, "https://other.net/copy", "Sun", "solar power for all, solar panel on the roof")
	return s
}

func TestQuestions(t *testing.T) {
	s := library(t)
	x := s.index(t, vfs.NewMem(), 0)
	for _, c := range []struct{ question, want string }{
		{"solar", "sun+1 both panel farm"}, // sun says it twice, and copy says what sun does
		{"SOLAR Panel", "panel both sun+1"},
		{`"solar panel"`, "both sun+1"},
		{`"panel solar"`, ""},
		{`solar -wind`, "sun+1"},
		{`solar -"wind farm"`, "sun+1 both panel"},
		{"solar host:example.org", "sun both farm"},
		{"solar host:www.example.org", "both"},
		{"solar -host:example.org", "copy panel"},
		{"solar host:other.net host:www.example.org", "copy both panel"},
		{"solar host:ample.org", ""},
		{"solar host:ORG.", "sun both farm"},
		{"solar host:bücher.example", ""},
		{"e-mail", "mail"},
		{"mail-e", ""},
		{"pannel", ""},
		{"solar pannel", ""},
		{"experts", "mail panel"},
	} {
		if a := ask(t, x, s, c.question); a.names() != c.want {
			t.Errorf("%s: %s, want %s", c.question, a.names(), c.want)
		}
	}
}

// Scores are those of the formula in the package's doc, worked out by hand: four
// pages of 4, 2, 6 and 4 words, 4 on average.
func TestBM25(t *testing.T) {
	s := &shelf{}
	s.put(t, "http://a.test/1", "", "a a b c")
	s.put(t, "http://a.test/2", "", "a d")
	s.put(t, "http://a.test/3", "", "b b b b e f")
	s.put(t, "http://a.test/4", "", "g h i j")
	x := s.index(t, vfs.NewMem(), 0)
	ln2 := math.Log(2) // idf of a and b: ln(1 + (4-2+0.5)/(2+0.5))
	for _, c := range []struct {
		question string
		want     []float64
	}{
		// Page 2: f 1, length 1-b+b*2/4 = 0.625: 2.2/(1+0.75). Page 1: f 2, length 1: 4.4/(2+1.2).
		{"a", []float64{ln2 * 4.4 / 3.2, ln2 * 2.2 / 1.75}},
		// Page 3: f 4, length 1-b+b*6/4 = 1.375: 8.8/(4+1.65). Page 1: f 1: 2.2/2.2.
		{"b", []float64{ln2 * 8.8 / 5.65, ln2}},
		{"a b", []float64{ln2*4.4/3.2 + ln2}},
		// idf of g: ln(1 + 3.5/1.5).
		{"g", []float64{math.Log(1 + 3.5/1.5)}},
	} {
		a := ask(t, x, nil, c.question)
		if len(a.Hits) != len(c.want) {
			t.Fatalf("%s: %+v", c.question, a.Hits)
		}
		for i, h := range a.Hits {
			if math.Abs(h.Score-c.want[i]) > 1e-12 {
				t.Errorf("%s: hit %d has %v, want %v", c.question, i+1, h.Score, c.want[i])
			}
		}
	}
}

// However the index came about, the answer is the same.
func TestAnswerDoesNotDependOnSegments(t *testing.T) {
	s := &shelf{}
	for i := range 200 {
		s.put(t, fmt.Sprintf("http://h%d.test/%d", i%5, i), fmt.Sprint("page ", i%20), strings.Repeat("common ", i%7)+fmt.Sprintf("w%d w%d rare%d", i%11, i%13, i))
	}
	all := s.index(t, vfs.NewMem(), 0)
	for _, memory := range []int{1, 20_000, 100_000} {
		many := s.index(t, vfs.NewMem(), memory)
		if memory == 1 && many.Stats().Segments < 2 {
			t.Fatalf("only %d segments", many.Stats().Segments)
		}
		for _, question := range []string{"common", "w3 common", "w1 -w2", "rare17", "page common host:h3.test", "nothing"} {
			got, want := ask(t, many, s, question), ask(t, all, s, question)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("memory %d, %s:\n%v\nwant\n%v", memory, question, got, want)
			}
		}
	}
}

func TestSuggest(t *testing.T) {
	s := library(t)
	x := s.index(t, vfs.NewMem(), 0)
	for _, c := range []struct{ term, want string }{
		{"pannel", "panel"}, {"solr", "solar"}, {"sloar", "solar"}, {"exprts", "experts"}, {"xyzzy", ""}, {"xx", ""}, {"turbines", "turbine"},
	} {
		if got, err := x.Suggest(c.term); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.term, got, err)
		}
	}
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("words that fill a page with nothing. ", 20)
	for _, c := range []struct{ question, text, want string }{
		{"solar", "Solar power\nfor all", "[Solar] power for all"},
		{"missing", "not said here", "not said here"},
		{"solar panel", "solar " + long + "a solar roof panel here " + long, "…page with nothing. words that fill a page with nothing. a [solar] roof [panel] here words that fill a page with nothing. words that fill a page with nothing. words that fill a page with nothing. words…"},
		{`"solar panel"`, "panel solar " + long + "a solar panel here", "…page with nothing. words that fill a page with nothing. a [solar] [panel] here"},
		{"東京都", "日本の東京都です", "日本の[東京都]です"},
		{"x", strings.Repeat("é", 300) + " x " + strings.Repeat("é", 300), ""},
		{"x", "", ""},
	} {
		q, err := Parse(c.question)
		if err != nil {
			t.Fatal(err)
		}
		s := q.snippet(c.text)
		var b strings.Builder
		at := 0
		for _, m := range s.Marks {
			b.WriteString(s.Text[at:m[0]] + "[" + s.Text[m[0]:m[1]] + "]")
			at = m[1]
		}
		b.WriteString(s.Text[at:])
		if c.want != "" && b.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.question, b.String(), c.want)
		}
		if !validText(s.Text) || len(s.Text) > snippetSize+20 {
			t.Errorf("%s: %q", c.question, s.Text)
		}
	}
}

func TestBadQuestions(t *testing.T) {
	for _, c := range []struct{ question, want string }{
		{"", "no word"}, {"-solar", "no word"}, {"host:a.test", "no word"}, {"!!", "no word"}, {"-", "no word"},
		{`"open`, "not closed"}, {"a host:", "names no host"}, {"a host:http://x/", "names no host"}, {"a host:x:8080", "names no host"}, {"a host:u@x", "names no host"}, {"a host:x/y", "names no host"},
		{strings.Repeat("a ", 10) + strings.Repeat("-b ", 100), "more than"}, {"a\xff", "UTF-8"},
	} {
		if _, err := Parse(c.question); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.question, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"solar panel", `-"wind farm" x`, "host:a.b -host:c d", `a"b"c`, "東京都 e-mail", `-`, `""`, `--a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err != nil {
			return
		}
		if len(q.Terms) == 0 {
			t.Error("no terms")
		}
		for _, w := range slices.Concat(q.Terms, q.Not) {
			if again := partText(w); len(again) != 1 || again[0] != w {
				t.Errorf("%q is no term: %q", w, again)
			}
		}
		q.agrees(text)
		q.snippet(text)
	})
}
