package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/internal/cputime"
	"weir/overlay"
	"weir/page"
)

// bench is three nodes that share the partitions among them.
type bench struct {
	b     *testing.B
	w     *world
	nodes []*Node

	mu    sync.Mutex
	acks  map[uint64]chan bool
	count int // records read
	more  chan struct{}
}

const parts = 256

func newBench(b *testing.B, always bool) *bench {
	x := &bench{b: b, acks: map[uint64]chan bool{}, more: make(chan struct{}, 1)}
	x.w = newWorld(b)
	x.w.tune = func(c *Config) {
		c.Tell, c.ttl, c.Always = x.tell, overlay.TTL, always
	}
	nodes := x.w.three(nil)
	for _, name := range []string{"a", "b", "c"} {
		x.nodes = append(x.nodes, nodes[name])
	}
	return x
}

func (x *bench) tell(e overlay.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e := e.(type) {
	case overlay.Acked:
		x.acks[e.ID] <- true
		delete(x.acks, e.ID)
	case overlay.Failed:
		x.acks[e.ID] <- false
		delete(x.acks, e.ID)
	case overlay.Delivered:
		x.count++
		select {
		case x.more <- struct{}{}:
		default:
		}
	}
}

func (x *bench) follow() {
	for p := range parts {
		x.nodes[p%3].Do(overlay.Follow{Part: p})
	}
}

func (x *bench) append(id uint64, part int, batch overlay.Batch) chan bool {
	done := make(chan bool, 1)
	x.mu.Lock()
	x.acks[id] = done
	x.mu.Unlock()
	x.nodes[rand.IntN(3)].Do(overlay.Append{ID: id, Part: part, Batch: batch})
	return done
}

// wire is what the servers have sent one another, without TLS.
func (x *bench) wire() (total int64) {
	for _, n := range x.nodes {
		in, _ := n.wire()
		total += in
	}
	return total
}

// tuples is a batch as a node makes it: rows of a few hosts.
func tuples(b *testing.B, n int) overlay.Batch {
	var rows []overlay.Row
	for i := range n {
		u, err := page.Parse(fmt.Sprintf("https://www.site%05d.example.org/section/%x/article-%d.html", rand.IntN(20000)/100*100+i/10, rand.Uint32(), rand.IntN(100000)))
		if err != nil {
			b.Fatal(err)
		}
		rows = append(rows, overlay.Row{URL: u, Depth: 3, Score: rand.Float32()})
	}
	return overlay.Batch{Origin: 1, Records: []overlay.Record{overlay.Tuples{Rows: rows}}}
}

// BenchmarkAppend writes batches of 100 rows to 256 partitions, each followed by
// one node, until they are read: three nodes, three copies, TLS between them.
func BenchmarkAppend(b *testing.B) {
	x := newBench(b, false)
	x.follow()
	batches := make([]overlay.Batch, 64)
	for i := range batches {
		batches[i] = tuples(b, 100)
	}
	wire, cpu := x.wire(), cputime.Used()
	b.ResetTimer()
	window := make(chan chan bool, 128)
	go func() {
		defer close(window)
		for i := range b.N {
			window <- x.append(uint64(i+1), rand.IntN(parts), batches[i%len(batches)])
		}
	}()
	failed := 0
	for done := range window {
		if !<-done {
			failed++
		}
	}
	acked := b.Elapsed()
	x.w.Until("all is read", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.count >= b.N-failed
	})
	b.StopTimer()
	rows := float64(b.N * 100)
	b.ReportMetric(rows/acked.Seconds(), "rows/s")
	b.ReportMetric(rows/b.Elapsed().Seconds(), "read/s")
	b.ReportMetric(float64(x.wire()-wire)/rows, "wireB/row")
	b.ReportMetric((cputime.Used()-cpu).Seconds()*1e6/rows, "cpu-µs/row")
	b.ReportMetric(float64(failed), "failed")
}

// BenchmarkAck waits for each append, with disks that are waited for and without.
func BenchmarkAck(b *testing.B) {
	for _, always := range []bool{false, true} {
		b.Run(fmt.Sprintf("always=%v", always), func(b *testing.B) { ack(newBench(b, always)) })
	}
}

func ack(x *bench) {
	b := x.b
	batch := tuples(b, 10)
	var took []time.Duration
	b.ResetTimer()
	for i := range b.N {
		start := time.Now()
		<-x.append(uint64(i+1), rand.IntN(parts), batch)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "p99-ms")
}

// BenchmarkIdle is the CPU time of three nodes that follow 256 partitions and have
// nothing to do, in a second.
func BenchmarkIdle(b *testing.B) {
	x := newBench(b, false)
	x.follow()
	for p := range parts {
		<-x.append(uint64(p+1), p, tuples(b, 1))
	}
	x.w.Until("all is read", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.count >= parts
	})
	cpu, wire := cputime.Used(), x.wire()
	start := time.Now()
	b.ResetTimer()
	pause(b.Context(), 20*time.Second)
	b.StopTimer()
	sec := time.Since(start).Seconds()
	b.ReportMetric((cputime.Used()-cpu).Seconds()/sec*1e3, "cpu-ms/s")
	b.ReportMetric(float64(x.wire()-wire)/sec, "wireB/s")
}
