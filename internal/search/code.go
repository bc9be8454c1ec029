package search

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cursor reads what a block holds. After the first thing that cannot be it is
// bad and returns nothing more.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) number() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

// count reads a number that cannot be more than most.
func (c *cursor) count(most int) int {
	v := c.number()
	if v > uint64(most) {
		c.fail()
		return 0
	}
	return int(v)
}

func (c *cursor) bytes(n int) []byte {
	if n > len(c.b) {
		c.fail()
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) fail() { c.b, c.bad = nil, true }

// shared reads a text of which it is said how many bytes are those of the one
// before, and appends the rest to those.
func (c *cursor) shared(before []byte, most int) []byte {
	keep := c.count(len(before))
	return append(before[:keep], c.bytes(c.count(most-keep))...)
}

// appendShared appends s as it differs from the text before it.
func appendShared(b []byte, before, s string) []byte {
	n := 0
	for n < len(before) && n < len(s) && before[n] == s[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	b = binary.AppendUvarint(b, uint64(len(s)-n))
	return append(b, s[n:]...)
}

// list is the postings of one term: the documents that have it, from the first
// to the last, and how often.
type list struct {
	b    []byte
	next int // the least number the next document may have
	n    int // documents
}

// add appends a document. Documents come in order.
func (l *list) add(doc, times int) {
	gap := uint64(doc-l.next) << 1
	if times == 1 {
		l.b = binary.AppendUvarint(l.b, gap)
	} else {
		l.b = binary.AppendUvarint(l.b, gap|1)
		l.b = binary.AppendUvarint(l.b, uint64(times)-2)
	}
	l.next = doc + 1
	l.n++
}

// postings reads a list.
type postings struct {
	c     cursor
	left  int // documents not yet read
	docs  int // all documents have lower numbers
	next  int
	doc   int // the one it stands at; docs at the end
	times int
}

// step goes to the next document.
func (p *postings) step() error {
	if p.left == 0 {
		if len(p.c.b) != 0 {
			return fmt.Errorf("%w: a list is too long", ErrDamaged)
		}
		p.doc = p.docs
		return nil
	}
	p.left--
	v := p.c.number()
	p.times = 1
	if v&1 != 0 {
		p.times = p.c.count(1<<31-1) + 2
	}
	if p.c.bad || v>>1 >= uint64(p.docs-p.next) {
		return fmt.Errorf("%w: a list breaks off or names a document that is not there", ErrDamaged)
	}
	p.doc = p.next + int(v>>1)
	p.next = p.doc + 1
	return nil
}

// seek goes to the first document from doc on.
func (p *postings) seek(doc int) error {
	for p.doc < doc {
		if err := p.step(); err != nil {
			return err
		}
	}
	return nil
}
