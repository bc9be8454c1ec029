package overlay

import (
	"encoding/binary"
	"time"

	"weir/page"
)

// Moved returns the partition whose owner fetches a page that was handed on so many
// times (Row.Moves): one of the Fan partitions behind its home.
func (k Keys) Moved(u page.URL, moves int) int {
	home := k.Home(u)
	if moves == 0 || k.parts == 1 {
		return home
	}
	fan := k.parts - 1
	if k.scheme.Fan > 0 {
		fan = min(k.scheme.Fan, fan)
	}
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], page.Sum(u.String()))
	binary.LittleEndian.PutUint64(key[8:], uint64(moves))
	return (home + 1 + page.Place(page.Sum(key[:]), fan)) % k.parts
}

// Onto returns the partition that a page goes to which was handed on so many times, and is
// to be once more. It is not ok if the page was there before: there it would be taken for
// known.
func (k Keys) Onto(u page.URL, moves int) (part int, ok bool) {
	part = k.Moved(u, moves+1)
	for i := range moves + 1 {
		if part == k.Moved(u, i) {
			return part, false
		}
	}
	return part, true
}

// HandOn says whether an owner with so many pages waiting, so far from a page's host,
// hands the page on. rtt is 0 when it is not known. Under adaptive it is for the page's
// home to decide, by the round trip.
func (s Scheme) HandOn(waiting int, rtt time.Duration, moves int) bool {
	switch {
	case s.Second == Adapt:
		return moves == 0 && s.Far > 0 && rtt > s.Far
	case moves >= s.Max:
		return false
	case s.Second == ByLoad:
		return waiting > s.Over
	case s.Second == ByRTT:
		return rtt > s.Far
	}
	return false
}

// Near is among how many partitions, from a host's own on, the nearest to it fetches
// its pages.
const Near = 3

// Nearest returns which of the first partitions from a host's own on should fetch its
// pages, by the round trips that their owners have measured. Those that have measured
// nothing, 0, are tried first, so that each is measured once.
func (k Keys) Nearest(host string, rtt [Near]time.Duration) int {
	best := 0
	for i := 1; i < min(Near, k.parts); i++ {
		if rtt[i] < rtt[best] {
			best = i
		}
	}
	return (k.HostPart(host) + best) % k.parts
}

// Spread returns the partition whose owner fetches a page while its host is spread
// over n partitions (adaptive); n is a power of two. When n doubles or halves, half of
// the pages stay where they are.
func (k Keys) Spread(u page.URL, n int) int {
	i := int(page.Sum(u.String()) & uint64(n-1))
	return (k.HostPart(u.Host()) + i) % k.parts
}

// Onward says whether a host's pages may go from one partition to another: from its home
// on to later ones only, as they follow one another in a circle, so that no page comes
// back to where it was. There it would be taken for known.
func (k Keys) Onward(host string, from, to int) bool {
	home := k.HostPart(host)
	return (from-home+k.parts)%k.parts < (to-home+k.parts)%k.parts
}

// Spread tells over how many partitions hosts are spread. It is kept in the log of
// the hosts' partition, whose owner decides it.
type Spread struct{ Hosts []Wide }

func (Spread) kind() byte { return 'P' }

// Wide is a host that is spread, or is no more (1).
type Wide struct {
	Host    string
	N       uint16 // a power of two
	Version uint64 // of what is known of a host, the highest holds
}

// Spreads is over how many partitions hosts are spread. Not safe for concurrent use.
type Spreads struct {
	scheme Scheme
	hosts  shelf[string, Wide]
}

// NewSpreads returns a table in which no host is spread.
func NewSpreads(s Scheme) *Spreads { return &Spreads{scheme: s} }

// Of returns over how many partitions a host is spread.
func (s *Spreads) Of(host string) int {
	if w, ok := s.hosts.find(host); ok {
		return int(w.N)
	}
	return 1
}

// Apply takes what was read from a log. What is older than what is known, or says
// something that cannot be, changes nothing.
func (s *Spreads) Apply(w Wide) bool {
	if w.N == 0 || w.N&(w.N-1) != 0 || w.N > Parts {
		return false
	}
	if old, ok := s.hosts.find(w.Host); ok && (w.Version < old.Version || w.Version == old.Version && w.N <= old.N) {
		return false
	}
	*s.hosts.get(w.Host) = w
	return true
}

// Adjust says over how many partitions a host should be spread of which so many pages
// wait, if that is not what it is. A host is spread further when more than Over wait
// for each of its partitions, and gathered when less than a quarter of it does. The
// change holds at once, and is to be written to the log.
func (s *Spreads) Adjust(host string, waiting int) (Wide, bool) {
	limit := s.scheme.Fan
	if limit == 0 {
		limit = Parts
	}
	old, ok := s.hosts.find(host)
	n, version := 1, uint64(0)
	if ok {
		n, version = int(old.N), old.Version
	}
	switch each := waiting / n; {
	case each > s.scheme.Over && 2*n <= limit:
		n *= 2
	case each < s.scheme.Over/4 && n > 1:
		n /= 2
	default:
		return Wide{}, false
	}
	w := Wide{host, uint16(n), version + 1}
	*s.hosts.get(host) = w
	return w, true
}

// List returns what is known of all hosts, in the order in which it became known.
func (s *Spreads) List() []Wide {
	list := make([]Wide, 0, len(s.hosts.keys))
	for _, host := range s.hosts.keys {
		list = append(list, *s.hosts.items[host])
	}
	return list
}
