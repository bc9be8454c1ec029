package overlay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A batch, as it lies in a log:
//
//	version  1 byte
//	origin   varint
//	records  each: kind (1 byte), length (varint), body
//
// Integers are varints, texts have their length before them. A site or a node is
// spelled once and numbered; later it is its number (the table is the batch's, so
// that kinds a reader does not know must not add to it). A row says what differs
// from the row before it, its URL what differs from the last one of its site.
//
// A kind that is not known is kept as [Unknown]: a node of the next version may
// have written it. What cannot be done without it begins with a version that
// readers refuse.
//
// Before Tuples that are their writer's own stands an empty record, ownKind: whoever does
// not know it takes them as they are.
const (
	codecVersion = 1
	ownKind      = 'O'
)

// Limits on what is read from others.
const (
	MaxBatch = 8 << 20 // bytes of a batch
	MaxName  = 255     // bytes of a node's name
	MaxParts = 1 << 16 // partitions

	maxSpan   = 10 * 365 * 24 * time.Hour // nothing rests longer
	maxShared = 255                       // so that few bytes do not become many
)

// ErrVersion says that a node of a later version wrote a batch.
var ErrVersion = errors.New("written by a later version of weir: upgrade this node")

var errShort = errors.New("it ends too early")

// Unknown is a record of a kind that this version does not know.
type Unknown struct {
	Kind byte
	Body []byte
}

func (x Unknown) kind() byte { return x.Kind }

// AppendBatch writes a batch behind b.
func AppendBatch(b []byte, x *Batch) []byte {
	w := writer{b: append(b, codecVersion)}
	w.uint(x.Origin)
	for _, r := range x.Records {
		w.record(r)
	}
	return w.b
}

// ReadBatch reads what AppendBatch wrote. It takes any bytes, and keeps none of
// them.
func ReadBatch(b []byte) (Batch, error) {
	if len(b) > MaxBatch {
		return Batch{}, fmt.Errorf("read a batch: it has %d bytes, more than %d", len(b), MaxBatch)
	}
	r, err := newReader(b)
	if err != nil {
		return Batch{}, fmt.Errorf("read a batch: %w", err)
	}
	x := Batch{Origin: r.uint(math.MaxUint64)}
	for len(r.b) > 0 && r.err == nil {
		record, _ := r.record(math.MaxUint64)
		x.Records = append(x.Records, record)
	}
	if r.err != nil {
		return Batch{}, fmt.Errorf("read a batch: %w", r.err)
	}
	return x, nil
}

// AppendParcel writes a parcel behind b, for the outbox.
func AppendParcel(b []byte, x *Parcel) []byte {
	w := writer{b: append(b, codecVersion)}
	w.uint(x.Seq)
	w.posts(x.Rows)
	w.posts(x.Ended)
	return w.b
}

// ReadParcel reads what AppendParcel wrote.
func ReadParcel(b []byte) (Parcel, error) {
	r, err := newReader(b)
	if err != nil {
		return Parcel{}, fmt.Errorf("read a parcel: %w", err)
	}
	x := Parcel{Seq: r.uint(math.MaxUint64), Rows: r.posts(), Ended: r.posts()}
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes are left over", len(r.b))
	}
	if r.err != nil {
		return Parcel{}, fmt.Errorf("read a parcel: %w", r.err)
	}
	return x, nil
}

// names numbers texts in the order in which they come.
type names struct {
	list  []string
	index map[string]int
}

// find returns the number of s, and whether it had one before.
func (n *names) find(s string) (int, bool) {
	if i, ok := n.index[s]; ok {
		return i, true
	}
	if n.index == nil {
		n.index = make(map[string]int)
	}
	n.index[s] = len(n.list)
	n.list = append(n.list, s)
	return len(n.list) - 1, false
}

// What a row says of itself. A bit that is not set: as in the row before.
const (
	newSite = 1 << iota
	newDepth
	newScore
	newRest // hops, rule, program and moves
	isRoot
	isSeed
)

type writer struct {
	b     []byte
	nodes names
	sites names
	last  []string // by site: the rest of its last URL
	site  int      // of the last row or page
	row   Row      // the last one
}

func (w *writer) uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *writer) text(s string) {
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

// span writes a duration: whole milliseconds are short.
func (w *writer) span(d time.Duration) {
	d = min(max(d, 0), maxSpan)
	if d%time.Millisecond == 0 {
		w.uint(uint64(d/time.Millisecond) << 1)
	} else {
		w.uint(uint64(d)<<1 | 1)
	}
}

// node writes a node's name, or its number.
func (w *writer) node(s string) {
	i, old := w.nodes.find(s)
	if old {
		w.uint(uint64(i) + 1)
		return
	}
	w.uint(0)
	w.text(s[:min(len(s), MaxName)])
}

// place writes a site: 0 and its name, or its number.
func (w *writer) place(site string) {
	i, old := w.sites.find(site)
	w.site = i
	if old {
		w.uint(uint64(i) + 1)
		return
	}
	w.uint(0)
	w.last = append(w.last, "")
	if name, ok := strings.CutPrefix(site, "https://"); ok {
		w.uint(uint64(len(name))<<1 | 1)
		w.b = append(w.b, name...)
	} else {
		name = strings.TrimPrefix(site, "http://")
		w.uint(uint64(len(name)) << 1)
		w.b = append(w.b, name...)
	}
}

// moved says that the next row or page is of another site than the last.
func (w *writer) moved(site string) bool {
	return len(w.sites.list) == 0 || w.sites.list[w.site] != site
}

func (w *writer) posts(list []Post) {
	w.uint(uint64(len(list)))
	for _, p := range list {
		w.uint(uint64(p.Part))
		n := len(p.Records)
		for _, r := range p.Records {
			if isOwn(r) {
				n++
			}
		}
		w.uint(uint64(n))
		for _, r := range p.Records {
			w.record(r)
		}
	}
}

func isOwn(r Record) bool {
	t, ok := r.(Tuples)
	return ok && t.Own
}

func (w *writer) record(r Record) {
	if isOwn(r) {
		w.b = append(w.b, ownKind, 0)
	}
	w.b = append(w.b, r.kind())
	start := len(w.b)
	switch r := r.(type) {
	case Tuples:
		for i := range r.Rows {
			w.tuple(&r.Rows[i])
		}
	case Shipped:
		w.b = append(w.b, r.Program)
		for _, s := range r.Rows {
			w.uint(uint64(s.Input))
			w.uint(uint64(len(s.Row)))
			w.b = append(w.b, s.Row...)
		}
	case Trips:
		for _, x := range r.Hosts {
			w.text(x.Host)
			w.b = append(w.b, x.Near)
			w.span(x.RTT)
		}
	case Hosts:
		for _, h := range r.Hosts {
			w.text(h.Name)
			w.uint(uint64(h.Failures))
			w.span(h.Last)
			w.span(h.Rest)
			w.span(h.Pace)
			w.span(h.Delay)
		}
	case Done:
		w.uint(r.Epoch)
		w.node(r.Node)
		var last Ended
		for i := range r.Pages {
			w.ended(&r.Pages[i], &last)
		}
	case Lost:
		w.node(r.Node)
		for i := range r.Rows {
			w.tuple(&r.Rows[i])
		}
	case Handed:
		w.uint(r.Epoch)
		own := writer{b: w.b} // with tables of its own, as older nodes do not know the kind
		for i := range r.Pages {
			own.uint(uint64(r.Pages[i].To))
			own.tuple(&r.Pages[i].Row)
		}
		w.b = own.b
	case Taken:
		w.uint(r.Epoch)
		w.node(r.Node)
	case Mark:
		w.uint(r.ID)
		w.node(r.Node)
	case Spread:
		for _, h := range r.Hosts {
			w.text(h.Host)
			w.uint(uint64(h.N))
			w.uint(h.Version)
		}
	case Unknown:
		w.b = append(w.b, r.Body...)
	}
	// The length comes before the body, and is known only now.
	var size [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(len(w.b)-start))
	w.b = slices.Insert(w.b, start, size[:n]...)
}

func (w *writer) tuple(r *Row) {
	at := len(w.b)
	w.b = append(w.b, 0)
	var head byte
	if site := r.URL.Site(); w.moved(site) {
		head |= newSite
		w.place(site)
	}
	if r.Depth != w.row.Depth {
		head |= newDepth
		w.uint(uint64(r.Depth))
	}
	if math.Float32bits(r.Score) != math.Float32bits(w.row.Score) {
		head |= newScore
		w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(r.Score))
	}
	if r.Hops != w.row.Hops || r.Rule != w.row.Rule || r.Program != w.row.Program || r.Moves != w.row.Moves {
		head |= newRest
		w.b = append(w.b, r.Hops, r.Rule, r.Program, r.Moves)
	}
	if r.Root {
		head |= isRoot
	}
	if r.Seed {
		head |= isSeed
	}
	rest := r.URL.Rest()
	n := shared(rest, w.last[w.site])
	w.uint(uint64(n))
	w.text(rest[n:])
	w.last[w.site] = rest
	w.row = *r
	w.b[at] = head
}

// shared returns how many bytes two texts begin with alike, as far as it counts.
func shared(a, b string) int {
	n := min(len(a), len(b), maxShared)
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// What an ended page says of itself.
const (
	newOutcome = 1 << iota // and status: other than those of the page before
	newPlace               // a site follows
	newLevel               // depth: other than that of the page before
	newWorth               // score: likewise
	newAsked               // what was asked of it: likewise
	newBytes               // likewise
)

func (w *writer) ended(e, last *Ended) {
	at := len(w.b)
	w.b = append(w.b, 0)
	var head byte
	if w.moved(e.Site) {
		head |= newPlace
		w.place(e.Site)
	}
	w.b = binary.LittleEndian.AppendUint64(w.b, e.Hash)
	if e.Outcome != last.Outcome || e.Status != last.Status {
		head |= newOutcome
		w.b = append(w.b, byte(e.Outcome))
		w.uint(uint64(e.Status))
	}
	if e.Depth != last.Depth {
		head |= newLevel
		w.uint(uint64(e.Depth))
	}
	if math.Float32bits(e.Score) != math.Float32bits(last.Score) {
		head |= newWorth
		w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(e.Score))
	}
	if e.Asked != last.Asked {
		head |= newAsked
		w.b = binary.LittleEndian.AppendUint32(w.b, e.Asked)
	}
	if e.Bytes != last.Bytes {
		head |= newBytes
		w.uint(e.Bytes)
	}
	*last = *e
	w.b[at] = head
}
