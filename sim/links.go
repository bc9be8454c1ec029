package sim

import (
	"weir/crawl"
	"weir/page"
)

// links are the Ledger's rules in a simulated crawl: every link leads into the
// crawl.
type links struct {
	n     *names
	ranks []float32 // given to what is found, if there are any
	page  uint32    // the one that the facts are about
	seed  bool
	ends  []int
	text  []byte
}

func (l *links) score(p uint32) float32 {
	if l.ranks == nil {
		return 0
	}
	return l.ranks[p]
}

// Page implements crawl.Rules. The URLs of all links lie in one text, as those
// of a page that was read do.
func (l *links) Page(f *page.Facts, out *crawl.Out) {
	if l.seed {
		out.Crawl = append(out.Crawl, crawl.Row{URL: f.URL, Hash: l.n.hash(l.page), Root: true, Seed: true, Score: f.Score, By: crawl.BySeed})
		return
	}
	if f.Robots || !f.Outcome.Row().Kept {
		return
	}
	w := l.n.w
	to := w.Adj[w.Off[l.page]:w.Off[l.page+1]]
	l.text, l.ends = l.text[:0], l.ends[:0]
	for _, p := range to {
		l.text = append(l.text, l.n.site(w.SiteOf[p])...)
		l.text = l.n.rest(l.text, p)
		l.ends = append(l.ends, len(l.text))
	}
	text, from := string(l.text), 0
	for i, p := range to {
		out.Crawl = append(out.Crawl, crawl.Row{
			URL: page.Canonical(text[from:l.ends[i]]), Hash: l.n.hash(p), Depth: f.Depth + 1, Score: l.score(p), By: crawl.ByLink,
		})
		from = l.ends[i]
	}
}
