package crawl

import (
	"fmt"

	"weir/frontier"
	"weir/page"
)

// Failed says that a page ended for a reason that may pass: nothing of it was
// fetched, and nobody forbade it.
func Failed(o page.Outcome) bool {
	switch o {
	case page.None, page.Denied, page.TooManyRedirects, page.Trap, page.SiteBudget, page.DomainBudget, page.PrivateAddress, page.Aborted, page.SteeredAway:
		return false
	}
	return !o.Row().Answer
}

// Retry queues pages that failed and that want accepts once more, at most n of
// them, from a key on; nil begins. It returns how many it took and the key to
// go on from after Flush; nil when there are no more.
func (l *Ledger) Retry(from []byte, n int, want func(u page.URL, o page.Outcome) bool) (int, []byte, error) {
	if from == nil {
		from = []byte{keyText}
	}
	var next []byte
	var bad error
	took := 0
	err := l.kv.Scan(from, []byte{keyText + 1}, func(key, value []byte) bool {
		if took == n {
			next = append(next, key...)
			return false
		}
		var again bool
		again, bad = l.retry(key, value, want)
		if again {
			took++
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return took, nil, fmt.Errorf("queue failed pages again: %w", err)
	}
	return took, next, nil
}

func (l *Ledger) retry(key, text []byte, want func(page.URL, page.Outcome) bool) (bool, error) {
	k, err := readPageKey(key)
	if err != nil {
		return false, err
	}
	r, err := l.page(k)
	if err != nil {
		return false, err
	}
	if r == nil || r.state != stateEnded || !Failed(r.outcome) {
		delete(l.pages, k) // only looked at
		return false, nil
	}
	var t textRow
	if err := t.read(text); err != nil {
		return false, err
	}
	s, err := l.site(k.Site)
	if err != nil {
		return false, err
	}
	if !want(page.Join(s.name, t.rest), r.outcome) {
		delete(l.pages, k)
		return false, nil
	}
	l.gone = append(l.gone, append([]byte(nil), key...))
	r.entry = frontier.Entry{Hash: k.Hash, Depth: r.depth, Root: r.root, Rest: t.rest}
	r.loaded = true
	s.ended--
	s.queued++
	l.totals.Queued++
	l.totals.Outcomes[r.outcome]--
	r.outcome, r.status, r.at = page.None, 0, 0
	l.enqueue(s, r)
	return true, nil
}
