package bandwidth

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// These tests hold what Diligenti, Maggini, Pucci and Scarselli (2004) say of
// the prediction; each cites its section. They run the exact form.

var (
	monday   = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	saturday = time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC)
	alice    = netip.MustParseAddr("192.0.2.1")
	bob      = netip.MustParseAddr("192.0.2.2")
)

// measured is a download at rate bytes a second.
func measured(rate float64) Measure {
	return Measure{Bytes: int64(rate * 10), Elapsed: 10 * time.Second}
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-5*math.Abs(want) }

// hours returns the estimates for all hours of a day.
func hours(p *Predictor, day time.Time, server netip.Addr) (b [24]float64) {
	for h := range b {
		b[h] = p.Rate(day.Add(time.Duration(h)*time.Hour), server, "").Rate
	}
	return b
}

// Section 2: "The transfer rate is measured dividing total number of transferred
// bytes by the time interval from the issue of the HTTP request till the
// completion of the document download."
func TestPaperMeasure(t *testing.T) {
	p := NewPredictor(PredictorConfig{Exact: true})
	p.Learn(monday, alice, "", Measure{Bytes: 30000, First: 2 * time.Second, Elapsed: 3 * time.Second})
	if e := p.Rate(monday, alice, ""); e.Rate != 10000 || !e.Known {
		t.Errorf("30 kB in 3 s, two of them before the first byte: %+v, want 10000", e)
	}
}

// Section 2: "B(IP,h,w) = (1 - alpha(t-60h)) B(IP,h,w) + alpha(t-60h) M(IP)" for
// each hour h, with t in minutes of the day, alpha(y) = k e^(-y²/sigma²) (the
// print lacks the minus sign) and y the short way round midnight.
func TestPaperUpdate(t *testing.T) {
	const k, sigma = 0.2, 90.0
	for _, minute := range []int{0, 1, 59, 60, 500, 719, 720, 721, 1380, 1439} {
		p := NewPredictor(PredictorConfig{Exact: true, Gain: k, Spread: sigma * time.Minute})
		p.Learn(monday, alice, "", measured(1000)) // the first fills the table
		p.Learn(monday.Add(time.Duration(minute)*time.Minute), alice, "", measured(5000))
		for h, got := range hours(p, monday, alice) {
			y := math.Mod(float64(minute-60*h)+720+1440, 1440) - 720
			a := k * math.Exp(-y*y/(sigma*sigma))
			if want := (1-a)*1000 + a*5000; !near(got, want) {
				t.Errorf("after a download at minute %d, B at hour %d is %.3f, want %.3f", minute, h, got, want)
			}
		}
	}
}

// Section 2: the measure "affects the estimates [...] according to a Gaussian
// function": k at the hour itself, less the farther away, k/e at sigma.
func TestPaperGaussian(t *testing.T) {
	if got := gaussian(0.3, 0, 120); got != 0.3 {
		t.Errorf("alpha(0) = %v, want k", got)
	}
	if got := gaussian(0.3, 120, 120); !near(got, 0.3/math.E) {
		t.Errorf("alpha(sigma) = %v, want k/e", got)
	}
	for y := 1.0; y <= 720; y++ {
		if gaussian(0.3, y, 120) >= gaussian(0.3, y-1, 120) {
			t.Fatalf("alpha(%v) is not below alpha(%v)", y, y-1)
		}
	}
}

// Section 2: "for each hour h = 0..23 both for working days (w = 1) and holidays
// (w = 0). This yields a total of 48 values for each server", "w is chosen
// accordingly with the current date."
func TestPaperTable(t *testing.T) {
	list, err := ParseHolidays("2026-03-04")
	if err != nil {
		t.Fatal(err)
	}
	wednesday := monday.AddDate(0, 0, 2)
	for _, day := range []time.Time{saturday, saturday.AddDate(0, 0, 1), wednesday} {
		p := NewPredictor(PredictorConfig{Exact: true, Holidays: list})
		p.Learn(monday, alice, "", measured(1000))
		before := hours(p, monday, alice)
		p.Learn(day.Add(9*time.Hour), alice, "", measured(9000))
		if after := hours(p, monday, alice); after != before {
			t.Errorf("a download on %s changed working days", day.Weekday())
		}
		if got := p.Rate(saturday.Add(9*time.Hour), alice, "").Rate; !near(got, 0.7*1000+0.3*9000) {
			t.Errorf("a download on %s: holidays at nine are %.0f", day.Weekday(), got)
		}
	}
}

// Section 2: "a lookup table indexed by the server IP address".
func TestPaperServers(t *testing.T) {
	p := NewPredictor(PredictorConfig{Exact: true, Prior: 777})
	p.Learn(monday, alice, "example.com", measured(1000))
	if e := p.Rate(monday, alice, "example.net"); e.Rate != 1000 {
		t.Errorf("another name at the same address: %+v", e)
	}
	if e := p.Rate(monday, bob, "example.com"); e.Rate != 777 || e.Known {
		t.Errorf("another address of the same name: %+v, want the prior", e)
	}
	if e := p.Rate(monday, netip.MustParseAddr("::ffff:192.0.2.1"), ""); e.Rate != 1000 {
		t.Errorf("the same address written as v6: %+v", e)
	}
}

// Section 3: "The parameters used to update the estimates were k = 0.3 and
// sigma = 120."
func TestPaperParameters(t *testing.T) {
	p := NewPredictor(PredictorConfig{Exact: true})
	p.Learn(monday, alice, "", measured(1000))
	p.Learn(monday.Add(10*time.Hour), alice, "", measured(2000))
	b := hours(p, monday, alice)
	if !near(b[10], 1300) || !near(b[12], 1000+300/math.E) || !near(b[8], b[12]) {
		t.Errorf("at ten %.1f, at noon %.1f, at eight %.1f", b[10], b[12], b[8])
	}
}

// Whatever is measured, no estimate lies outside of what was measured.
func TestPaperBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPredictor(PredictorConfig{Exact: true, Gain: rapid.Float64Range(0.01, 1).Draw(t, "k")})
		low, high := math.Inf(1), 0.0
		for range rapid.IntRange(1, 40).Draw(t, "downloads") {
			m := Measure{
				Bytes:   rapid.Int64Range(1, 1e9).Draw(t, "bytes"),
				Elapsed: time.Duration(rapid.Int64Range(1e3, 1e12).Draw(t, "elapsed")),
			}
			rate, _ := m.rate()
			low, high = min(low, rate), max(high, rate)
			p.Learn(anyTime(t), alice, "", m)
		}
		if e := p.Rate(anyTime(t), alice, ""); e.Rate < low*(1-1e-5) || e.Rate > high*(1+1e-5) {
			t.Errorf("estimate %v, measured from %v to %v", e.Rate, low, high)
		}
	})
}

func anyTime(t *rapid.T) time.Time {
	return monday.Add(time.Duration(rapid.IntRange(0, 14*24*60-1).Draw(t, "minute")) * time.Minute)
}

// A download as long before an hour as another is after it weighs the same for
// it, also across midnight.
func TestPaperMidnight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.IntRange(0, 23).Draw(t, "hour")
		away := rapid.IntRange(0, 720).Draw(t, "minutes away")
		var got [2]float64
		for i, sign := range []int{-1, 1} {
			p := NewPredictor(PredictorConfig{Exact: true})
			p.Learn(monday, alice, "", measured(1000))
			minute := (60*h + sign*away + fullDay) % fullDay
			p.Learn(monday.Add(time.Duration(minute)*time.Minute), alice, "", measured(8000))
			got[i] = hours(p, monday, alice)[h]
		}
		if got[0] != got[1] {
			t.Errorf("%d minutes before hour %d: %v; after it: %v", away, h, got[0], got[1])
		}
	})
}

// What is learnt of one server says nothing about another, in whatever order.
func TestPaperIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		together, apart := NewPredictor(PredictorConfig{Exact: true}), NewPredictor(PredictorConfig{Exact: true})
		var last []func()
		for range rapid.IntRange(1, 30).Draw(t, "downloads") {
			at, m := anyTime(t), measured(rapid.Float64Range(1, 1e6).Draw(t, "rate"))
			if rapid.Bool().Draw(t, "alice") {
				together.Learn(at, alice, "", m)
				apart.Learn(at, alice, "", m)
			} else {
				together.Learn(at, bob, "", m)
				last = append(last, func() { apart.Learn(at, bob, "", m) })
			}
		}
		for _, learn := range last {
			learn()
		}
		at := anyTime(t)
		for _, s := range []netip.Addr{alice, bob} {
			if a, b := together.Rate(at, s, ""), apart.Rate(at, s, ""); a != b {
				t.Errorf("server %v: %+v mixed, %+v one after the other", s, a, b)
			}
		}
	})
}
