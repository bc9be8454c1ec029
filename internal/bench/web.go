package main

import (
	"bufio"
	"encoding/json"
	"errors"
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

// webConfig is what the other process serves.
type webConfig struct {
	Sites     []testweb.Site
	Addresses int
	Port      int           // 0: a free one
	Wait      time.Duration // that visitors owe every host
	Each      bool          // the audit tells of each host
}

// said is what the serving process says: where it is at its start, when it heard
// a request after a mark, and how it was visited at its end.
type said struct {
	Seeds []string `json:",omitempty"`
	DNS   string   `json:",omitempty"`
	CA    string   `json:",omitempty"`

	Heard time.Time `json:",omitzero"`

	Audit *audit `json:",omitempty"`
}

// audit is how a web was visited.
type audit struct {
	Problems   []string
	Pages      int // distinct and complete
	Truth      int // there were to fetch
	Requests   int
	Duplicates int
	Forbidden  int
	Hosts      []testweb.Host // if each was asked for
}

// host is the account of one host, zero when it was not visited.
func (a audit) host(name string) testweb.Host {
	return testweb.Report{Hosts: a.Hosts}.Host(name)
}

// serveWeb is the other process. A line on standard input asks to be told of the
// next request; the end of it asks for the audit.
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
	w, err := testweb.Start(testweb.Config{Seed: 1, Sites: cfg.Sites, Addresses: cfg.Addresses, Port: cfg.Port, Heard: func(string, string) {
		if marked.CompareAndSwap(true, false) {
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(said{Heard: time.Now()})
		}
	}})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := out.Encode(said{Seeds: w.Seeds(), DNS: w.DNS(), CA: string(w.CA())}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		marked.Store(true)
	}
	mu.Lock()
	defer mu.Unlock()
	report := w.Audit()
	a := &audit{Problems: report.Problems(testweb.Manners{Wait: cfg.Wait}), Requests: report.Requests()}
	if cfg.Each {
		a.Hosts = report.Hosts
	}
	for _, h := range report.Hosts {
		a.Pages += h.Pages
		a.Duplicates += h.Duplicates
		a.Forbidden += h.Forbidden
	}
	for _, s := range cfg.Sites {
		a.Truth += s.Pages
	}
	return out.Encode(said{Audit: a})
}

// web is a testweb in a process of its own. One goroutine at a time uses it.
type web struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   chan said // closed at the end of the process's output
	seeds string    // file
	URLs  []string  // of the seeds
	DNS   string
	CA    string // file, "" when no site speaks TLS
}

// serve starts a web.
func (l *lab) serve(cfg webConfig) (*web, error) {
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
	w := &web{cmd: exec.Command(self, "-serve", file), out: make(chan said, 4), seeds: filepath.Join(l.dir, "seeds.txt")}
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
	go func() {
		defer close(w.out)
		for lines := json.NewDecoder(out); ; {
			var s said
			if lines.Decode(&s) != nil {
				return
			}
			w.out <- s
		}
	}()
	first, ok := <-w.out
	if !ok {
		return nil, fmt.Errorf("the web did not start: %w", w.cmd.Wait())
	}
	w.URLs, w.DNS = first.Seeds, first.DNS
	err = os.WriteFile(w.seeds, []byte(strings.Join(w.URLs, "\n")+"\n"), 0o644)
	if first.CA != "" && err == nil {
		w.CA = filepath.Join(l.dir, "ca.pem")
		err = os.WriteFile(w.CA, []byte(first.CA), 0o644)
	}
	return w, err
}

// mark asks the web to tell of its next request; heard waits for that.
func (w *web) mark() error {
	_, err := io.WriteString(w.in, "mark\n")
	return err
}

func (w *web) heard() (time.Time, error) {
	select {
	case s, ok := <-w.out:
		if ok && !s.Heard.IsZero() {
			return s.Heard, nil
		}
		return time.Time{}, errors.New("the web ended")
	case <-time.After(time.Minute):
		return time.Time{}, errors.New("no request came within a minute")
	}
}

// close ends the web and returns how it was visited.
func (w *web) close() (audit, error) {
	if err := w.in.Close(); err != nil {
		return audit{}, err
	}
	var a *audit
	for s := range w.out {
		a = s.Audit
	}
	err := w.cmd.Wait()
	if err == nil && a == nil {
		err = errors.New("the web ended without an audit")
	}
	if err != nil {
		return audit{}, err
	}
	return *a, nil
}
