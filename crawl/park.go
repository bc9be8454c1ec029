package crawl

import (
	"encoding/binary"
	"fmt"

	"weir/frontier"
	"weir/page"
)

// appendPark writes a parkRow: why, and the entry as it would be queued.
func appendPark(b []byte, why string, e *frontier.Entry) []byte {
	b = binary.AppendUvarint(b, uint64(len(why)))
	b = append(b, why...)
	return appendEntry(b, e)
}

// readPark reads a parkRow of the page with this hash.
func readPark(hash uint64, b []byte) (why string, e frontier.Entry, err error) {
	d := decoder{b: b}
	why = d.text()
	if d.err != nil {
		return "", e, d.err
	}
	e, err = readEntry(make([]byte, 14), d.b)
	e.Hash = hash
	return why, e, err
}

// Release queues parked pages that want accepts, at most n of them. They are
// never parked again. It returns how many it took; call it, and Flush, until
// that is 0.
func (l *Ledger) Release(n int, want func(u page.URL, why string) bool) (int, error) {
	type found struct {
		key   page.Key
		entry frontier.Entry
	}
	var take []found
	var bad error
	err := l.kv.Scan([]byte{keyPark}, []byte{keyPark + 1}, func(key, value []byte) bool {
		k, err := readPageKey(key)
		if err != nil {
			bad = err
			return false
		}
		why, e, err := readPark(k.Hash, value)
		if err != nil {
			bad = err
			return false
		}
		s, err := l.site(k.Site)
		if err != nil {
			bad = err
			return false
		}
		if want(page.Join(s.name, e.Rest), why) {
			take = append(take, found{k, e})
		}
		return len(take) < n
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return 0, fmt.Errorf("read the parked pages: %w", err)
	}
	for _, p := range take {
		r, err := l.page(p.key)
		if err != nil {
			return 0, err
		}
		if r == nil || r.state != stateParked {
			continue // an earlier call of this group took it
		}
		r.entry, r.loaded = p.entry, true
		if err := l.unpark(r); err != nil {
			return 0, err
		}
	}
	return len(take), nil
}

// unpark queues a parked page whose entry is there.
func (l *Ledger) unpark(r *pageRecord) error {
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	l.gone = append(l.gone, pageKey(keyPark, r.key))
	r.free = true
	s.parked--
	s.queued++
	l.totals.Parked--
	l.totals.Queued++
	if st := l.own(s); st != nil {
		st.parked--
	}
	l.staked(s)
	l.admit(s, r)
	l.enqueue(s, r)
	return nil
}

// freed queues a parked page that the user has named.
func (l *Ledger) freed(r *pageRecord) error {
	if !r.loaded {
		b, _, err := l.kv.Get(pageKey(keyPark, r.key))
		if err == nil {
			_, r.entry, err = readPark(r.key.Hash, b)
		}
		if err != nil {
			return fmt.Errorf("read a parked page: %w", err)
		}
		r.loaded = true
	}
	return l.unpark(r)
}

func readPageKey(key []byte) (page.Key, error) {
	if len(key) != 13 {
		return page.Key{}, errRow
	}
	return page.Key{Site: page.SiteID(binary.BigEndian.Uint32(key[1:])), Hash: binary.BigEndian.Uint64(key[5:])}, nil
}
