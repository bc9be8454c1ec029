package crawl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/frontier"
	"weir/page"
)

// The Ledger's keys. Numbers are big-endian, so that rows of a site lie
// together and a queue lies in its order. The first bytes 'd' and 'w' belong to
// the store.
//
//	n|site name turned   -> site id
//	s|site               -> siteRow
//	u|site|hash          -> urlRow: what is known of a page, and its end
//	q|site|class|seq     -> queueRow: pages that wait
//	t|site|hash          -> textRow: a page that ended, for people
//	x|site|hash          -> what a page said, where there is no archive, see said.go
//	p|site|hash          -> parkRow: pages held back as traps
//	v|site|hash of path  -> variants fetched, payloads seen before
//	h|host               -> hostRow
//	r|site               -> robotsRow: read when its site's turn comes
//	f|...                -> what the rules keep
//	e|url                -> score of a seed
//	y|depth|site|hash    -> pages to be delivered again, see again.go
//	l|site|hash          -> what a page links to, for orders that go by ranks
//	b|s, n, d or g|...   -> what the bandwidth.Predictor keeps
//	b|q                  -> bandwidth.Usage of the quota
//	b|p|host             -> promiseRow: a deadline, and what was learned of its site
//	c|...                -> what a crawl that is shared keeps, see share.go
//	m|totals             -> Totals
//	m|secret             -> the hash's key
//	m|seeded             -> digest of the seeds that were taken
//	m|ranked             -> version of the last ranking
//	m|program            -> which version of its program the crawl runs
//	m|want               -> which facts rows x have
//	m|sweep              -> how far all pages were delivered again
//	m|stamp              -> that of the snapshot of seen pages
//	m|lends              -> the name in which a crawl asks servers that lends its pages
const (
	keyName  = 'n'
	keySite  = 's'
	keyURL   = 'u'
	keyQueue = 'q'
	keyText  = 't'
	keySaid  = 'x'
	keyPark  = 'p'
	keyVary  = 'v'
	keyHost  = 'h'
	keyFact  = 'f'
	keyRules = 'r'
	keyLink  = 'b'
	keyLinks = 'l'
	keyMeta  = 'm'
	keyAgain = 'y'
	keySeed  = 'e'
)

// Ordered are the first bytes of keys that are read in their order, and seldom
// looked up one by one: for people, and when a page that waits moves.
const Ordered = string(keyQueue) + string(keyText)

var (
	totalsKey = []byte("mtotals")
	seededKey = []byte("mseeded")
	secretKey = []byte("msecret")
	rankedKey = []byte("mranked")
)

// errRow says that a stored row does not read back: the store is damaged.
var errRow = errors.New("a stored row is damaged")

func siteKey(kind byte, id page.SiteID) []byte { return appendSiteKey(nil, kind, id) }

func appendSiteKey(b []byte, kind byte, id page.SiteID) []byte {
	return binary.BigEndian.AppendUint32(append(b, kind), uint32(id))
}

func pageKey(kind byte, k page.Key) []byte {
	return appendPageKey(make([]byte, 0, 13), kind, k)
}

func appendPageKey(b []byte, kind byte, k page.Key) []byte {
	b = binary.BigEndian.AppendUint32(append(b, kind), uint32(k.Site))
	return binary.BigEndian.AppendUint64(b, k.Hash)
}

func queueKey(id page.SiteID, p frontier.Place) []byte { return appendQueueKey(nil, id, p) }

func appendQueueKey(b []byte, id page.SiteID, p frontier.Place) []byte {
	return binary.BigEndian.AppendUint64(append(appendSiteKey(b, keyQueue, id), p.Class), p.Seq)
}

// nameKey turns a site's name so that the sites of a domain lie together:
// "https://docs.example.org:8443" -> "norg.example.docs:8443 https".
func nameKey(name string) []byte {
	scheme, authority, _ := strings.Cut(name, "://")
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i:]
	}
	b := []byte{keyName}
	if _, isAddr := page.HostAddr(host); isAddr {
		b = append(b, host...)
	} else {
		labels := strings.Split(host, ".")
		for i := len(labels) - 1; i >= 0; i-- {
			b = append(b, labels[i]...)
			if i > 0 {
				b = append(b, '.')
			}
		}
	}
	b = append(b, port...)
	b = append(b, ' ')
	return append(b, scheme...)
}

// The state of a page. Every known page is in exactly one.
const (
	stateQueued = 1
	stateEnded  = 2
	stateParked = 3
)

// Rule says what brought a page into the crawl.
type Rule uint8

const (
	BySeed Rule = iota + 1
	ByLink
	ByRedirect
	BySitemap
	ByRequisite

	ByRules Rule = 16 // and above: the rule of the user's program, by its number from 0
)

func (r Rule) String() string {
	if r >= ByRules {
		return "rule " + strconv.Itoa(int(r-ByRules)+1)
	}
	return [...]string{"", "seed", "link", "redirect", "sitemap", "requisite"}[min(r, ByRequisite)]
}

// urlRow is what is known of a page.
type urlRow struct {
	state   uint8
	seed    bool
	root    bool
	free    bool // released by the user: never parked again
	plain   bool // while queued: no redirects led to it and it was not tried before, so its entry follows from this row and its URL
	had     bool // while queued: another node has fetched it, see ReadWaits
	renewed bool // while queued: this one has, too long ago for who asks for it now
	counted bool // while queued: it is among the pages of its site, see frontier.Entry
	depth   uint16
	rule    Rule
	version uint8    // of the program that asked for it last
	parent  page.Key // who brought it; zero for seeds

	place frontier.Place // while queued

	outcome page.Outcome // once ended
	status  int
	at      int64
	archive Archived
	due     bool    // its facts are to be delivered again
	score   float32 // what it was worth, where scores are not split
	hops    uint8   // redirects that led to it, or indexes of sitemaps
}

// Archived is where a page's record lies: a file of the archive, and where in
// it. File 0 means that there is none.
type Archived struct {
	File           uint32
	Offset, Length int64
}

func (r *urlRow) append(b []byte) []byte {
	flags := r.state
	for i, set := range [...]bool{r.seed, r.root, r.free, r.plain || r.due} {
		if set {
			flags |= 1 << (4 + i)
		}
	}
	if r.version != 0 {
		flags |= 8
	}
	if r.state == stateEnded && r.score != 0 || r.state == stateQueued && r.had {
		flags |= 4
	}
	b = append(b, flags, byte(r.rule))
	if r.version != 0 {
		b = append(b, r.version)
	}
	b = binary.AppendUvarint(b, uint64(r.depth))
	b = binary.AppendUvarint(b, uint64(r.parent.Site))
	if r.parent.Site != 0 {
		b = binary.BigEndian.AppendUint64(b, r.parent.Hash)
	}
	switch r.state {
	case stateQueued:
		b = append(b, r.place.Class)
		b = binary.AppendUvarint(b, r.place.Seq)
		if more := bit(r.renewed) | bit(r.counted)<<1; more != 0 {
			b = append(b, more)
		}
	case stateEnded:
		if r.score != 0 {
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(r.score))
		}
		b = append(b, byte(r.outcome))
		b = binary.AppendUvarint(b, uint64(r.status))
		b = binary.AppendVarint(b, r.at)
		b = binary.AppendUvarint(b, uint64(r.archive.File))
		if r.archive.File != 0 {
			b = binary.AppendUvarint(b, uint64(r.archive.Offset))
			b = binary.AppendUvarint(b, uint64(r.archive.Length))
		}
		if r.hops != 0 {
			b = append(b, r.hops)
		}
	}
	return b
}

func (r *urlRow) read(b []byte) error {
	d := decoder{b: b}
	flags := d.byte()
	*r = urlRow{state: flags & 3, seed: flags&16 != 0, root: flags&32 != 0, free: flags&64 != 0, plain: flags&128 != 0}
	r.rule = Rule(d.byte())
	if flags&8 != 0 {
		r.version = d.byte()
	}
	r.depth = uint16(d.uvarint())
	if r.parent.Site = page.SiteID(d.uvarint()); r.parent.Site != 0 {
		r.parent.Hash = d.uint64()
	}
	switch r.state {
	case stateQueued:
		r.had = flags&4 != 0
		r.place.Class = d.byte()
		r.place.Seq = d.uvarint()
		if d.err == nil && len(d.b) > 0 {
			more := d.byte()
			r.renewed, r.counted = more&1 != 0, more&2 != 0
		}
	case stateEnded:
		r.plain, r.due = false, r.plain
		if flags&4 != 0 {
			r.score = math.Float32frombits(d.uint32())
		}
		r.outcome = page.Outcome(d.byte())
		r.status = int(d.uvarint())
		r.at = d.varint()
		if r.archive.File = uint32(d.uvarint()); r.archive.File != 0 {
			r.archive.Offset = int64(d.uvarint())
			r.archive.Length = int64(d.uvarint())
		}
		if d.err == nil && len(d.b) > 0 {
			r.hops = d.byte()
		}
	}
	if d.err == nil && (r.state < stateQueued || r.state > stateParked) {
		return errRow
	}
	return d.err
}

// bit is 1 for true.
func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// appendEntry writes a queueRow. Its place is in the key; its hash is not
// written, since it follows from the rest.
func appendEntry(b []byte, e *frontier.Entry) []byte {
	flags := byte(0)
	if e.Root {
		flags |= 1
	}
	if e.Score != 0 {
		flags |= 2
	}
	if e.Hops != 0 || e.Attempt != 0 {
		flags |= 4
	}
	if e.Version != 0 {
		flags |= 8
	}
	if e.Counted {
		flags |= 16
	}
	b = append(b, flags)
	if e.Version != 0 {
		b = append(b, e.Version)
	}
	if flags&4 != 0 {
		b = append(b, e.Hops, e.Attempt)
	}
	b = binary.AppendUvarint(b, uint64(e.Depth))
	if e.Score != 0 {
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(e.Score))
	}
	return append(b, e.Rest...)
}

// readEntry reads a queueRow; the caller adds the hash.
func readEntry(key, b []byte) (frontier.Entry, error) {
	var e frontier.Entry
	if len(key) != 14 {
		return e, errRow
	}
	e.Place = frontier.Place{Class: key[5], Seq: binary.BigEndian.Uint64(key[6:])}
	d := decoder{b: b}
	flags := d.byte()
	e.Root, e.Counted = flags&1 != 0, flags&16 != 0
	if flags&8 != 0 {
		e.Version = d.byte()
	}
	if flags&4 != 0 {
		e.Hops, e.Attempt = d.byte(), d.byte()
	}
	e.Depth = uint16(d.uvarint())
	if flags&2 != 0 {
		e.Score = math.Float32frombits(d.uint32())
	}
	e.Rest = d.rest()
	return e, d.err
}

// siteRow is what is kept of a site.
type siteRow struct {
	name    string
	queued  int64
	ended   int64
	fetched int64
	parked  int64
	seq     uint64        // entries it has had
	delay   time.Duration // its robots.txt's crawl-delay
	cash    float64       // the sum of its queued pages' scores, where scores are split
	part    uint16        // its partition, where several nodes share a crawl
}

func (r *siteRow) append(b []byte) []byte {
	for _, n := range [...]int64{r.queued, r.ended, r.fetched, r.parked, int64(r.seq), int64(r.delay)} {
		b = binary.AppendVarint(b, n)
	}
	if r.cash != 0 || r.name != "" && r.name[0] == 0 { // no site is called so
		b = binary.BigEndian.AppendUint64(append(b, 0), math.Float64bits(r.cash))
	}
	if r.part != 0 || r.name != "" && r.name[0] == 1 { // nor so
		b = binary.BigEndian.AppendUint16(append(b, 1), r.part)
	}
	return append(b, r.name...)
}

func (r *siteRow) read(b []byte) error {
	d := decoder{b: b}
	r.queued, r.ended, r.fetched, r.parked = d.varint(), d.varint(), d.varint(), d.varint()
	r.seq, r.delay = uint64(d.varint()), time.Duration(d.varint())
	if r.cash = 0; len(d.b) > 0 && d.b[0] == 0 {
		d.byte()
		r.cash = math.Float64frombits(d.uint64())
	}
	if r.part = 0; len(d.b) > 0 && d.b[0] == 1 {
		d.byte()
		r.part = binary.BigEndian.Uint16(d.take(2))
	}
	r.name = d.rest()
	return d.err
}

// robotsRow is a site's robots.txt. It can be large, so it lies apart from what
// changes with every page.
type robotsRow struct {
	at      int64  // when it was fetched, Unix nanoseconds
	version uint8  // of the program that has heard of it last, or will
	text    string // the rules that concern us
}

func (r *robotsRow) append(b []byte) []byte {
	b = binary.AppendVarint(b, r.at)
	if r.version != 0 || strings.HasPrefix(r.text, "\x00") { // no text that was written begins so
		b = append(b, 0, r.version)
	}
	return append(b, r.text...)
}

func (r *robotsRow) read(b []byte) error {
	d := decoder{b: b}
	r.at = d.varint()
	if r.version = 0; len(d.b) > 0 && d.b[0] == 0 {
		d.byte()
		r.version = d.byte()
	}
	r.text = d.rest()
	return d.err
}

// readRobots returns a site's robots.txt, if it was ever had.
func readRobots(kv KV, id page.SiteID) (r robotsRow, ok bool, err error) {
	b, ok, err := kv.Get(siteKey(keyRules, id))
	if err == nil && ok {
		err = r.read(b)
	}
	if err != nil {
		return r, false, fmt.Errorf("read the robots.txt of site %d: %w", id, err)
	}
	return r, ok, nil
}

// textRow is what people want to know of a page that ended.
type textRow struct {
	rest    string
	mime    string
	server  string
	bytes   int64
	elapsed time.Duration
}

func (r *textRow) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(r.bytes))
	b = binary.AppendUvarint(b, uint64(r.elapsed))
	for _, s := range [...]string{r.mime, r.server} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return append(b, r.rest...)
}

func (r *textRow) read(b []byte) error {
	d := decoder{b: b}
	r.bytes, r.elapsed = int64(d.uvarint()), time.Duration(d.uvarint())
	r.mime, r.server = d.text(), d.text()
	r.rest = d.rest()
	return d.err
}

// decoder reads a row; the first fault stays in err and all later reads are
// zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.b) {
		d.err = errRow
		return make([]byte, 8)[:min(max(n, 0), 8)]
	}
	got := d.b[:n]
	d.b = d.b[n:]
	return got
}

func (d *decoder) byte() byte     { return d.take(1)[0] }
func (d *decoder) uint32() uint32 { return binary.BigEndian.Uint32(d.take(4)) }
func (d *decoder) uint64() uint64 { return binary.BigEndian.Uint64(d.take(8)) }

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.err = errRow
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.err = errRow
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) text() string { return string(d.span()) }

// span reads bytes that their number goes before.
func (d *decoder) span() []byte {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.err = errRow
		return nil
	}
	return d.take(int(n))
}

func (d *decoder) rest() string {
	if d.err != nil {
		return ""
	}
	s := string(d.b)
	d.b = nil
	return s
}
