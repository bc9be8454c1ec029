package flow

// batch holds rows that one page has given, until all of them are known. A row
// lies anywhere in memory, and waiting for that takes longer than most of what is
// done with it: of the rows of a page it is waited for at once.
type batch struct {
	on   bool
	text []byte
	rows []waiting
	seen uint64 // what was touched: else nothing would be
}

// waiting is a row without min and max columns on its way into a store.
type waiting struct {
	store    *Store
	shelf    *shelf
	from, to int // of its key in text
	cut      int
	hash     hashes
	group    uint32 // number+1 of the group that it may be of
}

// hashes are those of a key and of its first part.
type hashes struct{ key, head uint32 }

func hash(key []byte, cut int) hashes {
	h := hashes{key: half(key)}
	if cut > 0 {
		h.head = half(key[:cut])
	}
	return h
}

func (b *batch) add(x *Part, st *Store, key []byte) {
	path, from := st.Paths[0], len(b.text)
	b.text = append(b.text, key...)
	cut := st.cut(path, key)
	b.rows = append(b.rows, waiting{store: st, shelf: x.mem.at(path.ID), from: from, to: len(b.text), cut: cut, hash: hash(key, cut)})
}

// flush takes the rows in.
func (x *Part) flush() {
	b := &x.batch
	b.on = false
	// Short loops, so that the processor has many of them under way.
	for i := range b.rows {
		r := &b.rows[i]
		b.seen += r.shelf.keys.peek(r.hash.key)
		if v := r.shelf.heads.peek(r.hash.head); uint32(v>>32) == r.hash.head {
			r.group = uint32(v)
		}
	}
	for i := range b.rows {
		if r := &b.rows[i]; r.group > 0 {
			b.seen += uint64(r.shelf.groups[r.group-1].head.from)
		}
	}
	for i := range b.rows {
		if r := &b.rows[i]; r.group > 0 {
			head := r.shelf.text.at(r.shelf.groups[r.group-1].head)
			b.seen += uint64(head[0]) + uint64(head[len(head)-1])
		}
	}
	for i := range b.rows {
		r := &b.rows[i]
		x.mem.hashed = &r.hash
		x.land(r.store, b.text[r.from:r.to], nil)
	}
	b.text, b.rows = b.text[:0], b.rows[:0]
}

// peek returns what lies where a hash leads to first.
func (s slots) peek(h uint32) uint64 {
	if len(s) == 0 {
		return 0
	}
	return s[h&uint32(len(s)-1)]
}
