package main

import (
	"errors"
	"hash/maphash"
	"testing"
	"testing/synctest"
	"time"

	"weir/crawl"
	"weir/query/flow"
)

// A page that several nodes have is shown once: as its owner has it, and else as it
// was fetched last.
func TestCopiesOfAPage(t *testing.T) {
	c := copies{maphash.MakeSeed(), map[uint64]int64{}}
	for _, s := range []struct {
		url string
		at  int64
	}{{"http://owned.test/", 9}, {"http://twice.test/", 3}, {"http://twice.test/", 7}, {"http://once.test/", 5}} {
		c.stray(s.url, s.at)
	}
	c.owned("http://owned.test/")
	c.owned("http://never.strayed.test/")
	for _, s := range []struct {
		url   string
		at    int64
		shown bool
	}{
		{"http://owned.test/", 9, false},
		{"http://twice.test/", 3, false}, {"http://twice.test/", 7, true},
		{"http://once.test/", 5, true}, {"http://once.test/", 6, true}, // fetched anew since it was noted
	} {
		if got := c.counts(s.url, s.at); got != s.shown {
			t.Errorf("%s at %d is shown: %v", s.url, s.at, got)
		}
	}
}

// A node that looks at much and finds nothing says so in time.
func TestLongLookForRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wanted = 1000
		last, beats := time.Now(), 0
		out := &filler{ctx: t.Context(), emit: func(b *batch) error {
			if gap := time.Since(last); gap > streamBegin/2 {
				t.Errorf("nothing was heard for %s", gap)
			}
			last, beats = time.Now(), beats+1
			return nil
		}}
		pages := func(fn func(*crawl.PageInfo) bool) error {
			for i := range wanted + 1 {
				time.Sleep(100 * time.Millisecond)
				if !fn(&crawl.PageInfo{Depth: i}) {
					break
				}
			}
			return nil
		}
		alive, found := out.heart(), 0
		err := alive.some(pages, func(p *crawl.PageInfo) bool { return p.Depth == wanted })(func(*crawl.PageInfo) bool {
			found++
			return true
		})
		if err != nil || found != 1 || beats < 5 {
			t.Errorf("%d found, %d signs of life, %v", found, beats, err)
		}
		stray := func(fn func(*crawl.PageInfo) bool) error {
			return pages(func(p *crawl.PageInfo) bool {
				p.Stray = true
				return fn(p)
			})
		}
		if beats = 0; out.crawl(stray, stray) != nil || beats < 10 {
			t.Errorf("%d signs of life while pages of others are passed over", beats)
		}
		beats = 0
		err = out.rows(func(fn func(flow.Row) bool) error {
			return pages(func(p *crawl.PageInfo) bool { return fn(flow.Row{{S: "a"}, {N: int64(p.Depth)}}) })
		}, out.sum)
		if err != nil || beats < 5 || out.now.Sum != wanted {
			t.Errorf("%d signs of life while rows are counted, up to %d, %v", beats, out.now.Sum, err)
		}
		gone := errors.New("nobody listens")
		out.emit = func(*batch) error { return gone }
		if err := alive.some(pages, func(*crawl.PageInfo) bool { return false })(nil); !errors.Is(err, gone) {
			t.Errorf("it goes on when nobody listens: %v", err)
		}
	})
}

// Rows of tables cross from node to node as they are.
func TestCellsOfARow(t *testing.T) {
	at := time.Date(2026, 11, 16, 10, 0, 0, 1000, time.UTC)
	host := hostRow{"http://a.test", "a.test", 1, 2, 3, 4, 0.5, at, 6}
	if got, last, err := uncells[hostRow](cells(&host, 1)); err != nil || last != 1 || got != host {
		t.Errorf("%+v, %d, %v", got, last, err)
	}
	link := linkRow{From: "http://a.test/", To: "http://b.test/", Kind: "nav", NoFollow: true}
	row := cells(&link, 8)
	if got, last, err := uncells[linkRow](row); err != nil || last != 8 || got != link {
		t.Errorf("%+v, %d, %v", got, last, err)
	}
	if _, _, err := uncells[hostRow](row); err == nil {
		t.Error("a row of another table is taken")
	}
}
