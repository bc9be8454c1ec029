package bandwidth

import (
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// took is a download of a server with this time to first byte and rate after it.
func took(bytes int64, first time.Duration, rate float64) Measure {
	body := time.Duration(float64(bytes) / rate * 1e9)
	return Measure{Bytes: bytes, First: first, Elapsed: first + body}
}

func overall(m Measure) float64 { return float64(m.Bytes) / m.Elapsed.Seconds() }

// within reports whether a is b up to a factor.
func within(a, b, factor float64) bool { return a <= b*factor && b <= a*factor }

// A few like downloads are enough to know a server.
func TestPredictorLearnsFast(t *testing.T) {
	p := NewPredictor(PredictorConfig{})
	m := took(40e3, 100*time.Millisecond, 20e3) // a twentieth of the prior
	for range 3 {
		p.Learn(monday.Add(9*time.Hour), alice, "example.com", m)
	}
	for _, at := range []time.Time{monday.Add(9 * time.Hour), monday.Add(21 * time.Hour), saturday} {
		if e := p.Rate(at, alice, "example.com"); !e.Known || !within(e.Rate, overall(m), 1.5) {
			t.Errorf("after three downloads at %.0f a second, at %s: %+v", overall(m), at.Format("Mon 15:04"), e)
		}
	}
}

// The hours of a server that is slow by day are told apart, once both were seen.
func TestPredictorHours(t *testing.T) {
	p := NewPredictor(PredictorConfig{})
	slow, fast := took(40e3, time.Second, 40e3), took(40e3, 100*time.Millisecond, 400e3)
	for day := range 5 {
		for range 20 {
			p.Learn(monday.AddDate(0, 0, day).Add(15*time.Hour), alice, "example.com", slow)
		}
		for range 20 {
			p.Learn(monday.AddDate(0, 0, day).Add(3*time.Hour), alice, "example.com", fast)
		}
	}
	if e := p.Rate(monday.Add(15*time.Hour), alice, "example.com"); !within(e.Rate, overall(slow), 1.3) {
		t.Errorf("by day %+v, want %.0f", e, overall(slow))
	}
	if e := p.Rate(monday.Add(3*time.Hour), alice, "example.com"); !within(e.Rate, overall(fast), 1.3) {
		t.Errorf("at night %+v, want %.0f", e, overall(fast))
	}
	// Holidays are like working days until one was seen.
	if e := p.Rate(saturday.Add(3*time.Hour), alice, "example.com"); !within(e.Rate, overall(fast), 1.3) {
		t.Errorf("on the first Saturday %+v, want %.0f", e, overall(fast))
	}
	for range 10 {
		p.Learn(saturday.Add(15*time.Hour), alice, "example.com", fast)
	}
	if e := p.Rate(saturday.Add(15*time.Hour), alice, "example.com"); !within(e.Rate, overall(fast), 1.3) {
		t.Errorf("on Saturday by day %+v, want %.0f", e, overall(fast))
	}
	if e := p.Rate(monday.Add(15*time.Hour), alice, "example.com"); !within(e.Rate, overall(slow), 1.3) {
		t.Errorf("by day after a Saturday %+v, want %.0f", e, overall(slow))
	}
}

// Without times to the first byte, sizes tell waiting from sending.
func TestPredictorSplits(t *testing.T) {
	p := NewPredictor(PredictorConfig{})
	const first, rate = 400 * time.Millisecond, 300e3
	for i := range 400 {
		m := took([]int64{2e3, 200e3}[i%2], first, rate)
		m.First = 0
		p.Learn(monday, alice, "example.com", m)
	}
	q := p.seen(alice).day[working][0]
	if t0, c := math.Exp(float64(q.first)), math.Exp(float64(q.rate)); !within(t0, first.Seconds(), 1.1) || !within(c, rate, 1.1) {
		t.Errorf("waiting %.3f s and then %.0f a second, want %v and %.0f", t0, c, first, rate)
	}
}

// A server never seen is like its network, else its domain, else like all.
func TestPredictorPrior(t *testing.T) {
	p := NewPredictor(PredictorConfig{Prior: 100e3})
	if e := p.Rate(monday, alice, "example.com"); !within(e.Rate, 100e3, 1.001) || e.Known || e.Sigma != noIdea {
		t.Errorf("knowing nothing: %+v, want the prior", e)
	}
	teach := func(network byte, domain string, rate float64) {
		for i := range 20 {
			p.Learn(monday, netip.AddrFrom4([4]byte{198, 18, network, byte(i)}), domain, took(30e3, time.Millisecond, rate))
		}
	}
	teach(1, "slow.example", 10e3)
	teach(2, "fast.example", 1e6)
	teach(3, "fast.example", 2e6)
	v6 := netip.MustParseAddr("2001:db8:1:2::3")
	p.Learn(monday, v6, "v6.example", took(30e3, time.Millisecond, 5e3))
	for _, c := range []struct {
		what, server, domain string
		low, high            float64
	}{
		{"its network", "198.18.1.200", "unheard.example", 8e3, 13e3},
		{"its network before its domain", "198.18.1.200", "fast.example", 8e3, 13e3},
		{"its domain", "203.0.113.9", "fast.example", 700e3, 2e6},
		{"its domain while the address is unknown", "", "slow.example", 8e3, 13e3},
		{"all", "203.0.113.9", "unheard.example", 13e3, 700e3},
		{"its /48", "2001:db8:1:ffff::9", "unheard.example", 0, 60e3},
		{"all, in the next /48", "2001:db8:2::9", "unheard.example", 60e3, 700e3},
	} {
		var server netip.Addr
		if c.server != "" {
			server = netip.MustParseAddr(c.server)
		}
		e := p.Rate(monday, server, c.domain)
		if e.Rate < c.low || e.Rate > c.high || e.Known || !(e.Sigma > 0) {
			t.Errorf("like %s: %+v, want %.0f to %.0f", c.what, e, c.low, c.high)
		}
	}
}

// The more alike downloads were, the surer the estimate.
func TestPredictorSigma(t *testing.T) {
	p := NewPredictor(PredictorConfig{})
	cold := p.Rate(monday, alice, "example.com").Sigma
	for i := range 60 {
		p.Learn(monday, alice, "steady.example", took(30e3, 50*time.Millisecond, 100e3))
		p.Learn(monday, netip.MustParseAddr("203.0.113.1"), "moody.example", took(30e3, 50*time.Millisecond, []float64{20e3, 1e6}[i%2]))
	}
	steady := p.Rate(monday, alice, "steady.example").Sigma
	moody := p.Rate(monday, netip.MustParseAddr("203.0.113.1"), "moody.example").Sigma
	if !(steady < 0.1 && steady < moody && moody < 2*cold) {
		t.Errorf("sigma of a steady server %.2f, of a moody one %.2f, of an unknown one %.2f", steady, moody, cold)
	}
}

// A download that our own limit slowed says nothing bad about its server.
func TestPredictorThrottled(t *testing.T) {
	p := NewPredictor(PredictorConfig{})
	fast := took(50e3, 50*time.Millisecond, 1e6)
	for range 5 {
		p.Learn(monday, alice, "example.com", fast)
	}
	before := p.Rate(monday, alice, "example.com")
	slow := took(50e3, 500*time.Millisecond, 10e3)
	slow.Throttled = true
	for range 50 {
		p.Learn(monday, alice, "example.com", slow)
	}
	if after := p.Rate(monday, alice, "example.com"); after.Rate < before.Rate*0.999 {
		t.Errorf("held down by us, the server fell from %.0f to %.0f", before.Rate, after.Rate)
	}
	faster := took(50e3, 20*time.Millisecond, 3e6)
	faster.Throttled = true
	for range 20 {
		p.Learn(monday, alice, "example.com", faster)
	}
	if after := p.Rate(monday, alice, "example.com"); !within(after.Rate, overall(faster), 1.2) {
		t.Errorf("faster even so, the server is at %.0f, want %.0f", after.Rate, overall(faster))
	}
	// First met while held down, it is not taken for slower than its kin.
	prior := p.Rate(monday, bob, "example.com")
	p.Learn(monday, bob, "example.com", slow)
	if e := p.Rate(monday, bob, "example.com"); e.Rate < prior.Rate*0.9 {
		t.Errorf("a new server held down by us is at %.0f, its kin at %.0f", e.Rate, prior.Rate)
	}
}

// However many servers come, memory stays bounded, and those in use are kept.
func TestPredictorForgets(t *testing.T) {
	for _, exact := range []bool{true, false} {
		p := NewPredictor(PredictorConfig{Exact: exact, Max: 8})
		for i := range 1000 {
			s := netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1})
			p.Learn(monday, s, fmt.Sprintf("d%d.example", i), measured(1000))
			p.Learn(monday, alice, "example.com", measured(1000))
		}
		if p.Len() != 8 || len(p.networks.items) > 8 || len(p.domains.items) > 8 || len(p.gone) > 8 || len(p.due) > 25 {
			t.Errorf("kept %d servers, %d networks, %d domains, %d deletions, %d rows due, with Max 8",
				p.Len(), len(p.networks.items), len(p.domains.items), len(p.gone), len(p.due))
		}
		if !p.Rate(monday, alice, "").Known {
			t.Error("a server in use was forgotten")
		}
		if first := netip.AddrFrom4([4]byte{10, 0, 0, 1}); p.Rate(monday, first, "").Known {
			t.Error("a server long unused was kept")
		}
	}
}

// The longest unused goes first, as with a plain list.
func TestRecent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 6).Draw(t, "max")
		var r recent[int, int]
		r.init(size)
		var model []int // last used first
		for range rapid.IntRange(0, 60).Draw(t, "uses") {
			k := rapid.IntRange(0, 9).Draw(t, "key")
			i, gone, forgot := r.use(k)
			if r.items[i].key != k {
				t.Fatalf("place of %d has %d", k, r.items[i].key)
			}
			kept := []int{k}
			for _, m := range model {
				if m != k {
					kept = append(kept, m)
				}
			}
			if len(kept) > size != forgot || forgot && gone != kept[size] {
				t.Fatalf("using %d of %v forgot %v: %v", k, model, gone, forgot)
			}
			model = kept[:min(len(kept), size)]
		}
		at := r.front
		for n, k := range model {
			if r.items[at].key != k || r.place[k] != at {
				t.Fatalf("number %d in order of use is %d, want %d", n, r.items[at].key, k)
			}
			at = r.items[at].next
		}
		if len(r.place) != len(model) || len(r.items) != len(model) {
			t.Fatalf("%d kept, want %d", len(r.items), len(model))
		}
	})
}

// Nothing that a clock or a server can do leads to an estimate that is no rate.
func TestPredictorWild(t *testing.T) {
	for _, exact := range []bool{true, false} {
		rapid.Check(t, func(t *rapid.T) {
			p := NewPredictor(PredictorConfig{Exact: exact})
			at := func() time.Time {
				zone := time.FixedZone("", rapid.IntRange(-50000, 50000).Draw(t, "zone"))
				return time.Unix(rapid.Int64Range(-1e11, 1e11).Draw(t, "time"), 0).In(zone)
			}
			for range rapid.IntRange(1, 30).Draw(t, "downloads") {
				p.Learn(at(), alice, "example.com", Measure{
					Bytes:     rapid.Int64().Draw(t, "bytes"),
					Elapsed:   time.Duration(rapid.Int64().Draw(t, "elapsed")),
					First:     time.Duration(rapid.Int64().Draw(t, "first")),
					Throttled: rapid.Bool().Draw(t, "throttled"),
				})
			}
			for _, s := range []netip.Addr{alice, bob, {}} {
				if e := p.Rate(at(), s, "example.com"); !sane(e) {
					t.Errorf("%v: %+v", s, e)
				}
			}
		})
	}
}

func TestLn(t *testing.T) {
	for x := 1e-12; x < 1e15; x *= 1.001 {
		if got, want := float64(ln(x)), math.Log(x); math.Abs(got-want) > 1e-7*max(1, math.Abs(want)) {
			t.Fatalf("ln %v = %v, want %v", x, got, want)
		}
	}
}

func sane(e Estimate) bool {
	return e.Rate > 0 && e.Rate < math.MaxFloat32 && e.Sigma > 0 && e.Sigma < 100
}

// A measure without bytes, time or server teaches nothing, not even that the
// server exists.
func TestPredictorNothing(t *testing.T) {
	p := NewPredictor(PredictorConfig{})
	p.Learn(monday, alice, "", Measure{Elapsed: time.Second})
	p.Learn(monday, alice, "", Measure{Bytes: 1})
	p.Learn(monday, alice, "", Measure{Bytes: -1, Elapsed: -1})
	p.Learn(monday, netip.Addr{}, "", measured(1000))
	if p.Len() != 0 || p.Dirty(10) != nil {
		t.Errorf("%d servers learnt", p.Len())
	}
}

func TestPredictorConfig(t *testing.T) {
	for _, c := range []PredictorConfig{
		{Gain: -0.1}, {Gain: 1.1}, {Gain: math.NaN()}, {Spread: -1}, {Spread: 25 * time.Hour},
		{Prior: -1}, {Prior: math.Inf(1)}, {Prior: math.NaN()}, {Prior: 0.5}, {Max: -1},
	} {
		if c.Check() == nil {
			t.Errorf("%+v is taken", c)
		}
		p := NewPredictor(c)
		p.Learn(monday, alice, "", measured(1000))
		if e := p.Rate(monday, alice, ""); !sane(e) {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	if err := (PredictorConfig{}).Check(); err != nil {
		t.Error(err)
	}
}

// Learning of a known server allocates nothing, nor does asking.
func TestPredictorAllocs(t *testing.T) {
	for _, exact := range []bool{true, false} {
		p := NewPredictor(PredictorConfig{Exact: exact})
		m := took(30e3, 100*time.Millisecond, 100e3)
		for range 32 {
			p.Learn(monday, alice, "example.com", m)
		}
		if n := testing.AllocsPerRun(100, func() {
			p.Learn(monday, alice, "example.com", m)
			p.Rate(monday, alice, "example.com")
			p.Rate(monday, bob, "example.com")
		}); n != 0 {
			t.Errorf("exact %v: %v allocations", exact, n)
		}
	}
}

// The same downloads give the same estimates and the same rows.
func TestPredictorSame(t *testing.T) {
	all := generate()
	for _, exact := range []bool{true, false} {
		one, two := NewPredictor(PredictorConfig{Exact: exact}), NewPredictor(PredictorConfig{Exact: exact})
		replay(one, all)
		replay(two, all)
		if a, b := fmt.Sprint(one.Unsaved()), fmt.Sprint(two.Unsaved()); a != b {
			t.Error("two runs differ")
		}
	}
}
