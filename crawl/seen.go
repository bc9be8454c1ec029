package crawl

import (
	"fmt"
	"math"
	"math/bits"

	"weir/page"
)

// seen remembers in memory which pages are known, and the least depth of each,
// so that a link to a known page costs no read. It is a cache of the rows `u`:
// it can be thrown away and filled again from them.
//
// A page is a 64-bit fingerprint of its key. For n pages the chance that a new
// page is taken for a known one is below n^2/2^65 over the whole crawl: 3e-6 at
// ten million, 3e-4 at a hundred million. The site is mixed in, and the hash is
// keyed with the crawl's secret, so nobody can aim for it.
//
// The table is 65,536 shards of 64-byte buckets with nine pages each. The shard
// is sixteen bits of the fingerprint, the tag in the bucket the other 48, so
// nothing of it is lost. A bucket that is full spills into the next. A shard that
// is seven eighths full grows by an eighth: some hundred entries move, and
// nobody waits. That is 8 to 9 bytes a page, and up to ten megabytes before the first million.
// Shards are made sixteen at a time, as a simulation has thousands of tables with
// little in them. When the table would pass its budget
// it stops growing and is no longer whole: what it does not know may be known to
// the store, which must then be asked. A small table of links met a moment ago
// then saves most of these questions.
type seen struct {
	shards [1 << shardBits / shardGroup]*[shardGroup]shard
	none   shard    // in place of those that were not made
	recent []uint64 // by fingerprint and depth, direct-mapped
	budget int64    // bytes, 0 = none
	bytes  int64
	pages  int64
	filled bool  // every row that was there at the start has been added
	full   bool  // the budget is spent: rows are missing
	sum    uint8 // of what near saw
}

// maxSeen is the greatest depth that is told from others. A page with the depth
// lost is known, and whatever asks for it is better.
const (
	maxSeen = math.MaxUint8 - 1
	lost    = math.MaxUint8
)

const (
	shardBits   = 16
	shardGroup  = 16
	perBucket   = 9
	bucketBytes = 64
	recentSize  = 1 << 20 // at most: a smaller budget has fewer
	recentLeast = 1 << 12
)

// bucket holds the 48 bits of each tag in two parts, so that it is one line of
// the cache.
type bucket struct {
	low   [perBucket]uint32
	high  [perBucket]uint16
	depth [perBucket]uint8
	n     uint8
}

type shard struct {
	buckets []bucket
	n       int
}

func newSeen(budget int64, filled bool) *seen {
	size := recentSize
	for budget > 0 && size > recentLeast && int64(size)*bucketBytes > budget {
		size /= 2
	}
	return &seen{budget: budget, filled: filled, recent: make([]uint64, size)}
}

// whole says that what the table does not know is new.
func (s *seen) whole() bool { return s.filled && !s.full }

// fingerprint mixes a key into 64 bits (the finalizer of MurmurHash3, over a
// hash that is keyed already).
func fingerprint(k page.Key) uint64 {
	x := k.Hash ^ uint64(k.Site)*0x9e3779b97f4a7c15
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

// met says that the same link passed at this depth a moment ago; it notes it if
// not.
func (s *seen) met(print uint64, depth uint8) bool {
	if s.hasMet(print, depth) {
		return true
	}
	s.recent[print%uint64(len(s.recent))] = print ^ uint64(depth)<<56
	return false
}

// hasMet is met without the note.
func (s *seen) hasMet(print uint64, depth uint8) bool {
	return s.recent[print%uint64(len(s.recent))] == print^uint64(depth)<<56
}

// split returns the shard and the tag of a fingerprint. The shard is there to be read.
func (s *seen) split(print uint64) (*shard, uint64) {
	n, tag := print%(1<<shardBits), print>>shardBits
	if group := s.shards[n/shardGroup]; group != nil {
		return &group[n%shardGroup], tag
	}
	return &s.none, tag
}

// find returns the least depth a page is known with. ok is false when the table
// does not know it.
func (s *seen) find(print uint64) (depth uint8, ok bool) {
	sh, tag := s.split(print)
	if sh.n == 0 {
		return 0, false
	}
	b, j := sh.at(tag)
	if j == int(b.n) {
		return 0, false
	}
	return b.depth[j], true
}

// near looks where pages are before they are asked for one by one, as purse.near.
func (s *seen) near(prints []uint64) {
	for _, print := range prints {
		if sh, tag := s.split(print); sh.n > 0 {
			s.sum += sh.buckets[sh.home(tag)].n
		}
	}
}

// add notes a page with its depth; a page that is there keeps the lesser depth.
func (s *seen) add(print uint64, depth uint8) {
	sh, tag := s.split(print)
	if sh == &s.none {
		n := print % (1 << shardBits)
		s.shards[n/shardGroup] = new([shardGroup]shard)
		sh = &s.shards[n/shardGroup][n%shardGroup]
	}
	if sh.n >= len(sh.buckets)*perBucket*7/8 && !s.grow(sh) {
		if sh.n > 0 {
			if b, j := sh.at(tag); j < int(b.n) {
				b.depth[j] = min(b.depth[j], depth)
				return
			}
		}
		s.full = true
		return
	}
	if sh.put(tag, depth) {
		s.pages++
	}
}

// lose makes every depth better than the one that is noted with a page.
func (s *seen) lose(print uint64) {
	sh, tag := s.split(print)
	if sh.n == 0 {
		return
	}
	if b, j := sh.at(tag); j < int(b.n) {
		b.depth[j] = lost
	}
	if s.recent[print%uint64(len(s.recent))]<<8 == print<<8 {
		s.recent[print%uint64(len(s.recent))] = 0
	}
}

// loseAll is lose for every page.
func (s *seen) loseAll() {
	s.each(func(_ uint64, b *bucket) {
		for k := range b.depth {
			b.depth[k] = lost
		}
	})
	clear(s.recent)
}

// each calls a function for every bucket, with the number of its shard.
func (s *seen) each(do func(shard uint64, b *bucket)) {
	for g, group := range s.shards {
		if group == nil {
			continue
		}
		for i := range group {
			for j := range group[i].buckets {
				do(uint64(g*shardGroup+i), &group[i].buckets[j])
			}
		}
	}
}

// grow gives a shard an eighth more buckets. It returns false when the budget
// does not allow it.
func (s *seen) grow(sh *shard) bool {
	size := len(sh.buckets) + len(sh.buckets)/8 + 1
	cost := int64(size-len(sh.buckets)) * bucketBytes
	if s.budget > 0 && s.bytes+cost > s.budget {
		return false
	}
	s.bytes += cost
	old := sh.buckets
	sh.buckets, sh.n = make([]bucket, size), 0
	for i := range old {
		b := &old[i]
		for j := range b.n {
			sh.put(uint64(b.high[j])<<32|uint64(b.low[j]), b.depth[j])
		}
	}
	return true
}

func (sh *shard) home(tag uint64) int {
	home, _ := bits.Mul64(tag<<shardBits, uint64(len(sh.buckets)))
	return int(home)
}

// at returns the bucket that holds a tag and its place there, or the bucket
// where it would be put and the place behind the last. There is always one: a
// shard is never full.
func (sh *shard) at(tag uint64) (*bucket, int) {
	low, high := uint32(tag), uint16(tag>>32)
	for i := sh.home(tag); ; {
		b := &sh.buckets[i]
		for j := range int(b.n) {
			if b.low[j] == low && b.high[j] == high {
				return b, j
			}
		}
		if b.n < perBucket {
			return b, int(b.n)
		}
		if i++; i == len(sh.buckets) {
			i = 0
		}
	}
}

// put adds a tag, or lowers its depth. It says whether it was new.
func (sh *shard) put(tag uint64, depth uint8) bool {
	b, j := sh.at(tag)
	if j < int(b.n) {
		b.depth[j] = min(b.depth[j], depth)
		return false
	}
	b.low[j], b.high[j], b.depth[j] = uint32(tag), uint16(tag>>32), depth
	b.n++
	sh.n++
	return true
}

// Print is a known page as the memory of seen pages holds it.
type Print struct {
	print uint64
	depth uint8
}

// ReadPrints calls fn with the known pages of a stored crawl, some thousands at
// a time, until it returns false. It may run beside a Ledger: what that one adds
// meanwhile it knows by itself. The slice is fn's to keep.
func ReadPrints(kv KV, fn func([]Print) bool) error {
	const some = 8192
	version, _, err := ReadProgram(kv)
	if err != nil {
		return err
	}
	batch := make([]Print, 0, some)
	var bad error
	err = kv.Scan([]byte{keyURL}, []byte{keyURL + 1}, func(key, value []byte) bool {
		k, err := readPageKey(key)
		if err != nil {
			bad = err
			return false
		}
		d := decoder{b: value}
		flags, by := d.byte(), uint8(0)
		d.byte()
		if flags&8 != 0 {
			by = d.byte()
		}
		depth := d.uvarint()
		switch {
		case by != uint8(version) || depth == math.MaxUint16: // of another program, or steered away
			depth = lost
		default:
			depth = min(depth, maxSeen)
		}
		if d.err != nil {
			bad = d.err
			return false
		}
		batch = append(batch, Print{fingerprint(k), uint8(min(depth, lost))})
		if len(batch) < some {
			return true
		}
		full := batch
		batch = make([]Print, 0, some)
		return fn(full)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("read the known pages: %w", err)
	}
	fn(batch)
	return nil
}

// Remembers says that the Ledger knows all pages without asking the store.
func (l *Ledger) Remembers() bool { return l.seen.whole() }

// Recall takes known pages that ReadPrints read; last says that these were all.
// Until then, and when there are more than Memory allows, the store is asked
// about pages that are not remembered: slower, never wrong.
func (l *Ledger) Recall(prints []Print, last bool) {
	for _, p := range prints {
		if l.steered {
			p.depth = lost // it was read before
		}
		l.seen.add(p.print, p.depth)
	}
	l.seen.filled = l.seen.filled || last
}
