package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Archive is the archive of a crawl folder without its state. It takes no lock,
// so it can be read while a crawl goes on; which record is where must be known.
// It is safe for concurrent use and needs no closing.
type Archive struct{ s *Store }

// OpenArchive opens the archive of a crawl folder as it is now: records that are
// committed later are not seen.
func OpenArchive(dir string, o Options) (*Archive, error) {
	s := newStore(dir, o)
	names, err := s.fs.List(s.arch.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotCrawl
	}
	if err != nil {
		return nil, fmt.Errorf("crawl folder %s: %w", dir, err)
	}
	for _, name := range names {
		n, ok := serial(name)
		if !ok || strings.HasSuffix(name, openSuffix) {
			continue
		}
		info, err := s.fs.Stat(s.arch.path(name))
		if err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		if n > len(names) {
			return nil, fmt.Errorf("archive file before %s is missing: %w", name, ErrDamaged)
		}
		for len(s.files) < n {
			s.files = append(s.files, warcFile{})
		}
		s.files[n-1] = warcFile{name: name, length: info.Size()}
		if strings.HasSuffix(name, Zstd.suffix()) {
			s.arch.form = Zstd
		}
	}
	return &Archive{s}, nil
}

// ReadRecord is that of the Store.
func (a *Archive) ReadRecord(p Place) (*Entry, error) { return a.s.ReadRecord(p) }

// FileName is that of the Store.
func (a *Archive) FileName(file uint32) string { return a.s.FileName(file) }
