package frontier

import "weir/page"

// A page counts against the budgets of its site and domain from when it is begun. If it
// comes to nothing, or is to be tried again, that is taken back. One that was fetched
// before and waits to be fetched again is Counted: it keeps its place under the budgets
// while it waits, and loses it only if in the end it cannot be had.

// Begun is what a request for a page adds to the pages of its site.
func Begun(counted bool) int64 {
	if counted {
		return 0
	}
	return 1
}

// Ended is what its answer adds to them.
func Ended(counted bool, o page.Outcome, attempt uint8) int64 {
	final := o.Final(attempt)
	if final && o.Row().Answer || counted && !final {
		return 0
	}
	return -1
}

// Declined is what is added when a page is not asked for after all.
func Declined(counted bool) int64 {
	if counted {
		return -1
	}
	return 0
}

// Correct adds to the pages that a site has had, if it is known: what was handed out came
// to something else than was said.
func (f *Frontier) Correct(id page.SiteID, pages int64) {
	if s := f.sites.find(id); s != nil {
		f.use(s, pages)
	}
}

// Recount says how many pages a site that comes back after Drop has had, if it is still
// known. Others may have fetched some meanwhile.
func (f *Frontier) Recount(id page.SiteID, pages int64) {
	if s := f.sites.find(id); s != nil {
		s.dropped = false
		f.use(s, pages-s.used)
	}
}

// use adds to the pages that a site and its domain have had.
func (f *Frontier) use(s *site, pages int64) {
	if s.used += pages; f.cfg.DomainPages > 0 {
		f.domains[page.Domain(s.host.name)] += pages
	}
}
