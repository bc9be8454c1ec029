package fetch

import (
	"context"
	"math"
	"net/netip"
	"sync"
	"time"

	"weir/bandwidth"
	"weir/page"
)

// Wire is the cap on the wire that all connections of a Client share: it bounds
// the bytes that arrive, headers of packets and all, by opening the windows of
// its connections no faster than the limit allows. What may be opened is decided
// by a [bandwidth.Credit]; Wire tells it what the sockets have seen, every tick,
// and lets those who wait go on.
//
// Where sockets do not say what they have seen (anywhere but on Linux) it falls
// back to a Bucket over what is read, with small socket buffers; see Exact.
//
// It is safe for concurrent use. Run must be running for anybody to go on.
type Wire struct {
	clock func() page.Time
	meter *Meter
	exact bool
	loose bool    // only counts
	rough *Bucket // instead, when not exact

	mu      sync.Mutex
	credit  *bandwidth.Credit
	flows   map[*bandwidth.Flow]*flow
	habits  map[netip.Addr]habit
	urges   map[string]float64 // by host; see Share
	turn    []*flow            // of flows, in order of opening: what is done must not depend on the map
	poller  *poller            // of still connections; nil before the first
	stills  map[int32]*flow    // that it watches
	opened  int32              // of them so far
	wake    chan struct{}
	counted int64 // of the account's bytes, by the meter
}

// tick is how often a Wire looks at its sockets.
const tick = 5 * time.Millisecond

// quietTick is how often it looks at those of which nothing is expected under a
// limit of quietLimit or more. Under a smaller one it looks more often, since a
// packet that comes all the same is more of a second then. Those that are watched
// are looked at when something comes; a quarter as often is enough for what they
// do not tell of: packets that come twice, or out of order.
const (
	quietTick  = 50 * time.Millisecond
	quietLimit = 1e6
	watched    = 4
)

// habit is how a server was seen to answer.
type habit struct {
	bandwidth.Habit
	hello int64 // bytes of its answer to the greeting of TLS, 0: not known
	aside int64 // bytes that it says beside its first answer over TLS
}

// maxHabits is how many servers' ways are remembered.
const maxHabits = 1 << 14

// roughShare is how much of the limit is used where only reads can be counted:
// the rest is for the headers of packets.
const roughShare = 0.95

// WireConfig are the settings of a Wire.
type WireConfig struct {
	Limit  int64 // bytes a second; bandwidth.Unlimited and Off are possible
	Strict bool  // rather use less than ever go over
	Loose  bool  // only count: the limit is somebody else's to hold
	Clock  func() page.Time
}

// NewWire returns a Wire. Its Run is the caller's to call.
func NewWire(cfg WireConfig) *Wire {
	w := &Wire{
		clock: cfg.Clock, meter: new(Meter), exact: socketsTell(), loose: cfg.Loose,
		credit: bandwidth.NewCredit(bandwidth.CreditConfig{Limit: bandwidth.Unlimited, Strict: cfg.Strict}),
		habits: map[netip.Addr]habit{},
		flows:  map[*bandwidth.Flow]*flow{}, stills: map[int32]*flow{}, wake: make(chan struct{}, 1),
	}
	if !w.exact && !w.loose {
		w.rough = NewBucket(1)
	}
	w.SetLimit(cfg.Limit)
	return w
}

// Exact says whether bytes are counted as they come on the wire. Otherwise they
// are counted as they are read, and short bursts above the limit are possible.
func (w *Wire) Exact() bool { return w.exact }

// SetLimit changes the limit, at once also for those who wait.
func (w *Wire) SetLimit(limit int64) {
	if w.loose {
		return
	}
	w.mu.Lock()
	w.credit.SetLimit(w.clock(), limit)
	for _, f := range w.turn {
		f.resize()
	}
	w.mu.Unlock()
	if w.rough != nil {
		w.rough.SetRate(int64(float64(min(limit, 1<<50)) * roughShare))
	}
	w.rouse()
}

// Share says which hosts are urgent, and how much: what they can send comes
// before anything else, the most urgent first; the others have the rest. It holds
// for connections that are open and those to come, until Share says otherwise;
// hosts that are not named are not urgent. The caller must not change the map
// afterwards. Nobody comes first where the limit is none, or held by somebody else, or where
// reads are all that can be counted.
func (w *Wire) Share(urges map[string]float64) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.urges = urges
	for _, f := range w.turn {
		f.flow.Urge(urges[f.host])
		f.resize()
	}
}

// State is how the link is doing.
func (w *Wire) State() bandwidth.Wire {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.credit.Wire(w.clock())
}

// Charge counts bytes that came over no connection: answers of lookups and
// probes.
func (w *Wire) Charge(bytes int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.credit.Charge(w.clock(), bytes)
	w.count()
	w.mu.Unlock()
}

// Run lets those who wait go on, until the context is done. It calls tell, if
// that is not nil, at once when the link has fallen idle and every tellEvery
// otherwise, with nothing locked.
func (w *Wire) Run(ctx context.Context, tellEvery time.Duration, tell func(bandwidth.Wire)) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var told, idled time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w.mu.Lock()
		if w.exact && len(w.turn) > 0 {
			w.look()
		}
		state := w.credit.Wire(w.clock())
		quiet := len(w.turn) == 0
		w.mu.Unlock()
		if quiet && !w.rest(ctx, ticker, tellEvery) {
			return
		}
		now := time.Now()
		idle := state.Idle >= idleTold && now.Sub(idled) >= idleTold
		if tell != nil && (idle || now.Sub(told) >= tellEvery) {
			told = now
			if idle {
				idled = now
			}
			tell(state)
		}
	}
}

// idleTold is how long the link lies idle before that is told, and again.
const idleTold = 20 * time.Millisecond

// rest waits until there are connections, or it is time to tell.
func (w *Wire) rest(ctx context.Context, ticker *time.Ticker, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	ticker.Stop()
	defer ticker.Reset(tick)
	select {
	case <-ctx.Done():
		return false
	case <-w.wake:
	case <-timer.C:
	}
	return true
}

func (w *Wire) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// look reads all sockets and hands out grants. The lock is held.
func (w *Wire) look() {
	now := w.clock()
	quiet := quietTick
	if limit := w.credit.Limit(); limit > 0 {
		quiet = time.Duration(min(float64(limit)/quietLimit, 1) * float64(quietTick))
	}
	if w.poller != nil {
		w.poller.changed(func(number int32, ended bool) {
			if f := w.stills[number]; f != nil {
				f.holds, f.fresh, f.found = true, true, math.MaxInt
				f.over = f.over || ended
			}
		})
	}
	wall := time.Now()
	for _, f := range w.turn {
		if f.into != nil && !f.waits && f.find(now, wall) {
			continue
		}
		// What comes while a reader waits for a grant is told by the poller, or else
		// to be expected. One that waits for bytes at a socket that is not watched
		// looks when they come.
		news, pause := f.fresh, watched*quiet
		if f.number == 0 {
			news, pause = f.waits && !f.flow.Quiet(), quiet
		}
		if now.Sub(f.looked) >= pause {
			news, f.holds = true, true // the poller need not tell of all: see TestTakeUrgent
		}
		if news {
			f.look(now)
		}
	}
	w.count()
	for _, g := range w.credit.Tick(now) {
		f := w.flows[g.Flow]
		f.resize()
		switch {
		case !f.waits || g.Window != 0:
		case f.into != nil:
			f.fill(now, g.Bytes)
			f.look(now) // a read need not open the window at once
		default:
			f.wake(g.Bytes)
		}
	}
}

// count tells the meter what has come. The lock is held.
func (w *Wire) count() {
	if n := w.credit.Bytes() - w.counted; n > 0 {
		w.counted += n
		w.meter.Add(time.Now(), int(n))
	}
}

// flow is one connection under a Wire.
type flow struct {
	wire  *Wire
	sock  *socket
	to    netip.Addr
	host  string // that is visited over it
	flow  *bandwidth.Flow
	grant chan int
	waits bool // one was asked for
	taker      // of a still connection

	window int
	seen   bandwidth.Sample
	waited time.Duration // for grants, in the task under way
	cut    bool          // it sent what nobody had allowed
	hello  int64         // see habit
	aside  int64         // likewise; the reader changes it
	waste  waste
	count  packets
	spoke  int64 // reads and writes since then, each of which may have sent a packet
	unsaid bool  // what came last may not have been acknowledged
	looked page.Time
}

// open puts a connection under the cap.
func (w *Wire) open(sock *socket, window int, to netip.Addr, host string) *flow {
	f := &flow{wire: w, sock: sock, to: to, host: host, grant: make(chan int, 1), window: window}
	w.mu.Lock()
	defer w.mu.Unlock()
	if sock.still != nil {
		w.watch(f)
	}
	now := w.clock()
	h := w.habits[to]
	f.hello, f.aside = h.hello, h.aside
	f.flow = w.credit.Open(now, window, packetHeader(to), h.Habit)
	f.flow.Urge(w.urges[host])
	w.flows[f.flow] = f
	w.turn = append(w.turn, f)
	f.resize() // the limit may have changed meanwhile
	f.clamp()
	f.look(now)
	if len(w.turn) == 1 {
		w.rouse()
	}
	return f
}

// window is what a new connection offers its server, 0 when it may offer what
// it likes.
func (w *Wire) window() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.credit.Window()
}

// close takes a connection from under the cap, before its socket is closed.
func (f *flow) close() {
	w := f.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, open := w.flows[f.flow]; !open {
		return
	}
	now := w.clock()
	f.look(now)
	if len(w.habits) >= maxHabits {
		clear(w.habits)
	}
	if h, known := f.flow.Habit(); known {
		w.habits[f.to] = habit{h, f.hello, f.aside}
	}
	f.flow.Close(now)
	delete(w.flows, f.flow)
	delete(w.stills, f.number)
	for i, o := range w.turn {
		if o == f {
			w.turn = append(w.turn[:i], w.turn[i+1:]...)
			break
		}
	}
	if f.waits || f.into != nil {
		f.waits, f.into = false, nil
		close(f.grant)
	}
}

// look tells the account what the socket has seen.
func (f *flow) look(now page.Time) {
	f.looked, f.fresh = now, false
	s, n, ok := f.sock.sample()
	if !ok {
		return
	}
	if s.Payload > f.seen.Payload {
		f.clamp()                            // the kernel forgets it when it learns how large packets are
		if s, n, ok = f.sock.sample(); !ok { // and may just have told the window: see told
			return
		}
	}
	f.told(&s, n)
	a := arrival{n.data - f.count.data, n.early - f.count.early, s.Payload - f.seen.Payload, s.Payload, int64(s.Segment)}
	if f.waste.see(now, a) && f.wire.credit.Limit() != bandwidth.Unlimited {
		f.cut = true
	}
	s.Vain = f.waste.bytes
	s.Wire += s.Vain
	f.count, f.spoke = n, 0
	f.seen = s
	f.flow.Seen(now, s)
	if f.cut {
		f.sock.shut()
		switch {
		case f.into != nil:
			f.finish(errFoul)
		case f.waits:
			f.wake(-1)
		}
	}
}

// packets are what went over a connection.
type packets struct {
	data  int64 // with payload, that came
	early int64 // of them before one that is missing
	sent  int64
}

// told finds out whether the window is known. The kernel tells the one that its
// last packet named: if that left before the last bytes came, they are to be
// taken off, and were they, the server would seem to be allowed as much again.
// So it counts only when as many acknowledgements left as packets came, or
// another packet since.
//
// Where a window is no multiple of what packets hold, a small one comes with a large
// one, and one acknowledgement speaks for both, or it is the small one that is not
// acknowledged yet. The window is known but for that one then, and has to be: the server
// need not wait until anything is read.
func (f *flow) told(s *bandwidth.Sample, n packets) {
	came, left := n.data-f.count.data, n.sent-f.count.sent
	switch {
	case came > 0:
		f.unsaid = left < came+f.spoke
		if f.spoke > 0 || left != came-1 || left == 0 {
			break
		}
		full := int64(min(s.Segment, wastePacket))
		if last := s.Payload - f.seen.Payload - left*full; last > 0 && last < full/4 {
			s.Window -= int(last)
			f.unsaid = false
		}
	case left > 0:
		f.unsaid = false
	}
	if f.unsaid || s.Window < 0 {
		s.Window = -1
	}
}

// clamp holds the window small, if it is to be.
func (f *flow) clamp() {
	if f.window > 0 {
		f.sock.clamp(f.window)
	}
}

// resize lets the server send as much at a time as the account says.
func (f *flow) resize() {
	w := f.flow.Window()
	if w == f.window {
		return
	}
	f.window = w
	if w == 0 {
		w = freeWindow // its scale was fixed when it was opened
	}
	f.sock.widen(w)
}

// freeWindow is for connections that were opened under a limit that is gone.
const freeWindow = 60 << 10

// wake lets the one who waits go on. The lock is held.
func (f *flow) wake(bytes int) {
	f.waits = false
	f.grant <- bytes
}

// ask waits until a request may be sent, or a greeting.
func (f *flow) ask(ctx context.Context, greeting bool) error {
	w := f.wire
	w.mu.Lock()
	if greeting {
		f.flow.Greet(f.hello)
	} else {
		f.flow.Ask()
	}
	f.waste.start = f.seen.Payload
	if f.flow.Free() {
		w.mu.Unlock()
		f.waited = 0
		return nil
	}
	_, err := f.wait(ctx)
	f.waited = 0 // the request comes after it
	return err
}

// sent says that something was written: the kernel then thinks that it need not
// hurry to say what has come.
func (f *flow) sent() {
	f.wire.mu.Lock()
	f.spoke++
	f.clamp()
	f.wire.mu.Unlock()
}

// want waits until some of the bytes that lie in the socket may be read, and
// returns how many.
func (f *flow) want(ctx context.Context, bytes int) (int, error) {
	w := f.wire
	w.mu.Lock()
	f.look(w.clock())
	if f.flow.Free() {
		w.mu.Unlock()
		return bytes, nil
	}
	f.flow.Want(bytes)
	return f.wait(ctx)
}

// wait waits for a grant. The lock is held, and let go of.
func (f *flow) wait(ctx context.Context) (int, error) {
	if err := f.fault(); err != nil {
		f.wire.mu.Unlock()
		return 0, err
	}
	f.waits = true
	f.wire.mu.Unlock()
	start := time.Now()
	n, open := 0, true
	select {
	case n, open = <-f.grant:
	case <-ctx.Done():
		open = false
	}
	f.waited += time.Since(start)
	switch {
	case !open:
		f.desist()
		return 0, errAborted
	case n < 0:
		return 0, errFoul
	}
	return n, nil
}

// fault says why nobody may wait for anything. The lock is held.
func (f *flow) fault() error {
	_, open := f.wire.flows[f.flow]
	switch {
	case !open:
		return errAborted
	case f.cut:
		return errFoul
	}
	return f.failed
}

// desist says that nobody waits any more.
func (f *flow) desist() {
	f.wire.mu.Lock()
	f.waits, f.into = false, nil
	f.flow.Desist()
	f.wire.mu.Unlock()
}

// foul says that the server was cut off.
func (f *flow) foul() bool {
	f.wire.mu.Lock()
	defer f.wire.mu.Unlock()
	return f.cut
}

// took says that a reader took bytes.
func (f *flow) took(bytes int) {
	f.wire.mu.Lock()
	f.spoke++
	f.flow.Took(bytes)
	f.wire.mu.Unlock()
}

// left says how many bytes of the answer are still to be taken, or will be most
// likely.
func (f *flow) left(bytes int64, guess bool) {
	f.wire.mu.Lock()
	if guess {
		f.flow.Guess(bytes)
	} else {
		f.flow.Left(bytes)
	}
	f.wire.mu.Unlock()
}

// trip is what the round trip takes, 0 when it is not known.
func (f *flow) trip() time.Duration {
	f.wire.mu.Lock()
	defer f.wire.mu.Unlock()
	return f.seen.RTT
}

// varies is by how many bytes answers to greetings differ: signatures do.
const varies = 16

// met says that the greeting was answered, by so many bytes.
func (f *flow) met(bytes int64) {
	f.wire.mu.Lock()
	f.hello = bytes + varies
	f.flow.Rest()
	f.wire.mu.Unlock()
}

// rest says that the answer is whole, and how much was said beside it.
func (f *flow) rest(aside int64, known bool) {
	f.wire.mu.Lock()
	if known {
		f.aside = aside
	}
	f.flow.Rest()
	f.wire.mu.Unlock()
}
