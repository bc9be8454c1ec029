package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// randomPromises makes some out of a random problem. Sizes that are likely, aims
// and what is held are drawn.
func randomPromises(r *rand.Rand, tight float64) (link []Step, all []Promise) {
	w := wild{sites: 1 + r.IntN(10), steps: 3, releases: r.IntN(4) == 0, caps: true, deadline: 0.9, tight: tight}
	p := w.random(r)
	for _, s := range p.Sites {
		pr := Promise{Site: s, Held: r.IntN(2) == 0}
		pr.Broken = pr.Held && r.IntN(4) == 0
		if r.IntN(2) == 0 {
			pr.Likely = s.Size * (0.3 + 0.7*r.Float64())
		}
		if r.IntN(2) == 0 {
			pr.Aim = s.Deadline * (0.3 + 0.7*r.Float64())
		}
		if r.IntN(8) == 0 {
			pr.Deadline = -1
		}
		all = append(all, pr)
	}
	return p.Link, all
}

// checkReservations fails unless what is reserved can be had from the link and the
// sites, and does what is said of it.
func checkReservations(t testing.TB, link []Step, all []Promise, got []Reservation) {
	t.Helper()
	q := &Problem{Link: link}
	pl := &Plan{}
	for i, p := range all {
		r := got[i]
		last := 0.0
		sum := 0.0
		for _, x := range r.Rates {
			sum += x.Rate * (x.To - x.From)
			last = x.To
		}
		if p.Size == 0 {
			if !r.Kept || len(r.Rates) > 0 {
				t.Fatalf("%s has nothing to come: %+v", p.Name, r)
			}
			continue
		}
		if r.Kept != (r.Why == "") && p.Deadline != 0 {
			t.Fatalf("%s: kept %v, and the reason is %q", p.Name, r.Kept, r.Why)
		}
		if len(r.Rates) == 0 {
			if r.Kept {
				t.Fatalf("%s is kept with nothing", p.Name)
			}
			continue
		}
		least := p.Size
		if p.Likely > 0 && p.Held {
			least = p.Likely
		}
		if sum < least*(1-strict) || sum > p.Size*(1+strict) {
			t.Fatalf("%s gets %g, of %g to %g", p.Name, sum, least, p.Size)
		}
		if r.Done != last || r.Kept != (last <= p.Deadline*(1+tiny)) && !p.Broken || r.Kept && last > p.Deadline*(1+tiny) {
			t.Fatalf("%s ends at %g, is said to end at %g, its deadline is %g and kept: %v", p.Name, last, r.Done, p.Deadline, r.Kept)
		}
		s := p.Site
		s.Size, s.Deadline, s.Cap, s.Manners = sum, last, p.Most(), Manners{}
		if math.IsInf(s.Cap, 1) {
			s.Cap = 0
		}
		q.Sites = append(q.Sites, s)
		pl.Courses = append(pl.Courses, Course{Start: r.Rates[0].From, Finish: last, Rates: r.Rates})
	}
	pl.tally(q)
	if err := Verify(q, pl); err != nil {
		t.Fatalf("%v\n%+v\n%+v", err, all, got)
	}
}

func TestReserveHolds(t *testing.T) {
	kept, not := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 8))
		link, all := randomPromises(r, 0.2+1.3*r.Float64())
		got := Reserve(link, all)
		checkReservations(t, link, all, got)
		for _, g := range got {
			if g.Kept {
				kept++
			} else {
				not++
			}
		}
	}
	if kept < 3000 || not < 3000 {
		t.Errorf("%d kept and %d not are too few of one kind to tell", kept, not)
	}
}

// Whatever fits as it stands is kept, with all caution.
func TestReserveKeepsWhatFits(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 9))
		link, all := randomPromises(r, 2)
		p := &Problem{Link: link}
		for i := range all {
			s := all[i].Site
			all[i].Held, all[i].Deadline = true, math.Abs(s.Deadline)
			if s.Deadline = all[i].Deadline; all[i].Aim > 0 {
				s.Deadline = min(all[i].Aim, s.Deadline)
			}
			p.Sites = append(p.Sites, s)
		}
		if Admit(p).Fails >= 0 {
			continue
		}
		for i, g := range Reserve(link, all) {
			if s := p.Sites[i]; s.Deadline != 0 && (!g.Kept || g.Done > s.Deadline*(1+tiny)) {
				t.Fatalf("seed %d: %s could be done by %g: %+v", seed, s.Name, s.Deadline, g)
			}
		}
	}
}

// Nobody's wish harms what is held.
func TestReserveWishesHarmNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 10))
		link, all := randomPromises(r, 0.2+1.3*r.Float64())
		before := Reserve(link, all)
		wish := all[r.IntN(len(all))]
		wish.Name, wish.Held, wish.Deadline = "wish", false, wish.Deadline*r.Float64()*3
		after := Reserve(link, append(all, wish))
		for i, p := range all {
			if p.Held && before[i].Kept != after[i].Kept {
				t.Fatalf("%s was %+v, and is %+v beside a wish", p.Name, before[i], after[i])
			}
		}
	})
}

// A promise that cannot be kept takes no other with it, nor its caution.
func TestReserveBreaksAlone(t *testing.T) {
	link := []Step{{0, 10}}
	all := []Promise{
		{Site: Site{Name: "careful", Size: 100, Deadline: 100}, Aim: 60, Likely: 50, Held: true},
		{Site: Site{Name: "hopeless", Size: 2000, Deadline: 50}, Held: true},
		{Site: Site{Name: "later", Size: 500, Deadline: 100}, Held: true},
		{Site: Site{Name: "late", Size: 100, Deadline: -1}, Held: true},
		{Site: Site{Name: "wish", Size: 250, Deadline: 100}},
		{Site: Site{Name: "small wish", Size: 100, Deadline: 400}},
	}
	got := Reserve(link, all)
	checkReservations(t, link, all, got)
	for i, want := range []bool{true, false, true, false, false, true} {
		if got[i].Kept != want {
			t.Errorf("%s is kept: %v; %+v", all[i].Name, got[i].Kept, got[i])
		}
	}
	if got[0].Done > 60 || math.Abs(got[2].Done-100) > 1e-9 {
		t.Errorf("%+v and %+v: they could be done as planned", got[0], got[2])
	}
	// 700 bytes of others come by 100, and then 2000 at 10 a second.
	if d := got[1].Done; d < 270 || d > 275 {
		t.Errorf("hopeless is done at %g", d)
	}
	if d := got[3].Done; d < 10 || d > 10.2 {
		t.Errorf("late is done at %g: others have time", d)
	}
	for i, want := range map[int]string{1: "the link brings 500 B of its 2.0 KB until then", 3: "its deadline is over", 4: "beside the promises that are held the link brings"} {
		if !strings.Contains(got[i].Why, want) {
			t.Errorf("%s: %q, want %q", all[i].Name, got[i].Why, want)
		}
	}
}

// As many promises as can be are kept: one that has outgrown the others makes way
// for them, also when it is due before. What was broken before breaks nothing that
// is held.
func TestReserveBreaksTheLargest(t *testing.T) {
	link := []Step{{0, 10}}
	all := []Promise{
		{Site: Site{Name: "grown", Size: 950, Deadline: 100}, Held: true},
		{Site: Site{Name: "small", Size: 300, Deadline: 101}, Held: true},
		{Site: Site{Name: "other", Size: 300, Deadline: 102}, Held: true},
		{Site: Site{Name: "broken", Size: 500, Deadline: 90}, Held: true, Broken: true},
		{Site: Site{Name: "broken, and small", Size: 100, Deadline: 95}, Held: true, Broken: true},
	}
	got := Reserve(link, all)
	checkReservations(t, link, all, got)
	for i, want := range []bool{false, true, true, false, true} {
		if got[i].Kept != want {
			t.Errorf("%s is kept: %v; %+v", all[i].Name, got[i].Kept, got[i])
		}
	}
	// Its own speed is nobody else's fault.
	all = []Promise{{Site: Site{Name: "large", Size: 900, Deadline: 100}, Held: true}, {Site: Site{Name: "slow", Size: 90, Deadline: 101, Cap: 0.5}, Held: true}}
	if got := Reserve(link, all); !got[0].Kept || got[1].Kept {
		t.Errorf("%+v", got)
	}
}

// Caution is given up before promises: that of aims before that of sizes.
func TestReserveGivesUpCaution(t *testing.T) {
	one := func(size, likely, aim, due float64) Promise {
		return Promise{Site: Site{Name: fmt.Sprint(size, due), Size: size, Deadline: due}, Likely: likely, Aim: aim, Held: true}
	}
	bytes := func(r Reservation) (sum float64) {
		for _, x := range r.Rates {
			sum += x.Rate * (x.To - x.From)
		}
		return math.Round(sum)
	}
	for name, tc := range map[string]struct {
		all   []Promise
		done  []float64
		bytes []float64
	}{
		"all of it stays": {[]Promise{one(200, 100, 40, 100), one(200, 100, 60, 100)}, []float64{40, 60}, []float64{200, 200}},
		"one aim":         {[]Promise{one(300, 100, 40, 100), one(300, 100, 40, 100)}, []float64{40, 70}, []float64{300, 300}},
		"both aims":       {[]Promise{one(500, 100, 40, 100), one(500, 100, 40, 100)}, []float64{70, 100}, []float64{500, 500}},
		"a size":          {[]Promise{one(600, 500, 40, 100), one(500, 400, 40, 100)}, []float64{100, 100}, []float64{600, 400}},
		"both sizes":      {[]Promise{one(900, 500, 40, 100), one(900, 500, 40, 100)}, []float64{100, 100}, []float64{500, 500}},
	} {
		got := Reserve([]Step{{0, 10}}, tc.all)
		checkReservations(t, []Step{{0, 10}}, tc.all, got)
		for i, g := range got {
			if !g.Kept || math.Abs(g.Done-tc.done[i]) > 1e-6 || bytes(g) != tc.bytes[i] {
				t.Errorf("%s: promise %d gets %g bytes by %g (%v), want %g by %g", name, i, bytes(g), g.Done, g.Kept, tc.bytes[i], tc.done[i])
			}
		}
	}
}

// What is likely never makes sense: Reserve takes all numbers, and returns such
// as can be written down and read again.
func TestReserveTakesAllNumbers(t *testing.T) {
	odd := rapid.SampledFrom([]float64{
		0, -1, 1, 10, 1e3, 1e6, 1e-9, 1e-300, 1e300, 1e18, 1e12, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0.1, 3600, -1e300,
	})
	number := rapid.OneOf(odd, rapid.Float64())
	rapid.Check(t, func(t *rapid.T) {
		var link []Step
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			link = append(link, Step{number.Draw(t, "from"), number.Draw(t, "rate")})
		}
		var all []Promise
		for i := range rapid.IntRange(0, 6).Draw(t, "promises") {
			p := Promise{Held: rapid.Bool().Draw(t, "held"), Likely: number.Draw(t, "likely"), Aim: number.Draw(t, "aim"), Waits: true}
			p.Site = Site{Name: fmt.Sprint(i), Size: number.Draw(t, "size"), Deadline: number.Draw(t, "deadline"), Cap: number.Draw(t, "cap")}
			if rapid.Bool().Draw(t, "more") {
				p.NotBefore = number.Draw(t, "not before")
				p.Manners = Manners{Pages: rapid.Int().Draw(t, "pages"), Wait: number.Draw(t, "wait"), Delay: number.Draw(t, "delay"), PageTime: number.Draw(t, "time")}
			}
			all = append(all, p)
		}
		got := Reserve(link, all)
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var back []Reservation
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(got, back) {
			t.Fatalf("%v: %+v came back as %+v", err, got, back)
		}
		for _, g := range got {
			for _, x := range g.Rates {
				if !(x.From >= 0 && x.To > x.From && x.Rate > 0) || math.IsInf(x.Rate*(x.To-x.From), 0) {
					t.Fatalf("%+v", g)
				}
			}
		}
	})
}

// crowdOf makes many promises over a link that would carry them all in time if
// it were so many times as fast.
func crowdOf(n int, short float64) (link []Step, all []Promise) {
	r := rand.New(rand.NewPCG(uint64(n), 11))
	total := 0.0
	for i := range n {
		s := Site{Name: fmt.Sprint(i), Size: 1e6 * math.Exp(r.NormFloat64())}
		total += s.Size
		s.Deadline = 60 + 36000*r.Float64()
		s.Cap = 3 * s.Size / s.Deadline
		all = append(all, Promise{Site: s, Likely: s.Size / 2, Aim: 0.6 * s.Deadline, Held: true})
	}
	sum := 0.0
	rate := 0.0
	for _, i := range (&reserving{all: all}).order() {
		sum += all[i].Size
		rate = max(rate, sum/all[i].Deadline)
	}
	for h := range 24 {
		link = append(link, Step{3600 * float64(h), rate / short * (1 + 0.2*r.Float64())})
	}
	return link, all
}

func BenchmarkReserve600(b *testing.B) {
	for _, c := range []struct {
		name  string
		short float64
		set   func(p *Promise)
	}{
		{"held", 0.4, func(*Promise) {}},
		{"tight", 1.02, func(*Promise) {}},
		{"broken", 5, func(*Promise) {}},
		{"late", 1, func(p *Promise) { p.Deadline = -1 }},
		{"wishes", 0.5, func(p *Promise) { p.Held = false }},
		{"refused", 8, func(p *Promise) { p.Held = false }},
	} {
		link, all := crowdOf(600, c.short)
		for i := range all {
			c.set(&all[i])
		}
		b.Run(c.name, func(b *testing.B) {
			kept := 0
			for b.Loop() {
				kept = 0
				for _, r := range Reserve(link, all) {
					if r.Kept {
						kept++
					}
				}
			}
			b.ReportMetric(float64(kept), "kept")
		})
	}
}
