package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"weir/overlay"
)

// eyes are what a node was told of logs.
type eyes struct {
	mu   sync.Mutex
	read map[int][]overlay.Delivered
	edge map[int]uint64   // how far that goes
	back map[int][]uint64 // where it went back to
	acks map[uint64]bool
}

func (e *eyes) tell(ev overlay.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch ev := ev.(type) {
	case overlay.Delivered:
		if ev.Offset > e.edge[ev.Part] { // else again
			e.read[ev.Part] = append(e.read[ev.Part], ev)
			e.edge[ev.Part] = ev.Offset
		}
	case overlay.Rewound:
		e.back[ev.Part] = append(e.back[ev.Part], ev.Offset)
		e.edge[ev.Part] = ev.Offset
	case overlay.Acked:
		e.acks[ev.ID] = true
	case overlay.Failed:
		e.acks[ev.ID] = false
	}
}

// last is what was read of a partition last.
func (e *eyes) last(part int) overlay.Delivered {
	e.mu.Lock()
	defer e.mu.Unlock()
	log := e.read[part]
	return log[len(log)-1]
}

// marks are the numbers of the marks that were read of a partition.
func (e *eyes) marks(part int) (ids []uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range e.read[part] {
		for _, r := range d.Batch.Records {
			ids = append(ids, r.(overlay.Mark).ID)
		}
	}
	return ids
}

func (e *eyes) rewinds(part int) []uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.back[part]
}

func newEyes() *eyes {
	return &eyes{read: map[int][]overlay.Delivered{}, edge: map[int]uint64{}, back: map[int][]uint64{}, acks: map[uint64]bool{}}
}

// Whatever becomes of a node's own copy of a log, its follower reads on: without it,
// with it, and when it was lost and is made anew, it is given everything once and in
// order. So is a node that never had one.
func TestFollowersDoNotCareWhereCopiesAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]*eyes{}
	w.tune = func(c *Config) {
		if seen[c.Name] == nil {
			seen[c.Name] = newEyes()
		}
		c.Tell = seen[c.Name].tell
	}
	nodes := w.three(nil)
	a, c := nodes["a"], nodes["c"]
	cfg := w.config("d")
	cfg.Storage = false
	cfg.Join = []string{a.Addr()}
	d := w.open(cfg)

	const part, neighbour, stranger = 4, 4 + overlay.Logs, 4 + 2*overlay.Logs
	next, ids, others := uint64(0), []uint64(nil), []uint64(nil) // those of the neighbour
	// Each round is one message for three partitions, as a rule; two are followed.
	write := func(rounds int) {
		t.Helper()
		for range rounds {
			var round []uint64
			for _, p := range []int{part, neighbour, stranger} {
				next++
				round = append(round, next)
				a.Do(overlay.Append{ID: next, Part: p, Batch: overlay.Batch{Origin: 1, Records: []overlay.Record{overlay.Mark{ID: next, Node: "a"}}}})
			}
			w.Until("it is acknowledged", func() bool {
				seen["a"].mu.Lock()
				defer seen["a"].mu.Unlock()
				for i, id := range round {
					if ok, answered := seen["a"].acks[id]; answered && !ok {
						delete(seen["a"].acks, id)
						a.Do(overlay.Append{ID: id, Part: part + i*overlay.Logs, Batch: overlay.Batch{Origin: 1, Records: []overlay.Record{overlay.Mark{ID: id, Node: "a"}}}})
					}
				}
				return seen["a"].acks[round[0]] && seen["a"].acks[round[1]] && seen["a"].acks[round[2]]
			})
			ids, others = append(ids, round[0]), append(others, round[1])
		}
	}
	reads := func(what string, names ...string) {
		t.Helper()
		w.Until(what, func() bool {
			for _, name := range names {
				if got := slices.Compact(seen[name].marks(part)); !slices.Equal(got, ids) {
					return false
				}
			}
			return true
		})
		for _, name := range names {
			if got := seen[name].marks(stranger); got != nil {
				t.Fatalf("%s was given a partition that it does not follow: %v", name, got)
			}
		}
	}
	for _, n := range []*Node{a, c, d} {
		n.Do(overlay.Follow{Part: part})
		n.Do(overlay.Follow{Part: neighbour})
	}
	write(20)
	reads("all have read, with a copy and without", "a", "c", "d")
	w.Until("c reads its own copy, and d has none", func() bool {
		return !c.readers[overlay.LogOf(part)].far.Load() && d.readers[overlay.LogOf(part)].far.Load()
	})

	// Who has no copy can make sure, too, that the log is what it has read of it.
	d.Do(overlay.Unfollow{Part: part})
	was := seen["d"].last(part)
	write(5)
	d.Do(overlay.Follow{Part: part, After: was.Offset, Stamp: was.Batch.Stamp})
	reads("d reads on where it was", "d")

	if err := c.srv.ShutdownJetStream(); err != nil {
		t.Fatal(err)
	}
	write(20)
	reads("c reads on without its copy", "c", "d")

	c.kill()
	if err := os.RemoveAll(filepath.Join(w.dir, "c", "server", "jetstream", "$G", "streams", logStream(overlay.LogOf(part)))); err != nil {
		t.Fatal(err)
	}
	write(5)
	c = w.open(w.config("c"))
	at := seen["c"].read[part]
	c.Do(overlay.Follow{Part: part, After: at[len(at)-1].Offset})
	c.Do(overlay.Follow{Part: neighbour}) // from the beginning: it is behind
	write(20)
	reads("c has read what it missed", "a", "c", "d")
	w.Until("c has a copy again", func() bool { return !c.readers[overlay.LogOf(part)].far.Load() })
	write(20)
	reads("c reads it", "a", "c", "d")
	w.Until("c has read its neighbour", func() bool { return slices.Equal(slices.Compact(seen["c"].marks(neighbour)), others) })
}

// Where another batch lies than a node has read there, or none, the log was cut: the
// node is told, and reads again what was written since shortly before. Else it reads on.
func TestLogThatWasCutIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]*eyes{}
	w.tune = func(c *Config) {
		seen[c.Name] = newEyes()
		c.Tell = seen[c.Name].tell
	}
	warn := map[string]*warnings{}
	nodes := w.three(warn)
	a, e := nodes["a"], seen["a"]
	const part = 9
	append := func(id uint64) {
		t.Helper()
		do := func() {
			a.Do(overlay.Append{ID: id, Part: part, Batch: overlay.Batch{Origin: 1, Records: []overlay.Record{overlay.Mark{ID: id, Node: "a"}}}})
		}
		do()
		w.Until("it is acknowledged", func() bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			ok, answered := e.acks[id]
			if answered && !ok { // it may be there nevertheless, and then comes twice
				delete(e.acks, id)
				do()
			}
			return ok
		})
	}
	last := func() overlay.Delivered {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.read[part][len(e.read[part])-1]
	}
	reads := func(what string, ids ...uint64) {
		t.Helper()
		w.Until(what, func() bool { return slices.Equal(slices.Compact(e.marks(part)), ids) })
	}
	a.Do(overlay.Follow{Part: part})
	append(1)
	append(2)
	reads("a reads both", 1, 2)
	at := last()
	if at.Batch.Stamp == 0 {
		t.Fatal("a batch has no stamp")
	}
	a.Do(overlay.Follow{Part: part, After: at.Offset, Stamp: at.Batch.Stamp})
	append(3)
	reads("a reads on", 1, 2, 3)
	if e.rewinds(part) != nil || warn["a"].any(func(err error) bool { return errors.As(err, new(*CutError)) }) {
		t.Fatal("a log that is as it was is said to be cut")
	}
	a.Do(overlay.Follow{Part: part, After: at.Offset, Stamp: at.Batch.Stamp ^ 1})
	reads("a reads again when another batch lies there", 1, 2, 3, 1, 2, 3)
	a.Do(overlay.Follow{Part: part, After: last().Offset + 40, Stamp: at.Batch.Stamp})
	reads("and when none does", 1, 2, 3, 1, 2, 3, 1, 2, 3)
	if got := e.rewinds(part); len(got) != 2 || got[0] >= at.Offset || got[1] >= at.Offset {
		t.Errorf("it is rewound to %v, and had read up to %d", got, at.Offset)
	}
	if !warn["a"].any(func(err error) bool { return errors.As(err, new(*CutError)) }) {
		t.Error("nobody is told")
	}
}

func TestBundlesAreTakenApart(t *testing.T) {
	list := []slice{{3, []byte("three")}, {300, nil}, {11, bytes.Repeat([]byte("x"), 300)}}
	got, err := unbundle(pack(nil, appendBundle(nil, list)))
	if err != nil || fmt.Sprint(got) != fmt.Sprint(list) {
		t.Errorf("%v, %v", got, err)
	}
	x := &extract{upto: 9, more: true, messages: []excerpt{{seq: 3, slices: list}, {seq: 8, slices: list[:1]}}}
	back, err := readExtract(appendExtract(nil, x))
	if err != nil || back.upto != 9 || !back.more || len(back.messages) != 2 || fmt.Sprint(back.messages[0].slices) != fmt.Sprint(list) {
		t.Errorf("%+v, %v", back, err)
	}
	q, err := readQuery(appendQuery(nil, &query{after: 1 << 40, parts: []int{1, 9, 256}}))
	if err != nil || q.after != 1<<40 || !slices.Equal(q.parts, []int{1, 9, 256}) {
		t.Errorf("%+v, %v", q, err)
	}
}

func FuzzBundle(f *testing.F) {
	f.Add(appendBundle(nil, nil))
	f.Add(appendBundle(nil, []slice{{3, []byte("three")}, {300, nil}}))
	f.Add([]byte{255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := readBundle(b)
		if err != nil {
			if !errors.Is(err, errBundle) || list != nil {
				t.Fatalf("%v, %v", list, err)
			}
			return
		}
		again, err := readBundle(appendBundle(nil, list))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(list) {
			t.Fatalf("%v became %v: %v", list, again, err)
		}
	})
}

func FuzzExtract(f *testing.F) {
	f.Add(appendExtract(nil, &extract{upto: 9, messages: []excerpt{{seq: 3, slices: []slice{{3, []byte("three")}}}}}))
	f.Add([]byte{0, 1, 0, 1, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := readExtract(b); err == nil {
			if _, err := readExtract(appendExtract(nil, x)); err != nil {
				t.Fatalf("%+v: %v", x, err)
			}
		}
		if q, err := readQuery(b); err == nil {
			if again, err := readQuery(appendQuery(nil, q)); err != nil || again.after != q.after || !slices.Equal(again.parts, q.parts) {
				t.Fatalf("%+v became %+v: %v", q, again, err)
			}
		}
	})
}
