package crawl

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"weir/frontier"
	"weir/page"
)

// Orders that go by ranks have all pages ranked now and then, by the links seen so
// far. The Engine says when ([Rank]). The driver ranks the pages, beside the crawl
// and for as long as it takes, and hands the Ledger the scores that matter
// ([Ledger.Rescore]). When these are durable it tells the Engine ([Ranked]).
//
// A live driver has the links from [ReadLinks], where pages have the names that
// Name gives them, and chooses with [ReadScores]. A page that nobody links to has
// a score of 1, as a seed has.

// Score is what a page is worth by its rank.
type Score struct {
	Key   page.Key
	Score float32
}

// Scores tells what a page is worth, by its name.
type Scores interface {
	Score(name uint64) (score float64, known bool)
}

// Name is a page's name in the table of links. Two pages have the same name with
// a chance of n^2/2^65 among n.
func Name(k page.Key) uint64 { return fingerprint(k) }

// keepLinks keeps what a page links to. The row says how many pages had ended
// then, so that all rows up to a moment can be told from later ones.
func (l *Ledger) keepLinks(f *page.Facts) {
	key := pageKey(keyLinks, f.Key)
	b := make([]byte, 0, 5+8*len(l.prints))
	b = binary.AppendUvarint(b, uint64(l.totals.Ended()))
	for _, print := range l.prints {
		b = binary.BigEndian.AppendUint64(b, print)
	}
	l.extra = append(l.extra, Pair{Key: key, Value: b})
}

// Linked says up to where ReadLinks can read now.
func Linked(kv KV) (int64, error) {
	t, err := ReadTotals(kv)
	return t.Ended(), err
}

// ReadLinks calls visit with every page that has ended, and what it links to, up
// to a moment that Linked told: called again, it reads the same again, whatever is
// committed meanwhile. It ends early when visit returns false. The slice holds
// during the call.
func ReadLinks(kv KV, upto int64, visit func(from uint64, targets []uint64) bool) error {
	var targets []uint64
	var bad error
	err := kv.Scan([]byte{keyLinks}, []byte{keyLinks + 1}, func(key, value []byte) bool {
		k, err := readPageKey(key)
		d := decoder{b: value}
		at := d.uvarint()
		if err != nil || d.err != nil || len(d.b)%8 != 0 {
			bad = errRow
			return false
		}
		if at > uint64(upto) {
			return true
		}
		targets = targets[:0]
		for len(d.b) > 0 {
			targets = append(targets, d.uint64())
		}
		return visit(fingerprint(k), targets)
	})
	if err = cmp.Or(err, bad); err != nil {
		return fmt.Errorf("read the links: %w", err)
	}
	return nil
}

// someScores is how many scores make one group.
const someScores = 1024

// ReadScores hands to fn, some at a time, what Rescore is to be told of the pages
// that wait: those whose class their score changes or, where pages are fetched in
// batches, the best so many of those that are in none. It asks on at every page, and
// ends early when on or fn returns false. The slice is fn's to keep.
func ReadScores(kv KV, order frontier.Ranking, batch int, scores Scores, on func() bool, fn func([]Score) bool) error {
	batched := order.Traits().Batched
	var found []Score
	var bad error
	more := true
	err := kv.Scan([]byte{keyURL}, []byte{keyURL + 1}, func(key, value []byte) bool {
		if more = on(); !more {
			return false
		}
		k, err := readPageKey(key)
		var r urlRow
		if err == nil {
			err = r.read(value)
		}
		if bad = err; err != nil {
			return false
		}
		score, known := scores.Score(fingerprint(k))
		switch {
		case r.state != stateQueued || !known && !batched:
		case batched && r.place.Class < frontier.Outside:
		case !batched && order.Place(r.depth, float32(score), 0).Class == r.place.Class:
		default:
			found = append(found, Score{k, float32(score)})
		}
		switch {
		case batched && len(found) >= 2*max(batch, someScores):
			found = best(found, batch)
		case !batched && len(found) == someScores:
			more = fn(found)
			found = nil
		}
		return more
	})
	if err = cmp.Or(err, bad); err != nil {
		return fmt.Errorf("read the pages that wait: %w", err)
	}
	if batched {
		found = best(found, batch)
	}
	for part := range slices.Chunk(found, someScores) {
		if more = more && fn(part); !more {
			break
		}
	}
	return nil
}

// best returns the best n scores, best first. Equal ones keep the order of their
// keys.
func best(s []Score, n int) []Score {
	slices.SortFunc(s, func(a, b Score) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key.Site, b.Key.Site), cmp.Compare(a.Key.Hash, b.Key.Hash))
	})
	return s[:min(n, len(s))]
}

// Rescore gives pages that wait the scores of the version-th ranking; it may be
// told them in several groups. Where pages are fetched in batches, these are the
// next one, best first. It returns how many pages have another place now.
func (l *Ledger) Rescore(version uint32, scores []Score) (moved int64, err error) {
	if version != l.version {
		l.version, l.nth = version, 0
	}
	l.extra = append(l.extra, Pair{Key: rankedKey, Value: binary.BigEndian.AppendUint32(nil, version)})
	for _, s := range scores {
		var ok bool
		if l.purse != nil {
			ok, err = l.rescore(s)
		} else {
			ok, err = l.enlist(s)
		}
		if err != nil {
			return moved, err
		}
		if ok {
			moved++
		}
	}
	return moved, nil
}

// rescore replaces a page's score. Within its class that is no news.
func (l *Ledger) rescore(s Score) (moved bool, err error) {
	r, err := l.page(s.Key)
	if err != nil || r == nil || r.state != stateQueued {
		return false, err
	}
	c, err := l.weigh(r)
	if err != nil {
		return false, err
	}
	if l.cfg.Order.Place(r.depth, s.Score, 0).Class == r.place.Class {
		c.gain = s.Score - c.stored
		return false, nil
	}
	return true, l.rate(r, c, s.Score)
}

// enlist puts a page into the batch.
func (l *Ledger) enlist(s Score) (moved bool, err error) {
	r, err := l.page(s.Key)
	if err != nil || r == nil || r.state != stateQueued || r.place.Class < frontier.Outside {
		return false, err
	}
	if err := l.load(r); err != nil {
		return false, err
	}
	r.entry.Score = s.Score
	r.place = frontier.InBatch(l.version, l.nth)
	r.entry.Place = r.place
	l.nth++
	l.mark(r)
	return true, nil
}

func readVersion(kv KV) (uint32, error) {
	b, ok, err := kv.Get(rankedKey)
	if err == nil && ok && len(b) != 4 {
		err = errRow
	}
	if err != nil || !ok {
		return 0, err
	}
	return binary.BigEndian.Uint32(b), nil
}
