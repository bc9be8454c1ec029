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
// Final tables are worked out level by level when everything below is quiet.
package flow
