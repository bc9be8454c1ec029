package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/testweb"
)

// TestAutoKeepsManners: pages per connection that follow the backlog, as the
// servers see it. A host's gaps within a connection are as long as it takes to
// answer, a crawl-delay means a page a connection, the rest between connections
// is whole. The trace of it can be played again.
func TestAutoKeepsManners(t *testing.T) {
	t.Parallel()
	const latency = 10 * time.Millisecond
	web := start(t, testweb.Config{Seed: 21, Addresses: 1, Sites: []testweb.Site{
		{Name: "large.test", Pages: 80, Links: 8, Size: 2000, Latency: latency},
		{Name: "strict.test", Pages: 6, Links: 3, Size: 2000, Delay: 100 * time.Millisecond},
		{Name: "broken.test", Pages: 30, Links: 6, Size: 2000, Faults: []testweb.Fault{{Kind: testweb.Broken, Every: 9, Times: 1}}},
		{Name: "short.test", Pages: 30, Links: 6, Size: 2000, PerConn: 3},
	}})
	cfg := config(t, web)
	cfg.Wait, cfg.Auto, cfg.PerConn, cfg.PerServer = 20*time.Millisecond, true, 20, 2
	cfg.Trace = filepath.Join(t.TempDir(), "trace")
	run(t, cfg)
	complete(t, web, testweb.Manners{Wait: cfg.Wait, Conns: 1, PerServer: 2, PerConn: 20})
	audit := web.Audit()
	if h := audit.Host("large.test"); h.PerConn < 2 || h.Within.N == 0 || h.Within.End < latency {
		t.Errorf("a host that takes %v to answer had %d requests on a connection, the next after %v", latency, h.PerConn, h.Within.End)
	}
	if h := audit.Host("strict.test"); h.PerConn != 1 {
		t.Errorf("a host with a crawl-delay had %d requests on a connection", h.PerConn)
	}
	f, err := os.Open(cfg.Trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := crawl.Replay(f); err != nil || n.Events == 0 {
		t.Errorf("after %d events of the trace: %v", n.Events, err)
	}
}

// TestAutoHeedsTheServer: a server that says how many requests it takes on a
// connection is not sent more.
func TestAutoHeedsTheServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	conns := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		conns[r.RemoteAddr]++
		left := 4 - conns[r.RemoteAddr]
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Keep-Alive", fmt.Sprintf("timeout=60, max=%d", left))
		if r.URL.Path == "/" {
			for i := range 40 {
				fmt.Fprintf(w, "<a href=/%d>page</a>\n", i)
			}
		}
	}))
	defer server.Close()
	cfg := baseConfig(t.TempDir(), "")
	cfg.Wait, cfg.Auto, cfg.PerConn = time.Millisecond, true, 50
	var err error
	if cfg.Seeds, err = seeds([]string{server.URL + "/"}); err != nil {
		t.Fatal(err)
	}
	if report := run(t, cfg); report.Fetched != 41 {
		t.Errorf("%d pages were fetched: %+v", report.Fetched, report.Outcomes)
	}
	most := 0
	for _, n := range conns {
		most = max(most, n)
	}
	if most != 4 {
		t.Errorf("a server that takes 4 requests a connection got %d on one", most)
	}
}
