package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

// A deadline that was left from the answer before does not end the next one
// early, and that one's own still holds.
func TestDeadlinesAreTheAnswersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, local())
		u := parse(t, "http://site.test/")
		ours, theirs := net.Pipe()
		var wait sync.WaitGroup
		wait.Go(func() {
			s := &scene{Conn: theirs}
			s.hearAll()
		})
		cn := over(c, ours, u)
		for i, pause := range []time.Duration{0, 25 * time.Second, 19 * time.Second, time.Hour} {
			time.Sleep(pause) // virtual
			a := cn.Get(t.Context(), u, false)
			if a.Outcome != page.OK || !a.KeepAlive || a.PayloadSize != 4 {
				t.Errorf("answer %d: %v (%s)", i, a.Outcome, a.Err)
			}
			a.Release()
		}
		a := cn.Get(t.Context(), parse(t, "http://site.test/never"), false)
		if a.Outcome != page.FirstByteTimeout || a.Elapsed != c.limits.FirstByte {
			t.Errorf("%v (%s) after %v", a.Outcome, a.Err, a.Elapsed)
		}
		a.Release()
		wait.Wait()
	})
}

// hearAll answers every request after 25 seconds with a body that takes 15 more;
// those for /never not at all.
func (s *scene) hearAll() {
	defer s.Conn.Close()
	buf := make([]byte, 4096)
	for {
		n, err := s.Conn.Read(buf)
		if err != nil {
			return
		}
		if bytes.HasPrefix(buf[:n], []byte("GET /never")) {
			continue
		}
		time.Sleep(25 * time.Second) // virtual
		s.say(ok + "Content-Length: 4\r\n\r\nhi")
		time.Sleep(15 * time.Second) // virtual
		s.say("ho")
	}
}

// A context ends the requests that were made with it, and no others.
func TestContextsDoNotLast(t *testing.T) {
	ca := newAuthority(t)
	pair := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, time.Now().Add(time.Hour), "site.test")}}
	page2 := ok + "Content-Length: 2\r\n\r\nhi"
	act := keeps(page2, page2, page2)
	for scheme, act := range map[string]func(*scene){"http": act, "https": overTLS(pair, act)} {
		t.Run(scheme, func(t *testing.T) {
			p := serve(t, act)
			cfg := local()
			cfg.Roots = ca.pool()
			c := newClient(t, cfg)
			u := parse(t, scheme+"://site.test:"+p.url(t, "/").Port()+"/")
			opening, cancel := context.WithCancel(t.Context())
			cn, o := c.Open(opening, u, p.addr.Addr())
			cancel()
			defer cn.Close()
			if o != page.OK {
				t.Fatal(o, cn.Err)
			}
			for range 2 {
				ctx, cancel := context.WithCancel(t.Context())
				a := cn.Get(ctx, u, false)
				cancel()
				if a.Outcome != page.OK || !a.KeepAlive {
					t.Fatal(a.Outcome, a.Err)
				}
				a.Release()
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			a := cn.Get(ended, u, false)
			defer a.Release()
			if a.Outcome != page.Aborted || a.KeepAlive || len(p.asked()) != 2 {
				t.Errorf("%v (%s) after %d requests", a.Outcome, a.Err, len(p.asked()))
			}
		})
	}
}

// Whatever answers follow each other on a connection, and however they arrive,
// each comes out as it was sent.
func TestAnswersInARow(t *testing.T) {
	c := newClient(t, local())
	u := parse(t, "http://site.test/")
	rapid.Check(t, func(t *rapid.T) {
		type said struct{ head, body, payload string }
		var all []said
		for range rapid.IntRange(1, 6).Draw(t, "answers") {
			payload := strings.Repeat("0123456789abcdef", rapid.IntRange(0, 6000).Draw(t, "size"))
			if len(payload) > 2000 && rapid.Bool().Draw(t, "short") {
				payload = payload[:1999]
			}
			head := ok + "X: " + strings.Repeat("x", rapid.SampledFrom([]int{0, 10, 4000, 9000}).Draw(t, "header")) + "\r\n"
			body := payload
			switch rapid.SampledFrom([]string{"length", "chunked", "odd", "interim"}).Draw(t, "kind") {
			case "odd":
				head += "X-Folded: a\r\n b\r\n"
				fallthrough
			case "length":
				head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
			case "interim":
				head = "HTTP/1.1 103 Hints\r\n\r\n" + head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
			case "chunked":
				head += "Transfer-Encoding: chunked\r\n\r\n"
				body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(payload), payload)
				if payload == "" {
					body = "0\r\n\r\n"
				}
			}
			all = append(all, said{head, body, payload})
		}
		step := rapid.SampledFrom([]int{100, 1000, 5000, 1 << 20}).Draw(t, "step")
		ours, theirs := net.Pipe()
		var wait sync.WaitGroup
		wait.Go(func() {
			defer theirs.Close()
			buf := make([]byte, 4096)
			for _, s := range all {
				if _, err := theirs.Read(buf); err != nil {
					return
				}
				for rest := s.head + s.body; rest != ""; rest = rest[min(step, len(rest)):] {
					io.WriteString(theirs, rest[:min(step, len(rest))])
				}
			}
		})
		cn := over(c, ours, u)
		cn.client.slow = slow
		if rapid.Bool().Draw(t, "slow") {
			cn.client.slow = -1
		}
		for i, s := range all {
			a := cn.Get(context.Background(), u, false)
			b, err := io.ReadAll(a.Block())
			got, payloadErr := io.ReadAll(a.Payload())
			want := s.head + s.body
			want = want[strings.LastIndex(want, "HTTP/1.1 200"):]
			if a.Outcome != page.OK || !a.KeepAlive || err != nil || string(b) != want || payloadErr != nil || string(got) != s.payload {
				t.Errorf("answer %d: %v (%s), %d bytes instead of %d", i, a.Outcome, a.Err, len(b), len(want))
			}
			a.Release()
		}
		cn.Close()
		wait.Wait()
	})
}

// A header larger than the memory there is comes out whole all the same.
func TestLargeHeaderWithoutMemory(t *testing.T) {
	head := ok + strings.Repeat("X-Filler: "+strings.Repeat("x", 90)+"\r\n", 100)
	for _, text := range []string{
		head + "Content-Length: 5\r\n\r\nhello",
		head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	} {
		cfg := local()
		cfg.Memory = minBuffer
		a := get(t, cfg, serve(t, keeps(text)), "/")
		if a.Outcome != page.OK || block(t, a) != text || payload(t, a) != "hello" || a.Header.Get("x-filler") == "" {
			t.Errorf("%v (%s)", a.Outcome, a.Err)
		}
	}
}

// Of slow answers everything is kept that came, though it is gathered.
func TestGather(t *testing.T) {
	drip := func(n, times int) func(*scene) {
		return func(s *scene) {
			s.hear()
			s.say(ok + "Content-Length: 30000\r\n\r\n")
			for range times {
				s.say(strings.Repeat("x", n))
				if !pace(s.Conn) {
					return
				}
			}
		}
	}
	stall := func(s *scene) {
		s.hear()
		s.say(ok + "Content-Length: 30000\r\n\r\n")
		s.say(strings.Repeat("x", 539))
		s.wait()
	}
	for _, tt := range []struct {
		name    string
		act     func(*scene)
		want    page.Outcome
		payload int64
		window  time.Duration
		rate    int64
	}{
		{"whole", drip(1000, 30), page.OK, 30000, time.Minute, 1},
		{"odd pieces", drip(77, 390), page.OK, 30000, time.Minute, 1},
		{"breaks off", drip(77, 7), page.Truncated, 539, time.Minute, 1},
		{"stops", stall, page.TooSlow, 539, 300 * time.Millisecond, 1 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := local()
			cfg.Limits.Window, cfg.Limits.MinRate = tt.window, tt.rate
			p := serve(t, tt.act)
			c := newClient(t, cfg)
			c.slow = -1
			u := p.url(t, "/")
			a := open(t, c, u, p.addr.Addr()).Get(t.Context(), u, false)
			defer a.Release()
			if a.Outcome != tt.want || a.PayloadSize != tt.payload {
				t.Errorf("%v (%s), %d bytes", a.Outcome, a.Err, a.PayloadSize)
			}
		})
	}
	// The next answer does not wait for more than it has.
	p := serve(t, keeps(ok+"Content-Length: 9000\r\n\r\n"+strings.Repeat("x", 9000), ok+"Content-Length: 1\r\n\r\nx"))
	c := newClient(t, local())
	c.slow = -1
	u := p.url(t, "/")
	cn := open(t, c, u, p.addr.Addr())
	for range 2 {
		a := cn.Get(t.Context(), u, false)
		if a.Outcome != page.OK || !a.KeepAlive {
			t.Errorf("%v (%s)", a.Outcome, a.Err)
		}
		a.Release()
	}
}

// A server that drips without end is stopped, however its drops fall.
func TestGatheringIsJudged(t *testing.T) {
	cfg := local()
	cfg.Limits.Window, cfg.Limits.MinRate = 30*time.Millisecond, 1<<30
	p := serve(t, func(s *scene) {
		s.hear()
		s.say(ok + "Content-Length: 1000000\r\n\r\n")
		for pace(s.Conn) {
			s.say("x")
		}
	})
	c := newClient(t, cfg)
	c.slow = -1
	u := p.url(t, "/")
	a := open(t, c, u, p.addr.Addr()).Get(t.Context(), u, false)
	defer a.Release()
	if a.Outcome != page.TooSlow {
		t.Errorf("%v (%s)", a.Outcome, a.Err)
	}
}

// The rate is judged only after the socket was looked into once more, and then
// for good.
func TestLookBeforeJudging(t *testing.T) {
	for name, want := range map[string]error{"slow": errSlow, "enough came": nil} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, keeps())
			c := newClient(t, local())
			l := open(t, c, p.url(t, "/"), p.addr.Addr()).link
			defer l.begin(t.Context(), time.Minute)()
			l.flow()
			c.slow = -1
			l.gather(1 << 20)
			if l.low == 0 && runtime.GOOS != "linux" {
				t.Skip("this system gathers nothing")
			}
			now := l.window
			if err := l.judge(now); err != nil || !l.looking || l.low != 0 {
				t.Fatalf("judged at once: %v", err)
			}
			if l.gather(1 << 20); l.low != 0 {
				t.Error("it gathers again before it is judged")
			}
			if want == nil {
				l.got = 1 << 20
			}
			if err := l.judge(now.Add(lookTime)); err != want {
				t.Errorf("%v, want %v", err, want)
			}
			if l.gather(1 << 20); want == nil && l.low != maxGather {
				t.Error("it gathers no more in the next window")
			}
		})
	}
}

// How much is gathered follows the rate, from one window to the next, and never is
// more than what is to come.
func TestGatherByTheRate(t *testing.T) {
	p := serve(t, keeps())
	c := newClient(t, local())
	c.limits.Window = 20 * time.Second
	l := open(t, c, p.url(t, "/"), p.addr.Addr()).link
	for _, tt := range []struct {
		came       int64
		in         time.Duration
		want, then int // and in the next window, when as many have come in it
	}{
		{4000, 2 * time.Second, 10_000, minGather},
		{40_000, 20*time.Second - 1, 10_000, 10_000},
		{100, 2 * time.Second, minGather, minGather},
		{1 << 20, 2 * time.Second, maxGather, maxGather},
		{800, 400 * time.Millisecond, 10_000, minGather},
		{800, gatherAfter / 2, 0, minGather},
	} {
		end := l.begin(t.Context(), time.Minute)
		if l.low != 0 || l.portion != 0 {
			t.Error("a task begins with what the one before has gathered")
		}
		l.flow()
		l.got, l.last = tt.came, l.last.Add(tt.in)
		l.gather(1 << 20)
		if l.low == 0 && tt.want > 0 && runtime.GOOS != "linux" {
			t.Skip("this system gathers nothing")
		}
		if l.low != tt.want {
			t.Errorf("%d bytes in %v: gathers %d, want %d", tt.came, tt.in, l.low, tt.want)
		}
		if l.gather(100); l.low != min(tt.want, 100) {
			t.Errorf("waits for %d of the last 100 bytes", l.low)
		}
		l.setLow(0)
		c.limits.MinRate = 1
		if err := l.judge(l.window); err != nil || l.got != 0 {
			t.Fatalf("judged: %v, %d bytes stay", err, l.got)
		}
		l.last = l.window
		if l.gather(1 << 20); l.low != tt.then {
			t.Errorf("%d bytes in %v: gathers %d in the next window, want %d", tt.came, tt.in, l.low, tt.then)
		}
		end()
	}
	defer l.begin(t.Context(), time.Minute)()
	l.flow()
	l.last = l.last.Add(time.Minute)
	l.caps = append(l.caps, unlimited{})
	if l.gather(1 << 20); l.low != 0 {
		t.Error("it gathers what a cap is to grant")
	}
}

// unlimited is a cap that grants all.
type unlimited struct{ Limiter }

// drops is a stream that gives a few bytes at a time.
type drops struct{ size, left int }

func (d *drops) Read(p []byte) (int, error) {
	n := min(d.size, d.left, len(p))
	if d.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A buffer is never much larger than what came: eight times at most, and half
// as much again when the answer is slow.
func TestBufferFollowsBytes(t *testing.T) {
	c := newClient(t, local())
	rapid.Check(t, func(t *rapid.T) {
		l := &link{client: c, ctx: context.Background(), flowing: true, began: time.Unix(0, 0), last: time.Unix(0, 0)}
		times := 8
		if rapid.Bool().Draw(t, "slow") {
			l.last, times = l.began.Add(2*slow), 2
		}
		src := &drops{rapid.IntRange(100, 5000).Draw(t, "drop"), rapid.IntRange(0, maxBuffer).Draw(t, "size")}
		tp := &tape{link: l, src: src}
		defer tp.release()
		for err := error(nil); !errors.Is(err, io.EOF); {
			if _, err = tp.fill(maxBuffer); cap(tp.buf) > max(minBuffer, times*int(tp.size)*3/2) {
				t.Fatalf("%d bytes are in a buffer of %d", tp.size, cap(tp.buf))
			}
			tp.expect = rapid.Int64Range(0, 1<<40).Draw(t, "expected")
		}
	})
}

// A second connection to a host takes up the TLS session of the first.
func TestTLSResumes(t *testing.T) {
	ca := newAuthority(t)
	resumed := make(chan bool, 2)
	pair := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, time.Now().Add(time.Hour), "site.test", "other.test")}}
	p := serve(t, overTLS(pair, func(s *scene) {
		resumed <- s.Conn.(*tls.Conn).ConnectionState().DidResume
		s.hear()
		s.say(ok + "Content-Length: 2\r\n\r\nhi")
		s.wait()
	}))
	cfg := local()
	cfg.Roots = ca.pool()
	c := newClient(t, cfg)
	for i, tt := range []struct {
		host string
		want bool
	}{{"site.test", false}, {"site.test", true}, {"other.test", false}} {
		u := parse(t, "https://"+tt.host+":"+p.url(t, "/").Port()+"/")
		cn := open(t, c, u, netip.MustParseAddr("127.0.0.1"))
		a := cn.Get(t.Context(), u, true)
		if got := <-resumed; got != tt.want || a.Outcome != page.OK {
			t.Errorf("connection %d, to %s: %v (%s), resumed %v", i, tt.host, a.Outcome, a.Err, got)
		}
		a.Release()
		cn.Close()
	}
}
