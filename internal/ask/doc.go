// Package ask answers questions about a crawl that is there: it decides which
// program a question is, what must be read for it, and where its rows are worked
// out.
//
// A question is rules, or only a body:
//
//	broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400.
//	link(U, V), fetched(V, S), S >= 400
//
// The second is short for a table answer with all variables of the body, in the
// order in which they appear. The answer is the table of the last rule, unless
// another is named. Besides the crawler's facts a question may use crawl, which
// is what the crawl has found, and the tables of the crawl's own program.
//
// Nothing is fetched. Facts that the crawl does not keep are read from its archive, or
// without one from the facts that it kept of its pages, if it did, once more, by several workers at a time, and only those that the question needs.
package ask
