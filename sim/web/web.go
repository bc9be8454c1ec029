// Package web keeps webs as numbers: which page lies on which site, which
// pages it links to, how many bytes it has, and how fast its server answers.
// The laboratory crawls these webs in place of the real one.
//
// A web comes from one of four places:
//
//   - Generate makes one up from a Shape; Preset names the shapes in use;
//   - ReadEdges reads a text that a person can write;
//   - ReadAdjacency and ReadPairs read bare graphs, such as cnr-2000 of the LAW
//     datasets and those of SNAP;
//   - Read reads a file that Write wrote, such as a crawl that was recorded.
//
// Load tells a file of Write's from a text by its first bytes. The two forms of
// bare graphs look alike, so that they must be asked for. Every reader hands out
// webs that pass Check, or an error.
//
// # A web as text
//
// One line a site, page, seed or link; fields are separated by blanks or tabs;
// empty lines and lines that begin with # are skipped; the whole may be
// compressed with gzip:
//
//	# two sites, four pages
//	site http://a.example speed=20000 latency=0.8 again=0.3 delay=10
//	page http://a.example/ 23000
//	page http://a.example/news 5100
//	page http://b.example/ 812
//	page http://b.example/gone 300 end=3
//	seed http://a.example/
//	http://a.example/ http://a.example/news
//	http://a.example/news http://b.example/
//	http://b.example/ http://b.example/gone
//
// A line of two addresses is a link from the first page to the second. The
// site of a page is its address up to the path. Numbers are bytes, bytes per
// second and seconds; end is the number of a page.Outcome, at most MaxEnd. What a line leaves
// out, and sites that have no line, are drawn as the fill of ReadEdges says.
// The first page of a site becomes its home page. Lines may come in any order,
// but a link between pages that no page line names is refused, unless the text
// has no page lines at all: then it is a plain list of edges, and every
// address in it is a page.
//
// # A web as a file
//
// By convention the name ends in .weirweb. The file is one gzip stream (whose
// checksum guards it) of the fields below; numbers are varints as in
// encoding/binary, strings are a length and their bytes, and floats are eight
// bytes, least first:
//
//	"weirweb\n"
//	version        1
//	flags          1 ends, 2 seeds, 4 paths
//	name
//	sites, pages, links
//	for each site: name, pages, speed, latency, again, delay
//	for each page: size, number of links, links, [end], [path]
//	[number of seeds, seeds]
//
// A link is the signed difference from the link before it, the first one from
// the page itself; a seed is the difference from the seed before it.
package web

import (
	"errors"
	"fmt"
	"strconv"
)

// A web holds at most so many pages and links, so that numbers fit and a
// hostile file is refused before it has eaten the memory.
const (
	MaxPages = 1 << 26
	MaxLinks = 1 << 29
)

// A site sends at most and at least so many bytes a second, and none of its
// times is longer than a year: beyond that a simulation would leave what its clock
// can count.
const (
	MinSpeed = 1
	MaxSpeed = 1e12
	MaxTime  = 366 * 24 * 3600 // seconds
)

// MaxEnd is the largest number in Web.End. The numbers are those of page.Outcome;
// larger ones stand for pages that were never asked for, or that are asked for
// again for ever.
const MaxEnd = 21

// Web is a web graph. Pages are numbered so that a site's pages lie together,
// its home page first. The slices belong to the Web and are only read once it
// is made, so that any number of simulations may share one.
type Web struct {
	Name string

	// Sites are the servers; site s has the pages First[s] to First[s+1], and
	// First[len(Sites)] is the number of pages. No site is empty.
	Sites  []Site
	First  []uint32
	SiteOf []uint32 // the site of each page

	// Page p links to Adj[Off[p]:Off[p+1]]: each target once, in the order in
	// which they stand on the page. A page that did not end well has no links;
	// a redirect links to its target.
	Off, Adj []uint32

	Size []uint32 // bytes on the wire of each page
	End  []uint8  // how a visit ends, as numbers of page.Outcome up to MaxEnd; 0, or nil for all: the page is fine

	// Seeds are the pages where a crawl begins; nil: every home page, as in
	// Castillo, who began with the names registered under .cl.
	Seeds []uint32

	// Path holds the path of each page; nil: the paths are made up.
	Path []string
}

// Site is one server as a crawler sees it. Times are seconds.
type Site struct {
	Name    string  // scheme and host, http://a.example; empty: made up
	Speed   float64 // bytes per second it sends at most; B_i^MAX in Castillo, section 6.1
	Latency float64 // from the request to the first byte, on a new connection (connecting included)
	Again   float64 // the same on a connection that is open already
	Delay   float64 // the crawl-delay of its robots.txt; 0: none
}

// Pages is the number of pages.
func (w *Web) Pages() int { return len(w.SiteOf) }

// Links is the number of links.
func (w *Web) Links() int { return len(w.Adj) }

// Bytes is the size of all pages together.
func (w *Web) Bytes() float64 {
	var sum uint64
	for _, n := range w.Size {
		sum += uint64(n)
	}
	return float64(sum)
}

// Out returns the pages that page p links to.
func (w *Web) Out(p uint32) []uint32 { return w.Adj[w.Off[p]:w.Off[p+1]] }

// SiteName is the scheme and host of site s.
func (w *Web) SiteName(s uint32) string {
	if name := w.Sites[s].Name; name != "" {
		return name
	}
	return "http://s" + strconv.Itoa(int(s)) + ".example"
}

// URL is the address of page p.
func (w *Web) URL(p uint32) string {
	s := w.SiteOf[p]
	switch {
	case w.Path != nil:
		return w.SiteName(s) + w.Path[p]
	case p == w.First[s]:
		return w.SiteName(s) + "/"
	}
	return w.SiteName(s) + "/" + strconv.Itoa(int(p-w.First[s]))
}

// Starts returns the pages where a crawl begins: the seeds, or every home
// page.
func (w *Web) Starts() []uint32 {
	if w.Seeds != nil {
		return w.Seeds
	}
	return w.First[:len(w.Sites)]
}

// ErrNumbers says that a text holds bare numbers, which can be read in two ways.
var ErrNumbers = errors.New("numbers without addresses: they may be links from the first page to the second, or all links of the page that the line stands for")

// ErrEmpty says that a web has no pages.
var ErrEmpty = errors.New("the web is empty: it has no pages")

// Check holds the web against everything its documentation promises and names
// the first fault.
func (w *Web) Check() error {
	n, m := len(w.SiteOf), len(w.Sites)
	switch {
	case n == 0:
		return ErrEmpty
	case n > MaxPages:
		return fmt.Errorf("the web has %d pages; at most %d are possible", n, MaxPages)
	case len(w.Adj) > MaxLinks:
		return fmt.Errorf("the web has %d links; at most %d are possible", len(w.Adj), MaxLinks)
	case len(w.First) != m+1:
		return fmt.Errorf("%d sites need %d first pages, not %d", m, m+1, len(w.First))
	case w.First[0] != 0 || int(w.First[m]) != n:
		return fmt.Errorf("the sites hold pages %d to %d, not 0 to %d", w.First[0], w.First[m], n)
	case len(w.Off) != n+1:
		return fmt.Errorf("%d pages need %d offsets of links, not %d", n, n+1, len(w.Off))
	case w.Off[0] != 0 || int(w.Off[n]) != len(w.Adj):
		return fmt.Errorf("the pages hold links %d to %d, not 0 to %d", w.Off[0], w.Off[n], len(w.Adj))
	case len(w.Size) != n:
		return fmt.Errorf("%d pages have %d sizes", n, len(w.Size))
	case w.End != nil && len(w.End) != n:
		return fmt.Errorf("%d pages have %d ends", n, len(w.End))
	case w.Path != nil && len(w.Path) != n:
		return fmt.Errorf("%d pages have %d paths", n, len(w.Path))
	case w.Seeds != nil && len(w.Seeds) == 0:
		return errors.New("the web has no seeds: leave them out to begin at every home page")
	}
	for s := range w.Sites {
		if w.First[s] >= w.First[s+1] {
			return fmt.Errorf("site %d (%s) has no pages", s, w.SiteName(uint32(s)))
		}
		if int(w.First[s+1]) > n {
			return fmt.Errorf("site %d (%s) has page %d of %d: unknown page", s, w.SiteName(uint32(s)), w.First[s+1]-1, n)
		}
		if err := w.Sites[s].check(); err != nil {
			return fmt.Errorf("site %d (%s): %w", s, w.SiteName(uint32(s)), err)
		}
		for p := w.First[s]; p < w.First[s+1]; p++ {
			if w.SiteOf[p] != uint32(s) {
				return fmt.Errorf("page %d is among the pages of site %d, but says it is of site %d", p, s, w.SiteOf[p])
			}
			if w.End != nil && w.End[p] > MaxEnd {
				return fmt.Errorf("page %d (%s) ends in outcome %d; an end is between 0 and %d", p, w.URL(p), w.End[p], MaxEnd)
			}
		}
	}
	seen := make([]uint32, n) // the last page that linked here, plus one
	for p := range n {
		if w.Off[p] > w.Off[p+1] || int(w.Off[p+1]) > len(w.Adj) {
			return fmt.Errorf("page %d has the links %d to %d of %d", p, w.Off[p], w.Off[p+1], len(w.Adj))
		}
		for _, t := range w.Adj[w.Off[p]:w.Off[p+1]] {
			if int(t) >= n {
				return fmt.Errorf("page %d links to page %d of %d: unknown page", p, t, n)
			}
			if seen[t] == uint32(p)+1 {
				return fmt.Errorf("page %d links to page %d twice", p, t)
			}
			seen[t] = uint32(p) + 1
		}
	}
	clear(seen)
	for _, p := range w.Seeds {
		if int(p) >= n {
			return fmt.Errorf("page %d of %d is a seed: unknown page", p, n)
		}
		if seen[p] != 0 {
			return fmt.Errorf("page %d is a seed twice", p)
		}
		seen[p] = 1
	}
	return nil
}

func (s Site) check() error {
	if !(s.Speed >= MinSpeed && s.Speed <= MaxSpeed) {
		return fmt.Errorf("its speed is %v bytes per second; it must be between %v and %v", s.Speed, MinSpeed, MaxSpeed)
	}
	for _, t := range [...]struct {
		name string
		at   float64
	}{{"latency", s.Latency}, {"latency on an open connection", s.Again}, {"crawl-delay", s.Delay}} {
		if !(t.at >= 0 && t.at <= MaxTime) {
			return fmt.Errorf("its %s is %v s; it must be between 0 and %v, which is a year", t.name, t.at, MaxTime)
		}
	}
	return nil
}
