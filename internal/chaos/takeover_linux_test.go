package chaos

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"weir/internal/testweb"
	"weir/overlay"
)

var hoard = flag.Int("hoard", 100_000, "URLs on one node of BenchmarkTakeover and BenchmarkJoinMany")

// hoarder is the node that has them, and is killed.
const hoarder = 1

// hoards is a web whose URLs nearly all belong to one of three nodes: a host in each of its partitions, whose first pages
// have a thousand links to pages that nobody has heard of, and are seeds. The others have a few pages.
func hoards(urls int) (web []testweb.Site, seeds []string) {
	owners := overlay.NewOwners(overlay.Parts)
	var peers []overlay.Peer
	for i := range 3 {
		peers = append(peers, overlay.Peer{Name: fmt.Sprintf("n%d", i)})
	}
	owners.Set(peers)
	keys := overlay.NewKeys(overlay.Scheme{}, overlay.Parts)
	mine := 0
	for p := range overlay.Parts {
		if owners.Of(p) == peers[hoarder].Name {
			mine++
		}
	}
	others, has := 0, map[int]bool{}
	for i := 0; len(has) < mine; i++ {
		name := fmt.Sprintf("s%04d.test", i)
		part := keys.HostPart(name)
		switch {
		case owners.Of(part) != peers[hoarder].Name:
			if others++; others <= 30 {
				web = append(web, testweb.Site{Name: name, Pages: 200, Links: 10, Size: 3000, Latency: 5 * time.Millisecond})
			}
		case !has[part]:
			has[part] = true
			web = append(web, testweb.Site{Name: name, Pages: urls / mine, Links: 2000, Leaves: 8, Size: 3000, Latency: 5 * time.Millisecond})
			for k := 1; k*1000 < urls/mine; k++ {
				seeds = append(seeds, fmt.Sprintf("http://%s/p/%d", name, k))
			}
		}
	}
	return web, seeds
}

// BenchmarkTakeover kills a node that has most of the URLs, while they wait: how long after the kill was the first host of each
// of its partitions visited again, by whom it went to? Its last renewal was at most overlay.Renewal before.
//
//	go test -run '^$' -bench Takeover -benchtime 1x -timeout 1h ./internal/chaos -hoard 5000000
func BenchmarkTakeover(b *testing.B) {
	ctx := context.Background()
	r := fill(ctx, b, Config{Dir: folder(b, "takeover")})
	killed := r.now()
	r.say("kill %s", r.machines[hoarder].name())
	r.machines[hoarder].kill()
	asked, read := r.back(ctx, killed, 2*time.Minute)
	for _, s := range []struct {
		what  string
		times []time.Duration
	}{{"asked", asked}, {"page", read}} {
		slices.Sort(s.times)
		if n := len(s.times); n > 0 {
			b.ReportMetric(s.times[0].Seconds(), "s-first-"+s.what)
			b.ReportMetric(s.times[n*9/10].Seconds(), "s-90%-"+s.what)
			b.ReportMetric(s.times[n-1].Seconds(), "s-last-"+s.what)
		}
	}
	b.ReportMetric(float64(len(asked)), "hosts-back")
}

// BenchmarkJoinMany lets a node join while so many URLs wait on another: how long until it has its share of the partitions, and
// until it has asked a host in each of them that has one?
func BenchmarkJoinMany(b *testing.B) {
	ctx := context.Background()
	r := fill(ctx, b, Config{Dir: folder(b, "join-many"), Spares: 1})
	on := r.now()
	r.turnOn(r.machines[3])
	for owned := 0; owned < overlay.Parts/4*9/10 && r.now() < on+2*time.Minute; r.until(ctx, r.now()+500*time.Millisecond) {
		s, err := r.status(ctx, r.machines[0])
		for _, n := range s.Nodes {
			if err == nil && n.Name == r.machines[3].name() {
				owned = n.Owned
			}
		}
	}
	b.ReportMetric((r.now() - on).Seconds(), "s-to-share")
	r.until(ctx, max(r.now(), on+time.Minute))
	first := map[string]time.Duration{}
	r.mu.Lock()
	for _, v := range r.visits {
		if _, ok := first[v.Host]; v.Node == 3 && !ok {
			first[v.Host] = v.At - on
		}
	}
	r.mu.Unlock()
	times := slices.Sorted(maps.Values(first))
	if n := len(times); n > 0 {
		b.ReportMetric(float64(n), "hosts")
		b.ReportMetric(times[0].Seconds(), "s-first-host")
		b.ReportMetric(times[n*9/10].Seconds(), "s-90%-host")
		b.ReportMetric(times[n-1].Seconds(), "s-last-host")
	}
}

// fill begins a crawl, and returns when so many URLs wait on one of three nodes.
func fill(ctx context.Context, b *testing.B, cfg Config) *run {
	b.Helper()
	usable(b)
	cfg.Weir, cfg.Seed, cfg.Nodes, cfg.Pace = build(b), *seed, 3, 2*time.Second
	cfg.Web, cfg.Seeds = hoards(*hoard)
	r, end, err := begin(ctx, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(end)
	start := r.now()
	queued, same := int64(0), 0
	for same < 30 && queued < int64(*hoard)*9/10 { // until so many wait, or no more come
		r.until(ctx, r.now()+5*time.Second)
		s, err := r.status(ctx, r.machines[0])
		if err != nil {
			continue
		}
		for _, n := range s.Nodes {
			if n.Name != r.machines[hoarder].name() {
				continue
			}
			if same++; n.Queued > queued {
				queued, same = n.Queued, 0
			}
		}
		r.say("%v", s)
	}
	b.ReportMetric(float64(queued), "URLs-queued")
	b.ReportMetric((r.now() - start).Seconds(), "s-to-queue")
	b.ReportMetric(0, "ns/op")
	r.until(ctx, r.now()+10*time.Second)
	return r
}

// back waits until every host that a node had visited before it was killed is visited by others. It returns how long after
// the kill each was asked for anything, and for a page.
func (r *run) back(ctx context.Context, killed, most time.Duration) (asked, read []time.Duration) {
	for r.until(ctx, r.now()+time.Second) {
		mine, first, page := map[string]bool{}, map[string]time.Duration{}, map[string]time.Duration{}
		r.mu.Lock()
		for _, v := range r.visits {
			switch {
			case v.Node == hoarder:
				mine[v.Host] = true
			case v.At > killed && mine[v.Host]:
				if _, ok := first[v.Host]; !ok {
					first[v.Host] = v.At - killed
				}
				if _, ok := page[v.Host]; !ok && v.Path != "/robots.txt" {
					page[v.Host] = v.At - killed
				}
			}
		}
		r.mu.Unlock()
		if len(page) < len(mine) && r.now() < killed+most {
			continue
		}
		for _, d := range first {
			asked = append(asked, d)
		}
		for _, d := range page {
			read = append(read, d)
		}
		r.say("%d of %d hosts are back, %d with a page", len(first), len(mine), len(page))
		return asked, read
	}
	return nil, nil
}
