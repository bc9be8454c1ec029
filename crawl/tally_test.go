package crawl

import (
	"testing"
	"time"

	"weir/page"
)

func TestTally(t *testing.T) {
	b := newBook(t)
	for _, path := range []string{"/", "/moved", "/gone", "/silent", "/waits"} {
		b.must(b.Seed(mustURL(a+path), 0))
	}
	b.must(b.Seed(mustURL("http://b.example/"), 0))
	b.flush()
	had := func(bytes int64, elapsed time.Duration, server string) func(f *page.Facts) {
		return func(f *page.Facts) { f.Bytes, f.Elapsed, f.Server, f.Mime = bytes, elapsed, server, "text/html" }
	}
	b.visit(a+"/", page.OK, had(3000, time.Second, "192.0.2.1"), a+"/x")
	b.visit(a+"/moved", page.ClientError, had(0, time.Second, "192.0.2.1"))
	b.visit(a+"/gone", page.ClientError, had(1000, 2*time.Second, "192.0.2.1"))
	b.visit(a+"/silent", page.TooSlow, func(f *page.Facts) { f.Elapsed, f.Attempt = time.Hour, 9 })
	b.visit("http://b.example/", page.OK, had(70, time.Second, "192.0.2.2"))
	b.flush()

	v, err := NewView(b.kv)
	b.must(err)
	got, err := v.Tally(b.key(a + "/").Site)
	b.must(err)
	want := Tally{Queued: 2, Bytes: 4000, Squares: 1e7, Bodies: 2, Elapsed: 3 * time.Second, Server: "192.0.2.1"}
	want.Outcomes[page.OK], want.Outcomes[page.ClientError], want.Outcomes[page.TooSlow] = 1, 2, 1
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if n := got.Answered(); n != 3 {
		t.Errorf("%d pages with an answer, want 3", n)
	}
	other, err := v.Tally(b.key("http://b.example/").Site)
	b.must(err)
	got.Add(&other)
	if got.Bytes != 4070 || got.Bodies != 3 || got.Server != "192.0.2.2" || got.Outcomes[page.OK] != 2 {
		t.Errorf("both: %+v", got)
	}
}
