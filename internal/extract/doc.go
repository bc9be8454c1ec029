// Package extract makes facts of answers: where a page leads, what it says, and
// what it asks of crawlers, as far as somebody wants to know.
//
// An answer is read by a [Reader], whether it has just come over the wire or lay
// in the archive for a year; so a page that is read again from an [Archive] has
// the very facts it had when it came, as long as the Config is the same. What
// [page.Want] does not ask for costs nothing.
//
// Of a page that is read again these facts are not known, for nobody asks for
// them: Hops, Attempt, Score, Wire and Digest. Its Depth and Root are those of
// now. A crawl without an archive keeps the facts that its rules may need again, if
// they may need any, and no others: it has them as they were read when the page came.
// Else it knows only how its pages ended: not what they say, nor where they redirect to.
package extract

import "weir/page"

// Config says how answers are read. The same Config makes the same facts of the
// same answer.
type Config struct {
	Want   page.Want
	Agent  string // product token, by which a page may speak to us alone
	Strip  page.Strip
	Secret page.Secret // of the crawl, for the hashes of links

	// Memory is what the crawl's caches and buffers may take together; with little
	// of it, less of a long body is read.
	Memory int64
}

// Bounds on what is read of a decoded body.
const (
	minBody = 8 << 20
	maxBody = 64 << 20
)

// Bounds on a page's headers.
const (
	MaxHeaders = 200
	MaxHeader  = 8 << 10 // bytes of one's value
)
