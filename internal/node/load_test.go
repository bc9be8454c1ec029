package node

import (
	"testing"
	"time"

	"weir/internal/testweb"
	"weir/overlay"
)

// TestSharesFollowDemand: of the limit that three nodes have together, most goes to
// the one that can use it.
func TestSharesFollowDemand(t *testing.T) {
	web := start(t, testweb.Config{Seed: 5, Sites: testweb.Even(1, testweb.Site{Pages: 5000, Links: 20, Size: 8000})})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) { cfg.Wait, cfg.PerConn = time.Millisecond, 100 }
	f.limit = 400e3
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
