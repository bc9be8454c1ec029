package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/page"
)

// newWire returns a Wire that runs until the test ends. With heed it is called
// at every tick.
func newWire(t testing.TB, limit int64, heed func(*Wire)) *Wire {
	t.Helper()
	w := stillWire(limit)
	runWire(t, w, heed)
	return w
}

// runWire runs a Wire until the test ends.
func runWire(t testing.TB, w *Wire, heed func(*Wire)) {
	ctx, cancel := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	runs.Go(func() {
		w.Run(ctx, time.Millisecond, func(bandwidth.Wire) {
			if heed != nil {
				heed(w)
			}
		})
	})
	t.Cleanup(func() {
		cancel()
		runs.Wait()
	})
}

// stillWire returns a Wire that nobody runs.
func stillWire(limit int64) *Wire {
	start := time.Now()
	return NewWire(WireConfig{Limit: limit, Clock: func() page.Time { return page.Time(time.Since(start)) }})
}

func under(w *Wire) Config {
	cfg := local()
	cfg.Wire = w
	return cfg
}

// generous is a limit that no test waits for.
const generous = 200e6

// Under a Wire pages are what they are without one.
func TestWireFetches(t *testing.T) {
	text := strings.Repeat("<p>All work and no play. ", 8000)
	chunks := ""
	for rest := text; rest != ""; rest = rest[min(len(rest), 5000):] {
		n := min(len(rest), 5000)
		chunks += fmt.Sprintf("%x\r\n%s\r\n", n, rest[:n])
	}
	gz := string(squeeze(t, "gzip", []byte(text)))
	answers := map[string]struct {
		answer string
		close  bool
	}{
		"a length":          {answer: fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(text), text)},
		"chunks":            {answer: ok + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n"},
		"until the end":     {answer: ok + "\r\n" + text, close: true},
		"gzip":              {answer: fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", ok, len(gz), gz)},
		"gzip to the end":   {answer: ok + "Content-Encoding: gzip\r\n\r\n" + gz, close: true},
		"a length and bye":  {answer: fmt.Sprintf("%sConnection: close\r\nContent-Length: %d\r\n\r\n%s", ok, len(text), text), close: true},
		"chunks, a trailer": {answer: ok + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\nA: b\r\n\r\n"},
	}
	ca := newAuthority(t)
	cert := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, time.Now().Add(time.Hour), "site.test")}}
	for name, a := range answers {
		for _, secure := range []bool{false, true} {
			for _, limit := range []int64{generous, bandwidth.Unlimited} {
				t.Run(fmt.Sprintf("%s, TLS %v, %s", name, secure, bandwidth.FormatRate(limit)), func(t *testing.T) {
					act, scheme, times := keeps(a.answer, a.answer, a.answer), "http", 3
					if a.close {
						act, times = says(a.answer), 1
					}
					if secure {
						act, scheme = overTLS(cert, act), "https"
					}
					p := serve(t, act)
					cfg := under(newWire(t, limit, nil))
					cfg.Roots = ca.pool()
					u := parse(t, fmt.Sprintf("%s://site.test:%d/", scheme, p.addr.Port()))
					cn := open(t, newClient(t, cfg), u, p.addr.Addr())
					for i := range times {
						got := cn.Get(t.Context(), u, false)
						decoded, o := got.Decoded(1 << 20)
						if got.Outcome != page.OK || block(t, got) != a.answer || o != page.OK || string(decoded) != text || got.KeepAlive == a.close {
							t.Errorf("answer %d: %v (%s), %v, %d bytes of %d, alive %v", i, got.Outcome, got.Err, o, len(decoded), len(text), got.KeepAlive)
						}
						got.Release()
					}
				})
			}
		}
	}
}

// held returns what to call at every tick, and a channel that is closed when
// somebody waits for a grant: with inside for bytes of an answer, else for a
// request.
func held(inside bool) (heed func(*Wire), seen chan struct{}) {
	seen = make(chan struct{})
	var once sync.Once
	return func(w *Wire) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, f := range w.turn {
			if f.waits && inside == (f.seen.Payload > 0) {
				once.Do(func() { close(seen) })
			}
		}
	}, seen
}

// long is an answer of several hundred packets.
var long = ok + "Content-Length: 500000\r\n\r\n" + strings.Repeat("0123456789", 50_000)

// fetching asks for u, and hands over the answer when it is there.
func fetching(ctx context.Context, cn *Conn, u page.URL) <-chan *Answer {
	done := make(chan *Answer, 1)
	go func() { done <- cn.Get(ctx, u, false) }()
	return done
}

// Where the limit is none, or is held by somebody else, nobody waits for
// anything: not even for Run.
func TestWireUnlimited(t *testing.T) {
	loose := NewWire(WireConfig{Limit: 1, Loose: true, Clock: func() page.Time { return 0 }})
	for name, w := range map[string]*Wire{"unlimited": stillWire(bandwidth.Unlimited), "loose": loose} {
		p := serve(t, keeps(long, long))
		u := p.url(t, "/")
		cn := open(t, newClient(t, under(w)), u, p.addr.Addr())
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			a := cn.Get(ctx, u, false)
			cancel()
			if a.Outcome != page.OK || block(t, a) != long || a.Waited != 0 {
				t.Errorf("%s: %v (%s), waited for %v", name, a.Outcome, a.Err, a.Waited)
			}
			a.Release()
		}
	}
}

// Answers of resolvers are counted too, over UDP and TCP.
func TestWireCountsLookups(t *testing.T) {
	addrs := make([]record, 20)
	for i := range addrs {
		addrs[i] = record{name: "many.test", addr: fmt.Sprintf("192.0.2.%d", i+1), ttl: 60}
	}
	for _, name := range []string{"one.test", "many.test"} {
		ns := nameserver(t, func(q query) response {
			switch {
			case q.kind != typeA:
				return response{}
			case q.name == "many.test" && !q.tcp:
				return response{truncated: true}
			case q.name == "many.test":
				return response{records: addrs}
			}
			return response{records: addrs[:1:1]}
		})
		w := stillWire(140e3)
		cfg := under(w)
		cfg.DNS = ns
		c := newClient(t, cfg)
		if _, _, o := c.Lookup(t.Context(), name); o != page.OK && name == "many.test" {
			t.Fatal(o)
		}
		least := int64(60) // two answers, their questions repeated
		if name == "many.test" {
			least += 20 * 16
		}
		if got := c.Meter().Bytes(); got < least || w.State().Bytes < least {
			t.Errorf("%s: %d bytes were counted, and %d charged, of %d at least", name, got, w.State().Bytes, least)
		}
	}
}

// A Wire that is nowhere takes charges, and word of who comes first.
func TestNoWire(t *testing.T) {
	var w *Wire
	w.Charge(100)
	w.Share(map[string]float64{"site.test": 1})
}
