// Package survey estimates what sites hold before they are crawled: how many
// pages, how many bytes these take on the wire, and how fast they come.
//
// There are three sources, each dearer and better than the one before:
//
//   - [FromCrawl] reads a crawl folder: what was fetched, and what was queued.
//   - [Sitemaps] asks sites what they say of themselves.
//   - [Sample] does so too, then crawls a few pages of each site into a folder of
//     its own, and removes it: some by links, some drawn from the sitemaps, which
//     also tells how far these can be believed.
//
// All manners of a crawl hold for a survey: robots.txt, one connection to a host
// at a time, the wait between visits, the limit on the link, the name it gives.
// Sites are strangers: every number they bring is bounded, and what they did is
// told in the Estimate, not as an error of ours.
//
// Read Estimate first, then folder.go, sitemap.go, sample.go and links.go.
package survey

import (
	"errors"
	"time"

	"weir/internal/node"
)

// Estimate is what is believed of one site.
type Estimate struct {
	Host  string // as it was asked for
	Pages int64  // that it has, those that only redirect or are missing among them
	Size  float64

	// Size lies between Low and High four times in five, as far as the pages that
	// were seen can tell. With More they cannot tell all: pages were still being
	// found when the source ended, and Size is rather the least.
	Low, High float64
	More      bool
	// Least says that the pages were counted, none of them guessed: there are as many
	// at least.
	Least bool

	Fetched   int64         // pages that were had, by the crawl or the sample
	Queued    int64         // pages that it knew of besides
	PageBytes float64       // that an answer takes on the wire, packet headers apart; 0: not known
	PageTime  time.Duration // from a request to the end of its answer
	Speed     float64       // bytes a second while it answers; 0: not known
	Held      bool          // a limit of our own may have slowed it: it may be faster
	Delay     time.Duration // crawl-delay

	How string // where the numbers come from, for people
	Err error  // why there are none, or not all; ErrUnknown for one

	doubt float64 // in PageBytes, see meanDoubt
}

// ErrUnknown says that a crawl has nothing of a host.
var ErrUnknown = errors.New("the crawl does not know it")

// Config says how sites are asked.
type Config struct {
	// Crawl is a crawl as the user wants it: manners, identity, network, limits. Dir
	// and Seeds are not looked at, nor are bounds on the whole crawl; its scope is the host.
	Crawl node.Config

	Pages int           // of each site in a sample; 20 when 0
	Files int           // sitemaps that are read of each site; 200 when 0
	Time  time.Duration // for all of it; 2 minutes when 0. What was had by then counts

	TempDir string // for the sample; the system's when ""

	// Progress is told how it goes, by one goroutine at a time: it must return
	// soon.
	Progress func(Progress)
}

// Progress is how a survey is doing.
type Progress struct {
	Stage string // "sitemaps", then "sample"
	Sites int    // all of them
	Done  int    // whose sitemaps are read
	Pages int64  // listed by sitemaps, or fetched for the sample
}

func (c Config) withDefaults() Config {
	if c.Pages <= 0 {
		c.Pages = 20
	}
	if c.Files <= 0 {
		c.Files = 200
	}
	if c.Time <= 0 {
		c.Time = 2 * time.Minute
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	return c
}
