package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"weir/crawl"
	"weir/frontier"
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

// Turn asks a crawl to go on under another program.
type Turn struct {
	Program program.Source `json:"program"`
	Add     bool           `json:"add,omitempty"` // to the one that it has
}

// Turned is what came of it. Names are for programs: add, never rename.
type Turned struct {
	Version  int      `json:"version"` // of the program that holds now, from 0
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
	maxTurn    = 160 << 20   // bytes of a program with all its inputs, as JSON
	maxTurned  = 8 << 20     // bytes of the answer
	turnTime   = time.Minute // for each of reading, working it out, and the answer
	maxVersion = math.MaxUint8
)

// turn is a program on its way to the committer.
type turn struct {
	version uint8
	rules   *crawl.Program
	want    page.Want
	done    chan crawl.Totals // has room
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
// version of now must stay that until it is done.
func (n *node) turn(ctx context.Context, t Turn) (Turned, error) {
	if n.cfg.Archive == store.None && !n.keeps {
		return Turned{}, errors.New("this crawl keeps no archive (--warc none), nor facts of its pages, since its program does not need them again: the pages that it has cannot be read again under another program")
	}
	if ctx.Err() != nil {
		return Turned{}, ctx.Err()
	}
	got := Turned{Version: int(n.version)}
	had, err := n.source()
	if err != nil {
		return got, err
	}
	src := &t.Program
	if t.Add {
		src = had.Add(src)
	}
	plan, err := n.compile(src)
	if err != nil {
		return got, err
	}
	for _, in := range plan.Program.Inputs {
		if !src.Has(in.Table) {
			return got, fmt.Errorf("the rows of the input %s are missing", in.Table)
		}
	}
	if src.Same(had) {
		got.Same = true
		return got, nil
	}
	if wants := plan.Wants(); n.keeps && !n.kept.Has(wants) {
		return got, fmt.Errorf("this crawl keeps no archive (--warc none), and of its pages only what its first program looked at: the pages that it has cannot be asked for %s", wants.Without(n.kept))
	}
	if n.version == maxVersion {
		return got, fmt.Errorf("this crawl has had %d programs, more than that cannot be told apart: start another one", maxVersion+1)
	}
	got.Removed, got.Added = program.Diff(had, src)
	for _, d := range plan.Program.Warned {
		got.Warnings = append(got.Warnings, src.Format(plan.Program.Program, d))
	}
	next := n.version + 1
	if err := src.Save(n.cfg.Dir, int(next)); err != nil {
		return got, err
	}
	rules, err := crawl.NewProgram(crawl.ProgramConfig{Plan: plan, Own: true, Version: next, Secret: n.secret}, n.store)
	if err != nil {
		return got, err
	}
	if rules.Traits().Priority && n.cfg.Order != (frontier.Score{}).Name() {
		got.Warnings = append(got.Warnings, fmt.Sprintf("weir: warning: the program gives priorities, but --order %s of this crawl does not go by them\n", n.cfg.Order))
	}
	o := turn{version: next, rules: rules, want: n.cfg.Want.Merge(n.kept).Merge(plan.Wants()), done: make(chan crawl.Totals, 1)}
	o.want.Words = o.want.Words || n.index != nil // what is indexed needs its words
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
	got.Version, got.Stored, got.Queued = int(next), totals.Fetched, totals.Queued
	return got, nil
}

// source is the program of now; what the flags mean, if it is not the user's own.
func (n *node) source() (*program.Source, error) {
	had, err := program.Load(n.cfg.Dir, int(n.version))
	if err != nil || had != nil {
		return had, err
	}
	scope := n.cfg.Scope
	scope.NoRobots = n.cfg.IgnoreRobots
	text, err := scope.Program()
	return &program.Source{Name: "flags", Text: text}, err
}

// turn gives the Ledger another program, in a group of its own.
func (c *committer) turn(ctx context.Context, t turn) error {
	if c.group != nil {
		if err := c.commit(ctx); err != nil {
			return err
		}
	}
	c.open()
	if err := c.n.ledger.Steer(t.version, t.rules, t.rules.Traits()); err != nil {
		return err
	}
	c.n.version = t.version
	c.n.want.Store(&t.want)
	totals := c.n.ledger.Totals()
	if err := c.commit(ctx); err != nil {
		return err
	}
	c.n.log.event("program", map[string]any{"version": t.version, "queued": totals.Queued, "stored": totals.Fetched})
	t.done <- totals
	return nil
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
