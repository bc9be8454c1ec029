package solver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary stands in for a solver when it is told to.
const actAs = "WEIR_TEST_SOLVER"

func TestMain(m *testing.M) {
	if how := os.Getenv(actAs); how != "" {
		act(how)
	}
	goleak.VerifyTestMain(m)
}

// act is what a solver does that is not as it should be. It never returns.
func act(how string) {
	switch how {
	case "fails":
		fmt.Println("reading the model")
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	case "warns":
		if err := os.WriteFile(solutionFile, []byte(highsEnds[1]), 0o600); err != nil {
			panic(err)
		}
		os.Exit(1)
	case "silent":
		os.Exit(0)
	case "floods":
		line := strings.Repeat("x", 1000) + "\n"
		for range 5000 {
			os.Stdout.WriteString(line)
		}
		fmt.Println("the last line")
		os.Exit(1)
	case "hangs":
		// Whoever listens knows that it runs, and never answers.
		c, err := net.Dial("tcp", os.Getenv(actAs+"_CALLS"))
		if err != nil {
			panic(err)
		}
		_, _ = c.Read(make([]byte, 1))
		os.Exit(0)
	case "large":
		f, err := os.Create(solutionFile)
		if err != nil {
			panic(err)
		}
		if err := f.Truncate(maxFile + 1); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	panic(how)
}

// standIn is a solver that does as it is told.
func standIn(t *testing.T, how string) Solver {
	t.Helper()
	t.Setenv(actAs, how)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Solver{"cbc", path}
}

func text(lp string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, lp)
		return err
	}
}

// scratch has temporary files made in a folder that must be empty in the end.
func scratch(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "weir-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestBadSolver(t *testing.T) {
	for how, want := range map[string]string{
		"fails":  "solving with cbc: exit status 3: reading the model; out of memory",
		"silent": "solving with cbc: it wrote no solution",
		"floods": "the last line",
		"large":  "solving with cbc: a solution of 268435457 bytes, more than 268435456",
	} {
		t.Run(how, func(t *testing.T) {
			scratch(t)
			_, err := standIn(t, how).Solve(t.Context(), text(""), time.Second)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%v, want %s", err, want)
			}
			if len(err.Error()) > 2*maxOutput {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

// HiGHS ends with a code of its own when time is up; from cbc it would be a failure.
func TestSolverWarns(t *testing.T) {
	scratch(t)
	s := standIn(t, "warns")
	if _, err := s.Solve(t.Context(), text(""), time.Second); err == nil {
		t.Error("cbc failed, and nobody said so")
	}
	s.Name = "highs"
	if a, err := s.Solve(t.Context(), text(""), time.Second); err != nil || a.Status != Feasible || a.Objective != 57 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestSolverEndsWithContext(t *testing.T) {
	scratch(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv(actAs+"_CALLS", l.Addr().String())
	s := standIn(t, "hangs")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.Solve(ctx, text(""), time.Hour)
		done <- err
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWritingFails(t *testing.T) {
	scratch(t)
	full := errors.New("disk full")
	_, err := standIn(t, "silent").Solve(t.Context(), func(io.Writer) error { return full }, time.Second)
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestTail(t *testing.T) {
	var kept tail
	var all []byte
	for i := range 3000 {
		p := bytes.Repeat([]byte{byte('a' + i%26)}, i%17)
		all = append(all, p...)
		if n, err := kept.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if !bytes.HasSuffix(all, kept.kept) || len(kept.kept) != maxOutput {
		t.Errorf("kept %d bytes", len(kept.kept))
	}
	if _, err := kept.Write(bytes.Repeat([]byte("z"), 3*maxOutput)); err != nil || len(kept.kept) != maxOutput {
		t.Errorf("kept %d bytes, %v", len(kept.kept), err)
	}
}

func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Find()
	if want := "no solver is on the PATH: install one of cbc (apt-get install coinor-cbc), highs (highs.dev), glpsol (apt-get install glpk-utils)"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	missing := new(Missing)
	if _, err := Find("cbc"); !errors.As(err, &missing) || err.Error() != "the solver is not on the PATH: install cbc (apt-get install coinor-cbc)" {
		t.Error(err)
	}
	if _, err := Find("cplex"); err == nil || errors.As(err, &missing) {
		t.Error(err)
	}
	if !slices.Equal(Names(), []string{"cbc", "highs", "glpsol"}) {
		t.Error(Names())
	}
}
