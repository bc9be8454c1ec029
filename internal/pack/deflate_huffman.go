package pack

import (
	"math/bits"
)

// Lengths of codes. Deflate allows 15; with 14 and what may follow a length and
// a distance, two tokens fit the bit buffer beside the seven bits left over.
const (
	deflateMax     = 14
	deflateMetaMax = 7
)

// deflateFreq is how often symbols come.
type deflateFreq [deflateMask + 1]uint32

// count sets it from tokens. A symbol twice in a row would wait for itself, so
// there are two lists.
func (f *deflateFreq) count(tokens []uint32) {
	var odd deflateFreq
	*f = odd
	for len(tokens) >= 2 {
		f[tokens[0]&deflateMask]++
		odd[tokens[1]&deflateMask]++
		tokens = tokens[2:]
	}
	if len(tokens) > 0 {
		f[tokens[0]&deflateMask]++
	}
	for i, n := range odd[:deflateSymbols] {
		f[i] += n
	}
}

// size returns the bits that tokens take when their codes have these lengths.
func (f *deflateFreq) size(lens *deflateLens) int {
	n := 0
	for i, extra := range deflateExtra {
		n += int(f[i]) * int(lens[i]+extra)
	}
	return n
}

// deflateLens are the lengths of the codes of symbols.
type deflateLens [deflateSymbols]uint8

// deflateTree plans the codes of a block and their description.
type deflateTree struct {
	lens  deflateLens
	lits  int // how many are written down
	backs int
	meta  []uint16 // the description: symbol, and the bits that follow it above
	metas [19]uint8
	order int // how many of metas are written down
	keys  [deflateSymbols]uint32
	swap  [deflateSymbols]uint32
}

// deflateMetaOrder is the order lengths of the description's own codes are
// written in.
var deflateMetaOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// deflateMetaExtra are the bits that follow a symbol of the description.
var deflateMetaExtra = [19]uint8{16: 2, 17: 3, 18: 7}

// plan makes codes and returns the bits of a block that has them.
func (t *deflateTree) plan(f *deflateFreq) int {
	lits, backs := t.lens[:286], t.lens[deflateBack:]
	t.lengths(lits, f[:286], deflateMax)
	t.lengths(backs, f[deflateBack:deflateSymbols], deflateMax)
	t.lits, t.backs = len(lits), len(backs)
	for lits[t.lits-1] == 0 { // stops at deflateStop
		t.lits--
	}
	for backs[t.backs-1] == 0 { // stops at the second at the latest
		t.backs--
	}
	size := 3 + 5 + 5 + 4 + f.size(&t.lens)
	var freq [19]uint32
	t.describe(&freq)
	t.lengths(t.metas[:], freq[:], deflateMetaMax)
	for i, n := range t.metas {
		size += int(freq[i]) * int(n+deflateMetaExtra[i])
	}
	t.order = 19
	for t.metas[deflateMetaOrder[t.order-1]] == 0 {
		t.order--
	}
	t.order = max(t.order, 4)
	return size + 3*t.order
}

// describe turns the lengths into the symbols they are written with (RFC 1951,
// section 3.2.7).
func (t *deflateTree) describe(freq *[19]uint32) {
	var all deflateLens
	n := copy(all[:], t.lens[:t.lits])
	n += copy(all[n:], t.lens[deflateBack:][:t.backs])
	t.meta = t.meta[:0]
	for i := 0; i < n; {
		v := all[i]
		j := i + 1
		for j < n && all[j] == v {
			j++
		}
		run := j - i
		i = j
		if v == 0 {
			for run >= 11 {
				k := min(run, 138)
				t.meta = append(t.meta, 18|uint16(k-11)<<8)
				freq[18]++
				run -= k
			}
			if run >= 3 {
				t.meta = append(t.meta, 17|uint16(run-3)<<8)
				freq[17]++
				run = 0
			}
		} else {
			t.meta = append(t.meta, uint16(v))
			freq[v]++
			run--
			for run >= 3 {
				k := min(run, 6)
				t.meta = append(t.meta, 16|uint16(k-3)<<8)
				freq[16]++
				run -= k
			}
		}
		for ; run > 0; run-- {
			t.meta = append(t.meta, uint16(v))
			freq[v]++
		}
	}
}

// write adds the description of the codes.
func (t *deflateTree) write(w *deflateBits) {
	w.put(uint64(t.lits-257)|uint64(t.backs-1)<<5|uint64(t.order-4)<<10, 14)
	for _, sym := range deflateMetaOrder[:t.order] {
		w.put(uint64(t.metas[sym]), 3)
	}
	var codes [19]uint32
	deflateCodes(codes[:], t.metas[:])
	for _, m := range t.meta {
		c := codes[uint8(m)]
		w.put(uint64(c>>16)|uint64(m>>8)<<(c&63), uint(c&63)+uint(deflateMetaExtra[uint8(m)]))
	}
}

// make fills the table.
func (c *deflateCode) make(lens *deflateLens) {
	deflateCodes(c[:deflateBack], lens[:deflateBack])
	deflateCodes(c[deflateBack:deflateSymbols], lens[deflateBack:])
	for i, extra := range deflateExtra {
		c[i] += uint32(extra)
	}
}

// deflateCodes makes the canonical codes of the lengths (RFC 1951, section
// 3.2.2), with their bits in the order of the stream.
func deflateCodes(codes []uint32, lens []uint8) {
	var count, next [16]uint32
	for _, n := range lens {
		count[n&15]++
	}
	count[0] = 0
	for i := 1; i < len(next); i++ {
		next[i] = (next[i-1] + count[i-1]) << 1
	}
	for i, n := range lens {
		if n == 0 {
			codes[i] = 0
			continue
		}
		codes[i] = uint32(bits.Reverse16(uint16(next[n&15]))>>(16-n))<<16 | uint32(n)<<8 | uint32(n)
		next[n&15]++
	}
}

// lengths gives every symbol that occurs the length of its code, none beyond
// limit, such that the codes take up all there is; to two symbols at least, as
// some decoders want it.
func (t *deflateTree) lengths(lens []uint8, freq []uint32, limit int) {
	clear(lens)
	n := 0
	for i, k := range freq {
		t.keys[n] = k<<9 | uint32(i)
		if k > 0 {
			n++
		}
	}
	if n < 2 {
		lens[0], lens[1] = 1, 1
		if sym := t.keys[0] & (1<<9 - 1); n == 1 && sym > 1 {
			lens[1], lens[sym] = 0, 1
		}
		return
	}
	keys := t.sort(n)
	weights := t.swap[:n]
	for i, k := range keys {
		weights[i] = k >> 9
	}
	var count [16]int
	deflateDepths(weights, count[:limit+1])

	// The rarest have the longest.
	i := 0
	for l := limit; l > 0; l-- {
		for range count[l] {
			lens[keys[i]&(1<<9-1)] = uint8(l)
			i++
		}
	}
}

// sort sorts the first n keys and returns them. A few are inserted where they
// belong, more are dealt out by the digits of their frequency.
func (t *deflateTree) sort(n int) []uint32 {
	keys := t.keys[:n]
	if n <= 16 {
		for i := 1; i < n; i++ {
			k, j := keys[i], i
			for ; j > 0 && keys[j-1] > k; j-- {
				keys[j] = keys[j-1]
			}
			keys[j] = k
		}
		return keys
	}
	var low, high [256]uint16
	for _, k := range keys {
		low[uint8(k>>9)]++
		high[uint8(k>>17)]++
	}
	a, b := uint16(0), uint16(0)
	for i := range low {
		low[i], a = a, a+low[i]
		high[i], b = b, b+high[i]
	}
	for _, k := range keys {
		i := &low[uint8(k>>9)]
		t.swap[*i] = k
		*i++
	}
	for _, k := range t.swap[:n] {
		i := &high[uint8(k>>17)]
		keys[*i] = k
		*i++
	}
	return keys
}

// deflateDepths counts the leaves of a Huffman tree at every depth. The weights,
// two or more, rise; they are overwritten (Moffat and Katajainen, In-Place
// Calculation of Minimum-Redundancy Codes, 1995). Leaves too deep for count move
// up, and others down until the tree is whole again.
func deflateDepths(w []uint32, count []int) {
	n := len(w)
	// An inner node takes the place of a leaf that is in the tree already, and
	// once it has a parent, the place tells which.
	leaf, root := 0, 0
	for next := range n - 1 {
		sum := uint32(0)
		for range 2 {
			if leaf >= n || root < next && w[root] < w[leaf] {
				sum += w[root]
				w[root] = uint32(next)
				root++
			} else {
				sum += w[leaf]
				leaf++
			}
		}
		w[next] = sum
	}
	// Parents come after their children: from the root down, every place gets
	// its depth.
	w[n-2] = 0
	for i := n - 3; i >= 0; i-- {
		w[i] = w[w[i]] + 1
	}
	limit := len(count) - 1
	over := -1 << limit // by how much the leaves overfill the tree, in leaves of the greatest depth
	inner := n - 2
	for depth, free := 0, 1; free > 0; depth++ {
		used := 0
		for inner >= 0 && w[inner] == uint32(depth) {
			used++
			inner--
		}
		l := min(depth, limit)
		count[l] += free - used
		over += (free - used) << (limit - l)
		free = 2 * used
	}
	for ; over > 0; over-- {
		l := limit - 1
		for count[l] == 0 {
			l--
		}
		count[l]--
		count[l+1] += 2
		count[limit]--
	}
}

// The codes that need no description (RFC 1951, section 3.2.6).
var deflateFixedLens, deflateFixedCode = func() (lens deflateLens, c deflateCode) {
	for i := range lens {
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		case i < deflateBack:
			lens[i] = 8
		default:
			lens[i] = 5
		}
	}
	c.make(&lens)
	return lens, c
}()
