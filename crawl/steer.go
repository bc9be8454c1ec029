package crawl

import (
	"fmt"
	"math"

	"weir/frontier"
	"weir/page"
)

// A crawl may get another program while it runs. It then begins anew from its
// seeds, with what it has in the place of the web: a page that was fetched before
// and that the new program asks for is delivered again, and counts from then on;
// what is derived from it goes on from there. While that lasts nothing is fetched.
// After it, pages that wait and that only an earlier program has asked for end as
// page.SteeredAway when their turn comes; should the new one ask for them after
// all, now or later, they wait again. So the crawl ends as if it had run under the
// new program from the start, but for the pages that it has besides.
//
// Every row of a page says which version of the program asked for it last, and
// every version keeps its tables apart.

// use takes rules.
func (l *Ledger) use(rules Rules, traits RuleTraits) {
	l.cfg.Rules, l.cfg.Traits = rules, traits
	if l.several, _ = rules.(*Several); l.several != nil {
		l.several.site, l.several.part = l.siteOf, l.partOf
	}
	if l.share != nil {
		l.shareRules()
	}
}

// Steer gives the crawl another program, or several, from the next page on. The
// version is one that the crawl has never had.
func (l *Ledger) Steer(version uint8, rules Rules, traits RuleTraits) error {
	l.use(rules, traits)
	l.cfg.Version = version
	l.extra = append(l.extra, Pair{Key: programKey, Value: l.programs().append(nil)})
	l.sweep = sweep{seeds: true, dirty: true}
	l.totals.Stale, l.totals.Steered = false, true
	l.ev.Steered, l.steered = true, true
	l.seen.loseAll()
	if l.purse != nil {
		l.purse.loseAll()
	}
	return l.Begin()
}

// Change changes which programs share the crawl, from the next page on: those that
// are new begin from the seeds, with the archive in the place of the web as under
// Steer; the others go on where they are, and what only one that is gone has asked
// for ends as page.SteeredAway. The crawl must have several programs already.
func (l *Ledger) Change(rules *Several) error {
	l.use(rules, rules.Traits())
	l.extra = append(l.extra, Pair{Key: programKey, Value: l.programs().append(nil)})
	l.sweep = sweep{seeds: true, once: l.totals.Stale || l.sweep.once, dirty: true}
	l.totals.Stale, l.totals.Steered = false, true
	l.ev.Steered = true
	return l.Begin()
}

// programs are those that the crawl runs.
func (l *Ledger) programs() Programs {
	p := Programs{Version: l.cfg.Version, Next: max(l.next, l.cfg.Version+1)}
	if l.several != nil {
		p.Each = l.several.named()
	}
	for _, n := range p.Each {
		p.Next = max(p.Next, n.Number+1)
	}
	l.next = p.Next
	return p
}

// gaps are the parts of the store that belong to no program any more: between the
// tables of those that there are, and between their crawl tables.
func (p Programs) gaps() (list [][2][]byte) {
	for _, prefix := range [][]byte{{keyFact}, {keyFact, claimed}} {
		under := func(n int) []byte { return append(prefix[:len(prefix):len(prefix)], byte(n)) }
		from := 0
		for _, n := range p.live() {
			if int(n) > from {
				list = append(list, [2][]byte{under(from), under(int(n))})
			}
			from = int(n) + 1
		}
		list = append(list, [2][]byte{under(from), under(claimed)})
	}
	return list
}

// dropsAtOnce is how many rows of old tables are deleted in one group, and how
// many rows of pages are looked at for seeds.
const dropsAtOnce = 10_000

// restart goes on with what must be done before pages are delivered again: the
// rules hear of the seeds, and the tables of earlier programs are deleted. It says
// whether that is done.
func (l *Ledger) restart() (bool, error) {
	n := 0
	for _, gap := range l.programs().gaps() {
		err := l.kv.Scan(gap[0], gap[1], func(key, _ []byte) bool {
			l.extra = append(l.extra, Pair{Key: append([]byte(nil), key...), Gone: true})
			n++
			return n < dropsAtOnce
		})
		if err != nil {
			return false, fmt.Errorf("drop the tables of the last program: %w", err)
		}
		if n == dropsAtOnce {
			break
		}
	}
	if l.sweep.seeds {
		if err := l.reseed(); err != nil {
			return false, fmt.Errorf("tell the program of the seeds: %w", err)
		}
	}
	return n < dropsAtOnce && !l.sweep.seeds, nil
}

// reseed tells the rules of the seeds among the next pages.
func (l *Ledger) reseed() error {
	from := l.sweep.next
	if len(from) == 0 {
		from = []byte{keySeed}
	}
	seeds, next, err := readSeeds(l.kv, from, dropsAtOnce)
	if err != nil {
		return err
	}
	if l.sweep.next, l.sweep.dirty = next, true; next == nil {
		l.totals.Stale = l.sweep.once
		l.sweep = sweep{dirty: true}
	}
	for _, s := range seeds {
		if err := l.Seed(s.URL, s.Score); err != nil {
			return err
		}
	}
	return nil
}

// Seed is a page that the user has named.
type Seed struct {
	URL   page.URL
	Score float32
}

// readSeeds reads at most n seeds from a key on, and returns the key to go on
// from; nil when there are no more.
func readSeeds(kv KV, from []byte, n int) (seeds []Seed, next []byte, err error) {
	var bad error
	err = kv.Scan(from, []byte{keySeed + 1}, func(key, value []byte) bool {
		if len(seeds) == n {
			next = append(next, key...)
			return false
		}
		d := decoder{b: value}
		s := Seed{URL: page.Canonical(string(key[1:])), Score: math.Float32frombits(d.uint32())}
		if d.err != nil || s.URL.IsZero() {
			bad = errRow
			return false
		}
		seeds = append(seeds, s)
		return true
	})
	if err == nil {
		err = bad
	}
	return seeds, next, err
}

// Seeds calls fn for every page that the user has named, until it returns false.
// Crawls whose pages cannot be delivered again do not keep them.
func (v *View) Seeds(fn func(Seed) bool) error {
	for from := []byte{keySeed}; from != nil; {
		seeds, next, err := readSeeds(v.kv, from, dropsAtOnce)
		if err != nil {
			return fmt.Errorf("read the seeds: %w", err)
		}
		for _, s := range seeds {
			if !fn(s) {
				return nil
			}
		}
		from = next
	}
	return nil
}

// adopt takes a page that an earlier program asked for into the crawl of now.
func (l *Ledger) adopt(f *page.Facts, r *pageRecord, row *Row) error {
	s, err := l.site(r.key.Site)
	if err == nil {
		err = l.hear(s)
	}
	if err != nil {
		return err
	}
	r.version = l.cfg.Version
	r.seed = r.seed || row.Seed
	l.mark(r)
	switch r.state {
	case stateEnded:
		if r.outcome == page.SteeredAway {
			return l.regain(f, r, row)
		}
		old := r.depth
		r.depth, r.hops, r.rule, r.parent, r.root = row.Depth, row.Hops, row.By, f.Key, row.Root
		l.deliver(r, old)
	case stateQueued:
		if err := l.load(r); err != nil {
			return err
		}
		r.depth, r.rule, r.parent, r.root = row.Depth, row.By, f.Key, row.Root
		e := &r.entry
		e.Depth, e.Hops, e.Root, e.Version = row.Depth, row.Hops, row.Root, r.version
		if l.purse == nil {
			e.Score = row.Score
		}
		s.seq++
		l.touch(s)
		r.place = l.cfg.Order.Place(r.depth, e.Score, s.seq)
		e.Place = r.place
	}
	return nil
}

// judge marks pages that are about to have their turn and that nobody asks for any
// more.
func (l *Ledger) judge(site page.SiteID, entries []frontier.Entry) (err error) {
	for i := range entries {
		e := &entries[i]
		if e.Away, err = l.away(page.Key{Site: site, Hash: e.Hash}, e.Version); err != nil {
			return err
		}
	}
	return nil
}

// away says that nobody asks for a page any more: only an earlier program has, or
// one of several that has stopped or is gone.
func (l *Ledger) away(k page.Key, version uint8) (bool, error) {
	if version != l.cfg.Version || l.several == nil {
		return version != l.cfg.Version, nil
	}
	wanted, err := l.several.Wants(k)
	return !wanted, err
}

// lose makes whatever asks for a page that was steered away better than what is
// known of it.
func (l *Ledger) lose(r *pageRecord) {
	r.depth = math.MaxUint16
	print := fingerprint(r.key)
	l.seen.lose(print)
	if l.purse != nil {
		if c := l.purse.find(print); c != nil {
			c.depth = lost
		}
	}
}

// regain lets a page wait again that was steered away.
func (l *Ledger) regain(f *page.Facts, r *pageRecord, row *Row) error {
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	if r.archive.File != elsewhere { // else another node has counted it
		l.totals.Outcomes[page.SteeredAway]--
	}
	r.urlRow = urlRow{depth: row.Depth, rule: row.By, root: row.Root, seed: r.seed || row.Seed, free: r.free, version: l.cfg.Version, parent: f.Key}
	r.entry = frontier.Entry{Hash: row.Hash, Depth: row.Depth, Hops: row.Hops, Root: row.Root, Score: row.Score, Rest: row.URL.Rest()}
	r.loaded, r.told = true, false
	l.gone = append(l.gone, pageKey(keyText, r.key))
	s.ended--
	s.queued++
	l.totals.Queued++
	l.staked(s)
	l.admit(s, r)
	l.enqueue(s, r)
	return nil
}

// hear has a site's robots.txt delivered again when a program asks for a page of
// the site that has not heard of it: it will not be fetched once more for that.
func (l *Ledger) hear(s *siteRecord) error {
	if l.cfg.Version == 0 || !l.cfg.Traits.Robots || s.heard == l.cfg.Version || l.several != nil {
		return nil // of several programs each hears by itself, see rehear
	}
	s.heard = l.cfg.Version
	row, ok, err := readRobots(l.kv, s.id)
	if err != nil || !ok || row.version == l.cfg.Version {
		return err
	}
	return l.hearAgain(s, row)
}

// hearAgain notes that a site's robots.txt is to be delivered to the program of now.
func (l *Ledger) hearAgain(s *siteRecord, row robotsRow) error {
	row.version = l.cfg.Version
	l.extra = append(l.extra, Pair{Key: siteKey(keyRules, s.id), Value: row.append(nil)})
	return l.dueRobots(s, true)
}

// dueRobots notes that a site's robots.txt is to be delivered again, or was.
func (l *Ledger) dueRobots(s *siteRecord, due bool) error {
	key := againKey(0, page.Key{Site: s.id})
	if !s.looked {
		_, ok, err := l.kv.Get(key)
		if err != nil {
			return fmt.Errorf("read what is delivered again: %w", err)
		}
		s.looked, s.due = true, ok
	}
	if s.due == due {
		return nil
	}
	s.due = due
	l.extra = append(l.extra, Pair{Key: key, Value: []byte{}, Gone: !due})
	if due {
		l.totals.Due++
	} else {
		l.totals.Due--
	}
	return nil
}

// rehear has a site's robots.txt delivered again, if it was had, because one of
// several programs asks for its first page there.
func (l *Ledger) rehear(id page.SiteID) error {
	s, err := l.site(id)
	if err != nil {
		return err
	}
	row, ok, err := readRobots(l.kv, id)
	switch {
	case err != nil:
		return err
	case ok:
		return l.hearAgain(s, row)
	case s.robots: // in this group, for programs that had asked before
		return l.dueRobots(s, true)
	}
	return nil
}

// heard ends that a site's robots.txt is due.
func (l *Ledger) heard(id page.SiteID) error {
	s, err := l.site(id)
	if err != nil {
		return err
	}
	return l.dueRobots(s, false)
}

// robotsAgain takes a robots.txt that was due.
func (l *Ledger) robotsAgain(f *page.Facts) error {
	if err := l.heard(f.Key.Site); err != nil {
		return err
	}
	row, ok, err := readRobots(l.kv, f.Key.Site)
	if err != nil || !ok || row.version != l.cfg.Version {
		return err // the program of now has not asked for a page of the site
	}
	return l.derive(f)
}
