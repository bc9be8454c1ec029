package pack

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Places are found by a hash of the bytes there. Both tables, of the frame
// and of its dictionary, have under the top bits of the hash the last place, and
// above that the hash's next bits: a place that has other bytes is told from
// one worth looking at without looking at it.
const (
	findMin   = 6  // bytes of a match
	farMin    = 7  // in a frame with a dictionary, where most offsets are long
	findBits  = 13 // of entries in the table of the frame
	dictBits  = 15 // of entries in that of a dictionary
	placeBits = 21
	placeNone = 1 << placeBits // more than any place
	findEnd   = 8              // bytes at the end of a block where no match begins
	slack     = 32             // bytes behind the frame that may be read
)

type (
	findTable [1 << findBits]uint32
	dictTable [1 << dictBits]uint32
)

// findHash hashes the first bytes of v, so many as must be alike.
func findHash(v uint64, least uint) uint64 { return v << (64 - 8*least&63) * 0x9fb21c651e98df25 }

// findTag returns the bits of a hash that are kept with a place.
func findTag(h uint64) uint32 { return uint32(h>>(64-dictBits-32)) &^ (placeNone - 1) }

// put notes that the bytes v are at s.
func (t *findTable) put(v uint64, least uint, s int) {
	h := findHash(v, least)
	t[h>>(64-findBits)] = uint32(s) | findTag(h)
}

// next looks from s on for a place whose bytes are likely to have been there
// before, and returns it and the other one. It goes the faster the longer there
// was nothing. At end it gives up.
func (t *findTable) next(text []byte, s, start, end int) (at, other int) {
	for s < end {
		h := findHash(binary.LittleEndian.Uint64(text[s:]), findMin)
		e := &t[h>>(64-findBits)]
		tag := findTag(h)
		c := *e ^ tag
		*e = uint32(s) | tag
		if c < placeNone {
			return s, int(c)
		}
		s += 1 + (s-start)>>6
	}
	return s, 0
}

// nextFar is next for a frame with a dictionary. It looks at two places at once:
// the dictionary's table is too large to be near.
func (t *findTable) nextFar(dict *dictTable, text []byte, s, start, end int) (at, other int) {
	for s < end {
		v := binary.LittleEndian.Uint64(text[s:])
		h, h2 := findHash(v, farMin), findHash(v>>8, farMin)
		e, e2 := &t[h>>(64-findBits)], &t[h2>>(64-findBits)]
		tag, tag2 := findTag(h), findTag(h2)
		far, far2 := dict[h>>(64-dictBits)]^tag, dict[h2>>(64-dictBits)]^tag2
		c := *e ^ tag
		*e = uint32(s) | tag
		if c >= placeNone {
			c = far
		}
		if c < placeNone {
			return s, int(c)
		}
		c = *e2 ^ tag2
		*e2 = uint32(s+1) | tag2
		if c >= placeNone {
			c = far2
		}
		if c < placeNone {
			return s + 1, int(c)
		}
		s += 2 + (s-start)>>6
	}
	return s, 0
}

// find cuts the block z.text[from:to] into sequences and the literals that are
// left over at its end. All that comes before it is there to be referred to; dict,
// if it is not nil, finds it in the dictionary.
func (z *Zstd) find(dict *dictTable, from, to int) {
	z.seqs, z.nlit = z.seqs[:0], 0
	z.seqCount = [3][fseSyms]uint32{}
	if len(z.lits) < to-from+slack {
		z.lits = make([]byte, to-from+slack)
	}
	least := uint(findMin)
	if dict != nil {
		least = farMin
	}
	text := z.text
	end := to - findEnd
	start := from              // of the literals not yet in a sequence
	for s := max(from, 1); ; { // a place has something before it
		var c int
		if dict != nil {
			s, c = z.table.nextFar(dict, text, s, start, end)
		} else {
			s, c = z.table.next(text, s, start, end)
		}
		if s >= end {
			break
		}
		x := binary.LittleEndian.Uint64(text[s:]) ^ binary.LittleEndian.Uint64(text[c:])
		if x<<(64-8*least&63) != 0 {
			s++
			continue
		}
		n := bits.TrailingZeros64(x) >> 3
		if x == 0 {
			n += common(text[s+8:], text[c+8:])
		}
		n = min(n, to-s)
		back := 0
		if c >= 8 {
			x := binary.LittleEndian.Uint64(text[s-8:]) ^ binary.LittleEndian.Uint64(text[c-8:])
			back = min(bits.LeadingZeros64(x)>>3, s-start)
		}
		z.add(start, s-back, n+back, s-c)
		s += n
		start = s
		if s >= end {
			break
		}
		z.table.put(binary.LittleEndian.Uint64(text[s-2:]), least, s-2)
	}
	z.nlit += copy(z.lits[z.nlit:], text[start:to])
}

// common returns how many bytes a and b, which is longer, have in common at
// their start.
func common(a, b []byte) int {
	n := 0
	for n+8 <= len(a) && n+8 <= len(b) {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
		n += 8
	}
	return n
}

// sequence is some literals and a match behind them, as it is written.
type sequence struct {
	extra           uint64 // what the codes leave open: of the literals' length, above it the match's, above it the offset
	width           uint8  // bits in extra
	lit, match, off uint8  // codes
}

// add takes the literals text[start:s] and a match of so many bytes so far back.
func (z *Zstd) add(start, s, length, off int) {
	n := s - start
	if n <= 16 {
		*(*[16]byte)(z.lits[z.nlit:]) = [16]byte(z.text[start:])
	} else {
		copy(z.lits[z.nlit:], z.text[start:s])
	}
	z.nlit += n

	// Offsets used before are numbered (section 3.1.1.5); right behind a match
	// the last one makes no sense, and the numbers mean others.
	r := &z.repeat
	value := uint64(off) + 3
	switch {
	case off == r[0] && n > 0:
		value = 1
	case off == r[1]:
		value = 2
		if n == 0 {
			value = 1
		}
		r[0], r[1] = r[1], r[0]
	case off == r[2]:
		value = 3
		if n == 0 {
			value = 2
		}
		r[0], r[1], r[2] = r[2], r[0], r[1]
	default:
		r[0], r[1], r[2] = off, r[0], r[1]
	}

	lit, match, offset := uint8(n), uint8(length-3), uint8(bits.Len64(value)-1)
	extra, width := value&^(1<<offset), offset
	if length >= 35 {
		match = 36 + uint8(bits.Len(uint(length-3))-1)
		if length < 3+128 {
			match = matchCode[length-3]
		}
		w := matchWide[match]
		extra = extra<<w | uint64(length-int(matchBase[match]))
		width += w
	}
	if n >= 16 {
		lit = 19 + uint8(bits.Len(uint(n))-1)
		if n < 64 {
			lit = litCode[n]
		}
		w := litWide[lit]
		extra = extra<<w | uint64(n-int(litBase[lit]))
		width += w
	}
	z.seqCount[seqLit][lit]++
	z.seqCount[seqMatch][match]++
	z.seqCount[seqOffset][offset]++
	if len(z.seqs) == cap(z.seqs) {
		z.seqs = slices.Grow(z.seqs, 1024)
	}
	// Field by field: the processor is slow to copy what it has just put
	// together.
	z.seqs = z.seqs[:len(z.seqs)+1]
	q := &z.seqs[len(z.seqs)-1]
	q.extra, q.width, q.lit, q.match, q.off = extra, width, lit, match, offset
}
