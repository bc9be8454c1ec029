package overlay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weir/page"
)

// rig drives one Member by hand. Its carrier answers nothing by itself.
type rig struct {
	t   *testing.T
	m   *Member
	now page.Time
	out []Action // of the last Step

	each func() // called after each, if set
}

func newRig(t *testing.T, cfg Config) *rig {
	if cfg.Name == "" {
		cfg.Name = "a"
	}
	if cfg.Session == 0 {
		cfg.Session = 100
	}
	if cfg.Parts == 0 {
		cfg.Parts = 1
	}
	s := &rig{t: t, m: NewMember(cfg), now: page.Time(time.Hour)}
	s.step(Tick{})
	return s
}

func (s *rig) step(ev Event) []Action {
	s.out = slices.Clone(s.m.Step(s.now, ev))
	if s.each != nil {
		s.each()
	}
	return s.out
}

// after lets time pass; no event comes meanwhile but the renewals' answers.
func (s *rig) after(d time.Duration) *rig {
	for end := s.now.Add(d); s.now < end; {
		s.now = min(end, s.now.Add(Renewal))
		s.step(Tick{})
		s.renewed()
	}
	return s
}

// wait lets time pass in one step.
func (s *rig) wait(d time.Duration) []Action {
	s.now = s.now.Add(d)
	return s.step(Tick{})
}

func (s *rig) renewed() []Action { return s.step(Renewed{s.m.session, s.now}) }

// join lets the member have a session beside others.
func (s *rig) join(others ...Peer) []Action {
	s.renewed()
	return s.members(append(others, Peer{Name: s.m.cfg.Name, Session: s.m.session})...)
}

func (s *rig) members(peers ...Peer) []Action {
	slices.SortFunc(peers, func(a, b Peer) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) })
	return s.step(Members{Peers: peers})
}

// load tells it how busy it is, with all that it was given.
func (s *rig) load(l Load) []Action {
	l.Applied = s.m.applied
	return s.step(l)
}

// own lets it own partition 0.
func (s *rig) own(epoch, offset uint64) []Action {
	s.step(Owner{0, s.m.cfg.Name, s.m.session, epoch, 0, false})
	s.step(Acked{done[Append](s)[0].ID})
	return s.step(Delivered{0, offset, Batch{Records: []Record{Taken{epoch, s.m.cfg.Name}}}})
}

// done returns the actions of one kind.
func done[A Action](s *rig) []A {
	var list []A
	for _, a := range s.out {
		if a, ok := a.(A); ok {
			list = append(list, a)
		}
	}
	return list
}

func want[A Action](s *rig, list ...A) {
	s.t.Helper()
	if got := done[A](s); fmt.Sprint(got) != fmt.Sprint(list) {
		s.t.Errorf("%T: %+v, want %+v", *new(A), got, list)
	}
}

// A node is there when its first renewal was answered; until then it wants nothing.
func TestJoin(t *testing.T) {
	s := newRig(t, Config{})
	want(s, Renew{Peer{Name: "a", Session: 100, Draining: true}})
	s.renewed()
	want(s, Renew{Peer{Name: "a", Session: 100}})
	s.members(Peer{Name: "a", Session: 100})
	want[Claim](s) // others may come at the same time
	s.wait(company - 1)
	s.members(Peer{Name: "a", Session: 100}, Peer{Name: "z", Session: 1, Draining: true})
	want[Claim](s) // as this one has
	s.wait(company - 1)
	s.members(Peer{Name: "a", Session: 100}, Peer{Name: "z", Session: 1, Draining: true})
	want[Claim](s) // it has not come again
	s.wait(1)
	want(s, Claim{Part: 0, Before: 0, Node: "a", Session: 100, New: true})
	if s.m.Mine(0) {
		t.Error("it owns what it has only claimed")
	}
}

// A new owner says so in the log, reads on from where it was, and crawls when it has
// read what it said.
func TestTake(t *testing.T) {
	s := newRig(t, Config{Offsets: []uint64{7}, Origin: 5})
	s.join()
	s.step(Owner{0, "a", 100, 3, 0, false})
	want(s, Follow{Part: 0, After: 7})
	append := done[Append](s)
	if len(append) != 1 || fmt.Sprint(append[0].Batch) != fmt.Sprint(Batch{Origin: 5, Records: []Record{Taken{3, "a"}}}) {
		t.Fatalf("it says %+v", append)
	}
	s.step(Delivered{0, 9, Batch{Origin: 6, Records: []Record{Hosts{}}}})
	want(s, Apply{Part: 0, Offset: 9, Batch: Batch{Origin: 6, Records: []Record{Hosts{}}}})
	want[Adopt](s)
	s.step(Delivered{0, 12, Batch{Records: []Record{Taken{3, "a"}}}})
	want(s, Adopt{0, 3, s.now})
	if !s.m.Mine(0) {
		t.Error("it does not own what it has adopted")
	}
	s.step(Delivered{0, 12, Batch{Records: []Record{Taken{3, "a"}}}})
	want[Apply](s)
}

// What a new owner has said and reads late shows only what others had said by then. It
// reads up to a Mark first; a fence calls that off.
func TestTakenIsReadLate(t *testing.T) {
	late := func() (*rig, Mark) {
		s := newRig(t, Config{Origin: 5})
		s.join()
		s.step(Owner{0, "a", 100, 3, 0, false})
		s.step(Acked{done[Append](s)[0].ID})
		s.after(freshTaken + time.Second)
		s.step(Delivered{0, 12, Batch{Records: []Record{Taken{3, "a"}}}})
		want[Adopt](s)
		said := done[Append](s)
		if len(said) != 1 || len(said[0].Batch.Records) != 1 {
			t.Fatalf("it says %+v", said)
		}
		s.step(Acked{said[0].ID})
		s.step(Delivered{0, 13, Batch{Records: []Record{Taken{3, "a"}}}}) // the same once more
		want[Adopt](s)
		return s, said[0].Batch.Records[0].(Mark)
	}
	s, mark := late()
	s.after(time.Second)
	s.step(Delivered{0, 14, Batch{Records: []Record{Done{Epoch: 2, Node: "b"}, mark}}})
	want(s, Adopt{0, 3, s.now.Add(-freshTaken - 2*time.Second)})

	s, mark = late()
	s.now = s.now.Add(TTL)
	s.step(Delivered{0, 14, Batch{Records: []Record{mark}}})
	want[Adopt](s)
	s.renewed()
	s.step(Delivered{0, 15, Batch{Records: []Record{mark}}})
	want[Adopt](s)
}

// Who owns a partition says so again when the log has lost that: what others say in it
// later means something else.
func TestTakenIsLost(t *testing.T) {
	said := func(s *rig) bool {
		for _, a := range done[Append](s) {
			if slices.Contains(a.Batch.Records, Record(Taken{3, "a"})) {
				s.step(Acked{a.ID})
				return true
			}
		}
		return false
	}
	s := newRig(t, Config{Origin: 5})
	s.join()
	s.own(3, 12)
	said(s)
	s.step(Rewound{0, 10})
	if !said(s) {
		t.Error("an owner does not say again that it is one")
	}
	s = newRig(t, Config{Origin: 5})
	s.join()
	s.m.parts[0].emptying = true // of an earlier epoch
	s.own(3, 12)
	said(s)
	s.step(Rewound{0, 10})
	if !said(s) {
		t.Error("who is about to own it does not say again that it does")
	}
	s.step(Empty{0})
	want[Adopt](s)
	s.step(Delivered{0, 11, Batch{Records: []Record{Taken{3, "a"}}}})
	want(s, Adopt{0, 3, s.now})
}

// A process that was stopped too long gives up everything before it does anything
// else, whatever it hears first.
func TestFence(t *testing.T) {
	for _, ev := range []Event{
		Tick{}, Renewed{100, page.Time(time.Hour)}, Parcel{Seq: 1}, Load{}, Owner{0, "a", 100, 4, 0, false},
		Delivered{0, 11, Batch{Records: []Record{Taken{3, "a"}}}}, Empty{0}, Members{}, Heard{}, Acked{1}, Failed{1}, Drain{},
	} {
		s := newRig(t, Config{})
		s.join()
		s.own(3, 10)
		until := s.m.Until()
		if until != page.Time(time.Hour).Add(15*time.Second) {
			t.Fatalf("it may order until %v", until)
		}
		s.now = until - 1
		s.step(Load{})
		want[Fence](s)
		s.now = until
		s.step(ev)
		if _, ok := s.out[0].(Fence); !ok {
			t.Fatalf("%T: the first it does is %T", ev, s.out[0])
		}
		want(s, Unfollow{0}, Unfollow{1})
		want[Renew](s)
		if s.m.Mine(0) || s.m.Until() != 0 {
			t.Errorf("%T: it still owns something", ev)
		}
		// The answer to a renewal of the old session means nothing any more.
		s.step(Renewed{100, s.now})
		if s.m.Until() != 0 {
			t.Errorf("%T: it has its old session again", ev)
		}
		s.now = s.now.Add(Renewal)
		s.step(Tick{})
		want(s, Renew{Peer{Name: "a", Session: 101, Draining: true}})
		// It comes back, and takes what nobody took meanwhile.
		s.join()
		if _, leaves := ev.(Drain); !leaves {
			want(s, Claim{Part: 0, Before: s.m.parts[0].epoch, Node: "a", Session: 101})
		}
	}
}

// The time of a session runs from when its renewal was sent, not when it was answered.
func TestHold(t *testing.T) {
	s := newRig(t, Config{})
	sent := s.now
	s.now = s.now.Add(9 * time.Second)
	s.step(Renewed{100, sent})
	if s.m.Until() != sent.Add(Hold) {
		t.Errorf("until %v", s.m.Until())
	}
	s = newRig(t, Config{})
	s.now = s.now.Add(Hold)
	s.step(Renewed{100, sent})
	if s.m.Until() != 0 {
		t.Error("an answer that comes too late begins a session")
	}
}

// Who hears of a newer owner, or reads that there is one, stops at once.
func TestLose(t *testing.T) {
	s := newRig(t, Config{Cold: true})
	s.join(Peer{Name: "b", Session: 1})
	s.own(3, 10)
	s.step(Owner{0, "b", 1, 2, 0, false})
	want[Disown](s)
	s.step(Owner{0, "b", 1, 4, 0, false})
	want(s, Disown{0})
	want(s, Unfollow{0})

	s = newRig(t, Config{})
	s.join(Peer{Name: "b", Session: 1})
	s.own(3, 10)
	s.step(Delivered{0, 11, Batch{Records: []Record{Taken{2, "b"}}}})
	want[Disown](s)
	s.step(Delivered{0, 12, Batch{Records: []Record{Taken{4, "b"}}}})
	want(s, Disown{0})
	if s.m.Mine(0) {
		t.Error("it still owns the partition")
	}
	// It gets it back, but what it ordered before is not over.
	s.step(Owner{0, "a", 100, 5, 0, false})
	s.step(Delivered{0, 13, Batch{Records: []Record{Taken{5, "a"}}}})
	want[Adopt](s)
	s.step(Empty{0})
	want(s, Adopt{0, 5, s.now})
}

// What was on its way when a partition was lost is applied when it comes: the node
// goes on from there when it has the partition again, and misses nothing.
func TestLateDelivery(t *testing.T) {
	s := newRig(t, Config{Cold: true})
	s.join(Peer{Name: "b", Session: 1})
	s.own(3, 10)
	s.step(Owner{0, "b", 1, 4, 0, false})
	want(s, Unfollow{0})
	s.step(Delivered{0, 11, Batch{Records: []Record{Tuples{}}}})
	want(s, Apply{0, 11, Batch{Records: []Record{Tuples{}}}})
	s.step(Owner{0, "a", 100, 5, 0, false})
	want(s, Follow{Part: 0, After: 11})
	s.step(Delivered{0, 11, Batch{Records: []Record{Tuples{}}}}) // a carrier may say things twice
	want[Apply](s)
}

// heir is the name, of a or b, that partition 0 prefers.
func heir() (home, other string) {
	o := NewOwners(1)
	o.Set([]Peer{{Name: "a"}, {Name: "b"}})
	if o.Of(0) == "a" {
		return "a", "b"
	}
	return "b", "a"
}

// Who gives a partition away first lets end what is under way, then tells what came
// of it, and only then lets the other have it.
func TestHandOver(t *testing.T) {
	home, name := heir()
	s := newRig(t, Config{Name: name})
	s.join()
	s.own(3, 10)
	s.join(Peer{Name: home, Session: 1})
	want(s, Disown{0})
	want[Claim](s)
	s.step(Parcel{Seq: 1, Rows: []Post{{0, []Record{Hosts{}}}}, Ended: []Post{{0, []Record{Done{Epoch: 3}}}}})
	s.step(Empty{0})
	want[Claim](s)
	s.now = s.now.Add(gather)
	s.step(Tick{})
	s.step(Acked{done[Append](s)[0].ID})
	want[Claim](s)
	s.now = s.now.Add(gather)
	s.step(Tick{})
	s.step(Acked{done[Append](s)[0].ID})
	want(s, Claim{Part: 0, Before: 3, Node: home, Session: 1})
	want[Unfollow](s) // it stands by for the other now
	s.step(Owner{0, home, 1, 4, 0, false})
	want[Unfollow](s)
	if s.m.Mine(0) {
		t.Error("it owns what it has given away")
	}
}

// The one who should have had it is gone before it was given: it stays.
func TestStay(t *testing.T) {
	home, name := heir()
	s := newRig(t, Config{Name: name})
	s.join()
	s.own(3, 10)
	s.join(Peer{Name: home, Session: 1})
	want(s, Disown{0})
	s.join()
	want[Adopt](s)
	s.step(Empty{0})
	s.after(time.Second)
	if !s.m.Mine(0) {
		t.Error("it has given it away")
	}
	if s.m.parts[0].epoch != 3 {
		t.Error("it has claimed it again")
	}
}

// Nobody takes a partition from a session that may live.
func TestVacant(t *testing.T) {
	me := Peer{Name: "a", Session: 100}
	b := func(session uint64) Peer { return Peer{Name: "b", Session: session, Draining: true} }
	for _, x := range []struct {
		name  string
		owner Owner
		see   []Peer // of b, one after the other
		taken time.Duration
	}{
		{"it has one", Owner{0, "b", 5, 3, 0, false}, []Peer{b(5)}, 0},
		{"it had one", Owner{0, "b", 5, 3, 0, false}, []Peer{b(5), {}}, confirmGone},
		{"it was never seen", Owner{0, "b", 5, 3, 0, false}, []Peer{{}}, TTL},
		{"it was started again", Owner{0, "b", 5, 3, 0, false}, []Peer{b(5), b(6)}, confirmGone},
		{"an old renewal has come late", Owner{0, "b", 5, 3, 0, false}, []Peer{b(5), b(4)}, TTL},
		{"it is its own, of an earlier life", Owner{0, "a", 99, 3, 0, false}, []Peer{{}}, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newRig(t, Config{})
			s.renewed()
			s.step(x.owner)
			for _, p := range x.see {
				if p.Name == "" {
					s.members(me)
				} else {
					s.members(me, p)
				}
			}
			from := s.now
			for len(done[Claim](s)) == 0 && s.now.Sub(from) < time.Minute {
				s.now = s.now.Add(100 * time.Millisecond)
				if s.step(Tick{}); len(done[Claim](s)) == 0 {
					s.renewed()
				}
			}
			switch got := s.now.Sub(from); {
			case x.taken == 0 && got < time.Minute, x.taken > 1 && got != x.taken, x.taken == 1 && got != 0:
				t.Errorf("claimed after %v", got)
			}
		})
	}
}

// Where nobody has granted leases before, a new owner has none to wait for. It says so
// when it gives away what it has not adopted.
func TestNew(t *testing.T) {
	for _, x := range []struct {
		name   string
		offset uint64 // of what the node has read before
		old    bool   // an earlier Taken is in the log
		new    bool
		waits  bool
	}{
		{name: "the first", new: true},
		{name: "not the first", waits: true},
		{name: "the log was read before", offset: 5, new: true, waits: true},
		{name: "an owner is in the log of which nobody knows", old: true, new: true, waits: true},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newRig(t, Config{Offsets: []uint64{x.offset}})
			s.join()
			s.wait(company)
			want(s, Claim{Part: 0, Node: "a", Session: 100, New: x.offset == 0})
			s.step(Owner{0, "a", 100, 3, 0, x.new})
			if x.old {
				s.step(Delivered{0, 9, Batch{Records: []Record{Taken{2, "b"}}}})
			}
			s.step(Delivered{0, 12, Batch{Records: []Record{Taken{3, "a"}}}})
			since := s.now
			if !x.waits {
				since = s.now.Add(-MaxLease)
			}
			want(s, Adopt{0, 3, since})
			if s.m.parts[0].unused {
				t.Error("what it has adopted is unused")
			}
		})
	}
	t.Run("nodes come all the time", func(t *testing.T) {
		s := newRig(t, Config{})
		s.join()
		end := s.now.Add(patience + company)
		for i := uint64(1); s.now < end.Add(-company); i++ {
			s.wait(company - 1)
			s.join(Peer{Name: "z", Session: i, Draining: true})
			want[Claim](s)
		}
		s.wait(end.Sub(s.now))
		want(s, Claim{Part: 0, Node: "a", Session: 100, New: true})
	})
	t.Run("others had it meanwhile", func(t *testing.T) {
		for _, ev := range []Event{
			Owner{0, "b", 100, 4, 3, true}, // whose sessions have the same numbers
			Delivered{0, 9, Batch{Records: []Record{Taken{4, "b"}}}},
			Delivered{0, 9, Batch{Records: []Record{Taken{3, "b"}}}}, // the first such epoch was lost
			Delivered{0, 9, Batch{Records: []Record{Mark{7, "b"}}}},
			Delivered{0, 9, Batch{Records: []Record{Done{Epoch: 2, Node: "b"}}}},
		} {
			s := newRig(t, Config{})
			s.join()
			s.step(Owner{0, "a", 100, 3, 0, true})
			if !s.m.parts[0].unused {
				t.Fatal("it is not unused")
			}
			if s.step(ev); s.m.parts[0].unused {
				t.Errorf("it is unused after %+v", ev)
			}
			s.step(Owner{0, "a", 100, 5, 4, false})
			if s.m.parts[0].unused {
				t.Errorf("it is unused again after %+v", ev)
			}
		}
	})
	t.Run("given away", func(t *testing.T) {
		s := newRig(t, Config{})
		s.join()
		s.step(Owner{0, "a", 100, 3, 0, true})
		home := ""
		for i := 0; s.m.homes.Of(0) != home; i++ { // one whose it should be
			home = fmt.Sprint("b", i)
			s.join(Peer{Name: home, Session: 1})
		}
		want(s, Claim{Part: 0, Before: 3, Node: home, Session: 1, New: true})
	})
	t.Run("of a session before", func(t *testing.T) {
		s := newRig(t, Config{})
		s.join()
		s.step(Owner{0, "a", 99, 3, 0, true})
		want(s, Claim{Part: 0, Before: 3, Node: "a", Session: 100})
	})
}

// Claims do not all come at once, and those that nothing answers are made again.
func TestClaims(t *testing.T) {
	s := newRig(t, Config{Parts: 64})
	s.join()
	s.wait(company)
	if n := len(done[Claim](s)); n != maxClaims {
		t.Fatalf("%d claims at once", n)
	}
	s.step(Owner{0, "a", 100, 1, 0, false})
	want(s, Claim{Part: maxClaims, Node: "a", Session: 100, New: true})
	s.now = s.now.Add(claimAgain)
	s.step(Tick{})
	if n := len(done[Claim](s)); n != maxClaims {
		t.Errorf("%d claims are made again", n)
	}
	for p := range 64 {
		s.step(Owner{p, "a", 100, uint64(p + 1), 0, false})
	}
	s.now = s.now.Add(claimAgain)
	s.step(Tick{})
	want[Claim](s)
}

// A node that drains gives everything away, tells all it has to tell, and leaves;
// also when it is the last.
func TestDrain(t *testing.T) {
	for _, last := range []bool{false, true} {
		s := newRig(t, Config{})
		s.join()
		s.own(3, 10)
		s.step(Drain{})
		want(s, Renew{Peer{Name: "a", Session: 100, Draining: true}})
		peers := []Peer{{Name: "a", Session: 100, Draining: true}}
		if !last {
			peers = append(peers, Peer{Name: "b", Session: 1})
		}
		s.members(peers...)
		want(s, Disown{0})
		s.load(Load{})
		want[Left](s)
		s.step(Empty{0})
		if !last {
			want(s, Claim{Part: 0, Before: 3, Node: "b", Session: 1})
			want[Left](s)
			s.step(Owner{0, "b", 1, 4, 0, false})
		}
		want(s, Left{})
		s.step(Tick{})
		want[Left](s)
	}
}

// The same is done on the same news, and Status tells of it.
func TestStatus(t *testing.T) {
	s := newRig(t, Config{Parts: 2, Limit: 1000})
	s.join(Peer{Name: "b", Session: 1})
	s.step(Owner{0, "b", 1, 3, 0, false})
	s.step(Heard{"b", writeWord(&load{session: 1, owned: 2, queued: 30, pages: 4500, share: 9})})
	s.step(Heard{"c", writeWord(&load{session: 1, owned: 2})})
	s.step(Heard{"b", []byte("something of another version")})
	st := s.m.Status()
	if st.Teller != "b" || len(st.Peers) != 2 || len(st.Parts) != 2 || !st.Held {
		t.Fatalf("%+v", st)
	}
	if b := st.Peers[1]; !b.Heard || b.Owned != 2 || b.Queued != 30 || b.Pages != 4.5 || b.Share != 9 {
		t.Errorf("%+v", b)
	}
	if p := st.Parts[0]; p.Owner != "b" || p.Epoch != 3 || !p.Alive || p.Phase != "" {
		t.Errorf("%+v", p)
	}
	// What a node said is forgotten with it.
	s.members(Peer{Name: "a", Session: 100})
	if len(s.m.talk.loads) != 0 {
		t.Error("the loads of dead nodes are kept")
	}
}
