package sim

import (
	"weir/crawl"
	"weir/page"
)

// links are the Ledger's rules in a simulated crawl: every link leads into the
// crawl. What was told before, at no greater depth, the Ledger would find known;
// unless it wants to hear of every link it is not told again, which spares it
// nine rows of ten. Where nodes share a crawl it is told everything, as live.
type links struct {
	n     *names
	all   bool      // the order wants every link
	least []uint8   // by page: one more than the least depth it was told with; 0 = it was not. Nil: nobody notes it
	ranks []float32 // what the oracle says of every page; nil = nobody asks it
	page  uint32    // the one that the facts are about
	seed  bool
	ids   []page.SiteID // the Ledger's numbers of the web's sites; 0 = it has none yet. Nil: it is told names
	store *rows
	rows  []target
	text  []byte
	sum   uint8 // of what was looked at
}

// score is what a row says of page p, found with so much.
func (l *links) score(p uint32, with float32) float32 {
	if l.ranks == nil {
		return with
	}
	return l.ranks[p]
}

// news says that a page was not told with this depth or a lesser one, and notes
// that it is now. From a depth of 254 on everything is told.
func (l *links) news(p uint32, depth uint16) bool {
	if l.least == nil {
		return true
	}
	d := uint8(min(depth, 254)) + 1
	if old := l.least[p]; !l.all && old != 0 && old <= d && d < 255 {
		return false
	}
	l.least[p] = d
	return true
}

// told says that the Ledger knows of a page, or will with this group.
func (l *links) told(p uint32) bool { return l.least != nil && l.least[p] != 0 }

// site is the Ledger's number of a page's site, if that is known.
func (l *links) site(p uint32) page.SiteID {
	if l.ids == nil {
		return 0
	}
	return l.ids[l.n.w.SiteOf[p]]
}

// Page implements crawl.Rules. The URLs of all links lie in one text, as those
// of a page that was read do.
func (l *links) Page(f *page.Facts, out *crawl.Out) error {
	if f.Robots {
		return nil
	}
	if l.seed {
		l.news(l.page, 0)
		out.Crawl = append(out.Crawl, crawl.Row{URL: f.URL, Hash: l.n.hash(l.page), Root: true, Seed: true, Score: f.Score, By: crawl.BySeed})
		return nil
	}
	row := crawl.Row{Depth: f.Depth + 1, By: crawl.ByLink}
	switch {
	case f.Outcome == page.Redirected: // leads to where the page now is
		row = crawl.Row{Depth: f.Depth, Hops: f.Hops + 1, Root: f.Root, By: crawl.ByRedirect}
	case !f.Outcome.Row().Kept:
		return nil
	}
	w := l.n.w
	l.text, l.rows = l.text[:0], l.rows[:0]
	to := w.Out(l.page)
	for _, p := range to { // they lie far apart: nothing waits for one before the next is looked for
		if l.least != nil {
			l.sum += l.least[p]
		}
		if l.all {
			l.sum += uint8(w.SiteOf[p]) + uint8(l.n.hashes[p])
		}
	}
	for _, p := range to {
		known := l.told(p)
		if !l.news(p, row.Depth) {
			continue
		}
		to := target{page: p, site: l.site(p)}
		if !known || to.site == 0 {
			l.text = append(l.text, l.n.site(w.SiteOf[p])...)
			l.text = l.n.rest(l.text, p)
			to.end = len(l.text)
		}
		l.rows = append(l.rows, to)
	}
	text, from := string(l.text), 0
	for _, to := range l.rows {
		row.URL, row.Site, row.Hash, row.Score = page.URL{}, to.site, l.n.hash(to.page), l.score(to.page, f.Score)
		if to.end > 0 {
			l.store.near(to.site, row.Hash)
			row.URL = page.Canonical(text[from:to.end])
			from = to.end
		}
		out.Crawl = append(out.Crawl, row)
	}
	return nil
}

// Crawled implements crawl.Rules: the web knows where its links lead.
func (l *links) Crawled(page.URL, uint16, float32, *crawl.Out) error { return nil }

// Committed implements crawl.Rules.
func (l *links) Committed() {}

// Start implements crawl.Rules.
func (l *links) Start(*crawl.Out) error { return nil }

// target is where a link of the page leads.
type target struct {
	page uint32
	site page.SiteID // as the Ledger numbers it; 0 = not known
	end  int         // of its URL in the text; 0 = the Ledger needs none
}
