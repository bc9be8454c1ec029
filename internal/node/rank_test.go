package node

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/testweb"
	"weir/rank"
)

// Every order fetches everything once, and ranks on the way where it goes by
// ranks.
func TestOrders(t *testing.T) {
	t.Parallel()
	for _, order := range frontier.Orders() {
		if order == "optimal" {
			continue // knows the ranks beforehand: for the laboratory
		}
		t.Run(order, func(t *testing.T) {
			t.Parallel()
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
	t.Parallel()
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
// memory it would take; others go on, and say so once.
func TestRankingNeedsMemory(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 1, Sites: []testweb.Site{{Name: "a.test", Pages: 40, Links: 10, Size: 1000}}})
	cfg := config(t, web)
	cfg.Order, cfg.Batch, cfg.Memory = "batch", 20, 4000
	report, err := Run(context.Background(), nil, cfg)
	var large *TooLarge
	if !errors.As(err, &large) || large.Memory <= cfg.Memory {
		t.Fatalf("%v", err)
	}
	if report.StoppedBy != crawl.StopTooLarge {
		t.Errorf("the crawl was stopped by %s", report.StoppedBy)
	}
	for _, name := range []string{"log.jsonl", "report.json"} {
		if b, err := os.ReadFile(filepath.Join(cfg.Dir, name)); err != nil || !strings.Contains(string(b), "too-large-to-rank") {
			t.Errorf("%s does not say why the crawl stopped: %v", name, err)
		}
	}
	for _, order := range []string{"partial", "siterank"} {
		cfg = config(t, web)
		cfg.Order, cfg.Batch, cfg.Memory = order, 5, 4000
		var told []string
		cfg.Notice = func(s string) { told = append(told, s) }
		if r := run(t, cfg); r.StoppedBy != crawl.StopDone || len(told) != 1 {
			t.Errorf("%s: stopped by %s, told %q", order, r.StoppedBy, told)
		}
	}
}

// A web that no memory is enough for is not said to need a little.
func TestNoMemoryIsEnough(t *testing.T) {
	t.Parallel()
	for need, want := range map[int64]int64{1000: 8000, math.MaxInt64 / 8: math.MaxInt64 / 8 * 8, math.MaxInt64/8 + 1: 0, math.MaxInt64: 0} {
		if got := tooLarge(&rank.TooLarge{Need: need}).Memory; got != want {
			t.Errorf("a ranking that needs %d bytes needs a memory of %d, want %d", need, got, want)
		}
	}
}

// impatient is a context that ends after it was asked so many times.
type impatient struct {
	context.Context
	cancel context.CancelFunc
	asked  int
	after  int
}

func (c *impatient) Err() error {
	if c.asked++; c.asked > c.after {
		c.cancel()
	}
	return c.Context.Err()
}

// Who wants to stop need not wait for a ranking, wherever it is; and one that
// found the web too large does not read it again.
func TestRankingStops(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 1, Sites: []testweb.Site{{Name: "a.test", Pages: 120, Links: 10, Size: 1000}}})
	cfg := config(t, web)
	cfg.Order, cfg.Batch, cfg.MaxPages = "partial", 1000, 40
	ran := run(t, cfg)
	n, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close(nil)
	ranking := func(after int) (asked int, last bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		c := &impatient{Context: ctx, cancel: cancel, after: after}
		over := make(chan struct{})
		go func() {
			defer close(over)
			n.rank(c, crawl.Rank{Version: 1, Pages: 1000})
		}()
		for {
			select {
			case s := <-n.scores:
				last = last || s.last
			case <-over:
				return c.asked, last
			}
		}
	}
	all, last := ranking(math.MaxInt)
	if rows := 2*int(ran.Fetched) + int(ran.Pages+ran.Queued); !last || all < rows+3+2 { // thrice between its parts
		t.Errorf("a whole ranking asks %d times whether to go on; it reads %d rows and takes some rounds", all, rows)
	}
	for after := range all - 1 {
		if asked, last := ranking(after); last || asked > after+3 {
			t.Fatalf("told to stop at the %dth of %d times, it asks %d times, and came to its end: %v", after+1, all, asked, last)
		}
	}

	n.cfg.Memory = 4000
	if _, last := ranking(math.MaxInt); !last || !n.outgrown {
		t.Error("a web that is too large is not said to be so")
	}
	if asked, last := ranking(math.MaxInt); !last || asked != 0 {
		t.Errorf("a web that was too large is read again: asked %d times", asked)
	}
	select {
	case err := <-n.failed:
		t.Error(err)
	default:
	}
}
