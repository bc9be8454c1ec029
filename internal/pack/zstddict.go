package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Dictionary is what zstd frames may refer to beside themselves (RFC 8878,
// section 5): content that counts as if it came before the frame, and tables
// that a frame's first block may use without writing them. Never changed once
// read; safe for concurrent use.
type Dictionary struct {
	id      uint32
	content []byte
	repeat  [3]int
	lit     litTable
	seq     [3]fseTable // by kind

	tail  []byte // the end of the content, all of it if it is not very long
	table *dictTable
}

const dictMagic = 0xec30a437

// dictOrder is the order of the tables for sequences.
var dictOrder = [3]int{seqOffset, seqMatch, seqLit}

var errDictionary = errors.New("malformed zstd dictionary")

// ReadDictionary reads a dictionary in zstd's own format. It keeps b, which must
// not be changed any more.
func ReadDictionary(b []byte) (*Dictionary, error) {
	if len(b) < 8 || binary.LittleEndian.Uint32(b) != dictMagic {
		return nil, fmt.Errorf("%w: no magic number", errDictionary)
	}
	d := &Dictionary{id: binary.LittleEndian.Uint32(b[4:])}
	if d.id == 0 {
		return nil, fmt.Errorf("%w: without an identifier", errDictionary)
	}
	b = b[8:]
	n, err := d.lit.read(b)
	if err != nil {
		return nil, fmt.Errorf("%w: literals: %w", errDictionary, err)
	}
	b = b[n:]
	for _, k := range dictOrder {
		var room [fseSyms]int16
		norm, log, n, err := fseRead(room[:0:seqKinds[k].syms], b, seqKinds[k].log)
		if err != nil {
			return nil, fmt.Errorf("%w: sequences: %w", errDictionary, err)
		}
		d.seq[k].build(norm, log)
		b = b[n:]
	}
	if len(b) < 12 {
		return nil, fmt.Errorf("%w: without offsets", errDictionary)
	}
	d.content = b[12:]
	for i := range d.repeat {
		r := binary.LittleEndian.Uint32(b[4*i:])
		if r == 0 || int64(r) > int64(len(d.content)) {
			return nil, fmt.Errorf("%w: offset %d in content of %d bytes", errDictionary, r, len(d.content))
		}
		d.repeat[i] = int(r)
	}
	d.index()
	return d, nil
}

// index makes the table that finds content.
func (d *Dictionary) index() {
	d.tail = d.content[max(len(d.content)-(placeNone-ZstdMax-slack), 0):]
	d.table = new(dictTable)
	for i := 0; i+8 <= len(d.tail); i++ {
		h := findHash(binary.LittleEndian.Uint64(d.tail[i:]), farMin)
		d.table[h>>(64-dictBits)] = uint32(i) | findTag(h)
	}
}
