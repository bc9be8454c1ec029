package fetch

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/page"
)

// race is downloads that share a limit. Its Wire looks, and its clock goes on, only
// while all of them wait for that: how fast this machine and its loopback are
// decides nothing.
type race struct {
	wire *Wire
	now  atomic.Int64
	heed func(w *Wire, got map[string]int64) // called before every look; nil: not

	mu  sync.Mutex
	got map[string]int64 // bytes of each host's answer before the last look
	all []int64          // bytes of all before each look
}

const (
	raceLimit = 1e6
	maxIdle   = 60_000 // looks at downloads that do not all wait, a millisecond or more apart
)

func newRace(t *testing.T, heed func(w *Wire, got map[string]int64)) *race {
	r := &race{heed: heed}
	r.wire = NewWire(WireConfig{Limit: raceLimit, Clock: func() page.Time { return page.Time(r.now.Load()) }})
	return r
}

// look lets a tick pass if all of so many downloads wait. It says whether one did.
func (r *race) look(hosts int) bool {
	w := r.wire
	w.mu.Lock()
	got := map[string]int64{}
	ready := len(w.turn) == hosts
	for _, f := range w.turn {
		got[f.host] = f.seen.Payload
		ready = ready && (f.waits || f.into != nil && f.reads())
	}
	bytes := w.credit.Bytes()
	w.mu.Unlock()
	if !ready {
		return false
	}
	if r.heed != nil {
		r.heed(w, got)
	}
	r.mu.Lock()
	r.got, r.all = got, append(r.all, bytes)
	r.mu.Unlock()
	r.now.Add(int64(tick))
	w.mu.Lock()
	w.look()
	w.mu.Unlock()
	return true
}

// reads says that there is something to read.
func (f *flow) reads() bool {
	_, err := f.sock.holds()
	return err == nil
}

// run lets the hosts begin together and returns, for each in the order they ended,
// its name and what all had then.
func (r *race) run(t *testing.T, hosts ...string) (order []string, had []map[string]int64) {
	t.Helper()
	c := newClient(t, under(r.wire))
	type end struct {
		host string
		a    *Answer
		got  map[string]int64
	}
	ends := make(chan end, len(hosts))
	for _, host := range hosts {
		p := serveSmall(t, keeps(long))
		u := parse(t, fmt.Sprintf("http://%s:%d/", host, p.addr.Port()))
		cn := open(t, c, u, p.addr.Addr())
		go func() {
			a := cn.Get(t.Context(), u, true)
			r.mu.Lock()
			defer r.mu.Unlock()
			ends <- end{host, a, r.got}
		}()
	}
	looks := time.NewTicker(time.Millisecond)
	defer looks.Stop()
	idle, most := 0, 20*len(hosts)*int(float64(len(long))/raceLimit*float64(time.Second/tick)) // ticks, far more than they need
	for len(order) < len(hosts) {
		select {
		case e := <-ends:
			if e.a.Outcome != page.OK || block(t, e.a) != long {
				t.Errorf("%s: %v (%s)", e.host, e.a.Outcome, e.a.Err)
			}
			e.a.Release()
			order, had = append(order, e.host), append(had, e.got)
		case <-looks.C:
			if r.look(len(hosts) - len(order)) {
				most--
			} else {
				idle++
			}
			if most == 0 || idle == maxIdle {
				t.Fatalf("only %v have ended, after %d looks at all of the others and %d at some", order, len(r.all), idle)
			}
		}
	}
	const second = int(time.Second / tick)
	for i := range r.all {
		if n := r.all[i] - r.all[max(i-second, 0)]; n > 1.05*raceLimit {
			t.Fatalf("%d bytes came in the second before %v", n, time.Duration(i)*tick)
		}
	}
	return order, had
}

// The urgent host's bytes come first, the most urgent's before all; the rest is
// for the others, and all of it once the urgent are done.
func TestUrgentComesFirst(t *testing.T) {
	r := newRace(t, nil)
	r.wire.Share(map[string]float64{"second.test": 1, "first.test": 2, "unknown.test": 3})
	order, had := r.run(t, "last.test", "second.test", "first.test")
	if fmt.Sprint(order) != "[first.test second.test last.test]" {
		t.Fatalf("they ended in the order %v", order)
	}
	if n := had[0]["second.test"]; n > int64(len(long))/2 {
		t.Errorf("the second had %d bytes when the first was done", n)
	}
	if n := had[1]["last.test"]; n > int64(len(long))/4 {
		t.Errorf("the last had %d bytes when the second was done", n)
	}
}

// A host may become urgent while it sends.
func TestBecomesUrgent(t *testing.T) {
	var once sync.Once
	r := newRace(t, func(w *Wire, got map[string]int64) {
		if got["urgent.test"] > int64(len(long))/4 {
			once.Do(func() { w.Share(map[string]float64{"urgent.test": 1}) })
		}
	})
	order, had := r.run(t, "other.test", "urgent.test")
	if n := had[0]["other.test"]; order[0] != "urgent.test" || n < int64(len(long))/8 || n > int64(len(long))/2 {
		t.Errorf("%s was done first, the other had %d of %d bytes", order[0], n, len(long))
	}
}

// One that is urgent no longer shares with the others as if it had never been: it
// neither waits until they have had as much, nor goes on first.
func TestUrgentNoLonger(t *testing.T) {
	var once sync.Once
	r := newRace(t, func(w *Wire, got map[string]int64) {
		if got["urgent.test"] > int64(len(long))/2 {
			once.Do(func() { w.Share(nil) })
		}
	})
	r.wire.Share(map[string]float64{"urgent.test": 1})
	order, had := r.run(t, "other.test", "urgent.test")
	if n := had[0]["other.test"]; order[0] != "urgent.test" || n < int64(len(long))/3 || n > int64(len(long))*2/3 {
		t.Errorf("%s was done first, the other had %d of %d bytes", order[0], n, len(long))
	}
}
