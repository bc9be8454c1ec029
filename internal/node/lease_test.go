package node

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"weir/crawl"
	"weir/overlay"
	"weir/page"
)

// Who has adopted a partition grants its hosts as their former owner would have: what
// the log says of them counts.
func TestGrantsKnowHosts(t *testing.T) {
	const host = "www.example.org"
	p := newPeer(&node{}, Peer{Name: "a"})
	p.leases, p.member = newLeases(p, 1), overlay.NewMember(overlay.Config{Name: "a"})
	part := overlay.NewKeys(p.cfg.Scheme, overlay.Parts).HostPart(host)
	p.owned[part] = 1
	p.grant(granting{Adopt: overlay.Adopt{Part: part, Epoch: 1}, hosts: []crawl.Care{{Host: host, Delay: time.Second / 2}}})
	now := clock().Add(time.Hour)
	ask := func(id uint64) overlay.Lease {
		x := &overlay.Ask{Session: 1, ID: id, Wants: []overlay.Want{{Subject: overlay.Subject{Host: host}}}}
		if err := p.leases.desk.Hear(now, "b", overlay.AppendAsk(nil, x)); err != nil {
			t.Fatal(err)
		}
		give := &overlay.Return{Session: 1, ID: id + 1, Gives: []overlay.Give{{Subject: x.Wants[0].Subject, Used: true}}}
		if err := p.leases.desk.Hear(now, "b", overlay.AppendReturn(nil, give)); err != nil {
			t.Fatal(err)
		}
		sends, _, _ := p.leases.desk.Step(now)
		m, err := overlay.ReadLease(sends[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		return m.(*overlay.Answer).Leases[0]
	}
	if l := ask(1); l.For == 0 || l.Wait != 0 {
		t.Fatalf("at first: %+v", l)
	}
	if l := ask(3); l.For == 0 || l.Wait != time.Second/2 {
		t.Errorf("the crawl-delay is not kept: %+v", l)
	}
}

// Whoever wakes up to end requests hears of each that may have to be ended before the
// others.
func TestRequestsEndWithTheirLeases(t *testing.T) {
	const host = "www.example.org"
	addr := netip.MustParseAddr("192.0.2.1")
	p := newPeer(&node{}, Peer{Name: "a"})
	l := newLeases(p, 1)
	desk := func(name string) *crawl.Desk {
		return crawl.NewDesk(crawl.DeskConfig{
			Name: name, Session: 1, Keys: overlay.NewKeys(p.cfg.Scheme, overlay.Parts), Manners: overlay.LeaseConfig{PerServer: 1, PerCDN: 1, Domains: 2},
			Owner: func(int) string { return "b" },
		})
	}
	l.desk = desk("a")
	b := desk("b")
	for part := range overlay.Parts {
		b.Start(0, part)
	}
	now := page.Time(time.Hour)
	l.desk.Want(now, crawl.Lease{Host: host, Addr: addr})
	pass := func(name string, from, to *crawl.Desk) {
		sends, _, _ := from.Step(now)
		for _, x := range sends {
			if err := to.Hear(now, name, x.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 { // for the host, and for the address
		pass("a", l.desk, b)
		pass("b", b, l.desk)
	}
	ended := false
	if !l.may(now, host, addr, func() { ended = true }) {
		t.Fatal("there is no lease")
	}
	select {
	case <-p.rings:
	default:
		t.Error("nobody is told of a request whose lease ends before all others")
	}
	until := l.desk.Until(host, addr)
	if l.ends != until {
		t.Errorf("requests are looked at in %v, and not in %v", l.ends.Sub(now), until.Sub(now))
	}
	p.carrier = nowhere{}
	nobody, cancel := context.WithCancel(t.Context()) // listens to what a desk tells
	cancel()
	if l.step(nobody, until-1); ended {
		t.Error("it ends before its lease")
	}
	if l.step(nobody, until); !ended {
		t.Error("it does not end with its lease")
	}
}

// nowhere is a carrier that loses everything.
type nowhere struct{ Carrier }

func (nowhere) Do(overlay.Action) {}
