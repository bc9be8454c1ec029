package crawl

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"weir/frontier"
	"weir/page"
	"weir/robots"
)

// MaxHops is how many redirects in a row are followed; the next one ends as
// page.TooManyRedirects.
const MaxHops = 10

// LedgerConfig are the settings of a Ledger.
type LedgerConfig struct {
	Order   frontier.Ranking
	Trap    frontier.Trap
	Rules   Rules
	Traits  RuleTraits // of the Rules
	Secret  page.Secret
	Domains bool     // registered domains have a budget: Start counts their pages
	Memory  int64    // bytes that the memory of seen pages may take; 0 = no bound
	Links   bool     // what pages link to is kept, for ReadLinks
	Kept    int      // rows about servers that Start reads, at most; 0 = nothing is read about the link
	Again   bool     // the driver can deliver the facts of pages again
	Said    bool     // what pages say is kept, for ReadSaid
	Version uint8    // of the program, see Steer
	Share   *Sharing // nil: no other node crawls with this one
}

// Ledger turns what was learned into durable rows. Between two calls of Flush
// it collects a group: pages, settled entries, seeds, host states. Flush writes
// the group's rows and returns the Committed that is true once they are
// durable. Seen-test and writing happen here, in one place and in one order;
// that is why no link can be lost between a page that claims it and a page that
// finds it known.
//
// An error means that the store failed; the Ledger must not be used after it.
// Not safe for concurrent use; the committer owns it.
type Ledger struct {
	cfg LedgerConfig
	kv  KV

	totals Totals
	sites  sites
	seen   *seen
	stamp  uint64 // of the snapshot that the state had when it was opened
	rows   rows
	ahead  ahead
	purse  *purse     // nil: the order does not split scores
	keys   []page.Key // of the rows that are being taken
	prints []uint64   // their fingerprints

	share   *share // nil: as LedgerConfig.Share
	version uint32 // of the last ranking
	nth     uint32 // page of its batch
	sweep   sweep
	steered bool     // in this run
	several *Several // the rules, if more than one program shares the crawl
	next    uint8    // number for the next program, see Programs

	stamped bool // there was one
	kept    bool // its row is still there

	key, value []byte // of the row that is being written or read

	// the group
	slab    slab
	pages   map[page.Key]*pageRecord
	order   []*pageRecord
	touched []*siteRecord
	told    []*siteRecord
	drifted []*siteRecord // that have other pages than the Engine thinks
	extra   []Pair        // ready-made rows, in order
	notes   []Keep        // about the link, in order
	gone    [][]byte
	varied  map[page.Key]*variants
	varying []page.Key
	bytes   int64 // of what pages have led to, about
	ev      Committed
	ids     int // of the last group
	out     Out
	news    []Row         // of crawl, that the rules have not heard of
	ends    []*page.Facts // of pages that ended before their turn, likewise
	wall    int64
}

type pageRecord struct {
	urlRow
	key    page.Key
	entry  frontier.Entry // while queued; Rest may need read
	loaded bool           // entry is whole
	fresh  bool           // made, or queued again, in this group
	stored bool           // was on disk as queued, at old
	old    frontier.Place
	was    float32 // its score there, once loaded
	dirty  bool
	park   string // why it is parked
	told   bool   // text is to be written
	text   textRow
}

// slab makes the records of a group, and takes them all back at its end.
type slab struct {
	blocks [][]pageRecord
	n      int // in use
}

const (
	slabBlock = 64
	slabKeep  = 16 // blocks that stay between two groups
	few       = 64 // records that are taken out one by one: a map that was larger once is slow to empty
)

// next returns an empty record that is good until the group ends.
func (s *slab) next() *pageRecord {
	i := s.n / slabBlock
	if i == len(s.blocks) {
		s.blocks = append(s.blocks, make([]pageRecord, slabBlock))
	}
	r := &s.blocks[i][s.n%slabBlock]
	s.n++
	return r
}

// all goes through the records in use.
func (s *slab) all(yield func(*pageRecord) bool) {
	for i := range s.n {
		if !yield(&s.blocks[i/slabBlock][i%slabBlock]) {
			return
		}
	}
}

func (s *slab) clear() {
	for i := range min(len(s.blocks), s.n/slabBlock+1) {
		clear(s.blocks[i][:min(s.n-i*slabBlock, slabBlock)])
	}
	if len(s.blocks) > slabKeep {
		clear(s.blocks[slabKeep:])
		s.blocks = s.blocks[:slabKeep]
	}
	s.n = 0
}

type variants struct {
	fetched, repeats int64
	dirty            bool
}

// NewLedger opens the ledger of a store that may be empty.
func NewLedger(kv KV, cfg LedgerConfig) (*Ledger, error) {
	l := &Ledger{cfg: cfg, kv: kv, sites: newSites(), pages: map[page.Key]*pageRecord{}, varied: map[page.Key]*variants{}}
	l.clear()
	l.use(cfg.Rules, cfg.Traits)
	var err error
	if l.stamp, l.stamped, err = readStamp(kv); err != nil {
		return nil, err
	}
	l.kept = l.stamped
	if l.sweep, err = readSweep(kv); err != nil {
		return nil, err
	}
	programs, _, err := ReadPrograms(kv)
	if err != nil {
		return nil, err
	}
	l.next = programs.Next
	if l.version, err = readVersion(kv); err != nil {
		return nil, fmt.Errorf("read the ranking's version: %w", err)
	}
	if l.totals, err = ReadTotals(kv); err != nil {
		return nil, err
	}
	some := false // the totals do not say it: pages that were handed on are not among them
	if err := kv.Scan([]byte{keyURL}, []byte{keyURL + 1}, func(_, _ []byte) bool {
		some = true
		return false
	}); err != nil {
		return nil, fmt.Errorf("look for pages: %w", err)
	}
	if cfg.Order.Traits().Splits {
		l.purse = &purse{budget: cfg.Memory / 3}
		cfg.Memory -= cfg.Memory / 3
	}
	l.seen = newSeen(cfg.Memory, !some)
	l.rows = newRows(cfg.Memory)
	if cfg.Share != nil {
		err = l.openShare(*cfg.Share)
	}
	return l, err
}

// ReadTotals returns the numbers of a stored crawl.
func ReadTotals(kv KV) (Totals, error) {
	var t Totals
	b, ok, err := kv.Get(totalsKey)
	if err != nil {
		return t, fmt.Errorf("read the crawl's totals: %w", err)
	}
	if ok {
		if err := json.Unmarshal(b, &t); err != nil {
			return t, fmt.Errorf("read the crawl's totals: %w", err)
		}
	}
	return t, nil
}

// ReadSecret returns the crawl's secret, if it has one.
func ReadSecret(kv KV) (s page.Secret, ok bool, err error) {
	b, ok, err := kv.Get(secretKey)
	if err != nil || !ok {
		return s, false, err
	}
	if len(b) != len(s) {
		return s, false, fmt.Errorf("read the crawl's secret: %w", errRow)
	}
	copy(s[:], b)
	return s, true, nil
}

// WriteSecret keeps the crawl's secret.
func WriteSecret(w Writer, s page.Secret) { w.Set(secretKey, s[:]) }

// Seeded says that the seeds with this digest were all taken: nothing would
// come of telling them again.
func Seeded(kv KV, digest []byte) (bool, error) {
	b, ok, err := kv.Get(seededKey)
	if err != nil {
		return false, fmt.Errorf("read what was seeded: %w", err)
	}
	return ok && bytes.Equal(b, digest), nil
}

// WriteSeeded notes that the seeds with this digest are all there, with the last
// of them or after it.
func WriteSeeded(w Writer, digest []byte) { w.Set(seededKey, digest) }

// Totals returns the numbers, those of the open group included.
func (l *Ledger) Totals() Totals { return l.shown() }

// Clock tells the ledger the time of day, Unix nanoseconds; ages and rests are
// kept by it.
func (l *Ledger) Clock(wall int64) { l.wall = wall }

func (l *Ledger) clear() {
	if l.slab.n < few {
		for r := range l.slab.all {
			delete(l.pages, r.key)
		}
	} else {
		l.pages = emptied(l.pages)
	}
	l.slab.clear()
	clear(l.order) // or it would hold on to the records of a large group
	l.order = l.order[:0]
	l.touched, l.told, l.drifted = l.touched[:0], l.told[:0], l.drifted[:0]
	clear(l.extra) // or it would hold on to what pages said
	l.extra = l.extra[:0]
	l.notes = l.notes[:0]
	l.gone = l.gone[:0]
	l.varied = emptied(l.varied)
	l.varying = l.varying[:0]
	if l.share != nil {
		l.share.trips.trim()
	}
	l.bytes = 0
	l.ids = len(l.ev.IDs)
	l.ev = Committed{}
}

// emptied returns the map without its entries, or another one: to empty one that
// was large takes as long as it once took to fill it.
func emptied[V any](m map[page.Key]V) map[page.Key]V {
	if len(m) > slabKeep*slabBlock {
		return map[page.Key]V{}
	}
	clear(m)
	return m
}

// Begin takes what follows from the rules alone. It is for the first group of a
// run.
func (l *Ledger) Begin() error {
	l.out.reset()
	if err := l.cfg.Rules.Start(&l.out); err != nil {
		return err
	}
	return l.follow(&page.Facts{}, false)
}

// Seed tells the rules of a page that the user names.
func (l *Ledger) Seed(u page.URL, score float32) error {
	if f := float64(score); math.IsNaN(f) || math.IsInf(f, 0) {
		score = 0
	}
	if l.cfg.Again { // another program must hear of it too
		key := append([]byte{keySeed}, u.String()...)
		l.extra = append(l.extra, Pair{Key: key, Value: binary.BigEndian.AppendUint32(nil, math.Float32bits(score))})
	}
	if l.purse != nil && score <= 0 {
		score = 1
	}
	return l.derive(&page.Facts{URL: u, Root: true, Score: score})
}

// Page takes a page that was fetched, or could not be. id is the order's; at
// says where its record lies, repeat that its payload was seen before.
func (l *Ledger) Page(id uint64, f *page.Facts, at Archived, repeat bool) error {
	l.noted(id)
	l.totals.Wire += f.Wire
	if err := l.unreached(f.URL.Host(), f.Outcome); err != nil {
		return err
	}
	r, err := l.page(f.Key)
	if err != nil {
		return err
	}
	if r == nil || r.state != stateQueued {
		l.vain(id)
		return nil // it ended already; once is enough
	}
	if !f.Outcome.Final(f.Attempt) {
		return l.again(r, f)
	}
	if f.Lent && l.several != nil {
		since, err := l.several.since(r.key)
		if err != nil {
			return err
		}
		if f.At < since { // who wants it younger came to ask for it a moment ago
			l.vain(id)
			return l.again(r, &page.Facts{Key: r.key, Outcome: page.Aborted})
		}
	}
	f.Depth, f.Root = r.depth, f.Root || r.root // it may have improved meanwhile
	if l.cfg.Traits.Priority {
		if err := l.load(r); err != nil {
			return err
		}
		f.Score = r.entry.Score
	}
	if err := l.finish(r, f, at); err != nil {
		return err
	}
	if !r.renewed { // else it has counted, and what it says may well be the same
		if err := l.vary(f, repeat); err != nil {
			return err
		}
	}
	if r.version != l.cfg.Version {
		return nil // the program of now has not asked for it
	}
	if l.totals.Steered { // it was asked for before, and read for the last program
		l.deliver(r, r.depth)
		return nil
	}
	return l.derive(f)
}

// noted notes that what became of an order is in this group, which is about as large
// as the last.
func (l *Ledger) noted(id uint64) {
	if l.ev.IDs == nil {
		l.ev.IDs = make([]uint64, 0, max(l.ids, 4))
	}
	l.ev.IDs = append(l.ev.IDs, id)
}

// vain notes that an order has changed nothing.
func (l *Ledger) vain(id uint64) { l.ev.Vain = append(l.ev.Vain, id) }

// Robots takes a robots.txt that was fetched for the site f.Key.Site, with its
// rules when it could be read. It is no page: it has no row of its own.
func (l *Ledger) Robots(id uint64, f *page.Facts, rules *robots.Rules) error {
	l.noted(id)
	l.totals.Wire += f.Wire
	if f.Outcome.Row().Answer {
		l.totals.Robots++
	}
	s, err := l.site(f.Key.Site)
	if err != nil {
		return err
	}
	rules, follow := frontier.RobotsVerdict(f.Outcome, rules, f.Redirect.URL, int(f.Hops))
	switch {
	case follow || f.Outcome == page.Aborted:
		return nil
	case rules == nil: // and nothing of the site may be fetched
		return l.Trip(page.SiteHost(s.name), unreachable)
	}
	text, err := rules.MarshalText()
	if err != nil {
		return fmt.Errorf("keep the robots.txt of %s: %w", s.name, err)
	}
	row := robotsRow{at: l.wall, text: string(text)}
	if !l.totals.Steered {
		row.version = l.cfg.Version
	}
	family, err := l.family(s)
	if err != nil {
		return err
	}
	l.extra = append(l.extra, Pair{Key: siteKey(keyRules, family), Value: row.append(nil)})
	if delay := rules.CrawlDelay(); delay != s.delay {
		s.delay = delay
		l.touch(s)
		if l.share != nil && delay > 0 {
			l.logDelay(page.SiteHost(s.name), delay)
		}
	}
	s.robots = true
	if l.totals.Steered { // it was read for the last program
		if s.heard == l.cfg.Version || l.several != nil {
			return l.hearAgain(s, row)
		}
		return nil
	}
	return l.derive(f)
}

// Settle ends a page that was never asked for.
func (l *Ledger) Settle(id uint64, site page.SiteID, e frontier.Entry, o page.Outcome) error {
	l.noted(id)
	r, err := l.page(page.Key{Site: site, Hash: e.Hash})
	if err != nil {
		return err
	}
	if r == nil || r.state != stateQueued {
		l.vain(id)
		return nil
	}
	s, err := l.site(site)
	if err != nil {
		return err
	}
	if err := l.unreached(page.SiteHost(s.name), o); err != nil {
		return err
	}
	stays := false // things have changed a moment ago
	switch o {
	case page.SteeredAway: // it was asked for after all
		away, err := l.away(r.key, r.version)
		if err != nil {
			return err
		}
		stays = !away
	case page.SiteBudget, page.DomainBudget: // another node has fetched it, so it has its place
		stays = r.counted
	}
	if stays {
		l.vain(id)
		return l.again(r, &page.Facts{Key: r.key, Outcome: page.Aborted})
	}
	f := page.Facts{
		Key: r.key, URL: page.Join(s.name, e.Rest), Depth: e.Depth, Hops: e.Hops, Root: e.Root,
		Attempt: e.Attempt, Counted: e.Counted, Score: e.Score, Outcome: o, At: l.wall,
	}
	if err := l.finish(r, &f, Archived{}); err != nil || r.version != l.cfg.Version {
		return err
	}
	return l.derive(&f)
}

// Host keeps a host's state.
func (l *Ledger) Host(name string, st frontier.HostState) {
	l.keepHost(name, st)
	if l.share != nil {
		l.logHost(name, st)
	}
}

func (l *Ledger) keepHost(name string, st frontier.HostState) {
	key := append([]byte{keyHost}, name...)
	b := binary.AppendVarint(nil, int64(st.Failures))
	b = binary.AppendVarint(b, int64(st.Last))
	until := int64(0)
	if st.Rest > 0 {
		until = l.wall + int64(st.Rest)
	}
	b = binary.AppendVarint(b, until)
	if st.Pace > 0 { // rows of crawls that have no use for it are as they always were
		b = binary.AppendVarint(b, int64(st.Pace))
	}
	l.extra = append(l.extra, Pair{Key: key, Value: b})
}

// Keep keeps a row about the link, or drops it.
func (l *Ledger) Keep(k Keep) { l.notes = append(l.notes, k) }

func (l *Ledger) readHost(b []byte) (frontier.HostState, error) {
	st, until, err := readHost(b)
	if until > l.wall {
		st.Rest = min(time.Duration(until-l.wall), page.MaxAsked)
	}
	return st, err
}

// readHost reads a hostRow: its state, and until when it rests by the time of
// day, 0 for no rest.
func readHost(b []byte) (st frontier.HostState, until int64, err error) {
	d := decoder{b: b}
	st = frontier.HostState{Failures: int(d.varint()), Last: time.Duration(d.varint())}
	until = d.varint()
	if d.err == nil && len(d.b) > 0 {
		st.Pace = min(max(time.Duration(d.varint()), 0), page.MaxPause)
	}
	return st, until, d.err
}

// again queues a page once more, behind the others of its class.
func (l *Ledger) again(r *pageRecord, f *page.Facts) error {
	s, err := l.site(f.Key.Site)
	if err != nil {
		return err
	}
	if err := l.load(r); err != nil {
		return err
	}
	if l.purse != nil {
		if err := l.settleGain(s, r); err != nil {
			return err
		}
	}
	if !f.Outcome.HostFault() && f.Outcome != page.Aborted && r.entry.Attempt < 255 {
		r.entry.Attempt++
	}
	l.enqueue(s, r)
	return nil
}

// enqueue gives a record its place at the end of its class.
func (l *Ledger) enqueue(s *siteRecord, r *pageRecord) {
	s.seq++
	l.touch(s)
	r.state, r.entry.Version = stateQueued, r.version
	r.place = l.cfg.Order.Place(r.depth, r.entry.Score, s.seq)
	r.entry.Place = r.place
	r.fresh = true
	l.mark(r)
}

// count has a page that ends be among those that its site has had, or not. It returns by
// how many they are more.
func (l *Ledger) count(s *siteRecord, r *pageRecord, answered bool, bytes int64) int64 {
	n := int64(bit(answered)) - int64(bit(r.counted))
	r.counted = false
	s.fetched += n
	if l.share != nil && answered {
		l.tally(int(s.part), 1, bytes)
	}
	return n
}

// drift notes that pages of a site count, or count no more, otherwise than the Engine's
// orders say.
func (l *Ledger) drift(s *siteRecord, n int64) {
	if n == 0 {
		return
	}
	if s.more == 0 {
		l.drifted = append(l.drifted, s)
	}
	s.more += n
	l.touch(s)
}

// finish ends a page.
func (l *Ledger) finish(r *pageRecord, f *page.Facts, at Archived) error {
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	s.queued--
	s.ended++
	if l.purse != nil {
		if f.Score, err = l.spend(s, r); err != nil {
			return err
		}
	}
	r.state, r.outcome, r.status, r.at, r.archive, r.hops = stateEnded, f.Outcome, f.Status, f.At, at, f.Hops
	if l.purse == nil {
		r.score = f.Score
	}
	if f.Outcome == page.SteeredAway {
		l.lose(r)
	}
	r.told, r.text = true, textRow{rest: f.URL.Rest(), mime: f.Mime, server: f.Server, bytes: f.Bytes, elapsed: f.Elapsed}
	size, err := l.sizeOf(r)
	if err != nil {
		return err
	}
	l.drift(s, int64(bit(f.Counted))-int64(bit(r.counted))) // it may have ended, and waited again, since it was ordered
	l.count(s, r, f.Outcome.Row().Answer, size)
	if l.share != nil {
		if err := l.logEnd(s, r); err != nil {
			return err
		}
	}
	if l.cfg.Said {
		l.keepSaid(f)
	}
	l.mark(r)
	l.totals.Queued--
	l.totals.Outcomes[f.Outcome]++
	if f.Outcome.Row().Answer {
		l.totals.Fetched++
		l.totals.Bytes += f.Bytes
		if r.seed && (f.Outcome.Row().Kept || f.Outcome == page.Redirected) {
			l.totals.SeedsOK++
		}
	}
	l.touch(s)
	return nil
}
