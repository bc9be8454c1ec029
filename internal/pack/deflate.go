package pack

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Deflater makes gzip members and deflate streams (RFC 1952, RFC 1951) of
// slices. It is for pages: fast, with tables that stay in the first cache,
// about as good as the first levels of streaming libraries.
//
// What it writes depends on its input alone, never on what it wrote before. The
// zero value is ready.
//
// A piece of input goes through three steps. The matcher (deflate_match.go)
// turns it into tokens; Huffman codes are made for those (deflate_huffman.go); and
// both are written as a block (deflate_emit.go), or the piece as it is where that
// is shorter.
type Deflater struct {
	at     [1 << deflateHashBits]uint16 // the low bits of where bytes of this hash were seen last
	tokens []uint32                     // of the piece
	freq   deflateFreq                  // of the tokens
	own    deflateCode                  // made for them
	tree   deflateTree
	out    deflateBits
}

const (
	// A piece becomes a block, and must fit a stored one.
	deflatePiece = 1<<16 - 1
	// Up to here a block has the fixed codes: making better ones, and writing
	// them down, costs more than the block.
	deflateTiny = 1 << 10
)

// gzipHead opens a member: deflate, no name, no time, unknown system.
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// Gzip appends a gzip member to dst: src compressed, then the stored slices as
// they are, for bytes known to be compressed already.
func (d *Deflater) Gzip(dst, src []byte, stored ...[]byte) []byte {
	dst = d.deflate(append(dst, gzipHead...), src, stored)
	sum, size := crc32.ChecksumIEEE(src), len(src)
	for _, p := range stored {
		sum = crc32.Update(sum, crc32.IEEETable, p)
		size += len(p)
	}
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return binary.LittleEndian.AppendUint32(dst, uint32(size))
}

// deflate appends src, and what is stored, as a whole deflate stream.
func (d *Deflater) deflate(dst, src []byte, stored [][]byte) []byte {
	clear(d.at[:])
	d.out = deflateBits{b: dst}
	for from := 0; from < len(src); {
		to := min(from+deflatePiece, len(src))
		d.match(src, from, to)
		d.block(src[from:to], to == len(src) && len(stored) == 0)
		from = to
	}
	for i, p := range stored {
		for {
			n := min(len(p), deflatePiece)
			d.out.stored(p[:n], i == len(stored)-1 && n == len(p))
			if p = p[n:]; len(p) == 0 {
				break
			}
		}
	}
	if len(src) == 0 && len(stored) == 0 {
		d.out.grow(2)
		d.out.put(1|deflateFixed<<1, 3+7) // no more than the end's code, seven zeros
	}
	dst = d.out.end()
	d.out.b = nil
	return dst
}

// block writes what the matcher found in the piece in the form that is shortest.
func (d *Deflater) block(piece []byte, last bool) {
	d.freq.count(d.tokens)
	code, size := &deflateFixedCode, 3+d.freq.size(&deflateFixedLens)
	if len(piece) > deflateTiny {
		if n := d.tree.plan(&d.freq); n < size {
			size = n
			code = &d.own
		}
	}
	if d.out.storedSize(len(piece)) <= size {
		d.out.stored(piece, last)
		return
	}
	d.out.grow(size/8 + 1)
	head := uint64(0)
	if last {
		head = 1
	}
	if code == &d.own {
		d.out.put(head|deflateDynamic<<1, 3)
		d.tree.write(&d.out)
		code.make(&d.tree.lens)
	} else {
		d.out.put(head|deflateFixed<<1, 3)
	}
	d.out.codes(code, d.tokens)
}

// The kinds of blocks (RFC 1951, section 3.2.3).
const (
	deflateFixed   = 1
	deflateDynamic = 2
)

// deflateBits is a slice that grows by bits, the first one lowest. All but grow
// and stored need the room that grow made.
type deflateBits struct {
	b   []byte
	acc uint64 // bits not yet in b
	n   uint   // how many, less than 8 between calls
}

// deflateSlack is how far writes of eight bytes reach beyond what they add.
const deflateSlack = 16

// grow makes room for so many more bytes.
func (w *deflateBits) grow(n int) { w.b = slices.Grow(w.b, n+deflateSlack) }

// put adds at most 56 bits.
func (w *deflateBits) put(v uint64, n uint) {
	w.acc |= v << w.n
	w.n += n
	at := len(w.b)
	binary.LittleEndian.PutUint64(w.b[at:at+8], w.acc)
	w.b = w.b[:at+int(w.n/8)]
	w.acc >>= w.n &^ 7 & 63
	w.n &= 7
}

// stored adds a block of at most deflatePiece bytes as they are.
func (w *deflateBits) stored(p []byte, last bool) {
	w.grow(len(p) + 5)
	head := uint64(0)
	if last {
		head = 1
	}
	w.put(head, 3)
	n := uint16(len(p))
	w.b = w.end()
	w.b = binary.LittleEndian.AppendUint16(w.b, n)
	w.b = binary.LittleEndian.AppendUint16(w.b, ^n)
	w.b = append(w.b, p...)
}

// storedSize returns the bits of a stored block of so many bytes.
func (w *deflateBits) storedSize(n int) int {
	return int((8-(w.n+3)&7)&7) + 3 + 32 + 8*n
}

// end fills the last byte and returns the bytes.
func (w *deflateBits) end() []byte {
	if w.n > 0 {
		w.b = append(w.b, byte(w.acc))
		w.acc, w.n = 0, 0
	}
	return w.b
}
