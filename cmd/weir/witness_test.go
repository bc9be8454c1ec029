package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"weir/overlay"
)

// idleCarrier takes everything and does nothing.
type idleCarrier struct{ did int }

func (c *idleCarrier) Do(overlay.Action) { c.did++ }
func (c *idleCarrier) Close() error      { return nil }

// An end is written down when it is acknowledged, not when it is said, and before the node hears of it.
func TestWitness(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acked")
	read := func() string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`(?m)^\d{19} `).ReplaceAllString(string(b), "T ")
	}
	idle := new(idleCarrier)
	w, err := newWitness(path, idle, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	says := func(id uint64, hashes ...uint64) {
		d := overlay.Done{Node: "a"}
		for _, h := range hashes {
			d.Pages = append(d.Pages, overlay.Ended{Site: "http://a.test", Hash: h, Status: 200})
		}
		w.Do(overlay.Append{ID: id, Batch: overlay.Batch{Records: []overlay.Record{overlay.Mark{}, d}}})
	}
	then := ""
	tell := w.before(func(overlay.Event) { then = read() })
	says(1, 0x11, 0x12)
	says(2, 0x21)
	says(3, 0x31)
	w.Do(overlay.Renew{})
	if got := read(); got != "\n" || idle.did != 4 {
		t.Errorf("%d actions were passed on, and %q written before any was answered", idle.did, got)
	}
	want := "\nT 200 http://a.test 0000000000000011\nT 200 http://a.test 0000000000000012\n"
	tell(overlay.Acked{ID: 1})
	if then != want {
		t.Errorf("the node heard of it when %q was written, want %q", then, want)
	}
	tell(overlay.Failed{ID: 2})
	tell(overlay.Acked{ID: 2}) // it has failed: the Member does not count it
	tell(overlay.Acked{ID: 1})
	if got := read(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want += "T 200 http://a.test 0000000000000031\n"
	tell(overlay.Acked{ID: 3})
	if got := read(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
