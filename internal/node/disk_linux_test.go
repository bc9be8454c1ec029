package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"weir/crawl"
	"weir/internal/store"
	"weir/internal/testweb"
)

// TestFullDisk crawls into a file system that is too small: the crawl stops
// cleanly and says so; with more space the same crawl completes.
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
			t.Error(err)
		}
	}()
	web := start(t, testweb.Config{Seed: 10, Sites: testweb.Even(4, testweb.Site{Pages: 120, Links: 5, Size: 50_000})})
	cfg := config(t, web)
	cfg.Dir = filepath.Join(dir, "crawl")
	cfg.Archive = store.Gzip
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 90<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Run(context.Background(), nil, cfg)
	if !errors.Is(err, store.ErrFull) || report.StoppedBy != crawl.StopNoRoom {
		t.Fatalf("err = %v, %+v", err, report)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	report = run(t, cfg)
	if report.StoppedBy != crawl.StopDone {
		t.Errorf("%+v", report)
	}
	if got, want := web.Served(), web.Truth(); !slices.Equal(got, want) {
		t.Errorf("served %d pages, the web has %d", len(got), len(want))
	}
	checkFolder(t, cfg)
}
