package crawl

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/frontier"
)

// filled is a Ledger that knows n pages nobody wrote.
func filled(tb testing.TB, n int) *Ledger {
	l, err := NewLedger(&memory{}, LedgerConfig{Order: frontier.Length{}})
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for l.seen.pages < int64(n) {
		l.seen.add(rng.Uint64()|1, uint8(rng.IntN(256)))
	}
	return l
}

func snapshot(tb testing.TB, l *Ledger) []byte {
	var b bytes.Buffer
	if kept, err := l.Snapshot(&b, 7); err != nil || !kept {
		tb.Fatal(kept, err)
	}
	return b.Bytes()
}

func TestSnapshotReadsBack(t *testing.T) {
	l := filled(t, 3*snapshotLeast)
	again := newSeen(0, true)
	err := ReadSnapshot(bytes.NewReader(snapshot(t, l)), 7, func(p []Print) bool {
		for _, p := range p {
			if d, ok := l.seen.find(p.print); !ok || d != p.depth {
				t.Fatalf("%x at depth %d; it was %d %v", p.print, p.depth, d, ok)
			}
			again.add(p.print, p.depth)
		}
		return true
	})
	if err != nil || again.pages != l.seen.pages {
		t.Errorf("%d pages of %d, %v", again.pages, l.seen.pages, err)
	}
}

func TestSnapshotOnlyWhenItHelps(t *testing.T) {
	var b bytes.Buffer
	if kept, err := filled(t, 100).Snapshot(&b, 7); kept || err != nil {
		t.Error("a snapshot of a few pages", err)
	}
	partial := filled(t, snapshotLeast)
	partial.seen.full = true
	if kept, err := partial.Snapshot(&b, 7); kept || err != nil {
		t.Error("a snapshot of a part", err)
	}
}

// TestSnapshotDamaged flips bytes and cuts: whatever is delivered was written,
// and the reader says that it is not all.
func TestSnapshotDamaged(t *testing.T) {
	l := filled(t, snapshotLeast)
	whole := snapshot(t, l)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		bad := slices.Clone(whole)
		if rng.IntN(2) == 0 {
			bad = bad[:rng.IntN(len(bad))]
		} else {
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
		}
		err := ReadSnapshot(bytes.NewReader(bad), 7, func(p []Print) bool {
			for _, p := range p {
				if d, ok := l.seen.find(p.print); !ok || d != p.depth {
					t.Fatal("a page that was never seen")
				}
			}
			return true
		})
		if err == nil {
			t.Fatal("damage went unnoticed")
		}
	}
	if ReadSnapshot(bytes.NewReader(whole), 8, func([]Print) bool { return true }) == nil {
		t.Error("a snapshot of another state")
	}
}

// TestStampGoesWithTheFirstGroup: a snapshot is stale once anything follows it.
func TestStampGoesWithTheFirstGroup(t *testing.T) {
	kv := &memory{}
	open := func() *Ledger {
		l, err := NewLedger(kv, LedgerConfig{Order: frontier.Length{}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var b batch
	WriteStamp(&b, 42)
	kv.commit(&b)
	l := open()
	if stamp, ok := l.Stamp(); !ok || stamp != 42 {
		t.Fatal(stamp, ok)
	}
	b = batch{}
	if _, err := l.Flush(&b); err != nil {
		t.Fatal(err)
	}
	kv.commit(&b)
	if _, ok := l.Stamp(); !ok {
		t.Error("the run that may still read the snapshot has lost its stamp")
	}
	if _, ok := open().Stamp(); ok {
		t.Error("the stamp outlived a group")
	}
}

func FuzzReadSnapshot(f *testing.F) {
	f.Add([]byte(snapshotMagic + "\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		_ = ReadSnapshot(bytes.NewReader(b), 7, func(p []Print) bool { n += len(p); return true })
		if n*printBytes > len(b) {
			t.Errorf("%d pages from %d bytes", n, len(b))
		}
	})
}
