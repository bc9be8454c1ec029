package bandwidth

import (
	"math"
	"math/rand/v2"
	"time"

	"weir/page"
)

// A model of a receiver, its kernel and its servers, in steps of one
// millisecond: connections that fetch one page after another over a network
// where window updates and packets take half a round trip each, servers send as
// the window allows and at their own speed, and what is not read fills the
// receive buffer.
type model struct {
	rnd    *rand.Rand
	c      *Credit
	now    page.Time
	conns  []*modelConn
	hosts  []modelHost
	perMS  []float64 // wire bytes that arrived in each millisecond
	tick   time.Duration
	pages  int
	denied func(now page.Time) bool
}

type modelHost struct {
	rate  float64
	rtt   time.Duration
	think time.Duration
	busy  bool
	habit Habit
}

type modelConn struct {
	host     *modelHost
	flow     *Flow
	window   int
	size     int64
	sent     int64 // by the server
	nextSend page.Time
	edge     int64 // right edge of the window, as the server knows it
	flights  []modelPacket
	updates  []modelPacket // window edges on their way
	read     int64
	got      int64
	wire     int64
	state    int // 0 waits to ask, 1 reads
	granted  int
}

type modelPacket struct {
	at page.Time
	n  int64
}

const modelHeader = 52

func newModel(seed uint64, limit float64, conns int, strict bool, hosts []modelHost) *model {
	m := &model{
		rnd: rand.New(rand.NewPCG(seed, 1)), c: NewCredit(CreditConfig{Limit: int64(limit), Strict: strict}),
		hosts: hosts, tick: 4 * time.Millisecond, now: page.Time(time.Hour),
	}
	for range conns {
		m.conns = append(m.conns, &modelConn{})
	}
	return m
}

// unevenHosts are like those of the wire laboratory: most of them slow, a few
// faster than the limit.
func unevenHosts(seed uint64, n int, scale float64) []modelHost {
	r := rand.New(rand.NewPCG(seed, 2))
	hs := make([]modelHost, n)
	for i := range hs {
		hs[i] = modelHost{
			rate:  scale * 5e3 * math.Pow(40, r.Float64()),
			rtt:   time.Duration(10+r.IntN(290)) * time.Millisecond,
			think: time.Duration(r.IntN(60)) * time.Millisecond,
		}
		if i < 4 {
			hs[i].rate = scale * (2e5 + 1e6*r.Float64())
		}
	}
	return hs
}

func (m *model) begin(k *modelConn) {
	var free []*modelHost
	for i := range m.hosts {
		if !m.hosts[i].busy {
			free = append(free, &m.hosts[i])
		}
	}
	if len(free) == 0 {
		return
	}
	h := free[m.rnd.IntN(len(free))]
	h.busy = true
	w := m.c.Window()
	*k = modelConn{host: h, window: w, size: int64(5e3 * math.Pow(60, m.rnd.Float64())), edge: int64(w)}
	k.flow = m.c.Open(m.now, w, modelHeader, h.habit)
	k.flow.Seen(m.now, Sample{Wire: 60, RTT: h.rtt, Window: -1})
	k.wire = 60
	k.flow.Ask()
}

func (m *model) step() {
	m.now = m.now.Add(time.Millisecond)
	arrived := 0.0
	for _, k := range m.conns {
		if k.flow == nil {
			m.begin(k)
			continue
		}
		arrived += m.network(k)
	}
	if int64(m.now)%int64(m.tick) == 0 {
		for _, k := range m.conns {
			if k.flow == nil {
				continue
			}
			k.flow.Seen(m.now, Sample{Payload: k.got, Wire: k.wire, RTT: k.host.rtt, Window: -1, Ended: k.got == k.size})
			if k.state == 1 && k.got > k.read {
				k.flow.Want(int(k.got - k.read))
			}
		}
		for _, g := range m.c.Tick(m.now) {
			for _, k := range m.conns {
				if k.flow == g.Flow {
					m.granted(k, g)
				}
			}
		}
		for _, k := range m.conns {
			if k.flow != nil && k.read == k.size {
				k.host.habit = k.flow.Habit()
				k.flow.Close(m.now)
				k.host.busy = false
				k.flow = nil
				m.pages++
			}
		}
	}
	m.perMS = append(m.perMS, arrived)
}

func (m *model) granted(k *modelConn, g Grant) {
	half := k.host.rtt / 2
	if g.Window > 0 {
		k.window = g.Window
	}
	if k.state == 0 {
		k.state = 1
		k.nextSend = m.now.Add(k.host.rtt/2 + k.host.think)
		return
	}
	if g.Bytes > 0 {
		k.read += int64(g.Bytes)
		k.flow.Took(g.Bytes)
		if k.size-k.read > 0 && k.read > 1000 {
			k.flow.Left(k.size - k.read)
		}
	}
	k.updates = append(k.updates, modelPacket{m.now.Add(half), k.read + int64(k.window)})
}

// network moves one connection's packets on by a millisecond and returns the
// wire bytes that arrive.
func (m *model) network(k *modelConn) float64 {
	for len(k.updates) > 0 && k.updates[0].at <= m.now {
		k.edge = max(k.edge, k.updates[0].n)
		k.updates = k.updates[1:]
	}
	for k.state == 1 && k.nextSend <= m.now && k.sent < k.size {
		n := min(mss, k.size-k.sent)
		if k.sent+n > k.edge {
			// The window opens later; the server does not save up time.
			k.nextSend = m.now.Add(time.Millisecond)
			break
		}
		k.sent += n
		k.flights = append(k.flights, modelPacket{k.nextSend.Add(k.host.rtt / 2), n})
		k.nextSend = k.nextSend.Add(time.Duration(float64(n) / k.host.rate * 1e9))
	}
	arrived := 0.0
	for len(k.flights) > 0 && k.flights[0].at <= m.now {
		n := k.flights[0].n
		k.flights = k.flights[1:]
		k.got += n
		k.wire += n + modelHeader
		arrived += float64(n + modelHeader)
	}
	return arrived
}

// use is what an observer at the interface sees.
type use struct{ mean, dev, over, worst, sliding float64 }

func (m *model) use(limit float64, skip int) use {
	var u use
	var windows []float64
	ms := m.perMS[skip:]
	for i := 0; i+1000 <= len(ms); i += 1000 {
		sum := 0.0
		for _, b := range ms[i : i+1000] {
			sum += b
		}
		windows = append(windows, sum/limit)
	}
	for _, w := range windows {
		u.mean += w / float64(len(windows))
		u.worst = max(u.worst, w)
	}
	for _, w := range windows {
		u.dev += (w - u.mean) * (w - u.mean) / float64(len(windows))
		if w > 1.02 {
			u.over++
		}
	}
	u.dev = math.Sqrt(u.dev)
	for i := 0; i+1000 <= len(ms); i += 100 {
		sum := 0.0
		for _, b := range ms[i : i+1000] {
			sum += b
		}
		u.sliding = max(u.sliding, sum/limit)
	}
	return u
}
