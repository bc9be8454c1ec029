package pack

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Zstd compresses pages to zstd frames (RFC 8878). The zero value is ready to be
// used. Not safe for concurrent use.
//
// What makes a page cheap is the [Dictionary]: its content is found by a table
// that is made once and only read, and its entropy tables are mostly good enough
// for a page that none need be made or written.
type Zstd struct {
	text   []byte      // the dictionary's content, the frame, and slack
	dict   *Dictionary // whose content is in text
	far    *dictTable  // and its table, nil without
	table  findTable
	repeat [3]int // the last offsets

	seqs     []sequence
	seqCount [3][fseSyms]uint32 // of the codes in seqs
	lits     []byte
	nlit     int
	litCount [256]uint32

	// The tables that a block may use again: of the dictionary or of a block
	// before.
	prev  [3]*fseTable
	lit   *litTable
	fresh [3]fseTable
	desc  [3][]byte
	own   [2]litTable // lit may be one of them
	maker litMaker
	sum   xxhash.Digest
}

// ZstdMax is the length of the longest frame's content.
const ZstdMax = 1 << 20

const blockMax = 128 << 10

// ownWorth is how many bytes a block must save by a table of its own rather than
// the dictionary's: to make one takes longer than to pack a short record.
const ownWorth = 20

// Frame adds src, and what is to be stored behind it as it is, to dst as one
// frame with its size and a checksum. It uses d if that is not nil. All together
// must not be longer than [ZstdMax].
func (z *Zstd) Frame(dst, src []byte, d *Dictionary, stored ...[]byte) []byte {
	rest := len(src)
	for _, p := range stored {
		rest += len(p)
	}
	if rest > ZstdMax {
		panic("pack: frame too long")
	}
	dst = frameHeader(dst, rest, d)
	z.sum.Reset()
	z.sum.Write(src)
	from := z.begin(d, src)
	for end := from + len(src); from < end || rest == 0; {
		to := min(from+blockMax, end)
		rest -= to - from
		dst = z.block(dst, from, to, rest == 0)
		if from = to; rest == 0 {
			break
		}
	}
	for _, p := range stored {
		z.sum.Write(p)
		for len(p) > 0 {
			n := min(len(p), blockMax)
			rest -= n
			dst = blockHeader(dst, blockRaw, n, rest == 0)
			dst = append(dst, p[:n]...)
			p = p[n:]
		}
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(z.sum.Sum64()))
}

// frameHeader adds the header of a frame that is a single segment.
func frameHeader(dst []byte, n int, d *Dictionary) []byte {
	const sum, single = 1 << 2, 1 << 5
	dst = binary.LittleEndian.AppendUint32(dst, 0xfd2fb528)
	desc := byte(sum | single)
	if d != nil {
		desc |= 3
	}
	switch {
	case n < 256:
	case n < 256+1<<16:
		desc |= 1 << 6
	default:
		desc |= 2 << 6
	}
	dst = append(dst, desc)
	if d != nil {
		dst = binary.LittleEndian.AppendUint32(dst, d.id)
	}
	switch desc >> 6 {
	case 0:
		return append(dst, byte(n))
	case 1:
		return binary.LittleEndian.AppendUint16(dst, uint16(n-256))
	default:
		return binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
}

// begin forgets the frame before and lays out the new one, behind the
// dictionary's content. It returns where it lies.
func (z *Zstd) begin(d *Dictionary, src []byte) int {
	if len(src) > 0 {
		clear(z.table[:])
	}
	z.prev, z.lit, z.repeat = [3]*fseTable{}, nil, [3]int{1, 4, 8}
	var before []byte
	z.far = nil
	if d != nil {
		z.prev = [3]*fseTable{&d.seq[0], &d.seq[1], &d.seq[2]}
		z.lit, z.repeat = &d.lit, d.repeat
		before, z.far = d.tail, d.table
	}
	if n := len(before) + len(src) + slack; n > len(z.text) {
		z.text = make([]byte, n+n/4)
		z.dict = nil
	}
	if z.dict != d {
		z.dict = d
		copy(z.text, before)
	}
	copy(z.text[len(before):], src)
	return len(before)
}

const blockRaw, blockPacked = 0, 2

func blockHeader(dst []byte, kind, n int, last bool) []byte {
	n = n<<3 | kind<<1
	if last {
		n |= 1
	}
	return append(dst, byte(n), byte(n>>8), byte(n>>16))
}

// block adds z.text[from:to] as one block.
func (z *Zstd) block(dst []byte, from, to int, last bool) []byte {
	at := len(dst)
	prev, lit, repeat := z.prev, z.lit, z.repeat
	z.find(z.far, from, to)
	dst = append(dst, 0, 0, 0) // for the header
	dst = z.literals(dst)
	dst = z.sequences(dst)
	if n := len(dst) - at - 3; n < to-from {
		blockHeader(dst[:at], blockPacked, n, last)
		return dst
	}
	z.prev, z.lit, z.repeat = prev, lit, repeat
	for k := range z.prev {
		if z.prev[k] == &z.fresh[k] {
			z.prev[k] = nil // it may have been made anew
		}
	}
	dst = blockHeader(dst[:at], blockRaw, to-from, last)
	return append(dst, z.text[from:to]...)
}

// literals adds the literals section of a block.
func (z *Zstd) literals(dst []byte) []byte {
	const raw, single, fresh, again = 0, 1, 2, 3
	lits := z.lits[:z.nlit]
	n := len(lits)
	if n < 32 {
		return append(litHeader(dst, raw, n), lits...)
	}
	count := &z.litCount
	clear(count[:])
	for _, c := range lits {
		count[c]++
	}
	if count[lits[0]] == uint32(n) {
		return append(litHeader(dst, single, n), lits[0])
	}
	entropy, whole := uint64(0), uint64(log2(uint32(n)))
	for _, c := range count {
		if c > 0 {
			entropy += uint64(c) * (whole - uint64(log2(c)))
		}
	}
	best := int(entropy>>11) + 40 // bytes of a table of their own
	kind, size := again, n
	t := z.lit
	if t != nil {
		if c, ok := t.cost(count); ok {
			size = c/8 + 1
		}
	}
	if t == nil || size > best+best/32+ownWorth {
		if best > n-n/32 {
			return append(litHeader(dst, raw, n), lits...)
		}
		t = &z.own[0]
		if t == z.lit {
			t = &z.own[1]
		}
		if z.maker.make(t, count) {
			c, _ := t.cost(count)
			if c = c/8 + 1 + len(t.desc); c < size {
				kind, size = fresh, c
			}
		}
	}
	if size > n-n/32-8 {
		return append(litHeader(dst, raw, n), lits...)
	}
	if kind == again {
		t = z.lit
	}
	z.lit = t

	at := len(dst)
	four := n >= 1024
	head := 3
	if four {
		size += 10
		head = 4
		if n >= 1<<14 {
			head = 5
		}
	}
	dst = slices.Grow(dst, head+size+16)
	out := dst[at:cap(dst)]
	p := head
	if kind == fresh {
		p += copy(out[p:], t.desc)
	}
	if !four {
		p += t.stream(out[p:], lits)
	} else {
		jump := p
		p += 6
		q := (n + 3) / 4
		for i := range 4 {
			m := t.stream(out[p:], lits[i*q:min((i+1)*q, n)])
			if p += m; i < 3 {
				binary.LittleEndian.PutUint16(out[jump+2*i:], uint16(m))
			}
		}
	}
	m := uint64(p - head)
	v := uint64(kind)
	switch head {
	case 3:
		v |= uint64(n)<<4 | m<<14
	case 4:
		v |= 2<<2 | uint64(n)<<4 | m<<18
	case 5:
		v |= 3<<2 | uint64(n)<<4 | m<<22
	}
	for i := range head {
		out[i] = byte(v >> (8 * i))
	}
	return dst[:at+p]
}

// litHeader adds the header of n literals that are not coded.
func litHeader(dst []byte, kind byte, n int) []byte {
	switch {
	case n < 1<<5:
		return append(dst, kind|byte(n<<3))
	case n < 1<<12:
		return append(dst, kind|1<<2|byte(n<<4), byte(n>>4))
	default:
		return append(dst, kind|3<<2|byte(n<<4), byte(n>>4), byte(n>>12))
	}
}
