package overlay

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

// stage is a few nodes that all want the same hosts, on clocks of their own, and a
// network between them that loses and delays what it likes. It checks what the
// hosts would notice.
type stage struct {
	t      tester
	rng    *rand.Rand
	keys   Keys
	now    time.Duration // by no one's clock
	nodes  []*actor
	owner  []int // by partition: the node that grants, -1: nobody
	mail   []post
	seq    int
	loss   float64
	cut    string        // the node that reaches no other, nor is reached
	delay  time.Duration // at most
	hosts  []*target
	server map[netip.Addr]int // connections
	least  time.Duration      // that a host must rest
}

const (
	stageWait = 700 * time.Millisecond
	perServer = 2
)

type target struct {
	name   string
	addr   netip.Addr
	asking int // the node whose request is under way; -1
	ended  time.Duration
	asked  bool
	count  []int // requests, by node
}

type actor struct {
	name    string
	offset  time.Duration
	rate    float64 // of its clock
	session uint64
	granter *Granter
	holder  *Holder
	visits  []visit // by host
}

type visit struct {
	under bool
	ends  time.Duration // when the answer does
	used  bool
	last  page.Time // when the last one ended
	any   bool

	sought bool          // by others
	idle   time.Duration // nothing is wanted before
}

type post struct {
	at   time.Duration
	seq  int
	to   int
	from string
	body []byte
}

func (a *actor) clock(now time.Duration) page.Time {
	return page.Time(a.offset + time.Duration(float64(now)*a.rate))
}

func newStage(t tester, rng *rand.Rand, nodes, hosts int) *stage {
	s := &stage{t: t, rng: rng, keys: NewKeys(Scheme{By: ByURL}, 4), server: map[netip.Addr]int{}, delay: 300 * time.Millisecond}
	s.least = stageWait - time.Microsecond // what is lost when clocks are turned into one another
	for i := range nodes {
		a := &actor{name: string(rune('a' + i)), rate: 1, offset: time.Duration(rng.Int64N(int64(time.Hour)))}
		s.nodes = append(s.nodes, a)
		a.visits = make([]visit, hosts)
		s.restart(i)
	}
	for i := range hosts {
		s.hosts = append(s.hosts, &target{name: fmt.Sprintf("h%d.example", i), addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i / 4)}), asking: -1, count: make([]int, nodes)})
	}
	for p := range s.keys.parts {
		s.owner = append(s.owner, p%nodes)
		s.nodes[p%nodes].granter.Start(s.nodes[p%nodes].clock(0), p)
	}
	return s
}

// restart is what a crash leaves: nothing. Connections are gone.
func (s *stage) restart(i int) {
	a := s.nodes[i]
	a.session++
	a.granter = NewGranter(s.keys, LeaseConfig{Wait: stageWait, PerServer: perServer})
	a.holder = NewHolder(s.keys, a.session)
	for h := range a.visits {
		if a.visits[h].under {
			s.end(i, h, s.now)
		}
		a.visits[h] = visit{}
	}
	for p := range s.owner {
		if s.owner[p] == i {
			s.owner[p] = -1
		}
	}
}

// own gives a partition to a node; who had it grants nothing any more.
func (s *stage) own(part, i int) {
	if old := s.owner[part]; old >= 0 {
		s.nodes[old].granter.Stop(part)
	}
	s.owner[part] = i
	if i >= 0 {
		s.nodes[i].granter.Start(s.nodes[i].clock(s.now), part)
	}
}

func (s *stage) send(p post) {
	if to := s.nodes[p.to].name; s.rng.Float64() < s.loss || to != p.from && (to == s.cut || p.from == s.cut) {
		return
	}
	s.seq++
	p.seq, p.at = s.seq, s.now+time.Duration(s.rng.Int64N(int64(s.delay)))
	s.mail = append(s.mail, p)
}

// run lets time pass in small steps.
func (s *stage) run(until time.Duration) {
	for s.now < until {
		s.step(s.now + time.Duration(1+s.rng.IntN(40))*time.Millisecond)
	}
}

func (s *stage) step(to time.Duration) {
	// A timer closes a connection when its lease lapses, not later; answers end on
	// their own time too.
	for i, a := range s.nodes {
		for h := range a.visits {
			v := &a.visits[h]
			if !v.under {
				continue
			}
			_, until := a.holder.Span(s.hosts[h].name, s.hosts[h].addr)
			lapse := s.now + max(time.Duration(float64(until.Sub(a.clock(s.now)))/a.rate), 0)
			if at := min(v.ends, lapse); at <= to {
				s.end(i, h, at)
			}
		}
	}
	s.now = to
	slices.SortFunc(s.mail, func(a, b post) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	for len(s.mail) > 0 && s.mail[0].at <= to {
		p := s.mail[0]
		s.mail = s.mail[1:]
		s.deliver(p)
	}
	for i := range s.nodes {
		s.act(i)
	}
}

func (s *stage) deliver(p post) {
	x, err := ReadLease(p.body)
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	a := s.nodes[p.to]
	now := a.clock(s.now)
	switch x := x.(type) {
	case *Ask:
		y := a.granter.Ask(now, p.from, x)
		s.send(post{to: s.named(p.from), from: a.name, body: AppendAnswer(nil, &y)})
	case *Return:
		if a.granter.Return(now, p.from, x) {
			s.send(post{to: s.named(p.from), from: a.name, body: AppendAnswer(nil, &Answer{Session: x.Session, ID: x.ID})})
		}
	case *Answer:
		a.holder.Answer(now, x)
	case *Call:
		a.holder.Call(now, x)
	}
	for _, c := range a.granter.Calls() {
		s.send(post{to: s.named(c.To), from: a.name, body: AppendCall(nil, &c.Call)})
	}
}

func (s *stage) named(name string) int {
	return slices.IndexFunc(s.nodes, func(b *actor) bool { return b.name == name })
}

// act is what a node's driver does.
func (s *stage) act(i int) {
	a := s.nodes[i]
	now := a.clock(s.now)
	for _, host := range a.holder.Sought() {
		a.visits[slices.IndexFunc(s.hosts, func(t *target) bool { return t.name == host })].sought = true
	}
	for h := range a.visits {
		v, t := &a.visits[h], s.hosts[h]
		host, conn := Subject{Host: t.name}, Subject{t.name, t.addr}
		if s.now < v.idle {
			continue
		}
		a.holder.Want(now, host, stageWait, false)
		a.holder.Want(now, conn, stageWait, false)
		rested := !v.any || now.Sub(v.last) >= stageWait
		switch {
		case v.under:
		case rested && a.holder.May(now, t.name, t.addr) && s.rng.IntN(4) > 0:
			s.begin(i, h)
		case v.sought || s.rng.IntN(200) == 0:
			a.holder.Drop(now, host, v.used, v.last, 0)
			if v.used && s.rng.IntN(2) == 0 {
				a.holder.Keep(now, conn)
				v.idle = s.now + time.Duration(s.rng.Int64N(int64(4*time.Second)))
			} else {
				a.holder.Drop(now, conn, false, 0, 0)
			}
			v.used, v.sought = false, false
		}
	}
	for _, l := range a.holder.Letters(now) {
		to := s.owner[l.Part]
		if to < 0 {
			continue
		}
		p := post{to: to, from: a.name}
		if l.Ask != nil {
			p.body = AppendAsk(nil, l.Ask)
		} else {
			p.body = AppendReturn(nil, l.Return)
		}
		s.send(p)
	}
}

func (s *stage) begin(i, h int) {
	a, t := s.nodes[i], s.hosts[h]
	if t.asking >= 0 {
		s.t.Fatalf("at %v, %s asks %s while %s does", s.now, a.name, t.name, s.nodes[t.asking].name)
	}
	if rest := s.now - t.ended; t.asked && rest < s.least {
		s.t.Fatalf("at %v, %s asks %s after %v of rest", s.now, a.name, t.name, rest)
	}
	if s.server[t.addr]++; s.server[t.addr] > perServer {
		s.t.Fatalf("at %v, %s has %d connections", s.now, t.addr, s.server[t.addr])
	}
	t.asking, t.asked = i, true
	t.count[i]++
	a.visits[h].under, a.visits[h].used = true, true
	a.visits[h].ends = s.now + time.Duration(s.rng.Int64N(int64(1500*time.Millisecond)))
	if s.rng.IntN(20) == 0 {
		a.visits[h].ends = s.now + 20*time.Second // renewed while it goes on
	}
	a.holder.Busy(t.name, t.addr, true)
}

func (s *stage) end(i, h int, at time.Duration) {
	a, t := s.nodes[i], s.hosts[h]
	a.visits[h].under, a.visits[h].any = false, true
	a.visits[h].last = a.clock(at)
	a.holder.Busy(t.name, t.addr, false)
	t.asking, t.ended = -1, at
	s.server[t.addr]--
}

// Whatever is lost, late or crashes: no host is asked by two nodes at once, or before
// it has rested, and no server has more connections than it may.
func TestLeasesKeepThePeace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s := newStage(t, rng, rapid.IntRange(1, 4).Draw(t, "nodes"), rapid.IntRange(1, 5).Draw(t, "hosts"))
		s.loss = rapid.SampledFrom([]float64{0, 0, 0.1, 0.5}).Draw(t, "loss")
		s.delay = rapid.SampledFrom([]time.Duration{1, 20 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second, 12 * time.Second}).Draw(t, "delay")
		trouble := rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "trouble")
		for range 15 {
			s.run(s.now + time.Duration(rng.Int64N(int64(6*time.Second))))
			if rng.Float64() > trouble {
				continue
			}
			i := rng.IntN(len(s.nodes))
			s.cut = ""
			switch rng.IntN(4) {
			case 0:
				s.restart(i)
			case 1:
				s.own(rng.IntN(s.keys.parts), i)
			case 2:
				for p := range s.owner {
					if s.owner[p] < 0 {
						s.own(p, i)
					}
				}
			case 3:
				s.cut = s.nodes[i].name
			}
		}
	})
}

// Clocks that run unequally fast do no harm as long as they differ by little: hosts
// rest by the fastest of them.
func TestLeasesOnUnequalClocks(t *testing.T) {
	for seed := range uint64(5) {
		s := newStage(t, rand.New(rand.NewPCG(seed, 2)), 3, 3)
		s.delay = time.Millisecond
		s.least = stageWait * 95 / 100
		for i, a := range s.nodes {
			a.rate = 0.98 + 0.02*float64(i)
		}
		for p := range s.owner {
			s.own(p, 2) // the fastest grants, and the slowest loses touch
		}
		for range 40 {
			s.cut = ""
			s.run(s.now + 4*time.Second)
			s.cut = "a"
			s.run(s.now + 8*time.Second)
		}
	}
}

// On a good network every node has its turns, and a host is hardly idle.
func TestLeasesGoRound(t *testing.T) {
	s := newStage(t, rand.New(rand.NewPCG(1, 3)), 3, 2)
	s.delay = 20 * time.Millisecond
	s.run(5 * time.Minute)
	for _, h := range s.hosts {
		sum := h.count[0] + h.count[1] + h.count[2]
		if sum < 40 || slices.Min(h.count)*5 < sum {
			t.Errorf("%s was asked %v times", h.name, h.count)
		}
	}
	for _, a := range s.nodes {
		if n := len(a.holder.flights); n > 20 {
			t.Errorf("%s remembers %d letters", a.name, n)
		}
	}
}

func TestNewOwnerWaitsForOldLeases(t *testing.T) {
	keys := NewKeys(Scheme{}, 1)
	g := NewGranter(keys, LeaseConfig{Wait: 2 * time.Second, PerServer: 1})
	ask := func(at time.Duration, from string, id uint64, w Want) Lease {
		return g.Ask(page.Time(at), from, &Ask{Session: 1, ID: id, Wants: []Want{w}}).Leases[0]
	}
	host := Want{Subject: Subject{Host: "a.example"}}
	conn := Want{Subject: Subject{"a.example", netip.MustParseAddr("192.0.2.1")}}
	if l := ask(0, "x", 1, host); l.For != 0 {
		t.Errorf("granted what is not owned: %+v", l)
	}
	g.Start(page.Time(time.Hour), 0)
	if l := ask(time.Hour, "x", 2, host); l.For != 0 || l.Wait != 6500*time.Millisecond {
		t.Errorf("at once: %+v", l)
	}
	if l := ask(time.Hour, "x", 3, conn); l.For != 0 || l.Wait != MaxLease {
		t.Errorf("a connection, at once: %+v", l)
	}
	if l := ask(time.Hour+6*time.Second, "x", 4, host); l.For != MaxLease || l.Wait != time.Second {
		t.Errorf("after 6 s: %+v", l)
	}
	if l := ask(time.Hour+6*time.Second, "x", 5, conn); l.For != MaxLease || l.Wait != 0 {
		t.Errorf("a connection, after 6 s: %+v", l)
	}
	// Nothing was returned: it rests from when the lease has run out.
	if l := ask(time.Hour+12*time.Second, "y", 1, host); l.For != MaxLease || l.Wait != time.Second {
		t.Errorf("after 12 s: %+v", l)
	}
	// What was learned holds: a host asked for ten minutes.
	g.Return(page.Time(time.Hour+13*time.Second), "y", &Return{Session: 1, ID: 2, Gives: []Give{{Subject: host.Subject, Used: true, Rest: 10 * time.Minute}}})
	if l := ask(time.Hour+14*time.Second, "z", 1, host); l.For != 0 || l.Wait < 9*time.Minute {
		t.Errorf("while it rests: %+v", l)
	}
}

// A Return that comes late does not end a lease that was asked for after it.
func TestLateReturn(t *testing.T) {
	g := NewGranter(NewKeys(Scheme{}, 1), LeaseConfig{PerServer: 1})
	g.Start(0, 0)
	now := page.Time(time.Minute)
	w := []Want{{Subject: Subject{Host: "a.example"}}}
	g.Ask(now, "x", &Ask{1, 1, w})
	g.Ask(now, "x", &Ask{1, 3, w})
	g.Return(now, "x", &Return{1, 2, []Give{{Subject: w[0].Subject}}})
	if l := g.Ask(now, "y", &Ask{1, 1, w}).Leases[0]; l.For != 0 {
		t.Errorf("two hold a host: %+v", l)
	}
}

// A lease that was renewed, and whose holder did not hear of that, is not taken for
// one that was never used: the granter is told when the last answer ended.
func TestUsedLeaseWhoseRenewalWasLost(t *testing.T) {
	keys := NewKeys(Scheme{By: ByURL}, 1)
	g := NewGranter(keys, LeaseConfig{Wait: stageWait, PerServer: 1})
	g.Start(0, 0)
	h := NewHolder(keys, 1)
	host, now := Subject{Host: "a.example"}, page.Time(time.Hour)
	ask := func(heard bool) {
		for _, l := range h.Letters(now) {
			if l.Return != nil {
				g.Return(now, "x", l.Return)
			} else if a := g.Ask(now, "x", l.Ask); heard {
				h.Answer(now, &a)
			}
		}
	}
	h.Want(now, host, stageWait, false)
	ask(true)
	h.Busy(host.Host, netip.Addr{}, true)
	now = now.Add(MaxLease * 8 / 10)
	ask(false) // it is renewed
	h.Busy(host.Host, netip.Addr{}, false)
	g.Ask(now, "y", &Ask{Session: 1, ID: 1, Wants: []Want{{Subject: host}}}) // who waits for it
	now = now.Add(askAgain)
	last := now.Add(-stageWait / 2)
	ask(true) // no: others wait
	h.Drop(now, host, true, last, 0)
	ask(true)
	if l := g.Ask(now, "y", &Ask{Session: 1, ID: 2, Wants: []Want{{Subject: host}}}).Leases[0]; l.For == 0 || l.Wait != stageWait-now.Sub(last) {
		t.Errorf("the next may ask in %v, %v after an answer", l.Wait, now.Sub(last))
	}
}

// What was granted to a node before it crashed is not taken for what it asks for
// after.
func TestAnswerToAnEarlierSession(t *testing.T) {
	h := NewHolder(NewKeys(Scheme{}, 1), 2)
	addr := netip.MustParseAddr("192.0.2.1")
	h.Want(0, Subject{Host: "a.example"}, 0, false)
	h.Want(0, Subject{"a.example", addr}, 0, false)
	h.Letters(0)
	leases := []Lease{{For: MaxLease}, {For: MaxLease}}
	if h.Answer(1, &Answer{Session: 1, ID: 1, Leases: leases}); h.May(1, "a.example", addr) {
		t.Error("a lease of an earlier session is used")
	}
	if h.Answer(1, &Answer{Session: 2, ID: 1, Leases: leases[:1]}); h.May(1, "a.example", addr) {
		t.Error("half an answer is believed")
	}
	if h.Answer(1, &Answer{Session: 2, ID: 1, Leases: leases}); !h.May(1, "a.example", addr) {
		t.Error("a lease is not used")
	}
	if h.May(page.Time(MaxLease), "a.example", addr) || h.May(1, "a.example", netip.MustParseAddr("192.0.2.2")) || h.May(1, "b.example", addr) {
		t.Error("a request is sent without a lease")
	}
}

// Hosts that nobody asks for any more are forgotten.
func TestGranterForgets(t *testing.T) {
	g := NewGranter(NewKeys(Scheme{}, 4), LeaseConfig{Wait: time.Second, PerServer: 1})
	for p := range 4 {
		g.Start(0, p)
	}
	for i := range 10_000 {
		now := page.Time(i) * page.Time(time.Second)
		host := fmt.Sprintf("h%d.example", i)
		g.Ask(now, "x", &Ask{1, uint64(i + 1), []Want{{Subject: Subject{Host: host}}, {Subject: Subject{host, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})}}}})
	}
	if n, m := len(g.hosts.keys), len(g.addrs.keys); n > 200 || m > 200 || n != len(g.hosts.items) || m != len(g.addrs.items) {
		t.Errorf("%d hosts and %d addresses are remembered", n, m)
	}
}

var anySubject = rapid.Custom(func(t *rapid.T) Subject {
	return Subject{
		Host: rapid.StringMatching(`[a-z]{1,9}\.example`).Draw(t, "host"),
		Addr: rapid.SampledFrom([]netip.Addr{{}, netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}).Draw(t, "addr"),
	}
})

func TestLeaseMessagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		session, id := rapid.Uint64().Draw(t, "session"), rapid.Uint64().Draw(t, "id")
		ask := &Ask{session, id, []Want{}}
		answer := &Answer{session, id, []Lease{}}
		back := &Return{session, id, []Give{}}
		call := &Call{session, anySpan.Draw(t, "in"), anySubject.Draw(t, "called")}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			s, a, b, is := anySubject.Draw(t, "subject"), anySpan.Draw(t, "a"), anySpan.Draw(t, "b"), rapid.Bool().Draw(t, "is")
			more := rapid.Bool().Draw(t, "more")
			ask.Wants = append(ask.Wants, Want{s, a, is, more})
			answer.Leases = append(answer.Leases, Lease{a, b, is, more, is != more})
			back.Gives = append(back.Gives, Give{s, is, a, b, more})
		}
		for b, want := range map[string]any{string(AppendAsk(nil, ask)): ask, string(AppendAnswer(nil, answer)): answer, string(AppendReturn(nil, back)): back, string(AppendCall(nil, call)): call} {
			got, err := ReadLease([]byte(b))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("got %+v, %v, want %+v", got, err, want)
			}
		}
	})
}

func FuzzReadLease(f *testing.F) {
	s := Subject{"a.example", netip.MustParseAddr("192.0.2.1")}
	f.Add(AppendAsk(nil, &Ask{1, 2, []Want{{s, time.Second, true, false}}}))
	f.Add(AppendAnswer(nil, &Answer{1, 2, []Lease{{MaxLease, 0, true, true, true}}}))
	f.Add(AppendReturn(nil, &Return{1, 2, []Give{{s, true, time.Second, 0, true}}}))
	f.Add(AppendCall(nil, &Call{1, time.Second, s}))
	f.Fuzz(func(t *testing.T, b []byte) {
		keys := NewKeys(Scheme{}, Parts)
		x, err := ReadLease(b)
		if err != nil {
			return
		}
		g := NewGranter(keys, LeaseConfig{PerServer: 1})
		h := NewHolder(keys, 1)
		for p := range Parts {
			g.Start(1, p)
		}
		switch x := x.(type) {
		case *Ask:
			y := g.Ask(page.Time(time.Minute), "x", x)
			if len(y.Leases) != len(x.Wants) {
				t.Fatalf("%d answers to %d wants", len(y.Leases), len(x.Wants))
			}
		case *Answer:
			h.Want(0, s, 0, false)
			h.Letters(0)
			h.Answer(1, x)
		case *Return:
			g.Return(page.Time(time.Minute), "x", x)
		case *Call:
			h.Want(0, s, 0, false)
			h.Call(1, x)
		}
	})
}

func TestReadLeaseRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty": nil, "kind": {codecVersion, '?', 1, 1, 0}, "version": {9, 'a', 1, 1, 0}, "many": {codecVersion, 'a', 1, 1, 0xff, 0xff, 0x7f},
		"cut": {codecVersion, 'a', 1, 1, 3, 0}, "more": {codecVersion, 'a', 1, 1, 0, 0}, "host": append([]byte{codecVersion, 'a', 1, 1, 1, 0, 0xff, 0x7f}, strings.Repeat("x", 1<<14)...),
	} {
		if x, err := ReadLease(b); err == nil {
			t.Errorf("%s: read as %+v", name, x)
		}
	}
}

// What leases cost on the wire and in time, with a hundred hosts in a letter.
func BenchmarkGranterAsk(b *testing.B) {
	keys := NewKeys(Scheme{By: ByURL}, 1)
	g := NewGranter(keys, LeaseConfig{Wait: time.Second, PerServer: 4})
	g.Start(0, 0)
	ask := &Ask{Session: 1 << 40, ID: 1}
	for i := range 50 {
		s := Subject{Host: fmt.Sprintf("www.site-%d.example", i)}
		c := Subject{s.Host, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}
		ask.Wants = append(ask.Wants, Want{s, 2 * time.Second, false, false}, Want{c, 2 * time.Second, false, false})
	}
	now := page.Time(time.Hour)
	var out, in []byte
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		ask.ID++
		in = AppendAsk(in[:0], ask)
		x, err := ReadLease(in)
		if err != nil {
			b.Fatal(err)
		}
		y := g.Ask(now, "a", x.(*Ask))
		out = AppendAnswer(out[:0], &y)
	}
	b.ReportMetric(float64(len(in)+len(out))/100, "B/want")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*100), "ns/want")
}
