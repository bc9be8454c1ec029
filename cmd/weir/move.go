package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/internal/node"
	"weir/internal/program"
	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// movedFile says in a crawl's folder that a cluster takes the crawl over, and how
// much of it the cluster has.
const movedFile = "moved.json"

// moved is what stands there. Names are for other versions: add, never rename.
type moved struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`           // of the crawl in the cluster
	Try     string `json:"try,omitempty"`  // see taskFrom
	Mark    []byte `json:"mark,omitempty"` // see crawl.View.Move
	Count   int64  `json:"count"`          // pages up to the mark
	Over    bool   `json:"over"`           // the cluster has all of it
	Ending  bool   `json:"ending"`         // it may have, and nobody has heard yet
}

func readMoved(dir string) (m moved, err error) {
	b, err := os.ReadFile(filepath.Join(dir, movedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	return m, err
}

func (m *moved) write(dir string) error {
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, movedFile), append(b, '\n'))
}

// stayed makes sure that a cluster does not go on with a crawl. One that it has got
// only a part of is here still, and will have changed when it is moved again.
func stayed(dir string) error {
	m, err := readMoved(dir)
	switch {
	case err != nil:
		return folderError(dir, err)
	case m.Over:
		return usage("weir status --at shows how it goes; weir export and weir query read what the folder has", "the cluster %s has taken over the crawl in %s, as %s", m.Cluster, dir, m.Name)
	case m.Ending:
		return usage("run weir submit --from "+quoted(dir)+nameFlag(m.Name)+" once more: it finds out", "the cluster %s may have taken over the crawl in %s, as %s", m.Cluster, dir, m.Name)
	case m.Cluster != "":
		return os.Remove(filepath.Join(dir, movedFile))
	}
	return nil
}

// left are settings of a machine, or of a single run: they do not go along.
var left = []string{
	"limit", "timetable", "quota", "strict", "yield", "yield-probe", "holidays", "memory", "max-bytes", "max-time", "stop-gain",
	"share-with", "share-within",
}

// leave takes out of the settings what does not go along, and says what that was, and
// why.
func (s *settings) leave(given map[string]bool) (lines []string) {
	was := fields(defaults())
	for i, f := range fields(s) {
		for _, name := range left {
			if f.name == name && !given[name] && f.text() != was[i].text() {
				lines = append(lines, fmt.Sprintf("--%s %s stays behind%s", name, f.text(), after(": ", local[name])))
				f.value.Set(was[i].value)
			}
		}
	}
	return lines
}

const (
	movePages  = 5000            // in a piece
	moveBytes  = 1 << 20         // of URLs, about
	moveTries  = 12              // for a piece
	movePause  = 5 * time.Second // between two
	moveTime   = time.Minute     // for an answer
	moveSynced = 3 * time.Second // after which what nodes have acknowledged is on their disks
)

// mover brings the crawl of a folder to a cluster.
type mover struct {
	e    *env
	cl   *cluster.Client
	dir  string
	name string
	id   string
	done moved // as it was written last
	acks []ack // not yet on disks
	all  int64

	had   int64 // pages that the cluster had before
	sent  int64 // and has now
	piece transfer
	size  int
	mark  []byte // behind the piece
	meter *meter
}

// ack is how far everything was acknowledged at a time.
type ack struct {
	at    time.Time
	mark  []byte
	count int64
}

// takeOver brings the crawl in a folder to the cluster.
func (c *submitCmd) takeOver(e *env, given map[string]bool) error {
	if len(c.URLs) > 0 || given["seeds"] {
		return usage("leave it out; what the crawl in the folder knows goes along", "--from and pages to start from do not go together")
	}
	if at, err := look(c.From); err != nil || at != begun {
		if err == nil {
			err = fmt.Errorf("there is no crawl in %s", c.From)
		}
		return usage("name the folder of a crawl: weir crawl --dir makes one", "--from: %w", err)
	}
	t, cfg, err := c.inherit(e, given)
	if err != nil {
		return err
	}
	f, err := openFolder(c.From)
	if err != nil {
		return err
	}
	defer func() { f.close() }()
	if err := movable(f); err != nil {
		return err
	}
	total, err := crawl.ReadTotals(f.store)
	if err != nil {
		return err
	}
	m := &mover{e: e, dir: c.From, name: c.Name, all: total.Seen}
	if m.id, err = identity(f); err != nil {
		return err
	}
	if m.done, err = readMoved(c.From); err != nil {
		return folderError(c.From, err)
	}
	if m.done.Cluster == "" && cfg.MaxPages > 0 && total.Fetched >= cfg.MaxPages {
		return usage(fmt.Sprintf("give the cluster a larger one, which counts these pages too, as in --max-pages %d, or --max-pages none", 10*cfg.MaxPages),
			"the crawl in %s has fetched the pages that its --max-pages %d allows", c.From, cfg.MaxPages)
	}
	if m.cl, err = c.client(); err != nil {
		return err
	}
	ctx, release := e.interruptible()
	defer release()
	over, err := m.begin(ctx, t, total.Ended())
	if err != nil {
		return err
	}
	if over {
		fmt.Fprintf(e.err, "the cluster has taken over %s already; weir status shows how it goes\n", c.From)
		return nil
	}
	if total.Due > 0 || total.Stale || total.Steered {
		f.close()
		if err = m.catchUp(ctx, cfg, total); err == nil {
			f, err = openFolder(c.From)
		}
	}
	if err == nil {
		err = m.move(ctx, f)
	}
	if ctx.Err() != nil {
		fmt.Fprintf(e.err, "weir: interrupted; the cluster waits for the rest. The same command goes on, weir submit --cancel%s calls it off\n", nameFlag(c.Name))
		return quiet(exitInterrupted)
	}
	if err != nil {
		return failure(fmt.Errorf("move the crawl in %s: %w", c.From, err), "nothing is lost: the same command goes on where it stopped, and weir submit --cancel"+nameFlag(c.Name)+" calls it off")
	}
	fmt.Fprintf(e.err, "the cluster has taken over %s of %s, of which %s to be fetched; the archive of the others stays in %s\n", many(m.all, "page"), c.From, areStill(total.Queued), c.From)
	return nil
}

// interruptible returns a context that the first Ctrl-C ends. The caller calls
// release.
func (e *env) interruptible() (ctx context.Context, release func()) {
	ctx, stop, over := e.interrupts(func() {})
	ctx, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watcher.Wait()
		over()
	}
}

func areStill(n int64) string {
	if n == 1 {
		return "1 is still"
	}
	return thousands(n) + " are still"
}

// inherit makes a task of the settings of a folder and the flags that are given.
func (c *submitCmd) inherit(e *env, given map[string]bool) (*task, *node.Config, error) {
	c.Dir = c.From
	s, dues, err := settle(&c.settings, given, begun)
	if err != nil {
		return nil, nil, err
	}
	fresh, _, err := s.agree(time.Now(), dues)
	if err == nil {
		err = familiar(s, begun, fresh, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	scheme, err := overlay.ParseScheme(c.Scheme)
	if err != nil {
		return nil, nil, usage("take --scheme host", "--scheme: %w", err)
	}
	behind := s.leave(given)
	alone, err := setup(s, nil) // what the folder is read with, before it moves
	if err != nil {
		return nil, nil, err
	}
	s.Dir = defaults().Dir
	list, err := sourcesOf(c.From)
	if err != nil {
		return nil, nil, err
	}
	if err := s.shareable(list, scheme); err != nil {
		return nil, nil, err
	}
	if scheme.Second != overlay.Stay {
		return nil, nil, usage("take --scheme host, url or host-8", "--scheme %s: nodes would hand pages on before they have read which ones were fetched", scheme)
	}
	if len(list) > 0 && scheme.By != overlay.ByHost {
		return nil, nil, usage("take --scheme host", "--scheme %s: what the program has derived lies host by host, and cannot be spread", scheme)
	}
	for _, text := range behind {
		fmt.Fprintf(e.err, "weir: %s\n", text)
	}
	t, err := newTask(s, nil, list, scheme, int64(c.Limit))
	return t, alone, err
}

// sourcesOf reads the programs of a folder.
func sourcesOf(dir string) ([]*program.Source, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	p := f.Programs()
	if len(p.Each) > 0 {
		return nil, usage("weir submit --program starts one of them anew", "several programs share the crawl in %s, and what they know cannot be moved yet", dir)
	}
	src, err := program.Load(dir, int(p.Version))
	if err != nil || src == nil {
		return nil, err
	}
	return []*program.Source{src}, nil
}

// movable refuses a folder whose crawl cannot go on elsewhere.
func movable(f *folder) error {
	if _, shared, err := crawl.ReadOrigin(f.store); err != nil || shared {
		if err == nil {
			err = usage("name the folder of a crawl of its own", "%s is a node's part of a crawl", f.dir)
		}
		return err
	}
	own, err := f.own("")
	if err != nil {
		return err
	}
	if !own.Keeps("stop") {
		return nil
	}
	stopped := ""
	err = own.Rows("stop", func(row flow.Row) bool {
		stopped = row[0].S
		return false
	})
	if err == nil && stopped != "" {
		err = usage("weir crawl --program gives it another one", "the program of the crawl in %s has ended it: %s", f.dir, line(stopped))
	}
	return err
}

// identity is what a crawl is known by, wherever its folder lies.
func identity(f *folder) (string, error) {
	secret, _, err := crawl.ReadSecret(f.store)
	sum := sha256.Sum256(append([]byte("weir crawl "), secret[:]...))
	return hex.EncodeToString(sum[:8]), err
}

// begin has the cluster expect the crawl. It says whether that has all of it.
func (m *mover) begin(ctx context.Context, t *task, ended int64) (over bool, err error) {
	machine, err := os.Hostname()
	if err != nil {
		machine = "another machine"
	}
	dir, err := filepath.Abs(m.dir)
	if err != nil {
		return false, err
	}
	t.Version = movingVersion
	t.From = &taskFrom{ID: m.id, Machine: machine, Dir: dir, Pages: ended, Moving: true, Try: rand.Text()}
	body, err := json.Marshal(t)
	if err != nil {
		return false, err
	}
	var a transferred
	if err := put(ctx, m.cl, "", moveTopic, transfer{Name: m.name, ID: m.id, Task: body}, &a); err != nil {
		return false, err
	}
	if m.done.Over && m.done.Cluster != a.Cluster {
		return false, usage("a crawl has one owner; weir status --at shows how it goes there", "the cluster %s has taken over the crawl in %s", m.done.Cluster, m.dir)
	}
	if m.done.Cluster != a.Cluster || m.done.Name != m.name || m.done.Try != a.Try { // what it had may have been called off
		m.done = moved{Cluster: a.Cluster, Name: m.name, Try: a.Try}
	}
	m.done.Over, m.done.Ending = a.Over, false
	return a.Over, m.done.write(m.dir)
}

// catchUp reads pages again that are due.
func (m *mover) catchUp(ctx context.Context, cfg *node.Config, t crawl.Totals) error {
	all := t.Due
	if t.Stale || t.Steered {
		all = t.Ended()
	}
	meter := m.e.metered("reading", all)
	defer meter.clear()
	return node.Reread(ctx, *cfg, meter.page)
}

// move sends everything that the cluster does not have.
func (m *mover) move(ctx context.Context, f *folder) error {
	m.meter = m.e.metered("moving", m.all-m.done.Count)
	defer m.meter.clear()
	if m.done.Mark == nil {
		if err := m.rows(ctx, f); err != nil {
			return err
		}
	}
	m.had, m.sent, m.mark = m.done.Count, m.done.Count, m.done.Mark
	var bad error
	err := f.Move(time.Now(), m.done.Mark, func(mark []byte, x *crawl.Cargo) bool {
		m.add(mark, x)
		if len(m.piece.Pages)+len(m.piece.Hosts) >= movePages || m.size >= moveBytes {
			bad = m.send(ctx)
		}
		return bad == nil
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	if err := m.send(ctx); err != nil {
		return err
	}
	// Should all nodes lose power, what they have acknowledged last may be gone.
	if !pauseFor(ctx, nil, moveSynced) {
		return ctx.Err()
	}
	m.done.Ending = true // before the cluster begins: two must never crawl on
	if err := m.done.write(m.dir); err != nil {
		return err
	}
	m.piece.End = true
	if err := m.ask(ctx); err != nil {
		return err
	}
	m.done.Mark, m.done.Count, m.done.Over, m.done.Ending = nil, m.sent, true, false
	return m.done.write(m.dir)
}

// rows sends what the program knows.
func (m *mover) rows(ctx context.Context, f *folder) error {
	own, err := f.own("")
	if err != nil {
		return err
	}
	var bad error
	err = own.Ship(overlay.Parts, func(t flow.Tuple) bool {
		m.piece.Rows = append(m.piece.Rows, movedRow{t.To, t.Input, t.Row})
		if m.size += len(t.Row); m.size >= moveBytes || len(m.piece.Rows) >= movePages {
			bad = m.ask(ctx)
		}
		return bad == nil
	})
	if err = errors.Join(err, bad); err != nil || len(m.piece.Rows) == 0 {
		return err
	}
	return m.ask(ctx)
}

// add puts something into the piece.
func (m *mover) add(mark []byte, x *crawl.Cargo) {
	m.mark = append(m.mark[:0:0], mark...)
	if x.Host.Name != "" {
		m.piece.Hosts = append(m.piece.Hosts, x.Host)
		return
	}
	m.sent++
	p := movedPage{
		URL: x.Row.URL.String(), Depth: x.Row.Depth, Hops: x.Row.Hops, Root: x.Row.Root, Seed: x.Row.Seed, Rule: x.Row.Rule, Score: x.Row.Score,
		Outcome: x.Outcome, Status: uint16(x.Status),
	}
	if x.Outcome == page.None {
		p.Status = 0
	}
	m.size += len(p.URL)
	m.piece.Pages = append(m.piece.Pages, p)
	m.meter.page(m.sent - m.had)
}

// send sends the piece, and notes how far it is once that is safe.
func (m *mover) send(ctx context.Context) error {
	if len(m.piece.Pages)+len(m.piece.Hosts) == 0 {
		return nil
	}
	if err := m.ask(ctx); err != nil {
		return err
	}
	now := time.Now()
	m.acks = append(m.acks, ack{now, m.mark, m.sent})
	n := 0
	for n < len(m.acks) && now.Sub(m.acks[n].at) >= moveSynced {
		n++
	}
	if n == 0 {
		return nil
	}
	m.done.Mark, m.done.Count = m.acks[n-1].mark, m.acks[n-1].count
	m.acks = m.acks[n:]
	return m.done.write(m.dir)
}

// ask has the cluster take the piece. It is patient: nodes elect leaders at times.
func (m *mover) ask(ctx context.Context) error {
	m.piece.Name, m.piece.ID, m.piece.Try = m.name, m.id, m.done.Try
	data, err := json.Marshal(&m.piece)
	if err != nil {
		return err
	}
	m.piece, m.size = transfer{Pages: m.piece.Pages[:0], Hosts: m.piece.Hosts[:0], Rows: m.piece.Rows[:0]}, 0
	for try := 1; ; try++ {
		asked, cancel := context.WithTimeout(ctx, moveTime)
		_, err = m.cl.Ask(asked, "", moveTopic, data)
		cancel()
		if err == nil || stands(err) || try == moveTries || !pauseFor(ctx, nil, movePause) {
			return err
		}
	}
}
