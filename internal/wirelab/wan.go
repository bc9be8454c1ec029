package wirelab

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"
)

const (
	largestPacket = 1500
	slotSize      = 1536
	slotChunk     = 512     // slots allocated at once
	maxSlots      = 1 << 17 // packets in flight, 200 MB
)

// tolerable is how late a packet may be without a word: less than the
// shortest round trip by far.
const tolerable = 2 * time.Millisecond

// leastStill is how late it must be to be told of by itself, and mostStill how
// many such times are kept.
const (
	leastStill = 10 * time.Millisecond
	mostStill  = 1000
)

// Where a packet goes next.
type stage uint8

const (
	toServer stage = iota
	toLink         // the shared line, which may hold or drop it
	toClient
	toNeighbour
)

// due is a packet and when it is to move on. Equal times keep the order in
// which they were set.
type due struct {
	at   int64 // ns
	seq  uint64
	slot int32
	next stage
}

func (d due) before(e due) bool { return d.at < e.at || d.at == e.at && d.seq < e.seq }

// path is the way between one server and the clients.
type path struct {
	delay  int64 // ns, one way
	jitter int64 // ns
	rate   float64
	queue  float64
	free   int64    // when its line has sent all that waits
	last   [2]int64 // when the last packet arrives, up and down: none overtakes it
}

// wan decides when each packet arrives, and which are lost. It has no clock
// and does no input or output, and a packet costs it no allocation. Queues are
// times, not lists: a line that is busy until t sends the next packet after t.
//
// It is not safe for concurrent use; the goroutine that moves packets owns it.
type wan struct {
	paths   []path
	index   [1 << 16]uint16 // by the last two bytes of a server's address, plus one
	link    Link
	busy    int64 // until when the link is
	loss    float64
	rng     *rand.Rand
	heap    []due
	seq     uint64
	store   [][]byte // slots, slotChunk in each
	sizes   []int16
	unused  []int32
	dropped int64
	late    Late
}

func newWAN(cfg Config) *wan {
	w := &wan{link: cfg.Link, loss: cfg.Loss, rng: rand.New(rand.NewPCG(cfg.Seed, 1))}
	for _, s := range cfg.Web.Servers {
		w.add(s)
	}
	w.add(Server{Addr: dnsAddr, RTT: 10e6})
	w.add(Server{Addr: bulkAddr, RTT: 30e6})
	return w
}

func (w *wan) add(s Server) {
	w.paths = append(w.paths, path{delay: int64(s.RTT / 2), jitter: int64(s.Jitter), rate: s.Rate, queue: float64(s.queue())})
	w.index[low16(s.Addr.As4())] = uint16(len(w.paths))
}

func low16(a [4]byte) uint16 { return binary.BigEndian.Uint16(a[2:]) }

// slot returns room for one packet, or -1 when too many are in flight.
func (w *wan) slot() int32 {
	if len(w.unused) == 0 {
		n := len(w.store) * slotChunk
		if n >= maxSlots {
			return -1
		}
		w.store = append(w.store, make([]byte, slotChunk*slotSize))
		w.sizes = append(w.sizes, make([]int16, slotChunk)...)
		for i := slotChunk - 1; i >= 0; i-- {
			w.unused = append(w.unused, int32(n+i))
		}
	}
	s := w.unused[len(w.unused)-1]
	w.unused = w.unused[:len(w.unused)-1]
	return s
}

func (w *wan) room(slot int32) []byte {
	at := int(slot) % slotChunk * slotSize
	return w.store[slot/slotChunk][at : at+slotSize]
}

func (w *wan) packet(slot int32) []byte { return w.room(slot)[:w.sizes[slot]] }

func (w *wan) release(slot int32) { w.unused = append(w.unused, slot) }

func (w *wan) drop(slot int32) {
	w.dropped++
	w.release(slot)
}

// server is the index of the path of an address, -1 when there is no such server.
func (w *wan) server(addr []byte) int {
	if addr[0] != 10 || addr[1] != 77 {
		return -1
	}
	return int(w.index[binary.BigEndian.Uint16(addr[2:])]) - 1
}

// isIPv4 says whether the addresses of a packet can be read.
func isIPv4(b []byte) bool { return len(b) >= 20 && b[0]>>4 == 4 }

// path returns the path of the packet that has come into a slot, by the server's
// address that stands at an offset in it. It is nil, and the packet dropped, when
// there is none or the packet is lost.
func (w *wan) path(slot int32, size, at int) *path {
	w.sizes[slot] = int16(size)
	if b := w.packet(slot); isIPv4(b) {
		if i := w.server(b[at : at+4]); i >= 0 && !w.unlucky() {
			return &w.paths[i]
		}
	}
	w.drop(slot)
	return nil
}

// up takes the packet in a slot on its way to a server.
func (w *wan) up(now int64, slot int32, size int) {
	p := w.path(slot, size, 16)
	if p == nil {
		return
	}
	w.push(p.arrive(0, now, w.wobble(p)), slot, toServer)
}

// down takes the packet in a slot on its way from a server.
func (w *wan) down(now int64, slot int32, size int) {
	p := w.path(slot, size, 12)
	if p == nil {
		return
	}
	leave := now
	if p.rate > 0 {
		begin := max(now, p.free)
		if float64(begin-now)*p.rate/1e9+float64(size) > p.queue {
			w.drop(slot)
			return
		}
		leave = begin + int64(float64(size)/p.rate*1e9)
		p.free = leave
	}
	at := p.arrive(1, leave, w.wobble(p))
	if w.link.Rate > 0 {
		w.push(at, slot, toLink)
		return
	}
	w.push(at, slot, w.owner(w.packet(slot)))
}

// owner is the client that a packet is for.
func (w *wan) owner(b []byte) stage {
	if a, _ := netip.AddrFromSlice(b[16:20]); a == neighbourAddr {
		return toNeighbour
	}
	return toClient
}

func (p *path) arrive(way int, leave, wobble int64) int64 {
	at := max(leave+p.delay+wobble, p.last[way])
	p.last[way] = at
	return at
}

func (w *wan) wobble(p *path) int64 {
	if p.jitter == 0 {
		return 0
	}
	return w.rng.Int64N(p.jitter)
}

func (w *wan) unlucky() bool { return w.loss > 0 && w.rng.Float64() < w.loss }

// next returns the first packet that is to be handed over by now. The caller releases its slot.
func (w *wan) next(now int64) (d due, ok bool) {
	for len(w.heap) > 0 && w.heap[0].at <= now {
		d = w.pop()
		if d.next != toLink {
			w.late.add(time.Duration(d.at), time.Duration(now))
			return d, true
		}
		// The link's time is that of the packet, not that of a late look at it.
		size := float64(w.sizes[d.slot])
		begin := max(d.at, w.busy)
		if float64(begin-d.at)*w.link.Rate/1e9+size > float64(w.link.Queue) {
			w.drop(d.slot)
			continue
		}
		w.busy = begin + int64(size/w.link.Rate*1e9)
		w.push(w.busy, d.slot, w.owner(w.packet(d.slot)))
	}
	return due{}, false
}

// add notes a packet that was due and when it was handed over.
func (l *Late) add(due, now time.Duration) {
	l.Packets++
	l.Worst = max(l.Worst, now-due)
	if now-due > tolerable {
		l.Many++
	}
	if now-due < leastStill {
		return
	}
	// The first packet that is handed over after such a time was due the longest.
	if n := len(l.Still); n < mostStill && (n == 0 || l.Still[n-1].To < due) {
		l.Still = append(l.Still, Still{due, now})
	}
}

// wake is when next has something to do; ok is false when nothing is in flight.
func (w *wan) wake() (at int64, ok bool) {
	if len(w.heap) == 0 {
		return 0, false
	}
	return w.heap[0].at, true
}

func (w *wan) push(at int64, slot int32, next stage) {
	w.seq++
	d := due{at, w.seq, slot, next}
	h := append(w.heap, d)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !d.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = d
	w.heap = h
}

func (w *wan) pop() due {
	h := w.heap
	top := h[0]
	d := h[len(h)-1]
	h = h[:len(h)-1]
	w.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(d) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = d
	return top
}
