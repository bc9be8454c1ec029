package overlay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

func restSum(u page.URL) uint64 { return page.Sum(u.Rest()) }

func onward(n int) Row {
	return Row{URL: page.Canonical(fmt.Sprintf("http://h.test/%d", n)), Moves: 1}
}

func handedEnd(r Row) Ended {
	return Ended{Site: r.URL.Site(), Hash: restSum(r.URL), Outcome: page.OK}
}

// handOn is a parcel of one partition that hands pages on to another.
func handOn(seq uint64, from int, epoch uint64, to int, pages ...int) Parcel {
	var rows []Row
	d := Done{Epoch: epoch, Node: "a"}
	for _, n := range pages {
		rows = append(rows, onward(n))
		d.Pages = append(d.Pages, handedEnd(onward(n)))
	}
	return Parcel{Seq: seq, Rows: []Post{{to, []Record{Tuples{Rows: rows}}}}, Ended: []Post{{from, []Record{d}}}}
}

// Whoever owns partitions in between, and whatever fails or is said again: each page that
// is handed on has its row in one log and then its end in the other, or is taken back and
// has neither, and no row goes out while the partition that handed it on has another owner,
// unless it had before. Other rows and ends all go out. What is left of a parcel is what
// was not taken back.
func TestHandedOnOrTakenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const parts = 4
		o := newOutbox(1, parts, 1<<20)
		o.hash = restSum
		var epochs [parts]uint64 // 0: nobody knows
		o.kept = func(part int, epoch uint64) (bool, bool) { return epochs[part] == epoch, epochs[part] != 0 }
		for p := range epochs {
			epochs[p] = 1
		}
		type item struct {
			url string
			end bool
		}
		now := page.Time(0)
		flying := map[int]Append{}
		in := map[item]bool{} // acknowledged
		back := map[string]bool{}
		from := map[string]hand{}
		var made []item
		parcels := map[uint64]Parcel{}
		names := map[pageID]string{}
		last, arrived := uint64(0), uint64(0)
		items := func(r Record) (list []item) {
			switch r := r.(type) {
			case Tuples:
				for _, r := range r.Rows {
					list = append(list, item{r.URL.String(), false})
				}
			case Done:
				for _, e := range r.Pages {
					list = append(list, item{names[pageID{e.Site, e.Hash}], true})
				}
			}
			return list
		}
		take := func(list []Action) {
			for _, a := range list {
				switch a := a.(type) {
				case Append:
					flying[a.Part] = a
					for _, r := range a.Batch.Records {
						for _, x := range items(r) {
							h, handed := from[x.url]
							switch {
							case back[x.url]:
								t.Fatalf("%v goes out, and was taken back", x)
							case handed && x.end && !in[item{x.url, false}]:
								t.Fatalf("%v goes out before its row has", x)
							case handed && !x.end && epochs[h.part] != h.epoch && !in[x]:
								t.Fatalf("%v goes out, and its partition was another's", x)
							}
						}
					}
				case TakeBack:
					for _, post := range a.Pages {
						for _, x := range items(post.Records[0]) {
							if h := from[x.url]; in[x] || back[x.url] || h.part != post.Part || epochs[h.part] == h.epoch {
								t.Fatalf("%v is taken back: by partition %d, its row was acknowledged: %v", x, post.Part, in[x])
							}
							back[x.url] = true
						}
					}
					parcels[a.Left.Seq] = a.Left
				case Arrived:
					arrived = a.Seq
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "ms")) * time.Millisecond)
			part := rapid.IntRange(0, parts-1).Draw(t, "part")
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0, 1:
				last++
				p := Parcel{Seq: last}
				for range rapid.IntRange(1, 4).Draw(t, "rows") {
					r := onward(len(made))
					r.Moves = uint8(rapid.IntRange(0, 1).Draw(t, "moves"))
					u := r.URL.String()
					if n := len(p.Rows); n > 0 && rapid.Bool().Draw(t, "together") {
						rows := p.Rows[n-1].Records[0].(Tuples).Rows
						p.Rows[n-1].Records[0] = Tuples{Rows: append(rows, r)}
					} else {
						p.Rows = append(p.Rows, Post{rapid.IntRange(0, parts-1).Draw(t, "to"), []Record{Tuples{Rows: []Row{r}}}})
					}
					e := handedEnd(r)
					names[pageID{e.Site, e.Hash}] = u
					made = append(made, item{u, false}, item{u, true})
					home := rapid.IntRange(0, parts-1).Draw(t, "from")
					if r.Moves == 0 {
						e.Status = 200
					} else {
						from[u] = hand{part: home, epoch: max(epochs[home], 1)}
					}
					p.Ended = append(p.Ended, Post{home, []Record{Done{Epoch: max(epochs[home], 1), Pages: []Ended{e}}}})
				}
				parcels[last] = p
				o.add(now, p)
			case 2:
				if a, ok := flying[part]; ok {
					delete(flying, part)
					o.failed(now, a.ID)
				}
			case 3:
				epochs[part] = uint64(rapid.IntRange(0, 3).Draw(t, "epoch"))
			case 4:
				o.again(now)
			default:
				if a, ok := flying[part]; ok {
					delete(flying, part)
					for _, r := range a.Batch.Records {
						for _, x := range items(r) {
							in[x] = true
						}
					}
					o.acked(now, a.ID)
				}
			}
			take(o.run(now, nil))
		}
		for p := range epochs {
			epochs[p] = max(epochs[p], 1)
		}
		for range 300 {
			now = max(now, min(o.due, now.Add(time.Minute)))
			take(o.run(now, nil))
			for p := range parts {
				if a, ok := flying[p]; ok {
					delete(flying, p)
					for _, r := range a.Batch.Records {
						for _, x := range items(r) {
							in[x] = true
						}
					}
					o.acked(now, a.ID)
				}
			}
			o.live(now, now)
		}
		for _, x := range made {
			if in[x] == back[x.url] {
				t.Fatalf("%v: told %v, taken back %v", x, in[x], back[x.url])
			}
		}
		for _, p := range parcels {
			for _, post := range slices.Concat(p.Rows, p.Ended) {
				for _, r := range post.Records {
					for _, x := range items(r) {
						if back[x.url] {
							t.Fatalf("%v was taken back, and is left in parcel %d", x, p.Seq)
						}
					}
				}
			}
		}
		if !o.empty() || o.unacked != 0 || len(o.held) > 0 || arrived != last {
			t.Fatalf("%d bytes are left, and %d are held back; parcels have arrived up to %d of %d", o.unacked, len(o.held), arrived, last)
		}
	})
}

// cutOff is a node that has handed a page on, from partition 0 at epoch 3 to partition 1,
// and is cut off before it could tell.
func cutOff(t *testing.T) *rig {
	s := newRig(t, Config{Parts: 2, Hash: restSum})
	s.join()
	s.own(3, 1)
	s.step(handOn(1, 0, 3, 1, 7))
	s.now = s.now.Add(Hold)
	s.step(Tick{})
	want(s, Fence{})
	return s
}

// said is what a Member has said, and taken back.
type said struct {
	*rig
	rows, ends []Record // of partition 1, and 0
	backs      []TakeBack
}

// tell gives it an event, and has all arrive that it says.
func (s *said) tell(ev Event) {
	s.step(ev)
	s.backs = append(s.backs, done[TakeBack](s.rig)...)
	for _, a := range done[Append](s.rig) {
		for _, r := range a.Batch.Records {
			switch r.(type) {
			case Tuples:
				s.rows = append(s.rows, r)
			case Done:
				s.ends = append(s.ends, r)
			}
		}
		s.tell(Acked{a.ID})
	}
}

// live lets a time pass.
func (s *said) live(d time.Duration) {
	for end := s.now.Add(d); s.now < end; {
		s.now = min(end, s.now.Add(Renewal))
		s.tell(Renewed{s.m.session, s.now})
	}
}

// A node that was cut off takes back what it has handed on if another node has owned the
// partition, and tells of it if nobody has. As long as that does not show it waits.
func TestHandOnWaitsForOwners(t *testing.T) {
	row, end := Tuples{Rows: []Row{onward(7)}}, Done{Epoch: 3, Node: "a", Pages: []Ended{handedEnd(onward(7))}}
	back := TakeBack{[]Post{{0, []Record{row}}}, Parcel{Seq: 1}}
	for _, c := range []struct {
		name string
		news []Event
		told bool
	}{
		{"another owns it", []Event{Owner{0, "b", 1, 4, 3}}, false},
		{"it has it back from another", []Event{Owner{0, "b", 1, 4, 3}, Owner{0, "a", 101, 5, 4}}, false},
		{"it has it back from another of whom it has not heard", []Event{Owner{0, "a", 101, 5, 4}}, false},
		{"it has it back from itself", []Event{Owner{0, "a", 101, 4, 3}}, true},
	} {
		s := &said{rig: cutOff(t)}
		s.live(Renewal)
		s.tell(Members{Peers: []Peer{{Name: "a", Session: 101}, {Name: "b", Session: 1}}})
		s.live(holdBack / 2)
		if len(s.rows)+len(s.ends)+len(s.backs) > 0 {
			t.Errorf("%s: nobody owns the partition yet, and it says %v and %v, and takes back %v", c.name, s.rows, s.ends, s.backs)
		}
		for _, ev := range c.news {
			s.tell(ev)
		}
		before := s.m.applied
		s.live(10 * time.Second)
		if !s.m.posts.quiet() {
			t.Errorf("%s: something is left to say", c.name)
		}
		if c.told {
			if fmt.Sprint(s.rows) != fmt.Sprint([]Record{row}) || fmt.Sprint(s.ends) != fmt.Sprint([]Record{end}) || len(s.backs) > 0 {
				t.Errorf("%s: it says %v, then %v, and takes back %v", c.name, s.rows, s.ends, s.backs)
			}
			continue
		}
		if len(s.rows)+len(s.ends) > 0 || fmt.Sprint(s.backs) != fmt.Sprint([]TakeBack{back}) {
			t.Errorf("%s: it says %v and %v, and takes back %v", c.name, s.rows, s.ends, s.backs)
		}
		if s.step(Load{Applied: before}); s.m.talk.fresh {
			t.Errorf("%s: a load from before it took the page back is believed", c.name)
		}
	}
}

// What is never known is taken back in the end, so that nothing waits for good.
func TestHandOnDoesNotWaitForGood(t *testing.T) {
	s := &said{rig: cutOff(t)}
	s.live(Renewal)
	s.live(holdBack - time.Second)
	if len(s.backs) > 0 {
		t.Errorf("it takes back %v, and may hear yet who owns the partition", s.backs)
	}
	s.live(3 * time.Second)
	if len(s.backs) != 1 {
		t.Errorf("it takes back %v", s.backs)
	}
}

// After a restart parcels come again. Those whose rows had arrived go out again, whoever
// has owned the partition since; of the others nothing is known.
func TestHandOnAfterARestart(t *testing.T) {
	s := &said{rig: newRig(t, Config{Parts: 2, Hash: restSum, Arrived: 1})}
	s.tell(handOn(1, 0, 3, 1, 7))
	s.tell(handOn(2, 0, 3, 1, 8))
	s.tell(Renewed{s.m.session, s.now})
	s.tell(Owner{0, "b", 1, 4, 3})
	s.live(10 * time.Second)
	had, lost := handOn(1, 0, 3, 1, 7), handOn(2, 0, 3, 1, 8)
	if fmt.Sprint(s.rows, s.ends) != fmt.Sprint(had.Rows[0].Records, had.Ended[0].Records) {
		t.Errorf("it says %v, then %v", s.rows, s.ends)
	}
	if want := []TakeBack{{[]Post{{0, lost.Rows[0].Records}}, Parcel{Seq: 2}}}; fmt.Sprint(s.backs) != fmt.Sprint(want) {
		t.Errorf("it takes back %v, want %v", s.backs, want)
	}
}

// However much waits, nothing of it goes out that is to be called off.
func TestMuchIsCalledOff(t *testing.T) {
	o := newOutbox(1, 2, 64<<20)
	kept := true
	o.hash, o.kept = restSum, func(int, uint64) (bool, bool) { return kept, true }
	const pages = 20_000
	for i := range pages / 100 {
		list := make([]int, 100)
		for j := range list {
			list[j] = 100*i + j
		}
		o.add(0, handOn(uint64(i+1), 0, 3, 1, list...))
	}
	kept = false
	back := 0
	for range 100 {
		for _, a := range o.run(o.due, nil) {
			switch a := a.(type) {
			case Append:
				t.Fatalf("it says %d records", len(a.Batch.Records))
			case TakeBack:
				for _, post := range a.Pages {
					for _, r := range post.Records {
						back += len(r.(Tuples).Rows)
					}
				}
			}
		}
	}
	if back != pages {
		t.Errorf("%d pages were taken back", back)
	}
}
