package crawl

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"weir/frontier"
	"weir/page"
)

// TestRowsAreAsWritten puts and ends pages in a table much too small for them:
// what it finds is always what was put last, and what was put last of all is found.
func TestRowsAreAsWritten(t *testing.T) {
	if size := unsafe.Sizeof(rowSlot{}); size != rowSize {
		t.Fatalf("a slot takes %d bytes", size)
	}
	c := newRows(32 * rowWays * rowSize * 16)
	if len(c) != 16 {
		t.Fatalf("%d buckets for 16", len(c))
	}
	if most := len(newRows(0)) * rowWays * rowSize; most > 16<<20 || most < 15<<20 || len(newRows(1<<40)) != len(newRows(0)) {
		t.Errorf("%d bytes without a budget", most)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	even := func() bool { return rng.IntN(2) == 0 }
	last := map[page.Key]urlRow{}
	found := 0
	for range 100_000 {
		k := page.Key{Site: page.SiteID(1 + rng.IntN(5)), Hash: uint64(rng.IntN(40))}
		r := urlRow{
			state: stateQueued, seed: even(), root: even(), free: even(), plain: even(), had: even(), renewed: even(), counted: even(),
			depth: uint16(rng.IntN(1 << 16)), rule: Rule(rng.IntN(256)), version: uint8(rng.IntN(256)),
			parent: page.Key{Site: page.SiteID(rng.Uint32()), Hash: rng.Uint64()},
			place:  frontier.Place{Class: uint8(rng.IntN(256)), Seq: rng.Uint64()},
		}
		if rng.IntN(4) == 0 {
			r = urlRow{state: stateEnded}
		}
		c.put(k, &r)
		if r.state == stateQueued {
			last[k] = r
		} else {
			delete(last, k)
		}
		if got, ok := c.find(k); ok != (r.state == stateQueued) || ok && got != r {
			t.Fatalf("put %+v, found %+v, %v", r, got, ok)
		}
		other := page.Key{Site: page.SiteID(1 + rng.IntN(5)), Hash: uint64(rng.IntN(40))}
		got, ok := c.find(other)
		if ok != c.has(other) || ok && got != last[other] {
			t.Fatalf("found %+v, %v; last put %+v", got, c.has(other), last[other])
		}
		if ok {
			found++
		}
	}
	if found < 10_000 {
		t.Errorf("found %d rows of 100,000 asked for", found)
	}
}

// TestRowsPutTheOldestOut fills one bucket.
func TestRowsPutTheOldestOut(t *testing.T) {
	c := newRows(1)
	key := func(i int) page.Key { return page.Key{Site: 1, Hash: uint64(i)} }
	put := func(i int, state uint8) { c.put(key(i), &urlRow{state: state}) }
	for i := range rowWays {
		put(i, stateQueued)
	}
	put(1, stateEnded)
	put(rowWays, stateQueued)
	if !c.has(key(0)) || c.has(key(1)) {
		t.Error("a row was put out for one that has room")
	}
	put(rowWays+1, stateQueued)
	if c.has(key(0)) {
		t.Error("the first row stays")
	}
	for _, i := range []int{2, rowWays - 1, rowWays, rowWays + 1} {
		if !c.has(key(i)) {
			t.Errorf("row %d is gone", i)
		}
	}
}
