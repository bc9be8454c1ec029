package crawl

import (
	"fmt"

	"weir/overlay"
	"weir/page"
)

// The programs of a crawl that several nodes share change by agreement: what is
// agreed on names all programs that there ever were, with numbers that are never
// used again, and nodes take it up one after the other, each by Change. Rows in logs
// say whose they are. A node that meets a number which it has not heard of reads no
// further until it has; the rows of a program that has left are its claims still,
// wherever they are read, and nothing follows from them.

// Knows says whether this node has heard of all programs that a batch has rows of. If
// not, it must have, by Change, before the batch is applied.
func (l *Ledger) Knows(b *overlay.Batch) bool {
	for _, r := range b.Records {
		switch r := r.(type) {
		case overlay.Tuples:
			for i := range r.Rows {
				if r.Rows[i].Program >= l.next {
					return false
				}
			}
		case overlay.Shipped:
			if r.Program >= l.next {
				return false
			}
		}
	}
	return true
}

// Divide lets the only program of a crawl become one of several, without beginning
// anew: put gets the rows of its crawl table, which were the Ledger's own until now.
// All that was taken must be durable, and nothing be taken before Change. To do it
// twice, or a part of it, does no harm.
func (l *Ledger) Divide(put func(Pair) error) error {
	var site page.SiteID
	var bad error
	err := l.kv.Scan([]byte{keyURL}, []byte{keyURL + 1}, func(key, value []byte) bool {
		var k page.Key
		if k, bad = readPageKey(key); bad != nil {
			return false
		}
		if k.Site != site && l.cfg.Traits.Robots {
			bad = put(Pair{Key: append([]byte{keyFact}, claimKey(l.cfg.Version, page.Key{Site: k.Site})...), Value: []byte{}})
		}
		site = k.Site
		var c Claim
		if bad == nil {
			c, bad = l.claimOf(k, value)
		}
		if bad == nil {
			bad = put(Pair{Key: append([]byte{keyFact}, claimKey(l.cfg.Version, k)...), Value: c.append(nil)})
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("give the program a crawl table of its own: %w", err)
	}
	return nil
}

// claimOf is what the only program asks of a page, as the page's row says.
func (l *Ledger) claimOf(k page.Key, row []byte) (Claim, error) {
	var r urlRow
	if err := r.read(row); err != nil {
		return Claim{}, err
	}
	c := Claim{Depth: r.depth, Root: r.root, Score: r.score, By: r.rule, Parent: r.parent}
	if r.state != stateQueued || l.purse != nil { // there scores are the page's, whoever asks for it
		return c, nil
	}
	rec := pageRecord{urlRow: r, key: k, old: r.place}
	err := l.load(&rec)
	c.Score = rec.entry.Score
	return c, err
}

// Waits is how it stands with a page that was ordered. It may have ended meanwhile:
// other nodes deliver it again, too, if they have it and read who asks for it.
type Waits struct {
	Still bool
	Had   bool  // another node has fetched it before, which may have it
	Since int64 // what was fetched before is too old for who asks for it, see Member
}

// ReadWaits returns how it stands with a page.
func ReadWaits(kv KV, k page.Key) (w Waits, err error) {
	b, ok, err := kv.Get(pageKey(keyURL, k))
	var r urlRow
	if err == nil && ok {
		err = r.read(b)
	}
	if w.Still, w.Had = r.state == stateQueued, r.had; err == nil && w.Had {
		w.Since, err = readSince(kv, k)
	}
	if err != nil {
		return Waits{}, fmt.Errorf("look up whether a page waits: %w", err)
	}
	return w, nil
}

// readSince returns since when a page must have been fetched for all who ask for it.
func readSince(kv KV, k page.Key) (since int64, err error) {
	programs, _, err := ReadPrograms(kv)
	for _, n := range programs.Each {
		if err != nil || n.Left || n.Since <= since {
			continue
		}
		var asks bool
		if _, asks, err = readClaim(kv, n.Number, k); asks {
			since = n.Since
		}
	}
	return since, err
}
