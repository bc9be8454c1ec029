package node

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/bandwidth"
	"weir/crawl"
	"weir/internal/testweb"
)

func words(limit, timetable, quota string) (s Steering) {
	for _, w := range []struct {
		text string
		to   **string
	}{{limit, &s.Limit}, {timetable, &s.Timetable}, {quota, &s.Quota}} {
		if w.text != "" {
			*w.to = &w.text
		}
	}
	return s
}

// running starts a crawl that does not end by itself, and returns when it can be
// steered, with a channel of its progress. At the end of the test it is cut off.
func running(t *testing.T, cfg Config) (*node, <-chan struct{}) {
	t.Helper()
	n, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, first := make(chan error, 1), make(chan struct{}, 1)
	n.cfg.Progress = func(Status) {
		select {
		case first <- struct{}{}:
		default:
		}
	}
	go func() {
		_, err := n.close(n.run(ctx, nil))
		ended <- err
	}()
	t.Cleanup(func() {
		cancel() // what is under way at a low limit takes long
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Join(cfg.Dir, socketName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	<-first
	return n, first
}

// long is a web that a slow crawl does not get through.
func long(t *testing.T) *testweb.Web {
	return start(t, testweb.Config{Seed: 9, Sites: testweb.Even(8, testweb.Site{Pages: 4000, Links: 6, Size: 20_000})})
}

func steered(t *testing.T, dir string, change Steering) Held {
	t.Helper()
	h, err := Steer(context.Background(), dir, change)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A limit that is changed to a hundredth holds from the next step on: for the
// Engine, for the wire, and for who asks.
func TestSteer(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Wait = time.Millisecond
	cfg.Bandwidth.Limits.Rate = 2e6
	n, progress := running(t, cfg)
	if h := steered(t, cfg.Dir, Steering{}); h.Limit != "2MB/s" || h.Now != 2e6 || h.By != "limit" || h.Timetable != "none" || h.Quota != "none" {
		t.Errorf("at first %+v", h)
	}
	h := steered(t, cfg.Dir, words("20KB/s", "", ""))
	if h.Limit != "20KB/s" || h.Now != 20e3 || h.By != "limit" {
		t.Errorf("after the change %+v", h)
	}
	if got := n.wire.State().Limit; got != 20e3 {
		t.Errorf("the wire holds %v", got)
	}
	// What comes in the seconds after is near the new limit, and far from the old.
	bytes, began := n.wire.State().Bytes, time.Now()
	for time.Since(began) < 2*time.Second {
		<-progress
	}
	rate := float64(n.wire.State().Bytes-bytes) / time.Since(began).Seconds()
	if n.wire.Exact() && rate > 200e3 {
		t.Errorf("%.0f bytes a second under a limit of 20000", rate)
	}

	h = steered(t, cfg.Dir, words("", "off", "1GB/hour"))
	if h.Now != -1 || h.By != "timetable" || h.Quota != "1GB/hour" || h.Limit != "20KB/s" || h.Text != "paused (timetable)" {
		t.Errorf("paused: %+v", h)
	}
	if got := n.wire.State().Limit; got != 0 {
		t.Errorf("the wire lets %v through", got)
	}
	h = steered(t, cfg.Dir, words("none", "none", "none"))
	if h.Now != 0 || h.By != "" || h.Limit != "none" {
		t.Errorf("without limits %+v", h)
	}
}

// What is wrong changes nothing and is named as for flags.
func TestSteerRefuses(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Wait = time.Millisecond
	cfg.Bandwidth.Limits.Rate = 100e3
	running(t, cfg)
	for _, c := range []struct {
		change Steering
		want   string
	}{
		{words("10", "", ""), "write 10KB/s"},
		{words("0", "", ""), "not more than 0"},
		{words("200KB/s", "Mon 1MB/s", ""), "no rate for all other times"},
		{words("200KB/s", "", "1TB"), "per hour, day, week or month"},
	} {
		_, err := Steer(context.Background(), cfg.Dir, c.change)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
	if h := steered(t, cfg.Dir, Steering{}); h.Limit != "100KB/s" || h.Now != 100e3 {
		t.Errorf("now %+v", h)
	}
	// Strangers' bytes are refused too.
	for _, body := range []string{"", "{", `{"limits":"1KB/s"}`, `{"limit":5}`, `{"limit":"` + strings.Repeat("1", 1<<17) + `"}`} {
		conn, err := net.Dial("unix", filepath.Join(cfg.Dir, socketName))
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}}
		resp, err := client.Post("http://weir/limits", "application/json", strings.NewReader(body))
		if err != nil {
			continue // cut off while it still spoke
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%.20q: status %d", body, resp.StatusCode)
		}
	}
}

// A crawl that began without a limit takes one.
func TestSteerFromNoLimit(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Wait = time.Millisecond
	n, _ := running(t, cfg)
	if h := steered(t, cfg.Dir, words("none", "", "")); h.Now != 0 || h.Limit != "none" {
		t.Errorf("at first %+v", h)
	}
	h := steered(t, cfg.Dir, words("50KB/s", "", ""))
	if h.Now != 50e3 || h.By != "limit" {
		t.Errorf("then %+v", h)
	}
	if h = steered(t, cfg.Dir, Steering{}); h.Now != 50e3 || h.Late != 0 {
		t.Errorf("and after %+v", h)
	}
	if n.client.Load() == n.before || n.before == nil {
		t.Error("connections are still made without a cap")
	}
}

func TestSteerNobody(t *testing.T) {
	dir := t.TempDir()
	if _, err := Steer(context.Background(), dir, Steering{}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("empty folder: %v", err)
	}
	stale(t, filepath.Join(dir, socketName))
	if _, err := Steer(context.Background(), dir, words("1MB/s", "", "")); !errors.Is(err, ErrNotRunning) {
		t.Errorf("socket of a run that was killed: %v", err)
	}
}

// stale leaves a socket behind as a killed run does.
func stale(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
}

// A folder whose name is too long for a socket, and a socket that a killed run
// left, both in the folder and elsewhere.
func TestSocket(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	short, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	for _, dir := range []string{short, deep} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, socketName)
		if dir == short {
			stale(t, file)
		}
		ctx, cancel := context.WithCancel(context.Background())
		n := &node{cfg: Config{Dir: dir}, asks: make(chan ask)}
		first, err := n.serveControl(ctx)
		if err != nil {
			t.Fatal(err)
		}
		left, elsewhere := socketPath(file)
		if elsewhere != (dir == deep) {
			t.Errorf("%s: the socket is %s", dir, left)
		}
		if st, err := os.Lstat(left); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the socket is %v, %v", st.Mode(), err)
		}
		go func() { (<-n.asks).reply <- Held{Limit: "1KB/s"} }()
		if h := steered(t, dir, Steering{}); h.Limit != "1KB/s" {
			t.Errorf("%s says %+v", dir, h)
		}
		// A second one finds what the first left when it was killed.
		second, err := n.serveControl(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(left); elsewhere && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there", left)
		}
		cancel()
		first.http.Close()
		first.work.Wait()
		second.close()
		for _, path := range []string{file, left} {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there", path)
			}
		}
	}
}

// A file in the folder leads to no socket but one that a crawl of this user put
// where crawls put them.
func TestSocketOfAnother(t *testing.T) {
	elsewhere, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(elsewhere)
	nested := filepath.Join(elsewhere, "weir-1")
	if err := os.Mkdir(nested, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(elsewhere, "some.sock"), filepath.Join(elsewhere, socketName), filepath.Join(nested, socketName)} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		server := http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s was spoken to", path) })}
		served := make(chan error)
		go func() { served <- server.Serve(l) }()
		for name, lead := range map[string]func(file string) error{
			"file": func(file string) error { return os.WriteFile(file, []byte(path), 0o600) },
			"link": func(file string) error { return os.Symlink(path, file) },
		} {
			dir := t.TempDir()
			file := filepath.Join(dir, socketName)
			if err := lead(file); err != nil {
				t.Fatal(err)
			}
			if _, err := Steer(context.Background(), dir, Steering{}); !errors.Is(err, ErrNotRunning) {
				t.Errorf("%s to %s: %v", name, path, err)
			}
			removeSocket(file)
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("%s to %s: %v", name, path, err)
			}
			if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the %s is still there: %v", name, err)
			}
		}
		server.Close()
		<-served
	}
}

// Of several limits the lowest holds, and says until when.
func TestBounded(t *testing.T) {
	table, err := bandwidth.ParseTimetable("Mon 08:00-18:00 500KB/s, Tue off, 2MB/s")
	if err != nil {
		t.Fatal(err)
	}
	quota, err := bandwidth.ParseQuota("1GB/day")
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour int) time.Time { return time.Date(2026, 11, 15+day, hour, 0, 0, 0, time.UTC) } // day 1 is a Monday
	for _, c := range []struct {
		name   string
		limits crawl.Limits
		at     time.Time
		used   int64
		rate   int64
		by     string
		until  time.Time
	}{
		{"nothing", crawl.Limits{}, at(1, 9), 0, bandwidth.Unlimited, "", time.Time{}},
		{"none in so many words", crawl.Limits{Rate: bandwidth.Unlimited}, at(1, 9), 0, bandwidth.Unlimited, "", time.Time{}},
		{"a limit", crawl.Limits{Rate: 1e6}, at(1, 9), 0, 1e6, "limit", time.Time{}},
		{"a lower timetable", crawl.Limits{Rate: 1e6, Timetable: table}, at(1, 9), 0, 500e3, "timetable", at(1, 18)},
		{"a higher one", crawl.Limits{Rate: 1e6, Timetable: table}, at(1, 19), 0, 1e6, "limit", time.Time{}},
		{"a pause", crawl.Limits{Rate: 1e6, Timetable: table}, at(2, 9), 0, bandwidth.Off, "timetable", at(3, 0)},
		{"a quota", crawl.Limits{Rate: 1e6, Quota: quota}, at(4, 0), 0, 11562, "quota", time.Time{}},
		{"a quota that is spent", crawl.Limits{Rate: 1e6, Quota: quota}, at(4, 5), 1e9, bandwidth.Off, "quota", at(5, 0)},
	} {
		b := bounded(c.limits, c.at, c.used)
		if b.Rate != c.rate || b.By != c.by || !b.Until.Equal(c.until) {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
}

// Who stops a crawl that is paused does not wait for the pause to end; what was
// under way is fetched by the next run.
func TestStopWhilePaused(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 4, Sites: testweb.Even(4, testweb.Site{Pages: 5, Links: 4, Size: 200_000})})
	cfg := config(t, web)
	cfg.Bandwidth.Limits.Rate = 100e3
	stop, asked := make(chan struct{}), false
	first := cfg
	ctx := context.Background()
	steering := make(chan error, 1)
	first.Progress = func(s Status) {
		if s.Active > 0 && !asked {
			asked = true
			go func() {
				_, err := Steer(ctx, cfg.Dir, words("", "off", ""))
				steering <- err
				close(stop)
			}()
		}
	}
	report, err := Run(ctx, stop, first)
	if err != nil || report.StoppedBy != crawl.StopByUser {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := <-steering; err != nil {
		t.Fatal(err)
	}
	if report.Bandwidth.Limit != -1 {
		t.Errorf("the report says a limit of %d, want a pause", report.Bandwidth.Limit)
	}
	cfg.Bandwidth.Limits = crawl.Limits{}
	if report := run(t, cfg); report.StoppedBy != crawl.StopDone || report.Queued != 0 {
		t.Errorf("%+v", report)
	}
}

// What a run used of its quota is known to the next one, also when it could not
// wait for the end, and when that one has no quota at first.
func TestQuotaOutlivesACut(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Wait = time.Millisecond
	quota, err := bandwidth.ParseQuota("1TB/month")
	if err != nil {
		t.Fatal(err)
	}
	first := cfg
	first.Bandwidth.Limits = crawl.Limits{Rate: 300e3, Quota: quota}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first.Progress = func(s Status) {
		if s.Link.Used > 20e3 {
			cancel()
		}
	}
	report, err := Run(ctx, nil, first)
	if err != nil || report.StoppedBy != crawl.StopByUser || report.Bandwidth.Used <= 20e3 {
		t.Fatalf("%+v, %v", report, err)
	}
	running(t, cfg)
	if h := steered(t, cfg.Dir, words("100KB/s", "", "1TB/month")); h.Used < report.Bandwidth.Used {
		t.Errorf("%d bytes used, the run before used %d", h.Used, report.Bandwidth.Used)
	}
}

// A first limit that cannot be held leaves the crawl as it was.
func TestCapFails(t *testing.T) {
	n := &node{}
	n.cfg.Fetch.DNS = "no address"
	if err := n.cap(context.Background(), nil); err == nil || n.wire != nil || n.cfg.Fetch.Wire != nil {
		t.Errorf("error %v, wire %v", err, n.wire)
	}
}
