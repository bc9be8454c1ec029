package overlay

import (
	"testing"
	"time"
)

// answer plays the carrier for appends to partition 0 and to the common log: they
// are acknowledged and read at once.
func (s *rig) answer(offset *uint64) {
	for {
		list := done[Append](s)
		if len(list) == 0 {
			return
		}
		*offset++
		s.step(Delivered{list[0].Part, *offset, list[0].Batch})
		more := s.out
		s.step(Acked{list[0].ID})
		s.out = append(more, s.out...)
	}
}

// A lone node is quiet after two rounds in which it had nothing to do, and no more
// when it has.
func TestQuiet(t *testing.T) {
	s := newRig(t, Config{})
	s.join()
	s.own(3, 10)
	offset := uint64(10)
	s.load(Load{Queued: 1})
	for range 20 {
		s.now = s.now.Add(deskBeat)
		s.step(Tick{})
		s.answer(&offset)
		s.renewed()
	}
	if s.m.Status().Quiet {
		t.Fatal("it is quiet with a page in the queue")
	}
	s.load(Load{})
	rounds := uint64(0)
	for range 20 {
		s.now = s.now.Add(deskBeat)
		s.step(Tick{})
		s.answer(&offset)
		if is := done[Quiet](s); len(is) > 0 {
			rounds = s.m.talk.desk.round
			break
		}
		s.renewed()
		s.answer(&offset)
	}
	if !s.m.Status().Quiet || rounds != 2 {
		t.Fatalf("quiet: %v after %d rounds", s.m.Status().Quiet, rounds)
	}
	s.step(Delivered{0, offset + 1, Batch{Records: []Record{Tuples{}}}})
	want(s, Quiet{false})
}

// A node ends no round before it has read as much of the common log as the teller
// had when it began.
func TestQuietReadsTheCommonLog(t *testing.T) {
	s := newRig(t, Config{Parts: 2})
	s.join(Peer{Name: "b", Session: 7})
	s.step(Owner{0, "b", 7, 3, 0, false})
	s.load(Load{})
	s.step(Heard{"b", writeWord(&round{term: 3, number: 1, reach: 12})})
	if s.m.talk.done == 1 {
		t.Error("it ended the round with nothing read")
	}
	s.step(Delivered{2, 12, Batch{Records: []Record{Mark{ID: 1, Node: "b"}}}})
	if s.m.talk.done != 1 {
		t.Error("it did not end the round, though it had read all")
	}
	s.step(Delivered{2, 13, Batch{Records: []Record{Shipped{}}}})
	want(s, Apply{2, 13, Batch{Records: []Record{Shipped{}}}})
	if s.m.idle() {
		t.Error("it is idle before it was told what the news mean")
	}
}

// A node that has applied something is not idle before it was told how busy that
// makes it, and one that has something to say not before all have it.
func TestIdle(t *testing.T) {
	s := newRig(t, Config{})
	s.join()
	s.own(3, 10)
	is := func(idle bool, when string) {
		t.Helper()
		if s.m.idle() != idle {
			t.Errorf("idle is %v %s", !idle, when)
		}
	}
	is(false, "before it was told so")
	s.load(Load{})
	is(true, "with nothing to do")
	before := s.m.applied
	s.step(Delivered{0, 11, Batch{Records: []Record{Tuples{}}}})
	is(false, "with rows that were just applied")
	s.step(Load{Applied: before})
	s.step(Load{Applied: before})
	is(false, "as it was before they were")
	s.load(Load{})
	is(true, "when they were nothing new")

	s.step(Delivered{0, 12, Batch{Records: []Record{Tuples{}}}})
	s.step(Load{})
	is(false, "as it may have been before they were")
	s.step(Load{})
	is(true, "a while after them")

	before = s.m.applied
	s.step(Turned{})
	is(false, "with other rules")
	s.step(Load{Applied: before})
	is(false, "as it was under the last ones")
	s.load(Load{})
	is(true, "when they ask for nothing")

	s.step(Parcel{Seq: 1, Ended: []Post{{0, []Record{Done{}}}}})
	s.load(Load{})
	is(false, "with an end to tell")
	s.now = s.now.Add(time.Second)
	s.step(Tick{})
	s.step(Acked{done[Append](s)[0].ID})
	is(true, "when all was told")
}

// Nodes of versions before tell less, and are heard.
func TestOldWords(t *testing.T) {
	r := report{term: 3, session: 1, count: 1, print: 5}
	r.sums[ofPages] = sum{6, 7, 8, 9}
	b := writeWord(&r)
	if w, err := readWord(b[:len(b)-4]); err != nil || *w.(*report) != r { // the last four are 0, and a byte each
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := readWord(b[:len(b)-5]); err == nil {
		t.Error("half a report is taken for one")
	}
	b = writeWord(&enough{term: 3})
	if w, err := readWord(b[:len(b)-1]); err != nil || *w.(*enough) != (enough{term: 3}) {
		t.Errorf("%+v, %v", w, err)
	}
	b = writeWord(&room{term: 3, upTo: [measures]uint64{7}})
	if w, err := readWord(b[:len(b)-1]); err != nil || w.(*room).upTo != [measures]uint64{7} {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestOldLoads(t *testing.T) {
	b := writeWord(&load{session: 7, queued: 5, free: 3})
	for cut := range 3 {
		w, err := readWord(b[:len(b)-cut])
		if err != nil || *w.(*load) != (load{session: 7, queued: 5, free: 3}) {
			t.Errorf("%+v, %v", w, err)
		}
	}
	if _, err := readWord(b[:len(b)-3]); err == nil {
		t.Error("half a load is taken for one")
	}
}

func FuzzReadWord(f *testing.F) {
	for _, w := range []word{&load{session: 1, pages: 300}, &report{term: 1, wanted: 1 << 60}, &grant{rate: 5}, &round{term: 1 << 63, quiet: 1}, &room{count: 1}, &enough{of: 1}} {
		f.Add(writeWord(w))
	}
	f.Add([]byte{2, 'l', 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := readWord(b)
		if err != nil {
			return
		}
		again, err := readWord(writeWord(w))
		if err != nil {
			t.Fatalf("%+v cannot be read again: %v", w, err)
		}
		for i, n := range w.numbers() {
			if *n != *again.numbers()[i] {
				t.Fatalf("%+v becomes %+v", w, again)
			}
		}
		// No node says anything that harms another.
		m := NewMember(Config{Name: "a", Session: 1, Parts: 1, Limit: 1000})
		m.Step(0, Renewed{1, 0})
		m.Step(0, Members{Peers: []Peer{{Name: "a", Session: 1}, {Name: "b", Session: 1}}})
		m.Step(0, Owner{0, "a", 1, 1, 0, false})
		m.Step(0, Delivered{0, 1, Batch{Records: []Record{Taken{1, "a"}}}})
		for range 5 {
			m.Step(m.now.Add(time.Second), Heard{"b", b})
			m.Step(m.now, Renewed{1, m.now})
		}
		if m.talk.have > 1000 {
			t.Fatalf("a share of %d", m.talk.have)
		}
	})
}
