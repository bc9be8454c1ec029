package fetch

import (
	"net/netip"
	"testing"

	"weir/page"
)

func TestPublic(t *testing.T) {
	for s, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"64:ff9b::808:808": true, "2002:808:808::1": true,

		"127.0.0.1": false, "127.255.0.9": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false, "224.0.0.1": false,
		"255.255.255.255": false, "240.0.0.1": false, "192.0.0.8": false, "198.18.0.1": false, "203.0.113.9": false,
		"::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00::2": false,
		"ff02::1": false, "fec0::1": false, "2001:db8::1": false, "2001::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::1": false, "2002:a00:1::": false,
	} {
		if got := Public(netip.MustParseAddr(s)); got != want {
			t.Errorf("%s: public %v, want %v", s, got, want)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is not a public one")
	}
}

func TestPrivateAddress(t *testing.T) {
	p := serve(t, says(ok+"Content-Length: 0\r\n\r\n"))
	loopback := p.addr.Addr()

	c := newClient(t, Config{Memory: 1 << 20})
	for name, u := range map[string]page.URL{
		"an address in the URL":        p.url(t, "/"),
		"a name that leads to it":      parse(t, "http://public.test:"+p.url(t, "/").Port()+"/"),
		"the address in other clothes": parse(t, "http://[::ffff:127.0.0.1]:"+p.url(t, "/").Port()+"/"),
	} {
		cn, o := c.Open(t.Context(), u, loopback)
		if o != page.PrivateAddress {
			t.Errorf("%s: %v (%s)", name, o, cn.Err)
		}
		cn.Close()
	}
	if cn, o := c.Open(t.Context(), parse(t, "http://public.test/"), netip.MustParseAddr("::ffff:127.0.0.1")); o != page.PrivateAddress {
		t.Errorf("IPv4 in IPv6: %v (%s)", o, cn.Err)
	}
	if len(p.asked()) != 0 {
		t.Error("the server was asked all the same")
	}

	allowed := newClient(t, Config{Memory: 1 << 20, AllowAddrs: []netip.Addr{loopback}})
	open(t, allowed, p.url(t, "/"), loopback)
	if cn, o := allowed.Open(t.Context(), p.url(t, "/"), netip.MustParseAddr("127.0.0.2")); o != page.PrivateAddress {
		t.Errorf("one address allowed, another tried: %v (%s)", o, cn.Err)
	}
}

// A name that is public at first and leads home the next time must not get
// through: what counts is the address at the moment of connecting.
func TestRebinding(t *testing.T) {
	p := serve(t, says(ok+"Content-Length: 0\r\n\r\n"))
	answers := []string{"93.184.216.34", "127.0.0.1"}
	asked := 0
	ns := nameserver(t, func(q query) response {
		if q.kind != typeA {
			return response{}
		}
		asked++
		return response{records: []record{{name: q.name, addr: answers[min(asked, len(answers))-1], ttl: 1}}}
	})
	c := newClient(t, Config{Memory: 1 << 20, DNS: ns})
	u := parse(t, "http://rebind.test:"+p.url(t, "/").Port()+"/")

	addrs, _, o := c.Lookup(t.Context(), u.Host())
	if o != page.OK || c.Private(addrs[0]) {
		t.Fatalf("the first answer is a public address: %v, %v", addrs, o)
	}
	c.names.forget()
	addrs, _, o = c.Lookup(t.Context(), u.Host())
	if o != page.OK || len(addrs) != 1 || !addrs[0].IsLoopback() {
		t.Fatalf("the second answer is loopback: %v, %v", addrs, o)
	}
	if cn, o := c.Open(t.Context(), u, addrs[0]); o != page.PrivateAddress {
		t.Errorf("connecting: %v (%s)", o, cn.Err)
	}
	if len(p.asked()) != 0 {
		t.Error("the server was reached")
	}
}
