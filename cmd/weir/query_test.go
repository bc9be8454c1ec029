package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/ask"
	"weir/internal/node"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/query/flow"
)

// asks returns the answer to a question as lines, and whether it was worked out on
// disk.
func asks(t *testing.T, dir, text string, memory int64) (lines []string, moved bool) {
	t.Helper()
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	own, err := f.own("")
	if err != nil {
		t.Fatal(err)
	}
	q := ask.Question{Name: "test", Text: text, Own: own}
	p, diags := q.Read()
	if p == nil {
		t.Fatal(diags)
	}
	archive, err := f.archive(p.Wants())
	if err != nil {
		t.Fatal(err)
	}
	w := ask.Work{Memory: memory, Temp: dir, Moved: func() { moved = true }}
	err = p.Rows(context.Background(), ask.Crawl{View: f.View, Archive: archive}, w, func(row flow.Row) bool {
		var cells []string
		for i, v := range row {
			cells = append(cells, word(v, p.Answer.Types[i]))
		}
		lines = append(lines, strings.Join(cells, " "))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, moved
}

// What does not fit into memory is worked out on disk, has the same answer, and
// leaves nothing behind.
func TestQueryOnDisk(t *testing.T) {
	dir := crawlWeb(t, smallWeb(t), nil)
	for _, text := range []string{
		"link(U, V), fetched(V, S)",
		"near(U, X) :- link(U, V), link(V, X).",
		"in(V, count<U>) :- link(U, V). best(top<5, N, V>) :- in(V, N).",
		"index(W, U, N) :- word(U, W, N).",
		"crawl(U, D, P), !title(U, _), fetched(U)",
		"crawl(U, D)",             // no page is read for it
		"start(U) :- root(U, _).", // nor for a table that the crawl keeps
	} {
		want, moved := asks(t, dir, text, 1<<30)
		if moved || len(want) == 0 && !strings.Contains(text, "!") {
			t.Errorf("%s: %d rows in memory", text, len(want))
		}
		got, moved := asks(t, dir, text, 1)
		if !moved {
			t.Errorf("%s: a byte of memory was enough", text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: on disk\n%s\nin memory\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !slices.IsSorted(want) && !strings.Contains(text, "count") {
			t.Errorf("%s: rows are not sorted", text)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".weir-query-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

// Whoever has enough, or is interrupted, leaves nothing behind.
func TestQueryInterrupted(t *testing.T) {
	dir := crawlWeb(t, smallWeb(t), nil)
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	p, diags := ask.Question{Name: "test", Text: "link(U, V), fetched(V, S)"}.Read()
	if p == nil {
		t.Fatal(diags)
	}
	archive, err := f.archive(p.Wants())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := ask.Work{Memory: 1, Temp: dir, Moved: cancel}
	err = p.Rows(ctx, ask.Crawl{View: f.View, Archive: archive}, w, func(flow.Row) bool { return true })
	if ending(err) == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("an interrupted question ends with %v", err)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n.Name(), ".weir-query-") {
			t.Errorf("%s is left behind", n.Name())
		}
	}
}

// Questions know what the user has named, and what pages were worth to the crawl.
func TestQueryScores(t *testing.T) {
	web := smallWeb(t)
	for _, form := range []store.Form{store.Gzip, store.None} {
		dir := crawlWeb(t, web, func(c *node.Config) {
			c.Archive, c.Order = form, "score"
			for i := range c.Seeds {
				c.Seeds[i].Score = 5
			}
		})
		for _, text := range []string{"seed(U, S)", "crawl(U, 0, S)", "crawl(U, 0, S), fetched(U)"} {
			var want []string
			for _, u := range web.Seeds() {
				want = append(want, u+" 5")
			}
			slices.Sort(want)
			if got, _ := asks(t, dir, text, 1<<30); !slices.Equal(got, want) {
				t.Errorf("%v: %s: %q, want %q", form, text, got, want)
			}
		}
	}
}

// What robots.txt says counts also where a page says later that it does.
func TestQueryRobotsAgain(t *testing.T) {
	web, err := testweb.Start(testweb.Config{Seed: 7, Sites: []testweb.Site{{Name: "plain.test", Pages: 3, Links: 2, Size: 500, Files: map[string]string{
		"/robots.txt": "Sitemap: http://plain.test/map.xml\n",
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	got, _ := asks(t, crawlWeb(t, web, nil), "small known. known(host(U)) :- title(U, _). named(V) :- robots(U, V), known(host(U)).", 1<<30)
	if want := []string{"http://plain.test/map.xml"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
