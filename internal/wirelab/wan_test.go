package wirelab

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// small is a web of one server with pages of these sizes.
func small(s Server, sizes ...int) Web {
	s.Name, s.Addr = "host00.lab.test", netip.AddrFrom4([4]byte{10, 77, 1, 10})
	w := Web{Servers: []Server{s}}
	for _, n := range sizes {
		w.Pages = append(w.Pages, Page{Size: n})
	}
	return w
}

// segment fills a slot with an IP packet.
func segment(w *wan, from, to [4]byte) int32 {
	slot := w.slot()
	b := w.room(slot)
	clear(b[:20])
	b[0] = 0x45
	copy(b[12:], from[:])
	copy(b[16:], to[:])
	return slot
}

// arrival is a packet that came out of a wan in virtual time.
type arrival struct {
	at   int64
	slot int32
	to   stage
}

// drainAll lets time pass until nothing is in flight.
func drainAll(w *wan) (list []arrival) {
	for {
		at, some := w.wake()
		if !some {
			return list
		}
		for {
			d, ok := w.next(at)
			if !ok {
				break
			}
			list = append(list, arrival{at, d.slot, d.next})
		}
	}
}

func one(s Server, link Link) (*wan, [4]byte) {
	web := small(s)
	return newWAN(Config{Web: web, Link: link}), web.Servers[0].Addr.As4()
}

func TestDelayIsHalfARoundTrip(t *testing.T) {
	w, server := one(Server{RTT: 80 * time.Millisecond}, Link{})
	w.up(5, segment(w, clientAddr.As4(), server), 60)
	w.down(7, segment(w, server, clientAddr.As4()), 1500)
	got := drainAll(w)
	if len(got) != 2 || got[0].at != 5+40e6 || got[0].to != toServer || got[1].at != 7+40e6 || got[1].to != toClient {
		t.Errorf("%+v", got)
	}
}

// Times without any movement are kept, once each, if they were long.
func TestLate(t *testing.T) {
	const ms = time.Millisecond
	var l Late
	for _, p := range [][2]time.Duration{{0, ms}, {5 * ms, 8 * ms}, {20 * ms, 50 * ms}, {35 * ms, 50 * ms}, {50 * ms, 51 * ms}, {80 * ms, 90 * ms}} {
		l.add(p[0], p[1])
	}
	if l.Packets != 6 || l.Many != 4 || l.Worst != 30*ms || !slices.Equal(l.Still, []Still{{20 * ms, 50 * ms}, {80 * ms, 90 * ms}}) {
		t.Errorf("%+v", l)
	}
	for i := range 2 * mostStill {
		at := time.Duration(i) * time.Second
		l.add(at, at+20*ms)
	}
	if len(l.Still) != mostStill {
		t.Errorf("%d times are kept", len(l.Still))
	}
}

func TestStrangersAreDropped(t *testing.T) {
	w, server := one(Server{}, Link{})
	w.up(0, segment(w, clientAddr.As4(), [4]byte{10, 77, 200, 1}), 60)
	w.up(0, segment(w, clientAddr.As4(), [4]byte{8, 8, 8, 8}), 60)
	slot := segment(w, clientAddr.As4(), server)
	w.room(slot)[0] = 0x60 // IPv6
	w.up(0, slot, 60)
	w.down(0, segment(w, server, clientAddr.As4()), 10) // too short to have addresses
	if got := drainAll(w); len(got) != 0 || w.dropped != 4 {
		t.Errorf("%+v arrived, %d dropped", got, w.dropped)
	}
}

// A server sends no faster than its rate, its packets keep their order, and
// what waits for it is bounded.
func TestServerRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rate, queue = 1e6, 30_000
		s := Server{RTT: 20 * time.Millisecond, Jitter: time.Duration(rapid.IntRange(0, 10).Draw(t, "jitter")) * time.Millisecond, Rate: rate, Queue: queue}
		w, server := one(s, Link{})
		now, sent := int64(0), int32(0)
		var order []int32
		n := rapid.IntRange(1, 200).Draw(t, "packets")
		for range n {
			now += int64(rapid.IntRange(0, 3e6).Draw(t, "gap"))
			size := rapid.IntRange(20, 1500).Draw(t, "size")
			before := w.dropped
			slot := segment(w, server, clientAddr.As4())
			w.down(now, slot, size)
			if w.dropped == before {
				order = append(order, slot)
				sent += int32(size)
			}
		}
		got := drainAll(w)
		if len(got) != len(order) {
			t.Fatalf("%d arrived of %d that were taken", len(got), len(order))
		}
		for i, a := range got {
			if a.slot != order[i] {
				t.Fatalf("packet %d was overtaken", i)
			}
		}
		last := got[len(got)-1].at
		if least := int64(float64(sent)/rate*1e9) + 10e6 - int64(len(got)); last < least {
			t.Fatalf("%d bytes were there at %v, which takes %v", sent, time.Duration(last), time.Duration(least))
		}
		if most := now + int64(queue/rate*1e9) + 10e6 + int64(s.Jitter); last > most {
			t.Fatalf("the last came at %v, after more than a queue's time (%v)", time.Duration(last), time.Duration(most))
		}
	})
}

// The link is one line for the client and its neighbour: what both get is no more than
// it carries, and a full queue drops.
func TestLink(t *testing.T) {
	w, server := one(Server{RTT: 20 * time.Millisecond}, Link{Rate: 1e6, Queue: 15_000})
	for i := range 20 {
		to := clientAddr
		if i%2 == 1 {
			to = neighbourAddr
		}
		w.down(0, segment(w, server, to.As4()), 1500)
	}
	got := drainAll(w)
	if len(got) != 10 || w.dropped != 10 {
		t.Fatalf("%d arrived, %d dropped", len(got), w.dropped)
	}
	for i, a := range got {
		want := stage(toClient)
		if i%2 == 1 {
			want = toNeighbour
		}
		if a.at != 10e6+int64(i+1)*1.5e6 || a.to != want {
			t.Errorf("packet %d for %d at %v", i, a.to, time.Duration(a.at))
		}
	}
}

func TestLoss(t *testing.T) {
	web := small(Server{})
	w := newWAN(Config{Web: web, Loss: 0.25})
	for range 4000 {
		w.up(0, segment(w, clientAddr.As4(), web.Servers[0].Addr.As4()), 60)
		for _, a := range drainAll(w) {
			w.release(a.slot)
		}
	}
	if w.dropped < 800 || w.dropped > 1200 {
		t.Errorf("%d of 4000 were lost", w.dropped)
	}
	if len(w.store) != 1 {
		t.Errorf("one packet in flight took %d chunks of slots", len(w.store))
	}
}

// A SYN that is sent again is the same connection; a port that is used again is another.
func TestBook(t *testing.T) {
	k := newBook()
	send := func(at time.Duration, flags byte) {
		b := make([]byte, 40)
		b[0], b[9], b[20], b[21], b[33] = 0x45, 6, 0x12, 0x34, flags
		k.out(at, b, 3)
	}
	get := func(at time.Duration) {
		b := make([]byte, 1500)
		b[0], b[9], b[22], b[23] = 0x45, 6, 0x12, 0x34
		k.in(at, at, b, 3)
	}
	send(1, flagSYN)
	send(2, flagSYN)
	get(3)
	get(4)
	send(5, flagFIN)
	send(6, flagRST)
	send(7, flagSYN)
	want := []Flow{{Server: 3, Port: 0x1234, Began: 1, Last: 4, Ended: 5, Bytes: 3000}, {Server: 3, Port: 0x1234, Began: 7, Last: 7}}
	if len(k.flows) != 2 || k.flows[0] != want[0] || k.flows[1] != want[1] {
		t.Errorf("%+v", k.flows)
	}
	if got := Total(k.received.all()); got != 3000 || len(k.sent.all()) != 5 {
		t.Errorf("%d bytes received, %d packets sent", got, len(k.sent.all()))
	}
	k.in(8, 8, []byte{0x45}, 3) // whatever it is, it is counted
	k.out(8, nil, -1)
	if Total(k.received.all()) != 3001 {
		t.Error("a broken packet was not counted")
	}
}
