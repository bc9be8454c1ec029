package fetch

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"weir/page"
)

// Target is whom a probe asks for the round trip to it.
type Target struct {
	kind string // ping, dns or http; "": ping if that is possible, else dns
	host string // a name, or an address; of dns an address
	port uint16 // of dns and http
	path string // of http
}

// ParseTarget reads ping:HOST, dns:ADDR, dns:ADDR:PORT, http://HOST/ or a bare
// HOST, which is asked by ping where that is possible, else as a resolver.
func ParseTarget(text string) (Target, error) {
	const forms = "write an address, ping:ADDR, dns:ADDR or http://HOST/"
	bad := func(why string) (Target, error) {
		return Target{}, fmt.Errorf("%q is no target for probes, %s: %s", text, why, forms)
	}
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Hostname() == "" || strings.Contains(u.Hostname(), "%"):
			return bad("it is no URL")
		case u.Scheme != "http":
			return bad("only http:// can be probed")
		case u.User != nil:
			return bad("it holds a password")
		}
		host, err := probeHost(u.Hostname())
		if err != nil {
			return bad(err.Error())
		}
		port := uint64(80)
		if u.Port() != "" {
			if port, err = strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 {
				return bad("it has no such port")
			}
		}
		return Target{kind: "http", host: host, port: uint16(port), path: u.RequestURI()}, nil
	}
	if rest, ok := strings.CutPrefix(text, "dns:"); ok {
		server, err := serverAddr(rest)
		if err != nil {
			return bad("it names no resolver's address")
		}
		return dnsTarget(server), nil
	}
	rest, ping := strings.CutPrefix(text, "ping:")
	host, err := probeHost(rest)
	if err != nil {
		return bad(err.Error())
	}
	t := Target{host: host, port: 53}
	if ping {
		t.kind = "ping"
	}
	return t, nil
}

func dnsTarget(server string) Target {
	ap := netip.MustParseAddrPort(server)
	return Target{kind: "dns", host: ap.Addr().String(), port: ap.Port()}
}

// probeHost reads a name or an address.
func probeHost(text string) (string, error) {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return a.String(), nil
	}
	u, err := page.Parse("http://" + text + "/")
	switch {
	case err != nil:
		return "", errors.New("it names no host")
	case u.Port() != "80":
		return "", errors.New("only dns:ADDR:PORT takes a port")
	case u.Path() != "/":
		return "", errors.New("it names more than a host")
	}
	return u.Host(), nil
}

// String writes the target so that ParseTarget reads the same.
func (t Target) String() string {
	switch t.kind {
	case "http":
		host := t.host
		if t.port != 80 {
			host = net.JoinHostPort(host, strconv.Itoa(int(t.port)))
		} else if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return "http://" + host + t.path
	case "dns":
		return "dns:" + net.JoinHostPort(t.host, strconv.Itoa(int(t.port)))
	case "ping":
		return "ping:" + t.host
	}
	return t.host
}

// NearTarget is the target when the user names none: the resolver in use; when
// that runs on this machine, and so says nothing of the link, the first hop.
func (c *Client) NearTarget() (Target, error) {
	for _, server := range c.names.servers {
		if ap, err := netip.ParseAddrPort(server); err == nil && !ap.Addr().IsLoopback() {
			return dnsTarget(server), nil
		}
	}
	if f, err := os.Open("/proc/net/route"); err == nil {
		defer f.Close()
		if hop, ok := readGateway(f); ok {
			return Target{kind: "ping", host: hop.String()}, nil
		}
	}
	return Target{}, errors.New("no resolver and no first hop that could be probed were found on this machine")
}

// readGateway finds the first hop in the kernel's table of routes: the gateway
// of the whole Internet.
func readGateway(r io.Reader) (netip.Addr, bool) {
	lines := bufio.NewScanner(io.LimitReader(r, 1<<20))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		raw, err := hex.DecodeString(f[2])
		if err != nil || len(raw) != 4 {
			continue
		}
		// It is written as a number of the machine, which is little-endian wherever weir runs.
		if hop := netip.AddrFrom4([4]byte{raw[3], raw[2], raw[1], raw[0]}); !hop.IsUnspecified() {
			return hop, true
		}
	}
	return netip.Addr{}, false
}

// Trip is what became of one probe, or how long those without an answer have
// been out.
type Trip struct {
	RTT  time.Duration
	Lost bool            // there was no answer
	Out  []time.Duration // of those sent after the last that was answered, the oldest first; nil when one came back or was lost
}

// How often a probe is sent, how often those that are out are told of, how many of
// them at most, how long an answer is waited for, and after how many without any answer a
// bare target is taken for a resolver. Who wakes later than he should by probeDoze has slept.
const (
	probeEvery = 100 * time.Millisecond
	probeTell  = 25 * time.Millisecond
	probeOut   = 16 // more than there are with the times beside
	probeLate  = time.Second
	probeHope  = 20
	probeDoze  = 20 * time.Millisecond
)

// Probe measures the round trip to t ten times a second until the context is
// done, and calls told with each, and with those that are out every 25 ms. A Trip's
// slice is good during the call. What comes is charged to the Wire. Probe returns
// early, with an error, when it cannot ask at all.
func (c *Client) Probe(ctx context.Context, t Target, told func(Trip)) error {
	return c.probe(ctx, t, probeEvery, told)
}

func (c *Client) probe(ctx context.Context, t Target, every time.Duration, told func(Trip)) error {
	addr, err := c.probeAddr(ctx, t)
	if err != nil {
		return err
	}
	p := prober{every: every, wire: c.cfg.Wire, told: told, hope: -1}
	if t.kind == "" {
		p.hope = probeHope
	}
	var a asker
	switch t.kind {
	case "http":
		a = &headAsker{addr: netip.AddrPortFrom(addr, t.port), request: headRequest(t, c.cfg.Agent), wire: c.cfg.Wire}
	case "dns":
		a, err = newDNSAsker(netip.AddrPortFrom(addr, t.port))
	default:
		a, err = newPingAsker(addr)
	}
	if err == nil {
		if err = p.run(ctx, a); err == nil {
			return nil
		}
	}
	if t.kind != "" {
		return err
	}
	if a, err = newDNSAsker(netip.AddrPortFrom(addr, t.port)); err != nil {
		return err
	}
	p.hope = -1
	return p.run(ctx, a)
}

func (c *Client) probeAddr(ctx context.Context, t Target) (netip.Addr, error) {
	if a, err := netip.ParseAddr(t.host); err == nil {
		return a, nil
	}
	addrs, _, o := c.names.lookup(ctx, t.host)
	if o != page.OK || len(addrs) == 0 {
		return netip.Addr{}, fmt.Errorf("the address of %s was not found (%s)", t.host, o)
	}
	return addrs[0], nil
}

// asker sends probes of one kind and hears their answers. It is used by one
// goroutine; close may come from another, and ends hear.
type asker interface {
	ask(seq uint16) error
	hear(until time.Time) (seq uint16, wire int, err error)
	close()
}

var (
	errUnasked = errors.New("the probe before is not answered yet")
	errDeaf    = errors.New("no probe was answered")
)

// prober sends one probe after another and matches the answers.
type prober struct {
	every time.Duration
	wire  *Wire
	told  func(Trip)
	hope  int // probes that may be lost before there is an answer; negative: all

	sent  [256]sentProbe // a ring by seq
	heard bool
	last  uint16 // sent behind the last one that was answered
	lost  int
	ages  [probeOut]time.Duration
}

type sentProbe struct {
	at   time.Time
	open bool
}

func (p *prober) run(ctx context.Context, a asker) error {
	defer a.close()
	defer context.AfterFunc(ctx, a.close)()
	var start [2]byte
	rand.Read(start[:])
	seq := binary.BigEndian.Uint16(start[:])
	oldest := seq
	p.last = seq
	next := time.Now()
	for ctx.Err() == nil {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(p.every)
			// An error is a probe without an answer: the network may come back.
			if err := a.ask(seq); !errors.Is(err, errUnasked) {
				p.sent[seq%uint16(len(p.sent))] = sentProbe{at: time.Now(), open: true}
				seq++
			}
		}
		for ; oldest != seq; oldest++ {
			s := &p.sent[oldest%uint16(len(p.sent))]
			if s.open && time.Since(s.at) < probeLate && seq-oldest < uint16(len(p.sent)) {
				break
			}
			if s.open {
				s.open = false
				p.lost++
				p.told(Trip{Lost: true})
			}
			if p.last == oldest {
				p.last++
			}
		}
		if !p.heard && p.hope >= 0 && p.lost >= p.hope {
			return errDeaf
		}
		until := next
		if p.last != seq {
			until = time.Now().Add(max(0, min(time.Until(next), probeTell)))
		}
		got, wire, err := a.hear(until)
		if dozed := time.Since(until); dozed > probeDoze {
			p.put(oldest, seq, dozed)
		}
		if wire > 0 {
			p.wire.Charge(wire)
		}
		switch {
		case err == nil && seq-got-1 < seq-oldest:
			if s := &p.sent[got%uint16(len(p.sent))]; s.open {
				s.open, p.heard = false, true
				if got-p.last < seq-p.last { // else a later one was heard already
					p.last = got + 1
				}
				p.told(Trip{RTT: time.Since(s.at)})
			}
		case errors.Is(err, os.ErrDeadlineExceeded):
			if out := p.out(seq); len(out) > 0 {
				p.told(Trip{Out: out})
			}
		case err != nil:
			pause(ctx, time.Until(next))
		}
	}
	return nil
}

// put lets the probes that are out have been sent later: for so long it was this machine
// that stood still, not the link.
func (p *prober) put(oldest, seq uint16, later time.Duration) {
	for ; oldest != seq; oldest++ {
		s := &p.sent[oldest%uint16(len(p.sent))]
		s.at = s.at.Add(later)
	}
}

// out returns how long the last probes before seq have been without an answer, if
// none sent after them has one.
func (p *prober) out(seq uint16) []time.Duration {
	ages := p.ages[:0]
	for s := seq - min(seq-p.last, probeOut); s != seq; s++ {
		if sent := p.sent[s%uint16(len(p.sent))]; sent.open {
			ages = append(ages, time.Since(sent.at))
		}
	}
	return ages
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// ipHeader is what a packet to an address begins with.
func ipHeader(a netip.Addr) int {
	if a.Is4() {
		return 20
	}
	return 40
}

// dnsAsker asks a resolver for a name that every resolver knows itself, and not
// to ask others for it, so that the answer takes as long as the way.
type dnsAsker struct {
	conn   net.Conn
	header int
	buf    [4 << 10]byte
}

func newDNSAsker(server netip.AddrPort) (*dnsAsker, error) {
	conn, err := net.Dial("udp", server.String())
	if err != nil {
		return nil, err
	}
	return &dnsAsker{conn: conn, header: ipHeader(server.Addr()) + 8}, nil
}

func (a *dnsAsker) ask(seq uint16) error {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: seq})
	b.StartQuestions()
	b.Question(dnsmessage.Question{Name: dnsmessage.MustNewName("localhost."), Type: typeA, Class: dnsmessage.ClassINET})
	msg, err := b.Finish()
	if err == nil {
		_, err = a.conn.Write(msg)
	}
	return err
}

// hear takes any answer with our number, also a refusal: only its time counts.
func (a *dnsAsker) hear(until time.Time) (uint16, int, error) {
	a.conn.SetReadDeadline(until)
	for {
		n, err := a.conn.Read(a.buf[:])
		if err != nil {
			return 0, 0, err
		}
		if n >= 12 && a.buf[2]&0x80 != 0 {
			return binary.BigEndian.Uint16(a.buf[:]), n + a.header, nil
		}
	}
}

func (a *dnsAsker) close() { a.conn.Close() }

// pingAsker sends ICMP echoes: over a datagram socket where the system lets
// everybody, else over a raw one, which needs privileges.
type pingAsker struct {
	conn   *icmp.PacketConn
	to     net.Addr
	addr   netip.Addr
	kind   icmp.Type
	proto  int
	token  [8]byte // marks echoes as ours: the system may choose their ID
	header int
	buf    [1 << 10]byte
}

func newPingAsker(addr netip.Addr) (*pingAsker, error) {
	addr = addr.Unmap()
	a := &pingAsker{addr: addr, kind: ipv4.ICMPTypeEcho, proto: 1, header: ipHeader(addr)}
	ways := []string{"udp4", "ip4:icmp"}
	any := "0.0.0.0"
	if addr.Is6() {
		a.kind, a.proto = ipv6.ICMPTypeEchoRequest, 58
		ways, any = []string{"udp6", "ip6:ipv6-icmp"}, "::"
	}
	rand.Read(a.token[:])
	var err error
	for _, way := range ways {
		if a.conn, err = icmp.ListenPacket(way, any); err != nil {
			continue
		}
		a.to = &net.IPAddr{IP: addr.AsSlice(), Zone: addr.Zone()}
		if strings.HasPrefix(way, "udp") {
			a.to = &net.UDPAddr{IP: addr.AsSlice(), Zone: addr.Zone()}
		}
		return a, nil
	}
	return nil, fmt.Errorf("this system does not let weir ping: %w", err)
}

func (a *pingAsker) ask(seq uint16) error {
	m := icmp.Message{Type: a.kind, Body: &icmp.Echo{ID: int(binary.BigEndian.Uint16(a.token[:])), Seq: int(seq), Data: a.token[:]}}
	b, err := m.Marshal(nil)
	if err == nil {
		_, err = a.conn.WriteTo(b, a.to)
	}
	return err
}

func (a *pingAsker) hear(until time.Time) (uint16, int, error) {
	a.conn.SetReadDeadline(until)
	for {
		n, _, err := a.conn.ReadFrom(a.buf[:])
		if err != nil {
			return 0, 0, err
		}
		m, err := icmp.ParseMessage(a.proto, a.buf[:n])
		if err != nil || m.Type != ipv4.ICMPTypeEchoReply && m.Type != ipv6.ICMPTypeEchoReply {
			continue
		}
		if echo, ok := m.Body.(*icmp.Echo); ok && string(echo.Data) == string(a.token[:]) {
			return uint16(echo.Seq), n + a.header, nil
		}
	}
}

func (a *pingAsker) close() { a.conn.Close() }
