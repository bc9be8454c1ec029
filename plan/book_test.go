package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever comes and goes, the answer is that of filling all in anew.
func TestBookForgetsNothing(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 12))
		p := wild{sites: 60, steps: 3, caps: true, releases: seed%8 == 0, deadline: 1, tight: 0.3 + r.Float64()}.random(r)
		l := newLink(p.Link)
		b := &book{link: &l}
		in := make([]bool, len(p.Sites))
		for range 120 {
			i := r.IntN(len(p.Sites))
			s := &p.Sites[i]
			j := job{i, s.Size, s.Most(), s.NotBefore, s.Deadline}
			if in[i] = !in[i]; in[i] {
				b.put(j)
			} else {
				b.drop(j)
			}
			want, _, _ := admit(&l, slices.Clone(b.jobs), false)
			if got := b.fails(); got != want {
				t.Fatalf("seed %d: site %d fails, want %d", seed, got, want)
			}
		}
	}
}
