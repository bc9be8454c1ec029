package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/store"
	"weir/page"
)

// recallCut reads while the run ends: that all was read may be said only if it
// was.
func recallCut(t *testing.T, n *node, ended context.Context, all int) {
	known := n.known
	defer func() { n.known = known }()
	n.known = make(chan recalled, 1000)
	n.recall(ended)
	close(n.known)
	got, last := 0, false
	for k := range n.known {
		got += len(k.prints)
		last = last || k.last
	}
	if last && got < all {
		t.Fatalf("%d pages of %d were all", got, all)
	}
}

var testSecret = page.Secret{1}

// reopen returns a node with store and Ledger only, on a folder that may hold
// a crawl.
func reopen(t *testing.T, dir string) *node {
	s, err := store.Open(dir, store.Options{Form: store.None})
	if errors.Is(err, store.ErrNotCrawl) {
		s, err = store.Create(dir, store.Options{Form: store.None})
	}
	if err != nil {
		t.Fatal(err)
	}
	rules, err := crawl.ScopeConfig{Scope: "host", Depth: -1}.Rules(testSecret, s)
	if err != nil {
		t.Fatal(err)
	}
	l, err := crawl.NewLedger(s, crawl.LedgerConfig{Order: frontier.Length{}, Trap: frontier.DefaultTrap(), Rules: rules, Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	log, err := openJournal(filepath.Join(dir, "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return &node{cfg: Config{Dir: dir}, store: s, ledger: l, log: log, known: make(chan recalled), failed: make(chan error, 1)}
}

// TestSeedsAreTakenOnce: a crawl that goes on does not ask for seeds it has, and
// takes those it has not.
func TestSeedsAreTakenOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		seeds []string
		known int64
	}{
		{[]string{"http://a.test/", "http://b.test/"}, 2},
		{[]string{"http://a.test/", "http://b.test/"}, 2},
		{[]string{"http://a.test/", "http://c.test/"}, 3},
	} {
		n := reopen(t, dir)
		for _, s := range c.seeds {
			n.cfg.Seeds = append(n.cfg.Seeds, Seed{URL: page.Canonical(s)})
		}
		if err := n.seed(); err != nil {
			t.Fatal(err)
		}
		if got := n.ledger.Totals().Seen; got != c.known {
			t.Errorf("%v: %d pages known, want %d", c.seeds, got, c.known)
		}
		n.log.close()
		if err := n.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKnownPagesAreRecalled ends a crawl of many pages and begins it again, with
// its snapshot, without it, and with a damaged one: each time all pages are
// known before the store is asked, and none is taken for new.
func TestKnownPagesAreRecalled(t *testing.T) {
	t.Parallel()
	const pages, links = 80, 1000
	dir := t.TempDir()
	secret := testSecret
	link := func(i int) page.Link {
		u := page.Canonical(fmt.Sprintf("http://a.test/%d", i))
		return page.Link{URL: u, Hash: secret.Hash(u.Rest())}
	}
	crawlAll := func(n *node) {
		if err := n.ledger.Seed(link(0).URL, 0); err != nil {
			t.Fatal(err)
		}
		for i := range pages {
			f := &page.Facts{Key: page.Key{Site: 1, Hash: link(i).Hash}, URL: link(i).URL, Outcome: page.OK, Status: 200}
			for k := range links {
				f.Links = append(f.Links, link(i*links+k))
			}
			if err := n.ledger.Page(uint64(i), f, crawl.Archived{}, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.flush(n.store.Begin()); err != nil {
			t.Fatal(err)
		}
	}
	end := func(n *node) {
		if err := n.keepSeen(); err != nil {
			t.Fatal(err)
		}
		n.log.close()
		if err := n.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	n := reopen(t, dir)
	crawlAll(n)
	end(n)
	file := filepath.Join(dir, "seen")
	for _, c := range []struct {
		name    string
		spoil   func() error
		stamped bool
	}{
		{"with its snapshot", func() error { return nil }, true},
		{"without it", func() error { return os.Remove(file) }, false},
		{"with a damaged one", func() error { return os.Truncate(file, 100_000) }, false},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		n := reopen(t, dir)
		read := n.readSnapshot(func([]crawl.Print) bool { return true })
		if (read == nil) != c.stamped {
			t.Errorf("%s: the snapshot reads %v", c.name, read)
		}
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			recallCut(t, n, cut, pages*links)
		}
		go n.recall(t.Context())
		for last := false; !last; {
			k := <-n.known
			n.ledger.Recall(k.prints, k.last)
			last = k.last
		}
		before := n.ledger.Totals().Seen
		if !n.ledger.Remembers() || before < pages*links {
			t.Errorf("%s: %d pages, remembers %v", c.name, before, n.ledger.Remembers())
		}
		crawlAll(n)
		if after := n.ledger.Totals().Seen; after != before {
			t.Errorf("%s: %d pages of %d were taken for new", c.name, after-before, before)
		}
		end(n)
	}
}
