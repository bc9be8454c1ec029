package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"weir/internal/solver"
	"weir/sim/paper"
)

// A live crawl for the papers fetches the whole site, and counts its bytes alike
// whatever the limit.
func TestVisitCrawlsTheWholeSite(t *testing.T) {
	var bytes []float64
	for _, rate := range []float64{4e6, 8e6} {
		got, err := visit(context.Background(), paper.Visit{Pages: 12, Rate: rate})
		if err != nil {
			t.Fatal(err)
		}
		if got.Seconds <= 0 || got.Bytes < 12*8e3 || got.Bytes > 12*32e3 || got.Wire < got.Bytes {
			t.Errorf("%+v", got)
		}
		bytes = append(bytes, got.Bytes)
	}
	if bytes[0] != bytes[1] {
		t.Errorf("the same site has %v bytes", bytes)
	}
}

func TestVisitEndsWhenItIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := visit(ctx, paper.Visit{Pages: 12, Rate: 4e6}); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSolverThatIsNotThereIsAnError(t *testing.T) {
	run := solve(solver.Solver{Name: "cbc", Path: t.TempDir() + "/cbc"})
	if _, err := run(context.Background(), func(w io.Writer) error { _, err := io.WriteString(w, "End\n"); return err }); err == nil || !strings.Contains(err.Error(), "cbc") {
		t.Errorf("%v", err)
	}
}

func TestPapersWithoutASolverSaySo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	got := weir(t, "", "sim", "papers", "--only", "zhu-(4|slots)")
	if got.code != 0 || !strings.Contains(got.err, "weir: warning: zhu-slots is left out: ") || !strings.Contains(got.err, "2 of 2 targets met") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	if got := weir(t, "", "sim", "papers", "--only", "zhu-4"); got.code != 0 || strings.Contains(got.err, "warning") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}
