package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"weir/crawl"
	"weir/internal/program"
	"weir/internal/store"
	"weir/page"
)

// A running crawl can be given another program:
//
//	POST /program  Turn  -> Turned
//
// It is read and checked beside the crawl, which goes on meanwhile, and written
// into the folder as the next version. Then the committer turns to it, in a group
// of its own: from there on the state names it, whatever happens. What follows is
// told at Ledger.Steer.

// Turn asks a crawl to go on under another program, or with another one beside
// those that it has.
type Turn struct {
	Program program.Source `json:"program"`
	Add     bool           `json:"add,omitempty"`    // to the one that it has, or to the one of that name
	Beside  bool           `json:"beside,omitempty"` // to share the crawl with those that it has
	Leave   string         `json:"leave,omitempty"`  // name of a program that shares it no longer, instead
}

// Turned is what came of it. Names are for programs: add, never rename.
type Turned struct {
	Version  int      `json:"version"`            // of the program that holds now, from 0
	Programs []string `json:"programs,omitempty"` // that share the crawl
	Same     bool     `json:"same,omitempty"`
	Stored   int64    `json:"stored"` // pages that are read again, as far as it asks for them
	Queued   int64    `json:"queued"` // pages that wait, until their turn shows whether it does
	Added    []string `json:"added,omitempty"`
	Removed  []string `json:"removed,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"error,omitempty"`  // why nothing changed
	Faults   string   `json:"faults,omitempty"` // when that is why: all of them, for a person
}

// ErrFaulty says that a program means nothing; Turned tells why.
var ErrFaulty = errors.New("the program has faults")

const (
	maxTurn   = 160 << 20   // bytes of a program with all its inputs, as JSON
	maxTurned = 8 << 20     // bytes of the answer
	turnTime  = time.Minute // for each of reading, working it out, and the answer
)

// turn is a program on its way to the committer.
type turn struct {
	programs crawl.Programs // from then on
	number   uint8          // of the one that is new
	rules    rules
	want     page.Want
	done     chan crawl.Totals // has room

	roll   int  // where nodes have agreed on it
	divide bool // the crawl had one program until now, which goes on
}

// serveTurn answers a request for another program.
func (n *node) serveTurn(ctx context.Context, s *controlServer, w http.ResponseWriter, r *http.Request) {
	patience := http.NewResponseController(w)
	if err := errors.Join(patience.SetReadDeadline(time.Now().Add(turnTime)), patience.SetWriteDeadline(time.Now().Add(3*turnTime))); err != nil {
		replyTurn(w, Turned{}, err)
		return
	}
	var t Turn
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTurn))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		if large := new(http.MaxBytesError); errors.As(err, &large) {
			err = fmt.Errorf("a program and its inputs may have %d MB at most", maxTurn>>20)
		}
		replyTurn(w, Turned{}, fmt.Errorf("the request cannot be read: %w", err))
		return
	}
	s.turning.Lock()
	defer s.turning.Unlock()
	got, err := n.turn(ctx, t)
	replyTurn(w, got, err)
}

func replyTurn(w http.ResponseWriter, t Turned, err error) {
	status := http.StatusOK
	if fault := new(program.Fault); errors.As(err, &fault) {
		t.Faults = fault.Error()
	}
	switch {
	case errors.Is(err, context.Canceled):
		status, t.Error = http.StatusServiceUnavailable, "the crawl is ending"
	case err != nil:
		status, t.Error = http.StatusBadRequest, err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(t)
}

// turn makes a program ready and has the committer turn to it. One at a time: the
// programs of now must stay that until it is done.
func (n *node) turn(ctx context.Context, t Turn) (Turned, error) {
	if ctx.Err() != nil {
		return Turned{}, ctx.Err()
	}
	if n.cfg.Peer != nil {
		return Turned{}, errPeers
	}
	o, got, err := n.prepare(t)
	if err != nil || got.Same {
		return got, err
	}
	select {
	case n.awaits <- crawl.Await{More: 1}: // or the crawl might end while it turns, and call itself done
	case <-ctx.Done():
		return got, ctx.Err()
	}
	defer n.send(ctx, crawl.Await{More: -1}) // behind what the committer tells of the turn
	select {
	case n.turns <- o:
	case <-ctx.Done():
		return got, ctx.Err()
	}
	var totals crawl.Totals
	select {
	case totals = <-o.done:
	case <-n.saved:
		select {
		case totals = <-o.done:
		default:
			return got, context.Canceled // the store has failed, which ends the crawl
		}
	}
	got.tell(o, totals)
	return got, nil
}

func (t *Turned) tell(o turn, totals crawl.Totals) {
	t.Version, t.Programs, t.Stored, t.Queued = int(o.number), o.programs.Names(), totals.Fetched, totals.Queued
}

// prepare finds out what a turn means, checks its program, and keeps it in the
// folder. If nothing changes there is nothing to turn to.
func (n *node) prepare(t Turn) (turn, Turned, error) {
	got := Turned{Version: int(n.programs.Version), Programs: n.programs.Names()}
	if n.cfg.Peer != nil {
		return turn{}, got, errPeers
	}
	if n.cfg.Archive == store.None && !n.keeps {
		return turn{}, got, errors.New("this crawl keeps no archive (--warc none), nor facts of its pages, since its program does not need them again: the pages that it has cannot be read again under another program")
	}
	had, err := n.sources(n.programs)
	if err != nil {
		return turn{}, got, err
	}
	s := share{node: n, programs: n.programs, had: had, got: &got}
	s.programs.Each = slices.Clone(n.programs.Each)
	switch {
	case t.Leave != "":
		err = s.leave(t.Leave)
	case t.Beside || len(had) > 0 && len(n.programs.Each) > 0:
		err = s.join(t)
	default:
		err = s.replace(t)
	}
	if err != nil || got.Same {
		return turn{}, got, err
	}
	o := turn{programs: s.programs, number: s.number, rules: s.rules, done: make(chan crawl.Totals, 1)}
	o.want = n.wanted(s.want)
	return o, got, nil
}

// source is the program of now; what the flags mean, if it is not the user's own.
func (n *node) source() (*program.Source, error) {
	had, err := program.Load(n.cfg.Dir, int(n.programs.Version))
	if err != nil || had != nil {
		return had, err
	}
	scope := n.cfg.Scope
	scope.NoRobots = n.cfg.IgnoreRobots
	text, err := scope.Program()
	return &program.Source{Name: "flags", As: "flags", Text: text}, err
}

// turn gives the Ledger other programs, in a group of its own.
func (c *committer) turn(ctx context.Context, t turn) error {
	if c.group != nil {
		if err := c.commit(ctx); err != nil {
			return err
		}
	}
	if t.divide {
		if err := c.n.divide(); err != nil {
			return err
		}
	}
	c.open()
	totals, err := c.n.take(t)
	if err != nil {
		return err
	}
	if c.n.peer != nil {
		c.n.peer.halt("") // a program may have come that goes on
	}
	if err := c.commit(ctx); err != nil {
		return err
	}
	c.n.log.event("program", map[string]any{"version": t.number, "programs": t.programs.Names(), "queued": totals.Queued, "stored": totals.Fetched})
	if c.n.peer != nil {
		c.applied++
		c.n.peer.post(took{t.roll, true})
	}
	t.done <- totals
	if held := c.held; held != nil {
		c.held = nil
		return c.share(ctx, held)
	}
	return nil
}

// take gives the Ledger other programs, in the open group.
func (n *node) take(t turn) (crawl.Totals, error) {
	if err := n.turnTo(t.programs.Version, t.rules); err != nil {
		return crawl.Totals{}, err
	}
	n.programs, n.turned = t.programs, n.turned+1
	n.rules = t.rules
	n.several, _ = t.rules.(*crawl.Several)
	n.want.Store(&t.want)
	return n.ledger.Totals(), nil
}

// SteerIdle changes the programs of a crawl that does not run: the next run goes on
// with them.
func SteerIdle(cfg Config, t Turn) (got Turned, err error) {
	n, err := open(cfg)
	if err != nil {
		return got, err
	}
	defer func() {
		n.indexFault(n.index.Close())
		n.log.close()
		err = errors.Join(err, n.store.Close(), n.client.Load().Close())
	}()
	o, got, err := n.prepare(t)
	if fault := new(program.Fault); errors.As(err, &fault) {
		got.Faults = fault.Error()
		return got, ErrFaulty
	}
	if err != nil || got.Same {
		return got, err
	}
	n.ledger.Clock(time.Now().UnixNano())
	totals, err := n.take(o)
	if err != nil {
		return got, err
	}
	got.tell(o, totals)
	return got, n.flush(n.store.Begin())
}

// SteerProgram has the crawl that runs in dir go on under another program. The
// error is ErrNotRunning when there is none, and ErrFaulty when the program has
// faults.
func SteerProgram(ctx context.Context, dir string, t Turn) (Turned, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return Turned{}, err
	}
	var got Turned
	status, err := speak(ctx, dir, 3*turnTime, http.MethodPost, "/program", bytes.NewReader(body), maxTurned, &got)
	switch {
	case err != nil:
		return got, err
	case status == http.StatusServiceUnavailable:
		return got, fmt.Errorf("%w: %s", ErrNotRunning, got.Error)
	case got.Faults != "":
		return got, ErrFaulty
	case got.Error != "":
		return got, errors.New(got.Error)
	}
	return got, nil
}
