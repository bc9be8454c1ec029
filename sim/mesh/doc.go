// Package mesh runs many nodes of a cluster on a virtual clock: a [Net] carries
// what they say, as JetStream does for the live ones, and a [World] lets them crawl
// a made-up web meanwhile, while whatever can go wrong does.
//
// The Net is the replicated service as the nodes see it: sessions that last for
// [overlay.TTL], owners that change by compare-and-swap, logs, and gossip. Every
// message takes a while, some much longer, and some are lost. A node can be cut off
// both ways or one way, news can lag, and the service can stand still as it does
// during an election. Nothing it has acknowledged is ever lost.
//
// The World knows what is true, which no node does, and checks at every moment what
// must hold: that no two nodes order requests for the same partition, that a page
// is fetched again only if nobody could know that it has ended, that nothing is
// announced to be over before it is, that shares never exceed the limit.
//
// The same seed gives the same run.
package mesh
