package robots

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// What find returns when no rule decides.
const (
	noRule  = -1
	tooLong = -2 // it would take more steps than a question may
)

// find returns the index of the rule that decides about a path, noRule or
// tooLong.
func (r *Rules) find(path string) int {
	if path == "/robots.txt" || len(r.rules) == 0 {
		return noRule
	}
	var buf [512]byte
	b := slices.Grow(buf[:0], len(path)+len("/")+1)
	if path == "" || path[0] != '/' {
		b = append(b, '/')
	}
	slash := len(b)
	b, letters := normalise(b, path, decodeLetters)
	best, ok := r.search(append(b, end), int32(len(r.rules)))
	if ok && letters {
		// The spelling as sent, for rules that name it so.
		b, _ = normalise(b[:slash], path, 0)
		best, ok = r.search(append(b, end), best)
	}
	switch {
	case !ok:
		return tooLong
	case int(best) == len(r.rules):
		return noRule
	}
	return int(best)
}

// search returns the best rule that matches a normalised path, if it is better
// than the one given. It is false when that takes more than maxSteps.
func (r *Rules) search(path []byte, best int32) (int32, bool) {
	best = min(best, r.searchLiterals(path, best))
	best, steps := r.searchWild(path, best)
	return best, steps <= maxSteps(path)
}

// A literal is a rule without a wildcard, which matches the paths that start
// with it.
type literal struct {
	rank   int32
	parent int32 // the longest other literal that is a prefix of this one, or -1
	best   int32 // the best rank among this and its parents
}

// indexLiterals takes the ranks of the literal rules in the order of their
// patterns.
func (r *Rules) indexLiterals(ranks []int32) {
	r.literals = make([]literal, 0, len(ranks))
	parent := int32(-1)
	for i, rank := range ranks {
		for parent >= 0 && !bytes.HasPrefix(r.pattern(rank), r.pattern(r.literals[parent].rank)) {
			parent = r.literals[parent].parent
		}
		l := literal{rank: rank, parent: parent, best: rank}
		if parent >= 0 {
			l.best = min(l.best, r.literals[parent].best)
		}
		r.literals = append(r.literals, l)
		parent = int32(i)
	}
}

// searchLiterals looks up the last literal that does not sort after the path.
// Every literal that is a prefix of the path is that one or a parent of it.
func (r *Rules) searchLiterals(path []byte, none int32) int32 {
	i := sort.Search(len(r.literals), func(i int) bool {
		return bytes.Compare(r.pattern(r.literals[i].rank), path) > 0
	}) - 1
	if i < 0 {
		return none
	}
	l := &r.literals[i]
	common := 0
	for p := r.pattern(l.rank); common < min(len(p), len(path)) && p[common] == path[common]; common++ {
	}
	for int(r.rules[l.rank].n) > common {
		if l.parent < 0 {
			return none
		}
		l = &r.literals[l.parent]
	}
	return l.best
}

// wildcards files each rule that has a wildcard under one gram: one to eight
// octets in a row that stand in its pattern, hence in every path it matches. A
// file of rules whose every piece is common, such as "/*a*e*i", defeats that;
// for it there is maxSteps.
type wildcards struct {
	slots  []slot   // a hash table, open addressed, its length a power of two
	lists  []int32  // ranks; the lists lie in the order of their first rank
	masks  []gram   // one for each length of gram that occurs
	filter []uint64 // a bit for each hash in use, small enough to stay in cache
}

// A slot holds the rules filed under a gram: lists[first : first+n].
type slot struct {
	gram     gram
	first, n int32
}

// A gram holds up to eight octets, the first one lowest. The unused ones are
// 0xFF, which stands in no pattern and no path, so that grams of different
// lengths are different.
type gram uint64

// gramLens are the lengths of gram in use, with about how many paths of a
// million hold one by chance.
var gramLens = [...]struct {
	n      int
	chance int64
}{{8, 0}, {4, 1e3}, {3, 5e3}, {2, 5e4}, {1, 5e5}}

func gramMask(n int) gram { return ^gram(0) << (8 * n) }

// grams calls f with each gram that a pattern could be filed under: of every
// piece between its wildcards, those of the longest length that fits. A head of
// only the slash that every path has would tell nothing.
func grams(pattern []byte, f func(g gram, size int)) {
	if pattern[0] == '/' && pattern[1] == star {
		pattern = pattern[2:]
	}
	for len(pattern) > 0 {
		var piece []byte
		piece, pattern, _ = bytes.Cut(pattern, []byte{star})
		for size, l := range gramLens {
			if len(piece) < l.n {
				continue
			}
			for i := 0; i+l.n <= len(piece); i++ {
				g := ^gram(0)
				for j := i + l.n - 1; j >= i; j-- {
					g = g<<8 | gram(piece[j])
				}
				f(g, size)
			}
			break
		}
	}
}

// indexWild takes the ranks of the rules with wildcards, best first. Each is
// filed under the gram of its pattern that promises the fewest false alarms: it
// is unlikely by chance, and rare among the other patterns, which are of the
// same site as the paths.
func (r *Rules) indexWild(ranks []int32) {
	if len(ranks) == 0 {
		return
	}
	common := make(map[gram]int64)
	for _, rank := range ranks {
		grams(r.pattern(rank), func(g gram, _ int) { common[g]++ })
	}
	var sizes [len(gramLens)]bool
	var slots []slot // in the order of their best rule
	at := make(map[gram]int, len(ranks))
	filed := make([]int, len(ranks))
	for i, rank := range ranks {
		var best gram
		size, least := 0, int64(math.MaxInt64)
		grams(r.pattern(rank), func(g gram, s int) {
			if alarms := 1e6*common[g]/int64(len(ranks)) + gramLens[s].chance; alarms < least {
				best, size, least = g, s, alarms
			}
		})
		sizes[size] = true
		j, ok := at[best]
		if !ok {
			j = len(slots)
			at[best] = j
			slots = append(slots, slot{gram: best})
		}
		slots[j].n++
		filed[i] = j
	}
	first := int32(0)
	for j := range slots {
		slots[j].first = first
		first += slots[j].n
		slots[j].n = 0
	}
	r.wild.lists = make([]int32, len(ranks))
	for i, rank := range ranks {
		s := &slots[filed[i]]
		r.wild.lists[s.first+s.n] = rank
		s.n++
	}
	for size, used := range sizes {
		if used {
			r.wild.masks = append(r.wild.masks, gramMask(gramLens[size].n))
		}
	}
	n := 1 << max(4, bits.Len(uint(2*len(slots))))
	r.wild.slots = make([]slot, n)
	r.wild.filter = make([]uint64, n/16)
	for _, s := range slots {
		h := r.wild.hash(s.gram)
		r.wild.filter[h/64] |= 1 << (h % 64)
		*r.wild.slot(s.gram, h) = s
	}
}

// hash returns a number below four times the number of slots.
func (w *wildcards) hash(g gram) uint64 {
	return uint64(g) * 0x9E3779B97F4A7C15 >> (63 - bits.Len(uint(len(w.slots))))
}

// slot returns the slot of a gram, or the empty one where it would go.
func (w *wildcards) slot(g gram, hash uint64) *slot {
	last := len(w.slots) - 1
	i := int(hash / 4)
	for w.slots[i].n != 0 && w.slots[i].gram != g {
		i = (i + 1) & last
	}
	return &w.slots[i]
}

// maxSteps is the work that trying the rules with wildcards may take for one
// path: some four microseconds for a usual one. It is enough for any 40 rules of
// up to four wildcards.
func maxSteps(path []byte) int { return 256 + 4*len(path) }

// searchWild tries the rules whose gram stands in the path, the best first. It
// gives up once it has taken more than maxSteps.
func (r *Rules) searchWild(path []byte, best int32) (rank int32, steps int) {
	w := &r.wild
	if len(w.slots) == 0 {
		return best, 0
	}
	var buf [64]uint64
	hits := buf[:0] // first and n of the slots found
	g := ^gram(0)
	for i := len(path) - 1; i >= 0; i-- {
		g = g<<8 | gram(path[i])
		for _, mask := range w.masks {
			h := w.hash(g | mask)
			if w.filter[h/64]>>(h%64)&1 == 0 {
				continue
			}
			if s := w.slot(g|mask, h); s.n > 0 && w.lists[s.first] < best {
				hits = append(hits, uint64(s.first)<<32|uint64(s.n))
			}
		}
	}
	slices.Sort(hits)
	most := maxSteps(path)
	for i, h := range hits {
		if i > 0 && h == hits[i-1] {
			continue
		}
		for _, rank := range w.lists[h>>32:][:uint32(h)] {
			if rank >= best {
				break
			}
			ok, n := glob(r.pattern(rank), path)
			if steps += n; steps > most {
				return best, steps
			}
			if ok {
				best = rank
				break
			}
		}
	}
	return best, steps
}

// glob reports whether a compiled pattern matches a path. The leftmost place
// for a piece leaves the most room for the pieces after it, so nothing is ever
// tried twice and the time is linear in the path. It takes two steps to begin,
// one for each piece it looks for, and one for each 16 octets it looks through.
func glob(pattern, path []byte) (ok bool, steps int) {
	i := bytes.IndexByte(pattern, star)
	if !bytes.HasPrefix(path, pattern[:i]) {
		return false, 2
	}
	all := len(path)
	for steps = 2; ; {
		path, pattern = path[i:], pattern[i+1:]
		piece := pattern
		if i = bytes.IndexByte(pattern, star); i >= 0 {
			piece = pattern[:i]
		}
		steps++
		at := bytes.Index(path, piece)
		if at < 0 {
			return false, steps + all/16
		}
		if path = path[at:]; i < 0 {
			return true, steps + (all-len(path))/16
		}
	}
}
