package node

import (
	"testing"
	"time"

	"weir/crawl"
	"weir/overlay"
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
