// Package pack compresses and uncompresses pages that lie in memory: gzip for
// archives and for bodies as servers send them, zstd frames for archives with
// a dictionary.
//
// It exists because a crawler's page is small, whole, and one of a million
// alike. A streaming compressor pays for each page what it would pay for a
// gigabyte: tables that must be forgotten and do not fit the first cache,
// windows that are copied, a state that survives every call. Here a page is one
// slice in and one slice out. Positions fit two or three bytes, a decoder reads
// eight bytes at a time and checks its bounds once a symbol, and an encoder
// forgets a page with one pass over a table of some kilobytes.
//
// What it writes is plain RFC 1951, RFC 1952 and RFC 8878, for any reader;
// what it reads comes from strangers: every size is bounded by the caller, and
// anything else than a well-formed stream is an error, never a panic. Streams
// too long for memory are not its work: callers have a streaming library for
// those.
//
// Its types keep their tables from one page to the next. None is safe for
// concurrent use: every worker has its own.
package pack
