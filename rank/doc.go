// Package rank decides how much a page matters by its links: PageRank over
// webs of numbered pages.
//
// A surfer follows a link of the page at hand with probability d, the damping,
// and otherwise, or where a page has no links, goes to any known page. The rank
// of a page is the share of time spent there. Links drawn away by dangling pages
// need no bookkeeping: the scores
//
//	score(p) = 1 + d * sum over links q -> p of score(q) / links of q
//
// in which a page without links gives nothing, divided by their sum, are exactly
// the ranks in which it gives to all alike. So everything here computes scores.
// They have a second virtue: a score does not change because unrelated pages
// became known, while every rank does; and as a crawl only ever adds pages and
// links, a score only ever grows. A page nobody links to has a score of 1.
//
// Scores are found by moving what is still owed. Every page is owed 1 at first;
// a page that takes what it is owed, r, owes d*r/n to the target of each of its n
// links. What is owed in all, against the sum of the scores, is how much another
// round of the textbook's iteration would change, so the methods know their own
// error; and a page that is owed next to nothing may be left alone.
//
//   - [PageRank] sweeps over all pages of a [Graph] until little is owed.
//   - [Tally] follows a graph that is uncovered page by page, and tells whose score
//     has grown, for a fraction of what ranking it over and over costs.
//   - [Builder] makes a [Web] of pages that only have names, as a live crawl has
//     them, within a budget of memory.
//
// Nothing here starts a goroutine or reads a clock, and every sum is taken in a
// fixed order without fused operations: the same input gives the same bits on
// every machine.
package rank
