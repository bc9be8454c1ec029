package store

import (
	"encoding/binary"
	"sync/atomic"
)

// known remembers in memory which payloads the archive may hold, so that a page
// with a new one, which is what most pages are, costs no read. It may say maybe
// of a payload that is not there, never no of one that is.
//
// Rows of earlier runs are read in the background; until they all are, every
// answer is maybe. The committer asks and adds; before belongs to the reader
// until it is published and changes no more after that.
type known struct {
	before atomic.Pointer[sieve] // rows from before this run
	since  sieve
	stop   chan struct{}
	done   chan struct{}
}

// start reads the rows in the background. A store without any is known at once.
func (k *known) start(s *Store, empty bool) {
	k.stop, k.done = make(chan struct{}), make(chan struct{})
	if empty {
		k.before.Store(new(sieve))
		close(k.done)
		return
	}
	stop := k.stop // close forgets it
	go func() {
		defer close(k.done)
		v := new(sieve)
		n, stopped := 0, false
		err := s.Scan([]byte{digestRow}, []byte{digestRow + 1}, func(key, _ []byte) bool {
			if n++; n%1024 == 0 {
				select {
				case <-stop:
					stopped = true
					return false
				default:
				}
			}
			if len(key) == 17 {
				v.add([16]byte(key[1:]))
			}
			return true
		})
		// After an error payloads are looked up as before; whoever reads next
		// meets the error too.
		if err == nil && !stopped {
			k.before.Store(v)
		}
	}()
}

// close ends the reading. When Pebble is stuck there is nobody to wait for.
func (k *known) close(stuck <-chan struct{}) {
	if k.stop == nil {
		return
	}
	close(k.stop)
	k.stop = nil
	select {
	case <-k.done:
	case <-stuck:
	}
}

func (k *known) add(sum [16]byte) { k.since.add(sum) }

// maybe is false when no record has this payload.
func (k *known) maybe(sum [16]byte) bool {
	before := k.before.Load()
	return before == nil || before.maybe(sum) || k.since.maybe(sum)
}

// sieve is a Bloom filter that grows: when a layer is full the next one has
// twice its size. A lookup touches one cache line of each layer, seven bits of
// it. Keys are digests, so their own bits serve as hashes. At the limit it takes
// more keys and lets more through. The zero value is empty.
type sieve struct {
	layers [][]line512
	room   int // keys the last layer still takes
}

type line512 [8]uint64

const (
	firstLayer = 1 << 11 // lines, 128 KiB
	maxLayers  = 9       // 64 MiB, 45 million keys
	lineKeys   = 43      // 12 bits for each
)

func (s *sieve) add(sum [16]byte) {
	if s.room == 0 && len(s.layers) < maxLayers {
		n := firstLayer << len(s.layers)
		s.layers = append(s.layers, make([]line512, n))
		s.room = n * lineKeys
	}
	s.room = max(s.room-1, 0)
	l, h := spot(s.layers[len(s.layers)-1], sum)
	for range 7 {
		l[h>>6&7] |= 1 << (h & 63)
		h >>= 9
	}
}

func (s *sieve) maybe(sum [16]byte) bool {
	for _, layer := range s.layers {
		l, h := spot(layer, sum)
		n := 0
		for n < 7 && l[h>>6&7]&(1<<(h&63)) != 0 {
			h >>= 9
			n++
		}
		if n == 7 {
			return true
		}
	}
	return false
}

func spot(layer []line512, sum [16]byte) (*line512, uint64) {
	at := binary.LittleEndian.Uint64(sum[:]) & uint64(len(layer)-1)
	return &layer[at], binary.LittleEndian.Uint64(sum[8:])
}
