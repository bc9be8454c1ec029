//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// gate serves a start page with one link, whose page is answered only once the
// gate is open.
type gate struct {
	*httptest.Server
	reached chan struct{} // gets a value when the page is asked for
	open    chan struct{}
}

func newGate(t *testing.T) *gate {
	g := &gate{reached: make(chan struct{}, 16), open: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/slow">slow</a>`)
		case "/slow":
			g.reached <- struct{}{}
			select {
			case <-g.open:
			case <-r.Context().Done():
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(g.Close)
	return g
}

// process is a weir that runs inside the test.
type process struct {
	lines *bufio.Scanner // of standard error
	code  chan int
}

func start(args ...string) *process {
	read, write := io.Pipe()
	p := &process{bufio.NewScanner(read), make(chan int, 1)}
	go func() {
		p.code <- run(args, &env{ctx: context.Background(), in: strings.NewReader(""), out: io.Discard, err: write})
		write.Close()
	}()
	return p
}

// says waits for a line of standard error.
func (p *process) says(t *testing.T, part string) {
	t.Helper()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), part) {
			return
		}
	}
	t.Fatalf("weir never said %q", part)
}

// end waits for weir to end and returns its exit code.
func (p *process) end() int {
	for p.lines.Scan() {
	}
	return <-p.code
}

func interrupt(t *testing.T) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}

// Ctrl-C once finishes what is under way and saves; the same command finds
// nothing left to do.
func TestInterruptOnce(t *testing.T) {
	g, dir := newGate(t), filepath.Join(t.TempDir(), "c")
	args := []string{"crawl", "--wait", "1ms", "--dir", dir, g.URL}
	p := start(args...)
	p.says(t, "crawling into "+dir)
	<-g.reached
	interrupt(t)
	p.says(t, "in flight; Ctrl-C again stops now")
	close(g.open)
	p.says(t, "everything is saved. weir crawl --dir "+dir+" goes on")
	if code := p.end(); code != exitInterrupted {
		t.Fatalf("exit code %d", code)
	}
	if code := start(args...).end(); code != exitDone {
		t.Fatalf("the second run ends with %d", code)
	}
	if n := len(g.reached); n != 0 {
		t.Errorf("the page that was under way was fetched %d times more", n)
	}
}

// Ctrl-C twice stops now; the page that was under way is fetched by the next run.
func TestInterruptTwice(t *testing.T) {
	g, dir := newGate(t), filepath.Join(t.TempDir(), "c")
	p := start("crawl", "--wait", "1ms", "--dir", dir, g.URL)
	p.says(t, "crawling into "+dir)
	<-g.reached
	interrupt(t)
	p.says(t, "Ctrl-C again stops now")
	interrupt(t)
	if code := p.end(); code != exitInterrupted {
		t.Fatalf("exit code %d", code)
	}
	close(g.open)
	if code := start("crawl", "--dir", dir).end(); code != exitDone {
		t.Fatalf("the second run ends with %d", code)
	}
	if n := len(g.reached); n != 1 {
		t.Errorf("the next run asked %d times for the page", n)
	}
}

// Ctrl-C a third time ends a weir that cannot end by itself.
func TestInterruptThrice(t *testing.T) {
	const stuck = "WEIR_TEST_STUCK"
	if os.Getenv(stuck) != "" { // the weir of the test, which ends with its input at the latest
		ctx, stop, _ := (&env{ctx: context.Background()}).interrupts(func() {})
		fmt.Println("ready")
		<-stop
		fmt.Println("once")
		<-ctx.Done()
		fmt.Println("twice")
		io.Copy(io.Discard, os.Stdin)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestInterruptThrice$")
	cmd.Env = append(os.Environ(), stuck+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "once", "twice"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("it says %q, not %q", lines.Text(), want)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
	for lines.Scan() { // until it has ended
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != exitInterrupted {
		t.Errorf("it ended with %v", err)
	}
}

// What nohup has had ignored, the end of a terminal, stays ignored.
func TestHangUpIgnored(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	_, _, release := (&env{ctx: t.Context()}).interrupts(func() {})
	defer release()
	if !signal.Ignored(syscall.SIGHUP) {
		t.Error("a crawl under nohup would stop with its terminal")
	}
}

// Ctrl-C ends a simulation, however long it would take.
func TestInterruptSimulation(t *testing.T) {
	for _, verb := range []string{"run", "compare"} {
		p := start("sim", verb, "--order", "length", "--scale", "0.001", "--limit", "1B/s") // years, looked at ten times a second
		p.says(t, "Ctrl-C stops and prints what there is")
		interrupt(t)
		if code := p.end(); code != exitInterrupted {
			t.Errorf("weir sim %s: exit code %d", verb, code)
		}
	}
}

// Ctrl-C while a web is being read or made ends at once. The web is a pipe that
// nobody writes to.
func TestInterruptBeforeTheWebIsThere(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "web")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close() // then those who still read end, too
	for verb, says := range map[string][2]string{
		"run":     {"reading " + pipe, "interrupted while reading " + pipe},
		"compare": {"8 configurations, ", "interrupted: 0 of 8 configurations are through"},
	} {
		p := start("sim", verb, "--web", pipe, "--csv", filepath.Join(folder, "a.csv"), "--conns", map[string]string{"run": "1", "compare": "1,2,3,4,5,6,7,8"}[verb], "--order", "length")
		p.says(t, says[0])
		interrupt(t)
		p.says(t, says[1])
		if code := p.end(); code != exitInterrupted {
			t.Errorf("%s: exit code %d", verb, code)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
			t.Errorf("%s: beside the web is %v: %v", verb, left, err)
		}
	}
}
