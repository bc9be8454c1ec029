package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"weir/page"
)

// forget empties the cache, as time would.
func (r *resolver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.old = map[string]entry{}, nil
}

// A nameserver of the tests sees queries and gives responses.
type (
	query struct {
		name string
		kind dnsmessage.Type
		tcp  bool
	}
	record struct {
		name, addr, alias string
		ttl               uint32
	}
	response struct {
		rcode     dnsmessage.RCode
		records   []record
		truncated bool
		silent    bool
		strange   func(*dnsmessage.Message) // changes a first message, sent before the true one
	}
)

// nameserver starts a server over UDP and TCP and returns its address. Calls of
// answer come one at a time.
func nameserver(t testing.TB, answer func(query) response) string {
	t.Helper()
	var udp net.PacketConn
	var tcp net.Listener
	for range 20 { // the same port must be free twice
		var err error
		if udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if tcp, err = net.Listen("tcp", udp.LocalAddr().String()); err == nil {
			break
		}
		udp.Close()
	}
	var mu sync.Mutex
	reply := func(msg []byte, overTCP bool) [][]byte {
		var m dnsmessage.Message
		if err := m.Unpack(msg); err != nil || len(m.Questions) != 1 {
			return nil
		}
		mu.Lock()
		r := answer(query{dnsName(m.Questions[0].Name.String()), m.Questions[0].Type, overTCP})
		mu.Unlock()
		if r.silent {
			return nil
		}
		m.Response, m.RCode, m.Truncated = true, r.rcode, r.truncated
		for _, rec := range r.records {
			h := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(rec.name + "."), Class: dnsmessage.ClassINET, TTL: rec.ttl}
			var body dnsmessage.ResourceBody
			switch a, err := netip.ParseAddr(rec.addr); {
			case rec.alias != "":
				body = &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(rec.alias + ".")}
			case err == nil && a.Is4():
				body = &dnsmessage.AResource{A: a.As4()}
			default:
				body = &dnsmessage.AAAAResource{AAAA: a.As16()}
			}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: body})
		}
		var all [][]byte
		if r.strange != nil {
			odd := m
			odd.Questions = slices.Clone(m.Questions)
			r.strange(&odd)
			b, _ := odd.Pack()
			all = append(all, b)
		}
		b, err := m.Pack()
		if err != nil {
			panic(err)
		}
		return append(all, b)
	}
	var all sync.WaitGroup
	all.Go(func() {
		buf := make([]byte, 512)
		for {
			n, from, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, b := range reply(buf[:n], false) {
				udp.WriteTo(b, from)
			}
		}
	})
	all.Go(func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			var size [2]byte
			io.ReadFull(conn, size[:])
			msg := make([]byte, binary.BigEndian.Uint16(size[:]))
			io.ReadFull(conn, msg)
			for _, b := range reply(msg, true) {
				conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
			}
			conn.Close()
		}
	})
	t.Cleanup(func() {
		udp.Close()
		tcp.Close()
		all.Wait()
	})
	return udp.LocalAddr().String()
}

func TestLookup(t *testing.T) {
	many := make([]record, 1000)
	for i := range many {
		many[i] = record{name: "many.test", addr: fmt.Sprintf("93.184.%d.%d", i/250, i%250+1), ttl: 300}
	}
	long := response{}
	for i := range 12 {
		long.records = append(long.records, record{name: fmt.Sprintf("c%d.test", i), alias: fmt.Sprintf("c%d.test", i+1), ttl: 300})
	}
	a := func(name, addr string, ttl uint32) response {
		return response{records: []record{{name: name, addr: addr, ttl: ttl}}}
	}
	zone := map[string]func(query) response{
		"a.test A":    func(query) response { return a("a.test", "93.184.216.34", 300) },
		"six.test A":  func(query) response { return response{} },
		"both.test A": func(query) response { return a("both.test", "93.184.216.34", 300) },
		"both.test AAAA": func(query) response {
			return response{records: []record{{name: "both.test", addr: "2606:4700::1", ttl: 200}, {name: "both.test", addr: "2606:4700::1", ttl: 200}}}
		},
		"six.test AAAA":  func(query) response { return a("six.test", "2606:4700::1", 300) },
		"brief.test A":   func(query) response { return a("brief.test", "93.184.216.34", 1) },
		"lasting.test A": func(query) response { return a("lasting.test", "93.184.216.34", 1<<31) },
		"many.test A": func(q query) response {
			if !q.tcp {
				return response{truncated: true}
			}
			return response{records: many}
		},
		"alias.test A": func(query) response {
			return response{records: []record{{name: "alias.test", alias: "real.test", ttl: 60}, {name: "real.test", addr: "93.184.216.34", ttl: 300}}}
		},
		"bare.test A": func(query) response {
			return response{records: []record{{name: "bare.test", alias: "a.test", ttl: 60}}}
		},
		"loop.test A": func(query) response {
			return response{records: []record{{name: "loop.test", alias: "loop.test", ttl: 60}}}
		},
		"pong.test A": func(query) response {
			return response{records: []record{{name: "pong.test", alias: "ping.test", ttl: 60}}}
		},
		"ping.test A": func(query) response {
			return response{records: []record{{name: "ping.test", alias: "pong.test", ttl: 60}}}
		},
		"c0.test A":    func(query) response { return long },
		"other.test A": func(query) response { return a("somebody-else.test", "93.184.216.34", 300) },
		"servfail.test A": func(query) response {
			return response{rcode: dnsmessage.RCodeServerFailure}
		},
		"silent.test A": func(query) response { return response{silent: true} },
		"half.test A":   func(query) response { return a("half.test", "93.184.216.34", 300) },
		"half.test AAAA": func(query) response {
			return response{rcode: dnsmessage.RCodeRefused}
		},
		"spoofed.test A": func(query) response {
			r := a("spoofed.test", "93.184.216.34", 300)
			r.strange = func(m *dnsmessage.Message) {
				m.ID++
				m.Answers = nil
			}
			return r
		},
		"spoofed2.test A": func(query) response {
			r := a("spoofed2.test", "93.184.216.34", 300)
			r.strange = func(m *dnsmessage.Message) {
				m.Questions[0].Name = dnsmessage.MustNewName("evil.test.")
				m.Answers = nil
			}
			return r
		},
	}
	ns := nameserver(t, func(q query) response {
		if act := zone[q.name+" "+strings.TrimPrefix(q.kind.String(), "Type")]; act != nil {
			return act(q)
		}
		if strings.HasPrefix(q.name, "nx") {
			return response{rcode: dnsmessage.RCodeNameError}
		}
		return response{}
	})
	cfg := Config{DNS: ns, Memory: 1 << 20, Resolve: map[string][]netip.Addr{"Fixed.Test": {netip.MustParseAddr("10.1.2.3")}}}
	c := newClient(t, cfg)
	cfg.Limits.DNS = 20 * time.Millisecond
	hasty := newClient(t, cfg)

	const v4, v6 = "93.184.216.34", "2606:4700::1"
	tests := []struct {
		host string
		want page.Outcome
		text string
		ttl  time.Duration
	}{
		{"a.test", page.OK, v4, 300 * time.Second},
		{"A.TEST.", page.OK, v4, 0},
		{"six.test", page.OK, v6, 300 * time.Second},
		{"both.test", page.OK, v4 + " " + v6, 200 * time.Second},
		{"brief.test", page.OK, v4, minTTL},
		{"lasting.test", page.OK, v4, maxTTL},
		{"alias.test", page.OK, v4, 60 * time.Second},
		{"bare.test", page.OK, v4, 60 * time.Second},
		{"half.test", page.OK, v4, 300 * time.Second},
		{"spoofed.test", page.OK, v4, 300 * time.Second},
		{"spoofed2.test", page.OK, v4, 300 * time.Second},
		{"loop.test", page.DNSFailed, "", 0}, // dns-04
		{"ping.test", page.DNSFailed, "", 0},
		{"c0.test", page.DNSFailed, "", 0},
		{"other.test", page.DNSFailed, "", 0},
		{"nx.test", page.DNSFailed, "", 0},
		{"empty.test", page.DNSFailed, "", 0},
		{"servfail.test", page.DNSTimeout, "", 0},
		{strings.Repeat("x", 64) + ".test", page.DNSFailed, "", 0},
		{strings.Repeat("x.", 130) + "test", page.DNSFailed, "", 0},
		{"a..test", page.DNSFailed, "", 0},
		{"fixed.test", page.OK, "10.1.2.3", 0},
		{"127.0.0.9", page.OK, "127.0.0.9", 0},
		{"[::1]", page.OK, "::1", 0},
		{"x.localhost", page.OK, "127.0.0.1 ::1", 0},
	}
	for _, tt := range tests {
		addrs, ttl, o := c.Lookup(t.Context(), tt.host)
		text := strings.Trim(fmt.Sprint(addrs), "[]")
		if o != tt.want || text != tt.text || tt.ttl != 0 && ttl != tt.ttl {
			t.Errorf("%s: %v %q for %v, want %v %q for %v", tt.host, o, text, ttl, tt.want, tt.text, tt.ttl)
		}
	}
	if _, _, o := hasty.Lookup(t.Context(), "silent.test"); o != page.DNSTimeout {
		t.Errorf("a server that never answers: %v", o)
	}
	addrs, _, o := c.Lookup(t.Context(), "many.test") // dns-02
	if o != page.OK || len(addrs) != maxAddrs {
		t.Errorf("1000 addresses over TCP: %v, %d kept", o, len(addrs))
	}
}

func TestLookupCaches(t *testing.T) {
	var asked atomic.Int32
	ns := nameserver(t, func(q query) response {
		asked.Add(1)
		switch q.name {
		case "nx.test":
			return response{rcode: dnsmessage.RCodeNameError}
		case "down.test":
			return response{rcode: dnsmessage.RCodeServerFailure}
		}
		return response{records: []record{{name: q.name, addr: "93.184.216.34", ttl: 300}}}
	})
	c := newClient(t, Config{DNS: ns, Memory: 1 << 20})
	for name, want := range map[string]int32{"a.test": 2, "nx.test": 2, "down.test": 8} {
		asked.Store(0)
		first, _, _ := c.Lookup(t.Context(), name)
		if len(first) > 0 {
			first[0] = netip.Addr{} // what a caller does with its copy is its own affair
		}
		again, _, _ := c.Lookup(t.Context(), name)
		if got := asked.Load(); got != want || len(again) > 0 && !again[0].IsValid() {
			t.Errorf("%s looked up twice: %d questions, want %d; %v", name, got, want, again)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	r := &resolver{now: map[string]entry{}}
	e := entry{outcome: page.DNSFailed, until: time.Now().Add(time.Hour)}
	for i := range 5 * maxCached / 2 {
		r.keep(fmt.Sprint(i), e)
	}
	if n := len(r.now) + len(r.old); n > 2*maxCached {
		t.Errorf("%d names are kept", n)
	}
	if _, ok := r.cached(fmt.Sprint(5*maxCached/2-1), time.Now()); !ok {
		t.Error("the newest name is not")
	}
}

func TestLookupAborts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ns := nameserver(t, func(query) response {
		cancel()
		return response{silent: true}
	})
	c := newClient(t, Config{DNS: ns, Memory: 1 << 20})
	if _, _, o := c.Lookup(ctx, "a.test"); o != page.Aborted {
		t.Error(o)
	}
}

func TestSystemFiles(t *testing.T) {
	hosts := readHosts(strings.NewReader("# c\n127.0.0.1 localhost Me.Test # x\n::1 me.test\nnonsense\n1.2.3 bad.test\n"))
	if got := fmt.Sprint(hosts["me.test"]); got != "[127.0.0.1 ::1]" {
		t.Errorf("me.test is %s", got)
	}
	if len(hosts) != 2 {
		t.Errorf("hosts: %v", hosts)
	}
	servers := readServers(strings.NewReader("search x\nnameserver 9.9.9.9\nnameserver ::1\nnameserver junk\nnameserver 1.1.1.1\nnameserver 8.8.8.8\n"))
	if got := fmt.Sprint(servers); got != "[9.9.9.9:53 [::1]:53 1.1.1.1:53]" {
		t.Errorf("servers: %s", got)
	}
}

// Who names a resolver gets its answers, not those of the machine's own file.
func TestResolverGoesBeforeTheHostsFile(t *testing.T) {
	text, err := os.ReadFile(hostsFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	hosts := readHosts(bytes.NewReader(text))
	system, err := newResolver(Config{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	named, err := newResolver(Config{DNS: "127.0.0.1", Resolve: map[string][]netip.Addr{"a.test": {netip.IPv6Loopback()}}}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(system.fixed) != len(hosts) || len(named.fixed) != 1 || named.fixed["a.test"] == nil {
		t.Errorf("of %d names in the file the system's resolver knows %d; the named one knows %v", len(hosts), len(system.fixed), named.fixed)
	}
}
