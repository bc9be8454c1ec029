package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/testweb"
)

func TestParseDemands(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	got, err := ParseDemands("a.org=2026-11-16T06:00:00Z,b.org=none,c.org=2036-11-15T12:00:00Z", now)
	want := []crawl.Demand{
		{Host: "a.org", Deadline: now.Add(18 * time.Hour).UnixNano()}, {Host: "b.org"},
		{Host: "c.org", Deadline: now.AddDate(10, 0, 0).UnixNano()},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, why := range map[string]string{
		"":                           "is no deadline",
		"a.org":                      "is no deadline",
		"=none":                      "is no deadline",
		"a.org=06:00":                "is no time as in",
		"a.org=2026-11-15T12:00:00Z": "is over",
		"a.org=2300-01-01T00:00:00Z": "is more than ten years ahead",
		"a.org=9999-01-01T00:00:00Z": "is more than ten years ahead",
		"www.a.org=none,a.org=none":  "has two deadlines",
	} {
		if got, err := ParseDemands(text, now); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, why)
		}
	}
}

func FuzzParseDemands(f *testing.F) {
	f.Add("a.org=2026-11-16T06:00:00Z,b.org=none")
	f.Add("a.org=9999-12-31T23:59:59+23:59,www.a.org=none")
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseDemands(text, now)
		for _, d := range all {
			if err != nil || d.Host == "" || d.Deadline != 0 && (d.Deadline <= now.UnixNano() || d.Deadline > now.Add(Horizon).UnixNano()) {
				t.Errorf("%q: %+v, %v", text, d, err)
			}
		}
	})
}

func TestFamiliar(t *testing.T) {
	hosts := []string{"www.example.org", "docs.example.com"}
	for _, c := range []struct {
		scope, site string
		ok          bool
	}{
		{"host", "example.org", true},
		{"host", "docs.example.com", true},
		{"host", "example.com", false},
		{"prefix", "exmaple.org", false},
		{"domain", "blog.example.com", true},
		{"domain", "example.net", false},
		{"any", "example.net", true},
	} {
		err := Familiar(c.scope, []crawl.Demand{{Host: "nobody.test"}, {Host: c.site, Deadline: 1}}, hosts)
		var s *Stranger
		if errors.As(err, &s) == c.ok || !c.ok && (s.Site != c.site || !slices.Equal(s.Known, hosts)) {
			t.Errorf("%s in a crawl with --scope %s: %v", c.site, c.scope, err)
		}
	}
}

// A crawl that runs says so when it does not come to a site, and changes nothing.
func TestSteerStranger(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Wait = time.Millisecond
	cfg.Bandwidth.Limits.Rate = 20e3
	running(t, cfg)
	at := "=" + time.Now().Add(time.Hour).Format(time.RFC3339)
	wrong, limit := "s0001.tset"+at, "10KB/s"
	_, err := Steer(context.Background(), cfg.Dir, Steering{Limit: &limit, Deadlines: &wrong})
	var s *Stranger
	if !errors.As(err, &s) || s.Site != "s0001.tset" || s.Scope != "host" || !slices.Contains(s.Known, "s0001.test") {
		t.Errorf("%+v, %v", s, err)
	}
	if h := steered(t, cfg.Dir, Steering{}); h.Limit != "20KB/s" || len(h.Promises) > 0 {
		t.Errorf("%+v", h)
	}
	right := "www.s0001.test" + at
	if h := steered(t, cfg.Dir, Steering{Deadlines: &right}); len(h.Promises) != 1 {
		t.Errorf("%+v", h)
	}
	if _, err := Hosts(cfg.Dir); err == nil {
		t.Error("the folder of a crawl that runs was read")
	}
}

func TestSteerBatched(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Order, cfg.Batch, cfg.Wait = "batch", 10_000, time.Millisecond
	cfg.Bandwidth.Limits.Rate = 20e3
	running(t, cfg)
	text := "s0001.test=" + time.Now().Add(time.Hour).Format(time.RFC3339)
	if _, err := Steer(context.Background(), cfg.Dir, Steering{Deadlines: &text}); err == nil || !strings.Contains(err.Error(), "cannot keep deadlines") {
		t.Errorf("%v", err)
	}
}

func TestHosts(t *testing.T) {
	cfg := config(t, start(t, testweb.Config{Seed: 1, Sites: testweb.Even(2, testweb.Site{Pages: 3, Links: 2, Size: 100})}))
	run(t, cfg)
	if got, err := Hosts(cfg.Dir); err != nil || !slices.Equal(got, []string{"s0000.test", "s0001.test"}) {
		t.Errorf("%v, %v", got, err)
	}
}
