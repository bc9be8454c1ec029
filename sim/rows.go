package sim

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"weir/page"
)

// rows is the Ledger's store in memory: a crawl.KV, and the crawl.Writer that
// changes it at once. Millions of pages pass through it, so the rows of which
// there are many lie in their own forms, told by the length of their keys: those
// of pages (a letter, site, hash) in one table, those of queues (a letter, site,
// class, number) in a list for each site, sites by their numbers. The rest is a
// map. Rows that only people read are dropped.
type rows struct {
	pages  table
	queues []queue
	sites  [][]byte
	rest   map[string][]byte
	texts  arena
}

const (
	pageRow  = 'u'
	queueRow = 'q'
	siteRow  = 's'
	textRow  = 't' // for people
	linkRow  = 'l' // for rankings, which read the web itself here
)

func newRows(pages, sites int) *rows {
	r := &rows{rest: map[string][]byte{}, queues: make([]queue, 0, sites+1), sites: make([][]byte, 0, sites+1)}
	r.pages.init(pages)
	return r
}

// Set implements crawl.Writer.
func (r *rows) Set(key, value []byte) {
	switch k := key[0]; {
	case k == textRow || k == linkRow:
	case k == pageRow && len(key) == 13:
		r.pages.set(siteOf(key), binary.BigEndian.Uint64(key[5:]), value)
	case k == queueRow && len(key) == 14:
		q := r.queue(siteOf(key))
		q.set(key[5], binary.BigEndian.Uint64(key[6:]), &r.texts, value)
	case k == siteRow && len(key) == 5:
		for int(siteOf(key)) >= len(r.sites) {
			r.sites = append(r.sites, nil)
		}
		s := &r.sites[siteOf(key)]
		*s = append((*s)[:0], value...)
	default:
		r.rest[string(key)] = bytes.Clone(value)
	}
}

// Delete implements crawl.Writer.
func (r *rows) Delete(key []byte) {
	if key[0] == queueRow && len(key) == 14 && r.queue(siteOf(key)).drop(key[5], binary.BigEndian.Uint64(key[6:]), &r.texts) {
		return
	}
	delete(r.rest, string(key))
}

// Get implements crawl.KV.
func (r *rows) Get(key []byte) ([]byte, bool, error) {
	var v []byte
	switch k := key[0]; {
	case k == pageRow && len(key) == 13:
		v = r.pages.get(siteOf(key), binary.BigEndian.Uint64(key[5:]))
	case k == queueRow && len(key) == 14:
		v = r.queue(siteOf(key)).get(key[5], binary.BigEndian.Uint64(key[6:]), &r.texts)
	case k == siteRow && len(key) == 5 && int(siteOf(key)) < len(r.sites):
		v = r.sites[siteOf(key)]
	}
	if v == nil {
		v, ok := r.rest[string(key)] // rows here are never written to, so it may be kept
		return v, ok, nil
	}
	return bytes.Clone(v), true, nil
}

// Find implements crawl.KV.
func (r *rows) Find(keys [][]byte, fn func(i int, value []byte)) error {
	for i, key := range keys {
		if v, ok, _ := r.Get(key); ok {
			fn(i, v)
		}
	}
	return nil
}

// Scan implements crawl.KV. Pages are not read in order by anyone here.
func (r *rows) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	switch k := lower[0]; {
	case k == queueRow && len(lower) == 14:
		return r.scanQueue(lower, fn)
	case k == siteRow:
		for id, v := range r.sites {
			if v != nil && !fn(binary.BigEndian.AppendUint32([]byte{siteRow}, uint32(id)), v) {
				return nil
			}
		}
		return nil
	}
	var keys []string
	for key := range r.rest {
		if key >= string(lower) && (upper == nil || key < string(upper)) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if !fn([]byte(key), r.rest[key]) {
			return nil
		}
	}
	return nil
}

func (r *rows) scanQueue(lower []byte, fn func(key, value []byte) bool) error {
	key := slices.Clone(lower)
	class, seq := lower[5], binary.BigEndian.Uint64(lower[6:])
	for _, run := range r.queue(siteOf(lower)).runs {
		if run.class < class {
			continue
		}
		items := run.items[run.head:]
		if run.class == class {
			items = items[run.find(seq)-run.head:]
		}
		key[5] = run.class
		for _, it := range items {
			if it.at == 0 {
				continue
			}
			binary.BigEndian.PutUint64(key[6:], it.seq)
			if !fn(key, r.texts.get(it.at)) {
				return nil
			}
		}
	}
	return nil
}

func siteOf(key []byte) page.SiteID { return page.SiteID(binary.BigEndian.Uint32(key[1:])) }

func (r *rows) queue(id page.SiteID) *queue {
	for int(id) >= len(r.queues) {
		r.queues = append(r.queues, queue{})
	}
	return &r.queues[id]
}

// queue is what waits at one site: a run for each class, in order.
type queue struct{ runs []run }

// run is a class of a queue, in the order of its numbers. New entries come last,
// as a rule, and the first ones leave.
type run struct {
	class uint8
	head  int // nothing before it
	gone  int // items after head that left
	items []item
}

type item struct {
	seq uint64
	at  uint32 // its value; 0 = it left
}

func (q *queue) run(class uint8, create bool) *run {
	i := 0 // there are few
	for i < len(q.runs) && q.runs[i].class < class {
		i++
	}
	if i == len(q.runs) || q.runs[i].class != class {
		if !create {
			return nil
		}
		q.runs = slices.Insert(q.runs, i, run{class: class})
	}
	return &q.runs[i]
}

// find returns where an entry with this number is, or would be.
func (r *run) find(seq uint64) int {
	if n := len(r.items); n == r.head || r.items[n-1].seq < seq {
		return n
	}
	return r.head + sort.Search(len(r.items)-r.head, func(i int) bool { return r.items[r.head+i].seq >= seq })
}

func (r *run) has(i int, seq uint64) bool {
	return i < len(r.items) && r.items[i].seq == seq && r.items[i].at != 0
}

func (q *queue) set(class uint8, seq uint64, texts *arena, value []byte) {
	r := q.run(class, true)
	i := r.find(seq)
	switch {
	case r.has(i, seq):
		texts.free(r.items[i].at)
		r.items[i].at = texts.put(value)
	case i < len(r.items) && r.items[i].seq == seq:
		r.items[i].at = texts.put(value)
		r.gone--
	case i == r.head && r.head > 0:
		r.head--
		r.items[r.head] = item{seq, texts.put(value)}
	default:
		r.items = slices.Insert(r.items, i, item{seq, texts.put(value)})
	}
}

func (q *queue) get(class uint8, seq uint64, texts *arena) []byte {
	r := q.run(class, false)
	if r == nil {
		return nil
	}
	if i := r.find(seq); r.has(i, seq) {
		return texts.get(r.items[i].at)
	}
	return nil
}

// drop takes an entry out, and says whether it was there.
func (q *queue) drop(class uint8, seq uint64, texts *arena) bool {
	r := q.run(class, false)
	if r == nil {
		return false
	}
	i := r.find(seq)
	if !r.has(i, seq) {
		return false
	}
	texts.free(r.items[i].at)
	r.items[i].at = 0
	r.gone++
	for r.head < len(r.items) && r.items[r.head].at == 0 {
		r.head++
		r.gone--
	}
	switch {
	case r.head == len(r.items):
		r.items, r.head, r.gone = nil, 0, 0
	case r.head+r.gone > 32 && r.head+r.gone > len(r.items)/2:
		r.items = slices.DeleteFunc(r.items[:copy(r.items, r.items[r.head:])], func(it item) bool { return it.at == 0 })
		r.head, r.gone = 0, 0
	}
	return true
}

// table holds the rows of pages.
type table struct {
	slots []slot // a power of two of them, open addressing
	n     int
	texts arena
}

type slot struct {
	hash uint64
	site page.SiteID
	at   uint32 // its value; 0 = free
}

func (t *table) init(pages int) {
	size := 1024
	for size*7/8 < pages {
		size *= 2
	}
	t.slots = make([]slot, size)
	t.texts.least = 28 // what a row grows to when its page ends
}

func (t *table) slot(site page.SiteID, hash uint64) *slot {
	mask := uint64(len(t.slots) - 1)
	for i := (hash ^ uint64(site)*0x9e3779b97f4a7c15) & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.at == 0 || s.hash == hash && s.site == site {
			return s
		}
	}
}

func (t *table) get(site page.SiteID, hash uint64) []byte {
	if s := t.slot(site, hash); s.at != 0 {
		return t.texts.get(s.at)
	}
	return nil
}

func (t *table) set(site page.SiteID, hash uint64, value []byte) {
	s := t.slot(site, hash)
	if s.at != 0 {
		s.at = t.texts.replace(s.at, value)
		return
	}
	*s = slot{hash, site, t.texts.put(value)}
	if t.n++; t.n > len(t.slots)*7/8 {
		old := t.slots
		t.slots = make([]slot, 2*len(old))
		for _, s := range old {
			if s.at != 0 {
				*t.slot(s.site, s.hash) = s
			}
		}
	}
}

// arena holds texts, short ones each with its length and its room in front. Room
// that is given back is used again for texts of the same size. The few long ones
// lie apart.
type arena struct {
	blocks [][]byte
	used   int // of the last block
	least  int // room that every text has
	spare  [256][]uint32
	long   [][]byte
	unused []uint32 // of long
}

const (
	blockBits = 20
	longText  = 1 << 31 // the place of a long text, with this added
)

func (a *arena) put(text []byte) uint32 {
	if len(text) > 255 {
		if n := len(a.unused); n > 0 {
			at := a.unused[n-1]
			a.unused = a.unused[:n-1]
			a.long[at] = bytes.Clone(text)
			return longText | at
		}
		a.long = append(a.long, bytes.Clone(text))
		return longText | uint32(len(a.long)-1)
	}
	room := max(len(text), a.least)
	if list := a.spare[room]; len(list) > 0 {
		at := list[len(list)-1]
		a.spare[room] = list[:len(list)-1]
		a.write(at, text)
		return at
	}
	if len(a.blocks) == 0 || a.used+room+2 > 1<<blockBits {
		a.blocks = append(a.blocks, make([]byte, 1<<blockBits))
		a.used = 1 // no text lies at 0
	}
	at := uint32(len(a.blocks)-1)<<blockBits | uint32(a.used)
	a.blocks[len(a.blocks)-1][a.used] = byte(room)
	a.used += room + 2
	a.write(at, text)
	return at
}

func (a *arena) at(at uint32) []byte { return a.blocks[at>>blockBits][at&(1<<blockBits-1):] }

func (a *arena) write(at uint32, text []byte) {
	b := a.at(at)
	b[1] = byte(len(text))
	copy(b[2:], text)
}

func (a *arena) get(at uint32) []byte {
	if at >= longText {
		return a.long[at-longText]
	}
	b := a.at(at)
	return b[2 : 2+int(b[1])]
}

func (a *arena) free(at uint32) {
	if at >= longText {
		a.long[at-longText] = nil
		a.unused = append(a.unused, at-longText)
		return
	}
	room := a.at(at)[0]
	a.spare[room] = append(a.spare[room], at)
}

// replace writes another text in place of one, and returns where it is now.
func (a *arena) replace(at uint32, text []byte) uint32 {
	if at < longText && len(text) <= int(a.at(at)[0]) {
		a.write(at, text)
		return at
	}
	a.free(at)
	return a.put(text)
}
