package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/node"
	"weir/internal/parse"
	"weir/internal/search"
	"weir/internal/store"
	"weir/page"
)

// hits runs a search and returns the URLs it found, and what it said besides.
func hits(t *testing.T, dir string, args ...string) ([]string, string) {
	t.Helper()
	got := weir(t, "", slices.Concat([]string{"search", dir, "--json", "--limit", "1000"}, args)...)
	if got.code != 0 {
		t.Fatalf("weir search %v: exit %d\n%s", args, got.code, got.err)
	}
	var urls []string
	for line := range strings.Lines(got.out) {
		var h hitLine
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if h.Rank != len(urls)+1 || h.Snippet == "" {
			t.Errorf("hit %d: %+v", len(urls)+1, h)
		}
		urls = append(urls, h.URL)
	}
	return urls, got.err
}

// A search finds the pages whose exported text has the word, and no others.
func TestSearchFindsWhatExportShows(t *testing.T) {
	web := smallWeb(t)
	for _, form := range []store.Form{store.Gzip, store.Zstd} {
		for _, live := range []bool{false, true} {
			dir := crawlWeb(t, web, func(c *node.Config) { c.Archive, c.Want.Words = form, live })
			_, rows := readCSV(t, must(t, "export", "text", "--dir", dir))
			want := map[string][]string{}
			text := map[string]string{} // of pages that say the same one is shown
			for _, r := range rows {
				said := r["title"] + "\n" + r["text"]
				text[r["url"]] = said
				for _, w := range parse.Words(said) {
					if !slices.Contains(want[w.Term], said) {
						want[w.Term] = append(want[w.Term], said)
					}
				}
			}
			if len(want) < 50 {
				t.Fatalf("only %d words", len(want))
			}
			asked := 0
			for term, texts := range want {
				if asked++; asked > 50 {
					break
				}
				got, said := hits(t, dir, term)
				if said != "" && (live || asked > 1) {
					t.Errorf("search said %q", said)
				}
				for i, url := range got {
					got[i] = text[url]
				}
				slices.Sort(got)
				slices.Sort(texts)
				if !slices.Equal(got, texts) {
					t.Errorf("%s, live %v: %s is said by %d pages, %d were found", form, live, term, len(texts), len(got))
				}
			}
		}
	}
}

// Pages are understood as the crawl understood them.
func TestSearchOddPages(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "<title>Packed</title>zipped treasure")
	z.Close()
	pages := map[string]served{
		"/":       {"text/html", "X-A", "b", "<a href=packed>p</a><a href=tagged>t</a><a href=latin>l</a><a href=plain>p</a><a href=lies>x</a><a href=escape>e</a>"},
		"/packed": {"text/html", "Content-Encoding", "gzip", packed.String()},
		"/lies":   {"text/html", "Content-Encoding", "gzip", "<title>Lies</title>unzipped treasure"},
		"/tagged": {"text/html", "X-Robots-Tag", "noindex", "hidden treasure"},
		"/latin":  {"text/html; charset=iso-8859-1", "X-A", "b", "<title>Gr\xfcn</title>ein gr\xfcner Fu\xdf"},
		"/plain":  {"text/plain", "X-A", "b", "plain treasure"},
		"/escape": {"text/html", "X-A", "b", "<title>\x1b[31mred</title>a \x1b]0;trick\x07 escape"},
	}
	server := serveAll(t, pages)
	dir := filepath.Join(t.TempDir(), "crawl")
	crawlInto(t, dir, []string{server.URL + "/"}, nil, nil)
	for question, want := range map[string]string{
		"zipped treasure": "/packed", "unzipped": "/lies", "hidden": "", "GRÜN": "/latin", "fuß": "/latin", "plain": "", "escape": "/escape",
	} {
		got, _ := hits(t, dir, question)
		if want == "" && len(got) != 0 || want != "" && !slices.Equal(got, []string{server.URL + want}) {
			t.Errorf("%s: %v, want %s", question, got, want)
		}
	}
	if out := must(t, "search", dir, "escape"); strings.ContainsAny(out, "\x1b\x07") {
		t.Errorf("a page writes to the terminal: %q", out)
	}
}

// An index that is damaged, or of another crawl, is made again; the answers are
// the same.
func TestSearchMendsItsIndex(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, nil)
	want, _ := hits(t, dir, "page")
	if len(want) < 5 {
		t.Fatalf("only %d hits", len(want))
	}
	files, err := filepath.Glob(filepath.Join(dir, search.Folder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += len(whole)/40 + 1 {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if err := os.WriteFile(files[0], bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, _ := hits(t, dir, "page"); !slices.Equal(got, want) {
			t.Errorf("byte %d: %v, want %v", i, got, want)
		}
	}

	other := crawlWeb(t, web, func(c *node.Config) { c.MaxPages = 3 })
	if err := os.CopyFS(filepath.Join(other, search.Folder), os.DirFS(filepath.Join(dir, search.Folder))); err != nil {
		t.Fatal(err)
	}
	got, _ := hits(t, other, "page")
	if len(got) == 0 || len(got) > 3 {
		t.Errorf("%d hits in a crawl of 3 pages", len(got))
	}
}

// The places of a large crawl do not fit into memory: they come in rounds.
func TestSearchReadsInRounds(t *testing.T) {
	dir := crawlWeb(t, smallWeb(t), nil)
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	a, err := f.archive(page.Want{Words: true})
	if err != nil {
		t.Fatal(err)
	}
	all := []search.Range{{To: search.Start(f.store.End())}}
	read := func(round int) (urls []string) {
		src := &archiveSource{folder: f, archive: a, round: round, show: screen{out: io.Discard}}
		last := search.Point{}
		err := src.Pages(t.Context(), all, func(p *search.Page) error {
			if search.Start(p.Place).Compare(last) < 0 {
				t.Errorf("round %d: %s comes after its place", round, p.URL)
			}
			last = search.End(p.Place)
			urls = append(urls, p.URL.String())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return urls
	}
	want := read(maxRound)
	if len(want) < 15 {
		t.Fatalf("only %d pages", len(want))
	}
	for _, round := range []int{1, 2, 7} {
		if got := read(round); !slices.Equal(got, want) {
			t.Errorf("rounds of %d: %v, want %v", round, got, want)
		}
	}
}

func TestHitsOnATerminal(t *testing.T) {
	a := &search.Answer{Hits: []search.Hit{
		{URL: "http://a.test/", Snippet: search.Snippet{Text: "the solar panel", Marks: [][2]int{{4, 9}}}},
		{URL: "http://a.test/b", Title: "B", Copies: 1200},
	}}
	for bold, want := range map[bool]string{
		false: "1. (no title)\n   http://a.test/\n   the solar panel\n2. B\n   http://a.test/b\n   (1,200 more pages say the same)\n",
		true:  "1. (no title)\n   http://a.test/\n   the \x1b[1msolar\x1b[0m panel\n2. B\n   http://a.test/b\n   (1,200 more pages say the same)\n",
	} {
		var b strings.Builder
		printHits(&b, a, bold)
		if b.String() != want {
			t.Errorf("bold %v:\n%s", bold, b.String())
		}
	}
}
