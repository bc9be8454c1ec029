package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/crawl"
	"weir/internal/node"
	"weir/page"
	"weir/sim/web"
)

// played runs weir sim run --json and reads what it says.
func played(t *testing.T, args ...string) findingJSON {
	t.Helper()
	var f findingJSON
	if err := json.Unmarshal([]byte(must(t, append([]string{"sim", "run", "--json"}, args...)...)), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// The engine that crawled is the one that is simulated: the trace of a live
// crawl plays again, order by order; and a crawl of the web recorded from it
// fetches the same pages and the same bytes, to the last one, in any order.
func TestLiveCrawlAndItsSimulationAgree(t *testing.T) {
	live := smallWeb(t)
	folder := t.TempDir()
	trace, file := filepath.Join(folder, "trace"), filepath.Join(folder, "small.weirweb")
	dir := crawlWeb(t, live, func(cfg *node.Config) { cfg.Trace = trace })
	if got := must(t, "sim", "replay", trace); !strings.Contains(got, "byte for byte the same") {
		t.Errorf("the replay says %q", got)
	}

	must(t, "sim", "record", "--dir", dir, "-o", file)
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	var asked int64
	var bytes float64
	err = scanPages(f, func(o page.Outcome, n int64) {
		if o.Row().Pause != page.NoPause {
			asked++
			bytes += float64(n)
		}
	})
	if err != nil || asked < 20 {
		t.Fatalf("%d pages were asked for: %v", asked, err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(folder, "cut.weirweb")
	if err := os.WriteFile(cut, whole[:len(whole)-20], 0o666); err != nil {
		t.Fatal(err)
	}
	if got := weir(t, "", "sim", "run", "--web", cut); got.code != exitFailed || !strings.Contains(got.err, "unexpected EOF") {
		t.Errorf("a web that was cut off: exit %d\n%s", got.code, got.err)
	}
	for _, order := range []string{"length", "depth"} {
		got := played(t, "--web", file, "--order", order, "--wait", "0s")
		if got.Pages != asked || got.Bytes != bytes || got.Stopped != "done" {
			t.Errorf("%s: the simulation fetches %d pages, %.0f bytes (%s), the crawl %d and %.0f", order, got.Pages, got.Bytes, got.Stopped, asked, bytes)
		}
	}
}

// A simulation says the same every time, and its trace plays again.
func TestSimulationIsRepeated(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	small := []string{"--scale", "0.001", "--conns", "8"}
	first := played(t, small...)
	second := played(t, append(small, "--trace", trace)...)
	if first.Trace != second.Trace || first.Virtual != second.Virtual || first.Pages != 3500 {
		t.Errorf("%s after %v s, then %s after %v s, %d pages", first.Trace, first.Virtual, second.Trace, second.Virtual, first.Pages)
	}
	if other := played(t, append(small, "--seed", "2")...); other.Trace == first.Trace {
		t.Error("another web has the same trace")
	}
	must(t, "sim", "replay", trace)
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(cut, b[:len(b)-5], 0o666); err != nil {
		t.Fatal(err)
	}
	if got := weir(t, "", "sim", "replay", cut); got.code != exitDone || !strings.Contains(got.err, "was cut off") {
		t.Errorf("a trace that was cut off: exit %d\n%s%s", got.code, got.out, got.err)
	}
	changed := filepath.Join(t.TempDir(), "changed")
	text := strings.Replace(string(b), `"orders":1,`, `"orders":2,`, 1)
	if err := os.WriteFile(changed, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := weir(t, "", "sim", "replay", changed); got.code != exitFailed || !strings.Contains(got.err, "the orders differ") || !strings.Contains(got.out, "then they differ") {
		t.Errorf("a changed trace: exit %d\n%s%s", got.code, got.out, got.err)
	}
}

func scanPages(f *folder, fn func(page.Outcome, int64)) error {
	return f.Pages(func(p *crawl.PageInfo) bool {
		fn(p.Outcome, p.Bytes)
		return true
	})
}

// A straight line through the times of a site's pages keeps their sum, and makes
// a server that can be.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pace
		sum, bytes := 0.0, 0.0
		for range rapid.IntRange(1, 20).Draw(t, "pages") {
			b, s := float64(rapid.IntRange(0, 1e6).Draw(t, "bytes")), rapid.Float64Range(2e-3, 100).Draw(t, "seconds") // slower than maxSpeed
			p.add(b, s)
			sum, bytes = sum+s, bytes+b
		}
		latency, speed := p.fit()
		if !(latency >= 0) || !(speed > 0) || math.IsInf(speed, 0) {
			t.Fatalf("latency %v, speed %v", latency, speed)
		}
		if got := latency*p.n + bytes/speed; math.Abs(got-sum) > 1e-6*sum {
			t.Fatalf("%v s, want %v", got, sum)
		}
	})
}

// What was recorded passes for a web, however a server behaved: links and the way
// a page came by are told once, and nothing is slower than a web may be.
func TestRecordedWebsAreSound(t *testing.T) {
	r := recorder{
		web: web.Web{
			Sites: []web.Site{{Name: "http://a.test"}}, First: []uint32{0, 3}, SiteOf: []uint32{0, 0, 0}, Size: []uint32{1, 1, 1},
			End: []uint8{uint8(page.OK), uint8(page.OK), uint8(page.OK)}, Path: []string{"/", "/1", "/2"},
		},
		page: map[page.Key]uint32{{Site: 1, Hash: 1}: 0, {Site: 1, Hash: 2}: 1, {Site: 1, Hash: 3}: 2},
		more: [][]uint32{{1}, {}, {0, 1}}, met: make([]uint32, 3), pace: make([]pace, 1),
	}
	r.pace[0].add(1, 1e9)
	r.pace[0].add(1e9, 4e15)
	home := page.Key{Site: 1, Hash: 1}
	r.roots([]parent{{seed: true}, {key: home}, {key: home}})
	r.finish(map[string]float64{"http://a.test": 1e12})
	if err := r.web.Check(); err != nil {
		t.Error(err)
	}
	if got := r.web.Out(0); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("the home page links to %v", got)
	}
}

// The command that plays a recorded crawl has all that decides about its order.
func TestFlagsOfARecordedCrawl(t *testing.T) {
	s := defaults()
	s.Order, s.Batch, s.StopGain = "siterank", 70, 0.25
	if got := s.simFlags(500); !strings.Contains(got, " --order siterank ") || !strings.Contains(got, " --batch 70 --stop-gain 0.25") {
		t.Error(got)
	}
	if got := s.simFlags(50); !strings.Contains(got, " --batch 50 ") {
		t.Errorf("a batch larger than the web would be refused: %s", got)
	}
	if got := quoted("it's mine.weirweb"); got != `'it'\''s mine.weirweb'` {
		t.Error(got)
	}
}

// A crawl whose archive is damaged makes no web, and the person hears where to
// look.
func TestRecordOfADamagedArchive(t *testing.T) {
	dir := crawlWeb(t, smallWeb(t), nil)
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no archive: %v", err)
	}
	for _, name := range files {
		if err := os.Truncate(name, 100); err != nil {
			t.Fatal(err)
		}
	}
	got := weir(t, "", "sim", "record", "--dir", dir, "-o", filepath.Join(t.TempDir(), "a.weirweb"))
	if got.code != exitFailed || !strings.Contains(got.err, "hint: the links are read from the archive") {
		t.Errorf("exit %d\n%s", got.code, got.err)
	}
}

// Times read the same in both forms, and rounding makes no more than there is.
func TestNumbersOfAFinding(t *testing.T) {
	for seconds, want := range map[float64]string{9.94: "9.9s", 23.7: "24s", 59.8: "1m00s", 8349.6: "2h19m"} {
		if got := clock(seconds); got != want {
			t.Errorf("%v s is %s, want %s", seconds, got, want)
		}
	}
	if within(1.0000004, 1) != 1 || within(1.1, 1) != 1.1 || within(0.9, 1) != 0.9 {
		t.Error("only what rounding puts on top may be taken off")
	}
}

// A summary fits the terminal, and loses no word.
func TestSummaryFolds(t *testing.T) {
	text := "time      2h44m (9,896 s), 2.50 of T*, the 1h06m that the line needs for the bytes; ended by max-time\n\nrank at        –   1h02m\n"
	got := folded(text, 40, 10)
	for line := range strings.Lines(got) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 40 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
	if a, b := strings.Fields(got), strings.Fields(text); !slices.Equal(a, b) {
		t.Errorf("%q has become %q", b, a)
	}
	if folded(text, 0, 10) != text || folded(text, 200, 10) != text {
		t.Error("a line that fits is broken")
	}
}

// Trials are named by that in which they differ.
func TestTrials(t *testing.T) {
	f := labFlags{
		Web: []string{"chile"}, Scale: []float64{0.01}, Seed: []uint64{1}, Order: []string{"length", "depth", "length"},
		Conns: []whole{1, 64}, PerConn: []series{{most: 1}}, Line: []rate{2000, 0}, MaxTime: -1,
	}
	all, err := f.trials()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 8 || all[0].name != "length r=1 B=2KB/s" || all[7].name != "depth r=64 B=none" {
		t.Errorf("%d trials, from %q to %q", len(all), all[0].name, all[len(all)-1].name)
	}
	if n := need(3_500_000, 35_000_000, 1); n > 1e9 {
		t.Errorf("the whole web of Chile is said to take %s", bytesOf(float64(n)))
	}
	if _, err := (origin{name: "chile", scale: 1, seed: 1}).open(100e6); err == nil || !strings.Contains(err.Error(), "of memory") {
		t.Errorf("a web larger than memory: %v", err)
	}
	if _, err := (origin{name: "chile", scale: 1e-6, seed: 1}).open(1e9); err != nil && !strings.Contains(err.Error(), web.ErrEmpty.Error()) {
		t.Errorf("a tiny web: %v", err)
	}
}
