package node

import (
	"slices"
	"testing"

	"weir/crawl"
	"weir/internal/search"
	"weir/internal/store"
	"weir/internal/testweb"
)

// checkWords holds the keyword index against the state: of every part of the
// archive it has all pages or says that they are missing. It returns how many it
// has.
func checkWords(t *testing.T, s *store.Store, view *crawl.View, cfg Config) int {
	t.Helper()
	x, err := search.Open(cfg.Dir, search.Options{Crawl: view.Hash(search.Folder), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	had := x.Stats().Pages
	missing, err := x.Missing(search.Start(s.End()))
	if err != nil {
		t.Fatal(err)
	}
	if n := x.Stats().Pages; n != had {
		t.Errorf("%d indexed pages were never committed", had-n)
	}
	pages := 0
	err = view.Pages(func(p *crawl.PageInfo) bool {
		here := p.Record.File != 0 && p.Outcome.Row().Kept && p.Mime == "text/html"
		if here && !slices.ContainsFunc(missing, func(r search.Range) bool { return r.Holds(store.Place(p.Record)) }) {
			pages++
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages != had {
		t.Errorf("%d pages are indexed, %d should be", had, pages)
	}
	return had
}

// A crawl that reads words can be searched as soon as it is over, also when it
// was stopped and went on.
func TestIndexWhileCrawling(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 5, Sites: testweb.Even(4, testweb.Site{Pages: 50, Links: 6, Size: 2000})})
	cfg := config(t, web)
	cfg.Want.Words = true
	for _, most := range []int64{60, 0} {
		cfg.MaxPages = most
		run(t, cfg)
		s, err := store.Open(cfg.Dir, store.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		view, err := crawl.NewView(s)
		if err != nil {
			t.Fatal(err)
		}
		n := checkWords(t, s, view, cfg)
		if n < 60 || most == 0 && n != len(web.Truth()) {
			t.Errorf("%d pages of %d are indexed", n, len(web.Truth()))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
