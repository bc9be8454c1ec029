package crawl

import (
	"net/netip"
	"slices"
	"time"

	"weir/frontier"
	"weir/overlay"
	"weir/page"
)

// Adopted says that the pages of a partition are this node's to crawl.
type Adopted struct {
	Part  uint16
	Ago   time.Duration    `json:",omitempty"` // how long nobody else has visited its hosts
	Hosts []Care           `json:",omitempty"`
	Sites []frontier.Known `json:",omitempty"`
}

// Disowned says that those of these partitions, in order, are not any more. What
// is under way may finish; Released answers for each, unless it is a Fence: then
// nothing does, nor what was disowned before.
type Disowned struct {
	Parts []uint16
	Fence bool `json:",omitempty"`
}

// Overdue says, once, that the time has come when a shared crawl ends. Requests that were
// ordered finish, and none is ordered from then on; but pages that are stored are still
// read again for programs that ask for them, as after a Hold with Enough.
type Overdue struct{}

// Released says that nothing of a partition is under way any more.
type Released struct{ Part uint16 }

// Census asks how much there is to do; Counted answers, with the same numbers.
type Census struct {
	Applied uint64
	Fetched int64  `json:",omitempty"` // pages of partitions that are adopted, see Ledger.Census
	Bytes   int64  `json:",omitempty"` // of their bodies, where these are counted
	Print   uint64 `json:",omitempty"` // which these are
}

// Counted is how much there was to do when the Census came.
type Counted struct {
	Queued int64 // pages that wait, but for those whose robots.txt could not be had
	Enough bool  `json:",omitempty"` // nobody fetches these, by the last Hold
	Flying int64 // whatever else is not over
	Ready  int   // hosts that could be visited, and wait
	Spare  int   // of these hosts, those that could be left to another node; no more than maxSpare are counted
	Free   int   // connections that no host waits for, while pages may be begun

	// Bytes a second: what could be used, what of it is promised to sites with
	// deadlines, and what could be promised besides.
	Wanted, Owed, Asked float64

	// Pages, also those that other nodes have fetched as well, and the bytes of their
	// bodies, of those that are there.
	Pages, Bytes overlay.Sum

	Print   uint64
	Applied uint64
}

// Lease asks for leave to visit a host at an address; Leased answers. Return gives
// it back, after a visit or unused: the host rests for so long from now on.
type (
	Lease struct {
		Host string
		Addr netip.Addr    // zero behind a proxy
		Wait time.Duration // between two visits
		CDN  bool          `json:",omitempty"` // many domains are at the address
	}
	Return struct {
		Host string
		Used bool
		Rest time.Duration
	}
)

// Leased answers a Lease: the host may be visited after a while; or, if leave was
// not given, it may be asked for again then. Leave that is not used yet can be
// taken back so too.
type Leased struct {
	Host  string
	Given bool
	In    time.Duration

	// Others wait for leave that was given: it is to be given back when the request
	// that is under way is over.
	Others bool `json:",omitempty"`

	Waits bool `json:",omitempty"` // this is no answer yet: others have leave, and it stands in line

	CDN bool `json:",omitempty"` // its address serves many domains, other nodes say
}

// Relief says that another node has connections free for so many hosts that wait for
// one here: they go to a partition of its.
type Relief struct {
	Part  uint16
	Hosts int
}

// maxSpare is how many hosts that could be left to others are told of.
const maxSpare = 64

// relieve leaves hosts to another node.
func (e *Engine) relieve(ev Relief) {
	if !e.estates.own[ev.Part] && e.stop == StopByNobody && !e.estates.hold.On && !e.estates.hold.Enough && !e.estates.late {
		keys := overlay.NewKeys(overlay.Scheme{}, e.cfg.Homes)
		e.f.Give(ev.Part, e.gift(ev.Hosts, func(host string, part uint16) bool { return keys.Onward(host, int(part), int(ev.Part)) }))
	}
}

// gift is what may be left to others, if a host may go. One that was promised to be done
// in time stays.
func (e *Engine) gift(hosts int, may func(host string, part uint16) bool) frontier.Gift {
	return frontier.Gift{Hosts: hosts, Pages: e.cfg.Leave, May: func(host string, part uint16) bool {
		return e.cfg.Homes > 0 && e.promised(host) == nil && may(host, part)
	}}
}

// Hold lets nothing new be ordered while it is on: what was found before, or by others,
// has to be told first. Of Enough nothing more is fetched either; but pages that
// are stored are still read again for programs that ask for them.
type Hold struct {
	On     bool
	Enough bool `json:",omitempty"`
}

// Allow says up to how many pages may be begun in all, see Counted, and up to how many
// bytes another one may; before it, none may where they are rationed.
type Allow struct {
	Pages int64
	Bytes int64 `json:",omitempty"`
}

func (Allow) event() string    { return "allow" }
func (Adopted) event() string  { return "adopted" }
func (Disowned) event() string { return "disowned" }
func (Hold) event() string     { return "hold" }
func (Census) event() string   { return "census" }
func (Relief) event() string   { return "relief" }
func (Leased) event() string   { return "leased" }
func (Lease) order() string    { return "lease" }
func (Return) order() string   { return "return" }
func (Overdue) order() string  { return "overdue" }
func (Released) order() string { return "released" }
func (Counted) order() string  { return "counted" }

// estates are the partitions of an Engine that come and go.
type estates struct {
	own     map[uint16]bool
	leaving []uint16
	coming  []arrival
	hold    Hold
	allowed Allow // if pages are rationed
	late    bool  // EngineConfig.Ends is over
}

// arrival is a partition that was adopted while pages of it from before were still
// under way, with what has become durable since.
type arrival struct {
	Adopted
	late Committed
}

// later keeps what a group has brought for partitions that are about to come.
func (e *Engine) later(ev *Committed, foreign map[page.SiteID]uint16) {
	for i := range e.estates.coming {
		a := &e.estates.coming[i]
		for _, s := range ev.Sites {
			if s.Part == a.Part {
				a.late.Sites = append(a.late.Sites, s)
			}
		}
		for _, q := range ev.Queued {
			if part, ok := foreign[q.Site]; ok && part == a.Part {
				a.late.Queued = append(a.late.Queued, q)
			}
		}
		for _, m := range ev.Moved {
			if part, ok := foreign[m.Site]; ok && part == a.Part {
				a.late.Moved = append(a.late.Moved, m)
			}
		}
	}
}

// census answers a Census.
func (e *Engine) census(now page.Time, ev Census) {
	n := e.f.Count()
	pages, bytes := e.flights.under()
	c := Counted{Applied: ev.Applied, Print: ev.Print, Enough: e.estates.hold.Enough, Queued: n.Waiting, Flying: int64(e.flights.n + e.loads + len(e.estates.leaving) + len(e.estates.coming)), Ready: n.Ready}
	c.Pages = overlay.Sum{Fetched: ev.Fetched, Begun: e.pages + int64(e.asking), Under: pages, Allowed: e.estates.allowed.Pages}
	c.Bytes = overlay.Sum{Fetched: ev.Bytes, Begun: e.bytes, Under: bytes, Allowed: e.estates.allowed.Bytes}
	idle := max(n.Idle-n.Lent, 0)
	c.Spare = e.f.Spare(e.gift(maxSpare, func(string, uint16) bool { return true }))
	if c.Ready == 0 && e.stop == StopByNobody && e.room() > 0 {
		c.Free = idle
	}
	if e.again || e.totals.Due > 0 || e.totals.Stale || e.totals.Steered {
		c.Flying++
	}
	c.Owed, c.Asked = e.owed(now)
	c.Wanted = c.Owed + c.Asked
	if e.valve != nil {
		c.Wanted = max(c.Wanted, e.valve.wanted(now))
	}
	e.out = append(e.out, c)
}

// owns says whether the Engine has adopted the partition of a site.
func (e *Engine) owns(s frontier.Known) bool {
	return !e.cfg.Shared || e.estates.own[s.Part]
}

func (e *Engine) disowned(now page.Time, ev Disowned) {
	e.f.Drop(ev.Parts)
	e.leave(now, ev.Parts)
	e.estates.coming = slices.DeleteFunc(e.estates.coming, func(a arrival) bool {
		_, gone := slices.BinarySearch(ev.Parts, a.Part)
		return gone
	})
	for _, p := range ev.Parts {
		delete(e.estates.own, p)
		if !ev.Fence && !slices.Contains(e.estates.leaving, p) {
			e.estates.leaving = append(e.estates.leaving, p)
		}
	}
	if ev.Fence {
		e.estates.leaving = slices.DeleteFunc(e.estates.leaving, func(p uint16) bool {
			_, gone := slices.BinarySearch(ev.Parts, p)
			return gone
		})
	}
	e.handOver(now)
}

func (e *Engine) adopted(now page.Time, ev Adopted) {
	changes := map[page.SiteID]int64{} // that the Ledger has not heard of
	for _, fl := range e.flights.slots {
		switch {
		case fl.id>>slotBits == 0 || e.f.Part(fl.key.Site) != ev.Part:
		case !fl.saved:
			changes[fl.key.Site] += int64(fl.change)
		case !fl.done:
			fl.vain, fl.change = true, 0 // it is among those that the Ledger counts, whatever its answer is
		}
	}
	for _, s := range ev.Sites {
		e.f.Recount(s.ID, s.Used+changes[s.ID])
	}
	e.estates.coming = append(e.estates.coming, arrival{Adopted: ev})
	e.handOver(now)
}

// land ends an order that is answered and durable. What it has come to is added to the
// pages of its site in a partition that is about to come: the Frontier may have forgotten
// the site by then.
func (e *Engine) land(fl *flight) {
	defer e.flights.land(fl)
	if fl.change == 0 {
		return
	}
	for _, a := range e.estates.coming {
		if i := slices.IndexFunc(a.Sites, func(s frontier.Known) bool { return s.ID == fl.key.Site }); i >= 0 {
			a.Sites[i].Used += int64(fl.change)
		}
	}
}

// handOver releases partitions that nothing is under way of, and begins with
// those that were adopted while the last of their pages from before was still
// being asked for.
func (e *Engine) handOver(now page.Time) {
	if len(e.estates.leaving) == 0 && len(e.estates.coming) == 0 {
		return
	}
	flying := map[uint16]bool{}
	for _, fl := range e.flights.slots {
		if fl.id>>slotBits != 0 {
			flying[e.f.Part(fl.key.Site)] = true
		}
	}
	e.estates.leaving = slices.DeleteFunc(e.estates.leaving, func(p uint16) bool {
		if !flying[p] {
			e.out = append(e.out, Released{Part: p})
		}
		return !flying[p]
	})
	e.estates.coming = slices.DeleteFunc(e.estates.coming, func(a arrival) bool {
		if flying[a.Part] {
			return false
		}
		e.estates.own[a.Part] = true
		for _, h := range a.Hosts {
			e.f.Recall(now, h.Host, h.State, h.Delay)
		}
		for _, s := range a.Sites {
			s.Ago = a.Ago
			e.f.Add(now, s)
		}
		for _, s := range a.late.Sites {
			e.f.Add(now, s)
		}
		for _, m := range a.late.Moved {
			e.f.Move(now, m.Site, m.Old, float64(m.Entry.Score)-float64(m.Was), m.Entry)
		}
		for _, q := range a.late.Queued {
			e.f.Push(now, q.Site, q.Entry)
		}
		e.acquaint(a.Sites)
		e.acquaint(a.late.Sites)
		return true
	})
}
