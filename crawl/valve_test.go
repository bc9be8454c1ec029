package crawl

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/page"
)

// monday is midnight of a Monday, UTC.
var monday = Wall{Unix: time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC).UnixNano()}

func timetable(t *testing.T, text string) bandwidth.Timetable {
	t.Helper()
	tt, err := bandwidth.ParseTimetable(text)
	if err != nil {
		t.Fatal(err)
	}
	return tt
}

func quota(t *testing.T, text string) bandwidth.Quota {
	t.Helper()
	q, err := bandwidth.ParseQuota(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// manySeeds names n pages, each on a host of its own.
func manySeeds(n int) (seeds []string) {
	for i := range n {
		seeds = append(seeds, fmt.Sprintf("http://h%d.d%d.org/", i, i))
	}
	return seeds
}

// ownAddr gives every host an address of its own.
func ownAddr(host string) Resolved {
	h := page.Secret{}.Hash(host)
	return Resolved{Outcome: page.OK, Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, byte(h >> 16), byte(h >> 8), byte(h)})}, TTL: time.Hour}
}

// pull returns the orders of one kind.
func pull[O Order](orders []Order) (of []O) {
	for _, o := range orders {
		if o, ok := o.(O); ok {
			of = append(of, o)
		}
	}
	return of
}

// hand drives an Engine by hand, with a crawl whose names, queues and pages
// answer only when the test says so.
type hand struct {
	*play
	flying []Fetch
	bytes  int64
}

func newHand(t *testing.T, hosts int, cfg Bandwidth) *hand {
	p := newPlay(t, manySeeds(hosts)...)
	p.cfg.Bandwidth, p.cfg.Frontier.Conns, p.cfg.Frontier.NoRobots = cfg, 64, true
	p.cfg.Loads, p.cfg.Resolves = 64, 64
	p.lookup = ownAddr
	return &hand{play: p}
}

// step gives one event to the Engine; names and queues are answered at once.
func (h *hand) step(ev Event) (all []Order) {
	for events := []Event{ev}; len(events) > 0; events = events[1:] {
		for _, o := range append([]Order(nil), h.engine.Step(h.now, events[0])...) {
			all = append(all, o)
			switch o := o.(type) {
			case Fetch:
				h.flying = append(h.flying, o)
			case Load, Resolve, Keep, Settle:
				events = append(events, h.order(o)...)
			}
		}
	}
	return all
}

func (h *hand) start(before ...Event) []Order {
	st := h.open()
	for _, ev := range before {
		h.step(ev)
	}
	return h.step(st)
}

// done answers the oldest request, after so long.
func (h *hand) done(bytes int64, took time.Duration) []Order {
	f := h.flying[0]
	h.flying = h.flying[1:]
	return h.step(Done{ID: f.ID, Outcome: page.OK, Status: 200, Bytes: bytes, Elapsed: took, KeepAlive: !f.Last})
}

// wire reports, a tenth of a second later.
func (h *hand) wire(w bandwidth.Wire) []Order {
	h.now = h.now.Add(100 * time.Millisecond)
	h.bytes += w.Bytes
	w.Bytes = h.bytes
	return h.step(Wire{w})
}

func TestNoLimitNoOrders(t *testing.T) {
	h := newHand(t, 20, Bandwidth{})
	orders := h.start(monday)
	if len(h.flying) != 20 || len(pull[Limit](orders)) > 0 {
		t.Errorf("%d pages started, %v", len(h.flying), pull[Limit](orders))
	}
	h.wire(bandwidth.Wire{Rate: 1e6, Bytes: 1e5})
	if s := h.engine.Status(); s.Link != (LinkStatus{}) {
		t.Errorf("%+v", s.Link)
	}
}

// At a cold start a few pages start, then more, until the link is full; then as
// many as it takes.
func TestLimitFillsTheLink(t *testing.T) {
	h := newHand(t, 64, Bandwidth{Limits: Limits{Rate: 1_000_000}, Predictor: bandwidth.PredictorConfig{Prior: 10_000}})
	orders := h.start(monday)
	if l := pull[Limit](orders); len(l) != 1 || l[0].Rate != 1_000_000 {
		t.Fatalf("%v, want the limit first", l)
	}
	at := []int{len(h.flying)}
	for range 24 { // ten a second
		h.wire(bandwidth.Wire{Limit: 1e6, Rate: 1e5, Backlog: 1})
		at = append(at, len(h.flying))
	}
	if at[0] > 6 || at[len(at)-1] < 60 {
		t.Errorf("%v pages under way, want a few and then all", at)
	}
	for i := 1; i < len(at); i++ {
		if at[i] > 2*at[i-1] {
			t.Errorf("%v pages under way: too many at once", at)
		}
	}
	if s := h.engine.Status().Link; s.Running != len(h.flying) || math.Abs(s.Expected-float64(len(h.flying))*10_000) > 1 || s.Limit != 1_000_000 {
		t.Errorf("%+v with %d under way", s, len(h.flying))
	}
}

// A report of an idle link starts one page more, not all of them.
func TestIdleStartsOne(t *testing.T) {
	h := newHand(t, 64, Bandwidth{Limits: Limits{Rate: 100_000}, Predictor: bandwidth.PredictorConfig{Prior: 60_000}})
	h.start(monday)
	for range 10 {
		h.wire(bandwidth.Wire{Limit: 1e5, Rate: 1e5, Backlog: 1})
	}
	n := len(h.flying)
	if n != 4 { // of 50 KB/s each, half of the limit, four bring 1.8 times of it
		t.Fatalf("%d pages under way, want 4", n)
	}
	for i := range 5 {
		h.wire(bandwidth.Wire{Limit: 1e5, Rate: 2e4, Idle: 50 * time.Millisecond})
		if len(h.flying) != n+i+1 {
			t.Fatalf("%d pages under way after %d reports of an idle link", len(h.flying), i+1)
		}
	}
	h.wire(bandwidth.Wire{Limit: 1e5, Rate: 2e4, Idle: 10 * time.Millisecond})
	h.wire(bandwidth.Wire{Limit: 1e5, Rate: 2e4, Idle: 50 * time.Millisecond, Backlog: 3000})
	if len(h.flying) != n+5 {
		t.Errorf("%d pages under way: a moment's pause, or a backlog, started more", len(h.flying))
	}
}

// A limit changed while the crawl runs is ordered at once; a crawl without one
// can be given one.
func TestLimitChanges(t *testing.T) {
	h := newHand(t, 8, Bandwidth{})
	h.start(monday)
	for _, c := range []struct {
		limits Limits
		want   []Limit
	}{
		{Limits{Rate: 1_000_000}, []Limit{{1_000_000}}},
		{Limits{Rate: 10_000}, []Limit{{10_000}}},
		{Limits{Rate: 10_000}, nil},
		{Limits{Timetable: timetable(t, "00:00-01:00 5KB/s, 1MB/s")}, []Limit{{5_000}}},
		{Limits{Quota: quota(t, "864MB/day")}, []Limit{{9_990}}}, // a thousandth is kept back
		{Limits{}, []Limit{{bandwidth.Unlimited}}},
	} {
		orders := h.step(Command{Limits: &c.limits})
		got := pull[Limit](orders)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v: %v, want %v", c.limits, got, c.want)
		}
	}
	if s := h.engine.Status(); s.Stop != "" {
		t.Errorf("the crawl was stopped: %q", s.Stop)
	}
	h.step(Command{Limits: &Limits{Rate: 5000}, Stop: StopByUser})
	if s := h.engine.Status(); s.Stop != StopByUser || s.Link.Limit != 5000 {
		t.Errorf("%+v", s)
	}
}

// While the timetable says off nothing starts, not even on an open connection,
// and the crawl goes on by itself when the hour comes.
func TestTimetableOff(t *testing.T) {
	p := newPlay(t, "http://a.org/1", "http://a.org/2", "http://a.org/3", "http://b.org/")
	p.cfg.Frontier.PerConn = 4
	p.cfg.Bandwidth.Timetable = timetable(t, "00:00-06:00 off, 1MB/s")
	p.before = []Event{monday}
	if p.run(); len(p.fetched) != 4 {
		t.Fatalf("%v", p.fetched)
	}
	for _, v := range append(p.fetched, p.asked...) {
		if v.at < page.Time(6*time.Hour) {
			t.Errorf("%s was asked for after %v, the timetable says off until six", v.url, time.Duration(v.at))
		}
	}
	if got := pull[Limit](p.orders); fmt.Sprint(got) != fmt.Sprint([]Limit{{bandwidth.Off}, {1_000_000}}) {
		t.Errorf("%v", got)
	}
}

// A clock that jumps, or a zone that changes its offset, brings another hour of
// the timetable at once.
func TestWallJumps(t *testing.T) {
	h := newHand(t, 1, Bandwidth{Limits: Limits{Timetable: timetable(t, "08:00-18:00 5KB/s, 9KB/s")}})
	if got := pull[Limit](h.start(monday)); len(got) != 1 || got[0].Rate != 9000 {
		t.Fatalf("%v", got)
	}
	jump := monday
	jump.Offset = 8 * 3600
	if got := pull[Limit](h.step(jump)); len(got) != 1 || got[0].Rate != 5000 {
		t.Errorf("%v", got)
	}
}

// What a quota has left is spread; when it is spent nothing starts until the
// next period; and a restart does not bring it back.
func TestQuota(t *testing.T) {
	cfg := Bandwidth{Limits: Limits{Quota: quota(t, "36MB/hour")}}
	h := newHand(t, 3, cfg)
	h.start(monday)
	if got := h.engine.Status().Link.Limit; got < 9_900 || got > 10_000 {
		t.Fatalf("%d bytes a second, want a little less than an even 10,000", got)
	}
	h.now = h.now.Add(20 * time.Second)
	orders := h.wire(bandwidth.Wire{Limit: 1e4, Bytes: 36e6})
	if got := pull[Limit](orders); len(got) != 1 || got[0].Rate != bandwidth.Off {
		t.Fatalf("%v after all of the quota, want off", got)
	}
	wake := pull[Wake](orders)
	if len(wake) == 0 || wake[len(wake)-1].At != page.Time(time.Hour) {
		t.Errorf("%v, want the end of the hour", wake)
	}
	h.flush()

	again := newHand(t, 3, cfg)
	again.kv, again.resume = h.kv, true
	soon := monday
	soon.Unix += int64(time.Minute)
	if again.start(soon); again.engine.Status().Link.Limit != bandwidth.Off || len(again.flying) > 0 {
		t.Errorf("%+v after a restart", again.engine.Status().Link)
	}
	again.now = again.now.Add(time.Hour)
	again.step(Tick{})
	if again.engine.Status().Link.Limit == bandwidth.Off || len(again.flying) == 0 {
		t.Errorf("%+v in the next hour, %d pages under way", again.engine.Status().Link, len(again.flying))
	}
}

// What was learned of servers is durable, another crawl can begin with it, and
// it changes how many pages start.
func TestLearnedRatesAreKept(t *testing.T) {
	cfg := Bandwidth{Control: "paper", Limits: Limits{Rate: 100_000}, Predictor: bandwidth.PredictorConfig{Exact: true, Prior: 100_000}}
	h := newHand(t, 6, cfg)
	h.start(monday)
	if len(h.flying) != 1 {
		t.Fatalf("%d pages at once of servers as fast as the limit", len(h.flying))
	}
	for len(h.flying) > 0 {
		h.now = h.now.Add(time.Second)
		h.done(10_000, time.Second)
	}
	h.flush()
	kept, err := h.view().Learned(1000)
	if err != nil || len(kept) != 6 {
		t.Fatalf("%d rows (%v), want one a server", len(kept), err)
	}
	if some, err := h.view().Learned(2); err != nil || len(some) != 2 {
		t.Errorf("%d rows (%v), want no more than two", len(some), err)
	}
	other := newHand(t, 6, cfg)
	st := other.open()
	st.Kept = kept
	other.step(monday)
	other.step(st)
	if s := other.engine.Status().Link; len(other.flying) != 6 || s.Servers != 6 {
		t.Errorf("%d pages at once by what another crawl learned, %+v", len(other.flying), s)
	}
	damaged := newHand(t, 6, cfg)
	st = damaged.open()
	st.Kept = []Keep{{Key: []byte("s\x01"), Value: []byte{9}}, {Key: []byte(usageKey), Value: []byte{200}}, {}}
	if damaged.step(st); len(damaged.flying) != 1 {
		t.Errorf("%d pages at once after damaged rows", len(damaged.flying))
	}
}

// A page on a connection that is kept open is under way already: it needs no
// leave, and its host's rate stays in the sum until the connection is closed.
func TestKeptConnectionStaysCharged(t *testing.T) {
	h := newHand(t, 1, Bandwidth{Control: "paper", Limits: Limits{Rate: 100_000}})
	h.seeds = []string{"http://a.org/1", "http://a.org/2", "http://a.org/3", "http://a.org/4", "http://b.org/"}
	h.cfg.Frontier.PerConn = 3
	h.start(monday)
	for i := range 3 {
		if len(h.flying) != 1 || h.flying[0].Host != "a.org" || h.flying[0].Open != (i == 0) {
			t.Fatalf("page %d: %+v", i, h.flying)
		}
		if s := h.engine.Status().Link; s.Running != 1 || s.Expected == 0 {
			t.Fatalf("page %d: %+v", i, s)
		}
		h.now = h.now.Add(time.Second)
		h.done(100_000, time.Second)
	}
	if len(h.flying) != 1 || h.flying[0].Host != "b.org" {
		t.Errorf("%+v, want the other host's turn", h.flying)
	}
	if h.done(1, time.Second); h.engine.Status().Link.Running != 0 {
		t.Errorf("%+v with nothing under way", h.engine.Status().Link)
	}
}

func TestBadBandwidth(t *testing.T) {
	for want, cfg := range map[string]Bandwidth{
		`no control is called "fast"`: {Control: "fast"},
		"gain 7":                      {Predictor: bandwidth.PredictorConfig{Gain: 7}},
		"holidays, line 1":            {Holidays: "sometimes"},
		"a limit of -1":               {Limits: Limits{Rate: -1}},
	} {
		_, err := NewEngine(EngineConfig{Order: "length", Bandwidth: cfg})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}
