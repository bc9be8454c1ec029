package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/testweb"
)

// lab runs crawls and keeps their folders apart.
type lab struct {
	dir   string
	weir  string
	scale float64
	n     int
}

func build(to string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", to, "./cmd/weir")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// web is a testweb in a process of its own.
type web struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	Seeds []string
	DNS   string
	CA    string // file
}

// served is what the serving process says at its start and at its end.
type served struct {
	Seeds    []string
	DNS      string
	CA       string
	Problems []string `json:",omitempty"`
	Pages    int      `json:",omitempty"` // distinct, complete
	Truth    int      `json:",omitempty"`
	Requests int      `json:",omitempty"`

	Heard time.Time `json:",omitzero"` // the first request after a mark
}

// webConfig is what the other process serves.
type webConfig struct {
	Sites     []testweb.Site
	Addresses int
}

// serveWeb is the other process.
func serveWeb(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var cfg webConfig
	if err := json.Unmarshal(text, &cfg); err != nil {
		return err
	}
	var marked atomic.Bool
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	w, err := testweb.Start(testweb.Config{Seed: 1, Sites: cfg.Sites, Addresses: cfg.Addresses, Heard: func(string, string) {
		if marked.CompareAndSwap(true, false) {
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(served{Heard: time.Now()})
		}
	}})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := out.Encode(served{Seeds: w.Seeds(), DNS: w.DNS(), CA: string(w.CA())}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		marked.Store(true) // a line asks to be told of the next request
	}
	mu.Lock()
	defer mu.Unlock()
	report := w.Audit()
	end := served{Problems: report.Problems(testweb.Manners{}), Requests: report.Requests()}
	for _, h := range report.Hosts {
		end.Pages += h.Pages
	}
	for _, s := range cfg.Sites {
		end.Truth += s.Pages
	}
	return out.Encode(end)
}

func (l *lab) web(cfg webConfig) (*web, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(l.dir, "web.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, err
	}
	w := &web{cmd: exec.Command(self, "-serve", file)}
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.out = bufio.NewReader(out)
	var s served
	line, err := w.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("the web did not start: %w", err)
	}
	w.Seeds, w.DNS = s.Seeds, s.DNS
	if s.CA != "" {
		w.CA = filepath.Join(l.dir, "ca.pem")
		err = os.WriteFile(w.CA, []byte(s.CA), 0o644)
	}
	return w, err
}

// mark asks the web to tell of its next request; heard waits for that.
func (w *web) mark() error {
	_, err := io.WriteString(w.in, "mark\n")
	return err
}

func (w *web) heard() (time.Time, error) {
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return time.Time{}, err
	}
	var s served
	err = json.Unmarshal(line, &s)
	return s.Heard, err
}

// close ends the web and returns its judgement.
func (w *web) close() (served, error) {
	if err := w.in.Close(); err != nil {
		return served{}, err
	}
	var s served
	for {
		line, err := w.out.ReadBytes('\n')
		if err == io.EOF {
			return s, w.cmd.Wait()
		}
		if err != nil {
			return s, err
		}
		s = served{}
		if err := json.Unmarshal(line, &s); err != nil {
			return s, err
		}
	}
}

// result is one crawl, measured.
type result struct {
	wall    time.Duration
	cpu     time.Duration
	rss     int64 // bytes, at most
	fetched int64
	report  map[string]any
}

func (r result) perThousand() float64 { return r.cpu.Seconds() / float64(r.fetched) * 1000 }
func (r result) rate() float64        { return float64(r.fetched) / r.wall.Seconds() }

// crawl runs weir to its end.
func (l *lab) crawl(w *web, args ...string) (result, error) {
	l.n++
	dir := filepath.Join(l.dir, fmt.Sprintf("crawl%d", l.n))
	seeds := filepath.Join(l.dir, "seeds.txt")
	if err := os.WriteFile(seeds, []byte(strings.Join(w.Seeds, "\n")+"\n"), 0o644); err != nil {
		return result{}, err
	}
	fmt.Printf("weir crawl %s\n", strings.Join(args, " "))
	all := append([]string{"crawl", "--dir", dir, "--seeds", seeds, "--dns", w.DNS, "--allow-private", "--json"}, args...)
	cmd := exec.Command(l.weir, all...)
	cmd.Env = os.Environ()
	if w.CA != "" {
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+w.CA)
	}
	cmd.Stderr = os.Stderr
	begin := time.Now()
	out, err := cmd.Output()
	r := result{wall: time.Since(begin)}
	if err != nil {
		return r, fmt.Errorf("weir %s: %w", strings.Join(all, " "), err)
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.rss = maxRSS(cmd.ProcessState)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r.report); err != nil {
		return r, fmt.Errorf("the report: %w", err)
	}
	if n, ok := r.report["fetched"].(float64); ok {
		r.fetched = int64(n)
	}
	return r, os.RemoveAll(dir)
}

// target prints one number beside what it must reach.
func target(what string, got float64, unit, op string, want float64) {
	met := got <= want
	if op == ">=" {
		met = got >= want
	}
	verdict := "met"
	if !met {
		verdict = "NOT MET"
	}
	fmt.Printf("  %-44s %10.3f %-12s target %s %g: %s\n", what, got, unit, op, want, verdict)
}

func value(what string, got float64, unit string) {
	fmt.Printf("  %-44s %10.3f %s\n", what, got, unit)
}
