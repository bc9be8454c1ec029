// Package store keeps one crawl folder: what the crawl knows, what it fetched,
// and the order in which the two become durable.
//
//	crawl.yaml    the crawl as it was asked for       (written by others)
//	state/        Pebble: every row of the Ledger     the only truth
//	warc/         WARC/1.1 files, a member per record
//	index.cdxj    CDXJ index of the archive           derived, may be rebuilt
//	words/        keyword index of the archive        derived (written by others)
//	lock          held while a process has the folder
//
// Workers turn each [Exchange] into a compressed [Record] with an [Encoder] of
// their own; a body that came compressed is stored as it came. One committer
// gathers records and rows in a [Group] and commits it:
//
//	append the records -> fdatasync the WARC files
//	  -> Pebble batch with Sync: the rows, and each WARC file's new length
//	  -> append the CDXJ lines, unsynced
//
// A new WARC file is written under a temporary name, synced, renamed and its
// folder synced before any batch names it. On start every WARC file is cut to
// the length the state knows and files the state does not know are removed, so
// archive and state are equal, not merely consistent. The index carries a
// checksum since its last sync in the same batch; an index that differs is cut
// back to that sync and its lines are made again from the records since.
//
// A zstd archive begins without a dictionary; one is made of its first pages and
// every later file begins with it. See dictionary.
//
// [Store.ReadRecord] and [Store.Walk] read the archive back, through revisits
// to the payloads they refer to; [Reader] reads any WARC file. [Memory] is the
// rows alone, for tests of the Ledger; package storetest is the contract both
// keep.
//
// # Rows
//
// Keys and values are plain bytes whose meaning belongs to the Ledger, but for
// two first bytes that belong to this package:
//
//	d | first 16 bytes of the payload's SHA-1   -> the first record with this payload
//	w | m                                       -> version and archive form
//	w | f | file number (4 bytes, big endian)   -> name and committed length
//	w | c                                       -> the index: length, checksum, last sync
//
// Whether a payload is new is answered from memory, see known; only one that may
// be there is looked up.
//
// # Failing disks
//
// After the first failed write or sync nothing more is written: the store
// returns that error from every later call, wrapped in [ErrFull] when the disk is
// full. Nothing that was acknowledged is lost; when there is space again the
// next Open goes on. See gate for how Pebble is made to behave so.
package store

import "errors"

// Errors a user can do something about. They come wrapped with the folder or
// file concerned; test with errors.Is.
var (
	ErrInUse    = errors.New("in use by another process")
	ErrNotCrawl = errors.New("not a crawl folder")
	ErrExists   = errors.New("already holds a crawl")
	ErrFull     = errors.New("free space and run the same command again")
	ErrDamaged  = errors.New("damaged")
	ErrClosed   = errors.New("store is closed")
)
