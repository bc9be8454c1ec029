package crawl

import (
	"encoding/binary"
	"fmt"
	"time"

	"weir/frontier"
	"weir/overlay"
	"weir/page"
)

// Adopt says that the pages of a partition are this node's from now on, under an
// epoch, and returns what the Engine must know of them. There must be no open
// group; there may be one then, see Pending.
func (l *Ledger) Adopt(part int, epoch uint64) (Adopted, error) {
	ev := Adopted{Part: uint16(part)}
	st := l.share.stakes.of(part)
	st.adopted, st.epoch, st.queued, st.parked, st.known = true, epoch, 0, 0, 0
	l.share.spreads.forget(part) // what was under way when it went may have noted some
	var ids []page.SiteID
	err := l.kv.Scan(partKey(part), after(partKey(part)), func(key, _ []byte) bool {
		ids = append(ids, page.SiteID(binary.BigEndian.Uint32(key[len(key)-4:])))
		return true
	})
	if err != nil {
		return ev, fmt.Errorf("read the sites of partition %d: %w", part, err)
	}
	last := ""
	for _, id := range ids {
		s, err := l.site(id)
		if err != nil {
			return ev, err
		}
		st.parked += s.parked
		st.known += s.queued + s.parked + s.ended
		if s.queued > 0 {
			st.queued += s.queued
			k := l.known(s)
			k.Met, s.met = true, epoch
			ev.Sites = append(ev.Sites, k)
		}
		host := page.SiteHost(s.name) // also of a site that has nothing to do: its pages may come yet
		if host == last {
			continue
		}
		last = host
		care, err := l.care(host, s)
		if err != nil {
			return ev, err
		}
		if care != (Care{Host: host}) {
			ev.Hosts = append(ev.Hosts, care)
		}
	}
	if err := l.hostsOf(part, &ev); err != nil {
		return ev, err
	}
	return ev, l.pass(part)
}

// hostsOf adds what is known of hosts whose pages are spread over partitions: this one's
// owner grants leases of them, whether it has pages of them or not.
func (l *Ledger) hostsOf(part int, ev *Adopted) error {
	if l.share.Keys.Scheme().By == overlay.ByHost {
		return nil
	}
	var hosts []string
	prefix := partHostKey(part, "")
	err := l.kv.Scan(prefix, after(prefix), func(key, _ []byte) bool {
		hosts = append(hosts, string(key[len(prefix):]))
		return true
	})
	if err != nil {
		return fmt.Errorf("read the hosts of partition %d: %w", part, err)
	}
	for _, h := range hosts {
		care, err := l.care(h, &siteRecord{})
		if err != nil {
			return err
		}
		ev.Hosts = append(ev.Hosts, care)
	}
	return nil
}

// noteHost remembers that something is known of a host of a partition.
func (l *Ledger) noteHost(part int, host string) {
	if l.share.Keys.Scheme().By != overlay.ByHost {
		l.extra = append(l.extra, Pair{Key: partHostKey(part, host), Value: []byte{}})
	}
}

func partHostKey(part int, host string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{keyShare, shareHost}, uint16(part)), host...)
}

// applyHost keeps what another node has learned of a host, and tells the Engine if
// the host is its own by now.
func (l *Ledger) applyHost(part int, h overlay.Host) {
	l.noteHost(part, h.Name)
	if l.share.stakes.mine(part) {
		l.ev.Hosts = append(l.ev.Hosts, Care{
			Host: h.Name, Delay: h.Delay, State: frontier.HostState{Failures: int(h.Failures), Last: h.Last, Rest: min(h.Rest, page.MaxAsked), Pace: h.Pace},
		})
	}
	if h.Delay > 0 {
		l.keepDelay(h.Name, h.Delay)
	}
	if st := (frontier.HostState{Failures: int(h.Failures), Last: h.Last, Rest: h.Rest, Pace: h.Pace}); h.Delay == 0 || st != (frontier.HostState{}) {
		l.keepHost(h.Name, st)
	}
}

// keepDelay keeps the crawl-delay that a host's robots.txt asks for: whoever gets
// the host next must heed it before it has read that again.
func (l *Ledger) keepDelay(host string, delay time.Duration) {
	l.extra = append(l.extra, Pair{Key: delayKey(host), Value: binary.AppendUvarint(nil, uint64(delay))})
}

// logDelay tells a host's partition of its crawl-delay, as keepDelay does the store.
func (l *Ledger) logDelay(host string, delay time.Duration) {
	l.keepDelay(host, delay)
	part := l.share.Keys.HostPart(host)
	l.noteHost(part, host)
	to := l.share.posts.to(part)
	to.hosts = append(to.hosts, overlay.Host{Name: host, Delay: delay})
}

// care is what is known of the host of a site.
func (l *Ledger) care(host string, s *siteRecord) (Care, error) {
	c := Care{Host: host, Delay: s.delay}
	d, ok, err := l.kv.Get(delayKey(host))
	if ok && err == nil {
		delay, _ := binary.Uvarint(d)
		c.Delay = max(c.Delay, time.Duration(delay))
	}
	if err != nil {
		return c, fmt.Errorf("read host %s: %w", host, err)
	}
	b, ok, err := l.kv.Get(append([]byte{keyHost}, host...))
	if ok && err == nil {
		c.State, err = l.readHost(b)
	}
	if err != nil {
		return c, fmt.Errorf("read host %s: %w", host, err)
	}
	return c, nil
}

// own returns the stake in the partition of a site, if it is adopted.
func (l *Ledger) own(s *siteRecord) *stake {
	if l.share != nil && l.share.stakes.mine(int(s.part)) {
		return l.share.stakes.of(int(s.part))
	}
	return nil
}

// shown are the totals that people see. What a node has of partitions that it has lost,
// or only stands by for, is among the numbers of those who own them.
func (l *Ledger) shown() Totals {
	t := l.totals
	if l.share != nil {
		t.Seen, t.Queued, t.Parked = 0, 0, 0
		for _, st := range l.share.stakes.list {
			t.Seen += st.known
			t.Queued += st.queued
			t.Parked += st.parked
		}
	}
	return t
}
