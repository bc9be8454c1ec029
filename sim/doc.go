// Package sim crawls a web that is only numbers, on a clock that is only a
// number: days of crawling in seconds.
//
// It is a driver of crawl.Engine and crawl.Ledger, as internal/node is the live
// one. Both machines are the very same code; sim stands for what lies outside:
//
//	World   the clock and its heap of things to come, the web, the line
//	crawler one Engine and one Ledger; a World can hold many
//	names   URLs for numbered pages, and back
//	rules   the links of a page as rows for the Ledger
//	rows    the Ledger's store, in memory
//	Cluster a World whose crawlers are nodes of one crawl: each has an overlay.Member
//	        besides, and sim/mesh carries what they say
//
// A page costs its site's latency, then its bytes flow over the line, shared
// with all other downloads (sim/link). Its site may become slower or faster
// meanwhile (Change). What is learned is durable a moment
// later. Under a limit of the crawl's own the line tells the Engine what it
// carries ten times a second, as the limiter of a live crawl does.
//
// Nothing here waits, and nothing depends on the machine: things happen in the
// order of their times and, at equal times, in the order they were planned. The
// same web and Config give the same Result, trace hash included.
package sim
