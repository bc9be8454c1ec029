package crawl

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"weir/page"
)

// Pages whose facts mean more than when they were delivered are delivered again:
// one whose depth has improved since, when rules test the depth; and all of them
// when the rules say that something small, such as the list of sites, has grown.
// The driver reads the facts from the archive, or from rows, see said.go. The Engine puts this off until
// nothing else can run, and the pages nearest to a seed come first: whatever
// improves them meanwhile is then delivered once.
//
// Rows y name the pages whose depth has improved; their urlRow says so too. To
// deliver all pages is a sweep over their rows in order of their keys, and
// m|sweep is how far it has come.

var sweepKey = []byte("msweep")

// sweep is how far a delivery of all pages has come.
type sweep struct {
	next  []byte // key of the first row that was not looked at
	ahead []byte // the same, once what Due named last is delivered
	once  bool   // the rules have more to say since it began: sweep once more
	seeds bool   // it looks for seeds, of which the rules must hear: they are new
	dirty bool
}

func againKey(depth uint16, k page.Key) []byte {
	b := binary.BigEndian.AppendUint16([]byte{keyAgain}, depth)
	b = binary.BigEndian.AppendUint32(b, uint32(k.Site))
	return binary.BigEndian.AppendUint64(b, k.Hash)
}

func readAgainKey(b []byte) (page.Key, error) {
	if len(b) != 15 {
		return page.Key{}, errRow
	}
	return page.Key{Site: page.SiteID(binary.BigEndian.Uint32(b[3:])), Hash: binary.BigEndian.Uint64(b[7:])}, nil
}

// readSweep returns how far the sweep has come that was under way, if any was.
func readSweep(kv KV) (sweep, error) {
	b, ok, err := kv.Get(sweepKey)
	if err != nil {
		return sweep{}, fmt.Errorf("read how far pages were delivered again: %w", err)
	}
	if !ok || len(b) == 0 {
		return sweep{}, nil
	}
	return sweep{once: b[0]&1 != 0, seeds: b[0]&2 != 0, next: bytes.Clone(b[1:])}, nil
}

// nearer notes that a page which has ended is nearer to a seed than it was known
// to be. Its new depth is in the record, and old the one before.
func (l *Ledger) nearer(r *pageRecord, old uint16) {
	if r.due || l.cfg.Traits.Depth && l.meansMore(r.outcome) {
		l.deliver(r, old)
	}
}

// deliver notes that a page is to be delivered again with its depth of now; old is
// the one before.
func (l *Ledger) deliver(r *pageRecord, old uint16) {
	if !l.cfg.Again {
		return
	}
	if r.due {
		l.extra = append(l.extra, Pair{Key: againKey(old, r.key), Gone: true})
	} else {
		r.due = true
		l.totals.Due++
	}
	l.extra = append(l.extra, Pair{Key: againKey(r.depth, r.key), Value: []byte{}})
}

// meansMore says that pages with this outcome have facts that rules may look at.
func (l *Ledger) meansMore(o page.Outcome) bool {
	return l.cfg.Traits.Ends || o.Row().Kept || o == page.Redirected
}

// stale notes that all pages that have ended may mean more now.
func (l *Ledger) stale() {
	switch {
	case !l.cfg.Again || l.totals.Ended() == 0:
	case l.sweep.seeds: // everything comes again anyway, but for programs that were there before
		l.sweep.once, l.sweep.dirty = l.several != nil, true
	case !l.totals.Stale:
		l.totals.Stale = true
		l.sweep = sweep{dirty: true}
	case !l.sweep.once && len(l.sweep.next) > 0:
		l.sweep.once, l.sweep.dirty = true, true
	}
}

// Due returns the keys of pages to be delivered again, n at most: those whose
// depth has improved, nearest first, or else the next of all. Each must be given
// to Again or to Skip, and Delivered be called in the group of the last; until then
// it may name the same ones. A key without a hash means the robots.txt of its site.
// It is for the beginning of a group, and without keys
// there may be something to Flush.
func (l *Ledger) Due(n int) ([]page.Key, error) {
	if l.totals.Steered {
		if ready, err := l.restart(); err != nil || !ready {
			return nil, err
		}
	}
	var keys []page.Key
	var bad error
	err := l.kv.Scan([]byte{keyAgain}, []byte{keyAgain + 1}, func(key, _ []byte) bool {
		k, err := readAgainKey(key)
		if bad = err; err != nil {
			return false
		}
		keys = append(keys, k)
		return len(keys) < n
	})
	if err == nil && bad == nil && len(keys) == 0 {
		l.totals.Steered = l.totals.Steered && l.totals.Due > 0 // what was derived just now is not there yet
		if l.totals.Stale {
			keys, err = l.nextOfAll(n)
		}
	}
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("find pages to deliver again: %w", err)
	}
	return keys, nil
}

// nextOfAll goes on with the sweep, or ends it.
func (l *Ledger) nextOfAll(n int) ([]page.Key, error) {
	var keys []page.Key
	var bad error
	var site page.SiteID
	from := l.sweep.next
	if len(from) == 0 {
		from = []byte{keyURL}
	}
	err := l.kv.Scan(from, []byte{keyURL + 1}, func(key, value []byte) bool {
		var r urlRow
		k, err := readPageKey(key)
		if err == nil {
			err = r.read(value)
		}
		if bad = err; err != nil {
			return false
		}
		if l.cfg.Traits.Robots && k.Site != site {
			site = k.Site
			keys = append(keys, page.Key{Site: site})
		}
		if r.state == stateEnded && l.meansMore(r.outcome) && r.version == l.cfg.Version && r.archive.File != elsewhere {
			keys = append(keys, k)
		}
		l.sweep.ahead = append(append(l.sweep.ahead[:0], key...), 0)
		return len(keys) < n
	})
	if err == nil {
		err = bad
	}
	if err == nil && len(keys) == 0 {
		l.totals.Stale = l.sweep.once
		l.sweep = sweep{dirty: true}
	}
	return keys, err
}

// Again takes the facts of a page that was due, read again.
func (l *Ledger) Again(f *page.Facts) error {
	if f.Robots {
		return l.robotsAgain(f)
	}
	if r, err := l.page(f.Key); err != nil || r != nil && r.state == stateEnded && r.at != f.At {
		return err // it was fetched again since these were read
	}
	r, due, err := l.settled(f.Key)
	if err != nil || r == nil || r.version != l.cfg.Version {
		return err
	}
	f.Depth, f.Hops, f.Root, f.Score = r.depth, r.hops, r.root, r.score
	if due && l.share != nil {
		if err := l.logAgain(r); err != nil {
			return err
		}
	}
	return l.derive(f)
}

// Delivered says that the pages that Due named last were taken, in this group.
func (l *Ledger) Delivered() {
	if l.totals.Stale && len(l.sweep.ahead) > 0 {
		l.sweep.next, l.sweep.ahead, l.sweep.dirty = l.sweep.ahead, nil, true
	}
}

// Skip takes a page that was due and has no facts that could be read.
func (l *Ledger) Skip(k page.Key) error {
	if k.Hash == 0 {
		return l.heard(k.Site)
	}
	_, _, err := l.settled(k)
	return err
}

// settled ends that a page is due, if it is.
func (l *Ledger) settled(k page.Key) (r *pageRecord, due bool, err error) {
	if r, err = l.page(k); err != nil || r == nil || r.state != stateEnded {
		return nil, false, err
	}
	if due = r.due; due {
		l.undue(r)
	}
	return r, due, nil
}

// undue notes that a page is not due any more.
func (l *Ledger) undue(r *pageRecord) {
	r.due = false
	l.totals.Due--
	l.extra = append(l.extra, Pair{Key: againKey(r.depth, r.key), Gone: true})
	l.mark(r)
}

// writeSweep writes how far the sweep has come, if it has moved.
func (l *Ledger) writeSweep(w Writer) {
	if !l.sweep.dirty {
		return
	}
	l.sweep.dirty = false
	if !l.totals.Stale && !l.sweep.seeds {
		w.Delete(sweepKey)
		return
	}
	flags := byte(0)
	if l.sweep.once {
		flags |= 1
	}
	if l.sweep.seeds {
		flags |= 2
	}
	w.Set(sweepKey, append([]byte{flags}, l.sweep.next...))
}
