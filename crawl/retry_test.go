package crawl

import (
	"testing"

	"weir/frontier"
	"weir/page"
)

// TestRetryQueuesWhatFailed ends five pages in five ways and queues those again
// that a passing fault has cost, one at a time.
func TestRetryQueuesWhatFailed(t *testing.T) {
	b := newBook(t)
	ends := map[string]page.Outcome{
		"/ok": page.OK, "/gone": page.ClientError, "/denied": page.Denied, "/down": page.ConnectFailed, "/dead": page.DeadHost,
	}
	paths := []string{"/ok", "/gone", "/denied", "/down", "/dead"}
	for _, path := range paths {
		b.must(b.Seed(mustURL(a+path), 0))
	}
	b.flush()
	for _, path := range paths {
		e := frontier.Entry{Hash: b.key(a + path).Hash, Rest: path}
		if o := ends[path]; o.Row().Answer {
			b.visit(a+path, o, nil)
		} else {
			b.id++
			b.must(b.Settle(b.id, b.key(a+path).Site, e, o))
		}
	}
	b.flush()
	b.reopen()
	took, rounds := 0, 0
	var from []byte
	for {
		n, next, err := b.Retry(from, 1, func(page.URL, page.Outcome) bool { return true })
		b.must(err)
		took += n
		rounds++
		if n > 0 && len(b.flush().Queued) != n {
			t.Error("the engine was not told")
		}
		if from = next; next == nil {
			break
		}
	}
	if took != 2 || rounds < 2 {
		t.Errorf("queued %d pages again in %d rounds", took, rounds)
	}
	for _, path := range paths {
		want := "ended"
		if Failed(ends[path]) {
			want = "queued"
		}
		if got := b.info(a + path).State; got != want {
			t.Errorf("%s is %s, not %s", path, got, want)
		}
	}
	if n := b.Totals(); n.Queued != 2 || n.Ended() != 3 || n.Outcomes[page.ConnectFailed] != 0 {
		t.Errorf("%+v", n)
	}
}

// TestSeedThatHasEnded names a page as a seed that a link had brought, and that
// has been fetched: it stays as it ended, and counts as a seed.
func TestSeedThatHasEnded(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.flush()
	b.visit(a+"/", page.OK, nil, a+"/b")
	b.flush()
	b.visit(a+"/b", page.OK, nil)
	b.flush()
	b.reopen()
	b.must(b.Seed(mustURL(a+"/b"), 0))
	b.flush()
	b.reopen()
	if i := b.info(a + "/b"); i.State != "ended" || i.Outcome != page.OK || i.URL != mustURL(a+"/b") {
		t.Errorf("%+v", i)
	}
	if n := b.Totals(); n.Seeds != 2 || n.SeedsOK != 2 || n.Ended() != 2 || n.Queued != 0 {
		t.Errorf("%+v", n)
	}
}
