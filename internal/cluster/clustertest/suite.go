package clustertest

import (
	"slices"

	"weir/overlay"
)

// same fails unless all nodes have read the same of a partition.
func (s *scene) same(part int) {
	s.t.Helper()
	at, want := s.nodes["a"].log(part)
	for _, name := range names[1:] {
		if o, got := s.nodes[name].log(part); !slices.Equal(got, want) || !slices.Equal(o, at) {
			s.t.Errorf("partition %d: a has read\n%v at %v, %s\n%v at %v", part, want, at, name, got, o)
		}
	}
}

func order(s *scene) {
	const parts = 3
	for _, name := range names {
		for part := range parts {
			s.nodes[name].follow(part, 0)
		}
	}
	var all [parts][]uint64
	own := map[string]*[parts][]uint64{}
	for _, name := range names {
		own[name] = new([parts][]uint64)
	}
	for range 30 {
		for _, name := range names {
			for part := range parts {
				id := s.nodes[name].append(part)
				own[name][part] = append(own[name][part], id)
				all[part] = append(all[part], id)
			}
		}
	}
	s.until("all is acknowledged and read by all", func() bool {
		for _, name := range names {
			for part := range parts {
				if !s.nodes[name].settled(part, own[name][part]) || !s.nodes[name].has(part, all[part]) {
					return false
				}
			}
		}
		return true
	})
	for part := range parts {
		s.same(part)
	}
}

func offsets(s *scene) {
	a, b, c := s.nodes["a"], s.nodes["b"], s.nodes["c"]
	a.follow(7, 0)
	var ids []uint64
	for range 20 {
		ids = append(ids, a.append(7))
		a.append(15) // shares offsets with 7 where logs do
	}
	s.until("a has read its own", func() bool { return a.settled(7, ids) && a.has(7, ids) })
	at, got := a.log(7)
	half := len(at) / 2
	b.follow(7, at[half-1])
	c.follow(7, 0)
	s.until("b and c have read theirs", func() bool { return b.has(7, got[half:]) && c.has(7, ids) })
	if o, _ := b.log(7); o[0] != at[half] {
		s.t.Errorf("b follows after %d and reads from %d on, not %d", at[half-1], o[0], at[half])
	}
	b.carrier.Do(overlay.Unfollow{Part: 7})
	more := []uint64{c.append(7)}
	s.until("the next is read", func() bool { return c.settled(7, more) && c.has(7, more) && a.has(7, more) })
	b.follow(7, at[half-1])
	s.until("b reads on after it had stopped", func() bool { return b.has(7, more) })
}

// Partitions that share a log are appended to together. Each follower reads its own,
// all of it and nothing else, wherever it begins and whenever it joins in.
func sharing(s *scene) {
	a, b, c := s.nodes["a"], s.nodes["b"], s.nodes["c"]
	parts := []int{3, 3 + overlay.Logs, 3 + 2*overlay.Logs}
	a.follow(parts[0], 0)
	b.follow(parts[1], 0)
	own := map[*node][3][]uint64{}
	var all [3][]uint64
	round := func() {
		for _, n := range []*node{a, b, c} {
			mine := own[n]
			for i, part := range parts {
				id := n.append(part)
				mine[i] = append(mine[i], id)
				all[i] = append(all[i], id)
			}
			own[n] = mine
		}
	}
	settled := func() bool {
		for _, n := range []*node{a, b, c} {
			for i, part := range parts {
				if !n.settled(part, own[n][i]) {
					return false
				}
			}
		}
		return true
	}
	for range 10 {
		round()
	}
	s.until("each has read its partition", func() bool {
		return settled() && a.has(parts[0], all[0]) && b.has(parts[1], all[1])
	})
	at, _ := a.log(parts[0])
	// While more is written a follows a second one from the beginning, b one from the
	// middle, and c all of them.
	a.follow(parts[1], 0)
	b.follow(parts[0], at[len(at)/2])
	for _, part := range parts {
		c.follow(part, 0)
	}
	for range 10 {
		round()
	}
	s.until("all have read theirs", func() bool {
		return settled() && a.has(parts[0], all[0]) && a.has(parts[1], all[1]) && b.has(parts[1], all[1]) &&
			c.has(parts[0], all[0]) && c.has(parts[1], all[1]) && c.has(parts[2], all[2])
	})
	_, whole := c.log(parts[0])
	s.until("b has read the rest of its second one", func() bool {
		_, got := b.log(parts[0])
		return slices.Equal(got, whole[len(at)/2+1:])
	})
	for _, x := range []struct {
		n     *node
		part  int
		other *node
	}{{a, parts[0], c}, {a, parts[1], c}, {b, parts[1], c}} {
		o, got := x.n.log(x.part)
		if p, want := x.other.log(x.part); !slices.Equal(got, want) || !slices.Equal(o, p) {
			s.t.Errorf("partition %d: %s has read\n%v at %v, %s\n%v at %v", x.part, x.n.name, got, o, x.other.name, want, p)
		}
	}
	for n, part := range map[*node]int{a: parts[2], b: parts[2]} {
		if _, got := n.log(part); got != nil {
			s.t.Errorf("%s was given partition %d, that it does not follow", n.name, part)
		}
	}
}

func claims(s *scene) {
	const parts = 16
	for part := range parts {
		for _, name := range names {
			s.nodes[name].claim(part, 0)
		}
	}
	agreed := func() bool {
		for part := range parts {
			w := s.nodes["a"].owner(part)
			if w.Epoch == 0 || w != s.nodes["b"].owner(part) || w != s.nodes["c"].owner(part) {
				return false
			}
		}
		return true
	}
	s.until("all know one owner of each partition", agreed)
	first := map[int]overlay.Owner{}
	for part := range parts {
		first[part] = s.nodes["a"].owner(part)
	}
	// Who comes with an old epoch gets nothing; of those with the right one, one does.
	for part := range parts {
		s.nodes["a"].claim(part, 0)
		s.nodes["b"].claim(part, first[part].Epoch)
		s.nodes["c"].claim(part, first[part].Epoch)
	}
	s.until("each partition has changed its owner", func() bool {
		for part := range parts {
			if s.nodes["a"].owner(part).Epoch <= first[part].Epoch {
				return false
			}
		}
		return agreed()
	})
	for part := range parts {
		if w := s.nodes["a"].owner(part); w.Node == "a" || !s.nodes[w.Node].had(w.Session) {
			s.t.Errorf("partition %d went to %+v", part, w)
		}
	}
}

// expect reports whether those who live see just one another.
func (s *scene) expect(alive ...string) func() bool {
	return func() bool {
		var want []overlay.Peer
		views := make([][]overlay.Peer, len(alive))
		for i, name := range alive {
			n := s.nodes[name]
			n.mu.Lock()
			want = append(want, n.own())
			views[i] = n.members
			n.mu.Unlock()
		}
		return !slices.ContainsFunc(views, func(v []overlay.Peer) bool { return !slices.Equal(v, want) })
	}
}

func sessions(s *scene) {
	s.until("all see all", s.expect("a", "b", "c"))
	// b is there and no longer renews.
	s.nodes["b"].rest()
	s.until("b's session runs out", s.expect("a", "c"))
	s.nodes["b"].begin()
	s.until("b is back with another session", s.expect("a", "b", "c"))
	for _, name := range names {
		n := s.nodes[name]
		n.mu.Lock()
		if n.renewed == 0 {
			s.t.Errorf("%s was never told that its session was renewed", name)
		}
		n.mu.Unlock()
	}
}

func talk(s *scene) {
	a, b, c := s.nodes["a"], s.nodes["b"], s.nodes["c"]
	heard := func(n *node, from, text string) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return slices.ContainsFunc(n.heard, func(h overlay.Heard) bool { return h.From == from && string(h.Data) == text })
	}
	s.until("b and c hear what a says", func() bool {
		a.carrier.Do(overlay.Say{Data: []byte("to all")})
		a.carrier.Do(overlay.Send{To: "c", Data: []byte("to c")})
		return heard(b, "a", "to all") && heard(c, "a", "to all") && heard(c, "a", "to c")
	})
	if heard(a, "a", "to all") {
		s.t.Error("a hears itself")
	}
	if heard(b, "a", "to c") {
		s.t.Error("b hears what was for c")
	}
}

func death(s *scene) {
	a, b, c := s.nodes["a"], s.nodes["b"], s.nodes["c"]
	parts := []int{0, 1, 2, 3}
	own := map[int][]uint64{}
	add := func(n *node) {
		for _, part := range parts {
			own[part] = append(own[part], n.append(part))
		}
	}
	settled := func(n *node, after int) bool {
		for _, part := range parts {
			if !n.settled(part, own[part][after:]) {
				return false
			}
		}
		return true
	}
	read := func(n *node) bool {
		for _, part := range parts {
			if !n.has(part, own[part]) {
				return false
			}
		}
		return true
	}
	for _, n := range []*node{a, b, c} {
		for _, part := range parts {
			n.follow(part, 0)
		}
	}
	add(a)
	c.claim(5, 0)
	s.until("the first batches are read", func() bool { return settled(a, 0) && read(a) && read(b) && read(c) && a.owner(5).Epoch > 0 })
	s.until("all see all", s.expect("a", "b", "c"))
	if o := a.owner(5); !o.New || o.Before != 0 {
		s.t.Errorf("a was told of %+v, which is the first owner", o)
	}

	s.kill("c")
	before := len(own[0])
	for range 10 {
		add(b)
	}
	s.until("a and b go on", func() bool { return settled(b, before) && read(a) && read(b) })
	s.until("c's session runs out", s.expect("a", "b"))
	epoch := a.owner(5).Epoch
	a.claim(5, epoch)
	s.until("a owns what c did", func() bool { return a.owner(5).Node == "a" && b.owner(5).Node == "a" })
	for _, n := range []*node{a, b} {
		s.until(n.name+" takes c for dead, and nobody else", func() bool {
			n.mu.Lock()
			lapsed := n.lapsed
			n.mu.Unlock()
			return len(lapsed) == 1 && lapsed[0].Name == "c" && c.had(lapsed[0].Session)
		})
		if o := n.owner(5); o.Before != epoch || o.New {
			s.t.Errorf("%s was told of %+v, which comes after %d", n.name, o, epoch)
		}
	}

	last := map[int]uint64{}
	for _, part := range parts {
		at, _ := c.log(part)
		last[part] = at[len(at)-1]
	}
	s.start("c")
	for _, part := range parts {
		c.follow(part, last[part])
	}
	s.until("c has caught up", func() bool { return read(c) && c.owner(5).Node == "a" })
	s.until("all see all", s.expect("a", "b", "c"))
	for _, part := range parts {
		s.same(part)
	}
}

func blackout(s *scene) {
	a := s.nodes["a"]
	parts := []int{0, 1, 2, 3, 4, 5, 6, 7}
	own := map[int][]uint64{}
	for range 10 {
		for _, part := range parts {
			own[part] = append(own[part], a.append(part))
		}
	}
	a.claim(3, 0)
	s.until("all is acknowledged", func() bool {
		for _, part := range parts {
			if !a.settled(part, own[part]) {
				return false
			}
		}
		return a.owner(3).Epoch > 0
	})
	was := a.owner(3)
	for _, name := range names {
		s.kill(name)
	}
	for _, name := range names {
		n := s.nodes[name]
		n.mu.Lock()
		clear(n.owners)
		n.mu.Unlock()
		s.start(name)
	}
	for _, name := range names {
		for _, part := range parts {
			s.nodes[name].follow(part, 0)
		}
	}
	s.until("all is read that was acknowledged", func() bool {
		for _, name := range names {
			for _, part := range parts {
				if !s.nodes[name].has(part, own[part]) {
					return false
				}
			}
		}
		return true
	})
	s.until("the owner is known", func() bool { return s.nodes["b"].owner(3) == was })
	for _, part := range parts {
		s.same(part)
	}
}
