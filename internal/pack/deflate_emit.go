package pack

import "encoding/binary"

// deflateCode has the codes of symbols as they are written: the bits from the
// 16th on, their number in the second byte, and with those that follow in the
// first.
type deflateCode [deflateMask + 1]uint32

// codes adds tokens. There must be room.
//
// Two tokens have at most 47 bits, a length's 14 and 5 and a distance's 15 and
// 13; four rarely have more than 56.
func (w *deflateBits) codes(c *deflateCode, tokens []uint32) {
	b := w.b[:cap(w.b)]
	at, acc, n := len(w.b), w.acc, w.n
	for len(tokens) >= 4 {
		t0, t1, t2, t3 := tokens[0], tokens[1], tokens[2], tokens[3]
		tokens = tokens[4:]
		c0, c1, c2, c3 := c[t0&deflateMask], c[t1&deflateMask], c[t2&deflateMask], c[t3&deflateMask]
		low := uint64(c0>>16) | uint64(t0>>16)<<(c0>>8&63) | (uint64(c1>>16)|uint64(t1>>16)<<(c1>>8&63))<<(c0&63)
		high := uint64(c2>>16) | uint64(t2>>16)<<(c2>>8&63) | (uint64(c3>>16)|uint64(t3>>16)<<(c3>>8&63))<<(c2&63)
		lows, highs := uint(c0&63+c1&63), uint(c2&63+c3&63)
		acc |= low << (n & 63)
		n += lows
		if n+highs > 63 {
			binary.LittleEndian.PutUint64(b[at:at+8], acc)
			at += int(n >> 3)
			acc >>= n & 56
			n &= 7
		}
		acc |= high << (n & 63)
		n += highs
		binary.LittleEndian.PutUint64(b[at:at+8], acc)
		at += int(n >> 3)
		acc >>= n & 56
		n &= 7
	}
	w.b, w.acc, w.n = b[:at], acc, n
	for _, t := range tokens {
		x := c[t&deflateMask]
		w.put(uint64(x>>16)|uint64(t>>16)<<(x>>8&63), uint(x&63))
	}
}
