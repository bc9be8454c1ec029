package bandwidth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"weir/page"
)

// A model of a receiver, its kernel and its servers, in steps of one
// millisecond: connections that fetch one page after another over a network
// where window updates and packets take half a round trip each, servers send as
// the window allows and at their own speed or that of their lines, and what is not
// read fills the receive buffer.
type model struct {
	rnd     *rand.Rand
	c       *Credit
	now     page.Time
	conns   []*modelConn
	hosts   []modelHost
	size    func(*rand.Rand) int64 // of the next page
	perMS   []float64              // wire bytes that arrived in each millisecond
	limits  []float64              // that held then
	tick    time.Duration
	segment int64                                    // bytes that a packet holds
	still   func(page.Time) (network, receiver bool) // who stands still at a time; nil: nobody
	pages   int
	longest time.Duration // that anybody waited for a grant
}

type modelHost struct {
	rate  float64
	rtt   time.Duration
	think time.Duration
	busy  bool
	paced bool // the server itself waits between packets; otherwise its line takes that long for each
	habit Habit
}

type modelConn struct {
	host     *modelHost
	flow     *Flow
	window   int
	size     int64
	sent     int64     // by the server
	ready    page.Time // when the server has thought
	nextSend page.Time // when its line is free, or its turn has come
	edge     int64     // right edge of the window, as the server knows it
	flights  []modelPacket
	updates  []modelPacket // window edges on their way
	read     int64
	got      int64
	vain     int64 // bytes that came again
	resent   bool  // the server did not hear in time that its packets arrived
	largest  int   // packet that came
	wire     int64
	state    int       // 0 waits to ask, 1 reads
	since    page.Time // when it began to wait for a grant, 0: it does not
}

type modelPacket struct {
	at    page.Time
	n     int64
	again bool
}

const modelHeader = 52

func newModel(seed uint64, limit float64, conns int, strict bool, hosts []modelHost) *model {
	m := &model{
		rnd: rand.New(rand.NewPCG(seed, 1)), c: NewCredit(CreditConfig{Limit: int64(limit), Strict: strict}),
		hosts: hosts, tick: 4 * time.Millisecond, segment: mss, now: page.Time(time.Hour), size: ordinaryPage,
	}
	for range conns {
		m.conns = append(m.conns, &modelConn{})
	}
	return m
}

// ordinaryPage is of 5 to 300 KB.
func ordinaryPage(r *rand.Rand) int64 { return int64(5e3 * math.Pow(60, r.Float64())) }

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
			paced: i%4 == 3,
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
	*k = modelConn{host: h, window: w, size: m.size(m.rnd), edge: int64(w), since: m.now}
	k.flow = m.c.Open(m.now, w, modelHeader, h.habit)
	k.flow.Seen(m.now, Sample{Wire: 60, RTT: h.rtt, Window: -1})
	k.wire = 60
	k.flow.Ask()
}

// run goes on for a while.
func (m *model) run(d time.Duration) *model {
	for range d / time.Millisecond {
		m.step()
	}
	return m
}

func (m *model) step() {
	m.now = m.now.Add(time.Millisecond)
	network, receiver := false, false
	if m.still != nil {
		network, receiver = m.still(m.now)
	}
	arrived := 0.0
	for _, k := range m.conns {
		switch {
		case k.flow == nil && !receiver:
			m.begin(k)
		case k.flow != nil && network:
			m.resend(k)
		case k.flow != nil:
			arrived += m.network(k)
		}
	}
	if int64(m.now)%int64(m.tick) == 0 && !receiver {
		for _, k := range m.conns {
			if k.flow == nil {
				continue
			}
			k.flow.Seen(m.now, Sample{Payload: k.got, Wire: k.wire, Vain: k.vain, RTT: k.host.rtt, Window: -1, Segment: k.largest, Ended: k.got == k.size})
			if k.state == 1 && k.got > k.read {
				k.flow.Want(int(k.got - k.read))
				if k.since == 0 {
					k.since = m.now
				}
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
			if k.flow != nil && k.since > 0 {
				m.longest = max(m.longest, m.now.Sub(k.since))
			}
			if k.flow != nil && k.read == k.size {
				k.host.habit, _ = k.flow.Habit()
				k.flow.Close(m.now)
				k.host.busy = false
				k.flow = nil
				m.pages++
			}
		}
	}
	m.perMS = append(m.perMS, arrived)
	m.limits = append(m.limits, float64(m.c.Limit()))
}

func (m *model) granted(k *modelConn, g Grant) {
	half := k.host.rtt / 2
	if w := k.flow.Window(); w > 0 {
		k.window = w
	}
	if k.state == 0 || g.Bytes > 0 {
		k.since = 0
	}
	if k.state == 0 {
		k.state = 1
		k.ready = m.now.Add(k.host.rtt/2 + k.host.think)
		return
	}
	if g.Bytes > 0 {
		k.read += int64(g.Bytes)
		k.flow.Took(g.Bytes)
		if k.size-k.read > 0 && k.read > 1000 {
			k.flow.Left(k.size - k.read)
		}
	}
	k.updates = append(k.updates, modelPacket{at: m.now.Add(half), n: k.read + int64(k.window)})
}

// resend has a server that hears nothing send its last packet again: when twice a round
// trip has passed since it sent the first, or a fifth of a second more than one.
func (m *model) resend(k *modelConn) {
	if len(k.flights) == 0 || k.resent {
		return
	}
	trip, sent := k.host.rtt, k.flights[0].at.Add(-k.host.rtt/2)
	if patience := min(2*trip, trip+200*time.Millisecond); m.now.Sub(sent) >= patience {
		last := k.flights[len(k.flights)-1]
		last.at, last.again = max(last.at, m.now.Add(trip/2)), true
		k.flights, k.resent = append(k.flights, last), true
	}
}

// network moves one connection's packets on by a millisecond and returns the
// wire bytes that arrive.
func (m *model) network(k *modelConn) float64 {
	for len(k.updates) > 0 && k.updates[0].at <= m.now {
		k.edge = max(k.edge, k.updates[0].n)
		k.updates = k.updates[1:]
	}
	for k.state == 1 && k.ready <= m.now && k.sent < k.size {
		n := min(m.segment, k.size-k.sent)
		if k.sent+n > k.edge {
			break
		}
		k.sent += n
		leaves, took := max(m.now, k.nextSend), time.Duration(float64(n)/k.host.rate*1e9)
		k.nextSend = leaves.Add(took)
		if !k.host.paced {
			leaves = k.nextSend
		}
		k.flights = append(k.flights, modelPacket{at: leaves.Add(k.host.rtt / 2), n: n})
	}
	arrived := 0.0
	for len(k.flights) > 0 && k.flights[0].at <= m.now {
		n, again := k.flights[0].n, k.flights[0].again
		k.flights, k.resent = k.flights[1:], false
		if again {
			k.vain += n
		} else {
			k.got += n
		}
		k.largest = max(k.largest, int(n))
		k.wire += n + modelHeader
		arrived += float64(n + modelHeader)
	}
	return arrived
}

// came is how many wire bytes arrived from one time of the run to another.
func (m *model) came(from, to time.Duration) float64 {
	sum := 0.0
	for _, b := range m.perMS[from/time.Millisecond : to/time.Millisecond] {
		sum += b
	}
	return sum
}

// use is what an observer at the interface sees from a time of the run on: the
// mean use of the limit, and the most of any second that begins with the clock's.
func (m *model) use(limit float64, from time.Duration) (mean, worst float64) {
	n := 0
	for at := from; at+time.Second <= time.Duration(len(m.perMS))*time.Millisecond; at += time.Second {
		part := m.came(at, at+time.Second) / limit
		mean += part
		worst = max(worst, part)
		n++
	}
	return mean / float64(n), worst
}

// plot draws what arrived in each tenth of a second, and the limit. The scale is
// that of the given rate.
func (m *model) plot(scale float64) string {
	const width, most = 40, 66 // columns of the scale, and of the plot
	const row = 100 * time.Millisecond
	var b strings.Builder
	fmt.Fprintf(&b, "seconds   KB/s\n")
	for at := time.Duration(0); at < time.Duration(len(m.perMS))*time.Millisecond; at += row {
		rate := m.came(at, at+row) / row.Seconds()
		bar := []byte(strings.Repeat(" ", most+1))
		for i := range min(int(rate/scale*width+0.5), most) {
			bar[i] = '#'
		}
		if limit := m.limits[at/time.Millisecond]; limit > 0 && limit <= scale {
			bar[int(limit/scale*width+0.5)] = '|'
		}
		fmt.Fprintf(&b, "%7.1f %6.1f  %s\n", at.Seconds(), rate/1e3, strings.TrimRight(string(bar), " "))
	}
	return b.String()
}
