package web

import (
	"fmt"
	"math"
)

// clustered returns the webs that Loo, Cooper and Krishnamurthy (2004) crawled with
// up to 80 nodes, as far as 15 minutes of that let one see them. The paper tells
// three things of them, and all others are assumed:
//
//   - world, workload A: every link from google.com on. 43,404 pages fetched named
//     more than 800,000 pages on more than 70,000 servers, in the run whose counts
//     are printed. Pages, Sites, Links, Away and Home are fitted to these three
//     numbers; of 90,000 servers a crawl of that size comes across 74,000.
//   - domain, workload B: 45 servers, more than 500,000 pages named. 70% of 80 nodes
//     had nothing to do when each server had one: so about half of the servers have
//     next to no pages, which a Cap of 80,000 gives (fitted).
//   - single, workload C: one server, with more pages than a crawl can fetch.
//
// A page takes a fetcher 5.0 s on the mean: 80 nodes of three fetchers fetched
// 43,404 pages in 900 s. How that divides is not told, and assumed here: two thirds
// until the first byte, whether the connection is new or not, one third for the
// bytes, both spread over servers as in the other presets. Sizes of pages are
// those of the other presets.
func clustered(name string) (Shape, bool) {
	s := Shape{
		Name: name, Seed: 1,
		Links: 40, LinkSigma: 1.23, LinkMax: 2716, Dangling: 0.1,
		Away: 0.25, Popular: 3, Size: 0.5, Share: 0.01, Home: 0.5,
		In: 4, Menu: 0.1, MenuPages: 15, Near: 0.1, NearPages: 20, Bush: 1.5,
		Bytes: Spread{math.Exp(9), 1.44}, MinBytes: 100, MaxBytes: 2_000_000,
		Speed: Spread{20_000, 1}, Latency: Spread{2.25, 0.8}, AgainShare: 1,
	}
	switch name {
	case "world":
		s.Pages, s.Sites, s.Cap = 3_000_000, 90_000, 300
	case "domain":
		s.Pages, s.Sites, s.Cap = 1_000_000, domainSites, 80_000
		s.Links, s.Dangling, s.Away, s.Size, s.Share, s.Home = 29, 0.12, 0.1, 0.2, 0.1, 0.4
		s.In, s.Menu = 3, 0.2
	case "single":
		s.Pages, s.Sites, s.Cap = 1_000_000, 1, 1_000_000
		s.Links, s.Dangling, s.Away = 29, 0.12, 0
		s.In, s.Menu = 3, 0.2
		s.Speed, s.Latency = Spread{12_100, 0}, Spread{3.1, 0} // what the others come to on the mean
	default:
		return s, false
	}
	return s, true
}

// domainSites is how many servers workload B has.
const domainSites = 45

// scaled makes one of these smaller or larger. world has servers in proportion, of
// the same sizes; the other two keep their servers.
func (s Shape) scaled(scale float64) (Shape, error) {
	pages := math.Round(float64(s.Pages) * scale)
	if !(scale > 0) || !(pages <= MaxPages) {
		return Shape{}, fmt.Errorf("scale %v: it must be above 0 and at most %.0f", scale, math.Floor(MaxPages/float64(s.Pages)))
	}
	s.Name = PresetName(s.Name, scale)
	if s.Sites > domainSites {
		s.Sites = max(int(math.Round(float64(s.Sites)*scale)), 1)
	} else {
		s.Cap = max(int(math.Ceil(float64(s.Cap)*scale)), 10)
	}
	s.Pages = max(int(pages), s.Sites)
	return s, s.Check()
}
