package main

import (
	"testing"

	"weir/internal/node"
	"weir/page"
)

// TestHeadersGoToTheSeedsHosts keeps what --header says from every host that
// the user has not named.
func TestHeadersGoToTheSeedsHosts(t *testing.T) {
	u, err := page.Parse("https://a.test/docs/")
	if err != nil {
		t.Fatal(err)
	}
	s := defaults()
	s.Header = []string{"X-Key: secret"}
	if _, err := setup(s, nil); err == nil {
		t.Error("a header without a host to go to was accepted")
	}
	seeds := []node.Seed{{URL: u}}
	s.allow(seeds)
	cfg, err := setup(s, seeds)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Fetch.Header) > 0 || len(cfg.Fetch.SiteHeader) != 1 || len(cfg.Fetch.SiteHeader["a.test"]) != 1 {
		t.Errorf("headers for all: %v, by host: %v", cfg.Fetch.Header, cfg.Fetch.SiteHeader)
	}
}
