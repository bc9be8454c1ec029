package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/internal/wirelab"
)

// The built weir holds a limit as the interface counts it. The bounds are so
// wide that a busy machine does not matter; make bench-wire has the narrow
// ones.
func TestLimitOnTheWire(t *testing.T) {
	if testing.Short() {
		t.Skip("this test crawls for ten seconds")
	}
	if err := wirelab.Usable(); err != nil {
		t.Skipf("this test opens a laboratory: %v", err)
	}
	weir := filepath.Join(t.TempDir(), "weir")
	if err := buildIn("../..", weir); err != nil {
		t.Fatal(err)
	}
	const limit, length = 300e3, 10 * time.Second
	a := attempt{name: "weir", limit: limit, conns: 64}
	r, err := trial{
		web:   wirelab.NewWeb(wirelab.WebConfig{Limit: limit, Length: length, Seed: 1}),
		limit: limit, conns: a.conns, length: length,
		argv: a.program(weir, ""), dir: t.TempDir(),
	}.run()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s\n%s", head, newRow("weir", limit, r))
	sum := 0.0
	for _, bytes := range r.received {
		sum += bytes
	}
	// A second more than it took: the first one starts with nothing behind it.
	allowed := limit * (float64(len(r.received))/10 + 1)
	if sum > 1.1*allowed || sum < 0.05*allowed {
		t.Errorf("%.0f bytes came over the wire, where %.0f were allowed", sum, allowed)
	}
}

// Every attempt has a name of its own, and those that learn come after
// those they learn from.
func TestAttempts(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range attempts() {
		if seen[a.full()] {
			t.Errorf("two attempts are called %s", a.full())
		}
		if a.after != "" && !seen[(attempt{name: a.after, limit: a.limit}).full()] {
			t.Errorf("%s learns from %s, which does not come before it", a.full(), a.after)
		}
		seen[a.full()] = true
	}
}

func TestRate(t *testing.T) {
	for s, want := range map[string]float64{"140KB": 140e3, "1MB/s": 1e6, "1.5MB": 1.5e6, "20000": 20e3, "": 0, "1": 0, "-1MB": 0, "NaN": 0, "1GB": 0, "200MB": 0} {
		got, err := rate(s)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("rate(%q) = %v, %v", s, got, err)
		}
	}
}

// Seconds that were too full are named, with what the laboratory did meanwhile.
func TestOutliers(t *testing.T) {
	r := trace{begin: 5 * time.Second, received: make([]float64, 45)}
	for i := range r.received {
		r.received[i] = 10
	}
	r.due = slices.Clone(r.received)
	r.received[3], r.received[19], r.received[38] = 20, 13, 13 // the first is before what is judged
	r.due[19] = 12
	r.late.Still = []wirelab.Still{{From: 7990 * time.Millisecond, To: 8050 * time.Millisecond}, {From: 20 * time.Second, To: 21 * time.Second}}
	got := outliers(r, 10, 100, 1.02)
	want := []string{"second 1 was 1.030 L, and 1.020 by when its packets were due", "second 3 was 1.030 L, and 1.000 by when its packets were due; the laboratory stood still for 60 ms in it or in the one before"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
