package crawl

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"weir/frontier"
	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// Sharing is a Ledger's part in a crawl that several nodes share. Pages belong to
// partitions; see package overlay. A row of a partition that this node has not
// adopted is not kept but sent to where it belongs; of one that it has, what is
// new goes into the partition's log as well, so that another owner finds it
// there. What is to be sent is durable together with the page it comes from, in
// the outbox, until Posted.
//
// The rules' own rows travel in the same logs, see flow.Part.Share; those that all
// nodes must have, such as rows of small tables, in the common log that comes after
// those of the partitions.
type Sharing struct {
	Keys   overlay.Keys
	Parts  int
	Node   string // its name
	Origin uint64 // of its store: says which records it has written itself
	Bytes  bool   // those of pages are counted: ends tell them
}

// Leaves returns what an Engine must know to leave hosts to other nodes, see
// EngineConfig; 0 if the scheme does not.
func (s *Sharing) Leaves() (homes int, pages int64) {
	if scheme := s.Keys.Scheme(); scheme.Second == overlay.Adapt {
		return s.Parts, int64(scheme.Over)
	}
	return 0, 0
}

// Several says whether several programs ask for pages.
func (l *Ledger) Several() bool { return l.several != nil }

// share is the state of a Ledger that shares.
type share struct {
	Sharing
	stakes   stakes
	rules    sharing // nil: what they derive stays where it is
	seq      uint64  // of the last parcel
	offsets  []int   // partitions whose offset is to be written
	posts    posts
	sent     sent
	posted   uint64 // parcels up to here may be forgotten
	gone     uint64 // parcels up to here are
	parts    []int  // of the rows that are being taken; -1: it is another node's
	waiting  int64  // pages that wait, as of then
	spreads  spreads
	trips    trips
	applying int // the partition whose log's rows are being taken; -1: they were derived here
	doubtful bool
}

// sharing are Rules that several nodes follow together.
type sharing interface {
	Share(parts int, owns func(part int) bool)
	Tuple(program uint8, t flow.Tuple, out *Out) error
}

// stakes are what this node has to do with partitions: in a large cluster with few.
type stakes struct {
	at   map[int]*stake // by partition; that of the common log comes after them
	list []*stake
}

// of returns the stake in a partition.
func (x *stakes) of(part int) *stake {
	st := x.at[part]
	if st == nil {
		st = &stake{part: part}
		x.at[part] = st
		x.list = append(x.list, st)
	}
	return st
}

// mine says whether a partition is adopted.
func (x *stakes) mine(part int) bool {
	st := x.at[part]
	return st != nil && st.adopted
}

// stake is what this node has to do with a partition.
type stake struct {
	part    int
	adopted bool
	epoch   uint64
	queued  int64  // pages of it that wait, while it is adopted
	parked  int64  // of it that are parked, likewise
	known   int64  // of it altogether, likewise
	offset  uint64 // of its log, as applied
	stamp   uint64 // of the last batch of that; 0 = not known
	fetched int64  // pages of it, by whichever node
	bytes   int64  // of their bodies, where these are counted
	moved   bool   // the offset, since it was written
	reign   uint64 // the last epoch of an owner that was read of in the log; where pages are handed on
}

// Doubtful says whether a page that was ordered may have ended since, or another node
// may have it: ReadWaits tells of each. Otherwise all that others have ended in this
// node's partitions was read before they were adopted.
func (l *Ledger) Doubtful() bool { return l.share != nil && l.share.doubtful }

// openShare reads what a node that shares has kept.
func (l *Ledger) openShare(cfg Sharing) error {
	l.share = &share{Sharing: cfg, stakes: stakes{at: map[int]*stake{}}, spreads: newSpreads(cfg.Keys.Scheme()), applying: -1, sent: newSent(len(l.seen.recent))}
	l.shareRules()
	var bad error
	err := l.kv.Scan([]byte{keyShare, shareLog}, []byte{keyShare, shareLog + 1}, func(key, value []byte) bool {
		if len(key) != 4 || len(value) != 24 && len(value) != 32 {
			bad = errRow
			return false
		}
		if p := int(binary.BigEndian.Uint16(key[2:])); p <= cfg.Parts {
			st := l.share.stakes.of(p)
			st.offset, st.stamp = binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])
			st.fetched = int64(binary.BigEndian.Uint64(value[16:]))
			if len(value) == 32 {
				st.bytes = int64(binary.BigEndian.Uint64(value[24:]))
			}
			l.share.doubtful = true // whatever was read by a former run
		}
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("read how far logs were applied: %w", err)
	}
	if err := l.openSpreads(); err != nil {
		return err
	}
	if err := l.openReigns(); err != nil {
		return err
	}
	parcels, err := l.Outbox()
	if err == nil && len(parcels) > 0 {
		l.share.seq = parcels[len(parcels)-1].Seq
		l.share.gone = parcels[0].Seq - 1
	}
	return err
}

// shareRules lets the rules know which partitions are this node's.
func (l *Ledger) shareRules() {
	var ok bool
	if l.share.rules, ok = l.cfg.Rules.(sharing); ok {
		l.share.rules.Share(l.share.Parts, l.share.stakes.mine)
	}
}

// Keys of a crawl that is shared.
//
//	c|d|host             -> the crawl-delay that it asks for
//	c|e|partition        -> the last epoch of an owner that was read of in its log; where pages are handed on
//	c|g|partition|site|hash
//	                     -> a page that was handed on: to whom, and its row; until they must have heard of it
//	c|h|partition|host   -> the hosts of a partition that something is known of, where that has not all their sites
//	c|i                  -> the store's own number, see ReadOrigin
//	c|f                  -> why nothing more is to be fetched, see WriteEnough
//	c|l|partition        -> offset of its log, as applied, the stamp of the batch there, pages fetched; their bytes, where Sharing.Bytes is set
//	c|o|seq              -> outbox: a parcel that may not be with the others yet
//	c|s|partition|site   -> the sites of a partition
//	c|t|host             -> how far it is from the owners of its first partitions, ns; 0: not known, as always of its home
//	c|w|host             -> over how many partitions it is spread
const (
	keyShare    = 'c'
	shareEpoch  = 'e'
	shareHanded = 'g'
	shareHost   = 'h'
	shareLog    = 'l'
	shareOutbox = 'o'
	shareSite   = 's'
	shareTrip   = 't'
	shareWide   = 'w'
)

var originKey = []byte{keyShare, 'i'}

func delayKey(host string) []byte { return append([]byte{keyShare, 'd'}, host...) }

func logKey(part int) []byte {
	return binary.BigEndian.AppendUint16([]byte{keyShare, shareLog}, uint16(part))
}

func outboxKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{keyShare, shareOutbox}, seq)
}

func partKey(part int) []byte {
	return binary.BigEndian.AppendUint16([]byte{keyShare, shareSite}, uint16(part))
}

func partSiteKey(part int, id page.SiteID) []byte {
	return binary.BigEndian.AppendUint32(partKey(part), uint32(id))
}

// Outbox returns the parcels that are not posted, as of the last commit.
func (l *Ledger) Outbox() (parcels []overlay.Parcel, err error) {
	var bad error
	err = l.kv.Scan([]byte{keyShare, shareOutbox}, []byte{keyShare, shareOutbox + 1}, func(_, value []byte) bool {
		var p overlay.Parcel
		if p, bad = overlay.ReadParcel(value); bad == nil {
			parcels = append(parcels, p)
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return parcels, nil
}

// ReadOrigin returns the number of a node's store, if it has one.
func ReadOrigin(kv KV) (origin uint64, ok bool, err error) {
	b, ok, err := kv.Get(originKey)
	if err != nil || !ok {
		return 0, false, err
	}
	if len(b) != 8 {
		return 0, false, fmt.Errorf("read the number of the store: %w", errRow)
	}
	return binary.BigEndian.Uint64(b), true, nil
}

// WriteOrigin keeps it.
func WriteOrigin(w Writer, origin uint64) {
	w.Set(originKey, binary.BigEndian.AppendUint64(nil, origin))
}

// Posted says that parcels up to seq are safe with the others. They are forgotten
// with the next group.
func (l *Ledger) Posted(seq uint64) { l.share.posted = max(l.share.posted, seq) }

// Offsets returns how far the log of each partition was applied, and last the
// common one.
func (l *Ledger) Offsets() []uint64 {
	offsets := make([]uint64, l.share.Parts+1)
	for _, st := range l.share.stakes.list {
		offsets[st.part] = st.offset
	}
	return offsets
}

// Stamps returns those of the batches there, 0 where they are not known.
func (l *Ledger) Stamps() []uint64 {
	stamps := make([]uint64, l.share.Parts+1)
	for _, st := range l.share.stakes.list {
		stamps[st.part] = st.stamp
	}
	return stamps
}

// Census says how many pages of the partitions that are adopted were fetched, by
// whichever node, and how many bytes if these are counted.
func (l *Ledger) Census(applied uint64) Census {
	c := Census{Applied: applied}
	for _, st := range l.share.stakes.list {
		if st.adopted {
			c.Fetched += st.fetched
			c.Bytes += st.bytes
			c.Print += overlay.Print(st.part, st.epoch)
		}
	}
	return c
}

// tally counts pages of a partition that were fetched, and their bytes.
func (l *Ledger) tally(part int, pages, bytes int64) {
	st := l.share.stakes.of(part)
	st.fetched = max(0, st.fetched+pages)
	st.bytes += bytes
	l.move(part, st.offset, st.stamp)
}

var enoughKey = []byte{keyShare, 'f'}

// ReadEnough says why nothing more is to be fetched, as this node has heard: StopPages,
// or what else was written; "" if there is no reason.
func ReadEnough(kv KV) (why string, err error) {
	b, ok, err := kv.Get(enoughKey)
	if ok && len(b) == 0 { // as weirs wrote it that knew no other reason
		return StopPages, err
	}
	return string(b), err
}

// WriteEnough keeps it, for good.
func WriteEnough(w Writer, why string) { w.Set(enoughKey, []byte(why)) }

// Waiting returns how many pages wait in the partitions that are adopted, those
// of the open group included.
func (l *Ledger) Waiting() (n int64) {
	for _, st := range l.share.stakes.list {
		n += st.queued
	}
	return n
}

// staked counts a page that waits now.
func (l *Ledger) staked(s *siteRecord) {
	if st := l.own(s); st != nil {
		st.queued++
		l.share.waiting++
	}
}

// refetch queues a page again whose facts would mean more, and lie with another
// node, or are too old for who asks for them.
func (l *Ledger) refetch(f *page.Facts, r *pageRecord, row *Row) error {
	if r.due { // it is delivered with what is fetched
		l.undue(r)
	}
	nearer, dearer := row.Depth < r.depth, l.purse == nil && row.Score > r.score
	if nearer {
		r.depth, r.rule, r.parent = row.Depth, row.By, f.Key
	}
	if dearer {
		r.score = row.Score
	}
	l.mark(r)
	if !(nearer && l.cfg.Traits.Depth || dearer && l.cfg.Traits.Score || row.Anew) || !l.meansMore(r.outcome) {
		return nil
	}
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	if r.handed() {
		if done, err := l.forward(s, r, row); done || err != nil {
			return err
		}
	}
	e := frontier.Entry{Hash: row.Hash, Depth: r.depth, Hops: row.Hops, Root: row.Root || r.root, Score: row.Score, Rest: strings.Clone(row.URL.Rest())}
	if l.cfg.Traits.Priority && l.purse == nil {
		e.Score = r.score
	}
	if r.archive.File == elsewhere {
		r.had, l.share.doubtful = true, true
	} else {
		l.renew(r)
	}
	l.reclaim(s, r, e)
	return nil
}

// renew forgets how a page of this node's has ended. Its old record stays in the archive.
func (l *Ledger) renew(r *pageRecord) {
	l.totals.Outcomes[r.outcome]--
	if r.seed && (r.outcome.Row().Kept || r.outcome == page.Redirected) {
		l.totals.SeedsOK--
	}
	r.renewed, r.told = true, false
	l.gone = append(l.gone, pageKey(keyText, r.key))
}

// reclaim queues a page again that has ended.
func (l *Ledger) reclaim(s *siteRecord, r *pageRecord, e frontier.Entry) {
	r.loaded, r.entry = true, e
	s.queued++
	if r.handed() {
		l.discount(s, r, +1)
	} else {
		s.ended--
		if r.counted = r.outcome.Row().Answer; r.counted {
			l.tally(int(s.part), -1, 0) // its bytes have come, and will once more
		}
	}
	r.entry.Counted = r.counted
	l.totals.Queued++
	l.staked(s)
	l.admit(s, r)
	l.enqueue(s, r)
}

// applyLost queues pages again whose node is gone with their records. What this node
// has fetched, too, it still has.
func (l *Ledger) applyLost(part int, d overlay.Lost) error {
	for i := range d.Rows {
		row := &d.Rows[i]
		id, err := l.siteIn(row.URL.Site(), part)
		if err != nil {
			return err
		}
		k := page.Key{Site: id, Hash: l.cfg.Secret.Hash(row.URL.Rest())}
		r, err := l.page(k)
		if err != nil {
			return err
		}
		if r == nil || r.state != stateEnded || r.archive.File != elsewhere {
			continue
		}
		s, err := l.site(id)
		if err != nil {
			return err
		}
		e := frontier.Entry{Hash: k.Hash, Depth: r.depth, Hops: row.Hops, Root: r.root, Rest: strings.Clone(row.URL.Rest())}
		if l.purse == nil {
			e.Score = r.score
		}
		l.reclaim(s, r, e)
	}
	return nil
}

// short says that a page which has ended elsewhere must be fetched once more: who
// fetched it had not read of the depth, or of the score, that it is known by here.
func (l *Ledger) short(r *pageRecord, e *overlay.Ended) (bool, error) {
	if l.several != nil && e.Outcome == page.SteeredAway { // it may not have read who asks for it
		return l.several.Wants(r.key)
	}
	if !l.meansMore(e.Outcome) {
		return false, nil
	}
	if l.several != nil {
		return l.several.short(r.key, e)
	}
	if l.cfg.Traits.Depth && r.depth < e.Depth {
		return true, nil
	}
	if !l.cfg.Traits.Score || l.purse != nil {
		return false, nil
	}
	err := l.load(r)
	return r.entry.Score > e.Score, err
}

// Disown says that the pages of a partition are not this node's any more.
func (l *Ledger) Disown(part int) {
	st := l.share.stakes.of(part)
	st.adopted, st.queued, st.parked, st.known = false, 0, 0, 0
	l.share.spreads.forget(part)
}

// Apply takes a batch from a partition's log. What this node has written itself
// about ends and hosts it knows; rows it may not: it was not the owner when it
// sent them. Of those that it had taken as the owner, the cash is not taken twice. What
// it hands on it must have read (handed.go).
func (l *Ledger) Apply(part int, offset uint64, b overlay.Batch) error {
	st := l.share.stakes.of(part)
	if offset <= st.offset {
		return nil
	}
	own := b.Origin == l.share.Origin
	for _, r := range b.Records {
		var err error
		switch r := r.(type) {
		case overlay.Tuples:
			err = l.applyRows(part, r.Rows, own && r.Own)
		case overlay.Shipped:
			if !(own && part == l.share.Parts) {
				err = l.applyShipped(part, &r)
			}
		case overlay.Done:
			l.reigns(part, r.Epoch)
			if !own {
				err = l.applyDone(part, r)
			}
		case overlay.Handed:
			err = l.applyHanded(part, r, own)
		case overlay.Taken:
			l.reigns(part, r.Epoch)
		case overlay.Lost:
			err = l.applyLost(part, r)
		case overlay.Spread:
			l.applySpread(r)
		case overlay.Trips:
			if !own {
				err = l.applyTrips(r)
			}
		case overlay.Hosts:
			if !own {
				for _, h := range r.Hosts {
					l.applyHost(part, h)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	l.move(part, offset, b.Stamp)
	return nil
}

// Rewind says that the log of a partition has lost its end, and what was applied of
// it after an offset. That stays: whoever has written it writes it again.
func (l *Ledger) Rewind(part int, offset uint64) {
	if offset < l.share.stakes.of(part).offset {
		l.move(part, offset, 0)
	}
}

// move notes how far a log was applied.
func (l *Ledger) move(part int, offset, stamp uint64) {
	st := l.share.stakes.of(part)
	if st.offset, st.stamp = offset, stamp; !st.moved {
		st.moved = true
		l.share.offsets = append(l.share.offsets, part)
	}
}

func (l *Ledger) applyRows(part int, rows []overlay.Row, taken bool) error {
	if l.several != nil {
		return l.applyBids(part, rows, taken)
	}
	l.out.reset()
	for _, r := range rows {
		if taken {
			r.Score = 0
		}
		l.out.Crawl = append(l.out.Crawl, Row{
			URL: r.URL, Hash: l.cfg.Secret.Hash(r.URL.Rest()), Depth: r.Depth, Hops: r.Hops, Root: r.Root, Seed: r.Seed, Score: r.Score, By: Rule(r.Rule),
			moves: r.Moves,
		})
	}
	l.share.applying = part
	return l.follow(&page.Facts{}, false)
}

// applyShipped gives the rules rows of theirs.
func (l *Ledger) applyShipped(part int, s *overlay.Shipped) error {
	if l.share.rules == nil {
		return nil
	}
	if part == l.share.Parts {
		part = flow.Everywhere
	}
	for _, r := range s.Rows {
		l.out.reset()
		if err := l.share.rules.Tuple(s.Program, flow.Tuple{To: part, Input: r.Input, Row: r.Row}, &l.out); err != nil {
			return err
		}
		if err := l.follow(&page.Facts{}, false); err != nil {
			return err
		}
	}
	return nil
}

// ship sends a row of the rules to a partition, or to all.
func (l *Ledger) ship(t *Sent) {
	part := t.To
	if part == flow.Everywhere {
		part = l.share.Parts
	}
	l.bytes += int64(len(t.Row) + pairCost)
	l.share.posts.to(part).ship(t.Program, overlay.Ship{Input: t.Input, Row: t.Row})
}

// applyDone ends pages that another node has fetched. They are not among this
// node's numbers.
func (l *Ledger) applyDone(part int, d overlay.Done) error {
	for i := range d.Pages {
		p := &d.Pages[i]
		id, err := l.siteIn(p.Site, part)
		if err != nil {
			return err
		}
		k := page.Key{Site: id, Hash: p.Hash}
		r, err := l.page(k)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if err := l.overtaken(part, r, p); err != nil {
			return err
		}
		if _, err := l.endElsewhere(part, r, p); err != nil {
			return err
		}
	}
	return nil
}

// endElsewhere ends a page that waits, and that another node has fetched or handed on.
// It says whether it did.
func (l *Ledger) endElsewhere(part int, r *pageRecord, p *overlay.Ended) (bool, error) {
	if r.state != stateQueued {
		return false, nil
	}
	if short, err := l.short(r, p); short || err != nil {
		if err == nil && p.Outcome != page.SteeredAway {
			r.had, l.share.doubtful = true, true
			l.mark(r)
		}
		return false, err
	}
	s, err := l.site(r.key.Site)
	if err != nil {
		return false, err
	}
	s.queued--
	if l.purse != nil {
		if _, err := l.spend(s, r); err != nil {
			return false, err
		}
	}
	if st := l.share.stakes.of(part); st.adopted {
		st.queued--
		l.share.doubtful = true
	}
	r.state, r.outcome, r.status, r.at, r.archive = stateEnded, p.Outcome, int(p.Status), l.wall, Archived{File: elsewhere}
	var answered bool
	var bytes int64
	if r.handed() {
		l.discount(s, r, -1)
	} else if s.ended++; p.Outcome.Row().Answer {
		answered, bytes = true, int64(p.Bytes)
	}
	l.drift(s, l.count(s, r, answered, bytes)) // budgets of a site hold for all nodes
	if r.score = p.Score; l.cfg.Traits.Priority && l.purse == nil {
		if err := l.load(r); err != nil {
			return false, err
		}
		r.score = max(r.score, r.entry.Score)
	}
	l.totals.Queued--
	l.mark(r)
	l.touch(s)
	return true, nil
}

// place finds the partitions of rows, and the keys of those that are kept here.
// Others have no site in their key.
func (l *Ledger) place(rows []Row) error {
	sh := l.share
	sh.parts, sh.waiting = sh.parts[:0], l.Waiting()
	if l.several != nil {
		l.placeBids(rows)
		return nil
	}
	last, lastPart, id := "", -1, page.SiteID(0)
	for i := range rows {
		part := sh.applying
		if part < 0 {
			part = sh.Keys.Home(rows[i].URL)
		}
		k := page.Key{Hash: rows[i].Hash}
		if sh.applying >= 0 || sh.stakes.mine(part) {
			if name := rows[i].URL.Site(); name != last || part != lastPart {
				var err error
				if id, err = l.siteIn(name, part); err != nil {
					return err
				}
				last, lastPart = name, part
			}
			k.Site = id
		} else {
			k.Hash = l.cfg.Secret.Hash(rows[i].URL.String())
		}
		sh.parts = append(sh.parts, part)
		l.keys, l.prints = append(l.keys, k), append(l.prints, fingerprint(k))
	}
	return nil
}

// elsewhere is the file of a record that another node holds.
const elsewhere = math.MaxUint32

// family is the site whose robots.txt counts for a site: itself, unless its pages
// are spread over partitions.
func (l *Ledger) family(s *siteRecord) (page.SiteID, error) {
	if l.share == nil || !l.share.Keys.Scheme().Leased() {
		return s.id, nil
	}
	return l.siteID(s.name)
}

// known describes a site to the Engine. The robots.txt of one whose pages are
// spread may be known though none of its own has ended.
func (l *Ledger) known(s *siteRecord) frontier.Known {
	k := s.known()
	if l.share != nil && s.ended > 0 {
		// The first time that the Engine hears of it under an epoch, others may have
		// visited it a moment ago.
		if st := l.share.stakes.of(int(s.part)); st.adopted && s.met != st.epoch {
			k.Met, s.met = true, st.epoch
		}
	}
	k.Old = k.Old || l.share != nil && l.share.Keys.Scheme().Leased()
	return k
}

// siteIn returns the number of a site in a partition, giving it one when it is
// new. A site whose pages are spread over partitions has one in each.
func (l *Ledger) siteIn(name string, part int) (page.SiteID, error) {
	key := name
	if l.share.Keys.Scheme().Leased() {
		key = spreadSite(name, part)
	}
	id, fresh, err := l.siteNamed(key, name)
	if err != nil || !fresh {
		return id, err
	}
	s, err := l.site(id)
	if err != nil {
		return 0, err
	}
	s.part = uint16(part)
	l.extra = append(l.extra, Pair{Key: partSiteKey(part, id), Value: []byte{}})
	return id, nil
}

// file finds out what a site is filed under that was read: if its pages are spread, it
// is one of several of its name.
func (l *Ledger) file(s *siteRecord) error {
	if l.share == nil || !l.share.Keys.Scheme().Leased() {
		return nil
	}
	key := spreadSite(s.name, int(s.part))
	b, ok, err := l.kv.Get(nameKey(key))
	if err == nil && ok && len(b) == 4 && page.SiteID(binary.BigEndian.Uint32(b)) == s.id {
		s.key = key
	}
	return err
}

// spreadSite is the name of a site, whose pages are spread, in a partition.
func spreadSite(name string, part int) string { return fmt.Sprintf("%s %d", name, part) }
