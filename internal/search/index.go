package search

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Folder is the name of the index in a crawl folder.
const Folder = "words"

const (
	suffix     = ".seg"
	openSuffix = ".open"
)

// Options say whose index it is and how it may be treated.
type Options struct {
	FS       vfs.FS // nil: the real one
	Crawl    uint64 // whose index: the crawl's [page.Secret.Hash] of Folder. 0, with ReadOnly: no matter whose
	Memory   int    // bytes that pages may take before they become a segment; default 64 MiB
	ReadOnly bool   // change nothing
	Guest    bool   // an [Indexer] writes to it as well: nothing is removed
}

// Index is the open index of one crawl. It is not safe for concurrent use; an
// [Indexer] owns the Index that it was made of until it is closed.
type Index struct {
	fs       vfs.FS
	dir      string
	crawl    uint64
	memory   int
	readOnly bool
	guest    bool
	segs     []*segment // in the order of the archive, no two of them overlap
}

// Open opens the index in a crawl folder, or begins one. Segments that are
// damaged or of another crawl are removed; with ReadOnly they are passed over.
func Open(crawlDir string, o Options) (*Index, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	x := &Index{fs: o.FS, dir: o.FS.PathJoin(crawlDir, Folder), crawl: o.Crawl, memory: o.Memory, readOnly: o.ReadOnly, guest: o.Guest}
	if err := x.open(); err != nil {
		x.Close()
		return nil, fmt.Errorf("index %s: %w", x.dir, err)
	}
	return x, nil
}

func (x *Index) open() error {
	if !x.readOnly {
		if err := x.fs.MkdirAll(x.dir, 0o755); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		vanished, err := x.list()
		if err != nil || !vanished || try == maxTries {
			return err
		}
		if err := x.Close(); err != nil {
			return err
		}
	}
}

// maxTries bounds how often a reader looks again for segments that a running
// crawl has merged in between.
const maxTries = 10

// list opens what there is. It says whether something of it vanished meanwhile.
func (x *Index) list() (vanished bool, err error) {
	names, err := x.fs.List(x.dir)
	if x.readOnly && errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var found []*segment
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, openSuffix):
			err = x.remove(name)
		case strings.HasSuffix(name, suffix):
			var s *segment
			if s, err = x.openSegment(name); s != nil {
				found = append(found, s)
			}
			if errors.Is(err, fs.ErrNotExist) {
				vanished, err = true, nil
			}
		}
		if err != nil {
			x.segs = found
			return false, err
		}
	}
	x.segs, err = x.choose(found)
	return vanished, err
}

// openSegment opens a segment, or removes a file that is none of this crawl.
func (x *Index) openSegment(name string) (*segment, error) {
	f, err := x.fs.Open(x.path(name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	s, err := openSegment(name, f, info.Size(), false)
	if err == nil && s.foot.crawl != x.crawl && (x.crawl != 0 || !x.readOnly) {
		err = fmt.Errorf("%s: %w: it is of another crawl", name, ErrDamaged)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, ErrDamaged) {
			return nil, x.remove(name)
		}
		return nil, err
	}
	s.Closer = f
	return s, nil
}

// choose puts segments in order and leaves out those that a merged one covers.
func (x *Index) choose(found []*segment) ([]*segment, error) {
	slices.SortFunc(found, func(a, b *segment) int {
		if c := a.foot.covers.From.Compare(b.foot.covers.From); c != 0 {
			return c
		}
		return b.foot.covers.To.Compare(a.foot.covers.To) // the largest first
	})
	var segs []*segment
	var errs []error
	for _, s := range found {
		if n := len(segs); n > 0 && s.foot.covers.From.Compare(segs[n-1].foot.covers.To) < 0 {
			// Segments that overlap otherwise were never written; then the later one
			// is missing something and is made again.
			errs = append(errs, s.Close(), x.remove(s.name))
			continue
		}
		segs = append(segs, s)
	}
	return segs, errors.Join(errs...)
}

func (x *Index) path(name string) string { return x.fs.PathJoin(x.dir, name) }

func (x *Index) remove(name string) error {
	if x.readOnly || x.guest {
		return nil
	}
	err := x.fs.Remove(x.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// Close lets go of the segments.
func (x *Index) Close() error {
	var errs []error
	for _, s := range x.segs {
		errs = append(errs, s.Close())
	}
	x.segs = nil
	return errors.Join(errs...)
}

// Missing returns what of the archive up to end is not indexed. A segment beyond
// end is of another time: it is left out, and removed unless ReadOnly.
func (x *Index) Missing(end Point) ([]Range, error) {
	var errs []error
	x.segs = slices.DeleteFunc(x.segs, func(s *segment) bool {
		beyond := s.foot.covers.To.Compare(end) > 0
		if beyond {
			errs = append(errs, s.Close(), x.remove(s.name))
		}
		return beyond
	})
	have := make([]Range, len(x.segs))
	for i, s := range x.segs {
		have[i] = s.foot.covers
	}
	return gaps(have, end), errors.Join(errs...)
}

// Repair reads every segment to its end and removes those that are damaged.
func (x *Index) Repair() error {
	var errs []error
	x.segs = slices.DeleteFunc(x.segs, func(s *segment) bool {
		err := s.check()
		if errors.Is(err, ErrDamaged) {
			errs = append(errs, s.Close(), x.remove(s.name))
			return true
		}
		errs = append(errs, err)
		return false
	})
	return errors.Join(errs...)
}

// Clear removes all segments, when they turn out to be of another crawl.
func (x *Index) Clear() error {
	var errs []error
	for _, s := range x.segs {
		errs = append(errs, s.Close(), x.remove(s.name))
	}
	x.segs = nil
	return errors.Join(errs...)
}

// Stats are the size of an index.
type Stats struct {
	Segments int
	Pages    int
	Words    int64 // of all pages
	Postings int64
	Bytes    int64
}

// Stats returns the size of the index.
func (x *Index) Stats() Stats {
	t := Stats{Segments: len(x.segs)}
	for _, s := range x.segs {
		t.Pages += s.foot.docs
		t.Words += s.foot.words
		t.Postings += s.foot.postings
		t.Bytes += s.size
	}
	return t
}

// write makes a segment of a range and opens it. fill gives what it holds.
func (x *Index) write(covers Range, fill func(*writer) error) (*segment, error) {
	name := covers.name()
	temporary := x.path(name + openSuffix)
	w, err := create(x.fs, temporary)
	if err != nil {
		return nil, err
	}
	if err := fill(w); err != nil {
		w.abandon(temporary)
		return nil, err
	}
	if err := w.finish(x.crawl, covers, temporary, x.path(name)); err != nil {
		return nil, err
	}
	s, err := x.openSegment(name)
	if err == nil && s == nil {
		err = fmt.Errorf("%s: %w as soon as it was written", name, ErrDamaged)
	}
	return s, err
}

// spill makes a segment of what a builder has gathered.
func (x *Index) spill(b *builder, covers Range) error {
	s, err := x.write(covers, func(w *writer) error {
		b.write(w)
		return w.err
	})
	if err != nil {
		return err
	}
	x.insert(s)
	return nil
}

func (x *Index) insert(s *segment) {
	i, _ := slices.BinarySearchFunc(x.segs, s, func(a, b *segment) int { return a.foot.covers.From.Compare(b.foot.covers.From) })
	x.segs = slices.Insert(x.segs, i, s)
}

// due returns neighbours that should be one segment, nil when there are none:
// at least fanIn in a row, none of them larger than the others' tier.
func (x *Index) due() []*segment {
	for tier := range tiers {
		from := 0
		for i := 0; i <= len(x.segs); i++ {
			goesOn := i < len(x.segs) && tierOf(x.segs[i].size) <= tier &&
				(i == from || x.segs[i-1].foot.covers.To == x.segs[i].foot.covers.From)
			if goesOn {
				continue
			}
			if i-from >= fanIn {
				return slices.Clone(x.segs[from:i])
			}
			from = i
			if i < len(x.segs) && tierOf(x.segs[i].size) > tier {
				from++
			}
		}
	}
	return nil
}

// tierOf is 0 for small segments and one more for each fanIn, 8, times the size.
func tierOf(size int64) int {
	return (bits.Len64(uint64(size/firstTier)) + 2) / 3
}

// join writes neighbours as one segment. It touches nothing of x that changes.
func (x *Index) join(run []*segment) (*segment, error) {
	covers := Range{run[0].foot.covers.From, run[len(run)-1].foot.covers.To}
	return x.write(covers, func(w *writer) error { return merge(w, run) })
}

// replace puts a segment in the place of those that were merged into it.
func (x *Index) replace(run []*segment, with *segment) error {
	var errs []error
	x.segs = slices.DeleteFunc(x.segs, func(s *segment) bool { return slices.Contains(run, s) })
	x.insert(with)
	for _, s := range run {
		errs = append(errs, s.Close(), x.remove(s.name))
	}
	return errors.Join(errs...)
}

// merge merges until nothing is due.
func (x *Index) merge() error {
	for {
		run := x.due()
		if run == nil {
			return nil
		}
		s, err := x.join(run)
		if errors.Is(err, ErrDamaged) {
			return x.Repair() // what it takes away is a gap now
		}
		if err != nil {
			return err
		}
		if err := x.replace(run, s); err != nil {
			return err
		}
	}
}
