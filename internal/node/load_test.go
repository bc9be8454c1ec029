package node

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/testweb"
	"weir/overlay"
)

// TestSharesFollowDemand: of the limit that three nodes have together, most goes to
// the one that can use it.
func TestSharesFollowDemand(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 5, Sites: testweb.Even(1, testweb.Site{Pages: 5000, Links: 20, Size: 8000})})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) { cfg.Wait, cfg.PerConn = time.Millisecond, 100 }
	f.limit = 60e3 // a slow machine, too, could use more than its third
	busy := make(chan struct{}, 3)
	f.watch = func(s overlay.Status) {
		if s.Share > s.Limit {
			t.Errorf("%s has %d of %d bytes a second", s.Name, s.Share, s.Limit)
		}
		for _, p := range s.Peers {
			if p.Name == s.Name && len(s.Peers) == 3 && p.Pages > 0 && p.Queued > 0 && s.Share > s.Limit*2/3 {
				select {
				case busy <- struct{}{}:
				default:
				}
			}
		}
	}
	for i := range f.nodes {
		f.launch(i)
	}
	<-busy
}

// TestEnoughOfAll: three nodes fetch as many pages together as they should, and none
// above. Then they say that they are through, and fetch nothing more when they are
// started again.
func TestEnoughOfAll(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 6, Sites: testweb.Even(6, testweb.Site{Pages: 400, Links: 10, Size: 500})})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) { cfg.Wait, cfg.PerConn, cfg.MaxPages = 100*time.Millisecond, 1, 60 }
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	f.nodes[2].kill()
	f.launch(2)
	f.quieten(2)
	pages := int64(0)
	f.leave()
	for _, s := range f.nodes {
		if s.err != nil || !s.cut && s.report.StoppedBy != crawl.StopPages {
			t.Errorf("%s has ended by %q: %v", s.name, s.report.StoppedBy, s.err)
		}
		pages += s.report.Fetched
	}
	if asked := asked(web); pages != 60 || asked != 60 {
		// Others do not know what one has fetched that is cut off: at most all that was left.
		if fenced := f.fenced(); pages < 60 || pages > int64(60+60*fenced) {
			t.Errorf("%d pages were fetched, %d asked for, and 60 are enough; %d times a node was cut off", pages, asked, fenced)
		}
	}
}

// fenced counts how often nodes have lost their sessions, which a busy machine may do.
func (f *fleet) fenced() (times int) {
	for _, s := range f.nodes {
		log, err := os.ReadFile(filepath.Join(s.dir, "crawl", "log.jsonl"))
		if err != nil {
			f.t.Fatal(err)
		}
		times += bytes.Count(log, []byte(`"event":"fenced"`))
	}
	return times
}

// TestBytesOfAll: the same with bytes, but for the pages that are under way when it is
// enough.
func TestBytesOfAll(t *testing.T) {
	t.Parallel()
	const conns, size, enough = 2, 2000, 60_000
	web := start(t, testweb.Config{Seed: 6, Sites: testweb.Even(6, testweb.Site{Pages: 400, Links: 10, Size: size})})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) {
		cfg.Wait, cfg.PerConn, cfg.Conns, cfg.MaxBytes = 100*time.Millisecond, 1, conns, enough
	}
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	before := asked(web)
	f.nodes[2].kill()
	f.launch(2)
	f.quieten(2)
	bytes, pages := int64(0), int64(0)
	f.leave()
	for _, s := range f.nodes {
		if s.err != nil || !s.cut && s.report.StoppedBy != crawl.StopBytes {
			t.Errorf("%s has ended by %q: %v", s.name, s.report.StoppedBy, s.err)
		}
		bytes, pages = bytes+s.report.Bytes, pages+s.report.Fetched
	}
	if now := asked(web); now != before {
		t.Errorf("%d pages were asked for, and %d when it was enough", now, before)
	}
	over := 3 * conns * bytes / max(pages, 1) * 3 // pages are of different sizes
	if fenced := f.fenced(); bytes < enough || bytes > int64(1+fenced)*enough+over {
		t.Errorf("%d bytes of %d pages were fetched, and %d are enough; %d times a node was cut off", bytes, pages, enough, fenced)
	}
}

// TestTimeOfAll: three nodes order nothing after the time that was set, say that they are
// through though much is left, and fetch nothing more when one is started again.
func TestTimeOfAll(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 6, Sites: testweb.Even(6, testweb.Site{Pages: 2000, Links: 10, Size: 500})})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) { cfg.Wait, cfg.PerConn = 100*time.Millisecond, 1 }
	f.ends = time.Now().Add(12 * time.Second) // hosts have pages for minutes, as they are asked
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	if early := time.Until(f.ends); early > 0 {
		t.Errorf("they are through %v before the time", early)
	}
	before := asked(web)
	f.nodes[2].kill()
	f.launch(2)
	f.quieten(2)
	f.leave()
	for _, s := range f.nodes {
		if s.err != nil || !s.cut && s.report.StoppedBy != crawl.StopTime {
			t.Errorf("%s has ended by %q: %v", s.name, s.report.StoppedBy, s.err)
		}
	}
	if now := asked(web); now != before {
		t.Errorf("%d pages were asked for, and %d when the time was over", now, before)
	}
}

// asked counts the pages that a web was asked for.
func asked(web *testweb.Web) (pages int) {
	for _, h := range web.Audit().Hosts {
		pages += h.Pages
	}
	return pages
}
