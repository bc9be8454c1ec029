//go:build unix

package store

import (
	"bytes"
	"os"
	"testing"
)

// A long record leaves nothing behind, not even when the process is killed: its
// file never has a name that others could see.
func TestSpoolHasNoName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var s spool
	piece := bytes.Repeat([]byte("weir"), spoolMax/16)
	for range 10 {
		if _, err := s.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) > 0 || s.file == nil {
		t.Errorf("the temporary folder holds %v (%v)", names, err)
	}
	var back bytes.Buffer
	if err := s.copyTo(&back, 0, s.size); err != nil || !bytes.Equal(back.Bytes(), bytes.Repeat(piece, 10)) {
		t.Errorf("%d of %d bytes came back: %v", back.Len(), s.size, err)
	}
	s.release()
	if s.file != nil || s.size != 0 {
		t.Error("a released spool is not empty")
	}
}
