package parse

import "hash/maphash"

// seed keeps pages from choosing what collides. Nothing that is returned
// depends on it.
var seed = maphash.MakeSeed()

func hashBytes(b []byte) uint64 { return maphash.Bytes(seed, b) }

func hashString(s string) uint64 { return maphash.String(seed, s) }

// table finds the places of things in a slice by their hash. Whether a place
// found is the right one is for the caller to see. Emptying it costs nothing,
// so a table that was large once is cheap for the small page that follows. The
// zero value is ready.
type table struct {
	slots []slot // a power of two of them, at most half of them in use
	round uint32 // slots of other rounds are free
	used  int
}

type slot struct {
	hash  uint64
	round uint32
	place int32
}

const minSlots = 128

func (t *table) reset() {
	t.used = 0
	if t.round++; t.round == 0 || len(t.slots) > 4*keep {
		t.slots, t.round = nil, 1
	}
}

func (t *table) add(h uint64, place int) {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	t.put(slot{h, t.round, int32(place)})
	t.used++
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, max(minSlots, 2*len(old)))
	if t.round == 0 {
		t.round = 1
	}
	for _, s := range old {
		if s.round == t.round {
			t.put(s)
		}
	}
}

func (t *table) put(s slot) {
	mask := uint64(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].round == t.round {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// probe begins to look for a hash.
func (t *table) probe(h uint64) probe { return probe{t: t, hash: h, at: h} }

// probe is a walk over the places of one hash.
type probe struct {
	t     *table
	hash  uint64
	at    uint64
	place int
}

// next moves to the next place. It is false after the last.
func (p *probe) next() bool {
	if p.t.used == 0 {
		return false
	}
	mask := uint64(len(p.t.slots) - 1)
	for {
		s := &p.t.slots[p.at&mask]
		if s.round != p.t.round {
			return false
		}
		p.at++
		if s.hash == p.hash {
			p.place = int(s.place)
			return true
		}
	}
}
