package crawl

import "weir/page"

// Rules decide what a page's facts mean: which pages to crawl for them, and
// what else to keep. The Ledger calls them once for every page that ends, in
// commit order; what they return is durable together with the page.
type Rules interface {
	Page(f *page.Facts, out *Out)
}

// Out is what Rules derive from one page.
type Out struct {
	Crawl []Row
	Put   []Pair // kept under the rules' own part of the store
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
	Score float32
	By    Rule
}

// plain says that of a page that is known only its depth could be better.
func (r *Row) plain() bool { return !r.Seed && !r.Root }

// Pair is one key and its value; keys are the rules' own.
type Pair struct{ Key, Value []byte }
