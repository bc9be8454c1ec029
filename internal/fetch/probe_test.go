package fetch

import (
	"bufio"
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/page"
)

func TestParseTarget(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // as written back, or the error after a !
		{"9.9.9.9", "9.9.9.9"},
		{"2620:fe::fe", "2620:fe::fe"},
		{"[2620:fe::fe]", "2620:fe::fe"},
		{"Router.Example", "router.example"},
		{"ping:192.0.2.1", "ping:192.0.2.1"},
		{"ping:gw.example", "ping:gw.example"},
		{"dns:9.9.9.9", "dns:9.9.9.9:53"},
		{"dns:9.9.9.9:5353", "dns:9.9.9.9:5353"},
		{"dns:[2620:fe::fe]:53", "dns:[2620:fe::fe]:53"},
		{"http://example.org/", "http://example.org/"},
		{"http://example.org:8080/a?b", "http://example.org:8080/a?b"},
		{"http://[::1]/", "http://[::1]/"},
		{"", "!no target"},
		{"ping:", "!names no host"},
		{"dns:", "!resolver"},
		{"dns:example.org", "!resolver"},
		{"9.9.9.9:53", "!only dns:ADDR:PORT takes a port"},
		{"example.org/path", "!more than a host"},
		{"https://example.org/", "!only http://"},
		{"http://me:pw@example.org/", "!password"},
		{"http://", "!no URL"},
		{"http://example.org:0/", "!port"},
		{"http://example.org:99999/", "!port"},
		{"two words", "!no target"},
	} {
		got, err := ParseTarget(c.text)
		if why, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%q is %v, error %v; want one about %q", c.text, got, err, why)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%q is %v, %v; want %s", c.text, got, err, c.want)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"9.9.9.9", "ping:a.example", "dns:[::1]:53", "http://a:8080/x?y#z", "dns:[::1%a]:1", "http://[::1%25a]/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		one, err := ParseTarget(text)
		if err != nil {
			return
		}
		two, err := ParseTarget(one.String())
		if err != nil || two != one {
			t.Fatalf("%q is written %q, which is read as %q, %v", text, one, two, err)
		}
	})
}

func TestGateway(t *testing.T) {
	const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	for _, c := range []struct{ table, want string }{
		{head + "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\neth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", "192.0.2.1"},
		{head + "tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", ""}, // no gateway on a point-to-point link
		{head + "eth0\t00000000\tzz\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", ""},
		{head, ""},
		{"", ""},
	} {
		got, ok := readGateway(strings.NewReader(c.table))
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("found %v, want %q in\n%s", got, c.want, c.table)
		}
	}
}

// The resolver in use is asked, unless it is on this machine.
func TestNearTarget(t *testing.T) {
	c, err := New(Config{DNS: "192.0.2.53"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.NearTarget(); err != nil || got.String() != "dns:192.0.2.53:53" {
		t.Errorf("%v, %v", got, err)
	}
	if c, err = New(Config{DNS: "127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.NearTarget(); err == nil && got.kind != "ping" {
		t.Errorf("a resolver on this machine is asked: %v", got)
	}
}

// probed runs a probe until told has said enough, and returns what was charged.
func probed(t *testing.T, target string, enough func(Trip) bool) (int64, error) {
	t.Helper()
	at, err := ParseTarget(target)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	wire := NewWire(WireConfig{Limit: 1e6, Clock: func() page.Time { return page.Time(time.Since(began)) }})
	c, err := New(Config{Wire: wire, Agent: "weir/test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	err = c.probe(ctx, at, time.Millisecond, func(trip Trip) {
		if enough(trip) {
			cancel()
		}
	})
	if context.Cause(ctx) == context.DeadlineExceeded {
		t.Fatal("too few trips in five minutes")
	}
	return wire.State().Bytes, err
}

func count(n int) func(Trip) bool {
	return func(trip Trip) bool {
		if trip.Out == nil && !trip.Lost && trip.RTT >= 0 {
			n--
		}
		return n == 0
	}
}

func TestProbeDNS(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		buf := make([]byte, 512)
		for i := 0; ; i++ {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if i%3 == 0 {
				continue // now and then one is lost
			}
			buf[2] |= 0x80
			conn.WriteTo(buf[:n], from)
			conn.WriteTo([]byte("noise"), from)
			conn.WriteTo(buf[:n], from) // again: it answers nothing any more
		}
	}()
	bytes, err := probed(t, "dns:"+conn.LocalAddr().String(), count(20))
	if err != nil {
		t.Fatal(err)
	}
	const each = 20 + 8 + 12 + 15 // headers, the message's, the question for localhost.
	if bytes < 20*each {
		t.Errorf("20 answers were charged as %d bytes", bytes)
	}
}

func TestProbeHTTP(t *testing.T) {
	asked := make(chan string, 1000)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host + r.URL.Path + " " + r.RemoteAddr
	})}
	go server.Serve(l)
	defer server.Close()
	bytes, err := probed(t, "http://"+l.Addr().String()+"/here", count(10))
	if err != nil || bytes < 10*52 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	first := <-asked
	if !strings.HasPrefix(first, "HEAD "+l.Addr().String()+"/here ") {
		t.Errorf("asked for %s", first)
	}
	for range 9 {
		if next := <-asked; next != first {
			t.Errorf("asked for %s, then for %s: the connection is not kept", first, next)
		}
	}
}

// A server that closes, babbles or speaks something else is asked again.
func TestProbeHTTPBadServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(conn).ReadString('\n')
			conn.Write([]byte([]string{
				"HTTP/1.1 204 No Content\r\n\r\n",
				"SSH-2.0-nope\r\n\r\n",
				"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 100),
				"",
			}[i%4]))
			conn.Close()
		}
	}()
	if _, err := probed(t, "http://"+l.Addr().String()+"/", count(3)); err != nil {
		t.Fatal(err)
	}
}

// Ping works where the system allows it; a bare address works in any case as
// long as somebody answers one way or the other.
func TestProbePing(t *testing.T) {
	a, err := newPingAsker(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		if !strings.Contains(err.Error(), "does not let weir ping") {
			t.Fatal(err)
		}
		_, err := probed(t, "ping:127.0.0.1", count(1))
		if err == nil {
			t.Error("what is not allowed is no error")
		}
		return
	}
	a.close()
	for _, target := range []string{"ping:127.0.0.1", "127.0.0.1"} {
		bytes, err := probed(t, target, count(5))
		if err != nil || bytes < 5*(20+8+8) {
			t.Errorf("%s: %d bytes, %v", target, bytes, err)
		}
	}
}

// Who never answers is told of as out, and as lost, probe by probe.
func TestProbeSilence(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lost, out := 0, 0
	_, err = probed(t, "dns:"+conn.LocalAddr().String(), func(trip Trip) bool {
		switch {
		case trip.Lost:
			lost++
		case trip.Out == nil:
			t.Error("an answer from nobody")
		default:
			out++
			if len(trip.Out) > probeOut || !slices.IsSortedFunc(trip.Out, func(a, b time.Duration) int { return cmp.Compare(b, a) }) {
				t.Errorf("out are %v, want the last few, the oldest first", trip.Out)
			}
		}
		return lost == 3
	})
	if err != nil {
		t.Fatal(err)
	}
	if out == 0 {
		t.Error("it was never told that probes are out")
	}
}

// An answer tells more than the silence of those that were sent before it.
func TestProbeOut(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name      string
		last, seq uint16
		open      []uint16
		want      int
	}{
		{"all answered", 7, 7, nil, 0},
		{"one is out", 7, 8, []uint16{7}, 1},
		{"one before the last answer is", 7, 7, []uint16{3}, 0},
		{"so is one after it", 7, 9, []uint16{3, 7, 8}, 2},
		{"one of them was given up", 7, 10, []uint16{8, 9}, 2},
		{"as many as there can be", 7, 18, []uint16{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, 11},
		{"more", 0, 20, []uint16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, probeOut},
		{"the number begins anew", 0xffff, 2, []uint16{0xffff, 0, 1}, 3},
	} {
		p := prober{last: c.last}
		for _, s := range c.open {
			p.sent[s%uint16(len(p.sent))] = sentProbe{at: now.Add(-time.Duration(c.seq-s) * time.Second), open: true}
		}
		got := p.out(c.seq)
		if len(got) != c.want {
			t.Errorf("%s: %v", c.name, got)
			continue
		}
		for i, age := range got {
			if sent := time.Duration(len(got)-i) * time.Second; age < sent || age > sent+time.Minute {
				t.Errorf("%s: the %d. of %v is out for %v, want %v", c.name, i, got, age, sent)
			}
		}
	}
}

// dozer has its answers after 60 ms, and sleeps for too long now and then.
type dozer struct {
	first uint16
	asked []time.Time
	next  int
	doze  time.Duration
}

func (d *dozer) ask(seq uint16) error {
	if len(d.asked) == 0 {
		d.first = seq
	}
	d.asked = append(d.asked, time.Now())
	return nil
}

func (d *dozer) hear(until time.Time) (uint16, int, error) {
	comes := until.Add(time.Hour)
	if d.next < len(d.asked) {
		comes = d.asked[d.next].Add(60 * time.Millisecond)
	}
	if comes.After(until) {
		time.Sleep(time.Until(until))
		if d.next%5 == 4 {
			time.Sleep(d.doze)
		}
		return 0, 0, os.ErrDeadlineExceeded
	}
	time.Sleep(time.Until(comes))
	d.next++
	return d.first + uint16(d.next-1), 0, nil
}

func (*dozer) close() {}

// A machine that stands still for a moment takes no answer for a late one.
func TestProbeDozes(t *testing.T) {
	for _, doze := range []time.Duration{0, 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			n := 0
			p := prober{every: 100 * time.Millisecond, told: func(trip Trip) {
				if trip.RTT > 85*time.Millisecond || trip.Lost || len(trip.Out) > 0 && trip.Out[0] > 85*time.Millisecond {
					t.Errorf("with naps of %v: %+v", doze, trip)
				}
				if n++; n == 100 {
					cancel()
				}
			}, hope: -1}
			p.run(ctx, &dozer{doze: doze})
		})
	}
}

func TestProbeUnknownHost(t *testing.T) {
	c, err := New(Config{Resolve: map[string][]netip.Addr{}, DNS: "127.0.0.1:1", Limits: Limits{DNS: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	target, err := ParseTarget("ping:nowhere.invalid")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Probe(context.Background(), target, func(Trip) {}); err == nil || !strings.Contains(err.Error(), "nowhere.invalid") {
		t.Errorf("error %v", err)
	}
}

// Several probes can be given up at once: who is deaf is noticed all the same.
func TestProbeDeaf(t *testing.T) {
	p := prober{every: time.Hour, told: func(Trip) {}, hope: 2, lost: 3}
	if err := p.run(t.Context(), silent{}); err != errDeaf {
		t.Errorf("error %v", err)
	}
}

// silent is asked and says nothing.
type silent struct{}

func (silent) ask(uint16) error { return nil }
func (silent) hear(time.Time) (uint16, int, error) {
	panic("it was given up already")
}
func (silent) close() {}
