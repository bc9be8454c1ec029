package node

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/internal/fetch"
	"weir/page"
)

// The wire gets the part of the limit that the queue of the link leaves, and the
// whole of it back.
func TestYieldSetsTheWire(t *testing.T) {
	var now page.Time
	wire := fetch.NewWire(fetch.WireConfig{Limit: bandwidth.Off, Clock: func() page.Time { return now }})
	if !wire.Exact() {
		return // there nothing tells how the wire is set
	}
	y := newYielding(wire, now, func() { t.Error("it is not blind") })
	held := func() int64 { return int64(wire.State().Limit) }
	trips := func(n int, rtt time.Duration) {
		for range n {
			now = now.Add(100 * time.Millisecond)
			y.trip(now, fetch.Trip{RTT: rtt})
		}
	}
	y.limit(1e6)
	trips(300, 10*time.Millisecond)
	if held() != 1e6 {
		t.Errorf("on a quiet link the limit is %d", held())
	}
	trips(20, 200*time.Millisecond)
	var b Bound
	y.describe(&b)
	if held() > 100e3 || b.Yields != 1 {
		t.Errorf("with others there the limit is %d, yielded %d times", held(), b.Yields)
	}
	y.limit(2e6)
	if held() > 200e3 {
		t.Errorf("a new limit makes it %d", held())
	}
	for _, rate := range []int64{100e3, 1e3} {
		if y.limit(rate); held() != min(rate, leastYielded) {
			t.Errorf("a limit of %d makes it %d", rate, held())
		}
	}
	y.limit(bandwidth.Off)
	if held() != 0 {
		t.Errorf("a pause makes it %d", held())
	}
	y.limit(1e6)
	trips(200, 10*time.Millisecond)
	if held() != 1e6 {
		t.Errorf("with others gone the limit is %d", held())
	}
}

// Who never answers is no reason to go slower, but to tell the user, once.
func TestYieldBlind(t *testing.T) {
	var now page.Time
	wire := fetch.NewWire(fetch.WireConfig{Limit: bandwidth.Off, Clock: func() page.Time { return now }})
	told := 0
	y := newYielding(wire, now, func() { told++ })
	y.limit(1e6)
	for range 300 {
		now = now.Add(100 * time.Millisecond)
		y.trip(now, fetch.Trip{Lost: true})
	}
	if told != 1 || wire.Exact() && wire.State().Limit != 1e6 {
		t.Errorf("told %d times, limit %v", told, wire.State().Limit)
	}
}

// A live crawl probes its target and counts what that brings.
func TestYieldProbes(t *testing.T) {
	t.Parallel()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var echo sync.WaitGroup
	asked := make(chan struct{}, 1)
	echo.Go(func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			buf[2] |= 0x80
			conn.WriteTo(buf[:n], from)
			select {
			case asked <- struct{}{}:
			default:
			}
		}
	})
	defer echo.Wait()
	defer conn.Close()
	cfg := config(t, long(t))
	cfg.Wait = time.Millisecond
	cfg.Bandwidth.Limits.Rate = 300e3
	cfg.Yield, cfg.Probe = true, "dns:"+conn.LocalAddr().String()
	n, _ := running(t, cfg)
	for range 3 {
		<-asked
	}
	if h := steered(t, cfg.Dir, Steering{}); h.Now != 300e3 || strings.Contains(h.Text, "not yielding") {
		t.Errorf("%+v", h)
	}
	if !strings.HasPrefix(n.probe.String(), "dns:127.0.0.1:") {
		t.Errorf("probes %v", n.probe)
	}
}
