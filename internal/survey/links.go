package survey

import (
	"fmt"
	"math"
	"slices"

	"weir/crawl"
	"weir/page"
)

// looks are what the pages of a site that were looked at link to there, by the
// names of pages: each page once. Those that link to nothing are left out.
type looks [][]uint64

// look reads the links of a sample, whose sites belong to targets. It holds the
// names of all pages in memory.
func (f *folder) look(owners map[page.SiteID][]int, out []measured) error {
	sites := map[uint64]page.SiteID{} // of pages, by name
	note := func(p *crawl.PageInfo) bool {
		sites[crawl.Name(p.Key)] = p.Key.Site
		return true
	}
	for _, scan := range []func(func(*crawl.PageInfo) bool) error{f.Pages, f.Queue, f.Parked} {
		if err := scan(note); err != nil {
			return fmt.Errorf("read the pages of the sample: %w", err)
		}
	}
	return crawl.ReadLinks(f.store, math.MaxInt64, func(from uint64, to []uint64) bool {
		site, ok := sites[from]
		if !ok || len(owners[site]) == 0 {
			return true
		}
		var own []uint64
		for _, name := range to {
			if at, ok := sites[name]; ok && at == site {
				own = append(own, name)
			}
		}
		slices.Sort(own)
		if own = slices.Compact(own); len(own) == 0 {
			return true
		}
		for _, i := range owners[site] {
			out[i].looks = append(out[i].looks, own)
		}
		return true
	})
}

// hubLinks is how many times as many links as usual make a page a hub.
const hubLinks = 4

// proven is how many pages of a hub others must lead to before it is believed.
const proven = 5

// split tells hubs from other pages: a list of all articles, a map of the site.
func (ls looks) split() (hubs, others looks) {
	sizes := make([]int, len(ls))
	for i, l := range ls {
		sizes[i] = len(l)
	}
	slices.Sort(sizes)
	for _, l := range ls {
		if len(l) > hubLinks*sizes[(len(sizes)-1)/2] {
			hubs = append(hubs, l)
		} else {
			others = append(others, l)
		}
	}
	return hubs, others
}

// unseen returns how many pages none of the looks leads to, and the doubt in that.
//
// Most pages that a hub leads to are met nowhere else, which says nothing of how
// many there are. So a hub is taken for a catalogue, as good as it proves: pages
// that the others lead to once are in it or not, and those that they do not lead
// to are held to be so in the same proportion (Chapman's form of Lincoln and
// Petersen's estimate). Until it has proven, what the others tell by themselves
// bounds that.
func (ls looks) unseen() (pages, doubt float64) {
	hubs, others := ls.split()
	times := map[uint64]int{}
	for _, l := range others {
		for _, name := range l {
			times[name]++
		}
	}
	listed := map[uint64]bool{}
	for _, l := range hubs {
		for _, name := range l {
			listed[name] = true
		}
	}
	var once, twice, fresh int64 // fresh: once, and in no hub
	hidden := float64(len(listed))
	for name, n := range times {
		switch {
		case n == 1 && !listed[name]:
			once++
			fresh++
		case n == 1:
			once++
		case n == 2:
			twice++
		}
		if listed[name] {
			hidden--
		}
	}
	pages, doubt = unseen(int64(len(others)), once, twice)
	if len(hubs) == 0 {
		return pages, doubt
	}
	rest := max(0, pages-hidden)
	caught := float64(once - fresh)
	if missing := hidden * float64(fresh) / (caught + 1); caught >= proven || missing < rest {
		return missing, z * math.Sqrt(1/max(float64(fresh), 1)+1/(caught+1))
	}
	if rest == 0 {
		return 0, 0
	}
	return rest, math.Log((pages*math.Exp(doubt) - hidden) / rest)
}
