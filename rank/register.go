package rank

import "math/bits"

// chunk is how many names grow at once. Names lie in chunks so that growing
// copies none of them, and what is taken is what is used.
const chunk = 1 << 12

// register numbers names from 0 in the order in which they come.
type register struct {
	seed  uint64
	names [][]uint64
	pages int
	// slots holds every name at the first slot free from where the low bits of its
	// hash point, as its number plus one; bits too high for that hold the hash's, so
	// that another name is hardly ever looked at. At most three quarters of the
	// slots are taken; their number is a power of two.
	slots []uint32
}

func newRegister(seed uint64) *register {
	return &register{seed: seed, slots: make([]uint32, 16)}
}

// name is what page p was numbered for.
func (r *register) name(p int) uint64 { return r.names[uint(p)/chunk][uint(p)%chunk] }

// slot is where name is, or belongs, with the high bits of its hash.
func (r *register) slot(name uint64) (i int, high uint32) {
	mask := uint32(len(r.slots) - 1)
	h := stir(name^r.seed, first)
	high = uint32(h>>32) &^ mask
	at := uint32(h) & mask
	for {
		s := r.slots[at]
		if s == 0 || s&^mask == high && r.name(number(s, mask)) == name {
			return int(at), high
		}
		at = (at + 1) & mask
	}
}

// number is that of the page in a slot, or -1.
func number(slot, mask uint32) int { return int(slot&mask) - 1 }

// find gives the number of name.
func (r *register) find(name uint64) (p int, ok bool) {
	i, _ := r.slot(name)
	p = number(r.slots[i], uint32(len(r.slots)-1))
	return p, p >= 0
}

// add gives the number of name, a new one if it has none.
func (r *register) add(name uint64) int {
	i, high := r.slot(name)
	if r.slots[i] != 0 {
		return number(r.slots[i], uint32(len(r.slots)-1))
	}
	if (r.pages+1)*4 > len(r.slots)*3 {
		r.grow()
		i, high = r.slot(name)
	}
	if r.pages%chunk == 0 {
		r.names = append(r.names, make([]uint64, chunk))
	}
	r.names[r.pages/chunk][r.pages%chunk] = name
	r.pages++
	r.slots[i] = high | uint32(r.pages)
	return r.pages - 1
}

func (r *register) grow() {
	r.slots = make([]uint32, 2*len(r.slots))
	for p := range r.pages {
		i, high := r.slot(r.name(p))
		r.slots[i] = high | uint32(p+1)
	}
}

// sampleSize is the most names an estimate keeps: it is off by 1% as a rule, and
// by less than 5% practically always.
const sampleSize = 1 << 14

// sample estimates how many different names it was given, keeping a few: those
// whose hash ends in a number of zeros that rises as they grow too many.
type sample struct {
	zeros int
	kept  *register
}

func newSample(seed uint64) *sample {
	return &sample{kept: newRegister(seed)}
}

func (s *sample) add(name uint64) {
	if s.picks(name) {
		s.kept.add(name)
	}
	for s.kept.pages > sampleSize {
		all := s.kept
		s.zeros++
		s.kept = newRegister(all.seed)
		for p := range all.pages {
			if name := all.name(p); s.picks(name) {
				s.kept.add(name)
			}
		}
	}
}

// picks asks another hash than the slots do, which would crowd there otherwise.
func (s *sample) picks(name uint64) bool {
	return bits.TrailingZeros64(stir(name^s.kept.seed, other)) >= s.zeros
}

func (s *sample) pages() int64 { return int64(s.kept.pages) << s.zeros }

// Two odd numbers without pattern.
const (
	first = 0x9e3779b97f4a7c15
	other = 0xd6e8feb86659fd93
)

// stir makes a hash of two numbers.
func stir(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
