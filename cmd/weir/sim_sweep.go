package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/sim"
)

// sweep plays many trials, several at a time. It is shared by its workers.
type sweep struct {
	trials []*trial
	memory int64
	began  time.Time

	mu    sync.Mutex
	free  *sync.Cond // memory was given back
	used  int64
	next  int
	found []*finding // in the order of the trials; nil: not through
	parts []float64  // of each trial, how much is done
	webs  map[origin]*shared
	err   error // the first failure; it ends the others
}

// shared is a web that several trials crawl. It is made by the first and
// forgotten by the last of them.
type shared struct {
	open func() (*place, error)
	left int
}

func newSweep(trials []*trial, memory int64) *sweep {
	s := &sweep{
		trials: trials, memory: memory, began: time.Now(), found: make([]*finding, len(trials)), parts: make([]float64, len(trials)),
		webs: map[origin]*shared{},
	}
	s.free = sync.NewCond(&s.mu)
	for _, t := range trials {
		w := s.webs[t.from]
		if w == nil {
			w = &shared{open: sync.OnceValues(func() (*place, error) { return t.from.open(memory) })}
			s.webs[t.from] = w
		}
		w.left++
	}
	return s
}

// watched plays all trials on so many workers and shows how far they are. When
// somebody interrupts it, it returns the findings that are there.
func (s *sweep) watched(e *env, workers int) ([]*finding, error) {
	_, stop, release := e.interrupts(func() {})
	fmt.Fprintf(e.err, "%s, %d at a time; Ctrl-C stops and prints what there is\n", many(int64(len(s.trials)), "configuration"), workers)
	g := e.gauge(s.picture, s.line)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { s.work(stop) })
	}
	all.Wait()
	release()
	g.end()
	return slices.DeleteFunc(s.found, func(f *finding) bool { return f == nil }), s.err
}

// work plays one trial after the other.
func (s *sweep) work(stop <-chan struct{}) {
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	for !stopped() {
		i, ok := s.take()
		if !ok {
			return
		}
		f, err := s.play(i, stop, stopped)
		s.mu.Lock()
		switch {
		case errors.Is(err, errStopped):
		case err != nil && s.err == nil:
			s.err = err
		case err == nil && f.Stopped != sim.Interrupted:
			s.found[i] = f
		}
		s.parts[i] = 1
		s.mu.Unlock()
	}
}

// take returns the number of the next trial, if there is one.
func (s *sweep) take() (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.next
	if s.err != nil || i == len(s.trials) {
		return 0, false
	}
	s.next++
	return i, true
}

// play opens the trial's web, waits until there is memory for a crawl of it, and
// crawls.
func (s *sweep) play(i int, stop <-chan struct{}, stopped func() bool) (*finding, error) {
	t := s.trials[i]
	w := s.webs[t.from]
	p, err := soon(w.open, stop)
	if err == nil {
		err = t.fit(p)
	}
	if err != nil {
		return nil, err
	}
	// The web itself is counted for each of its crawls. That is more than it takes,
	// and so there is also room for the next web, which may be made meanwhile.
	n := need(p.Pages(), p.Links(), 1)
	s.mu.Lock()
	for s.used > 0 && s.used+n > s.memory {
		s.free.Wait()
	}
	s.used += n
	s.mu.Unlock()
	f, err := t.play(p, func(w *sim.World) bool {
		part := t.part(p, w.Progress())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.parts[i] = part
		return s.err == nil && !stopped()
	})
	s.mu.Lock()
	s.used -= n
	s.free.Broadcast()
	if w.left--; w.left == 0 {
		w.open = nil
	}
	s.mu.Unlock()
	return f, err
}

// state says how many trials are through, and how much of all is done.
func (s *sweep) state() (through int, part float64, now []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.parts {
		part += p
		if s.found[i] != nil {
			through++
		} else if i < s.next && p < 1 {
			now = append(now, fmt.Sprintf("  %s %3.0f%%  %s", bar(p, 20), 100*p, s.trials[i].name))
		}
	}
	return through, part / float64(len(s.trials)), now
}

// picture is what a person at a terminal sees.
func (s *sweep) picture() []string {
	through, part, now := s.state()
	spent := time.Since(s.began)
	return append([]string{
		fmt.Sprintf("  %s %3.0f%%  %s%s", bar(part, 40), 100*part, short(spent), remaining(spent, part, ", ")),
		fmt.Sprintf("  %s of %s are through, these are under way:", thousands(int64(through)), many(int64(len(s.trials)), "configuration")),
	}, now...)
}

// line is the same for a log.
func (s *sweep) line() string {
	through, part, _ := s.state()
	spent := time.Since(s.began)
	return fmt.Sprintf("%s: %s of %s%s", short(spent), thousands(int64(through)), many(int64(len(s.trials)), "configuration"), remaining(spent, part, ", "))
}
