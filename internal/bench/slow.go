package main

import (
	"fmt"

	"weir/internal/testweb"
)

// speedOfSlow is that of a slow server, in bytes per second.
const speedOfSlow = 2000

// slow crawls thousands of slow servers at once.
//
// Its CPU is compared with that of the same pages of the same servers when they
// are fast: robots.txt, names, connections and links cost the same in both, so
// what is left is the cost of slowness, whatever the length of the run. It is
// put beside the time that the bytes would take if every server were busy all
// along, which is shorter than the run with its last few stragglers.
//
// A slow line still delivers whole segments, so the target is about those. What
// a server costs that sends every hundred bytes as it has them, twenty
// times a second, is printed as well.
func (l *lab) slow() error {
	n := l.scaled(5000)
	quick := testweb.Site{Pages: 6, Links: 6, Size: 20_000}
	args := []string{"--wait", "0s", "--conns", fmt.Sprint(n), "--warc", "none"}
	base, err := l.crawl(testweb.Even(n, quick), args...)
	if err != nil {
		return err
	}
	l.value("CPU, servers without a limit", base.of(result.perThousand), "s/1,000 pages")
	own := base.of(func(r result) float64 { return r.cpu.Seconds() }).median()
	for _, piece := range []struct {
		name  string
		bytes int
	}{{"segments of 1,460 bytes", 1460}, {"pieces of 100 bytes", 100}} {
		site := quick
		site.Rate, site.Piece = speedOfSlow, piece.bytes
		l.say("%d servers of %d bytes/s, in %s", n, speedOfSlow, piece.name)
		s, err := l.crawl(testweb.Even(n, site), args...)
		if err != nil {
			return err
		}
		busy := func(r result) float64 { return float64(r.WireBytes) / float64(n) / speedOfSlow }
		beyond := s.of(func(r result) float64 { return 100 * (r.cpu.Seconds() - own) / busy(r) })
		l.value("time", s.of(func(r result) float64 { return r.wall.Seconds() }), "s")
		l.value("time if all were busy all along", s.of(busy), "s")
		l.value("CPU", s.of(result.perThousand), "s/1,000 pages")
		l.value("CPU in all, of a core", s.of(func(r result) float64 { return 100 * r.cpu.Seconds() / busy(r) }), "%")
		l.target("memory", s.of(result.memory), "MB", atMost(500))
		if piece.bytes == 1460 {
			l.target("CPU beyond the bytes' own, of a core", beyond, "%", atMost(15))
		} else {
			l.value("CPU beyond the bytes' own, of a core", beyond, "%")
		}
	}
	return nil
}
