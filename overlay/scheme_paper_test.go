package overlay

import (
	"fmt"
	"testing"

	"weir/page"
)

// Tests of what Loo, Cooper and Krishnamurthy, "Distributed Web Crawling over DHTs"
// (2004), say of partition schemes.

// spread80 returns how many of 80 nodes fetch pages of so many servers with so many
// pages each, and the share of links within a server that stay on their node.
func spread80(t *testing.T, text string, servers, pages int) (busy int, local float64) {
	k := NewKeys(scheme(t, text), 1024)
	o := NewOwners(1024)
	o.Set(crew(80))
	nodes := map[string]bool{}
	stay, links := 0, 0
	for s := range servers {
		var last string
		for i := range pages {
			u := mustURL(t, fmt.Sprintf("http://server-%d.example/page/%d.html", s, i))
			at := o.Of(k.Home(u))
			nodes[at] = true
			if i > 0 {
				links++
				if at == last {
					stay++
				}
			}
			last = at
		}
	}
	return len(nodes), float64(stay) / float64(max(links, 1))
}

// Section 4.3.1: "Since Hostname uses at most 45 crawlers, Figure 6(a) shows that 70% of
// the crawlers are idle for Hostname. Even with the use of Hostname-8 there are still 20%
// of idle nodes", and none for URL.
func TestPaperIdleNodes(t *testing.T) {
	host, _ := spread80(t, "host", 45, 50)
	eight, _ := spread80(t, "host-8", 45, 50)
	url, _ := spread80(t, "url", 45, 50)
	if host > 45 || host < 25 {
		t.Errorf("by host, %d of 80 nodes fetch", host)
	}
	if eight <= host || eight < 64 {
		t.Errorf("by host-8, %d of 80 nodes fetch", eight)
	}
	if url != 80 {
		t.Errorf("by URL, %d of 80 nodes fetch", url)
	}
}

// Section 4.2.3: "Hostname incurs the least overhead because self-links result in zero
// repartitioning with only local DHT puts."
func TestPaperSelfLinksStay(t *testing.T) {
	_, host := spread80(t, "host", 45, 50)
	_, eight := spread80(t, "host-8", 45, 50)
	_, url := spread80(t, "url", 45, 50)
	if host != 1 {
		t.Errorf("by host, %.2f of the links within a server stay", host)
	}
	if eight < 0.08 || eight > 0.2 || url > 0.03 {
		t.Errorf("by host-8 %.2f, by URL %.2f of the links within a server stay", eight, url)
	}
}

// Section 4.1: "a one-hop redirection scheme which behaves like partition by hostname
// switching to partition by URL when the crawler's pending input queue size exceeds
// 500." It is our default.
func TestPaperRedirect(t *testing.T) {
	s := scheme(t, "redirect")
	if s.HandOn(500, 0, 0) || !s.HandOn(501, 0, 0) || s.HandOn(501, 0, 1) {
		t.Error("pages are not handed on once when more than 500 wait")
	}
	k := NewKeys(s, Parts)
	places := map[int]bool{}
	var u page.URL
	for i := range 5000 {
		u = mustURL(t, fmt.Sprintf("http://groups.example/%d", i))
		places[k.Moved(u, 1)] = true
	}
	if len(places) != Parts-1 || places[k.Home(u)] {
		t.Errorf("pages of one host are handed on to %d partitions of %d", len(places), Parts)
	}
}
