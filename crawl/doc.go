// Package crawl joins the parts into two deterministic machines.
//
// The [Engine] decides what to do next. Events go in with the time they
// happened, orders come out; it knows memory only, never waits and never reads
// a clock. The [Ledger] turns what was learned into durable rows. It reads and
// writes through plain bytes, decides what is new, and never schedules.
//
//	Engine --Fetch--> driver: connect, read, parse --Facts--> Ledger
//	   ^                 |                                      |
//	   +-----Done--------+                                      |
//	   +-----Committed------------------ one durable batch -----+
//
// Done comes when the answer is in: the host's rest begins, bandwidth goes on.
// Committed comes when the page and the links found on it are durable: only
// then do they enter the frontier. Every order is issued on credit, so that the
// bounded queues between engine, committer and workers cannot deadlock.
//
// Under a limit the Engine also decides how much may flow, by rate, timetable
// and quota, and which visits fit into that; valve.go joins the frontier with
// package bandwidth there. The driver tells it what the wire did ([Wire]) and the
// time of day ([Wall]), and holds the [Limit] that it orders.
//
// Orders that split scores, or go by ranks, need more of the Ledger: it hands the
// score of a page that ended on to the pages it links to (purse.go), and takes the
// scores of a ranking that the Engine has ordered (rescore.go). Both change the
// places of pages that wait, and the Engine hears of that as of any other move.
//
// Sites may have deadlines ([Demand]). The Engine promises what can be kept, by
// plans that the driver makes beside it ([Plan], [Planned]), says whose pages and
// bytes go first ([Share]), and tells how it stands ([News]); promise.go, curve.go.
//
// The live driver (internal/node) and the simulator run these same machines.
// The Engine's events can be recorded ([Tracer]) and played again ([Replay]):
// the same events give the same orders.
//
// Both machines name a page by its site's number and a hash; the text of a URL
// is payload that they hand on.
package crawl
