package store

import (
	"errors"
	"os"
	"testing"
)

// Where there is no room for a long record the user is told to make some.
func TestSpoolFull(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := spool{file: f}
	defer f.Close()
	if _, err := s.Write([]byte("weir")); !errors.Is(err, ErrFull) {
		t.Errorf("a full disk says %v", err)
	}
}
