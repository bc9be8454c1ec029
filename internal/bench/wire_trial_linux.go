package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"weir/internal/wirelab"
)

// trial is one program in one laboratory, for a time.
type trial struct {
	web    wirelab.Web
	link   wirelab.Link
	tls    bool
	limit  float64 // bytes a second, what is judged
	conns  int     // that the program may have open
	length time.Duration
	argv   []string // {seeds}, {list}, {curl}, {dns}, {probe}, {ca} and {dir} stand for files and addresses
	dir    string   // for the program's files; made if it is missing
	// Beside runs while the program does, and may end the trial early.
	beside func(ctx context.Context, l *wirelab.Lab) error
	say    bool // pass on what the program says
}

// trace is what was seen of a trial.
type trace struct {
	web      wirelab.Web
	begin    time.Duration // of the program
	end      time.Duration // of what is judged
	received []float64     // bytes in every tenth of a second from begin to end, by the log of packets
	due      []float64     // the same by when the packets should have come
	counted  []float64     // by the interface's counters
	sent     []float64
	requests []wirelab.Request
	flows    []wirelab.Flow
	dropped  int64
	late     wirelab.Late
	cpu      time.Duration
	wall     time.Duration
	output   string
}

// run runs the trial to its end, or to the program's.
func (t trial) run() (trace, error) {
	r := trace{web: t.web}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return r, err
	}
	l, err := wirelab.Start(wirelab.Config{Web: t.web, Link: t.link, Seed: 1})
	if err != nil {
		return r, err
	}
	cmd, err := t.command(l)
	if err == nil {
		err = t.watch(l, cmd, &r)
	}
	r.requests, r.flows, r.dropped, r.late = l.Requests(), l.Flows(), l.Dropped(), l.Late()
	r.end = r.begin + r.wall
	if left(t.web, r.requests) < t.conns {
		r.end = min(r.end, wirelab.Exhausted(t.web, r.requests, r.flows, t.conns))
	}
	packets := l.Received()
	r.received, r.due = wirelab.Bin(packets, r.begin, r.end), wirelab.BinDue(packets, r.begin, r.end)
	r.sent = wirelab.Bin(l.Sent(), r.begin, r.end)
	r.counted = wirelab.BinSamples(l.Counters(), r.begin, r.end)
	if closed := l.Close(); err == nil {
		err = closed
	}
	if err == nil && len(r.requests) == 0 {
		err = fmt.Errorf("%s asked for nothing:\n%s", t.argv[0], r.output)
	}
	return r, err
}

// left is how many pages nobody asked for.
func left(w wirelab.Web, requests []wirelab.Request) int {
	seen := make([]bool, len(w.Pages))
	n := len(w.Pages)
	for _, r := range requests {
		if r.Page >= 0 && !seen[r.Page] {
			seen[r.Page] = true
			n--
		}
	}
	return n
}

// command writes the files that the program is given and puts their names into
// its arguments.
func (t trial) command(l *wirelab.Lab) (*exec.Cmd, error) {
	scheme := "http"
	if t.tls {
		scheme = "https"
	}
	var seeds, list, config bytes.Buffer
	if err := t.web.WriteSeeds(&seeds, scheme); err != nil {
		return nil, err
	}
	if err := t.web.WriteList(&list, scheme); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(list.Bytes()) {
		fmt.Fprintf(&config, "url = %s\noutput = /dev/null\n", bytes.TrimSpace(line))
	}
	names := []string{"{dns}", l.DNS(), "{probe}", strings.TrimSuffix(l.DNS(), ":53"), "{dir}", filepath.Join(t.dir, "crawl")}
	for _, f := range []struct {
		name string
		text []byte
	}{{"seeds", seeds.Bytes()}, {"list", list.Bytes()}, {"curl", config.Bytes()}, {"ca", l.CA()}} {
		path := filepath.Join(t.dir, f.name)
		if err := os.WriteFile(path, f.text, 0o644); err != nil {
			return nil, err
		}
		names = append(names, "{"+f.name+"}", path)
	}
	put := strings.NewReplacer(names...)
	argv := make([]string, len(t.argv))
	for i, a := range t.argv {
		argv[i] = put.Replace(a)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+filepath.Join(t.dir, "ca"))
	return cmd, nil
}

// watch runs the program until it ends or the time is over.
func (t trial) watch(l *wirelab.Lab, cmd *exec.Cmd, r *trace) error {
	out := &tail{keep: 1 << 16}
	cmd.Stdout, cmd.Stderr = out, out
	if t.say {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	r.begin = l.Now()
	if err := l.Start(cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	aside := make(chan error, 1)
	go func() {
		if t.beside == nil {
			aside <- nil
			return
		}
		aside <- t.beside(ctx, l)
	}()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	timer := time.NewTimer(t.length)
	defer timer.Stop()
	select {
	case <-ended:
		r.wall = l.Now() - r.begin
	case <-timer.C:
		r.wall = l.Now() - r.begin
		end(cmd, ended)
	}
	cancel()
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.output = out.String()
	return <-aside
}

// end asks a program to stop, asks again to stop now, and then does not ask.
func end(cmd *exec.Cmd, ended <-chan error) {
	for _, patience := range []time.Duration{2 * time.Second, 20 * time.Second} {
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
		select {
		case <-ended:
			return
		case <-time.After(patience):
		}
	}
	_ = cmd.Process.Kill()
	<-ended
}

// tail keeps the end of what was written to it.
type tail struct {
	b    []byte
	keep int
}

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - t.keep; over > t.keep {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }
