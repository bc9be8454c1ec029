package frontier

// SiteRank is SiteOPIC with ranks for cash: all pages are ranked now and then,
// and the site goes first whose waiting pages have the highest ranks in sum. As
// every page has some rank, it goes by the number of pages too. It wins where
// links lead to large flat sites, and loses to SiteOPIC elsewhere, for more work
// (docs/results.md, "The laboratory").
type SiteRank struct{ SiteOPIC }

func (SiteRank) Name() string { return "siterank" }

func (SiteRank) Traits() Traits { return Traits{Splits: true, Ranked: true} }
