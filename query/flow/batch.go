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
	place
}

// place is where a key belongs on a shelf, as far as that is known.
type place struct {
	key, head uint32 // hashes: of all of it, and of the first bytes that make it one of a group
	cut       int    // how many these are; 0: it is of none
	group     uint32 // number+1 of a group that it may be of; 0: it has to be looked for
}

func placed(key []byte, cut int) place {
	p := place{key: half(key), cut: cut}
	if cut > 0 {
		p.head = half(key[:cut])
	}
	return p
}

func (b *batch) add(x *Part, st *Store, key []byte) {
	path, from := st.Paths[0], len(b.text)
	b.text = append(b.text, key...)
	b.rows = append(b.rows, waiting{st, x.mem.at(path.ID), from, len(b.text), placed(key, st.cut(path, key))})
}

// flush takes the rows in.
func (x *Part) flush() {
	b := &x.batch
	b.on = false
	x.fetch()
	for i := range b.rows {
		r := &b.rows[i]
		key := b.text[r.from:r.to]
		x.mem.place = &r.place
		if r.store.Pool == nil {
			x.landCut(r.store, key, r.cut, nil)
		} else if kept, _, found := x.mem.add(r.store.Paths[0], key, r.cut, nil); !found {
			x.pooled(r.store.Pool, kept) // at once: nobody else is told
		}
	}
	b.text, b.rows = b.text[:0], b.rows[:0]
}

// fetch touches what the rows will need, in short loops, so that the processor
// has many of them under way.
func (x *Part) fetch() {
	b := &x.batch
	for i := range b.rows {
		r := &b.rows[i]
		b.seen += r.shelf.keys.peek(r.key) + r.shelf.heads.peek(r.head)
	}
	for i := range b.rows {
		r := &b.rows[i]
		if r.cut == 0 {
			continue
		}
		if g, _ := r.shelf.heads.next(r.head, r.head); g >= 0 {
			r.group = uint32(g) + 1
			b.seen += uint64(r.shelf.groups[g].head.from)
		}
	}
	for i := range b.rows {
		r := &b.rows[i]
		if r.group == 0 {
			continue
		}
		g := &r.shelf.groups[r.group-1]
		head := r.shelf.text.at(g.head)
		b.seen += uint64(head[0]) + uint64(head[len(head)-1])
		if g.total > 0 { // it will be counted
			b.seen += uint64(len(x.mem.at(r.store.Pool.Totals.Paths[0].ID).values[g.total-1]))
		}
	}
}

// peek returns what lies where a hash leads to first.
func (s slots) peek(h uint32) uint64 {
	if len(s) == 0 {
		return 0
	}
	return s[h&uint32(len(s)-1)]
}
