package page

import "math/bits"

// Odd numbers with about as many ones as zeros.
const (
	salt0 = 0x9e3779b97f4a7c15
	salt1 = 0xd6e8feb86659fd93
	salt2 = 0xa0761d6478bd642f
)

// Sum is a hash that is the same in all processes and versions: it says where
// things live, on disk and among nodes. It keeps no secret, see [Secret.Hash].
func Sum[T string | []byte](s T) uint64 {
	h := salt0 ^ uint64(len(s))
	for len(s) > 16 {
		h = mix(word(s)^salt1, word(s[8:])^h)
		s = s[16:]
	}
	var a, b uint64
	switch n := len(s); {
	case n >= 8:
		a, b = word(s), word(s[n-8:])
	case n > 0:
		a = uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
		for i := range n {
			b = b<<8 | uint64(s[i])
		}
	}
	return mix(salt2^h, mix(a^salt1, b^h))
}

// Place returns the place, of so many, where something lives whose Sum is h.
func Place(h uint64, of int) int {
	hi, _ := bits.Mul64(h, uint64(of))
	return int(hi)
}

// mix folds the 128-bit product of two numbers: every bit of the result hangs on
// every bit of both.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func word[T string | []byte](s T) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
