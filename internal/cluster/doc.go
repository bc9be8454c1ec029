// Package cluster carries what the nodes of one crawler say to one another: it
// keeps the partitions' logs, the nodes' sessions and the partitions' owners
// safe on several machines, and brings each node what the others wrote. It is an
// [overlay.Carrier]; who owns what, and what a record means, overlay decides.
//
// Every node embeds a NATS server. Three or five of them also store (JetStream:
// Raft groups, three copies of everything), the others only take part. What is
// kept:
//
//	logs 0 to 3   the batches of the partitions: partition p is in log p mod 4,
//	              subject l.(p mod 4); a message is a bundle of batches for several
//	              of its partitions, their offset the message's sequence number
//	members       m.NAME, the node's session; empty when it has ended (member.go)
//	owners        o.PART, changed by compare-and-swap; the revision is the epoch
//	              r.NAME, a node that was removed
//	crawls        c.NAME, what was submitted
//
// An append is acknowledged when two of three nodes have it in their logs, and on
// disk a second later. A node that keeps a log reads its own copy, one that does not
// asks a node that does for what it follows (read.go, source.go). Reading goes on
// where it stopped after whatever happened to a server: a batch may come twice, none
// is left out.
//
// A node listens on two ports. At the first one, the lobby (lobby.go), it answers
// those who want to join and those who ask questions from the command line; there
// a node of another cluster, of another version or of a name that is taken is
// turned away before any server hears of it, and both sides are told why. The
// second is the servers' own. Both speak TLS 1.3 with certificates of the
// cluster's own authority on both ends (cert.go).
//
// Clusters are founded once (found.go): as many nodes as are expected find one
// another, all of them promise themselves to one proposal, and from then on the
// cluster's identity is on disk (identity.go). A node that has one joins nothing
// else.
//
// Open, Node and every method are safe for concurrent use. Tell, Warn and Log are
// called from several goroutines; the last two must not call the node.
package cluster
