// Package search keeps the keyword index of a crawl: which page says which
// words how often, and answers questions with the pages that say them best.
//
// The index is derived: whatever of it is missing or damaged is made again from
// the archive, so it may be deleted, and a crash can lose nothing. It stands in
// the folder words beside the archive:
//
//	words/00001-000000000-00003-000817221.seg    a segment
//	words/*.open                                 one that is being written
//
// # Segments
//
// A segment holds the pages whose records lie in one [Range] of the archive. Its
// name says which, and so does its footer. Places in an archive grow with every
// commit, so the ranges of all segments together tell what is indexed, and what
// lies between them is what is missing: nothing else has to be remembered, no
// watermark and no list of files. A segment never changes. It is written under a
// temporary name, synced, renamed, and its folder synced; a crash before that
// leaves a gap, which is filled from the archive. Neighbours are merged, eight of
// a size into one, by writing the segment of the joint range and removing those
// that it covers; a crash between the two leaves both, and the smaller ones are
// removed at the next start.
//
// Two feed the index. An [Indexer] takes the facts of pages after their commit,
// while the crawl runs. It never holds the crawl up: what it cannot take becomes
// a gap. [Index.Update] fills all gaps from the archive.
//
// # Form of a segment
//
//	magic
//	documents    blocks of 64: address (as it differs from the one before), title, place
//	terms        blocks of at least 4 KiB, sorted: term (as it differs), pages, postings
//	             among them, before the block that names it, each list over 64 bytes
//	lengths      one block: how many words each document has, and a print of what it says
//	tables       one block: where the blocks of documents and terms are
//	footer       of fixed size: where lengths and tables are, counts, range, crawl, checksum, magic
//
// Every block, and every long list, is followed by its CRC-32C; the reader looks
// at nothing before that is right. Numbers are varints. A posting is the distance
// to the document before it and how often the term is said, a single bit where
// that is once. Documents are numbered in the order of the archive.
//
// Hosts are terms too, under names that no word has: a page of www.example.org
// is found under www.example.org, example.org and org.
//
// # Ranking
//
// Pages are ranked by BM25 as Robertson and Zaragoza give it (The Probabilistic
// Relevance Framework: BM25 and Beyond, 2009, equation 3.15), with k1 = 1.2,
// b = 0.75 and an idf that is never negative:
//
//	score(D) = sum over terms t of  idf(t) * f*(k1+1) / (f + k1*(1 - b + b*|D|/avg))
//	idf(t)   = ln(1 + (N - n + 0.5) / (n + 0.5))
//
// where f is how often D says t, |D| the number of words of D, avg their mean over
// the N pages of the index, and n the number of pages that say t. Equal scores
// stand in the order of the archive, so an answer does not depend on how the
// index was made. Pages that say the same (equal titles, words and counts) have
// equal scores; the first is shown and the others are counted.
//
// Pages that ask not to be indexed are left out.
package search

import "errors"

// ErrDamaged says that a segment does not hold what was written to it.
// [Index.Repair] removes what is damaged.
var ErrDamaged = errors.New("index is damaged")

// Bounds.
const (
	maxTerm  = 256     // bytes of a word; parse has none that are longer
	maxTitle = 1 << 10 // bytes kept of a title
	maxURL   = 1 << 16 // bytes of an address that a reader believes in
)

const (
	defaultMemory = 64 << 20
	fanIn         = 8         // segments that are merged into one
	firstTier     = 256 << 10 // bytes of a segment that is no longer small
	tiers         = 4         // segments that are still larger, over 128 MiB, are merged no more
	docBlock      = 64        // documents of a block
	termBlock     = 4 << 10   // bytes of a block of terms
	shortList     = 64        // bytes of postings that stand with their term
)
