package overlay

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"weir/page"
)

// Owners says which node should own each partition. Every node finds the same
// without asking, and when a node comes or goes few partitions move but those that
// it gains or had.
//
// Each node bids for each partition with a number that hangs on both names, and the
// best bid wins (rendezvous hashing, Thaler and Ravishankar 1998). Left to chance, one
// node of ten would have a third more than its share: so nobody owns more than that,
// rounded up, and what a node has no room for goes to the next best bid (after
// Mirrokni et al. 2018). Nodes that drain own nothing.
//
// Not safe for concurrent use.
type Owners struct {
	peers  []ranked // in the order of their names
	owners []string // by partition
	heirs  []string // by partition, see Next; nil: not worked out yet
}

// ranked is a node that may own partitions.
type ranked struct {
	name   string
	sum    uint64
	weight uint64
}

// bid is what a node offers for a partition: the lowest wins, and of equal ones that
// of the first name.
type bid struct {
	cost uint64
	peer int
}

// NewOwners returns the owners of so many partitions while there are no nodes.
func NewOwners(parts int) *Owners { return &Owners{owners: make([]string, parts)} }

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
	if slices.Equal(o.peers, next) {
		return nil
	}
	o.peers, o.heirs = next, nil
	var changed []int
	for p, name := range o.settle(o.topBids(), nobody) {
		if o.owners[p] != name {
			changed = append(changed, p)
			o.owners[p] = name
		}
	}
	return changed
}

// Of returns the node that should own a partition; none while there are no nodes.
func (o *Owners) Of(part int) string { return o.owners[part] }

// maxHeirs is up to how many nodes Next is exact. Where there are more, each has so few
// partitions that one which goes elsewhere is soon read.
const maxHeirs = 64

// Next returns the node that should own a partition if its owner went: the best other
// bidder, or, in clusters that are not large, whoever would have room for it then. It
// is none if there is nobody else.
func (o *Owners) Next(part int) string {
	if o.heirs == nil {
		o.heirs = o.inherit()
	}
	return o.heirs[part]
}

func (o *Owners) inherit() []string {
	heirs := make([]string, len(o.owners))
	switch {
	case len(o.peers) < 2:
	case len(o.peers) > maxHeirs:
		for p := range heirs {
			heirs[p] = o.Candidates(p, 2)[1]
		}
	default:
		bids := o.topBids()
		for gone := range o.peers {
			for p, name := range o.settle(bids, gone) {
				if o.owners[p] == o.peers[gone].name {
					heirs[p] = name
				}
			}
		}
	}
	return heirs
}

// Candidates returns up to k nodes for a partition, its owner first, then the other
// bidders: whoever is nearest to a host among them may fetch its pages.
func (o *Owners) Candidates(part, k int) []string {
	names := make([]string, 0, k)
	if len(o.peers) == 0 || k == 0 {
		return names
	}
	names = append(names, o.owners[part])
	for _, b := range o.bids(part, k+1) {
		if len(names) == k {
			break
		}
		if name := o.peers[b.peer].name; name != names[0] {
			names = append(names, name)
		}
	}
	return names
}

// topBids returns the best bids for each partition.
func (o *Owners) topBids() [][]bid {
	bids := make([][]bid, len(o.owners))
	for p := range bids {
		bids[p] = o.bids(p, fewBids)
	}
	return bids
}

const nobody = -1

// settle gives each node but one its share of the partitions, rounded down, and then
// one more to some.
func (o *Owners) settle(bids [][]bid, but int) []string {
	owners := make([]string, len(o.owners))
	if len(o.peers) == 0 {
		return owners
	}
	total := uint64(0)
	for i := range o.peers {
		if i != but {
			total += o.peers[i].weight
		}
	}
	share := make([]int, len(o.peers))
	more := make([]int, len(o.peers))
	for i := range o.peers {
		if i != but {
			share[i], more[i] = int(uint64(len(owners))*o.peers[i].weight/total), 1
		}
	}
	o.match(owners, bids, share)
	o.match(owners, bids, more)
	return owners
}

// held is a partition that a node has, at the cost of its bid.
type held struct {
	cost uint64
	part int
}

func worse(a, b held) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.part, b.part)) }

// match gives each partition that has no owner to the best of its bidders that has
// room for it, or would rather have it than one that it was just given. That is a
// stable marriage (Gale and Shapley 1962): the same whatever is tried first.
func (o *Owners) match(owners []string, bids [][]bid, room []int) {
	if slices.Max(room) == 0 {
		return
	}
	has := make([][]held, len(o.peers)) // in the order of costs
	asked := make([]int, len(owners))   // of a partition: how many bidders were tried
	takes := func(part int, b bid) bool {
		n := len(has[b.peer])
		return n < room[b.peer] || n > 0 && worse(held{b.cost, part}, has[b.peer][n-1]) < 0
	}
	for p := range owners {
		if owners[p] != "" {
			continue
		}
		for at := p; ; {
			var b bid
			ok := false
			for ; !ok && asked[at] < len(bids[at]); asked[at]++ {
				b = bids[at][asked[at]]
				ok = takes(at, b)
			}
			if !ok {
				if b, ok = o.best(at, takes); !ok {
					break
				}
			}
			i := b.peer
			n, _ := slices.BinarySearchFunc(has[i], held{b.cost, at}, worse)
			has[i] = slices.Insert(has[i], n, held{b.cost, at})
			if len(has[i]) <= room[i] {
				break
			}
			at = has[i][room[i]].part
			has[i] = has[i][:room[i]]
		}
	}
	for i := range has {
		for _, h := range has[i] {
			owners[h.part] = o.peers[i].name
		}
	}
}

// fewBids is how many bids for a partition are made at first. Hardly any partition
// needs more, and with thousands of nodes and partitions all of them are gigabytes.
const fewBids = 16

// bids returns the n best that nodes bid for a partition, the best first.
func (o *Owners) bids(part, n int) []bid {
	n = min(n, len(o.peers))
	list := make([]bid, 0, n+1)
	// The logarithm is what takes time, and most bids are no good: who has drawn less
	// than the last on the list, and not nearly the same, at no more weight, costs more.
	low, weight := uint64(0), uint64(0)
	for i := range o.peers {
		r := &o.peers[i]
		h := r.draw(part)
		if h < low && r.weight <= weight {
			continue
		}
		b := bid{r.cost(h), i}
		at, _ := slices.BinarySearchFunc(list, b, better)
		list = slices.Insert(list, at, b)
		if len(list) > n {
			list = list[:n]
		}
		if len(list) == n {
			last := &o.peers[list[n-1].peer]
			low, weight = last.draw(part), last.weight
			low -= low >> 24
		}
	}
	return list
}

// best returns the best bid for a partition of a node that takes it. Who has refused it
// once does so again, for it has only come to better ones since.
func (o *Owners) best(part int, takes func(part int, b bid) bool) (best bid, ok bool) {
	for i := range o.peers {
		b := bid{o.peers[i].cost(o.peers[i].draw(part)), i}
		if takes(part, b) && (!ok || better(b, best) < 0) {
			best, ok = b, true
		}
	}
	return best, ok
}

func better(a, b bid) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.peer, b.peer)) }

// draw is a number that hangs on the names of the node and the partition.
func (r *ranked) draw(part int) uint64 {
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], uint64(part))
	binary.LittleEndian.PutUint64(key[8:], r.sum)
	return page.Sum(key[:])
}

// cost is -log(u)/weight, where u is the number drawn as a part of 1: the chance to
// have the least cost is proportional to the weight. It is worked out in integers, for
// nodes on all machines must come to the same.
func (r *ranked) cost(drawn uint64) uint64 {
	return (negLog(drawn) << (63 - logBits - 6)) / r.weight
}

const logBits = 32

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
		two := hi >> 63 // it is 2 or more
		frac = frac<<1 | two
		m = hi<<(1-two) | lo>>63&(1-two)
	}
	return uint64(zeros+1)<<logBits - frac
}

// With returns the owners among other nodes, and leaves o as it was.
func (o *Owners) With(peers []Peer) *Owners {
	n := &Owners{peers: o.peers, owners: slices.Clone(o.owners)}
	n.Set(peers)
	return n
}
