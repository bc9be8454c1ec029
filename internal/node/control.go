package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"weir/bandwidth"
	"weir/crawl"
)

// A running crawl can be asked what holds, and told to hold something else. It
// listens on a socket in its folder, which only its user may use:
//
//	GET  /status                                                -> Held
//	POST /limits  {"limit", "timetable", "quota", "deadlines"}  -> Held
//	POST /query   see Query
//	POST /program Turn                                          -> Turned, see turn.go
//	POST /lend    see lend.go
//
// What is not named stays as it is. An error is {"error"} with status 400 for
// what cannot be read, 503 when the crawl is ending.

// Steering says which limits shall change, in the words of the flags; nil: it
// stays.
type Steering struct {
	Limit     *string `json:"limit,omitempty"`
	Timetable *string `json:"timetable,omitempty"`
	Quota     *string `json:"quota,omitempty"`
	Deadlines *string `json:"deadlines,omitempty"` // SITE=TIME,...: see ParseDemands; others stay
}

// Held is what holds in a running crawl. Names are for programs: add, never
// rename.
type Held struct {
	Limit     string    `json:"limit"` // as it was set; none is possible, also below
	Timetable string    `json:"timetable"`
	Quota     string    `json:"quota"`
	Used      int64     `json:"quota_used"`
	Now       int64     `json:"now"`            // bytes a second that may flow; 0: no limit, -1: paused
	By        string    `json:"by,omitempty"`   // limit, timetable or quota
	Until     time.Time `json:"until,omitzero"` // when that changes by itself
	Text      string    `json:"text,omitempty"` // the same for people
	Rate      float64   `json:"rate"`           // bytes a second that do flow
	Late      int       `json:"late,omitempty"` // downloads that a first limit came too late for
	Promises  []Promise `json:"promises,omitempty"`
	Error     string    `json:"error,omitempty"`    // why nothing changed
	Stranger  *Stranger `json:"stranger,omitempty"` // when that is why
}

const (
	socketName  = "weir.sock"
	privateName = "weir-" // how the directory of a socket that is elsewhere begins
	maxSocket   = 100     // bytes of a socket's path that every system takes
	maxSteer    = 1 << 20 // bytes of a request or answer
	steerTime   = 10 * time.Second
)

// ErrNotRunning says that no crawl listens in a folder.
var ErrNotRunning = errors.New("no crawl is running")

// ask is a request on its way to the loop.
type ask struct {
	change Steering
	reply  chan Held // has room
}

// controlServer is the socket and those who serve it. The run owns it.
type controlServer struct {
	http    http.Server
	file    string // in the folder: the socket, or where it is
	private string // the directory of a socket that is elsewhere; "": none
	work    sync.WaitGroup

	stop   context.CancelFunc // of questions that are being answered
	mu     sync.Mutex
	asked  int  // questions that are being answered
	closed bool // no more are taken

	turning sync.Mutex // held while the crawl is given another program
}

// serveControl opens the socket. The store's lock makes sure that a socket that
// lies there is one of a run that was killed.
func (n *node) serveControl(ctx context.Context) (*controlServer, error) {
	s := &controlServer{file: filepath.Join(n.cfg.Dir, socketName)}
	removeSocket(s.file)
	l, err := s.listen()
	if err != nil {
		return nil, fmt.Errorf("listen for weir steer: %w", err)
	}
	ctx, s.stop = context.WithCancel(ctx)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /query", func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			refuse(w, http.StatusServiceUnavailable, "the crawl answers other questions, or is ending: ask again")
			return
		}
		defer s.leave()
		n.query(ctx, w, r)
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) { n.answer(ctx, w, Steering{}) })
	mux.HandleFunc("POST /limits", func(w http.ResponseWriter, r *http.Request) {
		var change Steering
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSteer))
		d.DisallowUnknownFields()
		if err := d.Decode(&change); err != nil {
			reply(w, http.StatusBadRequest, Held{Error: "the request cannot be read: " + err.Error()})
			return
		}
		_, demands, err := change.apply(crawl.Limits{}, time.Now())
		if err == nil {
			err = n.admit(demands)
		}
		if err != nil {
			h := Held{Error: err.Error()}
			errors.As(err, &h.Stranger)
			reply(w, http.StatusBadRequest, h)
			return
		}
		n.answer(ctx, w, change)
	})
	mux.HandleFunc("POST /program", func(w http.ResponseWriter, r *http.Request) { n.serveTurn(ctx, s, w, r) })
	if n.lender != nil {
		mux.HandleFunc("POST /lend", func(w http.ResponseWriter, r *http.Request) { n.lender.lend(ctx, w, r) })
	}
	s.http = http.Server{
		Handler: mux, ReadTimeout: steerTime, WriteTimeout: 2 * steerTime, MaxHeaderBytes: maxSteer,
		ErrorLog: log.New(io.Discard, "", 0), // a person sees progress there
	}
	s.http.SetKeepAlivesEnabled(false)
	s.work.Go(func() { s.http.Serve(l) })
	return s, nil
}

// listen opens a socket in the folder or, when its path is too long for one or
// its disk knows none, in a new directory that the folder then names.
func (s *controlServer) listen() (net.Listener, error) {
	if path, err := filepath.Abs(s.file); err == nil && len(path) <= maxSocket {
		if l, err := listenPrivate(path); err == nil {
			return l, nil
		}
	}
	dir, err := os.MkdirTemp("", privateName)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, socketName)
	l, err := listenPrivate(path)
	if err == nil {
		if err = os.WriteFile(s.file, []byte(path), 0o600); err != nil {
			l.Close()
		}
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s.private = dir
	return l, nil
}

func listenPrivate(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil && runtime.GOOS != "windows" { // there the folder's rights hold
		l.Close()
		return nil, err
	}
	return l, nil
}

// enter lets a question in; leave must follow.
func (s *controlServer) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.asked == maxQueries {
		return false
	}
	s.asked++
	s.work.Add(1)
	return true
}

func (s *controlServer) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked--
	s.work.Done()
}

// close ends all conversations and removes the socket.
func (s *controlServer) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.http.Close()
	s.work.Wait()
	s.turning.Lock() // whoever had it worked in the folder
	defer s.turning.Unlock()
	removeSocket(s.file)
}

// removeSocket takes away what a run has left: its socket, wherever it is.
func removeSocket(file string) {
	if path, elsewhere := socketPath(file); elsewhere {
		if st, err := os.Lstat(path); err == nil && st.Mode().Type() == fs.ModeSocket {
			os.Remove(path)
		}
		os.Remove(filepath.Dir(path)) // only an empty one goes
	}
	if st, err := os.Lstat(file); err == nil && !st.IsDir() {
		os.Remove(file)
	}
}

// socketPath finds the socket of a folder, "" if there is none. It may be
// elsewhere, but only where listen puts it: a folder may come from anybody, and
// must not lead to another's socket.
func socketPath(file string) (path string, elsewhere bool) {
	st, err := os.Lstat(file)
	switch {
	case err != nil || st.Mode()&fs.ModeSymlink != 0:
		return "", false
	case !st.Mode().IsRegular():
		return file, false
	case st.Size() > 4096:
		return "", false
	}
	b, err := os.ReadFile(file)
	if path = string(b); err != nil || !private(path) {
		return "", false
	}
	return path, true
}

// private says that a socket's path is one that listen makes, in a directory of
// this user.
func private(path string) bool {
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if name != socketName || !strings.HasPrefix(filepath.Base(dir), privateName) || filepath.Dir(dir) != filepath.Clean(os.TempDir()) {
		return false
	}
	st, err := os.Lstat(dir)
	return err == nil && st.IsDir() && ours(st)
}

// answer passes a request to the loop and writes what it says.
func (n *node) answer(ctx context.Context, w http.ResponseWriter, change Steering) {
	a := ask{change, make(chan Held, 1)}
	timer := time.NewTimer(steerTime)
	defer timer.Stop()
	select {
	case n.asks <- a:
	case <-ctx.Done():
		reply(w, http.StatusServiceUnavailable, Held{Error: "the crawl is ending"})
		return
	case <-timer.C:
		reply(w, http.StatusServiceUnavailable, Held{Error: "the crawl is busy"})
		return
	}
	select {
	case h := <-a.reply:
		if h.Error != "" {
			reply(w, http.StatusBadRequest, h)
			return
		}
		reply(w, http.StatusOK, h)
	case <-ctx.Done():
		reply(w, http.StatusServiceUnavailable, Held{Error: "the crawl is ending"})
	}
}

func reply(w http.ResponseWriter, status int, h Held) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(h)
}

// apply reads the words of a change and makes it on limits.
func (s Steering) apply(l crawl.Limits, now time.Time) (_ crawl.Limits, demands []crawl.Demand, err error) {
	if s.Limit != nil {
		if l.Rate, err = bandwidth.ParseRate(*s.Limit); err != nil {
			return l, nil, fmt.Errorf("limit: %w", err)
		}
		if l.Rate == bandwidth.Unlimited {
			l.Rate = 0
		}
	}
	if s.Timetable != nil {
		if err := l.Timetable.UnmarshalText([]byte(*s.Timetable)); err != nil {
			return l, nil, fmt.Errorf("timetable: %w", err)
		}
	}
	if s.Quota != nil {
		if l.Quota, err = bandwidth.ParseQuota(*s.Quota); err != nil {
			return l, nil, fmt.Errorf("quota: %w", err)
		}
	}
	if s.Deadlines != nil {
		if demands, err = ParseDemands(*s.Deadlines, now); err != nil {
			return l, nil, fmt.Errorf("deadlines: %w", err)
		}
	}
	return l, demands, nil
}

// steer is the loop's side of a request: it makes the change in one step of the
// Engine, so that the answer tells what holds.
func (n *node) steer(ctx context.Context, timer *time.Timer, a ask) (finished bool) {
	late := 0
	if a.change != (Steering{}) {
		limits, demands, err := a.change.apply(n.limits, time.Now())
		if err == nil && n.wire == nil && limits.Set() {
			late = len(n.flying)
			err = n.cap(ctx, timer)
		}
		if err != nil {
			a.reply <- Held{Error: err.Error()}
			return false
		}
		command := crawl.Command{Demands: demands}
		if n.wire != nil {
			n.limits, command.Limits = limits, &limits
		}
		if len(demands) > 0 && !n.due {
			n.due = true
			n.tellWall(ctx, timer)
		}
		if command.Limits != nil || len(demands) > 0 {
			n.log.event("steer", map[string]any{"limits": limits, "demands": demands})
			finished = n.step(ctx, timer, command)
		}
	}
	h := n.held()
	h.Late = late
	a.reply <- h
	return finished
}

// held is what holds now, for the loop to tell.
func (n *node) held() Held {
	s := n.engine.Status()
	b := n.bound(s.Link.Used)
	h := Held{
		Limit: "none", Timetable: "none", Quota: n.limits.Quota.String(), Now: b.Number(), By: b.By, Until: b.Until,
		Used: s.Link.Used, Rate: s.Link.Rate, Promises: Promises(s.Promises),
	}
	if n.limits.Rate > 0 {
		h.Limit = bandwidth.FormatRate(n.limits.Rate)
	}
	if n.limits.Timetable.Set() {
		h.Timetable = n.limits.Timetable.String()
	}
	if h.Text = b.Pause(); h.Text == "" {
		h.Text = b.Why()
	}
	return h
}

// Steer tells the crawl that runs in dir to hold other limits, or only asks when
// none are named, and returns what holds then. The error is ErrNotRunning when
// there is none, a *Stranger when it does not come to a site.
func Steer(ctx context.Context, dir string, change Steering) (Held, error) {
	method, path := http.MethodGet, "/status"
	var body io.Reader
	if change != (Steering{}) {
		b, err := json.Marshal(change)
		if err != nil {
			return Held{}, err
		}
		method, path, body = http.MethodPost, "/limits", bytes.NewReader(b)
	}
	var h Held
	status, err := speak(ctx, dir, 2*steerTime, method, path, body, maxSteer, &h)
	switch {
	case err != nil:
		return Held{}, err
	case status == http.StatusServiceUnavailable:
		return h, fmt.Errorf("%w: %s", ErrNotRunning, h.Error)
	case h.Stranger != nil:
		return h, h.Stranger
	case h.Error != "":
		return h, errors.New(h.Error)
	}
	return h, nil
}

// caller speaks to the crawl that runs in dir, or says that there is none.
func caller(dir string) (*http.Client, error) {
	path, _ := socketPath(filepath.Join(dir, socketName))
	if path == "" {
		return nil, ErrNotRunning
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", dialable(path))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
		}
		return conn, nil
	}}}, nil
}

// spoken says why a crawl could not be spoken to.
func spoken(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the crawl belongs to another user: %w", fs.ErrPermission)
	case errors.Is(err, ErrNotRunning):
		return ErrNotRunning
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	return fmt.Errorf("speak to the crawl: %w", err)
}

// speak asks the crawl that runs in dir, and reads an answer of so many bytes at
// most.
func speak(ctx context.Context, dir string, patience time.Duration, method, path string, body io.Reader, most int64, answer any) (status int, err error) {
	client, err := caller(dir)
	if err != nil {
		return 0, err
	}
	client.Timeout = patience
	req, err := http.NewRequestWithContext(ctx, method, "http://weir"+path, body)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, spoken(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(answer); err != nil {
		return 0, fmt.Errorf("read the crawl's answer: %w", err)
	}
	return resp.StatusCode, nil
}

// dialable is the path if a socket can have it: one that is too long may be
// short enough from where we are.
func dialable(path string) string {
	if len(path) <= maxSocket {
		return path
	}
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil && len(rel) < len(path) {
			return rel
		}
	}
	return path
}
