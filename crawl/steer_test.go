package crawl

import (
	"testing"

	"weir/page"
)

// A crawl that is steered ends with what it had fetched before and all that the
// new program asks for, whatever waited then and whatever had been left out.
func TestSteer(t *testing.T) {
	narrow := ScopeConfig{Scope: "any", Depth: 5, Exclude: []string{`/[0-9]*[13579]$`}}
	wide := ScopeConfig{Scope: "any", Depth: 6}
	for seed := range uint64(30) {
		for _, order := range []string{"score", "length", "siteopic"} {
			for _, c := range []struct{ from, to ScopeConfig }{{wide, narrow}, {narrow, wide}} {
				w := newTangle(seed, 60)
				p := w.play(t, 0)
				p.scope, p.cfg.Order, p.bare = c.from, order, seed%2 == 1
				after := int(3 + seed)
				before := map[string]bool{}
				p.steer = func(f Fetch) *ScopeConfig {
					if len(p.fetched) < after {
						return nil
					}
					for _, v := range p.fetched {
						before[v.url] = true
					}
					return &c.to
				}
				if got := p.run(); got != StopDone {
					t.Fatalf("seed %d: stopped by %s", seed, got)
				}
				steered := p.steer == nil
				plain := w.play(t, 0)
				plain.scope = c.to
				plain.run()
				for i := range w {
					u := w.url(i)
					got := p.page(u)
					had := got.State == "ended" && got.Outcome != 0 && got.Outcome.Row().Answer
					want := before[u] || plain.page(u).State == "ended"
					if steered && had != want {
						t.Errorf("seed %d, %s: %s is %s as %v; fetched %v, want %v", seed, order, u, got.State, got.Outcome, had, want)
					}
					if asked := plain.page(u).State == "ended"; steered && got.State != "" && got.Stray == asked {
						t.Errorf("seed %d, %s: %s is stray: %v; the program asks for it: %v", seed, order, u, got.Stray, asked)
					}
					if steered && want && !before[u] && got.Depth != plain.page(u).Depth {
						t.Errorf("seed %d, %s: %s has depth %d, want %d", seed, order, u, got.Depth, plain.page(u).Depth)
					}
				}
				tot := p.totals()
				if tot.Due != 0 || tot.Stale || tot.Steered || tot.Queued != 0 {
					t.Errorf("seed %d: at the end %+v", seed, tot)
				}
			}
		}
	}
}

// Redirects that pages were found by before the crawl was steered count as much
// as those after it.
func TestSteerCountsRedirects(t *testing.T) {
	p := newPlay(t, "http://a.example/0")
	endless(p)
	p.steer = func(f Fetch) *ScopeConfig {
		if len(p.fetched) < 6 {
			return nil
		}
		return &ScopeConfig{Scope: "any", Depth: 9}
	}
	p.run()
	if got := p.page("http://a.example/11").Outcome; got != page.TooManyRedirects || len(p.fetched) != 11 {
		t.Errorf("%d pages fetched, the eleventh redirect ended as %v", len(p.fetched), got)
	}
}
