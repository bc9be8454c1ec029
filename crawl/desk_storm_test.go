package crawl

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"weir/overlay"
	"weir/page"
)

// storm is a hall in which messages are lost and late, partitions change their owners,
// and nodes crash, are fenced and know of other owners only after a while. All hosts have
// one address. It checks what a server would notice while that lasts, and what a host
// would when it is over: that it is visited as often as its wait allows.
type storm struct {
	*hall
	rng      *rand.Rand
	spread   bool // all nodes have pages of all hosts; else the owner of a host's partition has
	keys     overlay.Keys
	session  map[string]uint64
	owners   []string            // by partition
	epochs   []int               // by partition: rises when it has another owner, or none
	views    map[string][]string // the same, as a node knows it
	deaf     map[string]bool     // fenced: it hears nothing of leases
	callers  []*guest
	hosts    []*spot
	due      []deed
	calm     page.Time // from when on everything is to be well
	vain     int       // leave that was waited for in vain since
	busy     int       // connections
	most     int
	wait     time.Duration
	takes    time.Duration // a visit
	slow     float64       // how often an answer takes half a minute
	restless bool          // messages are late, and so is what nodes know
}

// deed is what happens later.
type deed struct {
	at page.Time
	do func()
}

// guest is a node's part in a host.
type guest struct {
	name   string
	host   *spot
	active bool // it has pages
	asked  bool
	given  bool
	under  bool // a visit is
	begins page.Time
	rests  page.Time // the host, as far as the node knows, until then
	ends   page.Time
	again  page.Time
	wait   time.Duration // that it says
	visits int           // since calm
}

// spot is a host.
type spot struct {
	name   string
	part   int
	busy   bool
	last   page.Time // the end of its last visit
	visits int       // since calm
}

const stormParts = 4

// newStorm draws a storm whose server can have all the visits that its hosts' waits allow.
func newStorm(t *testing.T, rng *rand.Rand) *storm {
	s := &storm{
		hall: &hall{t: t, now: page.Time(time.Hour), delay: 10 * time.Millisecond, desks: map[string]*Desk{}, told: map[string][]string{}, wake: map[string]page.Time{}},
		rng:  rng, spread: rng.IntN(2) == 0, keys: overlay.NewKeys(overlay.Scheme{By: overlay.ByURL}, stormParts), session: map[string]uint64{}, views: map[string][]string{},
		deaf: map[string]bool{}, most: 1 + rng.IntN(3), calm: 1 << 62,
	}
	s.wait = []time.Duration{time.Second, 2 * time.Second, 6 * time.Second}[rng.IntN(3)]
	s.takes = []time.Duration{100 * time.Millisecond, time.Second, 2 * time.Second}[rng.IntN(3)]
	hosts := min(1+rng.IntN(12), max(int(0.8*float64(s.most)*float64(s.wait+s.takes)/float64(s.takes+100*time.Millisecond)), 1))
	nodes := 2 + rng.IntN(3)
	s.lost = func(from, to string, _ []byte) bool { return s.deaf[from] || s.deaf[to] }
	s.hear = s.tell
	for i := range nodes {
		name := string(rune('a' + i))
		s.names = append(s.names, name)
		s.views[name] = make([]string, stormParts)
		s.start(name)
	}
	for k := range hosts {
		h := &spot{name: fmt.Sprintf("%d.example.org", k)}
		h.part = s.keys.HostPart(h.name)
		s.hosts = append(s.hosts, h)
		for _, name := range s.names {
			s.callers = append(s.callers, &guest{name: name, host: h, wait: s.wait})
		}
	}
	s.owners, s.epochs = make([]string, stormParts), make([]int, stormParts)
	for part := range stormParts {
		s.own(part, s.names[rng.IntN(nodes)])
	}
	return s
}

// start has a node begin, or begin again after a crash.
func (s *storm) start(name string) {
	s.session[name]++
	s.desks[name] = NewDesk(DeskConfig{
		Name: name, Session: s.session[name], Keys: s.keys, Manners: overlay.LeaseConfig{Wait: s.wait, PerServer: s.most, PerCDN: s.most, Domains: 50},
		Owner: func(part int) string { return s.views[name][part] },
	})
	s.wake[name] = s.now
}

// later has something done after a while.
func (s *storm) later(most time.Duration, do func()) {
	s.due = append(s.due, deed{s.now.Add(time.Duration(s.rng.Int64N(int64(most) + 1))), do})
}

// lag is after how long others know of something at most.
func (s *storm) lag() time.Duration {
	if s.restless {
		return 4 * time.Second
	}
	return 0
}

// own gives a partition to a node. Everybody hears of it sooner or later.
func (s *storm) own(part int, to string) {
	if was := s.owners[part]; was != "" {
		s.desks[was].Stop(part)
	}
	s.owners[part] = to
	s.epochs[part]++
	since, epoch := s.now, s.epochs[part]
	for _, name := range s.names {
		s.later(s.lag(), func() {
			s.views[name][part] = s.owners[part]
			if name == to && s.epochs[part] == epoch {
				s.desks[to].Start(since, part)
			}
			s.later(s.lag(), func() { s.engage(name) }) // its crawl hears of it last
		})
	}
}

// engage tells a node's crawl which hosts are its own.
func (s *storm) engage(name string) {
	for _, c := range s.callers {
		if c.name == name {
			c.active = s.spread || s.views[name][c.host.part] == name && !s.deaf[name]
		}
	}
}

// fence ends all that a node does, and lets others have its partitions; crash does, too,
// and leaves nothing in its memory.
func (s *storm) fence(name string, crash bool) {
	for _, c := range s.callers {
		if c.name != name {
			continue
		}
		if c.under {
			s.over(c, false)
		}
		if crash {
			*c = guest{name: c.name, host: c.host, active: c.active, wait: s.wait}
		} else if c.given {
			s.back(c, true)
		}
	}
	s.deaf[name] = true
	for part := range stormParts {
		s.desks[name].Stop(part)
	}
	if crash {
		s.start(name)
	}
	others := []string{}
	for _, other := range s.names {
		if !s.deaf[other] {
			others = append(others, other)
		}
	}
	for part, owner := range s.owners {
		if owner == name {
			s.owners[part] = ""
			s.epochs[part]++
			if len(others) > 0 {
				s.own(part, others[s.rng.IntN(len(others))])
			}
		}
	}
	s.engage(name)
	s.later(10*time.Second, func() {
		s.deaf[name] = false
		for part, owner := range s.owners {
			if owner == "" {
				s.own(part, name)
			}
		}
		s.engage(name)
	})
}

// tell is what a node's crawl does when its desk tells it something.
func (s *storm) tell(name string, ev Leased) {
	for _, c := range s.callers {
		switch {
		case c.name != name || c.host.name != ev.Host || ev.Waits || ev.Others: // one page a visit: it is given back soon
		case ev.Given && c.asked && !c.given:
			c.given, c.begins = true, max(s.now.Add(ev.In), c.rests)
		case ev.Given:
		default:
			if s.now >= s.calm && ev.In == leaseAgain {
				s.vain++
			}
			c.asked, c.again = false, s.now.Add(ev.In)
		}
	}
}

// back gives leave back.
func (s *storm) back(c *guest, used bool) {
	rest := time.Duration(0)
	if used {
		rest, c.rests = c.wait, s.now.Add(c.wait)
	}
	s.desks[c.name].Give(s.now, Return{Host: c.host.name, Used: used, Rest: rest})
	s.wake[c.name] = s.now
	early := time.Duration(0) // leave may be asked for before the host has rested
	if s.rng.IntN(2) == 0 {
		early = time.Duration(s.rng.Int64N(int64(time.Second)))
	}
	c.asked, c.given, c.again = false, false, s.now.Add(max(rest-early, 10*time.Millisecond))
}

// over ends a visit.
func (s *storm) over(c *guest, whole bool) {
	s.desks[c.name].Over(c.host.name, deskAddr)
	c.under, c.host.busy = false, false
	s.busy--
	c.host.last = s.now
	if c.wait = s.wait; s.rng.Float64() < s.slow {
		c.wait = 30 * time.Second
	}
	if whole && s.now >= s.calm {
		c.host.visits++
		c.visits++
	}
}

// act is what a node's crawl does by itself.
func (s *storm) act(c *guest) {
	d := s.desks[c.name]
	if c.under && d.Until(c.host.name, deskAddr) == 0 {
		s.t.Fatalf("%s has given back leave for %s under which it visits it", c.name, c.host.name)
	}
	switch {
	case c.under && (c.ends <= s.now || d.Until(c.host.name, deskAddr) <= s.now):
		s.over(c, c.ends <= s.now)
		s.back(c, true)
	case c.under:
	case c.given && !c.active:
		s.back(c, false)
	case c.given && c.begins <= s.now:
		if s.deaf[c.name] || !d.May(s.now, c.host.name, deskAddr) {
			if s.now >= s.calm {
				s.vain++
			}
			s.back(c, false)
			return
		}
		s.begin(c)
	case !c.asked && c.active && !s.deaf[c.name] && c.again <= s.now:
		c.asked = true
		d.Want(s.now, Lease{Host: c.host.name, Addr: deskAddr, Wait: c.wait})
		s.wake[c.name] = s.now
	}
}

// begin begins a visit.
func (s *storm) begin(c *guest) {
	h := c.host
	if h.busy {
		s.t.Fatalf("%s asks %s while another does", c.name, h.name)
	}
	if rest := s.now.Sub(h.last); h.last != 0 && rest < s.wait {
		s.t.Fatalf("%s asks %s after %v", c.name, h.name, rest)
	}
	if s.busy++; s.busy > s.most {
		s.t.Fatalf("%d connections to an address", s.busy)
	}
	h.busy, c.under, c.ends = true, true, s.now.Add(s.takes)
	s.wake[c.name] = s.now // something may be due
}

// pass lets time pass.
func (s *storm) pass(d time.Duration) {
	for end := s.now.Add(d); s.now < end; {
		if s.restless {
			s.delay = time.Duration(s.rng.Int64N(int64(6 * time.Second)))
			if s.rng.IntN(3) > 0 {
				s.delay = 10 * time.Millisecond
			}
		}
		s.run(20 * time.Millisecond)
		for i := 0; i < len(s.due); {
			if x := s.due[i]; x.at <= s.now {
				s.due = append(s.due[:i], s.due[i+1:]...)
				x.do()
				i = 0
			} else {
				i++
			}
		}
		for _, c := range s.callers {
			s.act(c)
		}
	}
}

// trouble lets so many things go wrong, and mends them.
func (s *storm) trouble(n int) {
	s.restless, s.slow = true, 0.1
	loss := []float64{0, 0.1, 0.4}[s.rng.IntN(3)]
	s.lost = func(from, to string, _ []byte) bool { return s.deaf[from] || s.deaf[to] || s.rng.Float64() < loss }
	for range n {
		s.pass(time.Duration(s.rng.Int64N(int64(6 * time.Second))))
		name := s.names[s.rng.IntN(len(s.names))]
		if s.deaf[name] {
			continue
		}
		switch s.rng.IntN(3) {
		case 0:
			s.own(s.rng.IntN(stormParts), name)
		case 1:
			s.fence(name, false)
		case 2:
			s.fence(name, true)
		}
	}
	s.restless, s.slow, s.delay = false, 0, 10*time.Millisecond
	s.lost = func(from, to string, _ []byte) bool { return s.deaf[from] || s.deaf[to] }
	s.pass(15 * time.Second) // until all have heard of all
}

var storms = flag.Int("storms", 100, "storms that TestDeskAfterAStorm lets pass")

// When all faults are over, hosts are visited as often as ever: nobody waits for somebody
// who has gone, nor for what nobody has, nor goes on waiting for as long as one answer took
// in the storm. Of nodes that all have pages of a host, each has its turns.
func TestDeskAfterAStorm(t *testing.T) {
	const (
		clears = 5 * time.Minute // each node may have had a slow answer, and has to find out one after the other that it was the only one
		lasts  = 5 * time.Minute
	)
	for seed := range uint64(*storms) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s := newStorm(t, rng)
		s.pass(time.Second)
		s.trouble(30)
		s.pass(clears)
		s.calm = s.now
		s.pass(lasts)
		what := fmt.Sprintf("storm %d: %d nodes, %d hosts, %d connections, spread %v, waits of %v, visits of %v", seed, len(s.names), len(s.hosts), s.most, s.spread, s.wait, s.takes)
		if s.vain > 0 {
			t.Errorf("%s: leave was waited for in vain %d times", what, s.vain)
		}
		best := int(lasts / (s.wait + s.takes))
		for _, h := range s.hosts {
			if h.visits < best*85/100 {
				t.Errorf("%s: %d visits to %s in %v, want nearly %d", what, h.visits, h.name, lasts, best)
			}
		}
		for _, c := range s.callers {
			if c.active && s.spread && c.visits < best/len(s.names)/3 {
				t.Errorf("%s: %d visits of %s to %s, want about %d", what, c.visits, c.name, c.host.name, best/len(s.names))
			}
		}
	}
}
