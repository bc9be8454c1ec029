package crawl

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"

	"weir/page"
)

// sites are the sites that the Ledger had to do with of late, by name and by
// number. There are two generations: what nobody asked for while the young one
// filled is forgotten, and read from its rows when it is asked for again.
type sites struct {
	young, old generation
	last       *siteRecord // that was asked for: most links of a page stay on one site
}

type generation struct {
	names map[string]page.SiteID
	rows  map[page.SiteID]*siteRecord
}

// siteCache is how many sites make a generation.
const siteCache = 1 << 15

type siteRecord struct {
	siteRow
	id    page.SiteID
	key   string // that it is filed under; "" = its name
	met   uint64 // the epoch of its partition in which the Engine has heard of it, see known
	dirty bool
	fresh bool  // made in this group
	told  bool  // this group describes it to the Engine
	more  int64 // pages that it has, or has no more, by this group, see frontier.Known

	robots bool  // its robots.txt came while this record was there
	looked bool  // whether that is due is known
	due    bool  // it is to be delivered again
	since  int   // new pages since it was looked at over how many partitions its host is spread
	heard  uint8 // the program that has heard of its robots.txt, or will; 0 = it is not known
}

func newSites() sites { return sites{young: newGeneration()} }

func newGeneration() generation {
	return generation{names: map[string]page.SiteID{}, rows: map[page.SiteID]*siteRecord{}}
}

// age begins a generation when the young one is full. Between groups only: the
// records of an open one must stay the only ones of their sites.
func (s *sites) age() {
	if len(s.young.names) > siteCache || len(s.young.rows) > siteCache {
		s.old, s.young, s.last = s.young, newGeneration(), nil
	}
}

func (s *sites) number(name string) (page.SiteID, bool) {
	if s.last != nil && s.last.filed() == name {
		return s.last.id, true
	}
	id, ok := s.young.names[name]
	if !ok {
		if id, ok = s.old.names[name]; ok {
			s.young.names[strings.Clone(name)] = id
		}
	}
	return id, ok
}

func (s *sites) row(id page.SiteID) *siteRecord {
	if s.last != nil && s.last.id == id {
		return s.last
	}
	r := s.young.rows[id]
	if r == nil {
		if r = s.old.rows[id]; r != nil {
			s.keep(r)
		}
	}
	if r != nil {
		s.last = r
	}
	return r
}

func (s *sites) keep(r *siteRecord) {
	s.young.rows[r.id] = r
	s.young.names[r.filed()] = r.id
}

// filed is the key that a site is looked up by: its name, unless it shares that
// with others.
func (r *siteRecord) filed() string { return cmp.Or(r.key, r.name) }

// siteID returns the number of a site, giving it one when it is new.
func (l *Ledger) siteID(name string) (page.SiteID, error) {
	id, _, err := l.siteNamed(name, name)
	return id, err
}

// siteNamed is siteID for a site that is filed under a key; it says whether the
// site is new.
func (l *Ledger) siteNamed(key, name string) (id page.SiteID, fresh bool, err error) {
	if id, ok := l.sites.number(key); ok {
		return id, false, nil
	}
	b, ok, err := l.kv.Get(nameKey(key))
	if err != nil {
		return 0, false, fmt.Errorf("look a site up: %w", err)
	}
	key = strings.Clone(key) // it may be part of a whole page's links
	if ok {
		if len(b) != 4 {
			return 0, false, errRow
		}
		id := page.SiteID(binary.BigEndian.Uint32(b))
		l.sites.young.names[key] = id
		return id, false, nil
	}
	l.totals.Sites++
	s := &siteRecord{id: page.SiteID(l.totals.Sites), fresh: true, key: key, siteRow: siteRow{name: key[:len(name)]}}
	l.sites.keep(s)
	l.touch(s)
	return s.id, true, nil
}

func (l *Ledger) site(id page.SiteID) (*siteRecord, error) {
	if s := l.sites.row(id); s != nil {
		return s, nil
	}
	b, ok, err := l.kv.Get(siteKey(keySite, id))
	if err == nil && !ok {
		err = errRow
	}
	s := &siteRecord{id: id}
	if err == nil {
		err = s.read(b)
	}
	if err == nil {
		err = l.file(s)
	}
	if err != nil {
		return nil, fmt.Errorf("read site %d: %w", id, err)
	}
	l.sites.keep(s)
	return s, nil
}
