package frontier

import (
	"slices"
	"time"

	"weir/page"
)

// Hosts can be urgent: somebody was promised their pages by a certain time, and
// they are behind. Urgent hosts go before all others, in the order that is told,
// and a part of the connections is kept for them. They rest between two visits as
// all hosts do: nothing here makes a wait shorter.

// maxUrge is how many urgent hosts are told apart. Those beyond it are equals.
const maxUrge = 255

// Urge says which hosts are urgent now, each once, the most urgent first. Those
// that were and are not named are not any more.
func (f *Frontier) Urge(hosts []string) {
	for _, name := range f.urged {
		f.hurry(name, 0)
	}
	f.urged = append(f.urged[:0], hosts...)
	for i, name := range f.urged {
		f.hurry(name, urgeAt(i))
	}
}

func (f *Frontier) hurry(name string, urge uint8) {
	h := f.hosts[name]
	if h == nil || h.urge == urge {
		return
	}
	if h.connected() {
		f.hurried += int(min(urge, 1)) - int(min(h.urge, 1))
	}
	h.urge = urge
	f.refile(h)
}

// urgency is what a host of this name has.
func (f *Frontier) urgency(name string) uint8 {
	if i := slices.Index(f.urged, name); i >= 0 {
		return urgeAt(i)
	}
	return 0
}

func urgeAt(i int) uint8 { return uint8(max(maxUrge-i, 1)) }

// connected says that the host has one of the connections.
func (h *host) connected() bool { return h.line.conn != nil || h.line.errand }

// soon is how long before the end of its rest a connection is kept for an urgent
// host.
const soon = 15 * time.Second

// expect counts the urgent hosts that could use a connection now, or soon.
func (f *Frontier) expect(now page.Time) {
	f.soon = 0
	for _, name := range f.urged[:min(len(f.urged), maxUrge)] {
		if h := f.hosts[name]; h != nil && !h.connected() && h.state != crowded && h.next.Sub(now) <= soon {
			f.soon++
		}
	}
}

// kept is how many connections nobody but urgent hosts may use: as many as there
// are of those that will want one soon, but no more than half of all for the
// urgent together.
func (f *Frontier) kept() int { return max(min(f.soon, f.cfg.Conns/2-f.hurried), 0) }

// opens says whether a visit may begin now that is urgent, and one that is not.
func (f *Frontier) opens() (urgent, other bool) {
	if f.active+f.lent >= f.cfg.Conns {
		return false, false
	}
	other = f.active+f.lent+f.kept() < f.cfg.Conns && !f.shut()
	urgent = len(f.urged) > 0 && (f.gate == nil || f.gate.Open(f.ahead, true))
	return urgent, other
}

// Backlog is what is known of a site's pages.
type Backlog struct {
	Queued int64 // entries that may be taken
	Taken  int64 // handed out, and not durable yet
	Used   int64 // fetched, or being fetched
	Asleep bool  // it is left alone in this run: its robots.txt could not be had
}

// Pages returns how many have not ended.
func (b Backlog) Pages() int64 { return b.Queued + b.Taken }

// Backlog returns that of a site. One that is not in memory has none.
func (f *Frontier) Backlog(id page.SiteID) Backlog {
	s := f.sites.find(id)
	if s == nil {
		return Backlog{}
	}
	return Backlog{Queued: s.queued, Taken: int64(s.taken), Used: s.used, Asleep: s.asleep()}
}

// Sites names all sites that are in memory, in the order of their numbers.
func (f *Frontier) Sites(tell func(id page.SiteID, name string)) {
	for s := range f.sites.all() {
		tell(s.id, s.name)
	}
}

// Pause returns for how long nothing may be sent to a host that was visited for a
// site.
func (f *Frontier) Pause(now page.Time, name string, id page.SiteID) time.Duration {
	return max(f.visited(name, id).next.Sub(now), 0)
}
