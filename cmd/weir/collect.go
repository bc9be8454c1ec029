package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// collect says when the collector works. Most of a large crawl's memory is tables
// and caches that stay: the rest may grow to three tenths of that, and it works harder
// before it would fill what was allowed. In a small heap that would have it work all
// the time; there, a ballast counts as if it were in use, which is never touched and
// so takes no memory.
//
// Whoever has set GOGC or GOMEMLIMIT has said so already.
func collect(memory int64) {
	percent, limit := os.Getenv("GOGC") == "", os.Getenv("GOMEMLIMIT") == ""
	if percent {
		debug.SetGCPercent(30)
	}
	if !limit || memory <= 0 {
		return
	}
	bound := func(ballast int64) { debug.SetMemoryLimit(memory*80/100 + ballast) }
	if !percent {
		bound(0)
		return
	}
	size := min(memory/8, maxBallast)
	bound(size)
	carry(make([]byte, size), func() { bound(0) })
}

const maxBallast = 128 << 20

// carry keeps a ballast until the heap beside it is larger than that.
func carry(ballast []byte, drop func()) {
	round := new([16]byte) // which is gone after the next collection
	runtime.SetFinalizer(round, func(*[16]byte) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(live); live[0].Value.Uint64() > 2*uint64(len(ballast)) {
			drop()
			return
		}
		carry(ballast, drop)
	})
}
