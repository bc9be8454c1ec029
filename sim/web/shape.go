package web

import (
	"fmt"
	"math"
	"strings"
)

// Shape says what a made-up web looks like. Each field tells where its value
// in the presets comes from: measured on some real web, or assumed. Generate
// returns the same web for the same Shape on every machine, and links, sizes
// and servers are drawn apart: a Shape with other Speeds gives the same graph.
//
// "Chile 2004" is the sample of Castillo, chapter 6; "Chile 2006" is
// Baeza-Yates, Castillo and Graells, Características de la Web Chilena 2006;
// "cnr-2000" is the graph of the LAW datasets, 325,557 Italian pages;
// "uk1996" is a graph of 58,842 British hosts; "docs" are 31 sites of
// documentation crawled whole, 109,533 pages.
//
// "Fitted" values were assumed, then moved until a crawl of chile by length
// gathered ranks about as Castillo's figure 6.10 does (a dozen settings were
// tried; ranks were the only aim). That a simulation comes near this figure is
// therefore no evidence for the simulator. The values of core were searched in
// the same way for a web where length beats depth: it shows that there are
// such webs, not that real ones are. Half of its links lead away and its
// in-degree has the exponent 3.1, outside of what was measured on real webs.
type Shape struct {
	Name string
	Seed uint64

	// Pages, Sites and Cap are measured: 3.5 million pages on 50,000 sites, of
	// which the crawl took at most 25,000 from each (Chile 2004).
	//
	// Sites of n pages are as frequent as n^-a; a site that would be larger
	// than Cap is cut to Cap. The exponent a is none of the parameters: it
	// follows from the mean, Pages/Sites (see Exponent). For chile it is 1.65,
	// as was measured on uk1996 from 10 links on.
	Pages, Sites, Cap int

	// Isolated is the share of sites without links to or from other sites,
	// and IsolatedPages the share of pages on them. Measured: 0.495 and 0.14
	// (Chile 2006).
	Isolated, IsolatedPages float64

	// Links is the mean number of links of a page. Measured: 9.9 (cnr-2000) to
	// 16 (uk-2002). LinkSigma is the deviation of the logarithm of that number
	// over pages that have links: 1.23 (cnr-2000, by its moments). LinkMax
	// bounds it: 2,716 is the largest of cnr-2000. A page links to another once:
	// on small sites, fewer links than asked for find room.
	Links, LinkSigma float64
	LinkMax          int

	// Dangling is the share of pages without links. Measured: 0.24 (cnr-2000).
	// The presets have 0.12, fitted: with 0.24 the ranks of pages are more even
	// than Castillo's figure 6.10 shows them.
	Dangling float64

	// Away is the share of links that leave their site. Measured: 0.116
	// (uk1996).
	Away float64

	// Popular is the exponent of the number of links that sites get from
	// others. Measured: 2.04 to 2.22 (uk1996). Size ties it to the number of
	// pages n of the site: its links grow as n^Size. Assumed. Share bounds the
	// links one site may draw. Assumed.
	Popular, Size, Share float64

	// Home is the share of links from other sites that lead to the home page;
	// the others choose among all pages of the site. Assumed.
	Home float64

	// In is the exponent of the in-degree of pages that links choosing among
	// all pages of a site would give if there were no others. Measured: 1.98
	// to 2.33 for all links together (cnr-2000); 2.15 within it is fitted, and
	// all links of chile together come to 2.03.
	In float64

	// Menu is the share of links within a site that lead to one of its first
	// MenuPages pages, as menus do; Near the share that lead to one of the
	// pages at most NearPages before or after; the others choose among all.
	// The shares are fitted, the numbers of pages assumed.
	Menu, Near           float64
	MenuPages, NearPages int

	// Bush says how flat a site is: every page can be reached from its home
	// page, the i-th page through a link on page i*u^Bush, with u evenly spread
	// between 0 and 1. At 1 it hangs from any page before it; the larger, the
	// more pages hang near the home page. Fitted.
	Bush float64

	// Bytes is the distribution of page sizes, cut at MinBytes and MaxBytes.
	// Measured: log-normal, mu 9.00, sigma 1.44 (docs); the mean of 22.8 kB
	// suits the 57 GB of 2.4 million pages, 24 kB each, of Chile 2004.
	Bytes              Spread
	MinBytes, MaxBytes int

	// Ends are the ways in which pages fail, with their shares; such pages are
	// among the dangling ones. Measured: 0.2 of the visits of Chile 2004
	// failed; which way was not told. The presets have none, since all pages
	// of the sample were downloaded.
	Ends []Ending

	// Speed is the distribution of bytes per second over sites, Latency and
	// Again of seconds to the first byte on a new and on an open connection.
	// Assumed: Castillo measured them, but does not print them. In the presets
	// Again is drawn as a share of the site's Latency: AgainShare, when above
	// zero, replaces Again.
	Speed, Latency, Again Spread
	AgainShare            float64

	// Delay is the crawl-delay in seconds of the share Delayed of all sites.
	// Assumed: none.
	Delay   Spread
	Delayed float64
}

// Ending is one way in which a share of the pages end, as a number of
// page.Outcome.
type Ending struct {
	Outcome uint8
	Share   float64
}

// Presets are the names that Preset knows.
var Presets = []string{"chile", "core", "isolated", "world", "domain", "single"}

// Preset returns a shape by name. Scale is its number of pages in proportion
// to the full one, which has 3.5 million in the first three: 0.01 is a hundredth.
//
//   - chile is like the sample of the Chilean web that Castillo crawled;
//   - core has half of all links lead to its largest sites, which are flat:
//     where a page stands says little, on which site it stands says much, and
//     so length finds what is ranked high before depth does;
//   - isolated has nine of ten sites, and nine of ten pages, that no link
//     leads to from elsewhere;
//   - world, domain and single stand for what Loo et al. (2004) crawled: see
//     cluster.go.
//
// Scaling keeps the exponent of the sizes of sites and the share of the web
// that the largest site may hold, so the cap shrinks with the pages. What
// limits the end of a crawl stays in proportion: about as many sites stand at
// the cap in a hundredth as in the whole, and they take as large a part of the
// time that the link needs for all. In return there are fewer sites in the
// whole, but not as few as the scale says, since sites become smaller: chile
// has 70 pages a site, and 14 at a hundredth. Results that depend on the sheer
// number of sites, such as how many connections find work at the start,
// therefore shift with the scale.
func Preset(name string, scale float64) (Shape, error) {
	if s, ok := clustered(name); ok {
		return s.scaled(scale)
	}
	const pages, sites, most = 3_500_000, 50_000, 25_000
	if !(scale > 0) || scale*pages > MaxPages {
		return Shape{}, fmt.Errorf("scale %v: it must be above 0 and at most %.0f", scale, math.Floor(MaxPages/pages))
	}
	s := Shape{
		Name: name, Seed: 1,
		Pages: pages, Sites: sites, Cap: most,
		Isolated: 0.495, IsolatedPages: 0.14,
		Links: 10, LinkSigma: 1.23, LinkMax: 2716, Dangling: 0.12,
		Away: 0.116, Popular: 2.1, Size: 0.5, Share: 0.03, Home: 0.7,
		In: 2.15, Menu: 0.5, MenuPages: 15, Near: 0.1, NearPages: 20, Bush: 1.5,
		Bytes: Spread{math.Exp(9), 1.44}, MinBytes: 100, MaxBytes: 2_000_000,
		Speed: Spread{20_000, 1}, Latency: Spread{0.8, 1}, AgainShare: 0.5,
	}
	switch name {
	case "chile":
	case "core":
		s.Isolated, s.IsolatedPages, s.Dangling = 0.3, 0.02, 0.05
		s.Away, s.Size, s.Home = 0.5, 2, 0
		s.In, s.Menu, s.Near, s.Bush = 3, 0.05, 0.3, 8
	case "isolated":
		s.Isolated, s.IsolatedPages = 0.9, 0.9
		s.Away /= 10
	default:
		return Shape{}, fmt.Errorf("no web is called %q; there are %s", name, strings.Join(Presets, ", "))
	}
	if scale != 1 {
		a := s.Exponent()
		s.Name = PresetName(name, scale)
		s.Pages = int(math.Round(pages * scale))
		s.Cap = max(int(math.Round(most*scale)), 10)
		s.Sites = max(int(math.Round(float64(s.Pages)/tail{a, s.Cap}.mean())), 1)
	}
	return s, s.Check()
}

// PresetName is the Name of a preset's shape. It costs nothing, where to find the
// shape takes a moment.
func PresetName(name string, scale float64) string {
	if scale == 1 {
		return name
	}
	return fmt.Sprintf("%s/%.4g", name, 1/scale)
}

// Exponent is the exponent of the sizes of sites that gives the shape its mean
// number of pages a site.
func (s *Shape) Exponent() float64 { return solveTail(s.Pages, s.Sites, s.Cap).exponent }

// Check names the first field that makes no sense.
func (s *Shape) Check() error {
	switch {
	case s.Pages < 1 || s.Sites < 1:
		return fmt.Errorf("a web of %d pages on %d sites: %w", s.Pages, s.Sites, ErrEmpty)
	case s.Pages > MaxPages:
		return fmt.Errorf("a web of %d pages; at most %d are possible", s.Pages, MaxPages)
	case s.Sites > s.Pages:
		return fmt.Errorf("%d pages are too few for %d sites", s.Pages, s.Sites)
	case s.Cap < 1 || float64(s.Cap)*float64(s.Sites) < float64(s.Pages):
		return fmt.Errorf("%d sites of at most %d pages cannot hold %d", s.Sites, s.Cap, s.Pages)
	case float64(s.Pages)*(s.Links+1) > MaxLinks:
		return fmt.Errorf("%d pages with %v links each; at most %d links are possible", s.Pages, s.Links, MaxLinks)
	case s.MenuPages < 1 || s.NearPages < 1:
		return fmt.Errorf("links need at least one page to choose from; MenuPages is %d, NearPages %d", s.MenuPages, s.NearPages)
	case s.LinkMax < 1 || s.LinkMax > MaxPages:
		return fmt.Errorf("a page may have at most %d links", s.LinkMax)
	case !(s.Popular > 1 && s.In > 2):
		return fmt.Errorf("the exponents are %v for sites and %v for pages; they must be above 1 and 2", s.Popular, s.In)
	}
	for _, f := range [...]struct {
		name   string
		at, to float64
	}{
		{"Isolated", s.Isolated, 1}, {"IsolatedPages", s.IsolatedPages, 1}, {"Dangling", s.Dangling, 1}, {"Away", s.Away, 1},
		{"Home", s.Home, 1}, {"Menu", s.Menu, 1}, {"Near", s.Near, 1}, {"Menu and Near together", s.Menu + s.Near, 1},
		{"Share", s.Share, 1},
		{"Links", s.Links, 1e6}, {"LinkSigma", s.LinkSigma, 10}, {"Size", s.Size, 2}, {"Bush", s.Bush, 1e6}, {"Popular", s.Popular, 1e6}, {"In", s.In, 1e6},
	} {
		if !(f.at >= 0 && f.at <= f.to) {
			return fmt.Errorf("%s is %v; it must be between 0 and %v", f.name, f.at, f.to)
		}
	}
	if err := s.checkSpreads(); err != nil {
		return err
	}
	sum := 0.0
	for _, e := range s.Ends {
		if e.Outcome > MaxEnd {
			return fmt.Errorf("pages end in outcome %d; an end is between 0 and %d", e.Outcome, MaxEnd)
		}
		if !(e.Share >= 0) {
			return fmt.Errorf("a share of %v of the pages ends in outcome %d", e.Share, e.Outcome)
		}
		sum += e.Share
	}
	if !(sum <= 1) {
		return fmt.Errorf("shares of the ends of pages sum to %v", sum)
	}
	return nil
}

// checkSpreads looks at all that sizes and servers are drawn from.
func (s *Shape) checkSpreads() error {
	if s.MinBytes < 0 || s.MaxBytes < s.MinBytes || int64(s.MaxBytes) > math.MaxUint32 {
		return fmt.Errorf("%d to %d bytes a page are out of range", s.MinBytes, s.MaxBytes)
	}
	for _, f := range [...]struct {
		name string
		at   float64
	}{{"Delayed", s.Delayed}, {"AgainShare", s.AgainShare}} {
		if !(f.at >= 0 && f.at <= 1) {
			return fmt.Errorf("%s is %v; it must be between 0 and 1", f.name, f.at)
		}
	}
	for _, f := range [...]struct {
		name string
		Spread
		least, most float64
	}{
		{"Bytes", s.Bytes, 0, 1e9}, {"Speed", s.Speed, 1, 1e9}, {"Latency", s.Latency, 0, 1e6}, {"Again", s.Again, 0, 1e6}, {"Delay", s.Delay, 0, 1e6},
	} {
		if !(f.Median >= f.least && f.Median <= f.most && f.Sigma >= 0 && f.Sigma <= 4) {
			return fmt.Errorf("%s has median %v and sigma %v; they must be between %v and %v, and between 0 and 4", f.name, f.Median, f.Sigma, f.least, f.most)
		}
	}
	return nil
}
