package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/testweb"
)

// What a cluster costs and how fast it mends, printed and not judged, since other work on the machine counts too:
//
//	go test -run '^$' -bench . -benchtime 1x ./internal/chaos

// attempt runs something once, and checks that nothing was lost.
func attempt(b *testing.B, cfg Config) *Result {
	b.Helper()
	usable(b)
	cfg.Weir, cfg.Seed, cfg.Settle = build(b), *seed, *settle
	if cfg.Dir == "" {
		cfg.Dir = folder(b, strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(b.Name(), "Benchmark")), "/", "-"))
	}
	r, err := Run(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	check(b, r)
	b.ReportMetric(0, "ns/op")
	return r
}

// BenchmarkElection kills the node whose server leads, while all have work: for how long was no page served, and how long after
// the kill was each of its hosts visited again, by whom it went to?
func BenchmarkElection(b *testing.B) {
	r := attempt(b, Config{Nodes: 3, Pages: 6000, Pace: time.Second, Script: []Fault{{At: 10 * time.Second, For: 40 * time.Second, Kind: Kill, Node: Leader}}})
	kill := r.Spans[0]
	gap, last := time.Duration(0), kill.Start
	mine, back := map[string]bool{}, map[string]time.Duration{}
	for _, v := range r.Visits {
		switch {
		case v.At < kill.Start && v.Node == kill.Node:
			mine[v.Host] = true
		case v.At > kill.Start && v.At < kill.End && v.Node != kill.Node:
			gap, last = max(gap, v.At-last), v.At
			if _, ok := back[v.Host]; mine[v.Host] && !ok {
				back[v.Host] = v.At - kill.Start
			}
		}
	}
	var times []time.Duration
	for _, d := range back {
		times = append(times, d)
	}
	slices.Sort(times)
	b.ReportMetric(gap.Seconds(), "s-without-page")
	b.ReportMetric(float64(len(mine)-len(back)), "hosts-not-back")
	if len(times) > 0 {
		b.ReportMetric(times[0].Seconds(), "s-first-host-back")
		b.ReportMetric(times[len(times)-1].Seconds(), "s-last-host-back")
	}
}

// BenchmarkJoin lets a node join: how long until it has its share of the partitions, and until it fetches?
func BenchmarkJoin(b *testing.B) {
	r := attempt(b, Config{Nodes: 3, Spares: 1, Pages: 6000, Pace: 500 * time.Millisecond, Poll: true,
		Script: []Fault{{At: 10 * time.Second, For: 40 * time.Second, Kind: Join, Node: 3}}})
	on := r.Spans[0].Start
	for _, s := range r.Shares {
		if s.Node == 3 && s.Owned >= 256/4*9/10 {
			b.ReportMetric((s.At - on).Seconds(), "s-to-share")
			break
		}
	}
	for _, v := range r.Visits {
		if v.Node == 3 {
			b.ReportMetric((v.At - on).Seconds(), "s-to-page")
			break
		}
	}
}

// BenchmarkCoordination crawls webs in peace: bytes received by all nodes, for each URL. The last has many servers with
// few pages each, as the exhaustive workload of Loo et al.: 70,000 servers, of which 873,631 pages were asked for.
func BenchmarkCoordination(b *testing.B) {
	for _, x := range []struct {
		name string
		cfg  Config
	}{
		{"6000", Config{Pages: 6000}},
		{"30000", Config{Pages: 30000}},
		{"120000", Config{Pages: 120000}},
		{"wide", Config{Pages: 30000, Web: testweb.Even(2500, testweb.Site{Pages: 12, Links: 12, Size: 4000, Latency: 5 * time.Millisecond})}},
	} {
		b.Run(x.name, func(b *testing.B) {
			x.cfg.Nodes = 3
			r := attempt(b, x.cfg)
			b.ReportMetric(float64(r.Spoken)/float64(r.Pages), "B/URL")
			b.ReportMetric(r.CPU.Seconds()*1000/float64(r.Pages), "cpu-ms/page")
			b.ReportMetric(float64(r.Pages)/(r.Took-r.ToQuiet-r.Visits[0].At).Seconds(), "pages/s")
			kinds := make([]string, 0, len(r.Kinds))
			for k := range r.Kinds {
				kinds = append(kinds, k)
			}
			slices.SortFunc(kinds, func(x, y string) int { return cmp.Compare(r.Kinds[y], r.Kinds[x]) })
			for _, k := range kinds {
				b.Logf("%-12s %6.1f bytes for each URL", k, float64(r.Kinds[k])/float64(r.Pages))
			}
		})
	}
}

// BenchmarkAlone crawls the same webs with one weir crawl.
func BenchmarkAlone(b *testing.B) {
	for _, n := range []int{6000, 30000, 120000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			usable(b)
			cpu, pages, took, err := alone(build(b), folder(b, fmt.Sprintf("alone-%d", n)), n)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(cpu.Seconds()*1000/float64(pages), "cpu-ms/page")
			b.ReportMetric(float64(pages)/took.Seconds(), "pages/s")
		})
	}
}

// BenchmarkBeside compares three nodes with one weir crawl, by turns, since a machine is not always equally fast: what a
// page takes of the processor in the mean of all crawls. -benchtime 5x makes five pairs, after one that is not counted.
func BenchmarkBeside(b *testing.B) {
	usable(b)
	const pages = 30000
	var three, one time.Duration
	var times []float64
	for i := range b.N {
		r := attempt(b, Config{Nodes: 3, Pages: pages, Dir: folder(b, fmt.Sprintf("beside-%d-%d", b.N, i))})
		cpu, n, _, err := alone(build(b), folder(b, fmt.Sprintf("beside-alone-%d-%d", b.N, i)), pages)
		if err != nil || n != r.Pages {
			b.Fatalf("%d pages alone, %d by three nodes: %v", n, r.Pages, err)
		}
		three, one, times = three+r.CPU, one+cpu, append(times, r.CPU.Seconds()/cpu.Seconds())
		b.Logf("%.3f ms a page by three nodes, %.3f by one: %.2f times", r.CPU.Seconds()*1000/float64(n), cpu.Seconds()*1000/float64(n), times[i])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(three.Seconds()/one.Seconds(), "times")
	b.ReportMetric(slices.Min(times), "least")
	b.ReportMetric(slices.Max(times), "most")
}

// alone lets one weir crawl the web that a cluster of the same configuration would.
func alone(weir, dir string, n int) (cpu time.Duration, pages int, took time.Duration, err error) {
	r := &run{cfg: Config{Weir: weir, Dir: dir, Seed: *seed, Nodes: 1, Pages: n}, begin: time.Now(), noticed: make(chan struct{}, 1)}
	if r.lan, err = newLAN(1); err != nil {
		return 0, 0, 0, err
	}
	defer r.lan.close()
	r.machines = []*machine{{run: r}}
	if err := r.serve(); err != nil {
		return 0, 0, 0, err
	}
	defer r.web.Close()
	seeds := filepath.Join(dir, "seeds")
	if err := errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(seeds, []byte(strings.Join(r.web.Seeds(), "\n")+"\n"), 0o666)); err != nil {
		return 0, 0, 0, err
	}
	cmd := exec.Command(weir, append([]string{"crawl", "--dir", filepath.Join(dir, "crawl"), "--seeds", seeds, "--json"}, r.settings()...)...)
	out, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		return 0, 0, 0, err
	}
	defer out.Close()
	cmd.Stdout = out
	began := time.Now()
	if err := start(r.lan.nodes[0], cmd); err != nil {
		return 0, 0, 0, err
	}
	if err := cmd.Wait(); err != nil {
		return 0, 0, 0, err
	}
	if truth, served := r.web.Truth(), r.web.Served(); len(truth) != len(served) {
		return 0, 0, 0, fmt.Errorf("%d of %d pages", len(served), len(truth))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), len(r.web.Truth()), time.Since(began), nil
}
