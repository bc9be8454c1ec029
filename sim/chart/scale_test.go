package chart

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		name   string
		axis   Axis
		lo, hi float64
		want   []string
	}{
		{"thousands", Axis{}, 0, 350e3, []string{"0", "100k", "200k", "300k", "400k"}},
		{"millions", Axis{}, 0, 3.5e6, []string{"0", "1M", "2M", "3M", "4M"}},
		{"fractions", Axis{}, 0.1, 1.9, []string{"0", "0.5", "1.0", "1.5", "2.0"}},
		{"far from zero", Axis{}, 1000, 1004, []string{"1.000k", "1.001k", "1.002k", "1.003k", "1.004k"}},
		{"below zero", Axis{}, -2, 2, []string{"−2", "−1", "0", "1", "2"}},
		{"percent", Axis{Unit: Percent, From: 0, To: 1}, 0.3, 0.4, []string{"0%", "50%", "100%"}},
		{"days", Axis{Unit: Seconds}, 0, 8.7 * 86400, []string{"0 d", "5 d", "10 d"}},
		{"minutes", Axis{Unit: Seconds}, 0, 600, []string{"0 min", "5 min", "10 min"}},
		{"bytes", Axis{Unit: Bytes}, 0, 4e9, []string{"0 GB", "1 GB", "2 GB", "3 GB", "4 GB"}},
		{"rates", Axis{Unit: Speed}, 0, 200e3, []string{"0 KB/s", "50 KB/s", "100 KB/s", "150 KB/s", "200 KB/s"}},
		{"decades", Axis{Log: true}, 1, 1e5, []string{"1", "", "100", "", "10k", ""}},
		{"a decade", Axis{Log: true}, 3, 40, []string{"2", "5", "10", "20", "50"}},
	} {
		s := newScale(c.axis, c.lo, c.hi, 4, false)
		var got []string
		for _, tick := range s.ticks {
			got = append(got, tick.label)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
				break
			}
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{Number, 0, "0"},
		{Number, 7, "7"},
		{Number, 12345, "12.3k"},
		{Number, 999.9, "1k"},
		{Number, 999499, "999k"},
		{Number, 0.0123456, "0.0123"},
		{Number, -2.5, "−2.5"},
		{Number, 3.5e6, "3.5M"},
		{Percent, 0.456, "45.6%"},
		{Percent, 1, "100%"},
		{Seconds, 30, "30 s"},
		{Seconds, 0.8, "0.8 s"},
		{Seconds, 407000, "4.71 d"},
		{Bytes, 20e3, "20 KB"},
		{Speed, 1.5e6, "1.5 MB/s"},
		{Number, math.NaN(), "–"},
		{Seconds, math.Inf(1), "–"},
	} {
		if got := c.unit.Format(c.v); got != c.want {
			t.Errorf("%v is written %q, want %q", c.v, got, c.want)
		}
	}
}

// Every axis holds its data, and its ticks rise and do not crowd.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Axis{Log: rapid.Bool().Draw(t, "log"), Unit: rapid.SampledFrom([]Unit{Number, Percent, Seconds, Bytes, Speed}).Draw(t, "unit")}
		size := rapid.Float64Range(-12, 15)
		lo := math.Pow(10, size.Draw(t, "lo"))
		hi := lo + math.Pow(10, size.Draw(t, "more"))
		if !a.Log && rapid.Bool().Draw(t, "negative") {
			lo, hi = -hi, -lo
		}
		n := rapid.IntRange(2, 12).Draw(t, "n")
		s := newScale(a, lo, hi, n, rapid.Bool().Draw(t, "tight"))
		for _, v := range []float64{lo, hi} {
			if at := s.pos(v); at < -1e-6 || at > 1+1e-6 {
				t.Fatalf("%v lies at %v of %v to %v", v, at, s.from, s.to)
			}
		}
		if len(s.ticks) > 3*n+10 || len(s.ticks) > 40 {
			t.Fatalf("%d ticks", len(s.ticks))
		}
		for i, tick := range s.ticks {
			if at := s.pos(tick.at); at < -1e-6 || at > 1+1e-6 {
				t.Fatalf("tick %v is outside", tick)
			}
			if i > 0 && tick.at <= s.ticks[i-1].at {
				t.Fatalf("tick %v does not rise", tick)
			}
		}
	})
}

// Cells that are numbers stand at the right.
func TestNumeric(t *testing.T) {
	for _, c := range []string{"1", "-0.5", "−3", "1e-3", "≤ 30", "40%", "1.5 MB/s", "12,345", "3.2 d", "2x"} {
		if !numeric(c) {
			t.Errorf("%q is no number", c)
		}
	}
	for _, c := range []string{"", "met", "-", "chile", "1/100 of chile", "10:30", "r = 1", "3 sites in Chile", "127.0.0.1"} {
		if numeric(c) {
			t.Errorf("%q is a number", c)
		}
	}
}
