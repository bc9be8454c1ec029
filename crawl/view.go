package crawl

import (
	"encoding/binary"
	"fmt"
	"time"

	"weir/frontier"
	"weir/page"
)

// View reads a stored crawl for people: exports, reports, why. It sees what was
// committed.
type View struct {
	kv       KV
	secret   page.Secret
	programs Programs
	one      bool // it is that of one of several programs
	sites    map[page.SiteID]siteRow
}

// NewView returns a View of a stored crawl.
func NewView(kv KV) (*View, error) {
	secret, ok, err := ReadSecret(kv)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("this crawl has not begun yet: %w", errRow)
	}
	programs, _, err := ReadPrograms(kv)
	if err != nil {
		return nil, err
	}
	return &View{kv: kv, secret: secret, programs: programs, sites: map[page.SiteID]siteRow{}}, nil
}

// Programs says which programs the crawl runs.
func (v *View) Programs() Programs { return v.programs }

// Program returns the number of the program whose crawl this is; false when several
// share it, and it is that of none of them.
func (v *View) Program() (uint8, bool) {
	switch {
	case v.one:
		return v.programs.Each[0].Number, true
	case len(v.programs.Each) > 0:
		return 0, false
	}
	return v.programs.Version, true
}

// Of returns the crawl as one of several programs sees it: with its own depths and
// scores, and what it does not ask for is stray.
func (v *View) Of(program Named) *View {
	of := *v
	of.programs.Each, of.one = []Named{program}, true
	return &of
}

// Claim returns the row of a page in the crawl table of one of several programs,
// if it asks for the page.
func (v *View) Claim(program Named, k page.Key) (Claim, bool, error) {
	return readClaim(v.kv, program.Number, k)
}

// see tells of a page what those who share the crawl know of it.
func (v *View) see(p *PageInfo) error {
	for _, n := range v.programs.Each {
		if n.Left {
			continue
		}
		c, ok, err := readClaim(v.kv, n.Number, p.Key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if v.one {
			p.Stray, p.Depth, p.Score, p.By, p.Parent, p.Root = false, int(c.Depth), c.Score, c.By, c.Parent, c.Root
		}
		return nil
	}
	p.Stray = p.Stray || len(v.programs.Each) > 0
	return nil
}

// PageInfo is what is known of one page.
type PageInfo struct {
	Key     page.Key
	URL     page.URL
	State   string // queued, ended, parked; elsewhere: another node of a cluster has it, and nothing more is known here
	Stray   bool   // only an earlier program has asked for it, see Ledger.Steer: it is no row of crawl, and has no facts
	Depth   int
	Score   float32 // where scores are split, of a page that waits only
	By      Rule
	Parent  page.Key
	Root    bool
	Why     string // of a parked page
	Outcome page.Outcome
	Status  int
	Mime    string
	Bytes   int64
	Server  string
	At      time.Time
	Elapsed time.Duration
	Record  Archived
	Entry   frontier.Entry // of a queued page
}

// Facts returns what the rows know of a page that ended: how it ended. What it
// says is not in them.
func (p *PageInfo) Facts() *page.Facts {
	return &page.Facts{
		Key: p.Key, URL: p.URL, Depth: uint16(p.Depth), Score: p.Score, Root: p.Root, Outcome: p.Outcome, Status: p.Status,
		Mime: p.Mime, Bytes: p.Bytes, Server: p.Server, At: p.At.UnixNano(), Elapsed: p.Elapsed,
	}
}

func (v *View) siteName(id page.SiteID) (string, error) {
	s, err := v.site(id)
	return s.name, err
}

// Part returns the partition of a site, where several nodes share the crawl.
func (v *View) Part(id page.SiteID) (int, error) {
	s, err := v.site(id)
	return int(s.part), err
}

// site returns what never changes of a site.
func (v *View) site(id page.SiteID) (siteRow, error) {
	if s, ok := v.sites[id]; ok {
		return s, nil
	}
	b, ok, err := v.kv.Get(siteKey(keySite, id))
	if err == nil && !ok {
		err = errRow
	}
	var s siteRow
	if err == nil {
		err = s.read(b)
	}
	if err != nil {
		return s, fmt.Errorf("read site %d: %w", id, err)
	}
	if len(v.sites) > siteCache {
		clear(v.sites)
	}
	s = siteRow{name: s.name, part: s.part}
	v.sites[id] = s
	return s, nil
}

// Pages calls fn for every page that ended here, site by site, until it returns
// false.
func (v *View) Pages(fn func(*PageInfo) bool) error {
	return v.each(keyText, func(k page.Key, _, value []byte) (bool, error) {
		b, ok, err := v.kv.Get(pageKey(keyURL, k))
		if err == nil && !ok {
			err = errRow
		}
		if err != nil {
			return false, err
		}
		info, err := v.info(k, b, value)
		if err != nil || info.State != "ended" {
			return err == nil, err
		}
		return fn(info), nil
	})
}

// Parked calls fn for every page that is held back.
func (v *View) Parked(fn func(*PageInfo) bool) error {
	return v.each(keyPark, func(k page.Key, _, value []byte) (bool, error) {
		why, e, err := readPark(k.Hash, value)
		if err != nil {
			return false, err
		}
		name, err := v.siteName(k.Site)
		if err != nil {
			return false, err
		}
		info := &PageInfo{Key: k, URL: page.Join(name, e.Rest), State: "parked", Depth: int(e.Depth), Score: e.Score, Why: why}
		if err := v.see(info); err != nil {
			return false, err
		}
		return fn(info), nil
	})
}

// Queue calls fn for every page that waits, in the order of each site's queue.
func (v *View) Queue(fn func(*PageInfo) bool) error {
	var bad error
	err := v.kv.Scan([]byte{keyQueue}, []byte{keyQueue + 1}, func(key, value []byte) bool {
		e, err := readEntry(key, value)
		if err != nil {
			bad = err
			return false
		}
		e.Hash = v.secret.Hash(e.Rest)
		k := page.Key{Site: page.SiteID(binary.BigEndian.Uint32(key[1:])), Hash: e.Hash}
		name, err := v.siteName(k.Site)
		if err != nil {
			bad = err
			return false
		}
		info := &PageInfo{Key: k, URL: page.Join(name, e.Rest), Stray: e.Version != v.programs.Version, State: "queued", Depth: int(e.Depth), Score: e.Score, Entry: e}
		if bad = v.see(info); bad != nil {
			return false
		}
		return fn(info)
	})
	if err == nil {
		err = bad
	}
	return err
}

func (v *View) each(kind byte, fn func(k page.Key, key, value []byte) (bool, error)) error {
	var bad error
	err := v.kv.Scan([]byte{kind}, []byte{kind + 1}, func(key, value []byte) bool {
		k, err := readPageKey(key)
		more := false
		if err == nil {
			more, err = fn(k, key, value)
		}
		bad = err
		return more && err == nil
	})
	if err == nil {
		err = bad
	}
	return err
}

// Page returns what is known of a URL; nil when it is not known at all.
func (v *View) Page(u page.URL) (*PageInfo, error) {
	b, ok, err := v.kv.Get(nameKey(u.Site()))
	if err != nil || !ok {
		return nil, err
	}
	if len(b) != 4 {
		return nil, errRow
	}
	p, err := v.Key(page.Key{Site: page.SiteID(binary.BigEndian.Uint32(b)), Hash: v.secret.Hash(u.Rest())})
	if p != nil && p.State == "elsewhere" {
		p.URL = u
	}
	return p, err
}

// PageIn does so where the pages of a site are spread over partitions, and the page
// is in this one.
func (v *View) PageIn(u page.URL, part int) (*PageInfo, error) {
	b, ok, err := v.kv.Get(nameKey(spreadSite(u.Site(), part)))
	if err != nil || !ok || len(b) != 4 {
		return nil, err
	}
	return v.Key(page.Key{Site: page.SiteID(binary.BigEndian.Uint32(b)), Hash: v.secret.Hash(u.Rest())})
}

// Hash returns the part of a page's key that stands for the rest of its URL.
func (v *View) Hash(rest string) uint64 { return v.secret.Hash(rest) }

// Key returns what is known of a page by its key; nil when it is not known. The URL
// of a page that is elsewhere is the first of its site.
func (v *View) Key(k page.Key) (*PageInfo, error) {
	row, ok, err := v.kv.Get(pageKey(keyURL, k))
	if err != nil || !ok {
		return nil, err
	}
	text, _, err := v.kv.Get(pageKey(keyText, k))
	if err != nil {
		return nil, err
	}
	return v.info(k, row, text)
}

func (v *View) info(k page.Key, row, text []byte) (*PageInfo, error) {
	var r urlRow
	if err := r.read(row); err != nil {
		return nil, err
	}
	name, err := v.siteName(k.Site)
	if err != nil {
		return nil, err
	}
	p := &PageInfo{Key: k, Depth: int(r.depth), By: r.rule, Parent: r.parent, Root: r.root, Outcome: r.outcome, Status: r.status, Record: r.archive}
	p.Stray = r.version != v.programs.Version
	if r.state == stateEnded && r.outcome == page.SteeredAway {
		p.Stray, p.Depth = true, -1
	}
	if r.state == stateEnded && r.archive.File == elsewhere {
		p.State, p.URL, p.Record = "elsewhere", page.Join(name, "/"), Archived{}
		return p, nil
	}
	switch r.state {
	case stateEnded:
		var t textRow
		if err := t.read(text); err != nil {
			return nil, err
		}
		p.State, p.Score, p.URL = "ended", r.score, page.Join(name, t.rest)
		p.Mime, p.Bytes, p.Server, p.Elapsed = t.mime, t.bytes, t.server, t.elapsed
		p.At = time.Unix(0, r.at).UTC()
	case stateQueued:
		key := queueKey(k.Site, r.place)
		b, ok, err := v.kv.Get(key)
		if err == nil && !ok {
			err = errRow
		}
		if err != nil {
			return nil, err
		}
		if p.Entry, err = readEntry(key, b); err != nil {
			return nil, err
		}
		p.Entry.Hash = k.Hash
		p.State, p.Score, p.URL = "queued", p.Entry.Score, page.Join(name, p.Entry.Rest)
	case stateParked:
		b, _, err := v.kv.Get(pageKey(keyPark, k))
		if err != nil {
			return nil, err
		}
		why, e, err := readPark(k.Hash, b)
		if err != nil {
			return nil, err
		}
		p.State, p.Score, p.Why, p.URL = "parked", e.Score, why, page.Join(name, e.Rest)
	}
	return p, v.see(p)
}

// SiteInfo is what is known of one site.
type SiteInfo struct {
	ID       page.SiteID
	Name     string
	Queued   int64
	Ended    int64
	Fetched  int64
	Parked   int64
	Delay    time.Duration
	RobotsAt time.Time          // zero when robots.txt was never had
	Robots   string             // the rules that concern us
	Host     frontier.HostState // without what is left of its rest, which the time decides
	Until    time.Time          // its host rests until then; zero when nothing more than its wait is due
}

// Sites calls fn for every site, in order of discovery.
func (v *View) Sites(fn func(*SiteInfo) bool) error {
	var bad error
	err := v.kv.Scan([]byte{keySite}, []byte{keySite + 1}, func(key, value []byte) bool {
		var s siteRow
		if len(key) != 5 {
			bad = errRow
			return false
		}
		if bad = s.read(value); bad != nil {
			return false
		}
		info := s.info(page.SiteID(binary.BigEndian.Uint32(key[1:])))
		if bad = v.furnish(info); bad != nil {
			return false
		}
		return fn(info)
	})
	if err == nil {
		err = bad
	}
	return err
}

// Site returns what is known of a site.
func (v *View) Site(id page.SiteID) (*SiteInfo, error) {
	b, ok, err := v.kv.Get(siteKey(keySite, id))
	if err == nil && !ok {
		err = errRow
	}
	var s siteRow
	if err == nil {
		err = s.read(b)
	}
	if err != nil {
		return nil, fmt.Errorf("read site %d: %w", id, err)
	}
	info := s.info(id)
	return info, v.furnish(info)
}

func (s *siteRow) info(id page.SiteID) *SiteInfo {
	return &SiteInfo{ID: id, Name: s.name, Queued: s.queued, Ended: s.ended, Fetched: s.fetched, Parked: s.parked, Delay: s.delay}
}

// furnish adds what lies in rows of their own.
func (v *View) furnish(info *SiteInfo) error {
	row, ok, err := readRobots(v.kv, info.ID)
	if err != nil {
		return err
	}
	if ok {
		info.RobotsAt, info.Robots = time.Unix(0, row.at).UTC(), row.text
	}
	b, ok, err := v.kv.Get(append([]byte{keyHost}, page.SiteHost(info.Name)...))
	if err != nil || !ok {
		return err
	}
	st, until, err := readHost(b)
	info.Host = st
	if until > 0 {
		info.Until = time.Unix(0, until).UTC()
	}
	return err
}

// Learned returns what the crawl learned of its servers, at most so many rows,
// for another crawl's Start. What it used of its own quota is left out.
func (v *View) Learned(most int) ([]Keep, error) {
	rows, err := readLearned(v.kv, most)
	if err != nil {
		return nil, fmt.Errorf("read what is known of the link: %w", err)
	}
	return rows, nil
}
