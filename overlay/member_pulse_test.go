package overlay

import (
	"testing"
	"time"

	"weir/page"
)

// busy lets a member own partition 0, and have something to do.
func busy(t *testing.T) (s *rig, offset uint64) {
	s = newRig(t, Config{})
	s.join()
	s.own(3, 10)
	s.load(Load{Queued: 1})
	return s, 10
}

// beats lets time pass, and answers appends; it returns how many Marks there were.
func (s *rig) beats(d time.Duration, offset *uint64) (marks int) {
	for end := s.now.Add(d); s.now < end; {
		s.now = s.now.Add(Renewal / 3)
		s.step(Tick{})
		for _, a := range done[Append](s) {
			for _, r := range a.Batch.Records {
				if _, ok := r.(Mark); ok {
					marks++
				}
			}
		}
		s.answer(offset)
		s.renewed()
	}
	return marks
}

// An owner that has something to do looks every few seconds whether its log is there;
// one that has nothing to do lets it be, for as long as that is so.
func TestPulse(t *testing.T) {
	s, offset := busy(t)
	if n := s.beats(time.Minute, &offset); n < 12 || n > 30 {
		t.Errorf("%d Marks in a minute", n)
	}
	if !s.m.Mine(0) {
		t.Fatal("it lost a log that was there")
	}
	s.load(Load{})
	s.beats(talkSlow, &offset) // rounds, of which it knows then that all are idle
	s.beats(time.Minute, &offset)
	if n := s.beats(time.Hour, &offset); n > 0 || !s.m.Mine(0) {
		t.Errorf("%d Marks in an idle hour; it is its own: %v", n, s.m.Mine(0))
	}
	s.load(Load{Queued: 1})
	if s.renewed(); !s.m.Mine(0) {
		t.Error("it lost the log as it woke")
	}
}

// An owner that cannot write to its log, or not read it, lets its pages be after a while,
// and goes on when it reads what it has said a moment ago.
func TestLogIsLost(t *testing.T) {
	for _, acked := range []bool{false, true} {
		s, offset := busy(t)
		s.beats(10*time.Second, &offset)
		var unread []Append
		deaf := func(d time.Duration) { // what it appends fails, or is acknowledged; it reads nothing
			for end := s.now.Add(d); s.now < end; {
				was := s.m.Mine(0)
				s.now = s.now.Add(Renewal / 3)
				s.step(Tick{})
				if was && !s.m.Mine(0) {
					want(s, Disown{0})
				}
				for _, a := range done[Append](s) {
					if unread = append(unread, a); acked {
						s.step(Acked{a.ID})
					} else {
						s.step(Failed{a.ID})
					}
				}
				s.renewed()
			}
		}
		deaf(Hold - pulseLate - Renewal)
		if !s.m.Mine(0) {
			t.Fatal("it lost its log while others elected who leads it")
		}
		deaf(pulseLate + 2*Renewal)
		if s.m.Mine(0) {
			t.Fatalf("it goes on without its log (acknowledged: %v)", acked)
		}
		s.step(Empty{0})
		s.load(Load{})
		deaf(time.Minute)
		if s.m.Mine(0) || s.m.Status().Parts[0].Owner != "a" || s.m.Status().Cut != 1 {
			t.Fatalf("without its log: %+v", s.m.Status().Parts[0])
		}
		s.now = s.now.Add(Hold - Renewal) // it was stopped
		offset++
		s.step(Delivered{0, offset, unread[len(unread)-1].Batch})
		if s.m.Mine(0) {
			t.Error("it goes on when it reads what it said a minute ago")
		}
		s.answer(&offset)
		s.beats(retryLast+Renewal, &offset)
		if !s.m.Mine(0) || s.m.Status().Cut != 0 {
			t.Error("it does not go on when it can read its log again")
		}
	}
}

// A Mark that the log has lost is said again; one that could not be said yet is replaced,
// so that they do not pile up.
func TestMarkIsLost(t *testing.T) {
	for _, acked := range []bool{false, true} {
		s, offset := busy(t)
		for end := s.now.Add(time.Hour); s.now < end; {
			s.now = s.now.Add(Renewal / 3)
			s.step(Tick{})
			for _, a := range done[Append](s) {
				if acked {
					s.step(Acked{a.ID})
				} else {
					s.step(Failed{a.ID})
				}
			}
			s.renewed()
		}
		if n := len(s.m.posts.lanes[0].queue); n > 1 {
			t.Errorf("%d records wait", n)
		}
		s.step(Empty{0})
		if s.beats(Hold+retryLast, &offset); !s.m.Mine(0) {
			t.Errorf("it does not go on (acknowledged: %v)", acked)
		}
	}
}

// flips lets an owner live for a while beside a log, and counts how often it stops or goes
// on. Serve is given each append, at its time, and says what comes of it.
func flips(s *rig, d time.Duration, serve func(a Append) (fail bool, lag time.Duration)) (n int) {
	type read struct {
		at    page.Time
		batch Batch
	}
	var coming []read
	offset := uint64(10)
	for end := s.now.Add(d); s.now < end; {
		was := s.m.Mine(0)
		s.now = s.now.Add(250 * time.Millisecond)
		events := []Event{Tick{}}
		for len(coming) > 0 && s.now >= coming[0].at {
			offset++
			events = append(events, Delivered{0, offset, coming[0].batch})
			coming = coming[1:]
		}
		for len(events) > 0 {
			s.step(events[0])
			events = events[1:]
			if len(done[Disown](s)) > 0 {
				events = append(events, Empty{0})
			}
			for _, a := range done[Append](s) {
				if fail, lag := serve(a); fail {
					events = append(events, Failed{a.ID})
				} else {
					events = append(events, Acked{a.ID})
					coming = append(coming, read{s.now.Add(lag), a.Batch})
				}
			}
		}
		s.renewed()
		if s.m.Mine(0) != was {
			n++
		}
	}
	return n
}

// A log that is read late, but not too late, is not lost; one that is later is, once and
// not again and again.
func TestLogIsLate(t *testing.T) {
	for lag, want := range map[time.Duration]int{0: 0, 6 * time.Second: 0, 8 * time.Second: 0, 10 * time.Second: 0, 12 * time.Second: 1, 14 * time.Second: 1, 20 * time.Second: 1} {
		s, _ := busy(t)
		if n := flips(s, 5*time.Minute, func(Append) (bool, time.Duration) { return false, lag }); n != want {
			t.Errorf("%v late: it stops and goes on %d times, want %d", lag, n, want)
		}
	}
}

// While others elect who leads a log nobody takes what is said; a node bears that.
func TestElection(t *testing.T) {
	for phase := range 16 {
		s, _ := busy(t)
		begin := s.now.Add(20*time.Second + time.Duration(phase)*250*time.Millisecond)
		if n := flips(s, time.Minute, func(Append) (bool, time.Duration) {
			return s.now >= begin && s.now < begin.Add(9*time.Second), 0
		}); n != 0 {
			t.Errorf("phase %d: it stops and goes on %d times", phase, n)
		}
	}
}

// A partition that comes back while something of its earlier time is under way is adopted
// when that is over, and its log was read a moment ago.
func TestAdoptAfterALongVisit(t *testing.T) {
	s, offset := busy(t)
	s.step(Owner{0, "b", 1, 4, 3, false})
	want(s, Disown{0})
	s.step(Owner{0, "a", 100, 5, 4, false})
	s.answer(&offset)
	for range 8 {
		s.now = s.now.Add(Renewal)
		s.step(Tick{})
		s.answer(&offset)
		s.renewed()
		s.answer(&offset)
	}
	s.step(Empty{0})
	want[Adopt](s)
	s.answer(&offset)
	if !s.m.Mine(0) {
		t.Error("it does not adopt what it has read")
	}
}

// While a peer that is back tells what it had fetched, an owner that reads its log late
// waits, for as long as that may take; one that reads it in time does not, and neither
// does one that nobody came back to. It keeps its partitions.
func TestWary(t *testing.T) {
	once := []Peer{{Name: "a", Session: 100}, {Name: "b", Session: 1}}
	again := []Peer{{Name: "a", Session: 100}, {Name: "b", Session: 2}}
	for _, x := range []struct {
		name  string
		then  [][]Peer
		lag   time.Duration
		waits bool
	}{
		{"nobody came back", [][]Peer{once}, 6 * time.Second, false},
		{"a node joined", [][]Peer{once[:1], once}, 6 * time.Second, false},
		{"another session", [][]Peer{once, again}, 6 * time.Second, true},
		{"after a while", [][]Peer{once, once[:1], again}, 6 * time.Second, true},
		{"very late", [][]Peer{once, again}, 10 * time.Second, true},
		{"nearly too late", [][]Peer{once, again}, 3500 * time.Millisecond, true},
		{"not too late", [][]Peer{once, again}, 2500 * time.Millisecond, false},
		{"in time", [][]Peer{once, again}, 0, false},
	} {
		s, _ := busy(t)
		for _, peers := range x.then {
			s.step(Members{Peers: peers})
		}
		begin, changes, on, off := s.now, 0, page.Time(0), page.Time(0)
		was := false
		s.each = func() {
			if len(done[Disown](s)) > 0 {
				t.Errorf("%s: it disowned partitions", x.name)
			}
			if is := s.m.Status().Throttle; is != was {
				if was = is; is {
					on = s.now
				} else {
					off = s.now
				}
				changes++
			}
		}
		flips(s, time.Minute, func(Append) (bool, time.Duration) { return false, x.lag })
		switch {
		case !x.waits && changes > 0:
			t.Errorf("%s: it waits, %d times", x.name, changes)
		case x.waits && (changes != 2 || on.Sub(begin) > waryLag+time.Second || off.Sub(begin) < waryFor || off.Sub(begin) > waryFor+time.Second):
			t.Errorf("%s: it waits from %v until %v, with %d changes", x.name, on.Sub(begin), off.Sub(begin), changes)
		}
	}
}

// A node that is started again does not know which of its peers are, and is wary.
func TestWaryAtFirst(t *testing.T) {
	for _, offset := range []uint64{0, 7} {
		s := newRig(t, Config{Offsets: []uint64{offset}})
		s.join()
		if is := s.now < s.m.waryTill; is != (offset > 0) {
			t.Errorf("it had read up to %d; it is wary: %v", offset, is)
		}
	}
}

// A node says for how long it has something to tell of before its session; its peers are
// wary until then.
func TestEarlyNews(t *testing.T) {
	s := newRig(t, Config{})
	s.step(Parcel{Seq: 1, Ended: []Post{{0, []Record{fact(10)}}}})
	s.join()
	early := func() (is bool) {
		for range 8 { // so often it has said something, at least
			s.now = s.now.Add(time.Second)
			s.step(Tick{})
			for _, a := range done[Say](s) {
				if w, err := readWord(a.Data); err == nil && w.kind() == 'l' {
					is = w.(*load).early == 1
				}
			}
			s.renewed()
		}
		return is
	}
	if !early() {
		t.Error("it does not say that it has old news")
	}
	for range 3 {
		for id := range s.m.posts.appends {
			s.step(Acked{(id + 1) * uint64(len(s.m.posts.lanes))})
		}
	}
	s.step(Parcel{Seq: 2, Ended: []Post{{0, []Record{fact(10)}}}})
	if early() {
		t.Error("it says so of what is new")
	}
	b, _ := busy(t)
	b.step(Members{Peers: []Peer{{Name: "a", Session: 100}, {Name: "b", Session: 1}}})
	b.step(Heard{"b", writeWord(&load{session: 1})})
	if b.now < b.m.waryTill {
		t.Error("it is wary without a reason")
	}
	b.step(Heard{"b", writeWord(&load{session: 1, early: 1})})
	if b.m.waryTill != b.now.Add(waryFor) {
		t.Error("it is not wary of old news")
	}
}
