package crawl

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/frontier"
	"weir/page"
)

// linked plays a crawl in which pages link as the map says.
func linked(t *testing.T, order string, batch int64, to map[string][]string, seeds ...string) *play {
	p := newPlay(t, seeds...)
	p.cfg.Order, p.cfg.Batch = order, batch
	p.facts = func(f *page.Facts) {
		for _, u := range to[f.URL.String()] {
			f.Links = append(f.Links, link(u))
		}
	}
	return p
}

func (p *play) urls() (all []string) {
	for _, v := range p.fetched {
		all = append(all, v.url)
	}
	return all
}

// A batch is the best pages known when the one before has ended, best first; what
// is found meanwhile waits for the next (Castillo, section 6.3, "Batch").
func TestBatchesGoByRank(t *testing.T) {
	p := linked(t, "batch", 3, map[string][]string{
		a + "/1": {a + "/x", a + "/y", a + "/z"}, a + "/2": {a + "/y", a + "/z"}, a + "/3": {a + "/z", a + "/w"},
		a + "/z": {a + "/late", a + "/w", a + "/x"}, a + "/y": {a + "/late"}, a + "/late": {a + "/w"},
	}, a+"/1", a+"/2", a+"/3")
	p.cfg.Busy = -1
	if stop := p.run(); stop != StopDone {
		t.Fatal(stop)
	}
	got := p.urls()
	slices.Sort(got[:3])  // all are worth the same
	slices.Sort(got[5:6]) // so are w and x: the key decides
	if want := []string{a + "/1", a + "/2", a + "/3", a + "/z", a + "/y"}; !slices.Equal(got[:5], want) || len(got) != 8 {
		t.Errorf("fetched %v, want %v first", got, want)
	}
	if i := slices.Index(got, a+"/late"); i < 6 {
		t.Errorf("a page that was found during the batch came as number %d: %v", i, got)
	}
}

// A batch whose pages keep few connections busy is cut short, and what is left of
// it goes before the next (section 6.4).
func TestBatchIsCutShort(t *testing.T) {
	to := map[string][]string{}
	var seeds []string
	for i := range 8 {
		seeds = append(seeds, fmt.Sprintf("http://h%d.example/", i))
	}
	for i := range 40 {
		to[seeds[0]] = append(to[seeds[0]], fmt.Sprintf("http://h0.example/%d", i))
	}
	ranks := func(busy float64) (n int) {
		p := linked(t, "batch", 20, to, seeds...)
		p.lookup = eachItsOwn
		p.cfg.Busy = busy
		if stop := p.run(); stop != StopDone || len(p.fetched) != 48 {
			t.Fatalf("%s after %d pages", stop, len(p.fetched))
		}
		for _, o := range p.orders {
			if _, ok := o.(Rank); ok {
				n++
			}
		}
		return n
	}
	if whole, cut := ranks(-1), ranks(0.5); whole >= cut {
		t.Errorf("ranked %d times, and %d times when batches of one site are cut short", whole, cut)
	}
}

// eachItsOwn gives every host an address of its own.
func eachItsOwn(host string) Resolved {
	h := worldSecret.Hash(host)
	return Resolved{Outcome: page.OK, TTL: time.Hour, Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, byte(h >> 16), byte(h >> 8), byte(h)})}}
}

// Between two rankings the pages that were found are worth what those that link
// to them hand on (section 6.3, "Partial").
func TestPartialTakesWhatIsFound(t *testing.T) {
	p := linked(t, "partial", 100, map[string][]string{
		a + "/": {a + "/1", a + "/2", a + "/3", a + "/4"}, a + "/1": {a + "/sole"}, a + "/2": {a + "/4"},
	}, a+"/")
	p.run()
	if want := []string{a + "/", a + "/1", a + "/2", a + "/4", a + "/3", a + "/sole"}; !slices.Equal(p.urls(), want) {
		t.Errorf("fetched %v, want %v: 4 has gained from 2, and the one found last is worth as much as 3", p.urls(), want)
	}
}

// Ranks replace what was handed on, once so many pages were fetched.
func TestPartialGoesByRanks(t *testing.T) {
	p := linked(t, "partial", 3, map[string][]string{
		a + "/1": {a + "/poor", a + "/x"}, a + "/2": {a + "/x"}, a + "/3": {a + "/x", a + "/y", a + "/z"},
	}, a+"/1", a+"/2", a+"/3")
	p.run()
	if got := p.urls(); slices.Index(got, a+"/x") > slices.Index(got, a+"/poor") || !slices.ContainsFunc(p.orders, func(o Order) bool { _, ok := o.(Rank); return ok }) {
		t.Errorf("fetched %v", got)
	}
	b := &book{t: t, kv: &memory{}, order: frontier.Partial{}}
	b.reopen()
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.must(b.Seed(mustURL(a+"/near"), 0))
	b.flush()
	moved, err := b.Rescore(1, []Score{{b.key(a + "/"), 5}, {b.key(a + "/near"), 1.1}, {page.Key{Site: 1, Hash: 99}, 4}})
	b.must(err)
	if ev := b.flush(); moved != 1 || len(ev.Moved) != 1 || b.score(a+"/") != 5 || b.score(a+"/near") != 1 || b.cash(a+"/") != 6 {
		t.Errorf("moved %d: %+v", moved, ev.Moved)
	}
	b.reopen()
	if st, err := b.Start(true); err != nil || st.Version != 1 || st.Sites[0].Cash != 6 {
		t.Errorf("after a restart: %+v, %v", st, err)
	}
}

// The crawl ends when pages bring less than a share of what the first did.
func TestStopGain(t *testing.T) {
	p := newPlay(t)
	p.cfg.Order, p.cfg.Batch, p.cfg.StopGain, p.scores = "score", 4, 0.5, map[string]float32{}
	for i, score := range []float32{10, 10, 10, 10, 9, 8, 7, 6, 1, 1, 1, 1, 1, 1} {
		u := fmt.Sprintf("%s/%d", a, i)
		p.seeds, p.scores[u] = append(p.seeds, u), score
	}
	if stop := p.run(); stop != StopGain || len(p.fetched) != 12 {
		t.Errorf("%s after %d pages, want %s after 12", stop, len(p.fetched), StopGain)
	}
}

// Links up to a moment read the same, whatever is committed later.
func TestLinksAreReadAsTheyWere(t *testing.T) {
	b := &book{t: t, kv: &memory{}, order: frontier.Batches{}, links: true}
	b.reopen()
	b.must(b.Seed(mustURL(a+"/"), 0))
	b.visit(a+"/", page.OK, nil, a+"/x", a+"/y")
	b.flush()
	upto, err := Linked(b.kv)
	b.must(err)
	b.visit(a+"/x", page.OK, nil, a+"/y")
	b.visit(a+"/y", page.Redirected, func(f *page.Facts) { f.Redirect = link(a + "/to") })
	b.flush()
	read := func(upto int64) (all []string) {
		b.must(ReadLinks(b.kv, upto, func(from uint64, targets []uint64) bool {
			for _, u := range []string{"/", "/x", "/y"} {
				if Name(b.key(a+u)) == from {
					all = append(all, fmt.Sprint(u, len(targets)))
				}
			}
			return true
		}))
		slices.Sort(all)
		return all
	}
	if got := read(upto); !slices.Equal(got, []string{"/2"}) {
		t.Errorf("at first: %v", got)
	}
	upto, err = Linked(b.kv)
	b.must(err)
	if got := read(upto); !slices.Equal(got, []string{"/2", "/x1", "/y1"}) {
		t.Errorf("later: %v", got)
	}
}

func TestIdleShare(t *testing.T) {
	var i idle
	if i.share() != 0 {
		t.Error("before anything")
	}
	i.pass(page.Time(time.Second), 4, 4)
	i.pass(page.Time(4*time.Second), 0, 4)
	if got := i.share(); got != 0.25 {
		t.Errorf("all idle for one second of four: %v", got)
	}
}

// While nothing may flow no batch is over, however few connections are busy.
func TestPausedBatch(t *testing.T) {
	var seeds []string
	for i := range 200 {
		seeds = append(seeds, fmt.Sprintf("http://h%d.example/", i))
	}
	p := linked(t, "batch", 10, nil, seeds...)
	p.lookup = eachItsOwn
	p.cfg.Bandwidth.Limits.Timetable = timetable(t, "00:00-12:00 off, none")
	p.before = []Event{Wall{Unix: 1e18}}
	p.run()
	rankings := 0
	for _, o := range p.orders {
		switch o.(type) {
		case Rank:
			rankings++
		case Fetch:
			if rankings > 1 {
				t.Errorf("%d rankings before the first page was fetched", rankings)
			}
			return
		}
	}
	t.Error("nothing was fetched")
}
