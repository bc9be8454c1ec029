package pack

import "encoding/binary"

// deflateCode has the codes of symbols as they are written: the bits from the
// 16th on, their number in the second byte, and with those that follow in the
// first.
type deflateCode [deflateMask + 1]uint32

// codes adds tokens. There must be room. Two tokens have at most 46 bits: a
// length's 14 and 5, and its distance's 14 and 13.
func (w *deflateBits) codes(c *deflateCode, tokens []uint32) {
	b := w.b[:cap(w.b)]
	at, acc, n := len(w.b), w.acc, w.n
	i := 0
	for ; i < len(tokens)-1; i += 2 {
		t := tokens[i]
		x := c[t&deflateMask]
		v := uint64(x>>16) | uint64(t>>16)<<(x>>8&63)
		acc |= v << (n & 63)
		n += uint(x & 63)
		t = tokens[i+1]
		x = c[t&deflateMask]
		v = uint64(x>>16) | uint64(t>>16)<<(x>>8&63)
		acc |= v << (n & 63)
		n += uint(x & 63)
		binary.LittleEndian.PutUint64(b[at:at+8], acc)
		at += int(n >> 3)
		acc >>= n & 56
		n &= 7
	}
	w.b, w.acc, w.n = b[:at], acc, n
	for _, t := range tokens[i:] {
		x := c[t&deflateMask]
		w.put(uint64(x>>16)|uint64(t>>16)<<(x>>8&63), uint(x&63))
	}
}
