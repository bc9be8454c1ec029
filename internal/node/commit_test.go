package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"weir/internal/program"
	"weir/page"
)

// A page may lead to any number of rows: groups end early for it, so that what is
// not yet written does not fill the memory.
func TestGroupsAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	cfg := baseConfig(t.TempDir(), "")
	var err error
	if cfg.Seeds, err = seeds([]string{"http://a.test/few", "http://a.test/many"}); err != nil {
		t.Fatal(err)
	}
	src := source("crawl(U, 0) :- seed(U).\nlive pair.\npair(V, W) :- link(U, V), link(U, W).")
	cfg.Programs = []*program.Source{&src}
	n, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.seed(); err != nil {
		t.Fatal(err)
	}
	c := committer{n: n, timer: time.NewTimer(time.Hour), last: time.Now().Add(time.Hour)} // only a full group is written
	for i, links := range []int{3, 400} {
		u := cfg.Seeds[i].URL
		f := &page.Facts{Key: page.Key{Site: 1, Hash: n.secret.Hash(u.Rest())}, URL: u, Outcome: page.OK, Status: 200}
		for k := range links {
			to := page.Canonical(fmt.Sprintf("http://a.test/%d", k))
			f.Links = append(f.Links, page.Link{URL: to, Hash: n.secret.Hash(to.Rest())})
		}
		if err := c.take(&result{id: uint64(i), facts: f}); err != nil {
			t.Fatal(err)
		}
		if err := c.settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		if written, full := c.group == nil, links > 100; written != full {
			t.Errorf("after a page with %d links: written %t", links, written)
		}
	}
	if _, err := n.close(nil); err != nil {
		t.Error(err)
	}
}
