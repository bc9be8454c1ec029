package store

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// chunk is how much of the index Finish sorts in memory at a time.
var chunk = int64(64 << 20)

// create makes an empty index.
func (x *index) create() error {
	return writeFile(x.fs, x.path, func(io.Writer) error { return nil })
}

// clean removes what a sort or a cut that was interrupted has left.
func (x *index) clean() error {
	dir := x.fs.PathDir(x.path)
	names, err := x.fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == sortedName || strings.HasPrefix(name, runName) || name == indexName+openSuffix {
			if err := x.fs.Remove(x.fs.PathJoin(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish puts the lines of index.cdxj in order, as playback tools want them.
// While a crawl runs they stand in the order of commits. Finish uses at most 64
// MiB for lines, whatever the size of the index, and for a while twice the
// index's space on disk more; an index already in order costs nothing. The crawl may go on
// after it.
func (s *Store) Finish() error {
	if err := s.Err(); err != nil {
		return err
	}
	if s.group != nil {
		panic("store: Finish before the last group was committed")
	}
	if s.readOnly || s.arch.form == None || s.index.mark.sorted == s.index.mark.length {
		return nil
	}
	if err := s.finish(); err != nil {
		return s.fail.set(fmt.Errorf("index: sort: %w", err))
	}
	return nil
}

func (s *Store) finish() error {
	x := &s.index
	runs, err := x.split()
	if err != nil {
		return err
	}
	tmp := x.path + strings.TrimPrefix(sortedName, indexName)
	if err := writeFile(x.fs, tmp, func(w io.Writer) error { return x.merge(w, runs) }); err != nil {
		return err
	}
	if err := x.close(); err != nil {
		return err
	}
	// Between here and the second saveMark the file may be either one, and the
	// mark's checksum fits only the first.
	x.mark.stale = true
	if err := s.saveMark(); err != nil {
		return err
	}
	if err := x.fs.Rename(tmp, x.path); err != nil {
		return err
	}
	if err := syncDir(x.fs, s.dir); err != nil {
		return err
	}
	x.mark.stale = false
	x.mark.sorted = x.mark.length
	if err := x.sync(s.End()); err != nil {
		return err
	}
	if err := s.saveMark(); err != nil {
		return err
	}
	return x.clean()
}

// split writes the index as sorted runs of at most chunk bytes each.
func (x *index) split() ([]string, error) {
	if err := x.open(); err != nil {
		return nil, err
	}
	var runs []string
	r := bufio.NewReaderSize(io.NewSectionReader(x.f, 0, x.mark.length), 1<<20)
	for {
		var lines [][]byte
		size := int64(0)
		for size < chunk {
			l, err := r.ReadBytes('\n')
			if err == io.EOF && len(l) == 0 {
				break
			}
			if err != nil {
				return nil, noEOF(err)
			}
			lines = append(lines, l)
			size += int64(len(l))
		}
		if len(lines) == 0 {
			return runs, nil
		}
		slices.SortStableFunc(lines, bytes.Compare)
		name := fmt.Sprintf("%s%s%d", x.path, strings.TrimPrefix(runName, indexName), len(runs))
		err := writeFile(x.fs, name, func(w io.Writer) error {
			b := bufio.NewWriterSize(w, 1<<20)
			for _, l := range lines {
				b.Write(l)
			}
			return b.Flush()
		})
		if err != nil {
			return nil, err
		}
		runs = append(runs, name)
	}
}

// merge writes the runs as one.
func (x *index) merge(w io.Writer, names []string) (err error) {
	var h runHeap
	var files []vfs.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, name := range names {
		f, err := x.fs.Open(name)
		if err != nil {
			return err
		}
		files = append(files, f)
		r := &run{r: bufio.NewReaderSize(f, 64<<10)}
		if err := r.next(); err != nil {
			return noEOF(err)
		}
		h = append(h, r)
	}
	heap.Init(&h)
	b := bufio.NewWriterSize(w, 1<<20)
	for len(h) > 0 {
		if _, err := b.Write(h[0].line); err != nil {
			return err
		}
		switch err := h[0].next(); err {
		case nil:
			heap.Fix(&h, 0)
		case io.EOF:
			heap.Pop(&h)
		default:
			return err
		}
	}
	return b.Flush()
}

type run struct {
	r    *bufio.Reader
	line []byte
}

func (r *run) next() (err error) {
	r.line, err = r.r.ReadBytes('\n')
	return err
}

type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].line, h[j].line) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	*h = old[:len(old)-1]
	return r
}
