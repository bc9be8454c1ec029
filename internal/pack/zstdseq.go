package pack

import (
	"encoding/binary"
	"slices"
)

// The three numbers of a sequence.
const (
	seqLit = iota
	seqOffset
	seqMatch
)

// seqKinds says how each is coded (RFC 8878, section 3.1.1.3.2.1).
var seqKinds = [3]struct {
	syms, log uint8
	norm      []int16 // the predefined distribution
	normLog   uint8
}{
	seqLit: {36, 9, []int16{4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1,
		2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}, 6},
	seqOffset: {32, 8, []int16{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}, 5},
	seqMatch: {53, 9, []int16{1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1}, 6},
}

var predefined = func() (t [3]fseTable) {
	for k := range t {
		t[k].build(seqKinds[k].norm, seqKinds[k].normLog)
	}
	return t
}()

// What the codes of lengths stand for: their first number, and the bits added to
// it.
var (
	litBase, matchBase [fseSyms]uint32
	litWide            = [fseSyms]uint8{16: 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	matchWide          = [fseSyms]uint8{32: 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	litCode            = codes(&litBase, litWide[:36], 0)
	matchCode          = codes(&matchBase, matchWide[:], 3)
)

// codes fills base and returns the codes of the smallest lengths.
func codes(base *[fseSyms]uint32, wide []uint8, least uint32) (code [128]uint8) {
	n := least
	for c, w := range wide {
		base[c] = n
		for i := n - least; i < n-least+1<<w && i < 128; i++ {
			code[i] = uint8(c)
		}
		n += 1 << w
	}
	return code
}

// How a block's table for one kind is given.
const (
	modePredefined = iota
	modeSingle
	modeFresh
	modeRepeat
)

// choose picks the table that makes the sequences shortest, and one that need
// not be made unless that is worth it.
func (z *Zstd) choose(k int) (mode int) {
	count := &z.seqCount[k]
	all := uint32(len(z.seqs))
	mode, cost := modePredefined, predefined[k].total(count)
	t := &predefined[k]
	if p := z.prev[k]; p != nil {
		if c := p.total(count); c <= cost+64<<8 {
			mode, cost, t = modeRepeat, c, p
		}
	}
	own := 0
	if mode == modeRepeat {
		own = ownWorth
	}
	entropy, kinds, last := uint32(0), 0, 0
	for s, c := range count {
		if c > 0 {
			entropy += c * (log2(all) - log2(c))
			kinds++
			last = s
		}
	}
	switch {
	case kinds == 1 && cost > 8<<8:
		mode, t = modeSingle, &z.fresh[k]
		t.single(uint8(last))
	case kinds > 1 && entropy+uint32(24+8*own+4*last)<<8+entropy/32 < cost:
		mode, t = modeFresh, &z.fresh[k]
		var room [fseSyms]int16
		norm, log := fseNormal(room[:0], count[:], seqKinds[k].log)
		t.build(norm, log)
		z.desc[k] = fseWrite(z.desc[k][:0], norm, log)
	}
	z.prev[k] = t
	return mode
}

// total returns what so many of each symbol take, in 1/256 bits.
func (t *fseTable) total(count *[fseSyms]uint32) uint32 {
	n := uint32(0)
	for s, c := range count {
		if c > 0 {
			if t.cost[s] == fseNone {
				return 1 << 31
			}
			n += c * t.cost[s]
		}
	}
	return n
}

// sequences adds the sequences section of a block.
func (z *Zstd) sequences(dst []byte) []byte {
	switch n := len(z.seqs); {
	case n == 0:
		return append(dst, 0)
	case n < 128:
		dst = append(dst, byte(n))
	case n < 0x7f00:
		dst = append(dst, byte(n>>8+128), byte(n))
	default:
		dst = append(dst, 255, byte(n-0x7f00), byte((n-0x7f00)>>8))
	}
	at := len(dst)
	dst = append(dst, 0)
	for k := range z.prev {
		mode := z.choose(k)
		dst[at] |= byte(mode << (6 - 2*k))
		switch mode {
		case modeSingle:
			dst = append(dst, uint8(z.prev[k].syms-1))
		case modeFresh:
			dst = append(dst, z.desc[k]...)
		}
	}
	lit, off, match := z.prev[seqLit], z.prev[seqOffset], z.prev[seqMatch]
	dst = slices.Grow(dst, 10*len(z.seqs)+16)
	out := dst[:cap(dst)]
	p := len(dst)

	// The decoder reads from the end: what it needs first is written last.
	q := &z.seqs[len(z.seqs)-1]
	sl, so, sm := lit.first(q.lit), off.first(q.off), match.first(q.match)
	acc, n := q.extra, uint32(q.width)
	for i := len(z.seqs) - 2; i >= 0; i-- {
		binary.LittleEndian.PutUint64(out[p:], acc)
		p += int(n >> 3)
		acc >>= n & 56
		n &= 7

		q := &z.seqs[i]
		y := off.sym[q.off&63]
		w := (so + y.bits) >> 16
		acc |= uint64(so&(1<<(w&31)-1)) << (n & 63)
		n += w
		so = uint32(off.next[(int32(so>>(w&31))+y.find)&(1<<fseLog-1)])

		y = match.sym[q.match&63]
		w = (sm + y.bits) >> 16
		acc |= uint64(sm&(1<<(w&31)-1)) << (n & 63)
		n += w
		sm = uint32(match.next[(int32(sm>>(w&31))+y.find)&(1<<fseLog-1)])

		y = lit.sym[q.lit&63]
		w = (sl + y.bits) >> 16
		acc |= uint64(sl&(1<<(w&31)-1)) << (n & 63)
		n += w
		sl = uint32(lit.next[(int32(sl>>(w&31))+y.find)&(1<<fseLog-1)])

		if n+uint32(q.width) >= 64 { // with all 64 taken the next flush could not tell
			binary.LittleEndian.PutUint64(out[p:], acc)
			p += int(n >> 3)
			acc >>= n & 56
			n &= 7
		}
		acc |= q.extra << (n & 63)
		n += uint32(q.width)
	}
	binary.LittleEndian.PutUint64(out[p:], acc)
	p += int(n >> 3)
	acc >>= n & 56
	n &= 7
	for _, f := range [...]struct {
		state uint32
		log   uint8
	}{{sm, match.log}, {so, off.log}, {sl, lit.log}} {
		acc |= uint64(f.state&(1<<f.log-1)) << (n & 63)
		n += uint32(f.log)
	}
	acc |= 1 << (n & 63)
	binary.LittleEndian.PutUint64(out[p:], acc)
	return out[:p+int(n>>3)+1]
}
