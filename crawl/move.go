package crawl

import (
	"encoding/binary"
	"fmt"
	"time"

	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// Cargo is a row of a stored crawl on its way to nodes that go on with it: a page,
// what is known of a host, or a row of its program.
type Cargo struct {
	Row     overlay.Row  // of a page
	Outcome page.Outcome // how it ended; None: it waits
	Status  int

	Host  overlay.Host // if it has a name it is one, and no page
	Tuple *flow.Tuple  // if there is one it is that
}

// Land makes of cargo what nodes read in their logs. Holder is who has the records
// of pages. A row comes before its end, for only what is known can end. What a log
// has had already changes nothing when it comes again.
func Land(keys overlay.Keys, parts int, secret page.Secret, holder string, cargo []Cargo) []overlay.Post {
	var all posts
	for i := range cargo {
		c := &cargo[i]
		switch {
		case c.Tuple != nil:
			part := c.Tuple.To
			if part == flow.Everywhere {
				part = parts
			}
			all.to(part).ship(0, overlay.Ship{Input: c.Tuple.Input, Row: c.Tuple.Row})
		case c.Host.Name != "":
			to := all.to(keys.HostPart(c.Host.Name))
			to.hosts = append(to.hosts, c.Host)
		default:
			to := all.to(keys.Home(c.Row.URL))
			to.rows = append(to.rows, c.Row)
			if c.Outcome != page.None {
				to.ended = append(to.ended, overlay.Ended{
					Site: c.Row.URL.Site(), Hash: secret.Hash(c.Row.URL.Rest()), Outcome: c.Outcome, Status: uint16(c.Status),
					Depth: c.Row.Depth, Score: c.Row.Score,
				})
			}
		}
	}
	list := make([]overlay.Post, len(all.list))
	for i, p := range all.list {
		var records []overlay.Record
		if len(p.rows) > 0 {
			records = append(records, overlay.Tuples{Rows: p.rows})
		}
		if len(p.ended) > 0 {
			records = append(records, overlay.Done{Node: holder, Pages: p.ended})
		}
		if len(p.hosts) > 0 {
			records = append(records, overlay.Hosts{Hosts: p.hosts})
		}
		for _, s := range p.ships {
			records = append(records, s)
		}
		list[i] = overlay.Post{Part: p.part, Records: records}
	}
	return list
}

// moving are the kinds of rows that Move reads, in this order: pages that wait come
// after those that ended, so that nobody fetches what another node has.
const moving = string(keySite) + string(keyText) + string(keyQueue) + string(keyPark)

// Move calls fn for all that a crawl must know to go on in the place of this one,
// until it returns false: what is known of hosts, pages that have ended, pages that
// wait, each site's in their order, and those that were held back. The mark that fn
// is given stands for how far it has come; with one it goes on behind it, without
// one it begins.
//
// Nothing may be due: pages whose facts mean more by now would be left as they are.
// What only an earlier program has asked for is left out, and fetched again should
// anybody ask for it. Scores of pages that wait go along, and so does everything
// else but how often a page was tried, what brought it here, and how often the
// queries of a path were fetched.
func (v *View) Move(now time.Time, mark []byte, fn func(mark []byte, m *Cargo) bool) error {
	for _, kind := range []byte(moving) {
		from := []byte{kind}
		if len(mark) > 0 {
			if mark[0] != kind {
				continue
			}
			from, mark = append(mark[:len(mark):len(mark)], 0), nil
		}
		more := true
		var bad error
		err := v.kv.Scan(from, []byte{kind + 1}, func(key, value []byte) bool {
			var m *Cargo
			if m, bad = v.moved(now, key, value); m != nil && bad == nil {
				more = fn(key, m)
			}
			return more && bad == nil
		})
		if err == nil {
			err = bad
		}
		if err != nil {
			return fmt.Errorf("read a crawl to be moved: %w", err)
		}
		if !more {
			break
		}
	}
	return nil
}

// moved makes of a row what is to be moved; nil: nothing.
func (v *View) moved(now time.Time, key, value []byte) (*Cargo, error) {
	if key[0] == keySite {
		return v.movedHost(now, value)
	}
	var k page.Key
	var err error
	if key[0] == keyQueue {
		e, err := readEntry(key, value)
		if err != nil {
			return nil, err
		}
		k = page.Key{Site: page.SiteID(binary.BigEndian.Uint32(key[1:])), Hash: v.secret.Hash(e.Rest)}
	} else if k, err = readPageKey(key); err != nil {
		return nil, err
	}
	b, ok, err := v.kv.Get(pageKey(keyURL, k))
	var r urlRow
	if err == nil && !ok {
		err = errRow
	}
	if err == nil {
		err = r.read(b)
	}
	if err != nil || r.version != v.programs.Version || r.state == stateEnded && r.outcome == page.SteeredAway {
		return nil, err
	}
	m := &Cargo{Row: overlay.Row{Depth: r.depth, Hops: r.hops, Root: r.root, Seed: r.seed || r.free, Rule: uint8(r.rule), Score: r.score}}
	var rest string
	switch {
	case key[0] == keyText && r.state == stateEnded:
		var t textRow
		err = t.read(value)
		rest, m.Outcome, m.Status = t.rest, r.outcome, r.status
	case key[0] == keyQueue && r.state == stateQueued:
		e, bad := readEntry(key, value)
		if e.Place != r.place {
			return nil, errRow
		}
		rest, err = e.Rest, bad
		m.Row.Hops, m.Row.Score = e.Hops, e.Score
	case key[0] == keyPark && r.state == stateParked:
		_, e, bad := readPark(k.Hash, value)
		rest, err = e.Rest, bad
		m.Row.Hops, m.Row.Score = e.Hops, e.Score
	default:
		return nil, nil // what it was before
	}
	if err != nil {
		return nil, err
	}
	name, err := v.siteName(k.Site)
	m.Row.URL = page.Join(name, rest)
	return m, err
}

// movedHost is what is known of the host of a site, if anything is.
func (v *View) movedHost(now time.Time, value []byte) (*Cargo, error) {
	var s siteRow
	if err := s.read(value); err != nil {
		return nil, err
	}
	h := overlay.Host{Name: page.SiteHost(s.name), Delay: s.delay}
	b, ok, err := v.kv.Get(append([]byte{keyHost}, h.Name...))
	if ok && err == nil {
		st, until, bad := readHost(b)
		err = bad
		h.Failures, h.Last, h.Pace = uint16(min(st.Failures, 1<<16-1)), st.Last, st.Pace
		if left := time.Unix(0, until).Sub(now); until > 0 && left > 0 {
			h.Rest = min(left, page.MaxAsked)
		}
	}
	if err != nil || h == (overlay.Host{Name: h.Name}) {
		return nil, err
	}
	return &Cargo{Host: h}, nil
}

// Ship calls fn for the rows that the program keeps, for nodes that go on with the
// crawl; see flow.Part.
func (p *Program) Ship(parts int, fn func(flow.Tuple) bool) error { return p.part.Ship(parts, fn) }
