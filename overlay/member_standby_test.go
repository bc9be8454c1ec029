package overlay

import (
	"slices"
	"testing"
)

// Whoever would own a partition if its owner went is known beforehand.
func TestNext(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 20, maxHeirs + 1} {
		peers := crew(n)
		peers[n/2].Weight = 3
		o := NewOwners(Parts)
		o.Set(peers)
		same, all := 0, 0
		for gone := range peers {
			rest := o.With(slices.Delete(slices.Clone(peers), gone, gone+1))
			for p := range Parts {
				if o.Of(p) != peers[gone].Name {
					continue
				}
				if all++; o.Next(p) == rest.Of(p) {
					same++
				}
			}
		}
		if n <= maxHeirs && same != all {
			t.Errorf("of %d nodes: %d of %d heirs are known", n, same, all)
		}
		t.Logf("%d nodes: %d of %d", n, same, all)
	}
}

// standby is the node that stands by for the only partition, owned by home.
func standbyRig(t *testing.T, cfg Config) (s *rig, home string) {
	home, cfg.Name = heir()
	s = newRig(t, cfg)
	s.join(Peer{Name: home, Session: 1})
	s.step(Owner{0, home, 1, 3, 0, false})
	return s, home
}

// A node reads the log of a partition that it would have to take, up to its end and
// on; and says nothing to anybody of what it read.
func TestStandby(t *testing.T) {
	s, home := standbyRig(t, Config{Offsets: []uint64{7}})
	want[Follow](s) // others first
	s.after(warmAfter)
	s.load(Load{})
	moves := s.m.talk.moves
	if s.m.parts[0].warm == 0 || !s.m.parts[0].followed || s.m.standby.warming != [Logs]int{1} {
		t.Fatalf("it does not stand by: %+v", s.m.parts[0])
	}
	s.step(Delivered{0, 9, Batch{Records: []Record{Tuples{}}}})
	want(s, Apply{Part: 0, Offset: 9, Batch: Batch{Records: []Record{Tuples{}}}})
	s.step(Delivered{0, 10, Batch{Records: []Record{Mark{s.m.parts[0].warm, s.m.cfg.Name}}}})
	if s.m.standby.warming != [Logs]int{} || s.m.talk.moves != moves || !s.m.idle() {
		t.Errorf("what the owner does is work: %+v", s.m.talk)
	}

	// The owner dies, some time later. All that is left to read is what was said last.
	s.after(TTL)
	s.step(Members{Peers: []Peer{{Name: s.m.cfg.Name, Session: 100}}, Lapsed: []Peer{{Name: home, Session: 1}}})
	gone := s.now.Add(-lapsed) // and its hosts have rested since it had to stop
	s.after(confirmGone)
	s.step(Owner{0, s.m.cfg.Name, 100, 4, 3, false})
	want[Follow](s)
	want[Unfollow](s)
	s.step(Delivered{0, 12, Batch{Records: []Record{Taken{4, s.m.cfg.Name}}}})
	want(s, Adopt{0, 4, gone})
	if s.m.idle() {
		t.Error("it is idle with a partition that nobody has counted")
	}

	// And if it comes back it is given the partition, and read after.
	s.members(Peer{Name: s.m.cfg.Name, Session: 100}, Peer{Name: home, Session: 2})
	want(s, Disown{0})
	s.step(Empty{0})
	want(s, Claim{Part: 0, Before: 4, Node: home, Session: 2})
	want[Unfollow](s)
}

// A renewal of an older session of the owner comes late, and hides the one that it has.
// When that older one is over nobody knows when the owner has asked its hosts last: they
// rest from then on.
func TestHiddenOwner(t *testing.T) {
	s, home := standbyRig(t, Config{})
	me := Peer{Name: s.m.cfg.Name, Session: 100}
	s.members(me, Peer{Name: home, Session: 5})
	s.step(Owner{0, home, 5, 4, 3, false})
	s.members(me, Peer{Name: home, Session: 5})
	s.after(confirmGone)
	s.members(me, Peer{Name: home, Session: 1}) // it comes late, and is not renewed
	s.after(TTL)
	s.step(Members{Peers: []Peer{me}, Lapsed: []Peer{{Name: home, Session: 1}}})
	gone := s.now
	s.after(confirmGone)
	s.step(Owner{0, me.Name, 100, 5, 4, false})
	s.step(Delivered{0, 12, Batch{Records: []Record{Taken{5, me.Name}}}})
	if got := done[Adopt](s); len(got) != 1 || got[0].Since < gone {
		t.Errorf("%+v, and the owner was there until %v", got, gone)
	}
}

// A node that has partitions to take does not go on with logs that it only stands by
// for, unless it has come to their ends.
func TestStandbyYields(t *testing.T) {
	peers := crew(3)
	o := NewOwners(Parts)
	o.Set(peers)
	s := newRig(t, Config{Name: peers[0].Name, Session: peers[0].Session, Parts: Parts})
	s.renewed()
	s.step(Members{Peers: peers})
	var mine, next, late int // one of the partitions that it stands by for comes later
	for p := range Parts {
		if o.Of(p) == peers[0].Name {
			mine = p
			continue
		}
		if o.Next(p) == peers[0].Name {
			next, late = next+1, p
		}
		owner, _ := seat(peers, o.Of(p))
		s.step(Owner{p, o.Of(p), peers[owner].Session, uint64(p + 1), 0, false})
	}
	for len(done[Claim](s)) > 0 || s.m.claims > 0 { // those of its own are not answered
		s.m.answered(&s.m.parts[slices.IndexFunc(s.m.parts, func(x part) bool { return x.asked != never })])
	}
	s.m.wanting = nil
	s.m.standby.due = s.now
	s.m.parts[late].followed = true
	s.step(Tick{})
	all := done[Follow](s)
	if len(all) != next-1 || next < Parts/4 {
		t.Fatalf("it begins with %d of %d partitions", len(all), next)
	}
	s.m.parts[late].followed = false
	first, left := 0, 0
	for _, f := range all {
		if LogOf(f.Part) != LogOf(late) {
			left++
			continue
		}
		s.m.standby.due = s.now
		s.step(Tick{})
		want[Follow](s) // others of its log are still being read
		first = f.Part
		s.step(Delivered{first, 5, Batch{Records: []Record{Mark{s.m.parts[first].warm, s.m.cfg.Name}}}})
	}
	if got := done[Follow](s); len(got) != 1 || got[0].Part != late {
		t.Fatalf("when it has read a log it goes on with %+v", got)
	}
	s.step(Owner{mine, peers[0].Name, peers[0].Session, 1000, 0, false})
	if got := len(done[Unfollow](s)); got != left+1 {
		t.Errorf("it leaves %d partitions alone, and has read all but %d", got, left+1)
	}
	want(s, Follow{Part: mine})
	if !s.m.parts[first].followed {
		t.Error("it leaves one alone that it has read")
	}
	s.after(2 * warmAfter)
	if s.m.standby.warming != [Logs]int{} {
		t.Error("it goes on before it has taken what it has to")
	}
}
