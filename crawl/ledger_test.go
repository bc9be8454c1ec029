package crawl

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/page"
)

// book is a Ledger whose groups the test opens and closes itself. Every URL
// given as a link is followed.
type book struct {
	t  rapid.TB
	kv *memory
	*Ledger
	id     uint64
	order  frontier.Ranking
	memory int64
	links  bool
}

func newBook(t *testing.T) *book {
	b := &book{t: t, kv: &memory{}, order: frontier.Length{}}
	b.reopen()
	return b
}

// reopen is a restart: what was not flushed is gone.
func (b *book) reopen() {
	b.t.Helper()
	scope, err := ScopeConfig{Scope: "any", Depth: -1}.Rules(worldSecret, b.kv)
	b.must(err)
	b.Ledger, err = NewLedger(b.kv, LedgerConfig{Order: b.order, Trap: frontier.DefaultTrap(), Rules: scope, Secret: worldSecret, Memory: b.memory, Links: b.links})
	b.must(err)
	b.Clock(1e18)
}

func (b *book) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *book) flush() Committed {
	b.t.Helper()
	w := &batch{}
	ev, err := b.Flush(w)
	b.must(err)
	WriteSecret(w, worldSecret)
	b.kv.commit(w)
	return ev
}

func (b *book) key(u string) page.Key {
	b.t.Helper()
	id, err := b.siteID(mustURL(u).Site())
	b.must(err)
	return page.Key{Site: id, Hash: hashOf(mustURL(u))}
}

// visit takes a page with its links.
func (b *book) visit(u string, o page.Outcome, change func(f *page.Facts), links ...string) {
	b.t.Helper()
	f := &page.Facts{Key: b.key(u), URL: mustURL(u), Outcome: o, At: b.wall}
	for _, l := range links {
		f.Links = append(f.Links, link(l))
	}
	if change != nil {
		change(f)
	}
	b.id++
	b.must(b.Page(b.id, f, Archived{File: 1, Offset: 10, Length: 20}, false))
}

func (b *book) info(u string) PageInfo {
	b.t.Helper()
	v, err := NewView(b.kv)
	b.must(err)
	p, err := v.Page(mustURL(u))
	b.must(err)
	if p == nil {
		return PageInfo{}
	}
	return *p
}

func depth(d uint16) func(f *page.Facts) { return func(f *page.Facts) { f.Depth = d } }

const a = "http://a.example"

func TestLedgerNewBetterKnown(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.must(b.Seed(mustURL(a+"/s"), 0))
	if ev := b.flush(); len(ev.Queued) != 2 || len(ev.Sites) != 1 || ev.Totals.Seen != 2 {
		t.Fatalf("two seeds: %+v", ev)
	}
	// One group: deep first, then better, then known.
	b.visit(a+"/", page.OK, depth(5), a+"/x", a+"/x", a+"/")
	b.visit(a+"/s", page.OK, nil, a+"/x")
	ev := b.flush()
	if len(ev.Queued) != 1 || len(ev.Moved) != 0 || ev.Queued[0].Entry.Depth != 1 || !slices.Equal(ev.IDs, []uint64{1, 2}) {
		t.Fatalf("one group: %+v", ev)
	}
	// Across groups: a better way moves the entry, a worse one does nothing.
	b.visit(a+"/x", page.OK, depth(1), a+"/y", a+"/z")
	old := b.flush().Queued[0].Entry
	b.must(b.Seed(mustURL(a+"/y"), 0))
	ev = b.flush()
	if len(ev.Moved) != 1 || ev.Moved[0].Old != old.Place || ev.Moved[0].Entry.Depth != 0 || !ev.Moved[0].Entry.Root || ev.Totals.Seeds != 3 {
		t.Fatalf("a better way: %+v", ev)
	}
	b.visit(a+"/z", page.OK, depth(9), a+"/y")
	if ev = b.flush(); len(ev.Moved)+len(ev.Queued) != 0 || ev.Totals.Queued != 1 || ev.Totals.Ended() != 4 {
		t.Fatalf("a worse way: %+v", ev)
	}
	if got, err := b.Load(Load{Site: 1, N: 9}); err != nil || len(got.Entries) != 1 || got.Entries[0].Rest != "/y" || got.More {
		t.Fatalf("the queue on disk: %+v, %v", got, err)
	}
}

// The Engine may have forgotten a site: whoever queues a page describes it
// again, once in a group, as it is now, and says that its rules may be stored.
func TestLedgerDescribesSitesAgain(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	if ev := b.flush(); !slices.Equal(ev.Sites, []frontier.Known{{ID: 1, Name: a}}) {
		t.Fatalf("a new site: %+v", ev.Sites)
	}
	b.visit(a+"/", page.OK, nil, a+"/x", a+"/y")
	if ev := b.flush(); !slices.Equal(ev.Sites, []frontier.Known{{ID: 1, Name: a, Used: 1, Old: true}}) {
		t.Fatalf("two more pages: %+v", ev.Sites)
	}
	b.visit(a+"/x", page.OK, nil, a+"/y")
	if ev := b.flush(); len(ev.Sites) != 0 {
		t.Fatalf("nothing new: %+v", ev.Sites)
	}
	b.visit(a+"/y", page.OK, nil, a+"/z")
	if ev := b.flush(); !slices.Equal(ev.Sites, []frontier.Known{{ID: 1, Name: a, Used: 3, Old: true}}) {
		t.Fatalf("another page: %+v", ev.Sites)
	}
}

// A page that a crash takes with its group is found again with its links.
func TestLedgerLosesNothingWithAGroup(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.flush()
	b.visit(a+"/", page.OK, nil, a+"/x")
	b.reopen()
	if st, err := b.Start(true); err != nil || len(st.Sites) != 1 || st.Sites[0].Queued != 1 || st.Totals.Seen != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	b.visit(a+"/", page.OK, nil, a+"/x")
	if ev := b.flush(); len(ev.Queued) != 1 || ev.Totals.Seen != 2 {
		t.Fatalf("%+v", ev)
	}
	b.visit(a+"/", page.OK, nil, a+"/y") // an answer that comes twice
	if ev := b.flush(); len(ev.Queued) != 0 || ev.Totals.Seen != 2 || len(ev.IDs) != 1 {
		t.Fatalf("a page that ended twice: %+v", ev)
	}
}

func TestLedgerSeedsCountOnce(t *testing.T) {
	b := newBook(t)
	for run := range 3 {
		b.must(b.Seed(mustURL(a+"/"), 0))
		if run == 2 {
			b.must(b.Seed(mustURL("http://b.example/"), 0))
		}
		b.flush()
		if run == 0 {
			b.visit(a+"/", page.OK, nil)
			b.flush()
		}
		b.reopen()
	}
	if got := b.Totals(); got.Seeds != 2 || got.SeedsOK != 1 || got.Seen != 2 || got.Queued != 1 {
		t.Errorf("%+v", got)
	}
}

func TestLedgerQueuesAgain(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	old := b.flush().Queued[0].Entry
	for attempt := range uint8(2) {
		b.visit(a+"/", page.ServerError, func(f *page.Facts) { f.Attempt = attempt })
		ev := b.flush()
		if len(ev.Queued) != 1 || ev.Queued[0].Entry.Attempt != attempt+1 || !old.Place.Before(ev.Queued[0].Entry.Place) {
			t.Fatalf("attempt %d: %+v", attempt, ev)
		}
		old = ev.Queued[0].Entry
		if got := b.info(a + "/"); got.State != "queued" || got.Entry != old {
			t.Fatalf("attempt %d: %+v", attempt, got)
		}
	}
	b.visit(a+"/", page.ConnectFailed, func(f *page.Facts) { f.Attempt = 2 })
	if ev := b.flush(); ev.Queued[0].Entry.Attempt != 2 {
		t.Errorf("the host's failure cost the page a try: %+v", ev)
	}
	b.visit(a+"/", page.ServerError, func(f *page.Facts) { f.Attempt = 2 })
	b.flush()
	if got := b.info(a + "/"); got.State != "ended" || got.Outcome != page.ServerError || got.Record != (Archived{1, 10, 20}) {
		t.Errorf("the last try: %+v", got)
	}
}

func TestLedgerParksAndReleases(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.flush()
	b.visit(a+"/", page.OK, nil, a+"/x/x/x", a+"/y/y/y", a+"/z/z/z", a+"/fine")
	if ev := b.flush(); len(ev.Queued) != 1 || ev.Totals.Parked != 3 || ev.Totals.Seen != 5 {
		t.Fatalf("%+v", ev)
	}
	v, err := NewView(b.kv)
	b.must(err)
	var parked []string
	b.must(v.Parked(func(p *PageInfo) bool { parked = append(parked, p.URL.Path()+": "+p.Why); return true }))
	slices.Sort(parked)
	if want := "/x/x/x: /x/ 3 times in a row"; len(parked) != 3 || parked[0] != want {
		t.Fatalf("parked: %q", parked)
	}
	n, err := b.Release(10, func(u page.URL, _ string) bool { return u.Path() == "/x/x/x" })
	b.must(err)
	if ev := b.flush(); n != 1 || len(ev.Queued) != 1 || ev.Totals.Parked != 2 || ev.Totals.Queued != 2 {
		t.Fatalf("released %d: %+v", n, ev)
	}
	b.must(b.Seed(mustURL(a+"/y/y/y"), 0)) // what the user names is no trap
	if ev := b.flush(); ev.Totals.Parked != 1 || len(ev.Queued) != 1 || ev.Queued[0].Entry.Depth != 0 {
		t.Fatalf("a parked page is named as a seed: %+v", ev)
	}
	for range 2 {
		if n, err = b.Release(1, func(page.URL, string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		b.flush()
	}
	if n != 0 || b.Totals().Parked != 0 || b.Totals().Queued != 4 {
		t.Errorf("at the end: %d, %+v", n, b.Totals())
	}
}

func TestLedgerParksQueries(t *testing.T) {
	b := newBook(t)
	b.cfg.Trap.Variants = 4
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.flush()
	visit := func(u string, repeat bool) {
		f := &page.Facts{Key: b.key(u), URL: mustURL(u), Outcome: page.OK, Digested: true}
		b.must(b.Page(0, f, Archived{}, repeat))
	}
	for i := range 4 {
		b.visit(a+"/", page.OK, nil) // an ended page has no more links: seed the queries
		b.must(b.Seed(mustURL(fmt.Sprintf(a+"/list?n=%d", i)), 0))
		b.flush()
		visit(fmt.Sprintf(a+"/list?n=%d", i), i > 0)
		b.flush()
	}
	b.reopen()
	b.cfg.Trap.Variants = 4
	b.must(b.Seed(mustURL(a+"/more"), 0))
	b.visit(a+"/more", page.OK, nil, a+"/list?n=9", a+"/other?n=9", a+"/list")
	b.flush()
	for u, want := range map[string]string{"/list?n=9": "parked", "/other?n=9": "queued", "/list": "queued"} {
		if got := b.info(a + u); got.State != want {
			t.Errorf("%s is %s (%s), want %s", u, got.State, got.Why, want)
		}
	}
}

func TestLedgerWhy(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.visit(a+"/", page.OK, nil, a+"/x")
	b.visit(a+"/x", page.Redirected, func(f *page.Facts) { f.Depth, f.Redirect = 1, link("http://b.example/y") })
	b.flush()
	var chain []string
	v, err := NewView(b.kv)
	b.must(err)
	p, err := v.Page(mustURL("http://b.example/y"))
	for ; p != nil && err == nil; p, err = v.Key(p.Parent) {
		chain = append(chain, fmt.Sprint(p.URL, " ", p.By, " ", p.Depth, " ", p.State))
	}
	b.must(err)
	want := []string{"http://b.example/y redirect 1 queued", a + "/x link 1 ended", a + "/ seed 0 ended"}
	if !slices.Equal(chain, want) {
		t.Errorf("why: %q", chain)
	}
	if p, err := v.Page(mustURL("http://c.example/")); p != nil || err != nil {
		t.Errorf("an unknown site: %v, %v", p, err)
	}
	if p, err := v.Page(mustURL(a + "/unknown")); p != nil || err != nil {
		t.Errorf("an unknown page: %v, %v", p, err)
	}
	var queue []string
	b.must(v.Queue(func(p *PageInfo) bool { queue = append(queue, p.URL.String()); return true }))
	if !slices.Equal(queue, []string{"http://b.example/y"}) {
		t.Errorf("queue: %v", queue)
	}
}

func TestLedgerLoadsInBatches(t *testing.T) {
	b := newBook(t)
	for i := range 10 {
		b.must(b.Seed(mustURL(fmt.Sprintf(a+"/%d", i)), 0))
	}
	b.must(b.Seed(mustURL("http://b.example/"), 0))
	b.flush()
	var got []string
	for from, more := (frontier.Place{}), true; more; {
		ev, err := b.Load(Load{Site: 1, From: from, N: 4})
		b.must(err)
		for _, e := range ev.Entries {
			got = append(got, e.Rest)
			from = e.Place.After()
		}
		more = ev.More
	}
	if len(got) != 10 || got[0] != "/0" || got[9] != "/9" {
		t.Errorf("%v", got)
	}
}

// A page that turns out to be nearer to the seeds, or a root, while it is being
// fetched hands that on to what it links to.
func TestLedgerImprovesPagesInFlight(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.flush()
	b.visit(a+"/", page.OK, depth(4), a+"/x", a+"/y")
	b.flush()
	b.must(b.Seed(mustURL(a+"/x"), 0))
	b.must(b.Seed(mustURL(a+"/y"), 0))
	b.flush()
	b.visit(a+"/x", page.OK, depth(5), a+"/z") // as it was ordered
	b.visit(a+"/y", page.Redirected, func(f *page.Facts) { f.Depth, f.Redirect = 5, link("http://b.example/") })
	b.flush()
	if got := b.info(a + "/z"); got.Depth != 1 {
		t.Errorf("a link of a seed has depth %d", got.Depth)
	}
	if got := b.info("http://b.example/"); got.Depth != 0 || !got.Entry.Root {
		t.Errorf("where a seed leads is at depth %d, root: %v", got.Depth, got.Entry.Root)
	}
}

// A robots.txt may be half a megabyte: it is written once, not with every page
// of its site, and does not stay in memory.
func TestLedgerKeepsRobotsApart(t *testing.T) {
	b := newBook(t)
	text := strings.Repeat("Disallow: /private/area\n", 10_000)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.flush()
	f := &page.Facts{Key: page.Key{Site: 1}, Outcome: page.OK, Robots: true}
	b.must(b.Robots(1, f, rulesText(text+"Crawl-delay: 3")))
	b.flush()
	b.visit(a+"/", page.OK, nil, a+"/x")
	w := &batch{}
	_, err := b.Flush(w)
	b.must(err)
	written := 0
	for _, op := range w.ops {
		written += len(op.key) + len(op.value)
	}
	if written > 2000 {
		t.Errorf("a page with one link writes %d bytes", written)
	}
	b.kv.commit(w)
	var info SiteInfo
	v, err := NewView(b.kv)
	b.must(err)
	b.Host("a.example", frontier.HostState{Failures: 2, Rest: time.Hour})
	b.flush()
	b.must(v.Sites(func(i *SiteInfo) bool { info = *i; return true }))
	if len(info.Robots) < len("/private/area") || info.RobotsAt.UnixNano() != 1e18 || info.Delay != 3*time.Second ||
		info.Host != (frontier.HostState{Failures: 2}) || info.Until.UnixNano() != 1e18+int64(time.Hour) {
		t.Errorf("robots of %d bytes, at %v, delay %v, %+v until %v", len(info.Robots), info.RobotsAt, info.Delay, info.Host, info.Until)
	}
}

// What of a host must survive does, and wears off by the time of day.
func TestLedgerKeepsHosts(t *testing.T) {
	b := newBook(t)
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.Host("a.example", frontier.HostState{Failures: 3, Last: time.Second, Rest: time.Minute})
	f := &page.Facts{Key: page.Key{Site: 1}, Outcome: page.OK, Robots: true}
	b.must(b.Robots(1, f, rulesText("Disallow: /x\nCrawl-delay: 7")))
	b.flush()
	b.reopen()
	b.Clock(1e18 + int64(20*time.Second))
	st, err := b.Start(true)
	b.must(err)
	want := []Care{
		{Host: "a.example", State: frontier.HostState{Failures: 3, Last: time.Second, Rest: 40 * time.Second}},
		{Host: "a.example", Delay: 7 * time.Second},
	}
	if len(st.Sites) != 1 || st.Sites[0] != (frontier.Known{ID: 1, Name: a, Queued: 1}) || !slices.Equal(st.Hosts, want) {
		t.Errorf("%+v and %+v, want %+v", st.Sites, st.Hosts, want)
	}
	ev, err := b.Load(Load{Site: 1, N: 1})
	b.must(err)
	if ev.Rules == nil || ev.Rules.Allowed("/x") || ev.Age != 20*time.Second {
		t.Errorf("%+v", ev)
	}
}
