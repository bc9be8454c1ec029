package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

// In any stretch of time no more is granted than the rate allows, the burst and
// one grant on top.
func TestBucketHolds(t *testing.T) {
	for _, rate := range []int64{100, 10_000, 140_000, 50_000_000} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBucket(rate)
			n := grant([]Limiter{b})
			type taken struct {
				at time.Duration
				n  int
			}
			var mu sync.Mutex
			var all []taken
			start := time.Now()
			var wait sync.WaitGroup
			for i := range 8 {
				wait.Go(func() {
					time.Sleep(time.Duration(i) * 30 * time.Millisecond) // virtual
					for range 20 {
						if err := b.Wait(t.Context(), n); err != nil {
							t.Error(err)
						}
						mu.Lock()
						all = append(all, taken{time.Since(start), n})
						mu.Unlock()
					}
				})
			}
			wait.Wait()
			for i := range all {
				sum := 0
				for j := i; j < len(all); j++ {
					sum += all[j].n
					allowed := float64(rate)*(all[j].at-all[i].at+burst).Seconds() + float64(n) + 1
					if float64(sum) > allowed {
						t.Fatalf("rate %d: %d bytes from %v to %v, allowed %.0f", rate, sum, all[i].at, all[j].at, allowed)
					}
				}
			}
			took := time.Since(start).Seconds()
			if want := float64(160*n) / float64(rate); took > want*1.1+0.3 {
				t.Errorf("rate %d: took %.2f s for what takes %.2f", rate, took, want)
			}
		})
	}
}

func TestBucketIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBucket(100_000)
		var mu sync.Mutex
		var order []int
		var wait sync.WaitGroup
		for i := range 4 {
			wait.Go(func() {
				time.Sleep(time.Duration(i+1) * time.Microsecond) // virtual
				for range 3 {
					b.Wait(t.Context(), 2000)
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		if got := fmt.Sprint(order); got != "[0 1 2 3 0 1 2 3 0 1 2 3]" {
			t.Errorf("grants went to %s", got)
		}
	})
}

func TestBucketSetRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBucket(1)
		start := time.Now()
		var wait sync.WaitGroup
		wait.Go(func() { b.Wait(t.Context(), 4000) }) // over an hour at this rate
		synctest.Wait()
		b.SetRate(4000)
		wait.Wait()
		if took := time.Since(start); took > 1100*time.Millisecond {
			t.Errorf("the waiting did not notice the new rate: %v", took)
		}
		if b.Rate() != 4000 {
			t.Error(b.Rate())
		}
	})
}

func TestBucketAborts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBucket(1)
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for range 2 { // the head of the queue, and the one behind it
			wait.Go(func() {
				if b.Wait(ctx, 4000) == nil {
					t.Error("granted")
				}
			})
		}
		synctest.Wait()
		cancel()
		wait.Wait()
	})
}

// ledger is a Limiter that grants everything and remembers it.
type ledger struct {
	mu     sync.Mutex
	grants []int
}

func (l *ledger) Wait(_ context.Context, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grants = append(l.grants, n)
	return nil
}

// Every byte on the wire is asked for, in small pieces, and none twice.
func TestLimiterSeesAllBytes(t *testing.T) {
	answer := ok + "\r\n" + strings.Repeat("0123456789", 10_000)
	p := serve(t, says(answer))
	l := new(ledger)
	cfg := local()
	u := p.url(t, "/")
	cfg.SiteLimiter = map[string]Limiter{u.Host(): l}
	c := newClient(t, cfg)
	a := open(t, c, u, p.addr.Addr()).Get(t.Context(), u, true)
	defer a.Release()
	if a.Outcome != page.OK || block(t, a) != answer {
		t.Fatal(a.Outcome, a.Err)
	}
	sum := 0
	for _, n := range l.grants {
		sum += n
	}
	if want := len(answer) + len(a.Request); int64(sum) != c.Meter().Bytes() || sum != want {
		t.Errorf("granted %d, metered %d, on the wire %d", sum, c.Meter().Bytes(), want)
	}
	if slices.Max(l.grants) > maxGrant {
		t.Errorf("a grant of %d bytes", slices.Max(l.grants))
	}
}

// A site's own limit grants every byte of that site, and none of another's.
func TestSiteLimiterIsForItsSite(t *testing.T) {
	slow := new(ledger)
	cfg := local()
	cfg.SiteLimiter = map[string]Limiter{"slow.test": slow}
	c := newClient(t, cfg)
	p := serve(t, says(ok+"Content-Length: 5\r\n\r\nhello"))
	fetched := func(host string) (own int) {
		slow.grants = nil
		u := parse(t, fmt.Sprintf("http://%s:%d/", host, p.addr.Port()))
		a := open(t, c, u, p.addr.Addr()).Get(t.Context(), u, true)
		defer a.Release()
		if a.Outcome != page.OK {
			t.Fatal(a.Outcome, a.Err)
		}
		for _, n := range slow.grants {
			own += n
		}
		return own
	}
	if own := fetched("slow.test"); own == 0 {
		t.Error("the slow site was granted nothing of its own")
	}
	if own := fetched("other.test"); own != 0 {
		t.Errorf("another site was granted %d bytes of the slow one's", own)
	}
}

// Where sockets cannot be looked into, nothing is read that was not granted.
func TestLimiterWithoutPeeking(t *testing.T) {
	l := new(ledger)
	cfg := local()
	cfg.SiteLimiter = map[string]Limiter{"site.test": l}
	c := newClient(t, cfg)
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	var wait sync.WaitGroup
	wait.Go(func() {
		for range 3 {
			theirs.Write(make([]byte, 100))
		}
	})
	ln := c.newLink(ours, "site.test")
	defer ln.begin(t.Context(), time.Minute)()
	for range 3 {
		if n, err := ln.Read(make([]byte, 8<<10)); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	wait.Wait()
	if got := fmt.Sprint(l.grants); got != "[4096]" {
		t.Errorf("300 bytes took the grants %s", got)
	}
}

// sleepy is a Limiter that takes a second for every grant.
type sleepy struct{ grants int }

func (s *sleepy) Wait(ctx context.Context, _ int) error {
	s.grants++
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Time spent waiting for the limit is not held against the server.
func TestLimitIsNotSlowness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := local()
		lim := new(sleepy)
		cfg.SiteLimiter = map[string]Limiter{"site.test": lim}
		cfg.Limits = Limits{FirstByte: time.Millisecond, Window: time.Millisecond, Whole: 10 * time.Millisecond, MinRate: 1e6}
		c := newClient(t, cfg)
		u := parse(t, "http://site.test/")
		ours, theirs := net.Pipe()
		var wait sync.WaitGroup
		wait.Go(func() { io.Copy(io.Discard, theirs) })
		wait.Go(func() {
			io.WriteString(theirs, ok+"\r\n"+strings.Repeat("x", 20_000))
			theirs.Close()
		})
		cn := over(c, ours, u)
		a := cn.Get(t.Context(), u, true)
		if a.Outcome != page.OK || a.PayloadSize != 20_000 || lim.grants < 5 {
			t.Errorf("%v (%s) after %d grants", a.Outcome, a.Err, lim.grants)
		}
		a.Release()
		cn.Close()
		wait.Wait()
	})
}

func TestMeter(t *testing.T) {
	var m Meter
	if m.Bytes() != 0 || m.Max1s() != 0 {
		t.Error("nothing was counted yet")
	}
	start := time.Unix(1000, 0)
	for i, n := range []int{10, 0, 30, 20} { // every 400 ms
		m.Add(start.Add(time.Duration(i)*400*time.Millisecond), n)
	}
	m.Add(start.Add(time.Hour), 5)
	if m.Bytes() != 65 || m.Max1s() != 50 {
		t.Errorf("%d bytes, at most %d in a second", m.Bytes(), m.Max1s())
	}
}

// The most in a second lies between the truth for windows one slot shorter and
// the truth for whole seconds.
func TestMeterMax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Meter
		type event struct {
			at time.Duration
			n  int
		}
		var all []event
		at := time.Duration(0)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			at += time.Duration(rapid.IntRange(0, 700).Draw(t, "gap")) * time.Millisecond
			n := rapid.IntRange(0, 1000).Draw(t, "bytes")
			all = append(all, event{at, n})
			m.Add(time.Unix(0, 0).Add(at), n)
		}
		most := func(within time.Duration) (best int64) {
			for i := range all {
				var sum int64
				for j := i; j < len(all) && all[j].at-all[i].at < within; j++ {
					sum += int64(all[j].n)
				}
				best = max(best, sum)
			}
			return best
		}
		if got := m.Max1s(); got > most(time.Second) || got < most(time.Second-slotWidth) {
			t.Fatalf("%d, but the truth is %d", got, most(time.Second))
		}
	})
}
