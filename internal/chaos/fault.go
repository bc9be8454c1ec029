package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is what happens to a node.
type Kind int

// The faults.
const (
	Kill  Kind = iota // -9, and started again at the end
	Pause             // stopped and continued
	Cut               // nothing passes between it and the other nodes; the web is reached
	Mute              // what it sends to other nodes is lost
	Deaf              // what other nodes send to it is lost
	Part              // nothing passes between it and one other
	Dark              // nothing passes at all
	Drain             // hands over, leaves, and is started again at the end
	Join              // a spare is started, and leaves at the end
	Leave             // hands over and leaves, after a Join
)

var kindNames = [...]string{"kill", "pause", "cut", "mute", "deaf", "part", "dark", "drain", "join", "leave"}

func (k Kind) String() string { return kindNames[k] }

// Fault is something that happens to a node for a while.
type Fault struct {
	At, For time.Duration
	Kind    Kind
	Node    int // or Leader
	Other   int // of Part
}

// Leader stands for the node whose server leads when the fault begins.
const Leader = -1

func (f Fault) String() string {
	if f.Kind == Part {
		return fmt.Sprintf("%v: %s n%d from n%d for %v", f.At, f.Kind, f.Node, f.Other, f.For)
	}
	return fmt.Sprintf("%v: %s n%d for %v", f.At, f.Kind, f.Node, f.For)
}

// schedule draws what happens in a run. Every node has a fault for about a quarter of the time, by itself or with others; all
// of them are killed at once after a third of the time, and all have one fault or another at once after two thirds. Half of
// the faults are over before a session ends, the others last longer.
func schedule(seed uint64, nodes, spares int, length time.Duration) []Fault {
	r := rand.New(rand.NewPCG(seed, 0x776569722d637831))
	var out []Fault
	lasts := func(at time.Duration) time.Duration {
		d := time.Second + time.Duration(r.Int64N(int64(14*time.Second)))
		if r.IntN(2) == 0 {
			d = 15*time.Second + time.Duration(r.Int64N(int64(25*time.Second)))
		}
		return min(d, length-at).Round(time.Millisecond)
	}
	add := func(at time.Duration, k Kind, node int) {
		f := Fault{At: at.Round(time.Millisecond), For: lasts(at), Kind: k, Node: node}
		if k == Part {
			f.Other = (node + 1 + r.IntN(nodes-1)) % nodes
		}
		out = append(out, f)
	}
	mean := float64(60*time.Second) / float64(nodes)
	for at := time.Duration(r.ExpFloat64() * mean); at < length-time.Second; at += time.Duration(r.ExpFloat64() * mean) {
		k := Kind(r.IntN(int(Leave)))
		switch {
		case k != Join:
			add(at, k, r.IntN(nodes))
		case spares > 0:
			add(at, k, nodes+r.IntN(spares))
		}
	}
	for i := range nodes {
		add(length/3, Kill, i)
		add(length*2/3, Kind(r.IntN(int(Join))), i)
	}
	slices.SortStableFunc(out, func(a, b Fault) int { return int(a.At - b.At) })
	return out
}
