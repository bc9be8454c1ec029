package overlay

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

func fact(n int) Record { return shipment(make([]byte, n)...) }

func shipment(row ...byte) Record { return Shipped{Rows: []Ship{{Row: row}}} }

// Whatever is acknowledged, fails or is late, in whatever order: no end is told
// before all rows up to it are known to be in their logs; everything is told in the
// end, and forgotten three seconds after that. When a log has lost its end, what was
// acknowledged and not forgotten counts for nothing, whatever else its parcel waits for.
func TestOutboxOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			seq   uint64
			ended bool
			n     int
		}
		const parts = 3
		o := newOutbox(1, parts, 1<<20)
		now := page.Time(0)
		flying := map[int]Append{}
		acked := map[key]page.Time{}
		safe := map[key]page.Time{} // acked since a log was cut
		made := []key{}
		posted, last := uint64(0), uint64(0)
		find := func(r Record) key {
			b := r.(Shipped).Rows[0].Row
			return key{uint64(b[0]), b[1] == 1, int(b[2])}
		}
		take := func(list []Action) {
			for _, a := range list {
				switch a := a.(type) {
				case Append:
					if _, ok := flying[a.Part]; ok {
						t.Fatalf("two appends to partition %d at once", a.Part)
					}
					flying[a.Part] = a
					for _, r := range a.Batch.Records {
						k := find(r)
						for _, other := range made {
							if _, ok := acked[other]; k.ended && !other.ended && other.seq <= k.seq && !ok {
								t.Fatalf("the end of %v is told before %v", k, other)
							}
						}
					}
				case Posted:
					for _, k := range made {
						at, ok := safe[k]
						if k.seq > posted && k.seq <= a.Seq && (!ok || now < at.Add(synced)) {
							t.Fatalf("parcel %d is forgotten too early", a.Seq)
						}
					}
					posted = a.Seq
				}
			}
		}
		answer := func(part int, ok bool) {
			a, under := flying[part]
			if !under {
				return
			}
			delete(flying, part)
			if !ok {
				o.failed(now, a.ID)
				o.acked(now, a.ID) // too late
				return
			}
			for _, r := range a.Batch.Records {
				acked[find(r)] = now
				safe[find(r)] = now
			}
			o.acked(now, a.ID)
			o.acked(now, a.ID)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "ms")) * time.Millisecond)
			switch part := rapid.IntRange(0, parts-1).Draw(t, "part"); rapid.IntRange(0, 8).Draw(t, "what") {
			case 0, 5:
				if last == 200 {
					break
				}
				last++
				p := Parcel{Seq: last}
				for i := range rapid.IntRange(0, 3).Draw(t, "rows") {
					made = append(made, key{last, false, i})
					p.Rows = append(p.Rows, Post{rapid.IntRange(0, parts-1).Draw(t, "to"), []Record{shipment(byte(last), 0, byte(i))}})
				}
				for i := range rapid.IntRange(0, 2).Draw(t, "ended") {
					made = append(made, key{last, true, i})
					p.Ended = append(p.Ended, Post{part, []Record{shipment(byte(last), 1, byte(i))}})
				}
				o.add(now, p)
				o.add(now, p) // handed in again
			case 1, 6:
				answer(part, false)
			case 8:
				clear(safe)
				clear(flying) // what is under way may be lost, too
				for p := range parts {
					if l := o.lanes[p]; l != nil && l.id != 0 {
						o.failed(now, l.id)
					}
				}
				o.again(now)
			default:
				answer(part, true)
			}
			take(o.run(now, nil))
		}
		for range 200 {
			now = max(now, min(o.due, now.Add(time.Minute)))
			o.live(now, now)
			take(o.run(now, nil))
			for p := range parts {
				answer(p, true)
			}
			take(o.run(now, nil))
		}
		if posted != last || !o.empty() || o.unacked != 0 || o.told() != last {
			t.Fatalf("%d of %d parcels are forgotten, %d bytes are left", posted, last, o.unacked)
		}
	})
}

// Records to a partition are gathered for a moment, less when nothing else waits,
// and go in batches of a bounded size.
func TestOutboxGather(t *testing.T) {
	o := newOutbox(1, 2, 1<<20)
	o.add(0, Parcel{Seq: 1, Rows: []Post{{0, []Record{fact(1)}}}})
	if o.due != page.Time(gatherIdle) {
		t.Errorf("the first waits for %v", time.Duration(o.due))
	}
	first := o.run(o.due, nil)[0].(Append)
	now := page.Time(time.Second)
	for seq := range uint64(10) {
		o.add(now.Add(time.Duration(seq)), Parcel{Seq: seq + 2, Rows: []Post{{1, []Record{fact(100_000)}}}})
	}
	var sizes []int
	for id := uint64(0); len(sizes) < 5; {
		list := o.run(now.Add(gather), nil)
		for _, a := range list {
			if a, ok := a.(Append); ok {
				sizes = append(sizes, len(a.Batch.Records))
				id = a.ID
			}
		}
		o.acked(now, id)
	}
	if !slices.Equal(sizes, []int{2, 2, 2, 2, 2}) {
		t.Errorf("batches of %v", sizes)
	}
	o.acked(now, first.ID)
	o.run(now, nil)
}

// A page with very many links does not make a batch that nobody takes.
func TestOutboxSplit(t *testing.T) {
	long := mustURL(t, "https://a.example/"+strings.Repeat("x", 1900))
	rows := make([]Row, 20_000)
	for i := range rows {
		rows[i].URL = long
	}
	o := newOutbox(1, 1, 1<<30)
	o.add(0, Parcel{Seq: 1, Rows: []Post{{0, []Record{Tuples{Rows: rows, Own: true}, Shipped{Program: 1, Rows: []Ship{{Row: make([]byte, 1<<19)}, {Row: make([]byte, 1<<19)}}}}}}})
	told, shipped := 0, 0
	for now := page.Time(time.Second); !o.quiet(); {
		a := o.run(now, nil)[0].(Append)
		if size := len(AppendBatch(nil, &a.Batch)); size > MaxBatch/8 {
			t.Fatalf("a batch of %d bytes", size)
		}
		for _, r := range a.Batch.Records {
			switch r := r.(type) {
			case Tuples:
				if told += len(r.Rows); !r.Own {
					t.Fatal("own rows are nobody's")
				}
			case Shipped:
				shipped += len(r.Rows)
			}
		}
		o.acked(now, a.ID)
	}
	if told != len(rows) || shipped != 2 {
		t.Errorf("%d rows and %d shipped were told", told, shipped)
	}
}

// What fails is tried again, with longer and longer pauses.
func TestOutboxRetry(t *testing.T) {
	o := newOutbox(1, 1, 1<<20)
	o.add(0, Parcel{Seq: 1, Rows: []Post{{0, []Record{fact(1)}}}})
	var pauses []string
	for range 6 {
		now := o.due
		a := o.run(now, nil)[0].(Append)
		o.failed(now, a.ID)
		pauses = append(pauses, o.due.Sub(now).String())
	}
	if got := strings.Join(pauses, " "); got != "1s 2s 4s 4s 4s 4s" {
		t.Errorf("pauses of %s", got)
	}
}

// Too much that nobody has acknowledged holds the node up, until there is less.
func TestOutboxThrottle(t *testing.T) {
	o := newOutbox(1, 1, 1000)
	o.add(0, Parcel{Seq: 1, Rows: []Post{{0, []Record{fact(300)}}}})
	a := o.run(o.due, nil)[0].(Append)
	o.add(0, Parcel{Seq: 2, Ended: []Post{{0, []Record{fact(800)}}}})
	if o.run(0, nil); !o.full {
		t.Errorf("it goes on with %d bytes", o.unacked)
	}
	o.acked(0, a.ID)
	if o.run(0, nil); !o.full {
		t.Errorf("it goes on with %d bytes", o.unacked)
	}
	a = o.run(page.Time(time.Second), nil)[0].(Append)
	o.acked(0, a.ID)
	if o.run(0, nil); o.full {
		t.Errorf("it waits with %d bytes", o.unacked)
	}
}

// What nobody waits for is gathered for long, since every append has its price.
func TestOutboxPatience(t *testing.T) {
	o := newOutbox(1, 2, 1<<20)
	o.patient = func(part int) bool { return part == 0 }
	o.add(0, Parcel{Seq: 1, Rows: []Post{{0, []Record{fact(1)}}}})
	if o.due != page.Time(gatherLong) {
		t.Errorf("what nobody waits for waits for %v", time.Duration(o.due))
	}
	o.add(0, Parcel{Seq: 2, Rows: []Post{{1, []Record{fact(1)}}}})
	if o.due != page.Time(gather) {
		t.Errorf("what somebody waits for waits for %v", time.Duration(o.due))
	}
	if due := o.lanes[0].due; due != page.Time(gatherLong) {
		t.Errorf("what nobody waits for waits for %v then", time.Duration(due))
	}
	o.add(1, Parcel{Seq: 3, Rows: []Post{{0, []Record{Handed{}}}}})
	if due := o.lanes[0].due; due != page.Time(gatherWords)+1 {
		t.Errorf("what is left to others waits for %v", time.Duration(due))
	}
	o.hurry(10, true)
	if n := len(o.run(10, nil)); n != 2 {
		t.Errorf("%d appends in a hurry", n)
	}
}

// A node that has enough to do waits for no more; one that has not gets its rows soon, and so do all when they wait for
// the last acknowledgement.
func TestPatience(t *testing.T) {
	home, name := heir()
	s := newRig(t, Config{Name: name})
	s.join(Peer{Name: home, Session: 1})
	s.step(Owner{0, home, 1, 4, 0, false})
	s.load(Load{Queued: 10})
	if s.m.patient(0) {
		t.Error("the owner has told nothing of its load")
	}
	s.step(Heard{home, writeWord(&load{session: 1, owned: 1, queued: plenty})})
	if !s.m.patient(0) {
		t.Error("the owner has enough to do")
	}
	s.step(Heard{home, writeWord(&load{session: 1, owned: 1, queued: 3})})
	if s.m.patient(0) {
		t.Error("the owner has little to do")
	}
	if s.m.posts.hasty {
		t.Error("it is in a hurry though it has pages to fetch")
	}
	s.load(Load{})
	if !s.m.posts.hasty {
		t.Error("it has nothing to fetch, and lets others wait for what it has said")
	}
}

// When a log takes something again, all that it did not take is said at once.
func TestLogIsBack(t *testing.T) {
	o := newOutbox(1, 9, 1<<20)
	now := page.Time(time.Hour)
	for p := range 8 {
		o.add(now, Parcel{Seq: uint64(p + 1), Rows: []Post{{p, []Record{Hosts{}}}}})
	}
	said := func() (parts []int, ids map[int]uint64) {
		ids = map[int]uint64{}
		for _, a := range o.run(now, nil) {
			if a, ok := a.(Append); ok {
				parts = append(parts, a.Part)
				ids[a.Part] = a.ID
			}
		}
		return parts, ids
	}
	var ids map[int]uint64
	for i := range 5 { // the pauses grow
		now = now.Add(retryLast)
		if _, ids = said(); len(ids) != 8 {
			t.Fatalf("it says something to %d partitions", len(ids))
		}
		for p := range 8 {
			if p != 1 || i < 4 {
				o.failed(now, ids[p])
			}
		}
	}
	now = now.Add(time.Millisecond)
	if parts, _ := said(); len(parts) > 0 {
		t.Fatalf("it says something to %v before it is time", parts)
	}
	o.acked(now, ids[1]) // of log 1
	if parts, _ := said(); !slices.Equal(parts, []int{5}) {
		t.Errorf("when log 1 is back it says something to %v", parts)
	}
}
