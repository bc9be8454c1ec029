package crawl

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/page"
)

func drawURL(t *rapid.T) page.URL {
	for {
		site := rapid.SampledFrom([]string{"http://a.example", "https://a.example:8443", "http://user:secret@b.example", "http://[::1]"}).Draw(t, "site")
		if u, err := page.Parse(site + "/" + rapid.StringMatching(`(news/)?[a-z0-9/]{0,12}(\?[a-z]=[0-9]{1,3})?`).Draw(t, "path")); err == nil {
			return u
		}
	}
}

// drawSaid is a page that ended, and a page with the same end that says nothing.
func drawSaid(t *rapid.T) (said, silent page.Facts) {
	silent = page.Facts{Key: page.Key{Site: 3, Hash: 9}, URL: drawURL(t), Outcome: rapid.SampledFrom([]page.Outcome{page.OK, page.Truncated, page.Redirected}).Draw(t, "outcome")}
	f := silent
	if f.Outcome == page.Redirected {
		to := drawURL(t)
		f.Redirect = page.Link{URL: to, Kind: page.Redirect, Hash: hashOf(to)}
	}
	f.NoIndex, f.NoFollow, f.Title = rapid.Bool().Draw(t, "noindex"), rapid.Bool().Draw(t, "nofollow"), rapid.String().Draw(t, "title")
	for range rapid.IntRange(0, 8).Draw(t, "links") {
		to := drawURL(t)
		f.Links = append(f.Links, page.Link{
			URL: to, Hash: hashOf(to), Kind: page.Kind(rapid.IntRange(0, 3).Draw(t, "kind")), NoFollow: rapid.Bool().Draw(t, "nofollow"),
			Rel: rapid.SampledFrom([]string{"", "next", "nofollow ugc"}).Draw(t, "rel"), Text: rapid.String().Draw(t, "text"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "others") {
		f.Words = append(f.Words, page.Word{Term: rapid.String().Draw(t, "term"), N: rapid.IntRange(1, 1000).Draw(t, "n")})
		f.Said += f.Words[len(f.Words)-1].N
		f.Headers = append(f.Headers, page.Field{Name: rapid.String().Draw(t, "name"), Value: rapid.String().Draw(t, "value")})
		f.Metas = append(f.Metas, page.Field{Name: rapid.String().Draw(t, "name"), Value: rapid.String().Draw(t, "value")})
		f.Translations = append(f.Translations, page.Translation{Lang: rapid.String().Draw(t, "lang"), URL: drawURL(t)})
	}
	return f, silent
}

// What a page said reads back as it was, and what was cut off or altered never
// panics.
func TestSaidReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, got := drawSaid(t)
		row := appendSaid(nil, &f)
		if len(row) == 0 {
			if !reflect.DeepEqual(f, got) {
				t.Fatalf("no row for %+v", f)
			}
			return
		}
		silent := got
		if err := readSaid(row, worldSecret, &got); err != nil || !reflect.DeepEqual(got, f) {
			t.Fatalf("%v\n%+v\n%+v", err, got, f)
		}
		for n := range row {
			short := silent
			if err := readSaid(row[:n], worldSecret, &short); err == nil {
				t.Fatalf("%d bytes of %d are a row too", n, len(row))
			}
		}
		long := silent
		if err := readSaid(append(row, 0), worldSecret, &long); err == nil {
			t.Fatal("what follows the row is not missed")
		}
	})
}

// The links of a page share most of their bytes, and the row does not repeat them.
func TestSaidIsSmall(t *testing.T) {
	f := page.Facts{URL: mustURL("http://www.example.org/articles/2026/11/story-1.html"), Outcome: page.OK, Title: "A story"}
	size := 0
	for i := range 30 {
		l := link(fmt.Sprintf("http://www.example.org/articles/2026/11/story-%d.html", 100+i))
		f.Links = append(f.Links, l)
		size += len(l.URL.String())
	}
	if row := appendSaid(nil, &f); len(row) > size/4 {
		t.Errorf("%d bytes for URLs of %d", len(row), size)
	}
}

// A row of few bytes cannot stand for more than pages have.
func TestSaidIsBounded(t *testing.T) {
	base := mustURL("http://a.example/" + string(bytes.Repeat([]byte("x"), page.MaxURL-100)))
	f := page.Facts{URL: base}
	row := appendSaid(nil, &page.Facts{URL: base, Links: slices.Repeat([]page.Link{{URL: base}}, 5000)})
	if err := readSaid(row, worldSecret, &f); err == nil {
		t.Errorf("%d links of %d bytes", len(f.Links), len(base.String()))
	}
}

// FuzzSaid reads any bytes: whatever is a row is one that we would write, or
// stands for the same.
func FuzzSaid(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendSaid(nil, &page.Facts{URL: mustURL("http://a.example/"), Title: "A", Links: []page.Link{link("http://a.example/b"), link("http://b.example/?q")}}))
	f.Add(appendSaid(nil, &page.Facts{URL: mustURL("http://a.example/"), Redirect: link("http://a.example/b"), Words: []page.Word{{Term: "dam", N: 2}},
		Headers: []page.Field{{Name: "a", Value: "b"}}, Metas: []page.Field{{}}, Translations: []page.Translation{{Lang: "de", URL: mustURL("http://a.example/de")}}}))
	f.Fuzz(func(t *testing.T, row []byte) {
		u := mustURL("http://a.example/x")
		got := page.Facts{URL: u}
		if readSaid(row, worldSecret, &got) != nil {
			return
		}
		again := page.Facts{URL: u}
		if b := appendSaid(nil, &got); len(b) > 0 {
			if err := readSaid(b, worldSecret, &again); err != nil {
				t.Fatal(err)
			}
		}
		if len(again.Links) != len(got.Links) || !bytes.Equal(appendSaid(nil, &again), appendSaid(nil, &got)) {
			t.Fatalf("%+v\n%+v", got, again)
		}
	})
}

// Which facts are kept is remembered, each by itself.
func TestWantReadsBack(t *testing.T) {
	if _, ok, err := ReadWant(&memory{}); ok || err != nil {
		t.Error("a crawl that keeps nothing", ok, err)
	}
	for i := range 1 << 7 {
		var want page.Want
		for bit, p := range wants(&want) {
			*p = i&(1<<bit) != 0
		}
		kv, b := &memory{}, &batch{}
		WriteWant(b, want)
		kv.commit(b)
		if got, ok, err := ReadWant(kv); got != want || !ok || err != nil {
			t.Errorf("%+v, %v, %v; want %+v", got, ok, err, want)
		}
	}
	if n := reflect.TypeFor[page.Want]().NumField(); n != len(wants(&page.Want{})) {
		t.Errorf("a Want has %d fields", n)
	}
}
