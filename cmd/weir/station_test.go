package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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

// TestStateOfANode: a node that has not had a session yet is not called fenced.
func TestStateOfANode(t *testing.T) {
	s := testStation(t)
	for _, c := range []struct {
		now  overlay.Status
		want string
	}{
		{overlay.Status{}, "joining"},
		{overlay.Status{Held: true}, "crawling"},
		{overlay.Status{Held: true, Quiet: true}, "quiet"},
		{overlay.Status{}, "fenced"},
		{overlay.Status{Draining: true}, "draining"},
	} {
		if s.watch(c.now); s.state() != c.want {
			t.Errorf("%+v is %s", c.now, s.state())
		}
	}
}

// TestLostTouch: a node says once that it has lost the others, and once that it is back;
// not before it has found them, and not when it leaves.
func TestLostTouch(t *testing.T) {
	s := testStation(t)
	var said []string
	s.say = func(text string) { said = append(said, text) }
	held, lost := overlay.Status{Held: true}, overlay.Status{}
	for _, st := range []overlay.Status{lost, held, held, lost, lost, held, held, {Draining: true, Held: true}, {Draining: true}} {
		s.watch(st)
	}
	if want := []string{lostTouch, inTouch}; !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
}

// TestLogsAreAway: a node says once that partitions of its own wait for their logs, and
// once that they do no more; not when it has lost the others altogether.
func TestLogsAreAway(t *testing.T) {
	s := testStation(t)
	var said []string
	s.say = func(text string) { said = append(said, text) }
	held, cut, lost := overlay.Status{Held: true}, overlay.Status{Held: true, Cut: 64}, overlay.Status{}
	for _, st := range []overlay.Status{held, cut, cut, held, held, cut, lost, held} {
		s.watch(st)
	}
	away := "weir: " + logsAway(64)
	if want := []string{away, logsBack, away, lostTouch, inTouch}; !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
}

// TestRefetchIsAdvisedUntilItIsDone: also where a node hears of that before it hears of
// the removal; but a node that is removed once more is told of as ever.
func TestRefetchIsAdvisedUntilItIsDone(t *testing.T) {
	s := testStation(t)
	told := func() string { return strings.Join(s.recent(time.Now()), "\n") }
	fetching := func() {
		if _, err := s.fetching(t.Context(), []byte(`"c"`)); err != nil {
			t.Fatal(err)
		}
	}
	const advice, done = "weir node remove c --refetch", "that it had fetched are fetched again"
	s.warn(&cluster.RemovedError{Node: "c"})
	if got := told(); !strings.Contains(got, advice) {
		t.Errorf("before: %q", got)
	}
	fetching()
	if got := told(); strings.Contains(got, advice) || !strings.Contains(got, done) {
		t.Errorf("after: %q", got)
	}
	s.warned = nil
	s.warn(&cluster.RemovedError{Node: "c"})
	if got := told(); strings.Contains(got, advice) || !strings.Contains(got, done) {
		t.Errorf("late: %q", got)
	}
	s.lost["c"] = time.Now().Add(-heardTime)
	s.warn(&cluster.RemovedError{Node: "c"})
	if got := told(); !strings.Contains(got, advice) {
		t.Errorf("once more: %q", got)
	}
	if _, err := s.fetching(t.Context(), []byte(`""`)); err != nil {
		t.Fatal(err)
	}
	s.warned = nil
	s.warn(errors.New("the disk is slow"))
	if got := told(); !strings.Contains(got, "disk is slow") {
		t.Errorf("of nobody: %q", got)
	}
}

// TestUntaken: a node that leaves knows whether others take what it had.
func TestUntaken(t *testing.T) {
	here := func(peers ...overlay.Peer) (list []overlay.PeerStatus) {
		for _, p := range peers {
			list = append(list, overlay.PeerStatus{Peer: p})
		}
		return list
	}
	leaves, stays, goes := overlay.Peer{Name: "a", Session: 2, Draining: true}, overlay.Peer{Name: "b"}, overlay.Peer{Name: "b", Draining: true}
	fenced := []overlay.PartStatus{{Owner: "a"}, {Owner: "b", Alive: true}, {Owner: "a"}} // since then its session is another
	held := []overlay.PartStatus{{Owner: "a", Alive: true}, {Owner: "b", Alive: true}, {Owner: "a", Alive: true}}
	for _, c := range []struct {
		name  string
		peers []overlay.PeerStatus
		parts []overlay.PartStatus
		want  int
	}{
		{"all leave", here(leaves, goes), held, 2},
		{"it is alone", here(leaves), held, 2},
		{"its session has ended", here(goes), fenced, 2},
		{"all leave after a fence", here(leaves, goes), fenced, 2},
		{"one stays after a fence", here(leaves, stays), fenced, 0},
		{"one stays", here(leaves, stays), []overlay.PartStatus{{Owner: "b", Alive: true}}, 0},
	} {
		if got := untaken(overlay.Status{Name: "a", Left: true, Peers: c.peers, Parts: c.parts}); got != c.want {
			t.Errorf("%s: %d are left", c.name, got)
		}
	}
}
