package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// TestNofollowIsObeyedLive crawls a site some of whose pages ask that their
// links be left alone, in the header or in the page, for all robots, for us or
// for another: what only those lead to must not be asked for.
func TestNofollowIsObeyedLive(t *testing.T) {
	t.Parallel()
	pages := map[string]struct{ tag, body string }{
		"/":       {"", `<a href=/header><a href=/ours><a href=/others><a href=/meta><a href=/named>`},
		"/header": {"nofollow", `<a href=/no-1>`},
		"/ours":   {"weir: none", `<a href=/no-2>`},
		"/others": {"otherbot: nofollow", `<a href=/yes>`},
		"/meta":   {"", `<meta name=robots content=nofollow><a href=/no-3>`},
		"/named":  {"", `<meta name=weir content="noindex, nofollow"><a href=/no-4>`},
		"/yes":    {"", "leaf"},
	}
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		p, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if p.tag != "" {
			w.Header().Set("X-Robots-Tag", p.tag)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, p.body)
	}))
	defer server.Close()
	want := []string{"/", "/header", "/meta", "/named", "/others", "/ours", "/robots.txt", "/yes"}
	for _, ignore := range []bool{false, true} {
		asked = nil
		cfg := baseConfig(t.TempDir(), "")
		cfg.IgnoreRobots = ignore
		var err error
		if cfg.Seeds, err = seeds([]string{server.URL + "/"}); err != nil {
			t.Fatal(err)
		}
		run(t, cfg)
		slices.Sort(asked)
		if !ignore && !slices.Equal(asked, want) {
			t.Errorf("asked for %v, not %v", asked, want)
		}
		if ignore && !(slices.Contains(asked, "/no-1") && slices.Contains(asked, "/no-4")) {
			t.Errorf("--ignore-robots asked only for %v", asked)
		}
	}
}
