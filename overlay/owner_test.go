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

// Each node has its share, rounded up or down, whatever the nodes are called.
func TestOwnersShareEvenly(t *testing.T) {
	for n := 1; n <= 80; n += 1 + n/4 {
		o := NewOwners(Parts)
		for c := range 5 {
			peers := crew(n)
			for i := range peers {
				peers[i].Name = fmt.Sprintf("c%d-%d", c, i)
			}
			o.Set(peers)
			got := shares(o, Parts)
			for _, p := range peers {
				if got[p.Name] != Parts/n && got[p.Name] != Parts/n+1 {
					t.Errorf("of %d nodes, one owns %d partitions", n, got[p.Name])
				}
			}
		}
	}
}

// When a node joins or goes, hardly more moves than what it gains or had.
func TestOwnersMoveLittle(t *testing.T) {
	for _, n := range []int{3, 5, 10} {
		moved, must := 0, 0
		for c := range 20 {
			peers := crew(n + 1)
			for i := range peers {
				peers[i].Name = fmt.Sprintf("c%d-%d", c, i)
			}
			o := NewOwners(Parts)
			o.Set(peers[1:])
			moved += len(o.Set(peers)) // one joins
			must += shares(o, Parts)[peers[0].Name]
			must += shares(o, Parts)[peers[n].Name]
			moved += len(o.Set(peers[:n])) // another goes
		}
		if float64(moved) > 1.5*float64(must) {
			t.Errorf("%d nodes: %d partitions moved where %d had to", n, moved, must)
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

// Whatever came and went before, the owners hang only on who is there, and every
// change is told.
func TestOwnersForgetThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const parts = 32
		all := crew(6)
		o := NewOwners(parts)
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			var now []Peer
			for _, p := range all {
				if rapid.IntRange(0, 3).Draw(t, "there") > 0 {
					p.Draining = rapid.IntRange(0, 5).Draw(t, "draining") == 0
					p.Weight = rapid.SampledFrom([]uint16{0, 1, 1, 1, 3, 65535}).Draw(t, "weight")
					now = append(now, p)
				}
			}
			old := slices.Clone(o.owners)
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
				owns := slices.ContainsFunc(now, func(x Peer) bool { return x.Name == o.Of(p) && !x.Draining })
				can := slices.ContainsFunc(now, func(x Peer) bool { return !x.Draining })
				if owns != can {
					t.Fatalf("partition %d goes to %q, there are %v", p, o.Of(p), now)
				}
			}
		}
	})
}

// The best bids are those that come first when all are made.
func TestBids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := NewOwners(Parts)
		peers := crew(rapid.IntRange(1, 40).Draw(t, "nodes"))
		for i := range peers {
			peers[i].Weight = rapid.SampledFrom([]uint16{0, 1, 1, 1, 3, 65535}).Draw(t, "weight")
		}
		o.Set(peers)
		part, n := rapid.IntRange(0, Parts-1).Draw(t, "part"), rapid.IntRange(1, 45).Draw(t, "n")
		var all []bid
		for i := range o.peers {
			all = append(all, bid{o.peers[i].cost(o.peers[i].draw(part)), i})
		}
		slices.SortFunc(all, better)
		if got, want := o.bids(part, n), all[:min(n, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("the best %d bids are %v, want %v", n, got, want)
		}
	})
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
	if want := "bbcabbac"; got != want {
		t.Errorf("partitions go to %s, want %s", got, want)
	}
}

func TestNegLog(t *testing.T) {
	for _, h := range []uint64{1, 2, 3, 1 << 20, 1<<63 - 1, 1 << 63, 3 << 62, math.MaxUint64} {
		want := 64 - math.Log2(float64(h|1))
		if got := float64(negLog(h)) / (1 << logBits); math.Abs(got-want) > 1e-9 {
			t.Errorf("-log(%#x) is %v, want %v", h, got, want)
		}
	}
}

// What it takes to find out who owns what when somebody comes or goes.
func BenchmarkOwnersJoin(b *testing.B) {
	for _, x := range []struct{ nodes, parts int }{{100, Parts}, {1000, 16 * 1024}, {10_000, 16 * 1024}} {
		b.Run(fmt.Sprintf("nodes=%d/parts=%d", x.nodes, x.parts), func(b *testing.B) {
			peers := crew(x.nodes)
			o := NewOwners(x.parts)
			o.Set(peers[1:])
			for i := 0; b.Loop(); i++ {
				o.Set(peers[i&1:])
			}
		})
	}
}
