// Package overlay decides who does what when several nodes are one crawler: which
// partition a page lives in, which node owns a partition, who may send a request
// to a host, and how a node's share of a common limit is found (Loo et al. 2004).
// There is no coordinator; every node runs a [Member] and they agree.
//
// The keyspace has a fixed number of partitions. A partition is a log of
// [Record]s that the nodes keep together, and whoever owns the partition follows
// its log, crawls what is queued in it and appends what it has done. All that a
// new owner must know is in the log: rows to crawl ([Tuples], [Shipped]),
// what was learned of hosts ([Hosts]), what has ended ([Done]), what was left to other
// partitions ([Handed]), and who took over when ([Taken]). Records only ever add, and a
// record that is read twice changes nothing: so a record may be appended again whenever
// it is not sure that it was. What Handed means hangs on where it lies, behind which Taken.
//
// One more log, the common one, comes after those of the partitions. It belongs to
// nobody: all nodes follow it, from its beginning, and find there what all must know.
//
//	Ledger --Parcel--> Member --Append--> carrier ~~~ the partitions' logs
//	Ledger <--Apply--- Member <-Delivered- carrier ~~~'
//	Engine <--Adopt, Disown, Fence---- Member <--Members, Owner-- carrier
//
// The order of writes is the design. A page and the rows found on it are durable
// on the node that fetched it; then the rows are appended, then, when all of them
// are acknowledged, that the page has ended. A crash in between fetches a page
// twice, and loses none.
//
// A partition has one owner at a time. The owner's name is changed by
// compare-and-swap, and the revision of that change is the owner's epoch. A node
// that could not renew its session for three quarters of [TTL] orders nothing more
// and drops its connections ([Fence]); the others take its partitions when the
// whole of it has passed. So no host is ever asked by two nodes, whatever the
// network does, as long as clocks run about equally fast. In the same time it stops in
// the partitions of a log that it cannot read or write (member_pulse.go).
//
// Who would own a partition next is known beforehand ([Owners.Next]), and reads its log
// while another one owns it: a takeover has only the end left to read
// (member_standby.go).
//
// Where the pages of one host live in several partitions, whoever wants to send a
// request needs a lease (lease.go) of the host's owner, and of the owner of the
// server's address.
//
// Some things must be counted over all nodes: whether anything is left to do, and
// what each may have of a limit that all have together. The owner of partition 0
// does that (quiet_desk.go, share.go); whoever owns it next begins with what all the
// others tell it.
//
// To read the code, begin with [Member] (member.go: sessions), then member_part.go:
// the life of a partition; outbox.go: what is told when; quiet.go. Package sim/mesh
// runs thousands of Members against everything that can go wrong.
//
// Like crawl.Engine a Member is a pure machine: Step takes what happened and when,
// and returns what is to be done. The live node and the simulator run the same.
// Not safe for concurrent use; its driver owns it.
package overlay
