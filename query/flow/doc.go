// Package flow runs checked programs: a page's facts go in, rows and orders come
// out.
//
// [Compile] turns rules into stages. A row lives at the partition of its first
// column; a stage joins what lives, or was sent, to one place, and an Exchange
// sends its rows to the next. A [Part] is one partition: [Part.Page] takes the
// sealed facts of a page, [Part.Tuple] a row that another partition has sent, and
// both answer with what follows in an [Out]: pages to crawl, rows to send, changes
// of the state. Whoever calls commits all of that together with the page. Rows are
// sets, and min and max columns only improve: whatever is delivered twice
// changes nothing.
//
// Rules over the facts of a single page keep nothing: their conditions are
// compiled to closures that look at the links where they lie, and no row is made
// for a link that is turned away. Everything that must wait for a partner is kept
// behind [State], which is Pebble in a crawl and [Mem] elsewhere.
//
// Aggregates gather the distinct solutions of their rules in a [Pool] at the home
// of each group, where they lie sorted: a group is worked out by walking over its
// rows once, and sums of floats are in fixed point, so that neither the order of
// pages nor the number of partitions changes a digit. Those over one page's own
// facts are worked out with the page, and those that only grow as rows come.
//
// Final tables are worked out when everything below is quiet, in phases
// ([Plan.Phases]): level by level, and round by round where tables count them.
// [Finish] does so for partitions of one process.
package flow
