package overlay

import (
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

// A grant counts only if it answers the last report, of this session, to this teller.
func TestGrant(t *testing.T) {
	s := newRig(t, Config{Limit: 1000})
	s.join(Peer{Name: "b", Session: 1})
	s.step(Owner{0, "b", 1, 3, 0})
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

// When all nodes together have fetched as many pages as they should, all are told, also
// those who come later; whoever counts goes by what each says of its partitions.
func TestEnough(t *testing.T) {
	s := newRig(t, Config{Pages: 100, Parts: 2})
	s.join(Peer{Name: "b", Session: 1, Draining: true})
	s.own(3, 10)
	s.step(Owner{Part: 1, Node: "b", Session: 1, Epoch: 4})
	mine, others := Print(0, 3), Print(1, 4)
	tell := func(count, fetched uint64) {
		s.step(Heard{"b", writeWord(&report{term: 3, session: 1, count: count, fetched: fetched, print: others})})
		s.after(2 * talkSoon)
		s.after(2 * deskBeat)
	}
	says := func() (n int) {
		for _, a := range done[Say](s) {
			if w, err := readWord(a.Data); err == nil && w.kind() == 'e' {
				n++
			}
		}
		return n
	}
	s.step(Load{Fetched: 40, Print: mine})
	tell(1, 59)
	if s.m.talk.enough || says() > 0 {
		t.Fatal("99 pages are enough")
	}
	s.step(Load{Fetched: 99, Print: mine + others}) // it has taken over what the other one still counts
	tell(2, 59)
	if s.m.talk.enough || says() > 0 {
		t.Fatal("99 pages are enough, if 59 of them are counted twice")
	}
	s.step(Load{Fetched: 41, Print: mine})
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
