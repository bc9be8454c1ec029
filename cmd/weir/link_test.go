package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/bandwidth"
)

// none is no limit, off is a pause: what a person writes means the same to the
// Engine, and comes back from crawl.yaml as it was.
func TestLimits(t *testing.T) {
	monday := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		args []string
		set  bool
		rate int64 // of --limit
		noon int64 // of the timetable, on a Monday
		per  int64 // of the quota
	}{
		{nil, false, 0, bandwidth.Unlimited, 0},
		{[]string{"--limit=none", "--timetable=none", "--quota=none"}, false, 0, bandwidth.Unlimited, 0},
		{[]string{"--limit=8Mbit/s"}, true, 1e6, bandwidth.Unlimited, 0},
		{[]string{"--timetable=off"}, true, 0, bandwidth.Off, 0},
		{[]string{"--timetable=none, none"}, true, 0, bandwidth.Unlimited, 0},
		{[]string{"--timetable=Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s", "--limit=3MB/s"}, true, 3e6, 500e3, 0},
		{[]string{"--quota=1TB/month"}, true, 0, bandwidth.Unlimited, 1e12},
	} {
		s := flags(t, c.args...)
		dir := t.TempDir()
		if err := writeConfig(dir, s); err != nil {
			t.Fatal(err)
		}
		back := defaults()
		if _, err := readConfig(filepath.Join(dir, crawlFile), back, nil); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%q came back from crawl.yaml as %+v, %v", c.args, back, err)
		}
		cfg, err := setup(s, nil)
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		l := cfg.Bandwidth.Limits
		noon, _ := l.Timetable.At(monday)
		if l.Set() != c.set || l.Rate != c.rate || noon != c.noon || l.Quota.Bytes != c.per {
			t.Errorf("%q became %+v, at noon %d", c.args, l, noon)
		}
	}
}

// What decides which page starts predicts as the paper does only when asked to.
func TestControl(t *testing.T) {
	holidays := filepath.Join(t.TempDir(), "days")
	os.WriteFile(holidays, []byte("12-25\n"), 0o666)
	for control, exact := range map[string]bool{"weir": false, "paper": true, "reactive": false} {
		cfg, err := setup(flags(t, "--limit=1MB/s", "--control="+control, "--lookahead=6", "--holidays="+holidays), nil)
		if err != nil {
			t.Fatal(err)
		}
		b := cfg.Bandwidth
		if b.Control != control || b.Predictor.Exact != exact || b.Lookahead != 6 || b.Holidays != "12-25\n" || (len(cfg.Warnings) == 0) != (control == "weir") {
			t.Errorf("%s became %+v, warned of %q", control, b, cfg.Warnings)
		}
	}
}

func TestYieldWarnings(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--limit=1MB/s"}, ""},
		{[]string{"--timetable=Mon none, 1MB/s"}, "hours for which the timetable says none"},
		{[]string{"--timetable=Mon none, 1MB/s", "--limit=2MB/s"}, ""},
		{[]string{"--timetable=Mon off, 1MB/s"}, ""},
	} {
		cfg, err := setup(flags(t, append(c.args, "--yield", "--yield-probe=127.0.0.1")...), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(cfg.Warnings, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q: warned of %q, want %q", c.args, got, c.want)
		}
	}
}
