package overlay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"weir/page"
)

// reader reads what a writer wrote. After the first error it reads only zeros.
type reader struct {
	b     []byte
	err   error
	nodes []string
	sites []string
	last  []string // by site: the rest of its last URL
	site  int
	row   Row
	base  page.Base
	buf   []byte
}

func newReader(b []byte) (*reader, error) {
	switch {
	case len(b) == 0:
		return nil, errShort
	case b[0] != codecVersion:
		return nil, fmt.Errorf("it has version %d, and this node knows version %d: %w", b[0], codecVersion, ErrVersion)
	}
	return &reader{b: b[1:]}, nil
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.b = nil
	}
}

// uint reads a number up to a limit.
func (r *reader) uint(limit uint64) uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.short()
		return 0
	}
	if n > limit {
		r.fail("a number is %d, at most %d was expected", n, limit)
		return 0
	}
	r.b = r.b[size:]
	return n
}

// size reads how many bytes come next.
func (r *reader) size() int {
	n := r.uint(math.MaxUint64)
	if n > uint64(len(r.b)) {
		r.short()
		return 0
	}
	return int(n)
}

func (r *reader) short() {
	if r.err == nil {
		r.err = errShort
		r.b = nil
	}
}

// bytes reads n of them; they are a piece of the batch.
func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.short()
		return nil
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.short()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) score() float32 {
	s := r.bytes(4)
	if s == nil {
		return 0
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(s))
}

func (r *reader) text(limit int) string { return string(r.bytes(int(r.uint(uint64(limit))))) }

func (r *reader) span() time.Duration {
	n := r.uint(uint64(maxSpan)<<1 | 1)
	d := time.Duration(n >> 1)
	if n&1 == 0 {
		if d > maxSpan/time.Millisecond {
			r.fail("a host rests for more than %v", maxSpan)
			return 0
		}
		d *= time.Millisecond
	}
	return d
}

func (r *reader) node() string {
	n := int(r.uint(uint64(len(r.nodes))))
	if r.err != nil {
		return ""
	}
	if n > 0 {
		return r.nodes[n-1]
	}
	s := r.text(MaxName)
	r.nodes = append(r.nodes, s)
	return s
}

// place reads a site and makes it the one that is spoken of.
func (r *reader) place() {
	n := int(r.uint(uint64(len(r.sites))))
	if r.err != nil {
		return
	}
	if n > 0 {
		r.site = n - 1
		return
	}
	size := r.uint(page.MaxParts<<1 | 1)
	scheme := "http://"
	if size&1 != 0 {
		scheme = "https://"
	}
	site := scheme + string(r.bytes(int(size>>1)))
	if r.err != nil {
		return
	}
	if _, err := r.url(site, "", []byte("/")); err != nil {
		r.fail("%.200q is not a site", site)
		return
	}
	r.site = len(r.sites)
	r.sites = append(r.sites, site)
	r.last = append(r.last, "")
}

var errCanonical = errors.New("it is not canonical")

// url reads a URL that begins with a site, and goes on with two texts. Only its
// canonical form will do.
func (r *reader) url(site, rest string, more []byte) (page.URL, error) {
	r.buf = append(append(append(r.buf[:0], site...), rest...), more...)
	if len(r.buf) == len(site) || r.buf[len(site)] != '/' { // credentials
		r.buf = append(r.buf[:0], page.Join(site, string(r.buf[len(site):])).String()...)
	}
	u, err := r.base.ResolveBytes(r.buf)
	if err == nil && (u.String() != string(r.buf) || u.Site() != site) {
		err = errCanonical
	}
	return u, err
}

// atLeast says how many things to make room for, if so many are said to come and
// none takes less than size bytes.
func (r *reader) atLeast(size int) int { return len(r.b)/size + 1 }

func (r *reader) posts() []Post {
	n := r.uint(uint64(len(r.b)))
	if n == 0 {
		return nil
	}
	list := make([]Post, 0, min(int(n), r.atLeast(2)))
	for range n {
		p := Post{Part: int(r.uint(MaxParts - 1))}
		records := r.uint(uint64(len(r.b)))
		for records > 0 && r.err == nil {
			x, frames := r.record(records)
			p.Records = append(p.Records, x)
			records -= frames
		}
		if r.err != nil {
			return nil
		}
		list = append(list, p)
	}
	return list
}

// record reads one, which takes no more than so many frames, and says how many it took.
// Its body is read by a reader that sees nothing else.
func (r *reader) record(most uint64) (x Record, frames uint64) {
	kind, body := r.framed()
	frames = 1
	own := false
	for kind == ownKind && len(r.b) > 0 && frames < most {
		own = true
		kind, body = r.framed()
		frames++
	}
	if r.err != nil {
		return nil, frames
	}
	after := r.b
	r.b = body
	x = r.body(kind)
	if r.err != nil {
		r.err = fmt.Errorf("record of kind %q: %w", kind, r.err)
		return nil, frames
	}
	r.b = after
	if t, ok := x.(Tuples); ok && own {
		t.Own = true
		x = t
	}
	return x, frames
}

// framed reads the kind of a record, and finds its body.
func (r *reader) framed() (kind byte, body []byte) {
	kind = r.byte()
	return kind, r.bytes(r.size())
}

func (r *reader) body(kind byte) Record {
	switch kind {
	case Tuples{}.kind():
		return Tuples{Rows: r.tuples()}
	case Shipped{}.kind():
		x := Shipped{Program: r.byte()}
		for len(r.b) > 0 {
			s := Ship{Input: uint32(r.uint(math.MaxUint32))}
			s.Row = r.copied(r.size())
			x.Rows = append(x.Rows, s)
		}
		return x
	case Trips{}.kind():
		var x Trips
		for len(r.b) > 0 {
			x.Hosts = append(x.Hosts, Trip{Host: r.text(page.MaxParts), Near: r.byte(), RTT: r.span()})
		}
		return x
	case Hosts{}.kind():
		var x Hosts
		for len(r.b) > 0 {
			x.Hosts = append(x.Hosts, Host{
				Name:     r.text(page.MaxParts),
				Failures: uint16(r.uint(math.MaxUint16)),
				Last:     r.span(), Rest: r.span(), Pace: r.span(), Delay: r.span(),
			})
		}
		return x
	case Done{}.kind():
		x := Done{Epoch: r.uint(math.MaxUint64), Node: r.node()}
		if len(r.b) > 0 {
			x.Pages = make([]Ended, 0, r.atLeast(9))
		}
		var last Ended
		for len(r.b) > 0 {
			r.ended(&last)
			x.Pages = append(x.Pages, last)
		}
		return x
	case Lost{}.kind():
		return Lost{r.node(), r.tuples()}
	case Handed{}.kind():
		x := Handed{Epoch: r.uint(math.MaxUint64)}
		own := reader{b: r.b, err: r.err}
		for len(own.b) > 0 {
			x.Pages = append(x.Pages, Handing{To: uint16(own.uint(MaxParts - 1)), Row: own.tuple()})
		}
		r.b, r.err = own.b, own.err
		return x
	case Taken{}.kind():
		x := Taken{Epoch: r.uint(math.MaxUint64), Node: r.node()}
		if len(r.b) > 0 {
			r.fail("%d bytes are left over", len(r.b))
		}
		return x
	case Mark{}.kind():
		x := Mark{ID: r.uint(math.MaxUint64), Node: r.node()}
		if len(r.b) > 0 {
			r.fail("%d bytes are left over", len(r.b))
		}
		return x
	case Spread{}.kind():
		var x Spread
		for len(r.b) > 0 {
			x.Hosts = append(x.Hosts, Wide{Host: r.text(page.MaxParts), N: uint16(r.uint(Parts)), Version: r.uint(math.MaxUint64)})
		}
		return x
	}
	return Unknown{Kind: kind, Body: r.copied(len(r.b))}
}

// copied reads n bytes that outlive the batch.
func (r *reader) copied(n int) []byte { return append([]byte(nil), r.bytes(n)...) }

// tuples reads rows until the record ends.
func (r *reader) tuples() (rows []Row) {
	if len(r.b) > 0 {
		rows = make([]Row, 0, r.atLeast(16))
	}
	for len(r.b) > 0 {
		rows = append(rows, r.tuple())
	}
	return rows
}

func (r *reader) tuple() Row {
	head := r.head(newSite | newDepth | newScore | newRest | isRoot | isSeed)
	if head&newSite != 0 {
		r.place()
	}
	x := &r.row
	if head&newDepth != 0 {
		x.Depth = uint16(r.uint(math.MaxUint16))
	}
	if head&newScore != 0 {
		x.Score = r.score()
	}
	if head&newRest != 0 {
		if s := r.bytes(4); s != nil {
			x.Hops, x.Rule, x.Program, x.Moves = s[0], s[1], s[2], s[3]
		}
	}
	x.Root, x.Seed = head&isRoot != 0, head&isSeed != 0
	n := int(r.uint(maxShared))
	more := r.bytes(int(r.uint(page.MaxURL)))
	switch {
	case r.err != nil:
		return Row{}
	case r.site >= len(r.sites):
		r.fail("a row has no site")
		return Row{}
	case n > len(r.last[r.site]):
		r.fail("a URL begins like the one before it for %d bytes of %d", n, len(r.last[r.site]))
		return Row{}
	}
	u, err := r.url(r.sites[r.site], r.last[r.site][:n], more)
	if err != nil {
		r.fail("a URL of %s, %.200q: %w", r.sites[r.site], r.buf, err)
		return Row{}
	}
	x.URL = u
	r.last[r.site] = u.Rest()
	return *x
}

// head reads what a row or a page says of itself, and refuses what only a later
// version could mean: what follows would be misread.
func (r *reader) head(known byte) byte {
	h := r.byte()
	if h&^known != 0 && r.err == nil {
		r.err = ErrVersion
		r.b = nil
	}
	return h
}

func (r *reader) ended(x *Ended) {
	head := r.head(newOutcome | newPlace | newLevel | newWorth | newAsked | newBytes)
	if head&newPlace != 0 {
		r.place()
	}
	if s := r.bytes(8); s != nil {
		x.Hash = binary.LittleEndian.Uint64(s)
	}
	if head&newOutcome != 0 {
		x.Outcome = page.Outcome(r.byte())
		x.Status = uint16(r.uint(math.MaxUint16))
	}
	if head&newLevel != 0 {
		x.Depth = uint16(r.uint(math.MaxUint16))
	}
	if head&newWorth != 0 {
		x.Score = r.score()
	}
	if head&newAsked != 0 {
		if s := r.bytes(4); s != nil {
			x.Asked = binary.LittleEndian.Uint32(s)
		}
	}
	if head&newBytes != 0 {
		x.Bytes = r.uint(maxRate)
	}
	switch {
	case r.err != nil:
	case r.site >= len(r.sites):
		r.fail("an ended page has no site")
	default:
		x.Site = r.sites[r.site]
	}
}
