package frontier

import "math"

// SiteOPIC takes the site at which the most cash is queued, and of it the page
// with the most (Abiteboul et al. 2003, "OPIC", carried over to sites). Every
// seed starts with some cash; a page that is fetched hands its own on, in equal
// parts, to the pages that it links to. So a site goes first for many good
// pages as for one very good one.
//
// Pages within one step of each other keep their order of discovery.
type SiteOPIC struct{}

func (SiteOPIC) Name() string { return "siteopic" }

func (SiteOPIC) Place(_ uint16, score float32, n uint64) Place {
	return Place{Class: class(score), Seq: n}
}

// Site turns the cash into a whole number of the same order: the bits of a
// float that is not negative are that already.
func (SiteOPIC) Site(v View) int64 { return -int64(math.Float64bits(max(v.Cash, 0))) }

func (SiteOPIC) Traits() Traits { return Traits{Splits: true, ByCash: true} }
