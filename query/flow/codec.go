package flow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strings"

	"weir/query"
)

// Rows are packed column by column, so that the order of their bytes is the
// order of their values: a text is its bytes and a zero, a float its eight bytes,
// an int or a time how many bytes it takes and those. The columns of a row's key come
// first, in the order of a path, so that rows with equal first columns lie
// together; a row's min and max columns are the value kept under the key.

// errRow says that bytes from elsewhere are not a row.
var errRow = errors.New("not a row of this plan")

func appendValue(b []byte, t query.Type, v query.Value) []byte {
	switch {
	case t == query.URL: // canonical: no zeros and ones
		return append(append(b, v.S...), endByte)
	case t.Textual():
		return appendText(b, v.S)
	case t == query.Float:
		n := uint64(v.N)
		if v.N < 0 {
			n = ^n
		} else {
			n ^= 1 << 63
		}
		return binary.BigEndian.AppendUint64(b, n)
	}
	return appendInt(b, v.N)
}

// cutValue reads one value off s. The text of a value is a part of s, but for
// those with zeros and ones in them.
func cutValue(s string, t query.Type) (v query.Value, rest string, ok bool) {
	switch {
	case t == query.URL:
		end := strings.IndexByte(s, endByte)
		if end < 0 {
			return v, s, false
		}
		v.S = s[:end]
		return v, s[end+1:], true
	case t.Textual():
		return cutText(s)
	case t == query.Float:
		if len(s) < 8 {
			return v, s, false
		}
		v.N = int64(bigEndian(s[:8]))
		if v.N < 0 {
			v.N ^= math.MinInt64
		} else {
			v.N = ^v.N
		}
		return v, s[8:], true
	}
	return cutInt(s)
}

// Bytes of texts that stand for others: 0 ends a text, and 1 goes before what is
// really 0 or 1, which is one more then.
const (
	endByte    = 0
	escapeByte = 1
)

func appendText(b []byte, s string) []byte {
	if strings.IndexByte(s, endByte) < 0 && strings.IndexByte(s, escapeByte) < 0 {
		return append(append(b, s...), endByte)
	}
	for _, c := range []byte(s) {
		if c <= escapeByte {
			b = append(b, escapeByte)
			c++
		}
		b = append(b, c)
	}
	return append(b, endByte)
}

func cutText(s string) (v query.Value, rest string, ok bool) {
	end := strings.IndexByte(s, endByte)
	if end < 0 {
		return v, s, false
	}
	v.S, rest = s[:end], s[end+1:]
	if strings.IndexByte(v.S, escapeByte) < 0 {
		return v, rest, true
	}
	plain := make([]byte, 0, end)
	for i := 0; i < end; i++ {
		c := s[i]
		if c == escapeByte {
			if i++; i == end || s[i] > escapeByte+1 {
				return query.Value{}, s, false
			}
			c = s[i] - 1
		}
		plain = append(plain, c)
	}
	v.S = string(plain)
	return v, rest, true
}

// zeroInt is the first byte of a packed 0. That of other ints is as much more,
// or less if they are negative, as bytes follow.
const zeroInt = 0x80

func appendInt(b []byte, n int64) []byte {
	size := intSize(n)
	if n < 0 {
		b = append(b, zeroInt-byte(size))
	} else {
		b = append(b, zeroInt+byte(size))
	}
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

// intSize is how many bytes of n are not all sign; those of a negative number are
// one at least.
func intSize(n int64) int {
	if n < 0 {
		return max(1, (bits.Len64(uint64(^n))+7)/8)
	}
	return (bits.Len64(uint64(n)) + 7) / 8
}

func cutInt(s string) (v query.Value, rest string, ok bool) {
	if s == "" {
		return v, s, false
	}
	size := int(s[0]) - zeroInt
	if size < 0 {
		size, v.N = -size, -1
	}
	if size > 8 || len(s) <= size {
		return query.Value{}, s, false
	}
	v.N = v.N<<(8*size) | int64(bigEndian(s[1:size+1]))
	// A value has one form only: what is packed differently is not ours.
	return v, s[size+1:], intSize(v.N) == size && (v.N < 0) == (s[0] < zeroInt)
}

func bigEndian(s string) (n uint64) {
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n
}

func cutUvarint(s string) (n uint64, rest string, ok bool) {
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		n |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return n, s[i+1:], true
		}
	}
	return 0, s, false
}

// appendRow packs a row for its way to another partition: the length of its key,
// if it has a value besides, the key and the value.
func (st *Store) appendRow(b, key, value []byte) []byte {
	if len(st.lats) > 0 {
		b = binary.AppendUvarint(b, uint64(len(key)))
	}
	return append(append(b, key...), value...)
}

// cutRow undoes appendRow, and makes sure that it is a row of the store.
func (st *Store) cutRow(s string) (key, value string, err error) {
	key = s
	if len(st.lats) > 0 {
		n, rest, ok := cutUvarint(s)
		if !ok || n > uint64(len(rest)) {
			return "", "", errRow
		}
		key, value = rest[:n], rest[n:]
	}
	if !st.fits(key, st.keys) || !st.fits(value, st.lats) {
		return "", "", errRow
	}
	return key, value, nil
}

func (st *Store) fits(s string, columns []int) bool {
	for _, c := range columns {
		var ok bool
		if _, s, ok = cutValue(s, st.Types[c]); !ok {
			return false
		}
	}
	return s == ""
}

// row unpacks a row.
func (st *Store) row(key, value string) Row {
	row := make(Row, len(st.Types))
	for _, c := range st.keys {
		row[c], key, _ = cutValue(key, st.Types[c])
	}
	for _, c := range st.lats {
		row[c], value, _ = cutValue(value, st.Types[c])
	}
	return row
}

// pack packs a row's key and value onto the buffers.
func (st *Store) pack(key, value []byte, row Row) (k, v []byte) {
	for _, c := range st.keys {
		key = appendValue(key, st.Types[c], row[c])
	}
	for _, c := range st.lats {
		value = appendValue(value, st.Types[c], row[c])
	}
	return key, value
}

// better merges two values of a key column by column, and reports whether that
// is any better than old.
func (st *Store) better(b []byte, old, now string) (merged []byte, changed bool) {
	for _, c := range st.lats {
		t := st.Types[c]
		var was, is query.Value
		was, old, _ = cutValue(old, t)
		is, now, _ = cutValue(now, t)
		d := compare(t, is, was)
		if st.Lattice[c] == query.Min && d < 0 || st.Lattice[c] == query.Max && d > 0 {
			was, changed = is, true
		}
		b = appendValue(b, t, was)
	}
	return b, changed
}

// arrange packs a row's key in the order of another path.
func (st *Store) arrange(b []byte, p *Path, key string) []byte {
	var row [query.MaxColumns]string
	for _, c := range st.keys {
		_, rest, _ := cutValue(key, st.Types[c])
		row[c] = key[:len(key)-len(rest)]
		key = rest
	}
	for _, c := range p.Columns {
		b = append(b, row[c]...)
	}
	return b
}

// cut returns how many bytes of a key are the columns by which p is used, or those
// of a pool's group.
func (st *Store) cut(p *Path, key []byte) int {
	at := 0
	for _, c := range p.Columns[:max(p.Prefix, p.group)] {
		switch t := st.Types[c]; {
		case t.Textual():
			at += bytes.IndexByte(key[at:], endByte) + 1
		case t == query.Float:
			at += 8
		case key[at] < zeroInt:
			at += 1 + int(zeroInt-key[at])
		default:
			at += 1 + int(key[at]-zeroInt)
		}
	}
	return at
}
