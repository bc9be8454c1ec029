// Package sitetest crawls six real sites with the weir binary and compares
// what was fetched with lists that other programs made.
//
// The sites are documentation packages of Debian 12, served on loopback by
// Debian's nginx: a day's work of six different generators, with their broken
// links, odd names and old HTML. The lists (testdata) hold every URL of the same
// host that two independent parsers and wget agree on; nav marks those reached
// by links a reader can click.
//
//	go test ./internal/sitetest               the two small sites
//	go test ./internal/sitetest -sites all    all six (make test-sites)
//
// The packages are downloaded once, into the user's cache folder.
package sitetest
