package store

import (
	"fmt"
	"io"
	"os"
)

// Limits of what a record may hold in memory.
const (
	spoolMax  = 1 << 20
	spoolKeep = 128 << 10 // of it, from one record to the next
)

// spool holds bytes that are written once and read back: in memory at first,
// in a temporary file when there are many.
type spool struct {
	buf  []byte
	file *os.File
	size int64
}

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.size+int64(len(p)) > spoolMax {
		f, err := os.CreateTemp("", "weir-record-*")
		if err != nil {
			return 0, full(fmt.Errorf("temporary file: %w", err))
		}
		// Where the system allows it the file has no name from here on, and is
		// gone with the process. Elsewhere release removes it.
		os.Remove(f.Name())
		s.file = f
		if _, err := f.Write(s.buf); err != nil {
			return 0, full(fmt.Errorf("temporary file: %w", err))
		}
		s.buf = s.buf[:0]
	}
	if s.file != nil {
		n, err := s.file.Write(p)
		s.size += int64(n)
		if err != nil {
			err = full(fmt.Errorf("temporary file: %w", err))
		}
		return n, err
	}
	s.buf = append(s.buf, p...)
	s.size += int64(len(p))
	return len(p), nil
}

// copyTo writes n bytes from off to w.
func (s *spool) copyTo(w io.Writer, off, n int64) error {
	if s.file == nil {
		_, err := w.Write(s.buf[off : off+n])
		return err
	}
	m, err := io.Copy(w, io.NewSectionReader(s.file, off, n))
	if err == nil && m < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// release empties the spool. It keeps a buffer of the usual size for what is
// written next.
func (s *spool) release() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
	buf := s.buf[:0]
	if cap(buf) > spoolKeep {
		buf = nil
	}
	*s = spool{buf: buf}
}
