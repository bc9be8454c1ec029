package fetch

import (
	"time"

	"weir/page"
)

// waste is what came over a connection in vain: bytes that had come before, as a
// server sends them that was not told in time, or beyond the window, as only a
// broken one does. The kernel throws them away, but they have been on the wire, so
// they are charged: packets with payload that brought the stream no further, and
// those beside one that did, if there are more of them than its bytes explain. Those
// that only came before one that was lost count again, as use, when it has come.
//
// How large they were the kernel does not say. A server that hears nothing sends
// its last packet again, to learn whether it arrived, and then from the first on.
type waste struct {
	packets int64
	bytes   int64
	start   int64 // of the stream's bytes: where the answer begins
	tail    int64 // bytes of the packet that brought the stream further last
	again   bool  // that one came again

	// In this second, which began at since:
	since  page.Time
	recent int64 // packets in vain
	doubt  int64 // packets beyond what news explains, which may have been small
	beside int64 // packets that came with news
	news   int64 // bytes of it
}

// A server is cut off when so many packets of a second came in vain, or so many more
// than its news explains, which may all have been small.
const (
	maxWaste = 64
	maxSmall = 4 * maxWaste
)

// maxDoubt is how many packets of a second are taken to be as large as they should
// be; who sends more again may send anything. As many that came beside news are taken
// to have been news in small packets, besides one for every full one.
const maxDoubt = 4

// leastUse is how many bytes packets bring the stream further by, on average, unless
// they are in vain: nobody sends a page in smaller ones.
const leastUse = 32

// wastePacket is the payload of a full packet, about, and leastFull what the largest
// packets hold at least: a server can make the kernel think less of them.
const (
	wastePacket = 1448
	leastFull   = 536
)

// arrival is what came between two looks.
type arrival struct {
	packets int64 // with payload
	early   int64 // of them before one that is missing
	bytes   int64 // by which they have brought the stream further
	stream  int64 // bytes that it has now
	full    int64 // that the largest packets hold
}

// see takes what came. It says whether more came in vain than can be borne.
func (w *waste) see(now page.Time, a arrival) (foul bool) {
	packets, came := a.packets, a.bytes
	switch {
	case packets == 0: // the end of a stream counts as a byte
	case came > 0:
		w.used(min(max(came/wastePacket-packets, 0), w.packets))
		w.again = false
		if w.tail = came - (packets-1)*wastePacket; w.tail <= 0 {
			w.tail = came / packets
		}
		w.tail = min(w.tail, wastePacket)
		w.beside += packets
		w.news += came
		if more := packets - 2*(came/max(min(a.full, wastePacket), leastFull)+1); more > 0 {
			w.doubt += more
			more = min(more, max(w.doubt-maxDoubt, 0))
			w.packets += more
			w.bytes += more * max(wastePacket-came/packets, 0)
		}
	default:
		for i := range packets {
			w.packets++
			w.recent++
			if i < a.early {
				w.bytes += wastePacket
				continue
			}
			w.bytes += w.size(a.stream)
			w.again = true
		}
	}
	if now.Sub(w.since) > time.Second {
		foul = w.recent > maxWaste || w.doubt > maxSmall || w.beside > maxWaste && w.news < w.beside*leastUse
		w.since, w.recent, w.doubt, w.beside, w.news = now, 0, 0, 0, 0
	}
	return foul
}

// used takes back packets that had only come early.
func (w *waste) used(packets int64) {
	if packets > 0 {
		w.bytes -= w.bytes * packets / w.packets
		w.packets -= packets
		w.recent -= min(packets, w.recent)
	}
}

// size is what the next packet in vain brings, about.
func (w *waste) size(stream int64) int64 {
	answer := stream - w.start
	switch {
	case w.recent > maxDoubt:
		return wastePacket
	case w.tail > 0 && !w.again: // though that was of the answer before
		return w.tail
	case answer <= 0:
		return wastePacket
	}
	return min(answer, wastePacket)
}
