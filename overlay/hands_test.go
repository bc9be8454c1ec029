package overlay

import (
	"testing"
	"time"
)

// asked are the hosts that the last Step has asked a node for.
func (s *rig) asked(node string) (hosts uint64) {
	s.t.Helper()
	for _, x := range done[Send](s) {
		if w, err := readWord(x.Data); err == nil && x.To == node {
			if h, ok := w.(*hands); ok {
				if s.m.Mine(int(h.part)); !s.m.Mine(int(h.part)) {
					s.t.Errorf("hosts are to go to partition %d, which is not the node's", h.part)
				}
				hosts += h.hosts
			}
		}
	}
	return hosts
}

// A node with connections free asks those that have hosts to leave for no more than it
// can take, and for none twice.
func TestHandsAreOffered(t *testing.T) {
	s := newRig(t, Config{Parts: 1})
	peers := []Peer{{Name: "b", Session: 1}, {Name: "c", Session: 2}}
	s.join(peers...)
	s.own(1, 1)
	says := func(node string, l load) uint64 {
		s.step(Heard{node, writeWord(&l)})
		return s.asked(node)
	}
	is := func(got, want uint64, when string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: asks for %d hosts, want %d", when, got, want)
		}
	}
	is(says("b", load{session: 1, spare: 2}), 0, "it does not know whether it has connections")
	s.load(Load{Free: 3})
	is(s.asked("b"), 2, "it has three, and another two hosts")
	s.load(Load{Free: 3})
	is(s.asked("b"), 0, "it was asked for both")
	is(says("c", load{session: 2, spare: 9}), 1, "one connection is left")
	is(says("b", load{session: 1, spare: 9}), 0, "none is")
	s.after(handsFor)
	is(says("c", load{session: 7, spare: 9}), 0, "in a session that it does not have")
	is(says("b", load{session: 1, spare: 9}), 3, "nothing has come of what was asked for")
	s.load(Load{})
	s.after(handsFor)
	is(says("b", load{session: 1, spare: 9}), 0, "it has no connection free any more")
	s.load(Load{Free: 1})
	s.after(handsFor)
	s.step(Drain{})
	is(says("b", load{session: 1, spare: 8}), 0, "it is about to leave")
}

// Hosts are left to who owns the partition, in the session that it was meant for.
func TestHandsAreTaken(t *testing.T) {
	s := newRig(t, Config{Parts: 2})
	s.join(Peer{Name: "b", Session: 1}, Peer{Name: "c", Session: 1})
	s.step(Owner{1, "b", 1, 3, 0, false})
	for _, c := range []struct {
		from  string
		word  hands
		taken bool
	}{{"b", hands{100, 1, 2}, true}, {"b", hands{99, 1, 2}, false}, {"b", hands{100, 0, 2}, false}, {"b", hands{100, 1 << 40, 2}, false}, {"c", hands{100, 1, 2}, false}} {
		s.step(Heard{c.from, writeWord(&c.word)})
		if c.taken {
			want(s, Relieve{Part: 1, Hosts: 2})
		} else {
			want[Relieve](s)
		}
	}
	s.now = s.now.Add(TTL + time.Second)
	s.step(Heard{"b", writeWord(&hands{100, 1, 2})})
	want[Relieve](s)
}
