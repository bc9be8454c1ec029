package crawl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"weir/frontier"
	"weir/page"
	"weir/robots"
)

// page returns the record of a page in this group, reading it when it is known
// from before; nil when it is new.
func (l *Ledger) page(k page.Key) (*pageRecord, error) {
	if r := l.pages[k]; r != nil {
		return r, nil
	}
	row, ok := l.rows.find(k)
	if !ok {
		if l.ahead.absent(k) {
			return nil, nil
		}
		l.key = appendPageKey(l.key[:0], keyURL, k)
		b, ok, err := l.kv.Get(l.key)
		if err != nil {
			return nil, fmt.Errorf("look a page up: %w", err)
		}
		if !ok {
			return nil, nil
		}
		if err := row.read(b); err != nil {
			return nil, fmt.Errorf("look a page up: %w", err)
		}
	}
	r := l.slab.next()
	r.key, r.urlRow = k, row
	l.had(r)
	return r, nil
}

// had takes a record that was read into the group.
func (l *Ledger) had(r *pageRecord) {
	if r.state == stateQueued {
		r.stored, r.old = true, r.place
	}
	l.pages[r.key] = r
}

// load reads the queue's part of a record.
func (l *Ledger) load(r *pageRecord) error {
	if r.loaded {
		return nil
	}
	key := queueKey(r.key.Site, r.old)
	b, ok, err := l.kv.Get(key)
	if err == nil && !ok {
		err = errRow
	}
	if err == nil {
		r.entry, err = readEntry(key, b)
		r.entry.Hash = r.key.Hash
	}
	if err != nil {
		return fmt.Errorf("read a queued page: %w", err)
	}
	r.loaded, r.was = true, r.entry.Score
	return nil
}

// mark puts a record among those that Flush writes.
func (l *Ledger) mark(r *pageRecord) {
	if !r.dirty {
		r.dirty = true
		l.order = append(l.order, r)
	}
}

func (l *Ledger) touch(s *siteRecord) {
	if !s.dirty {
		s.dirty = true
		l.touched = append(l.touched, s)
	}
}

// Pending returns how many records the open group holds.
func (l *Ledger) Pending() int {
	return len(l.order) + len(l.ev.IDs) + len(l.extra) + len(l.notes) + len(l.touched)
}

// What a row of the rules and a new page take in memory besides their texts,
// about: in the Ledger, in the rules, and in the group that is written.
const (
	pairCost   = 128
	recordCost = 512
)

// Bytes returns about how much memory the rows of the open group take that
// follow from its pages. A page may lead to any number of them, so groups should
// be bounded by it.
func (l *Ledger) Bytes() int64 { return l.bytes }

// Flush writes the group's rows and begins a new one. What it returns is true
// once the rows are durable, and must reach the Engine then and not before. They
// must be durable before the Ledger is asked for anything else.
func (l *Ledger) Flush(w Writer) (Committed, error) {
	ev := l.ev
	if l.kept {
		w.Delete(stampKey)
		l.kept = false
	}
	for _, s := range l.touched {
		if s.fresh {
			var id [4]byte
			binary.BigEndian.PutUint32(id[:], uint32(s.id))
			w.Set(nameKey(s.filed()), id[:])
		}
		l.key, l.value = appendSiteKey(l.key[:0], keySite, s.id), s.siteRow.append(l.value[:0])
		w.Set(l.key, l.value)
		s.dirty, s.fresh = false, false
	}
	fresh, moved := 0, 0 // to be told, at most
	for _, r := range l.order {
		switch {
		case r.state != stateQueued:
		case r.fresh:
			fresh++
		case r.stored && r.old != r.place:
			moved++
		}
	}
	ev.Queued, ev.Moved = slices.Grow(ev.Queued, fresh), slices.Grow(ev.Moved, moved)
	for _, r := range l.order {
		if err := l.write(w, r, &ev); err != nil {
			return ev, err
		}
	}
	for _, s := range l.drifted {
		if _, err := l.tell(s.id, &ev); err != nil {
			return ev, err
		}
	}
	for _, k := range l.varying {
		if v := l.varied[k]; v.dirty {
			w.Set(pageKey(keyVary, k), binary.AppendVarint(binary.AppendVarint(nil, v.fetched), v.repeats))
		}
	}
	for _, p := range l.extra {
		if p.Gone {
			w.Delete(p.Key)
		} else {
			w.Set(p.Key, p.Value)
		}
	}
	l.writeSweep(w)
	for _, key := range l.gone {
		w.Delete(key)
	}
	for _, k := range l.notes {
		if key := append([]byte{keyLink}, k.Key...); k.Value != nil {
			w.Set(key, k.Value)
		} else {
			w.Delete(key)
		}
	}
	l.value = l.totals.append(l.value[:0])
	w.Set(totalsKey, l.value)
	ev.Totals = l.shown()
	if l.share != nil {
		l.pack(w, &ev)
	}
	for _, s := range l.told {
		s.told = false
	}
	for _, s := range l.drifted {
		s.more = 0
	}
	l.clear()
	l.sites.age()
	if l.cfg.Rules != nil {
		l.cfg.Rules.Committed()
	}
	return ev, nil
}

// write writes one record and tells the Engine of it.
func (l *Ledger) write(w Writer, r *pageRecord, ev *Committed) error {
	r.plain = r.state == stateQueued && (r.plain && !r.loaded || r.loaded && r.entry.Hops == 0 && r.entry.Attempt == 0 && !r.counted)
	moved := r.stored && (r.state != stateQueued || r.old != r.place)
	if moved {
		l.key = appendQueueKey(l.key[:0], r.key.Site, r.old)
		w.Delete(l.key)
	}
	l.key, l.value = appendPageKey(l.key[:0], keyURL, r.key), r.urlRow.append(l.value[:0])
	w.Set(l.key, l.value)
	l.rows.put(r.key, &r.urlRow)
	switch r.state {
	case stateQueued:
		if !r.loaded {
			return nil // only its row changed
		}
		l.key, l.value = appendQueueKey(l.key[:0], r.key.Site, r.place), appendEntry(l.value[:0], &r.entry)
		w.Set(l.key, l.value)
		if known, err := l.tell(r.key.Site, ev); err != nil || !known {
			return err
		}
		var err error
		if r.entry.Away, err = l.away(r.key, r.version); err != nil {
			return err
		}
		switch {
		case r.fresh:
			ev.Queued = append(ev.Queued, Queued{Site: r.key.Site, Entry: r.entry})
		case moved:
			ev.Moved = append(ev.Moved, Moved{Site: r.key.Site, Old: r.old, Was: r.was, Entry: r.entry})
		}
	case stateEnded:
		if r.told { // else it had ended before, and only its row changed
			l.key, l.value = appendPageKey(l.key[:0], keyText, r.key), r.text.append(l.value[:0])
			w.Set(l.key, l.value)
		}
	case stateParked:
		w.Set(pageKey(keyPark, r.key), appendPark(nil, r.park, &r.entry))
	}
	return nil
}

// tell describes a site to the Engine before it hears of the site's pages, once
// in a group. Whether the Engine knows the site is the Engine's business. One
// that it does not know had nothing queued before this group, and the group's
// entries follow one by one. Of a site that is another node's it hears nothing.
func (l *Ledger) tell(id page.SiteID, ev *Committed) (bool, error) {
	s, err := l.site(id)
	if err != nil || l.share != nil && !l.share.stakes.mine(int(s.part)) {
		return false, err
	}
	if s.told {
		return true, nil
	}
	s.told = true
	l.told = append(l.told, s)
	k := l.known(s)
	k.Queued, k.Cash, k.More = 0, 0, s.more
	ev.Sites = append(ev.Sites, k)
	return true, nil
}

func (s *siteRecord) known() frontier.Known {
	return frontier.Known{ID: s.id, Name: s.name, Queued: s.queued, Used: s.fetched, Old: s.ended > 0, Cash: s.cash, Part: s.part}
}

// Load reads the head of a site's queue from the durable state.
func (l *Ledger) Load(o Load) (Loaded, error) {
	b := frontier.Batch{Site: o.Site, From: o.From}
	var bad error
	if s := l.sites.row(o.Site); s != nil && s.queued > 0 {
		b.Entries = make([]frontier.Entry, 0, min(int64(o.N), s.queued))
	}
	err := l.kv.Scan(queueKey(o.Site, o.From), after(siteKey(keyQueue, o.Site)), func(key, value []byte) bool {
		if len(b.Entries) == o.N {
			b.More = true
			return false
		}
		e, err := readEntry(key, value)
		if err != nil {
			bad = err
			return false
		}
		e.Hash = l.cfg.Secret.Hash(e.Rest)
		b.Entries = append(b.Entries, e)
		return true
	})
	if err == nil {
		err = bad
	}
	if err == nil {
		err = l.judge(o.Site, b.Entries)
	}
	if err != nil {
		return Loaded{}, fmt.Errorf("read the queue of site %d: %w", o.Site, err)
	}
	id := o.Site
	if l.share != nil {
		s, err := l.site(o.Site)
		if err == nil {
			id, err = l.family(s)
		}
		if err != nil {
			return Loaded{}, err
		}
	}
	row, ok, err := readRobots(l.kv, id)
	if err != nil {
		return Loaded{}, err
	}
	if ok {
		b.Rules = new(robots.Rules)
		if err := b.Rules.UnmarshalText([]byte(row.text)); err != nil {
			return Loaded{}, fmt.Errorf("read the robots.txt of site %d: %w", o.Site, err)
		}
		b.Age = time.Duration(max(l.wall-row.at, 0))
	}
	return Loaded{b}, nil
}

// Start returns what the Engine must know to begin, or to go on with a crawl
// that has run before: the sites with pages waiting, and the hosts that want
// more than the common wait. The Engine remembers those hosts for as long as it
// runs, so nothing is read of hosts after this.
func (l *Ledger) Start(resumed bool) (Start, error) {
	st := Start{Resumed: resumed, Totals: l.shown(), Version: l.version}
	var bad error
	err := l.kv.Scan([]byte{keyHost}, []byte{keyHost + 1}, func(key, value []byte) bool {
		var state frontier.HostState
		if state, bad = l.readHost(value); state != (frontier.HostState{}) {
			st.Hosts = append(st.Hosts, Care{Host: string(key[1:]), State: state})
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return st, fmt.Errorf("read the hosts: %w", err)
	}
	if st.Kept, err = l.recall(); err != nil {
		return st, fmt.Errorf("read what is known of the link: %w", err)
	}
	if st.Promises, err = readPromises(l.kv); err != nil {
		return st, fmt.Errorf("read the promises: %w", err)
	}
	if l.cfg.Rules != nil {
		l.out.reset()
		if err := l.cfg.Rules.Start(&l.out); err != nil {
			return st, err
		}
		st.Stop = l.out.Stop
		st.Waits = append(st.Waits, l.out.Waits...)
	}
	if l.share != nil {
		st.Hosts = nil
		return st, nil // Adopt tells of sites and their hosts
	}
	used := map[string]int{}
	err = l.kv.Scan([]byte{keySite}, []byte{keySite + 1}, func(key, value []byte) bool {
		s := siteRecord{}
		if len(key) != 5 {
			bad = errRow
			return false
		}
		s.id = page.SiteID(binary.BigEndian.Uint32(key[1:]))
		if bad = s.read(value); bad != nil {
			return false
		}
		if s.queued > 0 {
			st.Sites = append(st.Sites, s.known())
		}
		if s.delay > 0 {
			st.Hosts = append(st.Hosts, Care{Host: page.SiteHost(s.name), Delay: s.delay})
		}
		if l.cfg.Domains && s.fetched > 0 {
			d := page.Domain(page.SiteHost(s.name))
			i, ok := used[d]
			if !ok {
				i = len(st.Domains)
				used[d] = i
				st.Domains = append(st.Domains, Used{Domain: d})
			}
			st.Domains[i].Pages += s.fetched
		}
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return st, fmt.Errorf("read the sites: %w", err)
	}
	return st, nil
}

// recall reads what is known of the link, if the crawl is to know it.
func (l *Ledger) recall() ([]Keep, error) {
	if l.cfg.Kept == 0 {
		return nil, nil
	}
	rows, err := readLearned(l.kv, l.cfg.Kept)
	if err != nil {
		return nil, err
	}
	used, ok, err := l.kv.Get(append([]byte{keyLink}, usageKey...))
	if ok {
		rows = append(rows, Keep{[]byte(usageKey), used})
	}
	return rows, err
}

// readLearned reads what a crawl learned of servers, at most so many rows.
func readLearned(kv KV, most int) (rows []Keep, err error) {
	err = kv.Scan([]byte{keyLink}, []byte{keyLink + 1}, func(key, value []byte) bool {
		if name := key[1:]; string(name) != usageKey && !bytes.HasPrefix(name, []byte(promiseKey)) && len(rows) < most {
			rows = append(rows, Keep{bytes.Clone(key[1:]), bytes.Clone(value)})
		}
		return len(rows) < most
	})
	return rows, err
}

// readPromises reads the promises that the crawl has given.
func readPromises(kv KV) (rows []Keep, err error) {
	from := []byte{keyLink, promiseKey[0]}
	to := []byte{keyLink, promiseKey[0] + 1}
	err = kv.Scan(from, to, func(key, value []byte) bool {
		rows = append(rows, Keep{bytes.Clone(key[1:]), bytes.Clone(value)})
		return true
	})
	return rows, err
}
