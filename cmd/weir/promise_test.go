package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/node"
	"weir/internal/testweb"
)

// A crawl of three sites with deadlines among others, all behind one link, says
// what it promises, tells it to who asks, keeps it although it is killed midway, and
// can be played again. Sizes are told twice too large, twice too small, and not at
// all. Deadlines are several times what the crawl takes: whether tight ones are kept
// is for sim and make bench-deadlines to show.
func TestPromisesSurvive(t *testing.T) {
	t.Parallel()
	sites := testweb.Even(6, testweb.Site{Pages: 90, Links: 8, Size: 6000, Latency: 10 * time.Millisecond})
	for i := range sites[3:] {
		sites[3+i].Pages = 150
	}
	sites[1].Rate, sites[1].Slows = 200_000, testweb.Slows{After: 45, Factor: 1.0 / 3}
	web, err := testweb.Start(testweb.Config{Seed: 1, Sites: sites})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	temp := t.TempDir()
	dir, trace, config, seeds := filepath.Join(temp, "c"), filepath.Join(temp, "trace"), filepath.Join(temp, "config.yaml"), filepath.Join(temp, "seeds")
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const wait = 50 * time.Millisecond
	write(seeds, strings.Join(web.Seeds(), "\n"))
	write(config, fmt.Sprintf(`
limit: 300KB/s
wait: %v
dns: %s
allow-private: true
sites:
- {site: s0000.test, deadline: 2m, size: 1080KB}
- {site: s0001.test, deadline: 3m, size: 270KB}
`, wait, web.DNS()))

	first := begin(t, "crawl", "--dir", dir, "--seeds", seeds, "--config", config, "--deadline", "s0002.test=4m", "--trace", trace, "--json")
	var due []time.Time
	for first.next(t) {
		due = due[:0]
		for _, p := range first.said.Promises {
			if p.Standing == crawl.Held {
				due = append(due, p.Deadline)
			}
		}
		if len(due) == 3 {
			break
		}
	}
	if len(due) != 3 {
		t.Fatalf("the crawl ended, and this was promised: %+v", first.said.Promises)
	}
	told, err := exec.Command("weir", "steer", "--dir", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if line := fmt.Sprintf(`(?m)^  s000%d\.test +promised, risk [a-z]+, done about .*, [0-9]+ of [0-9]+ pages, due `, i); !regexp.MustCompile(line).Match(told) {
			t.Errorf("weir steer says nothing like %s:\n%s", line, told)
		}
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait() // it was killed

	second := begin(t, "crawl", "--dir", dir, "--trace", trace, "--json")
	for second.next(t) {
		for _, p := range second.said.Promises {
			if !slices.Contains([]crawl.Standing{"wished", crawl.Held, crawl.Kept}, p.Standing) {
				t.Errorf("%s was promised before the crash, and is %s: %s", p.Site, p.Standing, p.Why)
			}
		}
	}
	if err := second.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report node.Report
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Promises) != 3 || !report.Resumed || report.StoppedBy != crawl.StopDone {
		t.Fatalf("the report says %s", text)
	}
	audit := web.Audit()
	for i, p := range report.Promises {
		if p.Standing != crawl.Kept || !p.Deadline.Equal(due[i]) {
			t.Errorf("%s was due at %v and is %s, due at %v: %s", p.Site, due[i], p.Standing, p.Deadline, p.Why)
		}
		if h := audit.Host(p.Site); h.Pages != web.Site(i).Pages || h.Latest.After(p.Deadline) {
			t.Errorf("%s gave out %d pages, the last at %v; it has %d, due at %v", p.Site, h.Pages, h.Latest, web.Site(i).Pages, p.Deadline)
		}
	}
	twice := 0 // what was under way when it was killed
	for _, h := range audit.Hosts {
		twice += h.Duplicates
	}
	for _, p := range audit.Problems(testweb.Manners{Wait: wait, PerConn: 1, Duplicates: twice}) {
		t.Error(p)
	}
	played, err := exec.Command("weir", "sim", "replay", trace).CombinedOutput()
	if err != nil || !strings.Contains(string(played), "byte for byte the same") {
		t.Errorf("the trace does not replay: %v\n%s", err, played)
	}
}

// child is a weir in a process of its own that tells of its progress in JSON.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	said  struct{ Promises []node.Promise } // in the last line
}

func begin(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command("weir", args...)}
	c.cmd.Stderr = t.Output()
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // does no harm to one that has ended
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 1<<20)
	return c
}

// next reads a line of progress; it says false at the end.
func (c *child) next(t *testing.T) bool {
	t.Helper()
	if !c.lines.Scan() {
		return false
	}
	c.said.Promises = nil
	if err := json.Unmarshal(c.lines.Bytes(), &c.said); err != nil {
		t.Fatalf("%s: %v", c.lines.Bytes(), err)
	}
	return true
}
