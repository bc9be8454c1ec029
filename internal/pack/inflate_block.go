package pack

import (
	"encoding/binary"
	"io"
)

// inflateBits are the bits of a stream, the next one lowest. Above the first n
// of word there are either zeros or bits that src will give again, so that
// more can be put over them without clearing them first.
type inflateBits struct {
	src  []byte
	at   int    // the first byte of src that is not counted by n
	word uint64 // the bits
	n    uint   // how many; at most 63
}

// fill makes n at least 56, or all that is left.
func (b *inflateBits) fill() {
	if len(b.src)-b.at >= 8 {
		b.word |= binary.LittleEndian.Uint64(b.src[b.at:]) << (b.n & 63)
		b.at += int((63 - b.n) >> 3)
		b.n |= 56
		return
	}
	for b.n < 56 && b.at < len(b.src) {
		b.word |= uint64(b.src[b.at]) << (b.n & 63)
		b.at++
		b.n += 8
	}
}

// take returns the next n bits, which must be there.
func (b *inflateBits) take(n uint) uint {
	v := uint(b.word & (1<<(n&63) - 1))
	b.word >>= n & 63
	b.n -= n
	return v
}

// align drops the rest of a byte and gives whole ones back to src.
func (b *inflateBits) align() {
	b.at -= int(b.n >> 3)
	b.word, b.n = 0, 0
}

// inflate appends what the stream in z.in holds to dst, at most up to a length
// of limit, and leaves z.in behind the stream.
func (z *Inflater) inflate(dst []byte, limit int) ([]byte, error) {
	out := inflated{buf: dst[:min(cap(dst), limit)], at: len(dst), base: len(dst), limit: limit}
	err := z.blocks(&out)
	z.in.align()
	return out.buf[:out.at], err
}

// inflated is where a stream goes.
type inflated struct {
	buf   []byte // as long as there is room
	at    int    // where the next byte goes
	base  int    // where the stream began: no distance reaches further back
	limit int    // the most that buf may become
}

// grow makes room for more, or says that there may be no more.
func (o *inflated) grow() error {
	if len(o.buf) >= o.limit {
		return ErrTooLong
	}
	o.reserve(max(len(o.buf), 4<<10))
	return nil
}

// reserve makes room for n bytes, as far as the limit allows.
func (o *inflated) reserve(n int) {
	n = min(n, o.limit-o.at)
	if len(o.buf)-o.at >= n {
		return
	}
	larger := append(o.buf[:o.at], make([]byte, n)...)
	o.buf = larger[:min(cap(larger), o.limit)]
}

// blocks reads blocks up to the last.
func (z *Inflater) blocks(out *inflated) error {
	in := &z.in
	for last := false; !last; {
		in.fill()
		if in.n < 3 {
			return io.ErrUnexpectedEOF
		}
		last = in.take(1) != 0
		var err error
		switch in.take(2) {
		case 0:
			err = z.stored(out)
		case 1:
			err = z.coded(fixedCodes(), out)
		case 2:
			if err = z.readCodes(); err == nil {
				err = z.coded(&z.codes, out)
			}
		default:
			err = errDeflate
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stored copies a block that is not compressed.
func (z *Inflater) stored(out *inflated) error {
	in := &z.in
	in.align()
	head := in.src[in.at:]
	if len(head) < 4 {
		return io.ErrUnexpectedEOF
	}
	size := binary.LittleEndian.Uint16(head)
	if binary.LittleEndian.Uint16(head[2:]) != ^size {
		return errDeflate
	}
	body := head[4:min(len(head), 4+int(size))]
	in.at += 4 + len(body)
	out.reserve(len(body))
	n := copy(out.buf[out.at:], body)
	out.at += n
	if n < len(body) {
		return ErrTooLong
	}
	if len(body) < int(size) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// The order in which the lengths of the codes for lengths come: RFC 1951, 3.2.7.
var preOrder = [preSyms]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readCodes reads the head of a block that brings its own codes.
func (z *Inflater) readCodes() error {
	in := &z.in
	in.fill()
	if in.n < 14 {
		return io.ErrUnexpectedEOF
	}
	lits, dists, pres := int(in.take(5))+257, int(in.take(5))+1, in.take(4)+4
	if lits > maxLitSyms || dists > maxDistSyms {
		return errDeflate
	}

	in.fill()
	var preLens [preSyms]uint8
	for _, sym := range preOrder[:pres] {
		if in.n < 3 {
			if in.fill(); in.n < 3 {
				return io.ErrUnexpectedEOF
			}
		}
		preLens[sym] = uint8(in.take(3))
	}
	if !fillTable(z.pre[:], preBits, preLens[:], lenSyms[:]) {
		return errDeflate
	}

	lens := z.lens[:lits+dists]
	for i := 0; i < len(lens); {
		if in.n < preBits+7 {
			in.fill()
		}
		e := z.pre[in.word&(1<<preBits-1)]
		total, code := uint(e&entryBits), uint(e>>entryCode&15)
		if e&entryOdd != 0 {
			return errDeflate
		}
		if total > in.n {
			return io.ErrUnexpectedEOF
		}
		sym, extra := e>>entryValue, int(in.take(total)>>code)
		if sym < 16 {
			lens[i] = uint8(sym)
			i++
			continue
		}
		again, value := 3+extra, uint8(0)
		switch sym {
		case 16:
			if i == 0 {
				return errDeflate
			}
			value = lens[i-1]
		case 18:
			again = 11 + extra
		}
		if again > len(lens)-i {
			return errDeflate
		}
		for range again {
			lens[i] = value
			i++
		}
	}
	if !fillTable(z.codes.lit[:], litBits, lens[:lits], litSyms[:]) ||
		!fillTable(z.codes.dist[:], distBits, lens[lits:], distSyms[:]) {
		return errDeflate
	}
	return nil
}

// coded reads the symbols of a block up to its end.
func (z *Inflater) coded(c *inflateCodes, out *inflated) error {
	for {
		err := z.fast(c, out)
		if err == errSlack {
			err = z.careful(c, out)
		}
		if err != errRoom {
			return err
		}
		if err = out.grow(); err != nil {
			return err
		}
	}
}

// What one round of fast may read and write: two fills of the bits; three
// literals, or two and the longest match, and what a copy writes too much.
const (
	maxDistBits = 15 + 13

	slackIn  = 16
	slackOut = 2 + 258 + 16
)

// fast reads symbols while there is so much input and room that it need not
// ask at each of them. It ends with errSlack before there is not, and with nil
// at the end of the block.
func (z *Inflater) fast(c *inflateCodes, out *inflated) error {
	src, at, word, n := z.in.src, z.in.at, z.in.word, uint32(z.in.n)
	buf, to := out.buf[out.base:], out.at-out.base
	// Only the lowest six bits of n count: whole entries are subtracted from it.
	for at <= len(src)-slackIn && to <= len(buf)-slackOut {
		word |= binary.LittleEndian.Uint64(src[at:]) << (n & 63)
		at += int(^n & 63 >> 3)
		n |= 56

		// Whether a literal follows a match is anyone's guess, so the first is
		// read without a branch: if it is none, it takes no bits and no room.
		o := (*[3]byte)(buf[to:])
		e := c.lit[word&(1<<litBits-1)]
		o[0] = byte(e >> entryValue)
		one := e >> 31
		word >>= e & -one & entryBits
		n -= e & -one
		to += int(one)
		e = c.lit[word&(1<<litBits-1)]
		if e&entryLiteral != 0 {
			o[one] = byte(e >> entryValue)
			word >>= e & entryBits
			n -= e
			to++
			e = c.lit[word&(1<<litBits-1)]
			if e&entryLiteral != 0 {
				o[one+1] = byte(e >> entryValue)
				word >>= e & entryBits
				n -= e
				to++
				continue
			}
		}

		if e&entryOdd != 0 {
			if e&entrySub != 0 {
				e = c.lit[e>>entryValue+uint32(word>>litBits)&(1<<(e>>entryCode&15)-1)]
			}
			if e&entryLiteral != 0 {
				buf[to] = byte(e >> entryValue)
				word >>= e & entryBits
				n -= e
				to++
				continue
			}
			if e&entryEnd != 0 {
				word >>= e & entryBits
				n -= e
				z.in.at, z.in.word, z.in.n = at, word, uint(n&63)
				out.at = out.base + to
				return nil
			}
			if e&entryOdd != 0 {
				out.at = out.base + to
				return errDeflate
			}
		}
		size := int(e>>entryValue) + int(word&(1<<(e&entryBits)-1)>>(e>>entryCode&15))
		word >>= e & entryBits
		n -= e

		if n&63 < maxDistBits {
			word |= binary.LittleEndian.Uint64(src[at:]) << (n & 63)
			at += int(^n & 63 >> 3)
			n |= 56
		}
		e = c.dist[word&(1<<distBits-1)]
		if e&entrySub != 0 {
			e = c.dist[e>>entryValue+uint32(word>>distBits)&(1<<(e>>entryCode&15)-1)]
		}
		dist := int(e>>entryValue) + int(word&(1<<(e&entryBits)-1)>>(e>>entryCode&15))
		word >>= e & entryBits
		n -= e

		from := to - dist
		if from < 0 || e&entryOdd != 0 {
			out.at = out.base + to
			return errDeflate
		}
		end := to + size
		if dist >= 16 {
			for {
				*(*[16]byte)(buf[to:]) = *(*[16]byte)(buf[from:])
				to += 16
				if to >= end {
					break
				}
				from += 16
			}
		} else {
			step := min(dist, 8)
			for to < end {
				binary.LittleEndian.PutUint64(buf[to:], binary.LittleEndian.Uint64(buf[from:]))
				from += step
				to += step
			}
		}
		to = end
	}
	z.in.at, z.in.word, z.in.n = at, word, uint(n&63)
	out.at = out.base + to
	return errSlack
}

// careful reads symbols one by one, to the last bit and the last byte. It ends
// with errRoom before a symbol for which there is no room, and with nil at the
// end of the block.
func (z *Inflater) careful(c *inflateCodes, out *inflated) error {
	in := &z.in
	for {
		in.fill()
		e := c.lit[in.word&(1<<litBits-1)]
		if e&entrySub != 0 {
			e = c.lit[e>>entryValue+uint32(in.word>>litBits)&(1<<(e>>entryCode&15)-1)]
		}
		lit := uint(e & entryBits)
		if lit > in.n {
			return io.ErrUnexpectedEOF
		}
		if e&entryLiteral != 0 {
			if out.at == len(out.buf) {
				return errRoom
			}
			out.buf[out.at] = byte(e >> entryValue)
			out.at++
			in.take(lit)
			continue
		}
		if e&entryOdd != 0 {
			if e&entryEnd == 0 {
				return errDeflate
			}
			in.take(lit)
			return nil
		}
		size := int(e>>entryValue) + int(in.word&(1<<lit-1)>>(e>>entryCode&15))

		word := in.word >> lit
		e = c.dist[word&(1<<distBits-1)]
		if e&entrySub != 0 {
			e = c.dist[e>>entryValue+uint32(word>>distBits)&(1<<(e>>entryCode&15)-1)]
		}
		both := lit + uint(e&entryBits)
		if both > in.n {
			return io.ErrUnexpectedEOF
		}
		if e&entryOdd != 0 {
			return errDeflate
		}
		dist := int(e>>entryValue) + int(word&(1<<(e&entryBits)-1)>>(e>>entryCode&15))
		from := out.at - dist
		if from < out.base {
			return errDeflate
		}
		if size > len(out.buf)-out.at {
			return errRoom
		}
		for range size {
			out.buf[out.at] = out.buf[from]
			out.at++
			from++
		}
		in.take(both)
	}
}
