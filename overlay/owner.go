package overlay

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"weir/page"
)

// Owners says which node should own each partition: the one with the highest random
// weight (Thaler and Ravishankar 1998). Every node finds the same without asking,
// and when a node comes or goes only the partitions move that it gains or had.
// Nodes that drain own nothing.
//
// Not safe for concurrent use.
type Owners struct {
	peers []ranked // in the order of their names
	best  []bid    // by partition
}

// ranked is a node that may own partitions.
type ranked struct {
	name   string
	sum    uint64
	weight uint64
}

// bid is what a node offers for a partition; the lowest wins, and of equal ones
// that of the first name.
type bid struct {
	name string
	cost uint64
}

func (b bid) beats(c bid) bool {
	return c.name == "" || b.cost < c.cost || b.cost == c.cost && b.name < c.name
}

// NewOwners returns the owners of so many partitions while there are no nodes.
func NewOwners(parts int) *Owners { return &Owners{best: make([]bid, parts)} }

// Set tells which nodes there are, and returns the partitions that should have
// another owner than before, in order.
func (o *Owners) Set(peers []Peer) []int {
	next := make([]ranked, 0, len(peers))
	for _, p := range peers {
		if !p.Draining {
			next = append(next, ranked{name: p.Name, sum: page.Sum(p.Name), weight: uint64(max(p.Weight, 1))})
		}
	}
	slices.SortFunc(next, func(a, b ranked) int { return strings.Compare(a.name, b.name) })
	next = slices.CompactFunc(next, func(a, b ranked) bool { return a.name == b.name })

	lost, gained := compare(o.peers, next)
	o.peers = next
	var changed []int
	for p := range o.best {
		old := o.best[p].name
		_, gone := slices.BinarySearchFunc(lost, old, byName)
		if gone {
			o.best[p] = bid{}
			o.compete(p, o.peers)
		} else {
			o.compete(p, gained)
		}
		if o.best[p].name != old {
			changed = append(changed, p)
		}
	}
	return changed
}

func byName(r ranked, name string) int { return strings.Compare(r.name, name) }

// compare returns who is worth less in b than in a, and who is worth more.
func compare(a, b []ranked) (less, more []ranked) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].name < b[0].name:
			less = append(less, a[0])
			a = a[1:]
		case len(a) == 0 || b[0].name < a[0].name:
			more = append(more, b[0])
			b = b[1:]
		default:
			if b[0].weight < a[0].weight {
				less = append(less, a[0])
			} else if b[0].weight > a[0].weight {
				more = append(more, b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	return less, more
}

// compete lets nodes bid for a partition.
func (o *Owners) compete(part int, peers []ranked) {
	for i := range peers {
		if b := (bid{peers[i].name, peers[i].cost(part)}); b.beats(o.best[part]) {
			o.best[part] = b
		}
	}
}

// Of returns the node that should own a partition; none while there are no nodes.
func (o *Owners) Of(part int) string { return o.best[part].name }

// Candidates returns the k nodes that are next in line for a partition, its owner
// first: whoever is nearest to a host among them may fetch its pages.
func (o *Owners) Candidates(part, k int) []string {
	top := make([]bid, 0, k+1)
	for i := range o.peers {
		b := bid{o.peers[i].name, o.peers[i].cost(part)}
		at := len(top)
		for at > 0 && b.beats(top[at-1]) {
			at--
		}
		if at == k {
			continue
		}
		top = slices.Insert(top, at, b)
		top = top[:min(len(top), k)]
	}
	names := make([]string, len(top))
	for i := range top {
		names[i] = top[i].name
	}
	return names
}

// cost is -log(u)/weight for a number u between 0 and 1 that hangs on both names:
// the chance to have the least cost is proportional to the weight. It is worked out
// in integers, for nodes on all machines must come to the same.
func (r *ranked) cost(part int) uint64 {
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], uint64(part))
	binary.LittleEndian.PutUint64(key[8:], r.sum)
	return (negLog(page.Sum(key[:])) << (63 - logBits - 6)) / r.weight
}

const logBits = 40

// negLog returns 64 minus the binary logarithm of h, with logBits binary digits
// behind the point: squaring a number doubles its logarithm, so each square gives
// the next digit.
func negLog(h uint64) uint64 {
	h |= 1
	zeros := bits.LeadingZeros64(h)
	m := h << zeros // the mantissa, from 1 to 2: its highest bit counts 1
	frac := uint64(0)
	for range logBits {
		hi, lo := bits.Mul64(m, m)
		frac <<= 1
		if hi>>63 != 0 { // 2 or more
			frac |= 1
			m = hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return uint64(zeros+1)<<logBits - frac
}

// With returns the owners among other nodes, and leaves o as it was.
func (o *Owners) With(peers []Peer) *Owners {
	n := &Owners{peers: o.peers, best: slices.Clone(o.best)}
	n.Set(peers)
	return n
}
