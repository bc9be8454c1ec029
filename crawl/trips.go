package crawl

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"weir/overlay"
	"weir/page"
)

// trips is how far hosts are: from this node, which is what counts for those at home
// here, and from the owners of the partitions behind their home, as these have told.
// Both are forgotten when they are too much. What this node has measured it measures
// again; what others have told is in the store.
type trips struct {
	own  map[string]*measure
	told map[string][overlay.Near]time.Duration // by host; home's is left out
}

// measure is how far a host is from this node.
type measure struct {
	rtt    time.Duration
	said   time.Duration        // as the owner of the host's home was told
	epochs [overlay.Near]uint64 // of the partitions that it was told for
}

const tripsKept = 1 << 16

// unreachable is how far a host is for a node that cannot ask it: farther than any. Else
// it would seem that the node was never tried.
const unreachable = time.Minute

// Trip says how long a message took to a host and back. Who owns the host's partition
// is told if that is news, and this node is among those that it might choose.
func (l *Ledger) Trip(host string, rtt time.Duration) error {
	if l.share == nil || l.share.Keys.Scheme().Far == 0 || rtt <= 0 {
		return nil
	}
	m := l.share.trips.measured(host)
	m.rtt = rtt
	news := rtt > m.said*3/2 || rtt < m.said/2
	home, near := l.share.Keys.HostPart(host), uint8(0)
	var epochs [overlay.Near]uint64
	for i := range min(overlay.Near, l.share.Parts) { // home too: nodes of an older weir go by it
		if part := (home + i) % l.share.Parts; l.share.stakes.mine(part) {
			near |= 1 << i
			epochs[i] = l.share.stakes.of(part).epoch
			news = news || epochs[i] != m.epochs[i] // another owner may have told since
		}
	}
	if near == 0 || !news {
		return nil
	}
	m.said, m.epochs = rtt, epochs
	t := overlay.Trip{Host: strings.Clone(host), Near: near, RTT: rtt}
	to := l.share.posts.to(home)
	to.trips = append(to.trips, t)
	return l.applyTrip(t)
}

// measured returns where a host's measure is kept.
func (x *trips) measured(host string) *measure {
	m := x.own[host]
	if m == nil {
		if x.own == nil || len(x.own) >= tripsKept {
			x.own = map[string]*measure{}
		}
		m = &measure{}
		x.own[strings.Clone(host)] = m
	}
	return m
}

// unreached takes how a page ended: the host may be one that this node cannot ask.
func (l *Ledger) unreached(host string, o page.Outcome) error {
	if o.HostFault() || o == page.DeadHost {
		return l.Trip(host, unreachable)
	}
	return nil
}

// here returns how far a host is from this node; 0 if that is not known. A host that
// cannot be reached is not known to be far: at home it is tried, as others could not
// reach it either.
func (x *trips) here(host string) time.Duration {
	if m := x.own[host]; m != nil && m.rtt < unreachable {
		return m.rtt
	}
	return 0
}

// nearest returns which of a host's first partitions should fetch its pages, for its
// home, which is this node's.
func (l *Ledger) nearest(host string) (part int, err error) {
	near, err := l.toldOf(host)
	if err != nil {
		return 0, err
	}
	home := l.share.Keys.HostPart(host)
	for i := range near {
		if l.share.stakes.mine((home + i) % l.share.Parts) {
			near[i] = l.share.trips.here(host)
		}
	}
	return l.share.Keys.Nearest(host, near), nil
}

// applyTrips takes what a node has measured.
func (l *Ledger) applyTrips(r overlay.Trips) error {
	if l.share.Keys.Scheme().Far == 0 {
		return nil
	}
	for _, t := range r.Hosts {
		if err := l.applyTrip(t); err != nil {
			return err
		}
	}
	return nil
}

// applyTrip takes it for one host, and keeps it: the log is not read again.
func (l *Ledger) applyTrip(t overlay.Trip) error {
	was, err := l.toldOf(t.Host)
	if err != nil {
		return err
	}
	near := was
	for i := 1; i < len(near); i++ {
		if t.Near&(1<<i) != 0 {
			near[i] = t.RTT
		}
	}
	if near == was {
		return nil
	}
	l.share.trips.told[t.Host] = near
	var value []byte
	for _, rtt := range near {
		value = binary.AppendUvarint(value, uint64(rtt))
	}
	l.extra = append(l.extra, Pair{Key: tripKey(t.Host), Value: value})
	return nil
}

func tripKey(host string) []byte { return append([]byte{keyShare, shareTrip}, host...) }

// toldOf returns how far others are from a host, as they have told.
func (l *Ledger) toldOf(host string) (near [overlay.Near]time.Duration, err error) {
	x := &l.share.trips
	if near, ok := x.told[host]; ok {
		return near, nil
	}
	value, ok, err := l.kv.Get(tripKey(host))
	if ok && err == nil {
		d := decoder{b: value}
		for i := range near {
			near[i] = time.Duration(d.uvarint())
		}
		near[0] = 0 // an older weir kept it, and it may be another node's
		err = d.err
	}
	if err != nil {
		return near, fmt.Errorf("read how far %s is: %w", host, err)
	}
	if x.told == nil {
		x.told = map[string][overlay.Near]time.Duration{}
	}
	x.told[strings.Clone(host)] = near
	return near, nil
}

// trim forgets what others have told if it is too much, between two groups: then it is
// all in the store.
func (x *trips) trim() {
	if len(x.told) > tripsKept {
		x.told = nil
	}
}
