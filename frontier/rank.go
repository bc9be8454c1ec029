package frontier

import (
	"fmt"
	"strings"
)

// Place is where an entry stands in its site's queue: by class, then by seq.
type Place struct {
	Class uint8
	Seq   uint64
}

// Before says that p comes earlier in the queue than q.
func (p Place) Before(q Place) bool {
	return p.Class < q.Class || p.Class == q.Class && p.Seq < q.Seq
}

// After returns the place right behind p.
func (p Place) After() Place {
	if p.Seq == ^uint64(0) {
		return Place{Class: p.Class + 1}
	}
	return Place{p.Class, p.Seq + 1}
}

// Entry is one page waiting in a site's queue.
type Entry struct {
	Hash    uint64 // with the site, the page's key
	Place   Place
	Depth   uint16
	Hops    uint8 // redirects, or sitemap indexes, on the way here
	Attempt uint8 // earlier tries
	Root    bool
	Version uint8 `json:",omitempty"` // of the program that asked for it
	Away    bool  `json:",omitempty"` // the program of now does not ask for it
	Counted bool  `json:",omitempty"` // it was fetched before, and is among its site's pages: budgets have nothing to say
	Score   float32
	Rest    string // of its URL; the frontier only passes it on, and shows it to the site's robots rules
}

// View is what a Ranking may know of a site when it orders sites.
type View struct {
	Queued int64   // pages waiting
	Head   Place   // the first of them, or the best it could be
	Cash   float64 // the sum of their scores, or what it was less than a Step ago
}

// Traits are what an order needs of those who keep its queue.
type Traits struct {
	// A page that ends hands its score on in equal parts to the pages that it
	// leads to. They add up; else every page starts with the score of the one
	// that brought it, and keeps it.
	Splits bool
	// Site looks at nothing but the cash, so nothing else need be fetched for it.
	ByCash bool
	// From time to time all pages are ranked by the links seen so far.
	Ranked bool
	// Only pages before the class Outside may be taken.
	Batched bool
}

// Ranking is a strategy: it orders sites, and pages within a site. It must be
// a pure function of its arguments.
type Ranking interface {
	Name() string
	// Place says where a new page goes in its site's queue; n counts the
	// pages the site has had, so that equal pages keep their order.
	Place(depth uint16, score float32, n uint64) Place
	// Site returns the site's key; sites with smaller keys go first.
	Site(v View) int64
	Traits() Traits
}

// rankings are the orders of --order, the default first.
var rankings = []Ranking{SiteOPIC{}, Length{}, Depth{}, DepthFlat{}, SiteRank{}, OPIC{}, Partial{}, Batches{}, Score{}, Optimal{}}

// Order returns the Ranking with this name.
func Order(name string) (Ranking, error) {
	var names []string
	for _, r := range rankings {
		if r.Name() == name {
			return r, nil
		}
		names = append(names, r.Name())
	}
	return nil, fmt.Errorf("no order is called %q; there are %s", name, strings.Join(names, ", "))
}

// Orders are the names of all orders, the default first.
func Orders() []string {
	names := make([]string, len(rankings))
	for i, r := range rankings {
		names[i] = r.Name()
	}
	return names
}
