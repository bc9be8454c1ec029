package pack

import (
	"encoding/binary"
	"math/bits"
)

const (
	deflateHashBits = 13
	deflateWindow   = 1 << 15
	deflateLongest  = 258
	deflateMargin   = 16 // before the end of a piece, where nothing is looked for: what is read at once
)

// A token is a literal, a length or a distance, and a distance follows each
// length. Its low 16 bits are its symbol; distances have theirs, from
// deflateBack on, after the 288 of RFC 1951's other alphabet. The bits that
// follow a symbol are above.
//
// Literals and matches alternate as they please, and a processor that guesses
// wrong which comes next loses more time than it takes to write one. So tokens
// are all handled alike, and there is nothing to guess.
const (
	deflateStop    = 256 // ends a block
	deflateBack    = 288
	deflateSymbols = deflateBack + 30
	deflateMask    = 511 // spares the check of an index
)

// match turns src[from:to] into tokens. Matches begin there and go back as far
// as the window.
//
// The table has the low 16 bits of positions. Beyond the window there are as
// many positions as within, so what lies there is told by its distance; and where
// the table has nothing it has 0, which is a position too. A candidate is thus
// never outside of src, only not always alike.
func (d *Deflater) match(src []byte, from, to int) {
	src = src[:to]
	d.tokens = deflateRoom(d.tokens, to-from+1)
	n, i := 0, from
	if i == 0 {
		d.tokens[0] = uint32(src[0])
		n, i = 1, 1
	}
	limit := len(src) - deflateMargin
	step := 0
	for i < limit {
		var at int
		i, at, n = d.find(src[:min(i+64, limit)+7], i, n)
		if at < 0 {
			// Where nothing repeats, look at ever fewer positions.
			step += 4
			for range min(step, limit-i) {
				d.tokens[n] = uint32(src[i])
				n++
				i++
			}
			continue
		}
		step = 0
		length := 4
		if x := binary.LittleEndian.Uint64(src[i+4:i+12]) ^ binary.LittleEndian.Uint64(src[at+4:at+12]); x != 0 {
			length += bits.TrailingZeros64(x) >> 3
		} else {
			length = deflateAlike(src, i, at)
		}
		pair := d.tokens[n : n+2]
		pair[0] = deflateLen[uint8(length-3)]
		pair[1] = deflateDist(uint32(i - at))
		n += 2
		i += length
		if i > limit {
			break
		}
		v := binary.LittleEndian.Uint64(src[i-2 : i+6])
		d.at[deflateHash(v)] = uint16(i - 2)
		d.at[deflateHash(v>>8)] = uint16(i - 1)
	}
	for ; i < len(src); i++ {
		d.tokens[n] = uint32(src[i])
		n++
	}
	d.tokens[n] = deflateStop
	d.tokens = d.tokens[:n+1]
}

// find writes literals, from i and token n on, up to bytes that were seen
// before, four at least. It returns where they are and were, or a negative number
// if there are none, and the number of tokens. The last seven bytes are only read.
func (d *Deflater) find(src []byte, i, n int) (int, int, int) {
	tokens := d.tokens
	for ; i >= 0 && i <= len(src)-8; i++ {
		v := binary.LittleEndian.Uint64(src[i : i+8])
		h := deflateHash(v)
		at := i - int(uint16(i)-d.at[h])
		d.at[h] = uint16(i)
		if uint32(v) == binary.LittleEndian.Uint32(src[at:at+4]) && uint(i-at-1) < deflateWindow {
			return i, at, n
		}
		tokens[n] = uint32(uint8(v))
		n++
	}
	return i, -1, n
}

// deflateHash is of five bytes. Matches of four, unless they are near, save
// nothing.
func deflateHash(v uint64) uint64 { return v << 24 * 0x9e3779b185ebca87 >> (64 - deflateHashBits) }

// deflateAlike returns the length of a match of 12 bytes or more.
func deflateAlike(src []byte, i, at int) int {
	src = src[:min(len(src), i+deflateLongest)]
	n := 12
	for ; i+n <= len(src)-8; n += 8 {
		if x := binary.LittleEndian.Uint64(src[i+n:]) ^ binary.LittleEndian.Uint64(src[at+n:]); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
	}
	for i+n < len(src) && src[i+n] == src[at+n] {
		n++
	}
	return n
}

// deflateDist returns the token of a distance (RFC 1951, section 3.2.5).
func deflateDist(dist uint32) uint32 {
	dist--
	if dist < 2 {
		return deflateBack + dist
	}
	n := uint(bits.Len32(dist)-2) & 31
	return deflateBack + uint32(2*n+2) + dist>>n&1 + dist&(1<<n-1)<<16
}

// deflateLen are the tokens of lengths less 3.
var deflateLen = func() (t [256]uint32) {
	for i := range uint32(deflateLongest - 3) {
		if i < 8 {
			t[i] = 257 + i
			continue
		}
		n := bits.Len32(i) - 3
		t[i] = 257 + uint32(4*n) + i>>n + i&(1<<n-1)<<16
	}
	t[deflateLongest-3] = 285
	return t
}()

// deflateExtra are the numbers of bits that follow symbols.
var deflateExtra = func() (t [deflateSymbols]uint8) {
	for i := range 29 - 8 - 1 {
		t[257+8+i] = uint8(1 + i/4)
	}
	for i := range 30 - 4 {
		t[deflateBack+4+i] = uint8(1 + i/2)
	}
	return t
}()

// deflateRoom returns b with n elements, whatever they are.
func deflateRoom[E any](b []E, n int) []E {
	if cap(b) < n {
		b = make([]E, n+n/4)
	}
	return b[:n]
}
