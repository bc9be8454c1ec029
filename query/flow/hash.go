package flow

import (
	"encoding/binary"
	"math/bits"

	"weir/page"
	"weir/query"
)

// Odd numbers with about as many ones as zeros.
const (
	salt0 = 0x9e3779b97f4a7c15
	salt1 = 0xd6e8feb86659fd93
	salt2 = 0xa0761d6478bd642f
)

// mix folds the 128-bit product of two numbers: every bit of the result hangs on
// every bit of both.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hash is the same in all processes and versions: it says where rows live.
func hash[T string | []byte](s T) uint64 {
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

func word[T string | []byte](s T) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Home returns the partition, of so many, where a row lives whose first column
// is v. By host, a URL lives where its host's name does; by host-n, there or on one
// of the next few partitions.
func (o *Options) Home(t query.Type, v query.Value, of int) int {
	switch {
	case of == 1:
		return 0
	case t == query.URL && o.Scheme == ByHost:
		return scale(hash(hostOf(v.S)), of)
	case t == query.URL && o.Scheme == ByHostN:
		return (scale(hash(hostOf(v.S)), of) + scale(hash(v.S), min(o.Spread, of))) % of
	case t.Textual():
		return scale(hash(v.S), of)
	}
	return scale(hash(binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(v.N))), of)
}

// scale brings a hash below n.
func scale(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// hostOf returns the host of a canonical URL, and of anything else what would be
// there. Most URLs have neither a port nor credentials: their host ends at the
// first slash.
func hostOf(s string) string {
	start := len("http://")
	if len(s) > start && s[4] == 's' {
		start++
	}
	for i := start; i < len(s); i++ {
		switch s[i] {
		case '/':
			return s[start:i]
		case ':', '@', '[':
			return page.Canonical(s).Host()
		}
	}
	return ""
}
