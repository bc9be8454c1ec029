//go:build unix

package store

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestReaders has several readers of one folder at once, in two processes: none
// keeps another out, all of them a writer, until the last has gone.
func TestReaders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	s, err := Create(dir, Options{Form: Gzip, Info: info})
	must(t, err)
	must(t, commit(s, NewEncoder(Gzip, 0), 0))
	must(t, s.Close())

	c := runChild(t, "read", dir)
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("the other process: %s", lines.Text())
	}
	one, err := Open(dir, Options{ReadOnly: true})
	must(t, err)
	two, err := Open(dir, Options{ReadOnly: true})
	must(t, err)
	must(t, one.Close())
	if _, ok, err := two.Get([]byte("last")); !ok || err != nil {
		t.Errorf("a reader beside others finds nothing: %v", err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "this process") {
		t.Errorf("a writer beside this process's reader: %v", err)
	}
	must(t, two.Close())
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint("pid ", c.Process.Pid)) {
		t.Errorf("a writer beside another process's reader: %v", err)
	}
	must(t, in.Close())
	must(t, c.Wait())
	s, err = Open(dir, Options{})
	must(t, err)
	must(t, s.Close())
}
