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
	// slots holds the number, plus one, of every name, at the first slot free from
	// where its hash points. At most three quarters are taken; their number is a
	// power of two.
	slots []uint32
}

func newRegister(seed uint64) *register {
	return &register{seed: seed, slots: make([]uint32, 16)}
}

// name is what page p was numbered for.
func (r *register) name(p int) uint64 { return r.names[p/chunk][p%chunk] }

// slot is where name is, or belongs.
func (r *register) slot(name uint64) int {
	mask := len(r.slots) - 1
	i := int(stir(name^r.seed, first)) & mask
	for r.slots[i] != 0 && r.name(int(r.slots[i]-1)) != name {
		i = (i + 1) & mask
	}
	return i
}

// find gives the number of name.
func (r *register) find(name uint64) (p int, ok bool) {
	p = int(r.slots[r.slot(name)])
	return p - 1, p > 0
}

// add gives the number of name, a new one if it has none.
func (r *register) add(name uint64) int {
	i := r.slot(name)
	if r.slots[i] != 0 {
		return int(r.slots[i] - 1)
	}
	if (r.pages+1)*4 > len(r.slots)*3 {
		r.grow()
		i = r.slot(name)
	}
	if r.pages%chunk == 0 {
		r.names = append(r.names, make([]uint64, chunk))
	}
	r.names[r.pages/chunk][r.pages%chunk] = name
	r.pages++
	r.slots[i] = uint32(r.pages)
	return r.pages - 1
}

func (r *register) grow() {
	r.slots = make([]uint32, 2*len(r.slots))
	for p := range r.pages {
		r.slots[r.slot(r.name(p))] = uint32(p + 1)
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
