package sim

import (
	"bytes"
	"encoding/binary"
	"math/bits"
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
	sites  []site
	rest   map[string]*[]byte
	texts  arena
	sum    uint8 // of what near saw
}

// site is the row of a site, a line of the cache.
type site struct {
	n    uint8 // of its value; 0 = none
	text [63]byte
}

const (
	pageRow  = 'u'
	queueRow = 'q'
	siteRow  = 's'
	textRow  = 't' // for people
	linkRow  = 'l' // for rankings, which read the web itself here
)

func newRows(pages, sites int) *rows {
	r := &rows{rest: map[string]*[]byte{}, queues: make([]queue, 0, sites+1), sites: make([]site, 0, sites+1)}
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
			r.sites = append(r.sites, site{})
		}
		s := &r.sites[siteOf(key)]
		s.n = r.texts.set(s.n, s.text[:], value)
	default:
		v := r.rest[string(key)]
		if v == nil {
			v = new([]byte)
			r.rest[string(key)] = v
		}
		*v = append((*v)[:0], value...)
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
		if s := &r.sites[siteOf(key)]; s.n != 0 {
			v = r.texts.get(s.n, s.text[:])
		}
	default:
		if p := r.rest[string(key)]; p != nil {
			return bytes.Clone(*p), true, nil
		}
	}
	return bytes.Clone(v), v != nil, nil
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
		for id := range r.sites {
			s := &r.sites[id]
			if s.n != 0 && !fn(binary.BigEndian.AppendUint32([]byte{siteRow}, uint32(id)), r.texts.get(s.n, s.text[:])) {
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
		if !fn([]byte(key), *r.rest[key]) {
			return nil
		}
	}
	return nil
}

func (r *rows) scanQueue(lower []byte, fn func(key, value []byte) bool) error {
	key := slices.Clone(lower)
	class, seq := lower[5], binary.BigEndian.Uint64(lower[6:])
	q := r.queue(siteOf(lower))
	for n := range 1 + len(q.later) {
		run := &q.first
		if n > 0 {
			run = &q.later[n-1]
		}
		if run.class < class || run.len() == 0 {
			continue
		}
		items := run.items[run.head:]
		if run.class == class {
			items = run.items[run.find(seq):]
		}
		key[5] = run.class
		for i := range items {
			it := &items[i]
			if it.n == 0 {
				continue
			}
			binary.BigEndian.PutUint64(key[6:], it.seq)
			if !fn(key, r.texts.get(it.n, it.text[:])) {
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

// near looks where the rows of a page are, and of its site, before they are asked
// for one by one: they lie far apart, and the memory finds many as fast as one
// while nothing depends on what it finds.
func (r *rows) near(id page.SiteID, hash uint64) {
	r.sum += r.pages.slots[r.pages.home(id, hash)].n
	if int(id) < len(r.sites) {
		r.sum += r.sites[id].n
	}
	if int(id) < len(r.queues) {
		r.sum += r.queues[id].first.class
	}
}

// queue is what waits at one site: a run for each class, in order. Most sites have
// one class, or one that is next: a queue is a line of the cache, and the first of
// its runs lies in it.
type queue struct {
	first run
	later []run // none of them is empty
}

// run is a class of a queue, in the order of its numbers. New entries come last,
// as a rule, and the first ones leave.
type run struct {
	items []item
	head  int32 // nothing before it
	gone  int32 // items after head that left
	class uint8
}

type item struct {
	seq  uint64
	n    uint8 // of its value; 0 = it left
	text [15]byte
}

func (r *run) len() int { return len(r.items) - int(r.head) }

// run returns that of a class, if there is one.
func (q *queue) run(class uint8) *run {
	if q.first.class == class {
		return &q.first
	}
	for i := range q.later { // there are few
		if q.later[i].class == class {
			return &q.later[i]
		}
	}
	return nil
}

// make is run for a class that there may not be yet.
func (q *queue) make(class uint8) *run {
	if r := q.run(class); r != nil {
		return r
	}
	if q.first.len() == 0 && len(q.later) == 0 {
		q.first = run{class: class}
		return &q.first
	}
	if class < q.first.class {
		q.later = slices.Insert(q.later, 0, q.first)
		q.first = run{class: class}
		return &q.first
	}
	i := 0
	for i < len(q.later) && q.later[i].class < class {
		i++
	}
	q.later = slices.Insert(q.later, i, run{class: class})
	return &q.later[i]
}

// empty takes a run out of which all have left.
func (q *queue) empty(r *run) {
	switch {
	case r != &q.first:
		i := slices.IndexFunc(q.later, func(x run) bool { return x.class == r.class })
		q.later = slices.Delete(q.later, i, i+1)
	case len(q.later) > 0:
		q.first = q.later[0]
		q.later = slices.Delete(q.later, 0, 1)
	default:
		q.first = run{}
	}
}

// find returns where an entry with this number is, or would be.
func (r *run) find(seq uint64) int {
	n, head := len(r.items), int(r.head)
	switch {
	case n == head || r.items[head].seq >= seq:
		return head
	case r.items[n-1].seq < seq:
		return n
	}
	return head + sort.Search(n-head, func(i int) bool { return r.items[head+i].seq >= seq })
}

func (r *run) has(i int, seq uint64) bool {
	return i < len(r.items) && r.items[i].seq == seq && r.items[i].n != 0
}

func (q *queue) set(class uint8, seq uint64, texts *arena, value []byte) {
	r := q.make(class)
	i := len(r.items)
	if r.len() > 0 && r.items[i-1].seq >= seq {
		i = r.find(seq)
	}
	switch {
	case i == len(r.items):
		r.items = append(r.items, item{seq: seq})
	case r.items[i].seq == seq:
		if r.items[i].n == 0 {
			r.gone--
		}
	case i == int(r.head) && r.head > 0:
		r.head--
		i--
		r.items[i] = item{seq: seq}
	default:
		r.items = slices.Insert(r.items, i, item{seq: seq})
	}
	it := &r.items[i]
	it.n = texts.set(it.n, it.text[:], value)
}

func (q *queue) get(class uint8, seq uint64, texts *arena) []byte {
	r := q.run(class)
	if r == nil {
		return nil
	}
	i := r.find(seq)
	if !r.has(i, seq) {
		return nil
	}
	it := &r.items[i]
	return texts.get(it.n, it.text[:])
}

// drop takes an entry out, and says whether it was there.
func (q *queue) drop(class uint8, seq uint64, texts *arena) bool {
	r := q.run(class)
	if r == nil {
		return false
	}
	i := r.find(seq)
	if !r.has(i, seq) {
		return false
	}
	it := &r.items[i]
	it.n = texts.drop(it.n, it.text[:])
	r.gone++
	for r.len() > 0 && r.items[r.head].n == 0 {
		r.head++
		r.gone--
	}
	switch left := int(r.head + r.gone); {
	case r.len() == 0:
		q.empty(r)
	case left > 32 && left > len(r.items)/2:
		r.items = slices.DeleteFunc(r.items[:copy(r.items, r.items[r.head:])], func(it item) bool { return it.n == 0 })
		r.head, r.gone = 0, 0
	}
	return true
}

// table holds the rows of pages: open addressing, seven eighths full at most.
type table struct {
	slots []slot
	n     int
	texts arena
}

type slot struct {
	hash uint64
	site page.SiteID
	n    uint8 // of its value; 0 = free
	text [27]byte
}

func (t *table) init(pages int) { t.slots = make([]slot, pages+pages/3+64) }

func (t *table) home(site page.SiteID, hash uint64) int {
	home, _ := bits.Mul64(hash^uint64(site)*0x9e3779b97f4a7c15, uint64(len(t.slots)))
	return int(home)
}

func (t *table) slot(site page.SiteID, hash uint64) *slot {
	for i := t.home(site, hash); ; {
		if s := &t.slots[i]; s.n == 0 || s.hash == hash && s.site == site {
			return s
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}

func (t *table) get(site page.SiteID, hash uint64) []byte {
	if s := t.slot(site, hash); s.n != 0 {
		return t.texts.get(s.n, s.text[:])
	}
	return nil
}

func (t *table) set(site page.SiteID, hash uint64, value []byte) {
	s := t.slot(site, hash)
	if s.n == 0 {
		if t.n++; t.n > len(t.slots)/8*7 {
			t.grow()
			s = t.slot(site, hash)
		}
		s.hash, s.site = hash, site
	}
	s.n = t.texts.set(s.n, s.text[:], value)
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	for i := range old {
		if s := &old[i]; s.n != 0 {
			*t.slot(s.site, s.hash) = *s
		}
	}
}

// arena holds the texts that are too long for the room that their owner has for
// them; the others lie there. Each has its length in front, and the room of one
// that left is used again for texts of the same length. The few very long ones
// lie apart.
type arena struct {
	blocks [][]byte
	used   int // of the last block
	spare  [256][]uint32
	long   [][]byte
	unused []uint32 // of long
}

const (
	blockBits = 16      // a cluster has thousands of arenas
	longText  = 1 << 31 // the place of a long text, with this added
	elsewhere = 255     // the owner's n of a text that lies here: its room begins with the place
)

// set keeps a text in place of one that there is, if n is not 0, and returns
// the owner's n of it.
func (a *arena) set(n uint8, room, text []byte) uint8 {
	if n == elsewhere {
		a.free(binary.LittleEndian.Uint32(room))
	}
	if len(text) > 0 && len(text) <= len(room) {
		copy(room, text)
		return uint8(len(text))
	}
	binary.LittleEndian.PutUint32(room, a.put(text))
	return elsewhere
}

func (a *arena) get(n uint8, room []byte) []byte {
	if n == elsewhere {
		return a.read(binary.LittleEndian.Uint32(room))
	}
	return room[:n:n]
}

// drop forgets a text, and returns the owner's n of none.
func (a *arena) drop(n uint8, room []byte) uint8 {
	if n == elsewhere {
		a.free(binary.LittleEndian.Uint32(room))
	}
	return 0
}

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
	var at uint32
	if list := a.spare[len(text)]; len(list) > 0 {
		at = list[len(list)-1]
		a.spare[len(text)] = list[:len(list)-1]
	} else {
		if len(a.blocks) == 0 || a.used+len(text) >= 1<<blockBits {
			a.blocks, a.used = append(a.blocks, make([]byte, 1<<blockBits)), 0
		}
		at = uint32(len(a.blocks)-1)<<blockBits | uint32(a.used)
		a.used += 1 + len(text)
	}
	b := a.at(at)
	b[0] = byte(len(text))
	copy(b[1:], text)
	return at
}

func (a *arena) at(at uint32) []byte { return a.blocks[at>>blockBits][at&(1<<blockBits-1):] }

func (a *arena) read(at uint32) []byte {
	if at >= longText {
		return a.long[at-longText]
	}
	b := a.at(at)
	return b[1 : 1+int(b[0])]
}

func (a *arena) free(at uint32) {
	if at >= longText {
		a.long[at-longText] = nil
		a.unused = append(a.unused, at-longText)
		return
	}
	n := a.at(at)[0]
	a.spare[n] = append(a.spare[n], at)
}
