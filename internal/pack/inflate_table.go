package pack

import (
	"math/bits"
	"sync"
)

// A prefix code is read with one lookup of the next few bits in a table, or
// two: codes longer than the table is wide go on in a subtable behind it. Each
// symbol that a lookup can find has an entry of 32 bits that says all about it:
//
//	bits 0-5    how many bits it takes, code and extra bits together
//	bits 8-11   how many of them are the code
//	bits 13-15  what it is, when it is none of the below: see the flags
//	bits 16-30  the literal; or a length or distance before its extra bits
//	bit 31      it is a literal
//
// In an entry that leads to a subtable, bits 8-11 are the width of the
// subtable and bits 16-30 where it begins.
const (
	entryLiteral = 1 << 31
	entryOdd     = 1 << 15 // one of the next two, or nothing that may occur
	entrySub     = 1 << 14
	entryEnd     = 1 << 13 // the end of the block
	entryBits    = 63
	entryValue   = 16
	entryCode    = 8

	entryInvalid = entryOdd
)

const (
	maxInflateCode = 15 // bits of the longest code
	maxLitSyms     = 286
	maxDistSyms    = 30
	preSyms        = 19

	litBits  = 10
	distBits = 8
	preBits  = 7
)

// The most entries that a table of so many symbols can have with all its
// subtables, as found by trying all codes (enough.c of zlib does).
const (
	litEntries  = 1334
	distEntries = 402
	preEntries  = 1 << preBits
)

// inflateCodes are the tables of one block.
type inflateCodes struct {
	lit  [litEntries]uint32
	dist [distEntries]uint32
}

// The entries of all symbols, less their code.
var (
	litSyms  [288]uint32
	distSyms [32]uint32
	lenSyms  [preSyms]uint32
)

func init() {
	for i := range 256 {
		litSyms[i] = entryLiteral | uint32(i)<<entryValue
	}
	litSyms[256] = entryOdd | entryEnd
	base := uint32(3)
	for i := range uint32(28) { // RFC 1951, 3.2.5
		extra := max(i/4, 1) - 1
		litSyms[257+i] = base<<entryValue | extra
		base += 1 << extra
	}
	litSyms[285] = 258 << entryValue
	litSyms[286], litSyms[287] = entryInvalid, entryInvalid

	base = 1
	for i := range uint32(30) {
		extra := max(i/2, 1) - 1
		distSyms[i] = base<<entryValue | extra
		base += 1 << extra
	}
	distSyms[30], distSyms[31] = entryInvalid, entryInvalid

	for i := range lenSyms {
		lenSyms[i] = uint32(i) << entryValue
	}
	for i, extra := range []uint32{2, 3, 7} { // RFC 1951, 3.2.7
		lenSyms[16+i] |= extra
	}
}

// fixedCodes are those of RFC 1951, 3.2.6.
var fixedCodes = sync.OnceValue(func() *inflateCodes {
	var lens [288]uint8
	for i := range lens {
		switch {
		case i < 144 || i >= 280:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		default:
			lens[i] = 7
		}
	}
	c := new(inflateCodes)
	fillTable(c.lit[:], litBits, lens[:], litSyms[:])
	for i := range 32 {
		lens[i] = 5
	}
	fillTable(c.dist[:], distBits, lens[:32], distSyms[:])
	return c
})

// fillTable makes the table, whose first part is width bits wide, for symbols
// whose codes have the given lengths. It is false if no code can have them: a
// code is complete, or has one symbol of one bit, or none, and then only fails
// when it is used.
func fillTable(table []uint32, width int, lens []uint8, syms []uint32) bool {
	var count [maxInflateCode + 1]int
	for _, n := range lens {
		count[n&maxInflateCode]++
	}
	longest := maxInflateCode
	for longest > 0 && count[longest] == 0 {
		longest--
	}

	// Sort the symbols by code: by length, then in order.
	var next [maxInflateCode + 2]int
	var sorted [288]uint16
	left := 1 // codes of this length that are not taken
	for n := 1; n <= longest; n++ {
		next[n+1] = next[n] + count[n]
		if left = left<<1 - count[n]; left < 0 {
			return false
		}
	}
	if left > 0 {
		if longest > 1 {
			return false
		}
		for i := range table[:1<<width] {
			table[i] = entryInvalid
		}
		for i, n := range lens {
			if n == 1 {
				for at := 0; at < 1<<width; at += 2 {
					table[at] = syms[i] + (1<<entryCode | 1)
				}
			}
		}
		return true
	}
	for i, n := range lens {
		if n != 0 {
			sorted[next[n&maxInflateCode]] = uint16(i)
			next[n&maxInflateCode]++
		}
	}

	// Codes are in the table as they are in the stream: their first bit lowest.
	// Counting up, the table doubles with the length of the code, so that every
	// entry is made once, and multiplied by copying.
	code, at := 0, 0
	for n := 1; n <= width; n++ {
		half := 1 << (n - 1)
		copy(table[half:2*half], table[:half])
		add := uint32(n)<<entryCode | uint32(n)
		for range count[n] {
			table[code] = syms[sorted[at]] + add
			at++
			code = nextCode(code, n)
		}
	}

	end := 1 << width
	start, prefix, sub := 0, -1, 0
	for n := width + 1; n <= longest; n++ {
		add := uint32(n)<<entryCode | uint32(n)
		for ; count[n] > 0; count[n]-- {
			if code&(1<<width-1) != prefix {
				// As wide as the longest code with this prefix.
				prefix, start, sub = code&(1<<width-1), end, n-width
				for used := count[n]; used < 1<<sub; {
					sub++
					used = used<<1 + count[width+sub]
				}
				end += 1 << sub
				table[prefix] = entryOdd | entrySub | uint32(start)<<entryValue | uint32(sub)<<entryCode
			}
			e := syms[sorted[at]] + add
			at++
			for i := code >> width; i < 1<<sub; i += 1 << (n - width) {
				table[start+i] = e
			}
			code = nextCode(code, n)
		}
	}
	return true
}

// nextCode adds one to a code of n bits whose first bit is lowest. What follows
// the last code does not matter.
func nextCode(code, n int) int {
	top := bits.Len(uint(code^(1<<n-1))) - 1
	if top < 0 {
		return 0
	}
	return code&(1<<top-1) | 1<<top
}
