package crawl

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/page"
	"weir/plan"
)

// wishes are what the user of a simulated crawl wants by when, and what he is
// told of it.
type wishes struct {
	s     *sim
	rng   *rand.Rand
	want  map[string]int64 // deadlines by bare name; 0 = taken back
	told  map[string]tale
	news  map[Standing]int
	plans int
}

// tale is what was told last of a demand.
type tale struct {
	deadline int64
	standing Standing
}

// wish lets the user of the simulated crawl want things: of hosts that are there,
// with and without www, dead or alive, and of others.
func (s *sim) wish() {
	s.wishes = &wishes{s: s, rng: rand.New(rand.NewPCG(s.seed, 3)), want: map[string]int64{}, news: map[Standing]int{}}
	for range 1 + s.wishes.rng.IntN(4) {
		d := s.wishes.demand()
		d.Deadline = max(d.Deadline, 1)
		s.cfg.Demands = append(s.cfg.Demands, d)
	}
}

func (w *wishes) demand() Demand {
	r := w.rng
	host := w.s.w.sites[r.IntN(len(w.s.w.sites))].host.name
	switch r.IntN(6) {
	case 0:
		host = "www." + host
	case 1:
		host = "nobody.example.org"
	}
	d := Demand{Host: host, Size: int64(pick(r, 0, 1000, 5000)), Pages: int64(pick(r, 0, 10, 100))}
	after := pick(r, -time.Hour, 3*time.Second, 20*time.Second, 2*time.Minute, time.Hour, 100*time.Hour, 100_000*time.Hour)
	if d.Deadline = w.s.wall() + int64(after); r.IntN(8) == 0 {
		d.Deadline = 0
	}
	return d
}

// begin comes with every run: what is durable is what was told, and what is
// wanted, unless the run is begun with something else.
func (w *wishes) begin() {
	if w == nil {
		return
	}
	old := w.want
	w.told, w.want = map[string]tale{}, map[string]int64{}
	rows, err := readPromises(w.s.kv)
	w.s.must(err)
	for _, r := range rows {
		var row promiseRow
		w.s.must(json.Unmarshal(r.Value, &row))
		if !row.sane() {
			w.s.fatalf("the row %s is not sane", r.Value)
		}
		if _, wanted := old[bare(row.Host)]; !wanted {
			w.s.fatalf("nobody ever wanted %s", r.Value)
		}
		w.told[bare(row.Host)] = tale{row.Deadline, row.Standing}
		w.want[bare(row.Host)] = row.Deadline
	}
	for _, d := range w.s.cfg.Demands {
		w.want[bare(d.Host)] = d.Deadline
	}
	for range w.rng.IntN(4) {
		w.s.after(time.Duration(w.rng.Int64N(int64(20*time.Second))), func() {
			if w.s.finished != "" {
				return
			}
			d := w.demand()
			w.want[bare(d.Host)] = d.Deadline
			w.s.step(Command{Demands: []Demand{d}})
		})
	}
}

// plan answers after a while. What crosses the wire into a trace comes back as
// it was.
func (w *wishes) plan(o Plan) {
	w.plans++
	link := plan.Problem{Link: o.Link}
	for _, p := range o.Promises {
		link.Sites = append(link.Sites, p.Site)
	}
	w.s.must(link.Check())
	ev := Planned{Version: o.Version, Reserved: plan.Reserve(o.Link, o.Promises)}
	b, err := json.Marshal(ev)
	w.s.must(err)
	var back Planned
	w.s.must(json.Unmarshal(b, &back))
	if !reflect.DeepEqual(ev, back) {
		w.s.fatalf("%s came back as %+v", b, back)
	}
	w.s.after(time.Duration(w.rng.IntN(3000))*time.Millisecond, func() { w.s.step(ev) })
}

// hear holds that what the user is told makes sense.
func (w *wishes) hear(o News) {
	s, host := w.s, bare(o.Host)
	was := w.told[host]
	if was.deadline != o.Deadline {
		was = tale{deadline: o.Deadline, standing: Wished}
	}
	w.news[o.Standing]++
	w.told[host] = tale{o.Deadline, o.Standing}
	over := s.wall() > o.Deadline
	before, why := []Standing(nil), true
	switch o.Standing {
	case Held:
		before, why = []Standing{Wished, Refused, Broken, Kept}, false
	case Refused:
		before = []Standing{Wished, Kept}
	case Broken:
		before = []Standing{Held, Kept}
	case Kept:
		before, why = []Standing{Wished, Held, Refused, Broken, Kept}, false
		if over {
			s.fatalf("%s is kept after its deadline", o.Host)
		}
	case Missed:
		before = []Standing{Wished, Held, Refused, Broken, Kept}
		if strings.Contains(o.Why, "its last page came") {
			before = append(before, Missed) // it is told that it is done, late
		}
		if !over && !strings.Contains(o.Why, "could") {
			s.fatalf("%s is missed before its deadline: %s", o.Host, o.Why)
		}
	}
	switch {
	case w.want[host] != o.Deadline:
		s.fatalf("%+v, though %d is wanted", o, w.want[host])
	case !slices.Contains(before, was.standing):
		s.fatalf("%s is %q after it was %q", o.Host, o.Standing, was.standing)
	case why != (o.Why != ""):
		s.fatalf("%s is %s, and the reason is %q", o.Host, o.Standing, o.Why)
	}
	if o.Standing == Kept && s.queued(host) > 0 {
		s.fatalf("%s is kept, and %d of its pages are queued", o.Host, s.queued(host))
	}
}

// queued counts the durable entries of a host, with and without www.
func (s *sim) queued(host string) (n int64) {
	v, err := NewView(s.kv)
	s.must(err)
	s.must(v.Sites(func(i *SiteInfo) bool {
		if bare(page.SiteHost(i.Name)) == host {
			n += i.Queued
		}
		return true
	}))
	return n
}

// end holds that nobody is left waiting for an answer.
func (w *wishes) end() {
	if w == nil {
		return
	}
	all := w.s.engine.Status().Promises
	for _, p := range all {
		if p.Standing == Wished || p.Standing == Held {
			w.s.fatalf("the crawl is done, and %s is %q: %+v", p.Host, p.Standing, p)
		}
	}
	rows, err := readPromises(w.s.kv)
	w.s.must(err)
	if len(rows) != len(all) {
		w.s.fatalf("%d rows of %d promises", len(rows), len(all))
	}
}

// TestWishesAreAnswered runs the simulation with deadlines: whatever is wanted,
// promised and taken back, and wherever the crawl is cut, hosts are treated as
// ever, no page is lost, and what the user hears makes sense.
func TestWishesAreAnswered(t *testing.T) {
	first, n := uint64(1), uint64(80)
	if *simSeed > 0 {
		first, n = *simSeed, 1
	}
	news, plans := map[Standing]int{}, 0
	for seed := first; seed < first+n; seed++ {
		s := newSim(t, seed)
		s.wish()
		s.crawl(s.rng.IntN(6))
		s.check()
		s.wishes.end()
		for _, st := range []Standing{Held, Refused, Broken, Kept, Missed} {
			news[st] += s.wishes.news[st]
		}
		plans += s.wishes.plans
	}
	t.Logf("%d plans, news %v", plans, news)
	for _, st := range []Standing{Held, Refused, Kept, Missed} {
		if n > 1 && news[st] == 0 {
			t.Errorf("nothing was ever %s", st)
		}
	}
}
