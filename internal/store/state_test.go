package store

import "testing"

// Whoever looks at a snapshot sees one moment, whatever is committed meanwhile.
func TestSnapshotStandsStill(t *testing.T) {
	s, err := Create(t.TempDir(), Options{Form: None})
	must(t, err)
	defer s.Close()
	set := func(key, value string) {
		t.Helper()
		g := s.Begin()
		g.Set([]byte(key), []byte(value))
		must(t, g.Commit())
	}
	set("fa", "1")
	snap, err := s.Snapshot()
	must(t, err)
	set("fa", "2")
	set("fb", "2")
	v, ok, err := snap.Get([]byte("fa"))
	must(t, err)
	if !ok || string(v) != "1" {
		t.Errorf("fa is %q, want 1", v)
	}
	rows := 0
	must(t, snap.Scan([]byte("f"), []byte("g"), func(key, value []byte) bool {
		rows++
		return true
	}))
	must(t, snap.Find([][]byte{[]byte("fa"), []byte("fb")}, func(int, []byte) { rows++ }))
	if rows != 2 {
		t.Errorf("%d rows are there, want 1 each way", rows)
	}
	must(t, snap.Close())
	if v, _, _ := s.Get([]byte("fa")); string(v) != "2" {
		t.Errorf("the store has fa %q, want 2", v)
	}
}
