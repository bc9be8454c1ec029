package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/node"
	"weir/internal/testweb"
	"weir/page"
)

// BenchmarkAgreement crawls a web on this machine, by the real clock, and then
// simulates the crawl of the web recorded from it. The times should agree within
// 5%; on a machine that is busy otherwise the live crawl takes longer.
func BenchmarkAgreement(b *testing.B) {
	sites := testweb.Uneven(3, 30, testweb.Site{Pages: 10, Links: 6, Size: 20_000, Latency: 40 * time.Millisecond, Rate: 400_000})
	live, err := testweb.Start(testweb.Config{Seed: 3, Sites: sites})
	if err != nil {
		b.Fatal(err)
	}
	defer live.Close()
	for b.Loop() {
		dir := filepath.Join(b.TempDir(), "crawl")
		s := defaults()
		s.Dir, s.Wait, s.Conns, s.Scope, s.Memory, s.Resolve = dir, span(100*time.Millisecond), 4, "any", 64e6, live.Resolve()
		var seeds []node.Seed
		for _, text := range live.Seeds() {
			u, err := page.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			seeds = append(seeds, node.Seed{URL: u})
		}
		s.allow(seeds)
		cfg, err := setup(s, seeds)
		if err != nil {
			b.Fatal(err)
		}
		report, err := node.Run(context.Background(), make(chan struct{}), *cfg)
		if err != nil {
			b.Fatal(err)
		}
		file := dir + ".weirweb"
		must(b, "sim", "record", "--dir", dir, "-o", file)
		var f findingJSON
		if err := json.Unmarshal([]byte(must(b, "sim", "run", "--web", file, "--json", "--conns", "4", "--wait", "100ms")), &f); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(report.Seconds, "live-s")
		b.ReportMetric(f.Virtual, "sim-s")
		b.ReportMetric(f.Virtual/report.Seconds, "sim/live")
		b.ReportMetric(float64(report.Pages), "live-pages")
		b.ReportMetric(float64(f.Pages), "sim-pages")
		b.ReportMetric(float64(report.Bytes), "live-bytes")
		b.ReportMetric(f.Bytes, "sim-bytes")
	}
}
