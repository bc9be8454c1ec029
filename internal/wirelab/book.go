package wirelab

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"time"
)

// pageOfBook is how many records are allocated at once; a long log never moves.
const pageOfBook = 1 << 15

// log is a growing list of packets.
type log struct{ parts [][]Packet }

func (l *log) add(p Packet) {
	n := len(l.parts)
	if n == 0 || len(l.parts[n-1]) == pageOfBook {
		l.parts = append(l.parts, make([]Packet, 0, pageOfBook))
		n++
	}
	l.parts[n-1] = append(l.parts[n-1], p)
}

func (l *log) all() []Packet { return slices.Concat(l.parts...) }

// book is what the client's interface saw, by the process that moved the
// packets. It is safe for concurrent use; the mover locks it once a round.
type book struct {
	mu       sync.Mutex
	received log
	sent     log
	other    log // received by the neighbour
	flows    []Flow
	open     map[uint32]int32 // by server and port, into flows
}

func newBook() *book { return &book{open: make(map[uint32]int32)} }

const (
	flagFIN = 1
	flagSYN = 2
	flagRST = 4
)

// tcp reads what the book needs of a TCP segment.
func tcp(b []byte) (src, dst uint16, flags byte, ok bool) {
	if !isIPv4(b) || b[9] != 6 {
		return 0, 0, 0, false
	}
	h := int(b[0]&15) * 4
	if len(b) < h+20 {
		return 0, 0, 0, false
	}
	return binary.BigEndian.Uint16(b[h:]), binary.BigEndian.Uint16(b[h+2:]), b[h+13], true
}

// out notes a packet that the client sent to a server; server is -1 for none.
// The caller holds the lock, here and in in.
func (k *book) out(at time.Duration, b []byte, server int) {
	k.sent.add(Packet{At: at, Bytes: int32(len(b))})
	port, _, flags, ok := tcp(b)
	if !ok || server < 0 {
		return
	}
	key := uint32(server)<<16 | uint32(port)
	i, known := k.open[key]
	switch {
	case flags&flagSYN != 0:
		// A SYN that is sent again opens nothing new.
		if known && k.flows[i].Bytes == 0 {
			return
		}
		k.open[key] = int32(len(k.flows))
		k.flows = append(k.flows, Flow{Server: server, Port: port, Began: at, Last: at})
	case known && flags&(flagFIN|flagRST) != 0 && k.flows[i].Ended == 0:
		k.flows[i].Ended = at
	}
}

// in notes a packet that the client received, and when it should have.
func (k *book) in(at, due time.Duration, b []byte, server int) {
	k.received.add(Packet{at, int32(len(b)), int32(min((at - due).Microseconds(), math.MaxInt32))})
	_, port, _, ok := tcp(b)
	if !ok || server < 0 {
		return
	}
	i, known := k.open[uint32(server)<<16|uint32(port)]
	if !known {
		return
	}
	f := &k.flows[i]
	f.Bytes += int64(len(b))
	if len(b) > 100 { // more than an acknowledgement
		f.Last = at
	}
}
