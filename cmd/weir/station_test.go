package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/cluster"
	"weir/internal/store"
	"weir/overlay"
)

func testStation(t *testing.T) *station {
	logs, err := os.Create(filepath.Join(t.TempDir(), logFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { logs.Close() })
	return newStation(logs, func(string) {})
}

// TestRefusedStoreIsNotRead: a store that is closed at once lends nothing.
func TestRefusedStoreIsNotRead(t *testing.T) {
	st, err := store.Create(filepath.Join(t.TempDir(), "crawl"), store.Options{Form: store.None})
	if err != nil {
		t.Fatal(err)
	}
	s := testStation(t)
	ready := s.ready("crawl", overlay.Scheme{}, func(uint64) error { return cluster.ErrLost })
	if err := ready(st); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("%v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := s.lend(t.Context(), []byte("http://example.org/")); b != nil || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// TestUnreadableTaskIsTold: the status says why a node does not go on.
func TestUnreadableTaskIsTold(t *testing.T) {
	s := testStation(t)
	s.heed(cluster.Spec{Name: "crawl", Body: []byte(`{"version": 1000, "by": "9.9"}`)})
	if got := strings.Join(s.recent(time.Now()), "\n"); !strings.Contains(got, "the crawl was submitted by weir 9.9") {
		t.Errorf("%q", got)
	}
}
