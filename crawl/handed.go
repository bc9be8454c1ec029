package crawl

import (
	"encoding/binary"
	"fmt"
	"strings"

	"weir/frontier"
	"weir/overlay"
	"weir/page"
)

// Only who owns a page's home may hand the page on, and whether it still did is for the
// home's log to say. So the owner says there first that it leaves the page to another
// partition (overlay.Handed), and reads that back. If nobody had taken the home over before
// it, the word is good: the owner tells the other partition of the page, and then home that
// it has ended with it. If somebody had, the word is void: the page waits where it did, and
// is the new owner's. Were the other partition told at once, a node that was cut off would
// hand on, when it is back, what others have fetched since.
//
// Whoever reads such a word in a log that is not its own keeps the row until it reads that
// the page has ended. The next owner tells the other partition of those that are left, in
// place of the one that is gone: a row that comes twice changes nothing, but for its cash.
//
//	offered   the word was said, and not read yet: this node does not fetch the page
//	handed    it was read, and is good
//
// The row of an offered page has the word's epoch, and one more, as Archived.Length.

// offer says that a page is left to another partition.
func (l *Ledger) offer(s *siteRecord, r *pageRecord, part int, row *Row) {
	moved := *row
	moved.moves++
	home := l.share.posts.to(int(s.part))
	home.hands = append(home.hands, overlay.Handing{To: uint16(part), Row: moved.logged()})
	l.bytes += int64(len(row.URL.String()) + pairCost)
	r.state, r.outcome, r.status, r.at, r.archive = stateEnded, page.OK, 0, l.wall, left(part)
	r.archive.Length = int64(l.share.stakes.of(int(s.part)).epoch) + 1
	l.touch(s)
	l.mark(r)
}

// left is where the record of a page lies that was left to a partition.
func left(part int) Archived { return Archived{File: elsewhere, Offset: int64(part) + 1} }

// offered says that a page is left to another partition if the log says so.
func (r *urlRow) offered() bool { return r.state == stateEnded && r.handed() && r.archive.Length > 0 }

// offeredIn says the same of a word that was given under an epoch.
func (r *urlRow) offeredIn(epoch uint64) bool {
	return r.offered() && r.archive.Length == int64(epoch)+1
}

// hands says whether pages are handed on at all.
func (s *share) hands() bool { return s.Keys.Scheme().Second != overlay.Stay }

// reigns notes under which epoch a partition is owned from here on in its log: as Taken
// says, and, since a log may have lost that, whatever was written under a later one.
func (l *Ledger) reigns(part int, epoch uint64) {
	st := l.share.stakes.of(part)
	if !l.share.hands() || epoch <= st.reign {
		return
	}
	st.reign = epoch
	key := binary.BigEndian.AppendUint16([]byte{keyShare, shareEpoch}, uint16(part))
	l.extra = append(l.extra, Pair{Key: key, Value: binary.BigEndian.AppendUint64(nil, epoch)})
}

// openReigns reads who owned partitions when their logs were read last.
func (l *Ledger) openReigns() error {
	var bad error
	err := l.kv.Scan([]byte{keyShare, shareEpoch}, []byte{keyShare, shareEpoch + 1}, func(key, value []byte) bool {
		if len(key) != 4 || len(value) != 8 {
			bad = errRow
			return false
		}
		if p := int(binary.BigEndian.Uint16(key[2:])); p < l.share.Parts {
			l.share.stakes.of(p).reign = binary.BigEndian.Uint64(value)
		}
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("read who owned partitions: %w", err)
	}
	return nil
}

// applyHanded reads that pages were handed on. own: by this node.
func (l *Ledger) applyHanded(part int, d overlay.Handed, own bool) error {
	l.reigns(part, d.Epoch)
	st := l.share.stakes.of(part)
	good, mine := d.Epoch >= st.reign, st.adopted && d.Epoch <= st.epoch
	for i := range d.Pages {
		h := &d.Pages[i]
		if int(h.To) >= l.share.Parts || int(h.To) == part {
			continue // nobody says that
		}
		id, err := l.siteIn(h.Row.URL.Site(), part)
		if err != nil {
			return err
		}
		r, err := l.page(page.Key{Site: id, Hash: l.cfg.Secret.Hash(h.Row.URL.Rest())})
		if err == nil && r != nil {
			switch {
			case good:
				err = l.leave(part, r, h, own, mine)
			case own && r.offeredIn(d.Epoch):
				err = l.keepBack(r, h)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leave leaves a page to another partition, which is told by whoever owns its own. own:
// this node has said so; mine: it owns the page's partition.
func (l *Ledger) leave(part int, r *pageRecord, h *overlay.Handing, own, mine bool) error {
	end := overlay.Ended{Outcome: page.OK, Depth: h.Row.Depth}
	if l.purse == nil {
		end.Score = h.Row.Score
	}
	switch {
	case r.offered():
		if !own && l.less(r, &end) {
			return nil
		}
	case mine: // it is an old word of this node's, and the page was taken back, or told of
		return nil
	default:
		if ended, err := l.endElsewhere(part, r, &end); !ended || err != nil {
			return err
		}
	}
	r.archive = left(int(h.To))
	l.mark(r)
	if mine {
		return l.tellHeir(r, h)
	}
	l.bytes += int64(len(h.Row.URL.String()) + pairCost)
	kept := overlay.AppendBatch(nil, &overlay.Batch{Records: []overlay.Record{overlay.Handed{Pages: []overlay.Handing{*h}}}})
	l.extra = append(l.extra, Pair{Key: handedKey(part, r.key), Value: kept})
	return nil
}

// tellHeir tells another partition of a page that is left to it, and then the page's own
// that it has ended.
func (l *Ledger) tellHeir(r *pageRecord, h *overlay.Handing) error {
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	row := h.Row
	row.Depth = min(row.Depth, r.depth)
	if l.cfg.Traits.Priority && l.purse == nil {
		row.Score = max(row.Score, r.score)
	}
	to := l.share.posts.to(int(h.To))
	to.rows = append(to.rows, row)
	l.bytes += int64(len(row.URL.String()) + pairCost)
	return l.postEnd(s, r)
}

// less says that a page which has ended, and was handed on, was so as one that means less
// than it does by now.
func (l *Ledger) less(r *pageRecord, p *overlay.Ended) bool {
	dearer := l.cfg.Traits.Score && l.purse == nil && r.score > p.Score
	return l.meansMore(p.Outcome) && (l.cfg.Traits.Depth && r.depth < p.Depth || dearer)
}

// keepBack has a page wait again that this node could not hand on any more.
func (l *Ledger) keepBack(r *pageRecord, h *overlay.Handing) error {
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	e := frontier.Entry{Hash: r.key.Hash, Depth: r.depth, Hops: h.Row.Hops, Root: r.root, Score: h.Row.Score, Rest: strings.Clone(h.Row.URL.Rest())}
	if l.purse == nil {
		e.Score = r.score
	}
	l.reclaim(s, r, e)
	return nil
}

// overtaken reads the end of a page that is handed on, or was to be.
func (l *Ledger) overtaken(part int, r *pageRecord, p *overlay.Ended) error {
	if r.state != stateEnded || !r.handed() || l.less(r, p) {
		return nil
	}
	if !r.offered() { // all have heard of it
		l.extra = append(l.extra, Pair{Key: handedKey(part, r.key), Gone: true})
		return nil
	}
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	r.outcome, r.status, r.at, r.archive = p.Outcome, int(p.Status), l.wall, Archived{File: elsewhere}
	if !r.handed() {
		l.discount(s, r, +1)
		s.ended++
		answered := p.Outcome.Row().Answer
		l.drift(s, l.count(s, r, answered, int64(bit(answered))*int64(p.Bytes)))
	}
	l.mark(r)
	l.touch(s)
	return nil
}

// pass tells of pages that earlier owners of a partition have handed on, as far as it is
// not known that they told of them: what these had said, and not told of, in their last
// seconds.
func (l *Ledger) pass(part int) error {
	if !l.share.hands() {
		return nil
	}
	prefix := handedKey(part, page.Key{})[:4]
	type kept struct {
		k page.Key
		h overlay.Handing
	}
	var all []kept
	var bad error
	err := l.kv.Scan(prefix, after(prefix), func(key, value []byte) bool {
		if len(key) != 16 {
			bad = errRow
			return false
		}
		var b overlay.Batch
		if b, bad = overlay.ReadBatch(value); bad != nil {
			return false
		}
		for _, r := range b.Records {
			if d, ok := r.(overlay.Handed); ok && len(d.Pages) == 1 {
				k := page.Key{Site: page.SiteID(binary.BigEndian.Uint32(key[4:])), Hash: binary.BigEndian.Uint64(key[8:])}
				all = append(all, kept{k, d.Pages[0]})
			}
		}
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("read what was handed on of partition %d: %w", part, err)
	}
	for i := range all {
		l.extra = append(l.extra, Pair{Key: handedKey(part, all[i].k), Gone: true})
		r, err := l.page(all[i].k)
		if err != nil {
			return err
		}
		if r != nil && r.state == stateEnded && r.handed() && !r.offered() {
			if err := l.tellHeir(r, &all[i].h); err != nil {
				return err
			}
		}
	}
	return nil
}

func handedKey(part int, k page.Key) []byte {
	b := binary.BigEndian.AppendUint16([]byte{keyShare, shareHanded}, uint16(part))
	b = binary.BigEndian.AppendUint32(b, uint32(k.Site))
	return binary.BigEndian.AppendUint64(b, k.Hash)
}
