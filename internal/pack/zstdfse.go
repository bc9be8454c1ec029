package pack

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

var errZstdTable = errors.New("malformed entropy table")

const (
	fseSyms = 53 // of the largest alphabet, the match lengths
	fseLog  = 9  // states of the largest table, as a power of two
)

// fseTable codes one alphabet by finite state entropy (RFC 8878, section 4.1).
// A state is a number from 1<<log to 2<<log. To write a symbol, as many of its
// low bits are put out as make what remains fall into the symbol's own range,
// and that has the next state.
type fseTable struct {
	log  uint8
	syms int // those from here on have no code
	sym  [64]fseSym
	cost [fseSyms]uint32 // of a symbol in 1/256 bits, fseNone without a code
	next [1 << fseLog]uint16
}

type fseSym struct {
	bits uint32 // added to a state it has the number of bits to put out from bit 16 on
	find int32  // from what remains of the state to its place in next
}

const fseNone = 1 << 24

// build makes t the table of a normalized distribution: shares of 1<<log, where
// -1 is a share of one that comes last.
func (t *fseTable) build(norm []int16, log uint8) {
	var at [fseSyms + 1]int
	var spread [1 << fseLog]uint8
	fseSpread(spread[:1<<log], norm)
	t.log, t.syms = log, len(norm)
	total := 0
	for s, n := range norm {
		at[s] = total
		switch n {
		case 0:
			t.cost[s] = fseNone
			continue
		case -1, 1:
			t.sym[s] = fseSym{uint32(log)<<16 - 1<<log, int32(total - 1)}
			t.cost[s] = uint32(log) << 8
			total++
		default:
			most := uint32(log) - uint32(bits.Len16(uint16(n-1))-1)
			t.sym[s] = fseSym{most<<16 - uint32(n)<<most, int32(total) - int32(n)}
			t.cost[s] = uint32(log)<<8 - log2(uint32(n))
			total += int(n)
		}
	}
	for s := len(norm); s < fseSyms; s++ {
		t.cost[s] = fseNone
	}
	for i, s := range spread[:1<<log] {
		t.next[at[s]] = uint16(1<<log + i)
		at[s]++
	}
}

// single makes t the table of an alphabet of which one symbol occurs.
func (t *fseTable) single(sym uint8) {
	t.log, t.syms, t.next[0] = 0, int(sym)+1, 0
	for s := range t.cost {
		t.cost[s] = fseNone
	}
	t.sym[sym], t.cost[sym] = fseSym{}, 0
}

// first returns the state that a stream's last symbol, the first written,
// leaves.
func (t *fseTable) first(sym uint8) uint32 {
	s := t.sym[sym]
	n := (s.bits + 1<<15) >> 16
	return uint32(t.next[int32((n<<16-s.bits)>>n)+s.find])
}

// fseSpread gives each state its symbol (RFC 8878, section 4.1.1).
func fseSpread(spread []uint8, norm []int16) {
	size := len(spread)
	high := size - 1
	for s, n := range norm {
		if n < 0 {
			spread[high] = uint8(s)
			high--
		}
	}
	step, p := size>>1+size>>3+3, 0
	for s, n := range norm {
		for range max(n, 0) {
			spread[p] = uint8(s)
			for p = (p + step) & (size - 1); p > high; p = (p + step) & (size - 1) {
			}
		}
	}
}

// fseNormal scales counts of at least two symbols to shares of 1<<log and
// returns them with that log: no more than most, and no more than so few
// symbols deserve.
func fseNormal(norm []int16, count []uint32, most uint8) ([]int16, uint8) {
	total, kinds := uint32(0), 0
	for s, n := range count {
		if n > 0 {
			total += n
			kinds++
			norm = norm[:s+1]
		}
	}
	log := uint8(max(bits.Len32(total)-2, bits.Len(uint(kinds-1))+1, 5))
	log = min(log, most)
	left := int16(1) << log
	top := 0
	for s, n := range count[:len(norm)] {
		norm[s] = 0
		if n > 0 {
			norm[s] = int16(max((uint64(n)<<log+uint64(total)/2)/uint64(total), 1))
			left -= norm[s]
			if norm[s] > norm[top] {
				top = s
			}
		}
	}
	for ; left < 0; left++ { // so many rare ones were given their one
		for s, n := range norm {
			if n > norm[top] {
				top = s
			}
		}
		norm[top]--
	}
	norm[top] += left
	return norm, log
}

// fseWrite adds the description of a table without shares of -1.
func fseWrite(dst []byte, norm []int16, log uint8) []byte {
	acc, n := uint64(log-5), uint(4)
	left, limit, width := 1<<log+1, 1<<log, uint(log)+1
	for s := 0; s < len(norm); s++ {
		v := int(norm[s]) + 1
		short := 2*limit - 1 - left // so many values take a bit less
		left -= v - 1
		if v >= limit {
			v += short
		}
		acc |= uint64(v) << n
		n += width
		if v < short {
			n--
		}
		for left < limit && limit > 1 {
			width--
			limit >>= 1
		}
		if norm[s] == 0 { // how many more are not there either
			run := 0
			for norm[s+1] == 0 {
				run++
				s++
			}
			for ; run >= 3; run -= 3 {
				acc |= 3 << n
				n += 2
				dst, acc, n = fseFlush(dst, acc, n)
			}
			acc |= uint64(run) << n
			n += 2
		}
		dst, acc, n = fseFlush(dst, acc, n)
	}
	if n > 0 {
		dst = append(dst, byte(acc))
	}
	return dst
}

func fseFlush(dst []byte, acc uint64, n uint) ([]byte, uint64, uint) {
	for ; n >= 8; n -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst, acc, n
}

// fseRead reads the description of a table at the start of b: the shares, which
// it puts into norm, their log, which must not be above most, and the bytes it
// took.
func fseRead(norm []int16, b []byte, most uint8) ([]int16, uint8, int, error) {
	at := 0
	peek := func() int { // 16 bits or more, zeros behind the end
		var w [4]byte
		copy(w[:], b[min(at>>3, len(b)):])
		return int(binary.LittleEndian.Uint32(w[:]) >> (at & 7) & 0xffff)
	}
	log := uint8(peek()&15) + 5
	at += 4
	if log > most {
		return nil, 0, 0, errZstdTable
	}
	room := cap(norm)
	norm = norm[:0]
	left, limit, width := 1<<log+1, 1<<log, int(log)+1
	for left > 1 {
		if len(norm) >= room {
			return nil, 0, 0, errZstdTable
		}
		short := 2*limit - 1 - left
		v := peek() & (2*limit - 1)
		if v&(limit-1) < short {
			v &= limit - 1
			at += width - 1
		} else {
			if v >= limit {
				v -= short
			}
			at += width
		}
		v--
		norm = append(norm, int16(v))
		left -= max(v, -v)
		for left < limit && limit > 1 {
			width--
			limit >>= 1
		}
		for v == 0 {
			run := peek() & 3
			at += 2
			if len(norm)+run > room {
				return nil, 0, 0, errZstdTable
			}
			for range run {
				norm = append(norm, 0)
			}
			if run < 3 {
				break
			}
		}
	}
	if left != 1 || (at+7)>>3 > len(b) {
		return nil, 0, 0, errZstdTable
	}
	return norm, log, (at + 7) >> 3, nil
}

// log2 returns the binary logarithm of n > 0 in units of 1/256.
func log2(n uint32) uint32 {
	whole := uint32(bits.Len32(n) - 1)
	return whole<<8 + uint32(log2Part[(n<<(31-whole))>>24&127])
}

// log2Part is log2(1 + i/128) in units of 1/256.
var log2Part = func() (t [128]uint8) {
	for i := range t {
		t[i] = uint8(math.Log2(1+float64(i)/128)*256 + 0.5)
	}
	return t
}()
