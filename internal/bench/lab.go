package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/testweb"
)

// lab runs crawls, keeps their folders apart and writes down what they gave.
type lab struct {
	sheet
	dir     string
	weir    string
	scale   float64
	runs    int           // of everything that takes seconds
	longest time.Duration // a large run may take, 0 for no bound
	n       int           // crawls so far
	seed    int           // of the first web of the suite called deadlines
	before  string        // the other build of the suite called builds

	// Of the suite called wire.
	only     string
	seeds    int
	parallel int
	drawings string
}

// scaled is a number of the full job at the scale of this one.
func (l *lab) scaled(n int) int { return max(1, int(float64(n)*l.scale)) }

func build(to string) error { return buildIn(".", to) }

// buildIn builds weir from the module in a folder.
func buildIn(dir, to string) error {
	cmd := exec.Command("go", "build", "-o", to, "./cmd/weir") // with -trimpath all is compiled a second time
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// report is what the last line of weir --json says; progress lines have some of
// its fields.
type report struct {
	Event     string
	Fetched   int64
	Queued    int64
	Parked    int64
	Bytes     int64
	WireBytes int64 `json:"wire_bytes"`
	Seconds   float64
	Promises  []promised
	// CommitMS is how long groups took to become durable in this run.
	CommitMS *struct{ P50, P99, Max float64 } `json:"commit_ms"`
}

// promised is how a deadline stood at the end.
type promised struct {
	Site     string
	Deadline time.Time
	Standing string
}

// known is how many URLs a crawl has met, of those that may be fetched.
func (r report) known() int64 { return r.Fetched + r.Queued + r.Parked }

// result is one crawl, measured from outside.
type result struct {
	report
	wall    time.Duration
	cpu     time.Duration
	rss     int64 // bytes, at most
	archive int64 // bytes
	audit   audit
}

func (r result) perThousand() float64 { return r.cpu.Seconds() / float64(r.Fetched) * 1000 }
func (r result) speed() float64       { return float64(r.Fetched) / r.wall.Seconds() }
func (r result) memory() float64      { return float64(r.rss) / 1e6 }
func (r result) ratio() float64       { return float64(r.Bytes) / float64(r.archive) }

// faults are pages that were fetched twice, against robots.txt, or not at all.
func (r result) faults() float64 {
	return float64(r.audit.Duplicates + r.audit.Forbidden + max(0, r.audit.Truth-r.audit.Pages))
}

// series are runs of the same crawl.
type series []result

// of picks one number of every run.
func (s series) of(pick func(result) float64) figures {
	f := make(figures, len(s))
	for i, r := range s {
		f[i] = pick(r)
	}
	return f
}

// command is weir that crawls a web from its seeds into dir.
func (l *lab) command(w *web, dir string, args ...string) *exec.Cmd {
	return command(l.weir, w, dir, args...)
}

// command is the same of any build of weir.
func command(weir string, w *web, dir string, args ...string) *exec.Cmd {
	all := append([]string{"crawl", "--dir", dir, "--seeds", w.seeds, "--dns", w.DNS, "--allow-private", "--json"}, args...)
	cmd := exec.Command(weir, all...)
	cmd.Env = os.Environ()
	if w.CA != "" {
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+w.CA)
	}
	cmd.Stderr = quiet{}
	return cmd
}

// quiet passes on what weir says to people, but for its warning about --wait 0s,
// which is what these servers are for.
type quiet struct{}

func (quiet) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("WARNING: --wait 0s")) {
		return len(b), nil
	}
	return os.Stderr.Write(b)
}

// crawl runs weir over a web to its end, as often as asked, each time over a web of its own.
func (l *lab) crawl(sites []testweb.Site, args ...string) (series, error) {
	l.say("weir crawl %s", strings.Join(args, " "))
	var s series
	for range max(1, l.runs) {
		r, err := l.once(sites, args)
		if err != nil {
			return nil, err
		}
		s = append(s, r)
		for _, p := range r.audit.Problems {
			l.say("  MANNERS: %s", p)
		}
		if r.audit.Pages != r.audit.Truth {
			l.say("  PAGES: %d fetched of %d", r.audit.Pages, r.audit.Truth)
		}
	}
	l.target("pages twice, forbidden or missing", s.of(result.faults), "", atMost(0))
	return s, nil
}

func (l *lab) once(sites []testweb.Site, args []string) (result, error) {
	w, err := l.serve(webConfig{Sites: sites})
	if err != nil {
		return result{}, err
	}
	l.n++
	dir := filepath.Join(l.dir, fmt.Sprintf("crawl%d", l.n))
	defer os.RemoveAll(dir)
	r, err := run(l.command(w, dir, args...))
	var ended error
	if r.audit, ended = w.close(); err == nil {
		err = ended
	}
	if err != nil {
		return r, err
	}
	if _, missing := os.Stat(filepath.Join(dir, "warc")); missing == nil {
		r.archive, err = folderSize(filepath.Join(dir, "warc"))
	}
	return r, err
}

// run runs weir to its end.
func run(cmd *exec.Cmd) (result, error) {
	var r result
	begin := time.Now()
	out, err := cmd.Output()
	r.wall = time.Since(begin)
	if err != nil {
		return r, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.rss = maxRSS(cmd.ProcessState)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r.report); err != nil {
		return r, fmt.Errorf("the report: %w", err)
	}
	return r, nil
}

// begin starts weir and leaves it running; its lines must be read.
func begin(cmd *exec.Cmd) (*bufio.Scanner, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return bufio.NewScanner(out), cmd.Start()
}

// kill ends weir as a crash would. It does no harm to one that has ended.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func folderSize(dir string) (int64, error) {
	var n int64
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return err
	})
	return n, err
}
