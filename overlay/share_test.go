package overlay

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Promises come first, then small demands, then large ones alike, then everybody.
func TestDivide(t *testing.T) {
	for _, x := range []struct {
		name   string
		limit  int64
		wishes []wish
		want   []int64
	}{
		{"nobody", 100, nil, []int64{}},
		{"one", 100, []wish{{}}, []int64{100}},
		{"nobody wants anything", 90, make([]wish, 3), []int64{30, 30, 30}},
		{"a small demand in full", 100, []wish{{wanted: 10}, {wanted: 1000}, {wanted: 1000}}, []int64{10, 45, 45}},
		{"promises first", 100, []wish{{owed: 80, wanted: 80}, {wanted: 1000}}, []int64{80, 20}},
		{"too many promises", 100, []wish{{owed: 150, wanted: 150}, {owed: 50, wanted: 50}}, []int64{75, 25}},
		{"what could be promised before demands", 100, []wish{{asked: 60, wanted: 60}, {owed: 20, wanted: 1000}}, []int64{60, 40}},
		{"promises before what could be", 100, []wish{{asked: 60, wanted: 60}, {owed: 70, wanted: 1000}}, []int64{30, 70}},
		{"more than wanted", 100, []wish{{wanted: 10}, {wanted: 30}}, []int64{40, 60}},
	} {
		if got := divide(x.limit, x.wishes); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// The shares never add up to more than the limit, and little of it is left.
func TestDivideSum(t *testing.T) {
	amount := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, maxRate))
	rapid.Check(t, func(t *rapid.T) {
		limit := amount.Draw(t, "limit")
		wishes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) wish {
			return wish{amount.Draw(t, "owed"), amount.Draw(t, "asked"), amount.Draw(t, "wanted")}
		}), 1, 20).Draw(t, "wishes")
		sum, owed := int64(0), int64(0)
		for i, share := range divide(limit, wishes) {
			if share < 0 {
				t.Fatalf("a share of %d", share)
			}
			sum += share
			owed += wishes[i].owed
		}
		if sum > limit || sum < limit-int64(len(wishes)) {
			t.Fatalf("%d of %d", sum, limit)
		}
	})
}

// A new owner of partition 0 deals nothing out before it has heard of all; then it
// lowers shares first, and raises others by what was given back.
func TestDeal(t *testing.T) {
	s := newRig(t, Config{Limit: 1000})
	b := Peer{Name: "b", Session: 1, Draining: true}
	s.join(b)
	s.own(3, 10)
	s.step(Load{Wanted: 2000})
	s.after(2 * deskWait)
	if s.m.talk.have != 0 {
		t.Fatalf("it takes %d before it knows what b has", s.m.talk.have)
	}
	tell := func(count, have uint64) {
		s.step(Heard{"b", writeWord(&report{term: 3, session: 1, count: count, wanted: 2000, have: have})})
	}
	tell(1, 900) // of the teller before
	s.after(deskBeat)
	if s.m.talk.have != 100 {
		t.Errorf("it takes %d beside 900", s.m.talk.have)
	}
	var offers []*grant
	s.now = s.now.Add(deskBeat)
	s.step(Tick{})
	for _, a := range done[Send](s) {
		if w, err := readWord(a.Data); err == nil {
			offers = append(offers, w.(*grant))
		}
	}
	if len(offers) != 1 || *offers[0] != (grant{3, 1, 1, 500}) {
		t.Fatalf("b is offered %+v", offers)
	}
	// A report that was on its way makes the offer void, and b still has 900.
	tell(2, 900)
	s.after(2 * deskBeat)
	if s.m.talk.have != 100 {
		t.Errorf("it takes %d beside 900", s.m.talk.have)
	}
	tell(3, 500)
	s.after(2 * deskBeat)
	if s.m.talk.have != 500 {
		t.Errorf("it takes %d beside 500", s.m.talk.have)
	}
}

// One who comes to a limit that others have, and fill, gets its part, however many they
// are: though none of them has much too much.
func TestDealToOneMore(t *testing.T) {
	for _, others := range []int{1, 3, 40} {
		s := newRig(t, Config{Limit: 1 << 20})
		var peers []Peer
		for i := range others {
			peers = append(peers, Peer{Name: fmt.Sprintf("b%02d", i), Session: 1, Draining: true})
		}
		s.join(slices.Clone(peers)...)
		s.own(3, 10)
		have, count := make([]uint64, others), uint64(0)
		for i := range have {
			have[i] = uint64(1<<20) / uint64(others)
		}
		for range 60 {
			s.step(Load{Wanted: float64(max(4*s.m.talk.have, 1<<20/64))}) // it fills what it has
			count++
			for i := range have {
				s.step(Heard{peers[i].Name, writeWord(&report{term: 3, session: 1, count: count, wanted: 4 * have[i], have: have[i]})})
			}
			for end := s.now.Add(2 * deskBeat); s.now < end; {
				s.now = s.now.Add(deskBeat / 2)
				s.step(Tick{})
				for _, a := range done[Send](s) {
					if w, err := readWord(a.Data); err == nil {
						if g, ok := w.(*grant); ok && g.count == count {
							have[slices.IndexFunc(peers, func(p Peer) bool { return p.Name == a.To })] = g.rate
						}
					}
				}
				s.renewed()
			}
			sum := s.m.talk.have
			for _, n := range have {
				sum += int64(n)
			}
			if sum > 1<<20 {
				t.Fatalf("beside %d others they have %d together", others, sum)
			}
		}
		if fair := int64(1<<20) / int64(others+1); s.m.talk.have < fair*3/4 {
			t.Errorf("beside %d others it has %d, where %d would be fair", others, s.m.talk.have, fair)
		}
	}
}

// A grant counts only if it answers the last report, of this session, to this teller.
func TestGrant(t *testing.T) {
	s := newRig(t, Config{Limit: 1000})
	s.join(Peer{Name: "b", Session: 1})
	s.step(Owner{0, "b", 1, 3, 0, false})
	count := s.m.talk.sent.count
	for _, g := range []grant{{2, 100, count, 9}, {4, 100, count, 9}, {3, 99, count, 9}, {3, 100, count - 1, 9}, {3, 100, count + 1, 9}} {
		s.step(Heard{"b", writeWord(&g)})
		want[Share](s)
	}
	s.step(Heard{"b", writeWord(&grant{3, 100, count, 9})})
	want(s, Share{9})
	s.step(Heard{"b", writeWord(&grant{3, 100, count, 99})})
	want[Share](s)
	s.now = s.m.Until()
	s.step(Tick{})
	want(s, Share{0})
}

// When all nodes together have fetched as much as they should, all are told, also those who
// come later; whoever counts goes by what each says of its partitions.
func TestEnough(t *testing.T) {
	t.Run("pages", func(t *testing.T) { enoughOf(t, ofPages, Config{Pages: 100, Parts: 2}) })
	t.Run("bytes", func(t *testing.T) { enoughOf(t, ofBytes, Config{Bytes: 100, Parts: 2}) })
	t.Run("bytes before pages", func(t *testing.T) { enoughOf(t, ofBytes, Config{Bytes: 100, Pages: 1000, Parts: 2}) })
}

func enoughOf(t *testing.T, k int, cfg Config) {
	s := newRig(t, cfg)
	s.join(Peer{Name: "b", Session: 1, Draining: true})
	s.own(3, 10)
	s.step(Owner{Part: 1, Node: "b", Session: 1, Epoch: 4})
	mine, others := Print(0, 3), Print(1, 4)
	tell := func(count, fetched uint64) {
		r := report{term: 3, session: 1, count: count, print: others}
		r.sums[k].fetched = fetched
		s.step(Heard{"b", writeWord(&r)})
		s.after(2 * talkSoon)
		s.after(2 * deskBeat)
	}
	load := func(fetched int64, print uint64) {
		l, sum := Load{Print: print}, Sum{Fetched: fetched}
		if l.Sum = sum; k == ofBytes {
			l.Sum, l.Bytes = Sum{}, sum
		}
		s.step(l)
	}
	says := func() (n int) {
		for _, a := range done[Say](s) {
			if w, err := readWord(a.Data); err == nil && w.kind() == 'e' {
				if of := w.(*enough).of; of != uint64(k) {
					t.Errorf("there is enough of %d", of)
				}
				n++
			}
		}
		return n
	}
	load(40, mine)
	tell(1, 59)
	if s.m.talk.enough || says() > 0 {
		t.Fatal("99 pages are enough")
	}
	load(99, mine+others) // it has taken over what the other one still counts
	tell(2, 59)
	if s.m.talk.enough || says() > 0 {
		t.Fatal("99 pages are enough, if 59 of them are counted twice")
	}
	load(41, mine)
	tell(3, 59)
	if !s.m.talk.enough {
		t.Fatal("100 pages are not enough")
	}
	for range 10 {
		s.now = s.now.Add(talkSoon)
		s.step(Tick{})
		if says() == 0 {
			t.Fatal("who comes later does not hear of it")
		}
	}
}

// Who is told knows it once, and of its own teller only.
func TestEnoughIsHeard(t *testing.T) {
	s := newRig(t, Config{Pages: 100})
	s.join(Peer{Name: "b", Session: 1})
	s.step(Owner{Part: 0, Node: "b", Session: 1, Epoch: 3})
	s.step(Heard{"b", writeWord(&enough{term: 2})})
	want[Enough](s)
	s.step(Heard{"b", writeWord(&enough{term: 3})})
	want(s, Enough{})
	s.step(Heard{"b", writeWord(&enough{term: 3})})
	want[Enough](s)
}

// Nobody gets more of a bound than is left, each of both as it says; and what one measure
// is short of does not keep the other from being dealt.
func TestRoomOfBoth(t *testing.T) {
	s := newRig(t, Config{Pages: 10, Bytes: 5000, Parts: 2})
	s.join(Peer{Name: "b", Session: 1, Draining: true})
	s.own(3, 10)
	s.step(Owner{Part: 1, Node: "b", Session: 1, Epoch: 4})
	s.step(Load{Print: Print(0, 3), Queued: 5, Sum: Sum{Begun: 1, Under: 1}}) // or it would be left with little
	s.step(Heard{"b", writeWord(&report{term: 3, session: 1, count: 1, print: Print(1, 4)})})
	for range 8 {
		s.after(deskBeat)
	}
	mine, others := s.m.talk.room, s.m.talk.desk.seats[1].ration.upTo
	for k, bound := range s.m.bounds() {
		if mine[k] == 0 || mine[k]+int64(others[k]) > bound {
			t.Errorf("of %d this node may have %d, and the other one %d", bound, mine[k], others[k])
		}
	}
}
