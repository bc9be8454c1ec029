package overlay

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func crew(n int) []Peer {
	peers := make([]Peer, n)
	for i := range peers {
		peers[i] = Peer{Name: fmt.Sprintf("node-%02d", i), Session: uint64(i + 1)}
	}
	return peers
}

func shares(o *Owners, parts int) map[string]int {
	n := map[string]int{}
	for p := range parts {
		n[o.Of(p)]++
	}
	return n
}

// Shares are as even as chance makes them: with p partitions and n nodes a share
// strays from p/n by about the square root of it. Many namings tell chance from bias.
func TestOwnersShareEvenly(t *testing.T) {
	for _, n := range []int{3, 5, 10} {
		const crews = 40
		worst, sum := 0.0, 0.0
		for c := range crews {
			peers := crew(n)
			for i := range peers {
				peers[i].Name = fmt.Sprintf("c%d-%d", c, i)
			}
			o := NewOwners(Parts)
			o.Set(peers)
			fair := Parts / float64(n)
			for _, got := range shares(o, Parts) {
				off := math.Abs(float64(got)-fair) / fair
				worst = max(worst, off)
				sum += off * off
			}
		}
		fair := Parts / float64(n)
		chance := math.Sqrt((1 - 1/float64(n)) / fair)
		if got := math.Sqrt(sum / float64(crews*n)); got > 1.15*chance || got < chance/1.15 {
			t.Errorf("%d nodes: shares stray by %.3f, chance alone by %.3f", n, got, chance)
		}
		if worst > 4.5*chance {
			t.Errorf("%d nodes: a share strays by %.2f", n, worst)
		}
	}
}

func TestOwnersFollowWeights(t *testing.T) {
	const parts = 60_000
	o := NewOwners(parts)
	o.Set([]Peer{{Name: "a"}, {Name: "b", Weight: 2}, {Name: "c", Weight: 3}, {Name: "d", Weight: 1000, Draining: true}})
	got := shares(o, parts)
	for name, want := range map[string]int{"a": 10_000, "b": 20_000, "c": 30_000} {
		if off := math.Abs(float64(got[name]-want)) / float64(want); off > 0.04 {
			t.Errorf("%s owns %d partitions, its weight says %d", name, got[name], want)
		}
	}
	if got["d"] != 0 {
		t.Errorf("a node that drains owns %d partitions", got["d"])
	}
}

// Whatever comes and goes, the table is what it would be if it were made anew, it
// tells of every change, and only those partitions move that must.
func TestOwnersMoveLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const parts = 64
		all := crew(8)
		o := NewOwners(parts)
		var before []Peer
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			var now []Peer
			for _, p := range all {
				if rapid.IntRange(0, 3).Draw(t, "there") > 0 {
					p.Draining = rapid.IntRange(0, 5).Draw(t, "draining") == 0
					p.Weight = rapid.SampledFrom([]uint16{0, 1, 1, 1, 3, 65535}).Draw(t, "weight")
					now = append(now, p)
				}
			}
			old := make([]string, parts)
			for p := range old {
				old[p] = o.Of(p)
			}
			changed := o.Set(now)
			fresh := NewOwners(parts)
			fresh.Set(now)
			for p := range parts {
				if o.Of(p) != fresh.Of(p) {
					t.Fatalf("partition %d goes to %q, from scratch to %q", p, o.Of(p), fresh.Of(p))
				}
				if slices.Contains(changed, p) != (old[p] != o.Of(p)) {
					t.Fatalf("partition %d went from %q to %q, told of %v", p, old[p], o.Of(p), changed)
				}
				if c := o.Candidates(p, 1); len(c) > 0 && c[0] != o.Of(p) || len(c) == 0 && o.Of(p) != "" {
					t.Fatalf("partition %d is owned by %q, its first candidate is %q", p, o.Of(p), c)
				}
				if old[p] != o.Of(p) && worth(now, old[p]) >= worth(before, old[p]) && worth(now, o.Of(p)) <= worth(before, o.Of(p)) {
					t.Fatalf("partition %d moved from %q to %q for no reason", p, old[p], o.Of(p))
				}
			}
			before = now
		}
	})
}

// worth is a node's weight; nothing while it owns nothing.
func worth(peers []Peer, name string) int {
	for _, p := range peers {
		if p.Name == name && !p.Draining {
			return int(max(p.Weight, 1))
		}
	}
	return 0
}

func TestCandidates(t *testing.T) {
	o := NewOwners(Parts)
	peers := crew(9)
	o.Set(peers)
	first := map[string]int{}
	for p := range Parts {
		c := o.Candidates(p, 3)
		if len(c) != 3 || c[0] != o.Of(p) || c[0] == c[1] || c[1] == c[2] || c[0] == c[2] {
			t.Fatalf("partition %d of %s: candidates %v", p, o.Of(p), c)
		}
		first[c[1]]++
		// When the owner goes, the second is the owner.
		rest := slices.DeleteFunc(slices.Clone(peers), func(x Peer) bool { return x.Name == c[0] })
		other := NewOwners(Parts)
		other.Set(rest)
		if other.Of(p) != c[1] {
			t.Fatalf("partition %d: without %s it goes to %s, not %s", p, c[0], other.Of(p), c[1])
		}
	}
	if len(first) != 9 {
		t.Errorf("second candidates are only %v", first)
	}
	if got := o.Candidates(0, 20); len(got) != 9 {
		t.Errorf("20 candidates of 9 nodes: %v", got)
	}
}

// A node that agrees on nothing else must agree on who owns what.
func TestOwnersAreFixed(t *testing.T) {
	o := NewOwners(8)
	o.Set([]Peer{{Name: "a"}, {Name: "b", Weight: 2}, {Name: "c"}})
	got := ""
	for p := range 8 {
		got += o.Of(p)
	}
	if want := "bbcabbbc"; got != want {
		t.Errorf("partitions go to %s, want %s", got, want)
	}
}

func TestNegLog(t *testing.T) {
	for _, h := range []uint64{1, 2, 3, 1 << 20, 1<<63 - 1, 1 << 63, 3 << 62, math.MaxUint64} {
		want := 64 - math.Log2(float64(h|1))
		if got := float64(negLog(h)) / (1 << logBits); math.Abs(got-want) > 1e-11 {
			t.Errorf("-log(%#x) is %v, want %v", h, got, want)
		}
	}
}

func BenchmarkOwnersJoin(b *testing.B) {
	peers := crew(100)
	o := NewOwners(Parts)
	o.Set(peers[1:])
	for i := 0; b.Loop(); i++ {
		o.Set(peers[i&1:])
	}
}
