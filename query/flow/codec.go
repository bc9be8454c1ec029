package flow

import (
	"encoding/binary"
	"errors"

	"weir/query"
)

// Rows are packed column by column: a text is its length and its bytes, an int or
// a time a varint, a float its eight bytes. The columns of a row's key come
// first, in the order of a path, so that rows with equal first columns lie
// together; a row's min and max columns are the value kept under the key.

// errRow says that bytes from elsewhere are not a row.
var errRow = errors.New("not a row of this plan")

func appendValue(b []byte, t query.Type, v query.Value) []byte {
	switch {
	case t.Textual():
		return append(binary.AppendUvarint(b, uint64(len(v.S))), v.S...)
	case t == query.Float:
		return binary.BigEndian.AppendUint64(b, uint64(v.N))
	}
	return binary.AppendVarint(b, v.N)
}

// cutValue reads one value off s. The text of a value is a part of s.
func cutValue(s string, t query.Type) (v query.Value, rest string, ok bool) {
	switch {
	case t.Textual():
		n, rest, ok := cutUvarint(s)
		if !ok || n > uint64(len(rest)) {
			return v, s, false
		}
		return query.Value{S: rest[:n]}, rest[n:], true
	case t == query.Float:
		if len(s) < 8 {
			return v, s, false
		}
		var n uint64
		for i := range 8 {
			n = n<<8 | uint64(s[i])
		}
		return query.Value{N: int64(n)}, s[8:], true
	}
	n, rest, ok := cutUvarint(s)
	return query.Value{N: int64(n>>1) ^ -int64(n&1)}, rest, ok
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

// cut returns how many bytes of a key are the columns by which p is used.
func (st *Store) cut(p *Path, key []byte) int {
	at := 0
	for _, c := range p.Columns[:p.Prefix] {
		switch t := st.Types[c]; {
		case t.Textual():
			n, w := binary.Uvarint(key[at:])
			at += w + int(n)
		case t == query.Float:
			at += 8
		default:
			_, w := binary.Uvarint(key[at:])
			at += w
		}
	}
	return at
}
