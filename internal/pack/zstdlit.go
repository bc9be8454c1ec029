package pack

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// litMax is the longest code of a literal.
const litMax = 11

// litTable codes literals (RFC 8878, section 4.2).
type litTable struct {
	code [256]uint32 // the bits, and from bit 16 on how many; 0 when there is no code
	desc []byte      // the table as it is written
}

// set makes codes from the weights of the symbols: one of weight w has top+1-w
// bits, and none if that is 0.
func (t *litTable) set(weight []uint8, top uint8) {
	var many, at [litMax + 2]uint32
	for _, w := range weight {
		many[w]++
	}
	v := uint32(0)
	for w := uint8(1); w <= top; w++ {
		at[w] = v
		v = (v + many[w]) >> 1
	}
	clear(t.code[:])
	for s, w := range weight {
		if w > 0 {
			t.code[s] = at[w] | uint32(top+1-w)<<16
			at[w]++
		}
	}
}

// read makes t the table that b begins with and returns the bytes it took.
func (t *litTable) read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errZstdTable
	}
	var buf [256]uint8
	weight := buf[:0]
	size := int(b[0])
	b = b[1:]
	if size >= 128 {
		n := size - 127
		if size = (n + 1) / 2; size > len(b) {
			return 0, errZstdTable
		}
		for i := range n {
			weight = append(weight, b[i/2]>>(4*(^i&1))&15)
		}
	} else {
		var err error
		if weight, err = readWeights(weight, b[:min(size, len(b))]); err != nil || size > len(b) {
			return 0, errZstdTable
		}
	}
	// The last weight is what makes the sum a power of two.
	sum := uint32(0)
	for _, w := range weight {
		if w > litMax {
			return 0, errZstdTable
		}
		if w > 0 {
			sum += 1 << (w - 1)
		}
	}
	top := bits.Len32(sum)
	rest := uint32(1)<<top - sum
	if sum == 0 || top > litMax || rest&(rest-1) != 0 || len(weight) > 255 {
		return 0, errZstdTable
	}
	t.set(append(weight, uint8(bits.Len32(rest))), uint8(top))
	t.desc = nil
	return 1 + size, nil
}

// readWeights reads weights that are compressed (section 4.2.1.2): two states
// take turns until the bits are used up.
func readWeights(out, b []byte) ([]uint8, error) {
	var room [litMax + 2]int16
	norm, log, n, err := fseRead(room[:0], b, 6)
	if err != nil {
		return nil, err
	}
	if b = b[n:]; len(b) == 0 || b[len(b)-1] == 0 {
		return nil, errZstdTable
	}
	var spread, width, base [64]uint8
	fseSpread(spread[:1<<log], norm)
	for i, s := range spread[:1<<log] {
		x := uint8(max(norm[s], 1))
		norm[s] = int16(x) + 1
		width[i] = log + 1 - uint8(bits.Len8(x))
		base[i] = x<<width[i] - 1<<log
	}
	left := 8*len(b) - bits.LeadingZeros8(b[len(b)-1]) - 1
	take := func(n uint8) uint8 {
		v := uint8(0)
		for range n {
			left--
			v <<= 1
			if left >= 0 {
				v |= b[left>>3] >> (left & 7) & 1
			}
		}
		return v
	}
	state := [2]uint8{take(log), 0}
	state[1] = take(log)
	if left < 0 {
		return nil, errZstdTable
	}
	for i := 0; len(out) < 255; i ^= 1 {
		s := state[i]
		out = append(out, spread[s])
		state[i] = base[s] + take(width[s])
		if left < 0 {
			return append(out, spread[state[i^1]]), nil
		}
	}
	return nil, errZstdTable
}

// litMaker makes tables for literals.
type litMaker struct {
	order  [256]uint32
	node   [512]uint32
	parent [512]uint16
	depth  [512]uint8
	weight [256]uint8
	fse    fseTable
}

// make makes t the best table for so many of each literal, of which there must
// be two kinds. It says whether there is a way to write that table.
func (m *litMaker) make(t *litTable, count *[256]uint32) bool {
	n, last := 0, 0
	for s, c := range count {
		m.weight[s] = 0
		if c > 0 {
			m.order[n] = c<<8 | uint32(s)
			n++
			last = s
		}
	}
	order := m.order[:n]
	slices.Sort(order)
	// Leaves and inner nodes both come in ascending order: the two smallest are
	// at the head of one or the other.
	for i, o := range order {
		m.node[i] = o >> 8
	}
	leaf, inner := 0, n
	least := func(end int) int {
		if leaf < n && (inner == end || m.node[leaf] <= m.node[inner]) {
			leaf++
			return leaf - 1
		}
		inner++
		return inner - 1
	}
	for end := n; end < 2*n-1; end++ {
		a := least(end)
		b := least(end)
		m.node[end] = m.node[a] + m.node[b]
		m.parent[a], m.parent[b] = uint16(end), uint16(end)
	}
	var many [litMax + 1]int // codes of each length
	m.depth[2*n-2] = 0
	for i := 2*n - 3; i >= 0; i-- {
		m.depth[i] = m.depth[m.parent[i]] + 1
		if i < n {
			many[min(m.depth[i], litMax)]++
		}
	}
	// Codes that were cut took too much: the longest of those that can become
	// longer gives.
	sum := 0
	for l, k := range many {
		sum += k << (litMax - l)
	}
	for ; sum > 1<<litMax; sum-- {
		l := litMax - 1
		for many[l] == 0 {
			l--
		}
		many[l]--
		many[l+1] += 2
		many[litMax]--
	}
	top := uint8(litMax)
	for many[top] == 0 {
		top--
	}
	i := 0
	for l := top; l > 0; l-- {
		for range many[l] {
			m.weight[uint8(order[i])] = top + 1 - l
			i++
		}
	}
	t.set(m.weight[:last+1], top)
	return m.describe(t, last)
}

// describe writes the weights of the symbols below last.
func (m *litMaker) describe(t *litTable, last int) bool {
	t.desc = t.desc[:0]
	weight := m.weight[:last]
	var count [litMax + 2]uint32
	kinds := 0
	for _, w := range weight {
		if count[w]++; count[w] == 1 {
			kinds++
		}
	}
	if kinds > 1 {
		var room [litMax + 2]int16
		norm, log := fseNormal(room[:0], count[:], 6)
		m.fse.build(norm, log)
		t.desc = fseWrite(append(t.desc, 0), norm, log)
		var w fseBits
		var state [2]uint32
		for i := last - 1; i >= 0; i-- {
			if i >= last-2 {
				state[i&1] = m.fse.first(weight[i])
				continue
			}
			s := m.fse.sym[weight[i]]
			x := state[i&1]
			n := (x + s.bits) >> 16
			w.add(uint64(x)&(1<<n-1), uint(n))
			state[i&1] = uint32(m.fse.next[int32(x>>n)+s.find])
			t.desc = w.flush(t.desc)
		}
		w.add(uint64(state[1])&(1<<log-1), uint(log))
		w.add(uint64(state[0])&(1<<log-1), uint(log))
		w.add(1, 1)
		t.desc = w.end(t.desc)
		t.desc[0] = byte(len(t.desc) - 1)
		if size := len(t.desc); size <= 128 && (last > 128 || size <= 1+(last+1)/2) {
			return true
		}
	}
	if last > 128 {
		return false
	}
	t.desc = append(t.desc[:0], byte(127+last))
	for i := 0; i < last; i += 2 {
		t.desc = append(t.desc, weight[i]<<4|m.weight[i+1]*uint8(min(last-1-i, 1)))
	}
	return true
}

// cost returns the bits that so many of each literal take, or false when one of
// them has no code.
func (t *litTable) cost(count *[256]uint32) (int, bool) {
	n := uint32(0)
	for s, c := range count {
		if c > 0 {
			l := t.code[s] >> 16
			if l == 0 {
				return 0, false
			}
			n += c * l
		}
	}
	return int(n), true
}

// stream puts literals at the start of dst, which has eight bytes more room than
// they take, and returns how many those are. The last literal comes first.
func (t *litTable) stream(dst, lits []byte) int {
	acc, n, p := uint64(0), uint32(0), 0
	code := &t.code
	for len(lits) >= 4 {
		q := lits[len(lits)-4:]
		a, b, c, d := code[q[3]], code[q[2]], code[q[1]], code[q[0]]
		la, lc := a>>16, c>>16
		ab := uint64(a&0xffff) | uint64(b&0xffff)<<(la&31)
		cd := uint64(c&0xffff) | uint64(d&0xffff)<<(lc&31)
		la += b >> 16
		lc += d >> 16
		acc |= (ab | cd<<(la&63)) << (n & 63)
		n += la + lc
		binary.LittleEndian.PutUint64(dst[p:], acc)
		p += int(n >> 3)
		acc >>= n & 56
		n &= 7
		lits = lits[:len(lits)-4]
	}
	for i := len(lits) - 1; i >= 0; i-- {
		c := code[lits[i]]
		acc |= uint64(c&0xffff) << n
		n += c >> 16
	}
	acc |= 1 << n
	binary.LittleEndian.PutUint64(dst[p:], acc)
	return p + int(n>>3) + 1
}

// fseBits gathers bits, the first lowest.
type fseBits struct {
	acc uint64
	n   uint
}

func (w *fseBits) add(v uint64, n uint) {
	w.acc |= v << w.n
	w.n += n
}

func (w *fseBits) flush(dst []byte) []byte {
	dst, w.acc, w.n = fseFlush(dst, w.acc, w.n)
	return dst
}

func (w *fseBits) end(dst []byte) []byte {
	if dst = w.flush(dst); w.n > 0 {
		dst = append(dst, byte(w.acc))
	}
	return dst
}
