package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Group is what becomes durable together: some records and some rows. It
// belongs to the committer; there is one at a time. A group that is not
// committed must be the last: its records are cut off at the next start.
type Group struct {
	s     *Store
	batch *pebble.Batch
	err   error
	notes
}

// notes are what a group gathers beside its batch. Their memory goes from one
// group to the next.
type notes struct {
	seen       map[[16]byte]int // first records of this group, in firsts
	firsts     []origin
	lines      []byte // of the index
	draft      draft
	key, value []byte // of the row under way
}

func (n *notes) reset() {
	if n.seen == nil {
		n.seen = make(map[[16]byte]int)
	}
	clear(n.seen)
	clear(n.firsts)
	n.firsts, n.lines = n.firsts[:0], n.lines[:0]
	n.draft.rows, n.draft.text = n.draft.rows[:0], n.draft.text[:0]
}

// origin is the first record with some payload.
type origin struct {
	place  Place
	at     time.Time
	id     [16]byte
	key    [20]byte
	stored [20]byte // WARC-Payload-Digest
	url    string
}

func (o *origin) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(o.place.File))
	b = binary.AppendUvarint(b, uint64(o.place.Offset))
	b = binary.AppendUvarint(b, uint64(o.place.Length))
	b = binary.AppendUvarint(b, uint64(o.at.UnixMicro()))
	b = append(b, o.id[:]...)
	b = append(b, o.key[16:]...)
	if o.place.File != 0 {
		b = append(b, o.stored[:]...)
	}
	return append(b, o.url...)
}

func (o *origin) decode(b []byte) error {
	d := decoder{b: b}
	o.place = Place{File: uint32(d.uvarint()), Offset: int64(d.uvarint()), Length: int64(d.uvarint())}
	o.at = time.UnixMicro(int64(d.uvarint())).UTC()
	copy(o.id[:], d.bytes(16))
	copy(o.key[16:], d.bytes(4))
	if o.place.File != 0 {
		copy(o.stored[:], d.bytes(20))
	}
	o.url = string(d.b)
	return d.err("digest row")
}

func digestKey(b []byte, sum [16]byte) []byte { return append(append(b, digestRow), sum[:]...) }

// origin returns the first committed record with this payload, or nil.
func (s *Store) origin(key [20]byte) (*origin, error) {
	sum := [16]byte(key[:16])
	if !s.known.maybe(sum) {
		return nil, nil
	}
	v, ok, err := s.Get(digestKey(nil, sum))
	if err != nil || !ok {
		return nil, err
	}
	o := &origin{}
	if err := o.decode(v); err != nil {
		return nil, err
	}
	copy(o.key[:16], key[:16])
	if o.key != key {
		return nil, nil
	}
	return o, nil
}

// Begin starts a group. The one before must have been committed.
func (s *Store) Begin() *Group {
	if s.readOnly {
		panic("store: Begin on a read-only store")
	}
	g := &Group{s: s, notes: s.notes}
	g.reset()
	if g.err = s.Err(); g.err == nil {
		if s.group != nil {
			panic("store: Begin before the last group was committed")
		}
		g.batch = s.db.NewBatch()
	}
	s.group = g
	return g
}

// Append adds a record to the archive. A payload that an earlier record holds,
// committed or of this group, is not stored again: revisit is then true and the
// record says where the payload is. Truncated answers neither are revisits nor
// have them. Without an archive Place is zero and revisit is still answered.
//
// The record may be released once Append has returned.
func (g *Group) Append(r *Record) (p Place, revisit bool, err error) {
	if g.err != nil {
		return Place{}, false, g.err
	}
	if r.form != g.s.arch.form {
		panic(fmt.Sprintf("store: a %s record for a %s archive", r.form, g.s.arch.form))
	}
	p, revisit, err = g.append(r)
	if err != nil {
		g.err = g.s.fail.set(fmt.Errorf("archive: %w", err))
		return Place{}, false, g.err
	}
	return p, revisit, nil
}

func (g *Group) append(r *Record) (p Place, revisit bool, err error) {
	s := g.s
	sum := [16]byte(r.key[:16])
	var first *origin
	unique := r.payload > 0 && r.truncated == ""
	if unique {
		if i, ok := g.seen[sum]; ok {
			first = &g.firsts[i]
		} else if first, err = s.origin(r.key); err != nil {
			return p, false, err
		}
		if first != nil && first.key != r.key {
			first, unique = nil, false
		}
	}
	if s.arch.form != None {
		if p, err = s.arch.append(r, first); err != nil {
			return p, false, err
		}
		if first == nil {
			if err := s.arch.teach(r); err != nil {
				return p, false, err
			}
		}
		stored := &r.stored
		l := line{uri: r.url, at: r.at, kind: "response", status: r.status, mime: r.mime, place: p,
			file: s.arch.files[p.File-1].name}
		if l.mime == "" {
			l.mime = r.found
		}
		if first != nil {
			l.kind, stored = "revisit", &first.stored
		}
		l.digest = string(appendDigest(nil, stored))
		g.lines = l.appendTo(g.lines)
	}
	if unique && first == nil {
		g.seen[sum] = len(g.firsts)
		g.firsts = append(g.firsts, origin{place: p, at: r.at, id: r.id, key: r.key, stored: r.stored, url: r.url})
		s.known.add(sum)
		g.key = digestKey(g.key[:0], sum)
		g.value = g.firsts[len(g.firsts)-1].appendTo(g.value[:0])
		g.draft.set(g.key, g.value)
	}
	return p, first != nil, nil
}

// Set writes a row. It copies key and value.
func (g *Group) Set(key, value []byte) {
	checkKey(key)
	if g.err == nil {
		g.draft.set(key, value)
	}
}

// Delete removes a row.
func (g *Group) Delete(key []byte) {
	checkKey(key)
	if g.err == nil {
		g.draft.remove(key)
	}
}

// DeleteRange removes the rows from lower up to but not including upper.
func (g *Group) DeleteRange(lower, upper []byte) {
	checkRange(lower, upper)
	if g.err == nil {
		g.err = errors.Join(g.draft.write(g.batch), g.batch.DeleteRange(lower, upper, nil))
	}
}

// checkKey refuses keys that belong to this package.
func checkKey(key []byte) {
	if len(key) == 0 || key[0] == digestRow || key[0] == archiveRow {
		panic(fmt.Sprintf("store: key %q belongs to the store", key))
	}
}

func checkRange(lower, upper []byte) {
	checkKey(lower)
	for _, row := range []byte{digestRow, archiveRow} {
		if lower[0] < row && (len(upper) == 0 || upper[0] > row || upper[0] == row && len(upper) > 1) {
			panic(fmt.Sprintf("store: range %q to %q holds keys that belong to the store", lower, upper))
		}
	}
}

// Commit makes the group durable and visible. After an error it is unknown
// whether the group was; the store is unusable and every later call returns
// that error. The next Open finds the group whole or not at all.
func (g *Group) Commit() error {
	s := g.s
	if s.group != g {
		panic("store: Commit of a group that is over")
	}
	s.group = nil
	if g.err == nil {
		g.err = s.Err()
	}
	if g.err != nil {
		return g.err
	}
	s.sched.commit.Store(true)
	defer s.sched.commit.Store(false)
	dirty, err := s.arch.sync()
	if err != nil {
		return s.fail.set(fmt.Errorf("archive: %w", err))
	}
	for _, n := range dirty {
		f := s.arch.files[n-1]
		v := binary.AppendUvarint(nil, uint64(f.length))
		g.draft.set(fileKey(n), append(v, f.name...))
	}
	if len(g.lines) > 0 {
		m := s.index.plan(g.lines)
		g.draft.set(indexKey, m.encode())
	}
	if err := g.draft.write(g.batch); err != nil {
		return s.fail.set(fmt.Errorf("state: %w", err))
	}
	if len(dirty) > 0 {
		s.publish() // before the rows are visible: who sees a place may read it
	}
	if err := s.call(func() error { return g.batch.Commit(pebble.Sync) }); err != nil {
		return s.fail.set(err)
	}
	if err := g.batch.Close(); err != nil {
		return s.fail.set(fmt.Errorf("state: %w", err))
	}
	if len(g.lines) > 0 {
		if err := s.index.write(g.lines, s.End()); err != nil {
			return s.fail.set(fmt.Errorf("index: %w", err))
		}
	}
	s.notes = g.notes
	return nil
}
