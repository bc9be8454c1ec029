package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A name means a suite or several, no name the short ones, a wrong one is an
// error before anything runs.
func TestChosen(t *testing.T) {
	names := func(args ...string) (list []string) {
		s, err := chosen(args)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range s {
			list = append(list, x.name)
		}
		return list
	}
	for want, args := range map[string][]string{"large-many": {"large"}, "farm": nil, "slow": {"slow", "farm"}} {
		if got := names(args...); !slices.Contains(got, want) {
			t.Errorf("%v means %v", args, got)
		}
	}
	if slices.Contains(names(), "large-many") {
		t.Error("a long suite runs unasked")
	}
	if _, err := chosen([]string{"farm", "fram"}); err == nil {
		t.Error("a name that nobody bears was taken")
	}
}

// Progress lines become samples, other lines do not, and commit times are taken
// where weir says them.
func TestRead(t *testing.T) {
	s, ok := read([]byte(`{"event":"progress","fetched":5,"queued":7,"parked":1,"commit_ms":{"p50":2.5,"p99":6,"max":9}}`), os.Getpid())
	if !ok || s.known() != 13 || s.CommitMS == nil || s.CommitMS.P99 != 6 || s.CommitMS.Max != 9 {
		t.Errorf("read %+v, %v", s, ok)
	}
	for _, line := range []string{`{"event":"report","fetched":5}`, `{"event":"progress","fetched":0}`, `weir:`} {
		if _, ok := read([]byte(line), os.Getpid()); ok {
			t.Errorf("%s became a sample", line)
		}
	}
}

func TestReadBenchmark(t *testing.T) {
	g := readBenchmark("goos: linux\nBenchmarkGrowth-2   \t 1\t 125.3 B/URL\t 233.0 ms-commit-max\nPASS\n", "Growth")
	if g.of("B/URL") != 125.3 || g.of("ms-commit-max") != 233 || !math.IsNaN(g.of("us/page")) {
		t.Errorf("read %v", g)
	}
	if readBenchmark("PASS\n", "Growth") != nil {
		t.Error("figures out of nothing")
	}
}

// A book is what its links lead to, not what else lies in the folder.
func TestReadBook(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": `<a href="a.html#x">a</a><a name="n">n</a><a href="http://other.test/">o</a><a HREF=a.html?>a</a>`,
		"a.html":     `<a href="/index.html">i</a><a href="mailto:me@here.test">m</a>`,
		"b.html":     `<a href="a.html">a</a>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The start page, a.html, and the start page under its other name.
	if b, err := readBook(dir); err != nil || b.pages != 3 || b.links != 3+2+3 {
		t.Errorf("read %+v, %v", b, err)
	}
	if _, err := readBook(t.TempDir()); err == nil {
		t.Error("an empty folder is a book")
	}
}
