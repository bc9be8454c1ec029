package node

import (
	"context"
	"errors"
	"testing"

	"weir/crawl"
	"weir/internal/testweb"
)

// Every order fetches everything once, and ranks on the way where it goes by
// ranks.
func TestOrders(t *testing.T) {
	for _, order := range []string{"depth", "depth-flat", "siteopic", "partial", "batch", "score"} {
		t.Run(order, func(t *testing.T) {
			web := start(t, testweb.Config{Seed: 1, Sites: []testweb.Site{
				{Name: "a.test", Pages: 120, Links: 10, Size: 1000},
				{Name: "b.test", Pages: 40, Links: 10, Size: 1000, Deny: []string{"/private/"}},
				{Name: "c.test", Pages: 30, Links: 5, Size: 1000, Faults: []testweb.Fault{{Kind: testweb.Unavailable, Every: 6, Times: 2}}},
			}})
			cfg := config(t, web)
			cfg.Order, cfg.Batch = order, 25
			report := run(t, cfg)
			complete(t, web, testweb.Manners{})
			if report.StoppedBy != crawl.StopDone || report.Queued != 0 {
				t.Errorf("%+v", report)
			}
			if report.Idle <= 0 || report.Idle >= 1 {
				t.Errorf("%v of the connections idle: three sites never use 64", report.Idle)
			}
			checkFolder(t, cfg)
		})
	}
}

// A crawl in batches that is stopped goes on where it was.
func TestBatchesResume(t *testing.T) {
	web := start(t, testweb.Config{Seed: 1, Sites: []testweb.Site{{Name: "a.test", Pages: 120, Links: 10, Size: 1000}}})
	cfg := config(t, web)
	cfg.Order, cfg.Batch = "batch", 20
	for stop := int64(30); stop <= 90; stop += 30 {
		cfg.MaxPages = stop
		if r := run(t, cfg); r.StoppedBy != crawl.StopPages || r.Fetched != stop {
			t.Fatalf("%+v", r)
		}
	}
	cfg.MaxPages = 0
	run(t, cfg)
	complete(t, web, testweb.Manners{})
}

// Pages that cannot be ranked within the memory end a crawl in batches, with the
// memory it would take.
func TestRankingNeedsMemory(t *testing.T) {
	web := start(t, testweb.Config{Seed: 1, Sites: []testweb.Site{{Name: "a.test", Pages: 20, Links: 10, Size: 1000}}})
	cfg := config(t, web)
	cfg.Order, cfg.Batch, cfg.Memory = "batch", 20, 4000
	_, err := Run(context.Background(), nil, cfg)
	var large *TooLarge
	if !errors.As(err, &large) || large.Memory <= cfg.Memory {
		t.Fatalf("%v", err)
	}
	cfg = config(t, web)
	cfg.Order, cfg.Batch, cfg.Memory = "partial", 5, 4000
	told := ""
	cfg.Notice = func(s string) { told = s }
	if r := run(t, cfg); r.StoppedBy != crawl.StopDone || told == "" {
		t.Errorf("%+v, told %q", r, told)
	}
}
