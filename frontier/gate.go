package frontier

import (
	"net/netip"

	"weir/page"
)

// Gate admits visits. It is asked about a host when all else is in order: its
// rest is over, it is its turn, its address is known and has room. Hosts are
// offered best first and without being taken out of their order: one that is
// refused keeps its turn, and is offered again when something has happened.
//
// A connection that is open needs no leave for its further pages.
type Gate interface {
	// Open says whether any visit may begin now, beside those that are being
	// made ready for one; or whether one of an urgent host may. While it says no,
	// no such host is looked at: nothing is resolved or loaded for a visit that
	// could not begin.
	Open(ahead int, urgent bool) bool
	// Fits says whether a visit to this host may begin. The address is zero
	// behind a proxy.
	Fits(host string, addr netip.Addr) bool
}

// Admit lets visits begin only when the gate does; nil lets all. Of the hosts
// whose turn it could be, the first depth are offered, those that are being made
// ready for a visit counted (max_d in Diligenti et al., section 2).
func (f *Frontier) Admit(g Gate, depth int) { f.gate, f.depth = g, max(depth, 1) }

// shut says that no host may be offered now.
func (f *Frontier) shut() bool {
	return f.gate != nil && (len(f.refused)+f.begun+f.ahead >= f.depth || !f.gate.Open(f.ahead, false))
}

// admit sees to it that the host has an address with room, and that the gate
// lets it pass; see reach for what it returns.
func (f *Frontier) admit(now page.Time, h *host, room Room) (p Pick, ok, sent bool) {
	p, ok, sent = f.reach(now, h, room)
	if sent || f.gate == nil || h.line.leased {
		return p, ok, sent
	}
	var addr netip.Addr
	if len(h.line.addrs) > 0 {
		addr = h.addr()
	}
	if f.gate.Fits(h.name, addr) {
		return Pick{}, false, false
	}
	h.state = refused
	f.refused = append(f.refused, h)
	return Pick{}, false, true
}

// readmit gives the hosts that were refused their place again.
func (f *Frontier) readmit() {
	f.begun = 0
	for i, h := range f.refused {
		f.line(h)
		f.refused[i] = nil
	}
	f.refused = f.refused[:0]
}
