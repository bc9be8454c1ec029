// Package node drives one live crawl: it owns the clock, the goroutines and the
// connections, hands the Engine's orders to those who carry them out, and
// brings their answers back.
//
//	             orders                          facts, record
//	Engine loop --------> visit (one a host) ----------------> committer
//	  ^   ^  |            fetch; with a tool: parse,            Ledger, store:
//	  |   |  |            canonicalise, hash, compress          one group at a time
//	  |   |  +--> lookup (names)          |                         |
//	  |   +------- Done, Resolved --------+                         |
//	  +----------- Committed, Loaded -------------------------------+
//
// Three rules keep it from deadlock. The loop never blocks: every order it
// sends has room, because the Engine issues orders on credit. Whoever sends to
// the loop may block, and holds nothing that the loop needs. Pages wait for the
// committer, the committer waits for the loop, the loop waits for nobody.
//
// What a kill can cost is fixed by the order of writes in internal/store: a
// page is fetched again only if it was ordered and not yet committed.
//
// Read run.go for the life of a run, then loop.go, visit.go, commit.go.
package node
