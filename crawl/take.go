package crawl

import (
	"fmt"
	"strings"

	"weir/frontier"
	"weir/page"
)

// derive asks the rules what a page means, and takes their answer.
func (l *Ledger) derive(f *page.Facts) error {
	l.out.reset()
	if err := l.cfg.Rules.Page(f, &l.out); err != nil {
		return err
	}
	return l.follow(f, f.Outcome != page.None)
}

// follow takes what was derived from a page, and what follows from that.
func (l *Ledger) follow(f *page.Facts, links bool) error {
	if err := l.take(f, links); err != nil {
		return err
	}
	for len(l.news)+len(l.ends) > 0 {
		if n := len(l.ends); n > 0 {
			end := l.ends[n-1]
			l.ends = l.ends[:n-1]
			l.out.reset()
			if err := l.cfg.Rules.Page(end, &l.out); err != nil {
				return err
			}
			if err := l.take(end, true); err != nil {
				return err
			}
			continue
		}
		l.out.reset()
		news := l.news
		l.news = nil
		for i := range news {
			if err := l.cfg.Rules.Crawled(news[i].URL, news[i].Depth, news[i].Score, &l.out); err != nil {
				return err
			}
		}
		if err := l.take(f, false); err != nil {
			return err
		}
	}
	return nil
}

// take makes rows of what the rules have derived. Those that follow from the
// facts of a page directly are its links.
func (l *Ledger) take(f *page.Facts, links bool) error {
	if err := l.name(l.out.Crawl); err != nil {
		return err
	}
	if err := l.lookAhead(l.out.Crawl); err != nil {
		return err
	}
	if links && l.cfg.Links && !f.Robots {
		l.keepLinks(f)
	}
	if links && l.purse != nil {
		for i := range l.out.Crawl {
			l.out.Crawl[i].Score = f.Score // whatever a program says: here scores are cash
		}
		l.split(l.out.Crawl)
		l.purse.near(l.prints)
	} else {
		l.seen.near(l.prints)
	}
	for i := range l.out.Crawl {
		row := &l.out.Crawl[i]
		if l.keys[i].Site == 0 {
			if l.several != nil {
				l.sendBids(row, l.prints[i])
			} else {
				l.send(row, l.prints[i])
			}
			continue
		}
		if l.purse != nil && row.Seed && row.Score <= 0 {
			row.Score = 1
		}
		news, err := l.crawl(f, l.keys[i], l.prints[i], row)
		if err != nil {
			return err
		}
		switch {
		case l.share == nil:
		case l.several != nil:
			l.logBids(row)
		case news && l.share.applying < 0:
			l.logOwn(l.share.parts[i], row.logged())
		}
		if news && l.cfg.Traits.Crawled {
			l.news = append(l.news, *row)
		}
	}
	if l.share != nil {
		l.share.applying = -1
	}
	l.ahead.forget()
	for _, p := range l.out.Put {
		l.bytes += int64(len(p.Key) + len(p.Value) + pairCost)
		l.extra = append(l.extra, Pair{Key: append([]byte{keyFact}, p.Key...), Value: p.Value, Gone: p.Gone})
	}
	for i := range l.out.Send {
		l.ship(&l.out.Send[i])
	}
	if l.out.Stop != "" && l.ev.Stop == "" {
		l.ev.Stop = l.out.Stop
	}
	l.ev.Waits = append(l.ev.Waits, l.out.Waits...)
	if l.out.Stale {
		l.stale()
	}
	l.ev.Steered = l.ev.Steered || l.out.Quit
	return nil
}

// name finds the keys of rows. A page's links lead to few sites, and mostly to
// that of the link before.
func (l *Ledger) name(rows []Row) error {
	l.keys, l.prints = l.keys[:0], l.prints[:0]
	if l.share != nil {
		return l.place(rows)
	}
	last, id := "", page.SiteID(0)
	for i := range rows {
		site := rows[i].Site
		if site == 0 {
			if name := rows[i].URL.Site(); name != last {
				var err error
				if id, err = l.siteID(name); err != nil {
					return err
				}
				last = name
			}
			site = id
		}
		k := page.Key{Site: site, Hash: rows[i].Hash}
		l.keys, l.prints = append(l.keys, k), append(l.prints, fingerprint(k))
	}
	return nil
}

// crawl is the seen-test: the row is new, or better than what is known, or
// known. It says whether it was one of the first two. Where scores are split, a
// known page gains the row's.
func (l *Ledger) crawl(f *page.Facts, key page.Key, print uint64, row *Row) (news bool, err error) {
	if row.Hear {
		if err := l.rehear(key.Site); err != nil {
			return false, err
		}
	}
	depth := uint8(min(row.Depth, maxSeen))
	gives := l.purse != nil && row.Score > 0 && !row.Seed
	if gives {
		if c := l.purse.find(print); c != nil {
			gives = false
			shallow := c.depth <= depth
			c.depth = min(c.depth, depth)
			if err := l.gift(key, row.URL, c, row.Score); err != nil || shallow && row.plain() {
				return false, err
			}
		}
	}
	least, known := l.seen.find(print)
	if gives && known {
		gives = false
		if err := l.remind(key, row.URL, row.Score); err != nil {
			return false, err
		}
	}
	plain := row.plain() && !l.cfg.Traits.Priority
	if plain && known && least <= depth {
		return false, nil
	}
	whole := l.seen.whole()
	if plain && !whole && !gives && l.seen.met(print, depth) {
		return false, nil
	}
	if known || !whole {
		r, err := l.page(key)
		if err != nil {
			return false, err
		}
		if r != nil {
			l.seen.add(print, depth)
			if gives {
				if err := l.remind(key, row.URL, row.Score); err != nil {
					return false, err
				}
			}
			return l.better(f, r, row)
		}
	}
	l.seen.add(print, depth)
	s, err := l.site(key.Site)
	if err != nil {
		return false, err
	}
	r := l.slab.next()
	r.key, r.loaded = key, true
	r.urlRow = urlRow{depth: row.Depth, rule: row.By, root: row.Root, seed: row.Seed, version: l.cfg.Version, parent: f.Key}
	r.entry = frontier.Entry{Hash: row.Hash, Depth: row.Depth, Hops: row.Hops, Root: row.Root, Score: row.Score, Rest: strings.Clone(row.URL.Rest())}
	l.pages[key] = r
	l.bytes += int64(len(r.entry.Rest) + recordCost)
	l.totals.Seen++
	if st := l.own(s); st != nil {
		st.known++
	}
	if row.Seed {
		l.totals.Seeds++
	}
	if err := l.hear(s); err != nil {
		return false, err
	}
	why, err := l.trap(s, row)
	if err != nil {
		return false, err
	}
	if why != "" {
		r.state, r.park = stateParked, why
		s.parked++
		l.totals.Parked++
		if st := l.own(s); st != nil {
			st.parked++
		}
		if l.purse != nil {
			l.purse.put(print, stateParked, row.Depth, 0)
		}
		l.touch(s)
		l.mark(r)
		return true, nil
	}
	if to, other, err := l.fetcher(s, row); err != nil {
		return false, err
	} else if other {
		l.handOn(s, r, to, row)
		return true, nil
	}
	s.queued++
	l.totals.Queued++
	l.staked(s)
	l.admit(s, r)
	l.enqueue(s, r)
	if row.Hops > MaxHops && (l.share == nil || l.own(s) != nil) { // a standby leaves that to the owner
		end := &page.Facts{Key: key, URL: row.URL, Depth: row.Depth, Hops: row.Hops, Root: row.Root, Score: row.Score, Outcome: page.TooManyRedirects, At: l.wall}
		l.ends = append(l.ends, end)
		return true, l.finish(r, end, Archived{})
	}
	return true, nil
}

// better keeps the least depth of a page, and that it is a root or a seed; while
// it waits, and the rules give priorities, also the greatest of these. It says
// whether the depth or the priority is better than it was.
func (l *Ledger) better(f *page.Facts, r *pageRecord, row *Row) (bool, error) {
	if row.Seed && !r.seed {
		r.seed = true
		l.totals.Seeds++
		if r.state == stateEnded && (r.outcome.Row().Kept || r.outcome == page.Redirected) {
			l.totals.SeedsOK++
		}
		l.mark(r)
	}
	if row.Seed && r.state == stateParked {
		if err := l.freed(r); err != nil {
			return false, err
		}
	}
	if r.version != l.cfg.Version {
		return true, l.adopt(f, r, row)
	}
	nearer := row.Depth < r.depth
	if r.state != stateQueued {
		dearer := l.cfg.Traits.Priority && l.purse == nil && row.Score > r.score
		if !nearer && !dearer && !row.Anew || r.state != stateEnded {
			return false, nil
		}
		if r.outcome == page.SteeredAway {
			return true, l.regain(f, r, row)
		}
		if r.archive.File == elsewhere || r.at < row.since && r.outcome != page.TooManyRedirects {
			return nearer || dearer, l.refetch(f, r, row)
		}
		old := r.depth
		if dearer {
			r.score = row.Score
		}
		if nearer {
			r.depth, r.hops, r.rule, r.parent = row.Depth, row.Hops, row.By, f.Key
			l.nearer(r, old)
		}
		if (row.Anew || dearer && l.cfg.Traits.Score) && l.meansMore(r.outcome) {
			l.deliver(r, r.depth)
		}
		l.mark(r)
		return nearer || dearer, nil
	}
	if !nearer && (r.root || !row.Root) && !l.cfg.Traits.Priority {
		return false, nil
	}
	if err := l.load(r); err != nil {
		return false, err
	}
	dearer := l.cfg.Traits.Priority && row.Score > r.entry.Score
	if !nearer && (r.root || !row.Root) && !dearer {
		return false, nil
	}
	r.root = r.root || row.Root
	r.entry.Root = r.root
	if nearer || dearer {
		s, err := l.site(r.key.Site)
		if err != nil {
			return false, err
		}
		was := l.cfg.Order.Place(r.depth, r.entry.Score, s.seq+1)
		if nearer {
			r.depth, r.entry.Depth, r.entry.Hops = row.Depth, row.Depth, row.Hops
			r.rule, r.parent = row.By, f.Key
		}
		if dearer {
			r.entry.Score = row.Score
		}
		if now := l.cfg.Order.Place(r.depth, r.entry.Score, s.seq+1); now != was { // else the depth makes no difference
			s.seq++
			l.touch(s)
			r.place, r.entry.Place = now, now
		}
	}
	l.mark(r)
	return nearer || dearer, nil
}

// trap says why a new page is held back, or "".
func (l *Ledger) trap(s *siteRecord, row *Row) (string, error) {
	if row.Seed {
		return "", nil
	}
	path := row.URL.Path()
	if why := l.cfg.Trap.Path(path); why != "" {
		return why, nil
	}
	bare, _, query := strings.Cut(path, "?")
	if !query {
		return "", nil
	}
	v, err := l.variants(s.id, bare)
	if err != nil {
		return "", err
	}
	if l.cfg.Trap.Queries(v.fetched, v.repeats) {
		return fmt.Sprintf("%d queries of one path, %d brought nothing new", v.fetched, v.repeats), nil
	}
	return "", nil
}

// vary counts a page with a query against its path.
func (l *Ledger) vary(f *page.Facts, repeat bool) error {
	bare, _, query := strings.Cut(f.URL.Path(), "?")
	if !query || !f.Digested {
		return nil
	}
	v, err := l.variants(f.Key.Site, bare)
	if err != nil {
		return err
	}
	v.fetched++
	v.dirty = true
	if repeat {
		v.repeats++
	}
	return nil
}

func (l *Ledger) variants(id page.SiteID, path string) (*variants, error) {
	k := page.Key{Site: id, Hash: l.cfg.Secret.Hash(path)}
	if v := l.varied[k]; v != nil {
		return v, nil
	}
	b, ok, err := l.kv.Get(pageKey(keyVary, k))
	if err != nil {
		return nil, fmt.Errorf("read the queries of a path: %w", err)
	}
	v := &variants{}
	if ok {
		d := decoder{b: b}
		v.fetched, v.repeats = d.varint(), d.varint()
		if d.err != nil {
			return nil, d.err
		}
	}
	l.varied[k] = v
	l.varying = append(l.varying, k)
	return v, nil
}
