package store

import (
	"encoding/binary"
	"math/bits"
)

const (
	shortMax = 16 << 10 // what short takes
	briefMax = 1 << 10  // up to here it is used for whole members
)

// short deflates the few hundred bytes of a header. A compressor for pages
// spends most of its time on such input making and writing Huffman tables;
// short uses the fixed ones (RFC 1951, section 3.2.6), takes a tenth of the time
// and loses little.
type short struct {
	last [1 << 10]uint16 // one more than where bytes of this hash were seen last
	b    []byte
	acc  uint64 // bits not yet in b, the first one lowest
	n    uint
}

// code is a Huffman code as it goes into the stream.
type code struct {
	bits uint16
	n    uint8
}

// literals are the fixed codes of literals and lengths.
var literals = func() (t [288]code) {
	for i := range t {
		var v, n int
		switch {
		case i < 144:
			v, n = 0x30+i, 8
		case i < 256:
			v, n = 0x190+i-144, 9
		case i < 280:
			v, n = i-256, 7
		default:
			v, n = 0xc0+i-280, 8
		}
		t[i] = code{bits.Reverse16(uint16(v)) >> (16 - n), uint8(n)}
	}
	return t
}()

// deflate appends src, at most shortMax bytes, as one block that ends the stream
// when it is final. Otherwise the three bits of a stored block follow, up to the
// byte's edge where its length stands.
func (s *short) deflate(dst, src []byte, final bool) []byte {
	clear(s.last[:])
	s.b, s.acc, s.n = dst, 0, 0
	if final {
		s.put(1, 1)
	} else {
		s.put(0, 1)
	}
	s.put(1, 2)
	i := 0
	for i+4 <= len(src) {
		v := binary.LittleEndian.Uint32(src[i:])
		h := v * 0x9e3779b1 >> 22
		at := int(s.last[h]) - 1
		s.last[h] = uint16(i + 1)
		if at < 0 || binary.LittleEndian.Uint32(src[at:]) != v {
			s.symbol(int(src[i]))
			i++
			continue
		}
		n := 4
		for n < 258 && i+n < len(src) && src[at+n] == src[i+n] {
			n++
		}
		s.match(n, i-at)
		for j := i + 1; j < i+n && j+4 <= len(src); j++ {
			s.last[binary.LittleEndian.Uint32(src[j:])*0x9e3779b1>>22] = uint16(j + 1)
		}
		i += n
	}
	for ; i < len(src); i++ {
		s.symbol(int(src[i]))
	}
	s.symbol(256)
	if !final {
		s.put(0, 3)
	}
	for s.n > 0 {
		s.b = append(s.b, byte(s.acc))
		s.acc >>= 8
		s.n -= min(s.n, 8)
	}
	b := s.b
	s.b = nil
	return b
}

func (s *short) symbol(i int) {
	c := literals[i]
	s.put(uint64(c.bits), uint(c.n))
}

// match writes a length of 4 to 258 and a distance.
func (s *short) match(length, distance int) {
	switch l := uint(length - 3); {
	case length == 258:
		s.symbol(285)
	case l < 4:
		s.symbol(257 + int(l))
	default:
		n := uint(bits.Len(l)) - 3
		s.symbol(261 + int(4*n+l>>n&3))
		s.put(uint64(l&(1<<n-1)), n)
	}
	d := uint(distance - 1)
	if d < 2 {
		s.distance(d)
		return
	}
	n := uint(bits.Len(d)) - 2
	s.distance(2*n + 2 + d>>n&1)
	s.put(uint64(d&(1<<n-1)), n)
}

func (s *short) distance(c uint) { s.put(uint64(bits.Reverse8(uint8(c))>>3), 5) }

func (s *short) put(v uint64, n uint) {
	s.acc |= v << s.n
	s.n += n
	if s.n >= 32 {
		s.b = binary.LittleEndian.AppendUint32(s.b, uint32(s.acc))
		s.acc >>= 32
		s.n -= 32
	}
}
