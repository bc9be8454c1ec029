package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/crawl"
	"weir/internal/node"
)

func running() node.Status {
	s := node.Status{Run: 100 * time.Second, Rate: 138e3, Pages: 17.25}
	s.Totals = crawl.Totals{Seen: 3000, Queued: 1766, Fetched: 1234, Bytes: 45_200_000}
	s.Totals.Outcomes[1] = 1234
	s.Sites, s.Active, s.Idle, s.Resting = 12, 4, 60, 8
	return s
}

// A person at a terminal sees a picture that is drawn over itself and leaves
// nothing behind.
func TestPicture(t *testing.T) {
	var shown bytes.Buffer
	p := &progress{cfg: &node.Config{MaxPages: 2468}, screen: screen{out: &shown, width: func() int { return 48 }}}
	status := running()
	status.Bound = node.Bound{Rate: 140_000, By: "limit", Part: 1}
	p.draw(status)
	want := `  time    1m40s, about 1m40s left
  pages   1,234 fetched, 17.2/s now, 0 errors
  bytes   45.2 MB, 138 KB/s now of 140 KB/s
  queue   1,766 pages, 12 sites, 0 parked
  hosts   4 connected, 60 connections idle, 8 h
`
	got := strings.NewReplacer("\r", "", "\x1b[K", "").Replace(shown.String())
	if got != want {
		t.Errorf("the picture is\n%s\nwant\n%s", got, want)
	}
	shown.Reset()
	p.draw(running())
	if !strings.HasPrefix(shown.String(), "\x1b[5A\r") {
		t.Errorf("the second picture is not drawn over the first: %q", shown.String())
	}
	shown.Reset()
	p.wipe()
	p.wipe()
	if shown.String() != "\x1b[5A\r\x1b[J" {
		t.Errorf("the picture is not taken away once: %q", shown.String())
	}
}

func TestProgressLine(t *testing.T) {
	var log bytes.Buffer
	p := &progress{cfg: &node.Config{}, screen: screen{out: &log}}
	p.line(running())
	if got, want := log.String(), "1m40s: 1,234 pages, 17.2/s, 45.2 MB, 138 KB/s, 1,766 queued, 4 connections, 0 errors\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Who wonders why so little comes is told.
func TestWhatBounds(t *testing.T) {
	today := time.Now()
	for want, b := range map[string]node.Bound{
		"":                     {},
		" of 140 KB/s":         {Rate: 140e3, By: "limit", Part: 1},
		" of 3.9 KB/s (quota)": {Rate: 3858, By: "quota", Part: 1},
		" of 500 KB/s (timetable until " + today.Format("15:04") + ")":                                   {Rate: 500e3, By: "timetable", Until: today, Part: 1},
		", paused until " + today.Format("15:04") + " (timetable)":                                       {Rate: bandwidth.Off, By: "timetable", Until: today},
		", paused until " + today.AddDate(0, 0, 20).Format("2006-01-02 15:04") + " (the quota is spent)": {Rate: bandwidth.Off, By: "quota", Until: today.AddDate(0, 0, 20)},
		" of 1.0 MB/s (yielding: 35% of it)":                                                             {Rate: 1e6, By: "limit", Yielding: true, Part: 0.35},
		" of 1.0 MB/s (not yielding: no probe is answered)":                                              {Rate: 1e6, By: "limit", Blind: true, Part: 1},
	} {
		if got := allowed(b); got != want {
			t.Errorf("%+v is %q, want %q", b, got, want)
		}
	}
}

func TestProgressJSON(t *testing.T) {
	var out bytes.Buffer
	p := &progress{cfg: &node.Config{MaxPages: 2468}, screen: screen{out: &out}}
	status := running()
	until := time.Date(2026, 11, 16, 18, 0, 0, 0, time.UTC)
	status.Bound = node.Bound{Rate: 500e3, By: "timetable", Until: until, Yielding: true, Part: 0.5, Yields: 3}
	p.json(status)
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"event": "progress", "fetched": 1234.0, "queued": 1766.0, "rate": 138e3, "active": 4.0, "seconds": 100.0, "eta": 100.0,
		"limit": 500e3, "limit_by": "timetable", "limit_until": "2026-11-16T18:00:00Z", "yielding": true, "yield_part": 0.5, "yields": 3.0} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

// Messages are told at once and in order, whatever is shown meanwhile, and a
// crawl that tells its status never waits for the screen.
func TestProgressSays(t *testing.T) {
	read, write := io.Pipe()
	p := &progress{cfg: &node.Config{}, screen: screen{out: io.Discard}, how: (*progress).line, says: make(chan string, 4), over: make(chan struct{})}
	tick := make(chan time.Time)
	p.done.Go(func() {
		p.run(tick, write)
		write.Close()
	})
	tick <- time.Time{} // nothing to show yet
	p.say("first")      // the writer stands still from here on
	for range 1000 {
		p.tell(running())
	}
	p.say("second")
	told := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(read)
		told <- b
	}()
	p.end()
	if got := string(<-told); got != "first\nsecond\n" {
		t.Errorf("told %q", got)
	}
}

func TestSummary(t *testing.T) {
	r := node.Report{
		Fetched: 5, Pages: 6, Queued: 2, Parked: 1, Seconds: 12, Bytes: 9000, WireBytes: 10_000, StoppedBy: crawl.StopPages, Resumed: true, RunPages: 3,
		Outcomes: map[string]int64{"ok": 4, "client-error": 1, "denied": 1}, Dir: "my crawl",
	}
	r.Bandwidth = node.Bandwidth{Limit: 140_000, Mean: 1000, Max1s: 2000, Aside: 3, Used: 5e9}
	r.Yields = 2
	var b bytes.Buffer
	if err := summary(&b, r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"stopped by --max-pages after 12s: 5 pages fetched, 3 of them in this run\n", "  ok            4  2xx", "  denied        1  robots.txt forbids it",
		"  queued        2  still", "  parked        1  ", "limit 140 KB/s; stepped aside for others 2 times, 3.0s in all; 5.0 GB of the quota used\n", "  weir crawl --dir 'my crawl'         goes on, with a larger --max-pages\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the summary does not say %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "warc") {
		t.Errorf("the summary speaks of an archive that is not kept:\n%s", b.String())
	}
}

// Who runs out of memory for ranking is told what can be done, and nothing else.
func TestRankHint(t *testing.T) {
	if got := rankHint(&node.TooLarge{Memory: 1_999_999}); got != "go on with --memory 2MB; a new crawl in another --dir with --order siteopic ranks nothing" {
		t.Error(got)
	}
	if got := rankHint(&node.TooLarge{}); strings.Contains(got, "--memory 1MB") || !strings.HasPrefix(got, "no --memory is enough") {
		t.Error(got)
	}
}

// A crawl whose hosts all rest for long says so, and who wants it.
func TestProgressTellsOfRests(t *testing.T) {
	s := running()
	s.Rest, s.Pause = crawl.Rest{Host: "a.test", Asked: 24 * time.Hour}, 23*time.Hour+59*time.Minute
	const want = "all hosts rest, the next visit is to a.test in 23h59m; the program has it rest 24h00m between visits"
	var log bytes.Buffer
	p := &progress{cfg: &node.Config{}, screen: screen{out: &log}}
	if p.line(s); !strings.HasSuffix(log.String(), ", "+want+"\n") {
		t.Errorf("the line is %q", log.String())
	}
	if got := strings.Join(p.picture(s), "\n"); !strings.Contains(got, "\n  rest    "+want) {
		t.Errorf("the picture is\n%s", got)
	}
	if s.Pause = 30 * time.Second; resting(s) != "" {
		t.Errorf("a short rest: %s", resting(s))
	}
}
