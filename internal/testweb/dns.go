package testweb

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// dns answers for the names of a web, over UDP and TCP on one port. Known names have A records with a TTL of a minute, and
// no AAAA; every other name does not exist.
type dns struct {
	addr    string
	udp     *net.UDPConn
	tcp     *net.TCPListener
	records map[string]record
	wild    map[string]record // by suffix, with its dot
	lookups atomic.Int64

	mu   sync.Mutex
	open map[net.Conn]struct{}
	shut bool
}

// record is what a name has: addresses, or another name.
type record struct {
	addrs []netip.Addr
	cname string
}

// maxDNSConns bounds the TCP connections to the DNS server.
const maxDNSConns = 64

func newDNS(sites []*site, at netip.Addr) (*dns, error) {
	d := &dns{records: make(map[string]record), wild: make(map[string]record), open: make(map[net.Conn]struct{})}
	for _, s := range sites {
		if s.Name == "" {
			continue
		}
		r := record{addrs: []netip.Addr{s.addr}}
		if s.behaviour != nil && s.behaviour.records != nil {
			for name, r := range s.behaviour.records(s) {
				d.records[name+"."] = r
			}
			continue
		}
		d.records[s.name+"."] = r
		if s.Wildcard {
			d.wild["."+s.name+"."] = r
		}
	}
	var err error
	for range 32 {
		if d.udp, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 0))); err != nil {
			return nil, err
		}
		port := d.udp.LocalAddr().(*net.UDPAddr).AddrPort().Port()
		if d.tcp, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, port))); err == nil {
			d.addr = d.udp.LocalAddr().String()
			return d, nil
		}
		d.udp.Close()
	}
	return nil, err
}

func (d *dns) start(tasks *sync.WaitGroup) {
	tasks.Go(d.serveUDP)
	tasks.Go(func() { d.serveTCP(tasks) })
}

func (d *dns) close() {
	d.mu.Lock()
	d.shut = true
	for c := range d.open {
		c.Close()
	}
	d.mu.Unlock()
	d.udp.Close()
	d.tcp.Close()
}

func (d *dns) serveUDP() {
	in := make([]byte, 4096)
	for {
		n, from, err := d.udp.ReadFromUDPAddrPort(in)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		out := d.answer(in[:n], false)
		if len(out) > 512 {
			out = d.answer(in[:n], true)
		}
		if out != nil {
			d.udp.WriteToUDPAddrPort(out, from)
		}
	}
}

func (d *dns) serveTCP(tasks *sync.WaitGroup) {
	for {
		c, err := d.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		d.mu.Lock()
		ok := !d.shut && len(d.open) < maxDNSConns
		if ok {
			d.open[c] = struct{}{}
		}
		d.mu.Unlock()
		if !ok {
			c.Close()
			continue
		}
		tasks.Go(func() {
			d.talk(c)
			c.Close()
			d.mu.Lock()
			delete(d.open, c)
			d.mu.Unlock()
		})
	}
}

// talk answers questions on one connection, each with its length in front.
func (d *dns) talk(c net.Conn) {
	in := make([]byte, 1<<16)
	for {
		c.SetDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.ReadFull(c, in[:2]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(in))
		if _, err := io.ReadFull(c, in[:n]); err != nil {
			return
		}
		out := d.answer(in[:n], false)
		if out == nil || len(out) > 1<<16-1 {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}

// answer packs the answer to one message; nil when it is no question. An answer that is cut says so and holds no records.
func (d *dns) answer(msg []byte, cut bool) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(msg)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	if !cut {
		d.lookups.Add(1)
	}
	name := strings.ToLower(q.Name.String())
	r, ok := d.find(name)
	h := dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true, Truncated: cut}
	if !ok {
		h.RCode = dnsmessage.RCodeNameError
	}
	b := dnsmessage.NewBuilder(nil, h)
	b.EnableCompression()
	if b.StartQuestions() != nil || b.Question(q) != nil || b.StartAnswers() != nil {
		return nil
	}
	// A chain of names is followed as far as a careless server would; a loop of them ends the same way.
	at := q.Name
	for range 8 {
		if cut || r.cname == "" {
			break
		}
		next, err := dnsmessage.NewName(r.cname)
		if err != nil || b.CNAMEResource(rr(at), dnsmessage.CNAMEResource{CNAME: next}) != nil {
			return nil
		}
		at = next
		r, _ = d.find(r.cname)
	}
	if q.Type == dnsmessage.TypeA && !cut {
		for _, a := range r.addrs {
			if b.AResource(rr(at), dnsmessage.AResource{A: a.As4()}) != nil {
				return nil
			}
		}
	}
	out, err := b.Finish()
	if err != nil {
		return nil
	}
	return out
}

func rr(name dnsmessage.Name) dnsmessage.ResourceHeader {
	return dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 60}
}

func (d *dns) find(name string) (record, bool) {
	if r, ok := d.records[name]; ok {
		return r, true
	}
	for suffix, r := range d.wild {
		if strings.HasSuffix(name, suffix) {
			return r, true
		}
	}
	return record{}, false
}
