package bandwidth

import (
	"slices"
	"testing"
)

// These tests hold what Diligenti et al. (2004), section 2, say of the fetcher
// manager; each cites its step.

// manager plays the paper's manager over a queue of documents with known rates.
type manager struct {
	c       Control
	book    Book
	queue   []float64 // B(u), the best document first
	running map[float64]int
	depth   int
}

func newManager(limit float64, depth int, queue ...float64) *manager {
	m := &manager{c: &paper{}, queue: queue, depth: depth, running: map[float64]int{}}
	m.c.Measured(0, &m.book, Wire{Limit: limit})
	return m
}

// activate is steps 1 to 5, and returns the rates of what was started.
func (m *manager) activate() (started []float64) {
	for d, at := 0, 0; d < m.depth && at < len(m.queue) && m.c.Open(&m.book, 0); d++ { // steps 1, 4 and 5
		rate := m.queue[at] // step 2
		if !m.c.Fits(&m.book, rate) {
			at++
			continue
		}
		m.running[rate] = m.book.Start(Load{Rate: rate}) // step 3
		m.queue = slices.Delete(m.queue, at, at+1)
		started = append(started, rate)
	}
	return started
}

// end completes a download: CB = CB - B(u_c).
func (m *manager) end(rate float64) { m.book.End(m.running[rate]) }

// "The search starts from the top of the queue": step 1 and 2, what fits starts
// in the order of the queue.
func TestPaperSearchFromTheTop(t *testing.T) {
	m := newManager(140, 6, 50, 40, 30, 20, 10)
	if got, want := m.activate(), []float64{50, 40, 30, 20}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
}

// Step 3: "If CB + B(u_d) <= L, assign u_d to an inactive fetcher and update CB".
// A document that fills the limit exactly still fits.
func TestPaperFits(t *testing.T) {
	m := newManager(140, 6, 100, 41, 40, 1)
	if got, want := m.activate(), []float64{100, 40}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
	if cb := m.c.Expected(&m.book); cb != 140 {
		t.Errorf("CB = %v, want 140", cb)
	}
}

// Step 5: the search ends at max_d. A document that would fit lies below it.
func TestPaperDepth(t *testing.T) {
	queue := []float64{100, 90, 80, 70, 60, 50, 40}
	for depth, want := range map[int][]float64{2: {100}, 6: {100}, 7: {100, 40}} {
		m := newManager(140, depth, slices.Clone(queue)...)
		if got := m.activate(); !slices.Equal(got, want) {
			t.Errorf("max_d = %d: started %v, want %v", depth, got, want)
		}
	}
}

// Step 5, its slip mended ("until CB <= L" would end at once): with CB = L no
// document is looked at any more.
func TestPaperFull(t *testing.T) {
	m := newManager(140, 6, 140, 1)
	m.activate()
	if m.c.Open(&m.book, 0) {
		t.Error("the search goes on with CB = L")
	}
}

// "When a fetcher completes its current download u_c, a slot of bandwidth becomes
// available to start one or more downloads": several may start for one end.
func TestPaperSlot(t *testing.T) {
	m := newManager(140, 6, 100, 40, 50, 30, 20)
	m.activate() // 100 and 40
	m.end(100)
	if got, want := m.activate(), []float64{50, 30, 20}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
}

// "some URLs with a smaller score are downloaded before URLs with a larger score"
// (section 3): the price of the search.
func TestPaperInversion(t *testing.T) {
	m := newManager(140, 6, 100, 90, 40)
	if got, want := m.activate(), []float64{100, 40}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v: the third before the second", got, want)
	}
}

// "The manager periodically checks the queue to avoid the starvation of the
// fastest servers (e.g. those servers whose transfer rate exceeds the threshold
// L)": such a server's turn comes when nothing else runs.
func TestPaperStarvation(t *testing.T) {
	m := newManager(140, 6, 500, 100)
	if got, want := m.activate(), []float64{500}; !slices.Equal(got, want) {
		t.Fatalf("started %v, want %v alone", got, want)
	}
	m.end(500)
	if got, want := m.activate(), []float64{100}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
}

// The same among others that always fit and never all end at once: the fast
// server does not wait for ever.
func TestPaperStarvationAmongOthers(t *testing.T) {
	c := &paper{}
	var b Book
	running := []int{b.Start(Load{Rate: 60}), b.Start(Load{Rate: 60})}
	for second := range 600 {
		c.Measured(instant(float64(second)), &b, Wire{Limit: 140})
		if len(running) > 0 { // one ends, and the search begins at the top
			b.End(running[0])
			running = running[1:]
		}
		if c.Fits(&b, 500) {
			if b.Len() > 0 {
				t.Errorf("it started beside %d others", b.Len())
			}
			return
		}
		for c.Open(&b, 0) && c.Fits(&b, 60) {
			running = append(running, b.Start(Load{Rate: 60}))
		}
	}
	t.Error("a server faster than the limit never had its turn")
}

// Section 3 and reference [6]: "stopping a fetcher when the actual bandwidth is
// above the limit and by starting a new one when it is below".
func TestPaperReactive(t *testing.T) {
	c, err := NewControl("reactive")
	if err != nil {
		t.Fatal(err)
	}
	var b Book
	var tickets []int
	var got []int
	bytes := int64(0)
	for second, rate := range []int64{0, 50, 90, 130, 200, 180, 150, 120} {
		bytes += rate
		c.Measured(instant(float64(second)), &b, Wire{Limit: 140, Bytes: bytes})
		for c.Open(&b, 0) {
			tickets = append(tickets, b.Start(Load{Rate: 1}))
		}
		got = append(got, b.Len())
		if rate > 140 { // a fetcher that was stopped is not replaced when its download ends
			b.End(tickets[0])
			tickets = tickets[1:]
			if c.Open(&b, 0) {
				t.Errorf("second %d: a stopped fetcher was replaced", second)
			}
		}
	}
	if want := []int{1, 2, 3, 4, 4, 3, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("fetchers %v, want %v", got, want)
	}
}
