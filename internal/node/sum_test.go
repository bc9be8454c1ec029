package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/testweb"
	"weir/overlay"
)

// relay is a crawl of three nodes that have a limit together, and demand moves between
// them: hosts answer at once while it is the turn of the node that owns them, and take
// seconds otherwise. It is always the turn of n2, which has a limit of its own besides.
type relay struct {
	limit, own  int64 // bytes a second of all, and of n2
	conns       int   // of a node
	hosts, size int   // of a node, and of a page
	course      []leg

	owner map[string]string // of hosts
	begun []chan struct{}   // turns, and the end

	mu   sync.Mutex
	turn int
	got  int // answers in this turn
	sent []sending
}

// leg is a turn: it lasts until the hosts of some nodes have given so many answers.
type leg struct {
	nodes string
	pages int
}

// sending is one answer as the web saw it: who got how many bytes, from when on.
type sending struct {
	at    time.Time
	node  string
	bytes int64
}

// on says whether it is the turn of a host.
func (r *relay) on(host string) bool {
	return r.turn < len(r.course) && strings.Contains(r.course[r.turn].nodes, r.owner[host])
}

// hold lets hosts take their time.
func (r *relay) hold(host, _ string) {
	r.mu.Lock()
	slow, next := r.owner[host] != "n2" && !r.on(host), r.begun[min(r.turn+1, len(r.course))]
	r.mu.Unlock()
	if slow {
		long := time.NewTimer(3 * time.Second)
		defer long.Stop()
		select {
		case <-next:
		case <-long.C:
		}
	}
}

func (r *relay) note(v testweb.Visit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, name, _ := strings.Cut(v.Agent, "/")
	r.sent = append(r.sent, sending{v.Ended, name, v.Sent})
	if r.on(v.Host) {
		if r.got++; r.got == r.course[r.turn].pages {
			r.turn, r.got = r.turn+1, 0
			close(r.begun[r.turn])
		}
	}
}

// run crawls until the last turn is over, and returns all answers, by time.
func (r *relay) run(t testing.TB) []sending {
	t.Helper()
	owners, keys := overlay.NewOwners(overlay.Parts), overlay.NewKeys(overlay.Scheme{}, overlay.Parts)
	owners.Set([]overlay.Peer{{Name: "n0"}, {Name: "n1"}, {Name: "n2"}})
	r.owner = map[string]string{}
	var sites []testweb.Site
	for i, has := 0, map[string]int{}; len(sites) < 3*r.hosts; i++ {
		s := testweb.Site{Name: fmt.Sprintf("s%04d.test", i), Pages: 5000, Links: 10, Size: r.size}
		if owner := owners.Of(keys.HostPart(s.Name)); has[owner] < r.hosts {
			has[owner]++
			r.owner[s.Name] = owner
			sites = append(sites, s)
		}
	}
	for range len(r.course) + 1 {
		r.begun = append(r.begun, make(chan struct{}))
	}
	web := start(t, testweb.Config{Seed: 7, Sites: sites, Heard: r.hold, Visited: r.note})
	f := newFleet(t, web, 3)
	f.limit = r.limit
	f.tune = func(i int, cfg *Config) {
		cfg.Wait, cfg.PerConn, cfg.Conns = time.Millisecond, 100, r.conns
		cfg.Fetch.Agent = fmt.Sprintf("weir/n%d", i)
		if i == 2 {
			cfg.Bandwidth.Rate = r.own
		}
	}
	for i := range f.nodes {
		f.launch(i)
	}
	select {
	case <-r.begun[len(r.course)]:
	case <-f.nodes[0].done:
	case <-f.nodes[1].done:
	case <-f.nodes[2].done:
	}
	for _, s := range f.nodes {
		select {
		case <-s.done:
			t.Fatalf("%s has ended: %v", s.name, s.err)
		default:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.sent, func(a, b sending) int { return a.at.Compare(b.at) })
	return slices.Clone(r.sent)
}

// ahead is the most by which any span of time, however short or long, holds more than so
// many bytes a second.
func ahead(all []sending, rate int64) (most float64) {
	have := 0.0
	for i, s := range all {
		if i > 0 {
			have = max(0, have-float64(rate)*s.at.Sub(all[i-1].at).Seconds())
		}
		have += float64(s.bytes)
		most = max(most, have)
	}
	return most
}

// fullest is the most bytes that any span of a length holds.
func fullest(all []sending, span time.Duration) (most int64) {
	first, sum := 0, int64(0)
	for _, s := range all {
		for sum += s.bytes; s.at.Sub(all[first].at) >= span; first++ {
			sum -= all[first].bytes
		}
		most = max(most, sum)
	}
	return most
}

func of(node string, all []sending) []sending {
	return slices.DeleteFunc(slices.Clone(all), func(s sending) bool { return s.node != node })
}

func largest(all []sending) int64 {
	return slices.MaxFunc(all, func(a, b sending) int { return cmp.Compare(a.bytes, b.bytes) }).bytes
}

// TestLimitOfAll: while demand moves between three nodes, the web sends them together no
// more than the limit that they have together, and one of them no more than its own.
//
// No span of time may hold more than its length at the limit, and an allowance: two
// seconds of the limit, since a node fills the second that is over up to the share that it
// has now, so that what one has used and gives away another may use once more; and the answers
// that are on their way, one for each connection, which the web has sent and the node has
// not read yet. A slow machine only makes it less.
func TestLimitOfAll(t *testing.T) {
	t.Parallel()
	r := relay{limit: 100e3, own: 20e3, conns: 4, hosts: 3, size: 3000, course: []leg{{"n0", 150}, {"n0 n1", 250}, {"n1", 150}, {"n2", 100}}}
	all := r.run(t)
	under := float64(int64(r.conns) * largest(all))
	check := func(who string, sent []sending, rate int64, nodes float64) {
		got, most := ahead(sent, rate), 2*float64(rate)+nodes*under
		t.Logf("%s: in %.0f s never more than %.0f bytes ahead of %d a second", who, sent[len(sent)-1].at.Sub(sent[0].at).Seconds(), got, rate)
		if got > most {
			t.Errorf("%s: some time holds %.0f bytes more than %d a second; %.0f are allowed", who, got, rate, most)
		}
	}
	check("all", all, r.limit, 3)
	check("n2", of("n2", all), r.own, 1)
}

// BenchmarkLimitOfAll is the same at 500 KB/s and with pages of 10 KB: how much of the limit is used while it
// could be, and what the fullest second and ten seconds hold. Bytes are those of answers, without the
// heads of packets.
//
//	go test -run '^$' -bench LimitOfAll -benchtime 1x ./internal/node
func BenchmarkLimitOfAll(b *testing.B) {
	for range b.N {
		r := relay{limit: 500e3, own: 125e3, conns: 8, hosts: 4, size: 10e3, course: []leg{{"n0", 500}, {"n0 n1", 500}, {"n1", 500}, {"n0", 500}}}
		all := r.run(b)
		took := all[len(all)-1].at.Sub(all[0].at)
		sum := int64(0)
		for _, s := range all {
			sum += s.bytes
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(took.Seconds(), "s")
		percent := func(name string, bytes, rate int64, span time.Duration) {
			b.ReportMetric(100*float64(bytes)/float64(rate)/span.Seconds(), name)
		}
		percent("%-used", sum, r.limit, took)
		for _, span := range []time.Duration{time.Second, 10 * time.Second} {
			percent(fmt.Sprintf("%%-fullest-%v", span), fullest(all, span), r.limit, span)
			percent(fmt.Sprintf("%%-fullest-%v-n2", span), fullest(of("n2", all), span), r.own, span)
		}
		b.ReportMetric(ahead(all, r.limit)/float64(r.limit), "s-ahead")
	}
}
