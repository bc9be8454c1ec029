package crawl

import (
	"time"

	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// Rules decide what a page's facts mean: which pages to crawl for them, and
// what else to keep. The Ledger calls them once for every page that ends, and
// again when its facts are delivered again, in commit order; what they return is
// durable together with the page. An error means that the store failed.
type Rules interface {
	// Start tells what holds without any page, and which waits and which end earlier
	// runs have derived.
	Start(out *Out) error
	// Page takes the facts of a page, or those of a seed: its outcome is page.None.
	Page(f *page.Facts, out *Out) error
	// Crawled takes a row of the crawl table that is new or better, if the
	// LedgerConfig's traits ask for it.
	Crawled(u page.URL, depth uint16, score float32, out *Out) error
	// Committed says that what was put until now is in the store.
	Committed()
}

// RuleTraits are what rules need beyond the facts of pages.
type RuleTraits struct {
	Crawled  bool // to hear of every row of the crawl table
	Depth    bool // a depth that improves after the page ended means more
	Score    bool // and so does a score
	Ends     bool // how a page ended means something, also when it has no facts
	Priority bool // a page has the greatest score of all that lead to it, not the first
	Robots   bool // to hear of robots.txt, also when it was fetched under another program
}

// Out is what Rules derive.
type Out struct {
	Crawl []Row
	Put   []Pair // changes of the rules' own part of the store
	Stop  string // why the crawl shall stop; "" = it goes on
	Waits []Wait
	Send  []Sent // of a crawl that is shared: rows on their way to other partitions
	Stale bool   // the facts of pages that ended before may mean more now
	Quit  bool   // one of several programs asks for nothing more: what waits may not be wanted any more
}

func (o *Out) reset() {
	clear(o.Crawl) // they hold on to the texts of pages
	clear(o.Send)
	*o = Out{Crawl: o.Crawl[:0], Put: o.Put[:0], Waits: o.Waits[:0], Send: o.Send[:0]}
}

// Row asks for a page to be crawled. Rules that know its site's number may tell
// it, which saves looking it up; a page that they have asked for before then
// needs no URL.
type Row struct {
	URL   page.URL
	Site  page.SiteID // 0: find it by the URL
	Hash  uint64
	Depth uint16
	Hops  uint8
	Root  bool
	Seed  bool
	Anew  bool // one of several programs has not seen the facts of the page: should it have ended, they are delivered again
	Hear  bool // nor of its site's robots.txt
	Score float32
	By    Rule

	since int64         // with Anew: should it have ended before, it is fetched again instead
	moves uint8         // how often it was handed on, see handon.go
	part  uint16        // of several programs that several nodes run: its partition
	bids  []overlay.Row // and what each of them asks, as far as its partition's log does not say so
}

// Sent is a row of a program on its way to another partition.
type Sent struct {
	Program uint8
	flow.Tuple
}

// plain says that of a page that is known only its depth could be better.
func (r *Row) plain() bool { return !r.Seed && !r.Root && !r.Anew }

// Pair is one key and its value; keys are the rules' own. Gone means that there
// is no such key any more.
type Pair struct {
	Key, Value []byte
	Gone       bool
}

// Wait is how long a host rests at least, because the rules say so.
type Wait struct {
	Host  string
	Delay time.Duration
}
