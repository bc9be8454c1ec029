// Package frontier decides which page is asked for next, and when.
//
// It is the two-level queue of Castillo (2004, section 6.2): sites above, the
// pages of a site below. [Ranking] orders both; one file holds each. Over the
// two levels lies politeness, which is never traded for anything:
//
//   - one connection to a host at a time, at most PerConn pages on it (c), or
//     up to so many as the backlog asks for (auto.go);
//   - after it, a rest: Wait (w), or as long as the last answer took, or what
//     robots.txt asks for, whichever is longest; a crawl-delay also holds
//     between the requests of one connection;
//   - at most Conns connections (r), at most PerServer to one address;
//   - failures make a host rest longer, by the table in package page.
//
// Hosts can be urgent (urge.go): they go before all others, past a Gate that is
// shut for those, and connections are kept for them. Their waits are the same.
//
// Only heads of queues are in memory. The whole queue lies on disk and belongs
// to the Ledger; a site's window holds its first entries, and when it is used
// up [Frontier.Next] asks for more. The caller answers with [Frontier.Loaded].
// Entries that were handed out stay on disk until what became of them is
// durable, so the frontier remembers which those are and skips them when they
// are read again.
//
// Sites and hosts without work are forgotten, but not what politeness needs of
// them; forget.go says how. So the caller describes a site with [Frontier.Add]
// whenever it has news of it. What waits is kept small: about 250 bytes for a
// site with its host.
//
// The life of a host: it has work -> its rest is over (timers) -> it is its
// turn (ready) -> its name is resolved, its address has room -> the [Gate] lets
// it pass, if there is one -> the site's window is filled -> its robots.txt is
// known -> pages, one at a time -> it rests. Read host.go and site.go first, then
// next.go, which is that sentence as code.
//
// Nothing here reads a clock, starts a goroutine or depends on map order: equal
// calls give equal answers. No operation but the one Stop, and Sites, which names
// them all, is linear in the number of sites. Not safe for concurrent use; the Engine owns it.
package frontier
