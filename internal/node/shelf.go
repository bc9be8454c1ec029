package node

import (
	"io"
	"sync"
	"time"

	"weir/crawl"
	"weir/internal/store"
	"weir/page"
)

// shelfTime is how long the folder of a crawl that does not run stays open after it
// was read: meanwhile nobody can go on with that crawl.
const shelfTime = 2 * time.Second

// shelves are the folders of crawls that do not run, open while pages are borrowed
// from them. Safe for concurrent use; the zero value is ready.
type shelves struct {
	mu     sync.Mutex
	open   map[string]*shelf
	closed bool
	idle   sync.WaitGroup // timers that will close one
}

type shelf struct {
	store *store.Store
	name  string // in which its crawl has asked servers; "": it does not lend
	users int
	timer *time.Timer // closes it; nil while it is used
}

// look returns what a page's server said to the crawl in a folder, nil if that is not
// to be had there. The caller closes it. The error is store.ErrInUse while a crawl
// runs there.
func (s *shelves) look(dir string, u page.URL, name string, within time.Duration) (io.ReadCloser, past, error) {
	f, err := s.take(dir)
	if err != nil {
		return nil, past{}, err
	}
	var e *store.Entry
	var p past
	if f.name == name {
		e, p, err = archived(f.store, u, within)
	}
	if e == nil || err != nil {
		s.put(dir, f)
		return nil, past{}, err
	}
	r, w := io.Pipe()
	loan := &shelved{PipeReader: r, written: make(chan struct{})}
	loan.end = func() {
		e.Close()
		s.put(dir, f)
	}
	go func() {
		defer close(loan.written)
		w.CloseWithError(writeAnswer(w, e))
	}()
	return loan, p, nil
}

// shelved is an answer that is being read from a folder.
type shelved struct {
	*io.PipeReader
	written chan struct{} // closed when nothing more is read
	once    sync.Once
	end     func()
}

// Close ends the reading. It may be called twice.
func (s *shelved) Close() error {
	err := s.PipeReader.Close()
	s.once.Do(func() {
		<-s.written
		s.end()
	})
	return err
}

// take opens a folder, or uses it while it is open.
func (s *shelves) take(dir string) (*shelf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	if f := s.open[dir]; f != nil {
		f.users++
		if f.timer != nil && f.timer.Stop() {
			s.idle.Done()
		}
		f.timer = nil
		return f, nil
	}
	st, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	f := &shelf{store: st, users: 1}
	if f.name, err = crawl.ReadLends(st); err != nil {
		st.Close()
		return nil, err
	}
	if s.open == nil {
		s.open = map[string]*shelf{}
	}
	s.open[dir] = f
	return f, nil
}

// put gives a folder back.
func (s *shelves) put(dir string, f *shelf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.users--; f.users > 0 {
		return
	}
	if s.closed {
		s.drop(dir, f)
		return
	}
	s.idle.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(shelfTime, func() {
		defer s.idle.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		if f.timer == timer {
			s.drop(dir, f)
		}
	})
	f.timer = timer
}

// drop closes a folder that nobody uses. The lock is held.
func (s *shelves) drop(dir string, f *shelf) {
	delete(s.open, dir)
	f.store.Close() // it was only read
}

// close closes all. Nobody borrows any more.
func (s *shelves) close() {
	s.mu.Lock()
	s.closed = true
	for dir, f := range s.open {
		if f.timer != nil && f.timer.Stop() {
			s.idle.Done()
		}
		if f.timer = nil; f.users == 0 {
			s.drop(dir, f)
		}
	}
	s.mu.Unlock()
	s.idle.Wait()
}
