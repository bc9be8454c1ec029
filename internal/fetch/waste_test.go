package fetch

import (
	"testing"
	"time"

	"weir/page"
)

// A server whose packets come in vain is cut off, one that repeats a few of them
// is not; either way they are charged, at about their size.
func TestWaste(t *testing.T) {
	const full = wastePacket
	second := page.Time(time.Second)
	type look struct {
		at      page.Time
		stream  int64
		packets int64
		early   int64
	}
	steady := func(n int, each page.Time, packets int64) (all []look) {
		for i := range n {
			all = append(all, look{page.Time(i) * each, 0, int64(i+1) * packets, 0})
		}
		return all
	}
	// beside is looks within a second, each with so many packets and so many bytes of news.
	beside := func(n int, packets, bytes int64) (all []look) {
		for i := range int64(n) {
			all = append(all, look{page.Time(i) * second / 200, (i + 1) * bytes, (i + 1) * packets, 0})
		}
		return all
	}
	for name, c := range map[string]struct {
		looks []look
		start int64
		foul  bool
		bytes int64
	}{
		"a good answer":              {[]look{{0, 3000, 3, 0}, {10, 300_000, 300, 0}, {second, 1e6, 1000, 0}}, 0, false, 0},
		"nothing":                    {[]look{{0, 0, 0, 0}, {second, 0, 0, 0}}, 0, false, 0},
		"before anything":            {[]look{{0, 0, 2, 0}}, 0, false, 2 * full},
		"the last, then from start":  {[]look{{0, 2*full + 24, 3, 0}, {10, 2*full + 24, 4, 0}, {20, 2*full + 24, 6, 0}}, 0, false, 24 + 2*full},
		"one by one":                 {[]look{{0, full, 1, 0}, {10, full + 700, 2, 0}, {20, full + 700, 3, 0}}, 0, false, 700},
		"after new bytes":            {[]look{{0, 800, 1, 0}, {10, 800, 2, 0}, {20, 1200, 3, 0}, {30, 1200, 4, 0}}, 0, false, 800 + 400},
		"of a short answer":          {[]look{{0, 5000, 4, 0}, {10, 5700, 5, 0}, {20, 5700, 8, 0}}, 5000, false, 3 * 700},
		"of the answer before":       {[]look{{0, full + 24, 2, 0}, {10, full + 24, 3, 0}, {20, full + 24, 4, 0}}, full + 24, false, 24 + full},
		"early, of the next answer":  {[]look{{0, full + 24, 2, 0}, {10, full + 24, 3, 1}, {20, full + 24, 4, 1}}, full + 24, false, full + 24},
		"beside a byte":              {[]look{{0, 3000, 3, 0}, {10, 3001, 53, 0}, {2 * second, 3001, 53, 0}}, 0, false, (50 - 2 - maxDoubt) * full},
		"beside a byte, often":       {[]look{{0, 1, 50, 0}, {10, 2, 100, 0}, {2 * second, 2, 100, 0}}, 0, true, (2*(50-2) - maxDoubt) * full},
		"beside bytes, one each":     {append(beside(100, 2, 16), look{2 * second, 1600, 200, 0}), 0, true, 0},
		"beside bytes, few each":     {append(beside(100, 6, 100), look{2 * second, 10_000, 600, 0}), 0, true, (100*(6-2) - maxDoubt) * (full - 100/6)},
		"beside more, few each":      {append(beside(100, 5, 200), look{2 * second, 20_000, 500, 0}), 0, true, (100*(5-2) - maxDoubt) * (full - 40)},
		"small ones, steadily":       {append(beside(100, 2, 100), look{2 * second, 10_000, 200, 0}), 0, false, 0},
		"small ones, many":           {[]look{{0, 5000, 100, 0}, {2 * second, 5000, 100, 0}}, 0, false, (100 - 2*4 - maxDoubt) * (full - 50)},
		"small ones, too many":       {[]look{{0, 50_000, 1000, 0}, {2 * second, 50_000, 1000, 0}}, 0, true, (1000 - 2*(50_000/full+1) - maxDoubt) * (full - 50)},
		"small ones, a few":          {[]look{{0, full + 300, 2 + maxDoubt, 0}}, 0, false, 0},
		"of a tiny answer, often":    {[]look{{0, 10, 1, 0}, {10, 10, 21, 0}}, 0, false, 4*10 + 16*full},
		"the end":                    {[]look{{0, 800, 1, 0}, {10, 801, 1, 0}, {20, 801, 2, 0}}, 0, false, 800},
		"small packets":              {[]look{{0, 400, 4, 0}, {10, 400, 5, 0}}, 0, false, 100},
		"too many at once":           {[]look{{0, 3000, 3, 0}, {10, 3000, 4 + maxWaste, 0}, {2 * second, 3000, 4 + maxWaste, 0}}, 0, true, 3000 - 2*full + maxWaste*full},
		"too many in a row":          {append(steady(maxWaste+1, second/1000, 1), look{2 * second, 0, maxWaste + 1, 0}), 0, true, (maxWaste + 1) * full},
		"as many as allowed":         {append(steady(maxWaste, second/1000, 1), look{2 * second, 0, maxWaste, 0}), 0, false, maxWaste * full},
		"one was lost":               {[]look{{0, 3000, 3, 0}, {10, 3000, 103, 0}, {20, 3000 + 101*full, 104, 0}, {2 * second, 200_000, 140, 0}}, 0, false, 0},
		"one was lost, some of them": {[]look{{0, full, 1, 0}, {10, full, 5, 0}, {20, 4 * full, 6, 0}}, 0, false, 2 * full},
		"many over long":             {steady(3*maxWaste, second/10, 1), 0, false, 3 * maxWaste * full},
	} {
		w := waste{start: c.start, since: 10 * second}
		var before look
		foul := false
		for _, l := range c.looks {
			foul = w.see(l.at+10*second, arrival{l.packets - before.packets, l.early - before.early, l.stream - before.stream, l.stream, full}) || foul
			before = l
		}
		if foul != c.foul || w.bytes != c.bytes {
			t.Errorf("%s: foul %v with %d bytes in vain, want %v with %d", name, foul, w.bytes, c.foul, c.bytes)
		}
	}
}
