package crawl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/page"
	"weir/plan"
)

// keeper is a crawl by hand with deadlines. Plans are made at once, unless the
// test says otherwise.
type keeper struct {
	*hand
	slow  bool // plans wait for the test
	news  []News
	plans []Plan
	urged []string // as told last
}

// newKeeper makes a crawl of http://a.org/ and http://b.org/, which bring the
// pages that the test says, with a link of 100 KB/s.
func newKeeper(t *testing.T, demands ...Demand) *keeper {
	k := &keeper{hand: newHand(t, 0, Bandwidth{Limits: Limits{Rate: 100_000}})}
	k.seeds = []string{"http://b.org/", "http://a.org/"}
	k.cfg.Frontier.Wait = 0
	k.cfg.Demands = demands
	return k
}

// in is a deadline so much later than the crawl began.
func in(d time.Duration) int64 { return monday.Unix + int64(d) }

func (k *keeper) step(ev Event) {
	for _, o := range k.hand.step(ev) {
		switch o := o.(type) {
		case News:
			k.news = append(k.news, o)
		case Share:
			k.urged = nil
			for _, u := range o.Hosts {
				k.urged = append(k.urged, u.Host)
			}
		case Plan:
			if k.plans = append(k.plans, o); !k.slow {
				k.answer(o)
			}
		}
	}
}

func (k *keeper) answer(o Plan) {
	k.step(Planned{Version: o.Version, Reserved: plan.Reserve(o.Link, o.Promises)})
}

func (k *keeper) start() {
	st := k.open()
	k.step(monday)
	k.step(st)
}

// wait lets time pass in which nothing comes.
func (k *keeper) wait(d time.Duration) {
	for end := k.now.Add(d); k.now < end; {
		k.now = min(k.now.Add(500*time.Millisecond), end)
		k.step(Tick{})
	}
}

// serve answers a request for a page of the host, with links to so many pages of
// it that nobody knew.
func (k *keeper) serve(host string, bytes int64, took time.Duration, links ...string) {
	k.t.Helper()
	i := slices.IndexFunc(k.flying, func(f Fetch) bool { return f.Host == host })
	if i < 0 {
		k.t.Fatalf("nothing is asked of %s; %v", host, k.flying)
	}
	f := k.flying[i]
	k.flying = slices.Delete(k.flying, i, i+1)
	k.now = k.now.Add(took)
	k.answered(f, Done{Outcome: page.OK, Status: 200, Bytes: bytes, Elapsed: took}, links)
}

func (k *keeper) answered(f Fetch, d Done, links []string) {
	facts := &page.Facts{Key: page.Key{Site: f.Site, Hash: f.Entry.Hash}, URL: f.URL, Depth: f.Entry.Depth, Hops: f.Entry.Hops, Root: f.Entry.Root,
		Attempt: f.Entry.Attempt, Score: f.Entry.Score, Robots: f.Robots, Outcome: d.Outcome, Bytes: d.Bytes, At: k.wall()}
	for _, l := range links {
		facts.Links = append(facts.Links, link(l))
	}
	d.ID = f.ID
	if f.Robots {
		facts.Key.Hash = 0
		k.must(k.ledger.Robots(f.ID, facts, d.Rules))
	} else {
		k.must(k.ledger.Page(f.ID, facts, Archived{}, false))
	}
	k.step(d)
	k.step(k.flush())
}

// pages names some of a host.
func pages(host string, from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("http://%s/%d", host, i))
	}
	return all
}

// explore fetches the first pages of a.org, which has 100, of 10 KB.
func (k *keeper) explore() {
	k.t.Helper()
	k.serve("a.org", 10_000, 100*time.Millisecond, pages("a.org", 1, 100)...)
	for range exploration {
		k.serve("a.org", 10_000, 100*time.Millisecond)
	}
	k.wait(planPause)
}

func (k *keeper) status(host string) PromiseStatus {
	k.t.Helper()
	for _, p := range k.engine.Status().Promises {
		if p.Host == host {
			return p
		}
	}
	k.t.Fatalf("nothing is promised of %s", host)
	return PromiseStatus{}
}

// heard returns what was told since the last time, in short.
func (k *keeper) heard() (all string) {
	for _, n := range k.news {
		all += fmt.Sprintf("%s %s. ", n.Host, n.Standing)
	}
	k.news = nil
	return strings.TrimSuffix(all, " ")
}

func (k *keeper) hears(want string) {
	k.t.Helper()
	news := k.news
	if got := k.heard(); got != want {
		k.t.Fatalf("told %q, want %q: %+v", got, want, news)
	}
}

// How much a site has must be found out first: until then it is urgent, and
// nothing is promised.
func TestUnexploredIsUrgent(t *testing.T) {
	k := newKeeper(t, Demand{Host: "www.a.org", Deadline: in(time.Hour)})
	k.cfg.Frontier.Conns = 2
	k.seeds = append(k.seeds, "http://c.org/")
	k.start()
	if len(k.flying) != 2 || k.flying[0].Host != "a.org" || fmt.Sprint(k.urged) != "[a.org]" {
		t.Fatalf("%v goes first, %v is urgent, want a.org", k.flying, k.urged)
	}
	k.hears("")
	if s := k.status("www.a.org"); s.Standing != Wished || s.ETA != 0 {
		t.Errorf("%+v", s)
	}
	k.explore()
	k.hears("www.a.org held.")
	if len(k.urged) != 0 {
		t.Errorf("%v is urgent, though there is time", k.urged)
	}
	s := k.status("www.a.org")
	if s.Had != 21 || s.Left != 79 || s.Bytes != 210_000 || s.Expected < 790_000 || s.Expected > 1_200_000 || s.Risk != LowRisk || s.ETA == 0 || s.ETA > s.Deadline {
		t.Errorf("%+v", s)
	}
}

// A promise behind its curve is urgent, and not any more when it has caught up.
func TestBehindIsUrgent(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(200 * time.Second)})
	k.start()
	k.explore()
	k.hears("a.org held.")
	if len(k.urged) != 0 {
		t.Fatalf("%v is urgent at once", k.urged)
	}
	k.wait(50 * time.Second)
	if fmt.Sprint(k.urged) != "[a.org]" {
		t.Fatalf("%v is urgent, want a.org, of which nothing came for long", k.urged)
	}
	for range 60 {
		k.serve("a.org", 10_000, 10*time.Millisecond)
	}
	k.wait(lookPause)
	if len(k.urged) != 0 {
		t.Errorf("%v is urgent, though it has caught up", k.urged)
	}
	for range 19 {
		k.serve("a.org", 10_000, 10*time.Millisecond)
	}
	k.hears("a.org kept.")
	if s := k.status("a.org"); s.Risk != NoRisk || s.Expected != 0 || s.Left != 0 || s.ETA != in(time.Duration(k.now)) {
		t.Errorf("%+v", s)
	}
}

// A new plan is asked for when something has changed: no sooner than a moment
// after the last, and now and then in any case.
func TestPlansAnew(t *testing.T) {
	for name, change := range map[string]func(k *keeper){
		"a limit": func(k *keeper) { k.step(Command{Limits: &Limits{Rate: 200_000}}) },
		"a timetable that is the same now": func(k *keeper) {
			k.step(Command{Limits: &Limits{Rate: 100_000, Timetable: timetable(k.t.(*testing.T), "08:00-18:00 10KB/s, 1MB/s")}})
		},
		"the clock": func(k *keeper) { k.step(Wall{Unix: monday.Unix + int64(k.now) - int64(time.Minute)}) },
		"pages":     func(k *keeper) { k.serve("a.org", 10_000, 0, pages("a.org", 100, 130)...) },
		"the speed": func(k *keeper) { k.serve("a.org", 10_000, 2*time.Second) },
		"a completion": func(k *keeper) {
			k.serve("b.org", 1000, 0)
			k.hears("b.org kept.")
		},
		"another demand": func(k *keeper) { k.step(Command{Demands: []Demand{{Host: "c.org", Deadline: in(time.Hour)}}}) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Hour)}, Demand{Host: "b.org", Deadline: in(time.Hour)})
			k.start()
			k.explore()
			k.wait(2 * planTimer)
			k.hears("a.org held.")
			k.wait(planTimer / 2)
			n := len(k.plans)
			k.wait(planTimer - time.Second)
			if len(k.plans) > n+1 {
				t.Fatalf("%d plans in %v in which nothing happened", len(k.plans)-n, planTimer)
			}
			n = len(k.plans)
			if change(k); len(k.plans) > n+1 {
				t.Fatalf("%d plans at once", len(k.plans)-n)
			}
			k.wait(planPause + lookPause)
			if len(k.plans) == n {
				t.Fatal("no plan for it")
			}
			last := k.plans[len(k.plans)-1]
			if n = len(k.plans); last.Version != uint32(n) {
				t.Errorf("plan %d is called %d", n, last.Version)
			}
			for rate := range int64(20) { // something changes all the time
				k.step(Command{Limits: &Limits{Rate: 50_000 + rate}})
				k.wait(100 * time.Millisecond)
			}
			if more := len(k.plans) - n; more < 2 || more > 3 {
				t.Errorf("%d plans in two seconds", more)
			}
		})
	}
}

// Deadlines can be given, changed and taken back while the crawl runs; nothing of
// that ends it.
func TestDemandsByCommand(t *testing.T) {
	k := newKeeper(t)
	k.start()
	k.serve("a.org", 10_000, 0, pages("a.org", 1, 100)...)
	tell := func(d ...Demand) { k.step(Command{Demands: d}) }
	tell(Demand{Host: "a.org", Deadline: in(time.Hour), Size: 1_000_000})
	if s := k.status("a.org"); s.Left != 99 || fmt.Sprint(k.urged) != "[a.org]" {
		t.Fatalf("%+v, %v is urgent: its pages were known before", s, k.urged)
	}
	for range exploration {
		k.serve("a.org", 10_000, 0)
	}
	k.wait(planPause)
	k.hears("a.org held.")
	tell(Demand{Host: "www.a.org", Deadline: in(2 * time.Hour)})
	k.wait(planPause)
	k.hears("www.a.org held.")
	if s := k.status("www.a.org"); s.Deadline != in(2*time.Hour) || s.Size != 1_000_000 || len(k.engine.Status().Promises) != 1 {
		t.Errorf("%+v", k.engine.Status().Promises)
	}
	tell(Demand{Host: "a.org", Deadline: in(time.Second) - 2e9})
	k.wait(planPause)
	k.hears("a.org missed.")
	if len(k.urged) > 0 {
		t.Errorf("%v is urgent, though it was never promised by then", k.urged)
	}
	tell(Demand{Host: "a.org"})
	if all := k.engine.Status().Promises; len(all) > 0 || len(k.urged) > 0 {
		t.Errorf("%+v and %v after it was taken back", all, k.urged)
	}
	tell(Demand{Host: "a.org"}, Demand{Host: "nobody.org"})
	k.wait(planPause)
	k.hears("")
	if s := k.engine.Status(); s.Stop != StopByNobody {
		t.Errorf("the crawl ends: %q", s.Stop)
	}
	if rows, err := readPromises(k.kv); err != nil || len(rows) > 0 {
		t.Errorf("%v %v", rows, err)
	}
}

// A plan that was asked for before the deadline changed says nothing about the
// new one.
func TestOldPlan(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Hour)})
	k.start()
	k.slow = true
	k.explore()
	old := k.plans[len(k.plans)-1]
	k.step(Command{Demands: []Demand{{Host: "a.org", Deadline: in(10 * time.Second)}}})
	k.answer(old)
	k.hears("")
	k.wait(planPause)
	k.answer(k.plans[len(k.plans)-1])
	k.hears("a.org refused.")
	k.answer(old)
	k.hears("")
}

// A promise that breaks is told once, with the reason; it counts as held again
// only when there is time to spare.
func TestBroken(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(2 * time.Minute)})
	k.start()
	k.explore()
	k.hears("a.org held.")
	limit := func(rate int64) {
		k.step(Command{Limits: &Limits{Rate: rate}})
		k.wait(2 * planPause)
	}
	limit(2000)
	if len(k.news) != 1 || k.news[0].Standing != Broken || !strings.Contains(k.news[0].Why, "the link brings") {
		t.Fatalf("%+v", k.news)
	}
	k.news = nil
	if s := k.status("a.org"); s.Risk != Lost || s.ETA <= s.Deadline {
		t.Errorf("%+v", s)
	}
	limit(1900)
	k.wait(planTimer)
	k.hears("")
	need := float64(k.status("a.org").Expected) / (float64(k.status("a.org").Deadline-in(time.Duration(k.now))) / 1e9) / linkShare
	limit(int64(1.04 * need))
	k.hears("")
	limit(int64(1.3 * need))
	k.hears("a.org held.")
}

// What is over is told at once, and only once.
func TestMissed(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Minute)}, Demand{Host: "nobody.org", Deadline: in(9 * time.Second)})
	k.start()
	k.explore()
	k.wait(2 * time.Minute)
	if len(k.news) < 2 || k.news[0].Why != "no page of it is known" || !strings.HasPrefix(k.news[len(k.news)-1].Why, "its deadline is over, and 79 pages are left: with its waits the site brings") {
		t.Fatalf("%+v", k.news)
	}
	k.hears("nobody.org refused. a.org held. nobody.org missed. a.org broken. a.org missed.")
	for range 79 {
		k.serve("a.org", 10_000, 0)
	}
	k.wait(time.Minute)
	k.hears("a.org missed.") // it is done, late
	if s := k.status("a.org"); s.Standing != Missed || !strings.HasPrefix(s.Why, "its last page came 1m3s after the deadline") || s.ETA != in(time.Duration(k.now)-time.Minute) || s.Risk != Lost {
		t.Errorf("%+v", s)
	}
}

// What is late goes before nobody whose promise can be kept.
func TestLateIsLessUrgent(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Minute)}, Demand{Host: "b.org", Deadline: in(time.Hour)})
	k.start()
	k.explore()
	k.wait(2 * time.Minute)
	if fmt.Sprint(k.urged) != "[b.org a.org]" {
		t.Errorf("%v are urgent", k.urged)
	}
}

// Pages that turn up after the last one are part of the promise for as long as
// its deadline is not over; what was kept then stays kept.
func TestMorePagesAfterKept(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Minute)})
	k.start()
	k.serve("a.org", 1000, 0)
	k.hears("a.org kept.")
	k.serve("b.org", 1000, time.Second, "http://a.org/more", "http://b.org/more", "http://b.org/yet")
	k.wait(lookPause)
	if s := k.status("a.org"); s.Standing != Wished || s.ETA != 0 || s.Left != 1 {
		t.Errorf("%+v", s)
	}
	k.serve("a.org", 1000, 0)
	k.hears("a.org kept.")
	k.wait(2 * time.Minute)
	k.serve("b.org", 1000, 0, "http://a.org/late")
	k.wait(time.Second)
	if s := k.status("a.org"); s.Standing != Kept || s.Left != 1 {
		t.Errorf("%+v", s)
	}
	k.hears("")
}

// A host that dies has not kept anything.
func TestDeadHostIsNotKept(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Hour)})
	k.start()
	k.explore()
	k.hears("a.org held.")
	for i := 0; len(k.news) == 0; i++ {
		if i > 1000 {
			t.Fatalf("%+v", k.status("a.org"))
		}
		at := slices.IndexFunc(k.flying, func(f Fetch) bool { return f.Host == "a.org" })
		if at < 0 {
			k.wait(time.Second)
			continue
		}
		f := k.flying[at]
		k.flying = slices.Delete(k.flying, at, at+1)
		k.answered(f, Done{Outcome: page.ConnectFailed}, nil)
	}
	if n := k.news[0]; n.Standing != Missed || !strings.Contains(n.Why, "79 of its 100 pages could not be had") {
		t.Errorf("%+v", n)
	}
	if len(k.urged) > 0 {
		t.Errorf("%v is urgent", k.urged)
	}
}

// Without a robots.txt nothing may be fetched: what was promised breaks, nothing
// is kept free for it, and the next run asks again.
func TestAsleepIsTold(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(100 * time.Hour)})
	k.cfg.Frontier.NoRobots = false
	k.start()
	for i := 0; len(k.news) == 0 && i < 1000; i++ {
		at := slices.IndexFunc(k.flying, func(f Fetch) bool { return f.Host == "a.org" })
		if at < 0 {
			k.wait(10 * time.Second)
			continue
		}
		f := k.flying[at]
		k.flying = slices.Delete(k.flying, at, at+1)
		k.answered(f, Done{Outcome: page.ServerError, Status: 503}, nil)
	}
	if k.wait(time.Second); len(k.news) != 1 || k.news[0].Standing != Refused || !strings.Contains(k.news[0].Why, "robots.txt") || len(k.urged) > 0 {
		t.Errorf("%+v, %v is urgent", k.news, k.urged)
	}
}

// A host that asks to be left alone until after the deadline breaks its promise
// at once, and is not looked after again and again.
func TestRestBeyondDeadline(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(20 * time.Minute)})
	k.start()
	k.explore()
	k.hears("a.org held.")
	at := slices.IndexFunc(k.flying, func(f Fetch) bool { return f.Host == "a.org" })
	f := k.flying[at]
	k.flying = slices.Delete(k.flying, at, at+1)
	k.answered(f, Done{Outcome: page.RateLimited, Status: 429, Asked: time.Hour}, nil)
	k.wait(time.Second)
	if len(k.news) != 1 || k.news[0].Standing != Broken || !strings.Contains(k.news[0].Why, "left alone for 59m") && !strings.Contains(k.news[0].Why, "left alone for 1h0m") {
		t.Fatalf("%+v", k.news)
	}
	k.wait(10 * time.Minute)
	k.hears("a.org broken.")
	if len(k.urged) > 0 {
		t.Errorf("%v is urgent", k.urged)
	}
	k.wait(20 * time.Minute)
	k.hears("a.org missed.")
}

// The last page may come with the end of the crawl: that is told too, and so is
// what never turned up.
func TestEndIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		host string
		want string
	}{"done": {"a.org", "kept"}, "never met": {"nobody.org", "refused"}} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(t, "http://a.org/")
			p.before = []Event{monday}
			p.cfg.Demands = []Demand{{Host: tc.host, Deadline: in(time.Hour)}}
			if reason := p.run(); reason != StopDone {
				t.Fatal(reason)
			}
			news := pull[News](p.orders)
			if len(news) != 1 || string(news[0].Standing) != tc.want {
				t.Errorf("%+v", news)
			}
			if _, last := p.orders[len(p.orders)-1].(Finish); !last {
				t.Errorf("%T after the end", p.orders[len(p.orders)-1])
			}
		})
	}
}

// After the end nothing is ordered any more: not for a plan that comes late, nor
// for a demand.
func TestPlanAfterTheEnd(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Hour)})
	k.slow = true
	k.start()
	k.explore()
	k.step(Command{Stop: StopByUser, Now: true})
	o := k.plans[len(k.plans)-1]
	for _, ev := range []Event{
		Planned{Version: o.Version, Reserved: plan.Reserve(o.Link, o.Promises)},
		Command{Demands: []Demand{{Host: "a.org"}, {Host: "b.org", Deadline: in(time.Hour)}}},
		Tick{},
	} {
		if orders := k.engine.Step(k.now.Add(time.Minute), ev); len(orders) > 0 {
			t.Errorf("%v after %T", orders, ev)
		}
	}
}

// again begins another run on what the first has made durable.
func (k *keeper) again(t *testing.T, after time.Duration, demands ...Demand) *keeper {
	n := newKeeper(t, demands...)
	n.kv, n.resume, n.cfg.Frontier = k.kv, true, k.cfg.Frontier
	st := n.open()
	n.step(Wall{Unix: in(time.Duration(k.now) + after)})
	n.step(st)
	return n
}

// A crawl that goes on knows what it has promised and learned, whatever ended
// the run before.
func TestPromisesSurvive(t *testing.T) {
	d := Demand{Host: "a.org", Deadline: in(time.Hour)}
	k := newKeeper(t, d)
	k.start()
	k.explore()
	k.step(Command{Demands: []Demand{{Host: "www.b.org", Deadline: in(2 * time.Hour), Size: 5000}, {Host: "c.org", Deadline: in(time.Hour)}}})
	k.step(Command{Demands: []Demand{{Host: "c.org"}}})
	k.step(Command{Stop: StopByUser, Now: true})
	k.flush()
	was := k.engine.promised("a.org")

	n := k.again(t, time.Minute, d)
	p := n.engine.promised("a.org")
	if p.Standing != Held || p.Aim != was.Aim || p.sample != was.sample || p.Ended != 21 {
		t.Errorf("%+v, want %+v", p, was)
	}
	if s := n.status("www.b.org"); s.Deadline != in(2*time.Hour) || s.Size != 5000 || len(n.engine.Status().Promises) != 2 {
		t.Errorf("%+v", n.engine.Status().Promises)
	}
	n.wait(planPause)
	n.hears("")
	if len(n.plans) == 0 || !n.plans[0].Promises[0].Held {
		t.Errorf("%+v: what was promised is a mere wish", n.plans)
	}

	n = k.again(t, time.Minute, Demand{Host: "a.org", Deadline: in(3 * time.Hour)}, Demand{Host: "b.org"})
	if p := n.engine.promised("a.org"); p.sample != was.sample {
		t.Errorf("%+v", p)
	}
	if n.engine.promised("b.org") != nil {
		t.Error("what was taken back came back")
	}
	n.wait(planPause)
	n.hears("a.org held.")
	if rows, err := readPromises(n.kv); err != nil || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// What was kept stays kept when the crawl goes on after the deadline.
func TestKeptSurvives(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Minute)})
	k.start()
	k.serve("a.org", 1000, 0)
	k.hears("a.org kept.")
	k.flush()
	n := k.again(t, time.Hour)
	n.wait(time.Minute)
	n.hears("")
	if s := n.status("a.org"); s.Standing != Kept || s.ETA != in(0) {
		t.Errorf("%+v", s)
	}
}

// A crawl without a limit keeps promises too. It wakes to look at them, and no
// more than it must.
func TestPromisesWithoutLimit(t *testing.T) {
	p := newPlay(t, "http://a.org/")
	p.cfg.Frontier.Wait = 10 * time.Second
	p.before = []Event{monday}
	p.cfg.Demands = []Demand{{Host: "a.org", Deadline: in(time.Hour)}, {Host: "b.org", Deadline: in(time.Minute)}}
	p.facts = func(f *page.Facts) {
		if f.URL.Path() == "/" {
			for _, u := range pages("a.org", 0, 60) {
				f.Links = append(f.Links, link(u))
			}
		}
	}
	p.answer = func(Fetch) Done { return Done{Outcome: page.OK, Bytes: 10_000, Elapsed: time.Second} }
	if p.run(); len(pull[Limit](p.orders)) > 0 {
		t.Error("a limit was ordered")
	}
	seconds := int(time.Duration(p.now).Seconds())
	if wakes := len(pull[Wake](p.orders)); seconds < 600 || wakes > 3*seconds {
		t.Errorf("it woke %d times in %d s", wakes, seconds)
	}
	if n := len(pull[Plan](p.orders)); n == 0 {
		t.Error("no plan")
	}
}

// Nothing a host does makes a promise large: no more than so many of its sites are
// looked after at a time. It is not kept before all are done.
func TestManyPorts(t *testing.T) {
	k := newKeeper(t, Demand{Host: "a.org", Deadline: in(time.Hour)})
	k.start()
	var links []string
	for port := range 3 * promiseSites {
		links = append(links, fmt.Sprintf("http://a.org:%d/", 1000+port))
	}
	k.serve("a.org", 1000, 0, links...)
	p := k.engine.promised("a.org")
	if k.wait(lookPause); len(p.sites) != promiseSites || len(p.hosts) != 1 {
		t.Fatalf("%d sites, %d hosts", len(p.sites), len(p.hosts))
	}
	for range 3*promiseSites - 1 {
		k.serve("a.org", 1000, 0)
	}
	k.hears("a.org held.")
	k.serve("a.org", 1000, 0)
	k.hears("a.org kept.")
}

// Rows that nobody can have written do no harm.
func TestDamagedPromises(t *testing.T) {
	good := `{"Host":"a.org","Deadline":5,"Standing":"wished"}`
	for name, row := range map[string]Keep{
		"no JSON":           {[]byte("pa.org"), []byte("{")},
		"another's":         {[]byte("pb.org"), []byte(good)},
		"no deadline":       {[]byte("pa.org"), []byte(`{"Host":"a.org","Standing":"wished"}`)},
		"an odd standing":   {[]byte("pa.org"), []byte(`{"Host":"a.org","Deadline":5,"Standing":"so so"}`)},
		"a huge deviation":  {[]byte("pa.org"), []byte(`{"Host":"a.org","Deadline":5,"Standing":"wished","Dev":1e17}`)},
		"a negative number": {[]byte("pa.org"), []byte(`{"Host":"a.org","Deadline":5,"Standing":"wished","Had":-4}`)},
		"kept, never done":  {[]byte("pa.org"), []byte(`{"Host":"a.org","Deadline":5,"Standing":"kept"}`)},
		"an aim too late":   {[]byte("pa.org"), []byte(`{"Host":"a.org","Deadline":5,"Standing":"wished","Aim":6}`)},
	} {
		e, err := NewEngine(EngineConfig{Order: "length"})
		if err != nil {
			t.Fatal(err)
		}
		if e.recallPromises([]Keep{row}); len(e.promises.all) > 0 {
			t.Errorf("%s: %+v", name, e.promises.all[0])
		}
	}
	e, _ := NewEngine(EngineConfig{Order: "length"})
	if e.recallPromises([]Keep{{[]byte("pa.org"), []byte(good)}}); len(e.promises.all) != 1 {
		t.Error("a good row was not taken")
	}
}

// FuzzPromiseRow: whatever is on disk, numbers stay such that they can be told,
// written and planned with.
func FuzzPromiseRow(f *testing.F) {
	f.Add([]byte(`{"Host":"a.org","Deadline":1794787200000000000,"Standing":"held","Had":30,"Body":1e5,"Wire":2e5,"Visit":3000,"Cycle":2,"Tries":31,"Xi":0.2,"Dev":0.1,"Fits":3}`))
	f.Add([]byte(`{"Host":"a.org","Deadline":9223372036854775807,"Standing":"wished","Size":9223372036854775807,"Pages":1,"Dev":24.9,"Xi":24,"Fits":1000000}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		e, err := NewEngine(EngineConfig{Order: "length", Open: 1})
		if err != nil {
			t.Fatal(err)
		}
		e.Step(1, monday)
		orders := e.Step(2, Start{Promises: []Keep{{Key: []byte("pa.org"), Value: value}}})
		for _, o := range orders {
			if _, err := json.Marshal(o); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range e.promises.all {
			p.left = 1 << 40
			p.work = p.remains(p.left, p.Demand, doubt, &e.promises.sample)
			if p.Done, p.stuck = 0, ""; p.Standing == Kept {
				p.Standing = Held
			}
			e.out = nil
			e.plan(3, monday.Unix)
			for _, o := range e.out {
				if o, ok := o.(Plan); ok {
					problem := plan.Problem{Link: o.Link, Sites: []plan.Site{o.Promises[0].Site}}
					if err := problem.Check(); err != nil {
						t.Fatal(err)
					}
					e.reserved(4, Planned{Version: o.Version, Reserved: plan.Reserve(o.Link, o.Promises)})
				}
			}
			e.urge(5, monday.Unix)
		}
		if _, err := json.Marshal(e.Status()); err != nil {
			t.Fatal(err)
		}
		for _, s := range e.Status().Promises {
			if s.ETA < 0 || s.ETA == 0 && s.Standing == Kept || s.Expected < 0 || s.Bytes < 0 || !(s.Xi >= 1 && s.Xi <= maxXi) || !(s.Rate >= 1) {
				t.Fatalf("%+v", s)
			}
		}
	})
}
