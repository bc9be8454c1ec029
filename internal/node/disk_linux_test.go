package node

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"weir/crawl"
	"weir/internal/testweb"
)

// TestFullDisk crawls into a file system that is too small: the crawl stops
// cleanly and says so; with more space the same crawl completes.
//
// The first crawl is a process of its own: when it is Pebble that finds no room, its
// goroutines and files stay until the process ends (store's gate says why), and the
// file system could not be unmounted.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root; internal/store tests full disks without")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=96m"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err, below(t, dir))
		}
	}()
	web := start(t, testweb.Config{Seed: 10, Sites: testweb.Even(4, testweb.Site{Pages: 120, Links: 5, Size: 50_000})})
	c := childCrawl{Dir: filepath.Join(dir, "crawl"), DNS: web.DNS(), Archive: "gzip"}
	for i := range 4 {
		c.Seeds = append(c.Seeds, web.URL(i))
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 90<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != childFull {
		t.Fatalf("%v\n%s", cmd.ProcessState, out)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	cfg, err := c.config()
	if err != nil {
		t.Fatal(err)
	}
	report := run(t, cfg)
	if report.StoppedBy != crawl.StopDone {
		t.Errorf("%+v", report)
	}
	if got, want := web.Served(), web.Truth(); !slices.Equal(got, want) {
		t.Errorf("served %d pages, the web has %d", len(got), len(want))
	}
	checkFolder(t, cfg)
	if open := below(t, dir); len(open) > 0 {
		t.Errorf("after the crawl %q are open", open)
	}
}

// below lists what this process has open below a folder.
func below(t *testing.T, dir string) (open []string) {
	const fds = "/proc/self/fd"
	list, err := os.ReadDir(fds)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range list {
		if name, err := os.Readlink(filepath.Join(fds, fd.Name())); err == nil && strings.HasPrefix(name, dir) {
			open = append(open, name)
		}
	}
	return open
}
