package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/internal/node"
	"weir/overlay"
)

// nodeRunCmd runs a node.
type nodeRunCmd struct {
	Dir       string   `placeholder:"DIR" default:"weir-node" help:"Folder of the node: its part of the crawl, and its copy of the logs. Default: weir-node."`
	Name      string   `placeholder:"NAME" help:"Name of the node, as its certificate has it."`
	Certs     string   `placeholder:"DIR" help:"Folder of its certificate, as weir node cert makes it."`
	Listen    string   `placeholder:"HOST:PORT" help:"Where it listens for other nodes and for questions; the next port is for the nodes' servers."`
	Routes    string   `placeholder:"HOST:PORT" help:"Where the servers talk to one another, if not at the next port."`
	Advertise string   `placeholder:"HOST" help:"Host that the others reach it at, if not that of --listen."`
	Join      []string `placeholder:"HOST:PORT,..." help:"Other nodes, one or more that are there; to found a cluster, all of those who do."`
	Storage   bool     `negatable:"" default:"true" help:"Keep a copy of the nodes' logs. Three nodes must, further ones need not."`
	Expect    int      `placeholder:"N" default:"3" help:"With how many nodes the cluster is founded: 3, 5 or 7. Default: 3."`
	Weight    uint16   `placeholder:"N" default:"1" help:"Share of the work beside other nodes, which have 1 when nothing is said."`

	Limit     rate      `placeholder:"RATE" default:"none" help:"Bandwidth that this node may use, as in 2MB/s."`
	Timetable timetable `placeholder:"SPEC" default:"none" help:"Limits by day and hour, as weir crawl has them."`
	Quota     quota     `placeholder:"SIZE/PERIOD" default:"none" help:"Bytes that an hour, day, week or month may bring."`
	Strict    bool      `help:"Rather use a little less of the limit than ever go over it."`
	Yield     bool      `help:"Step aside while others use the link. Needs a limit."`
	Probe     string    `name:"yield-probe" placeholder:"ADDR" help:"Whom --yield asks, as with weir crawl."`
	Memory    size      `placeholder:"SIZE" default:"1GB" help:"Memory for caches and buffers. Default: 1GB."`

	ShareWith   []string `name:"share-with" sep:"none" placeholder:"DIR" help:"Take pages from the crawl in this folder, as weir crawl does: that of another cluster's node on this machine, or one of its own."`
	ShareWithin span     `name:"share-within" placeholder:"TIME" default:"1h" help:"How old they may be. Default: 1h."`

	JSON bool `name:"json" help:"JSON lines on standard output: progress, and the report as the last line."`
}

// In a node's folder: where the cluster's server keeps its things, and what the node
// has said.
const (
	serverDir = "cluster"
	logFile   = "node.log"
)

// Help ends the help text of the command.
func (c *nodeRunCmd) Help() string {
	return `Three machines, one command each; the certificates are made by weir node init and weir node cert:

  weir node --name a --certs certs/a --listen a.example.org:7400 --join b.example.org:7400,c.example.org:7400
  weir node --name b --certs certs/b --listen b.example.org:7400 --join a.example.org:7400,c.example.org:7400
  weir node --name c --certs certs/c --listen c.example.org:7400 --join a.example.org:7400,b.example.org:7400

Then, anywhere:

  weir submit --at a.example.org:7400 --certs certs/me https://example.org/

A node that was started once needs only its folder: weir node --dir DIR. Ctrl-C once hands its work over to the others
and ends, twice ends at once: the others then wait twenty seconds before they take over. Either way nothing is lost.

Exit codes: 0 drained, 1 failed, 2 wrong usage, 130 ended at once.`
}

// Run opens the cluster, waits for a crawl, and takes part in it.
func (c *nodeRunCmd) Run(e *env, k *kong.Context) error {
	h, err := c.home(k)
	if err != nil {
		return err
	}
	if err := c.vacant(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return folderError(c.Dir, err)
	}
	logs, err := os.OpenFile(filepath.Join(c.Dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return folderError(c.Dir, err)
	}
	defer logs.Close()
	collect(int64(c.Memory))
	st := newStation(logs, func(text string) { fmt.Fprintln(e.err, text) })
	ctx, stop, release := e.interrupts(st.leaving)
	defer st.work.Wait()
	defer release()
	st.work.Go(func() {
		select {
		case <-stop:
			st.drain("Ctrl-C")
		case <-ctx.Done():
		}
	})

	cl, err := c.open(ctx, st, h)
	if err != nil {
		select {
		case <-st.leave:
			fmt.Fprintf(e.err, "weir: ended before the cluster was there. weir node --dir %s comes back\n", c.Dir)
			return quiet(exitInterrupted)
		default:
			return clusterFault(err)
		}
	}
	defer cl.Close()
	if err := h.write(c.Dir, cl.Addr()); err != nil {
		return folderError(c.Dir, err)
	}
	st.serve(cl)
	ctx, unwatch := st.guard(ctx, c.Dir)
	defer unwatch()
	if err = c.wait(ctx, e, st); errors.Is(context.Cause(ctx), errGone) {
		return failure(fmt.Errorf("%s: %w", c.Dir, errGone), "if it was moved, weir node --dir goes on with it; if it is lost, weir node remove "+c.Name+" --refetch has the others fetch again what it had")
	}
	return err
}

// errGone says that a node cannot keep anything any more.
var errGone = errors.New("the folder was deleted or moved under the node, which has stopped")

// folderEvery is how often a node looks whether its folders are there.
const folderEvery = 2 * time.Second

// guard ends a context when the node's folder, or that of its crawl, is not the one any
// more that it was: files that are open would take everything, and lose it. The caller
// calls unwatch.
func (s *station) guard(ctx context.Context, dir string) (guarded context.Context, unwatch func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	was := map[string]fs.FileInfo{}
	gone := func(path string) bool {
		is, err := os.Stat(path)
		if old := was[path]; old != nil {
			return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(old, is)
		}
		if err == nil {
			was[path] = is
		}
		return false
	}
	look := func() bool {
		s.mu.Lock()
		crawl := s.dir
		s.mu.Unlock()
		return gone(dir) || gone(filepath.Join(dir, serverDir)) || crawl != "" && gone(crawl)
	}
	look()
	s.work.Go(func() {
		for pauseFor(ctx, nil, folderEvery) {
			if look() {
				s.farewell(errGone)
				cancel(errGone)
				return
			}
		}
	})
	return ctx, func() { cancel(nil) }
}

// wait waits for a crawl and runs it.
func (c *nodeRunCmd) wait(ctx context.Context, e *env, st *station) error {
	var sp cluster.Spec
	select {
	case sp = <-st.news:
	default:
		text := fmt.Sprintf("waiting for a crawl: weir submit --at %s --certs DIR URL", st.cl.Addr())
		if st.cl.Back() {
			text = "waiting to hear how the crawl goes that it has a part of"
		}
		st.note(fmt.Sprintf("%s is in cluster %s; %s", c.Name, st.cl.Cluster(), text))
		select {
		case sp = <-st.news:
		case <-st.leave:
			return nil
		case <-ctx.Done():
			return quiet(exitInterrupted)
		}
	}
	return c.crawl(ctx, e, st, sp)
}

// vacant refuses a folder that holds something else than a node.
func (c *nodeRunCmd) vacant() error {
	list, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return folderError(c.Dir, err)
	}
	other := ""
	for _, entry := range list {
		switch entry.Name() {
		case homeFile:
			return nil
		case logFile, serverDir, "lost+found": // it never got as far; a disk of its own
		case crawlFile:
			return usage("a node needs a folder of its own: name a new one with --dir; weir submit --from "+c.Dir+" has a cluster go on with the crawl", "%s holds the crawl of one machine", c.Dir)
		default:
			other = entry.Name()
		}
	}
	if other != "" {
		return usage("a node needs a folder of its own: name a new one with --dir", "%s holds other things, such as %s", c.Dir, other)
	}
	return nil
}

// home says how the node is started: as before, where nothing else is said.
func (c *nodeRunCmd) home(k *kong.Context) (*home, error) {
	given := map[string]bool{}
	for _, p := range k.Path {
		if p.Flag != nil {
			given[p.Flag.Name] = true
		}
	}
	h, err := readHome(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		h, err = &home{Storage: true, Expect: 3}, nil
	}
	if err != nil {
		return nil, failure(fmt.Errorf("%s: %w", filepath.Join(c.Dir, homeFile), err), "name another folder with --dir")
	}
	texts := []struct {
		flag     string
		now, was *string
	}{{"name", &c.Name, &h.Name}, {"listen", &c.Listen, &h.Listen}, {"routes", &c.Routes, &h.Routes}, {"advertise", &c.Advertise, &h.Advertise}, {"certs", &c.Certs, &h.Certs}}
	for _, t := range texts {
		if given[t.flag] {
			*t.was = *t.now
		} else {
			*t.now = *t.was
		}
	}
	if given["join"] {
		h.Join = c.Join
	}
	if given["storage"] {
		h.Storage = c.Storage
	}
	if given["expect"] {
		h.Expect = c.Expect
	}
	for _, t := range texts[:2] {
		if *t.was == "" {
			return nil, usage("weir node --help shows how three nodes are started", "a new node needs --%s", t.flag)
		}
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	if c.Weight == 0 {
		return nil, usage("a node with little to give has --weight 1, and the others more; one that takes no part in the crawl is none", "--weight 0: a node without work")
	}
	if h.Certs == "" {
		return nil, usage("weir node init and weir node cert make them", "a node needs --certs")
	}
	h.Certs, err = filepath.Abs(h.Certs)
	return h, err
}

// check refuses what could never lead to other nodes.
func (h *home) check() error {
	for _, addr := range h.Join {
		if err := cluster.CheckAddr(addr); err != nil {
			return usage(addrHint, "--join: %w", err)
		}
		if strings.HasPrefix(addr, ":") {
			return usage(addrHint, "--join: %s names no host", addr)
		}
	}
	if err := cluster.CheckAddr(h.Listen); err != nil {
		return usage(addrHint, "--listen: %w", err)
	}
	if err := cluster.CheckAddr(h.Routes); err != nil && h.Routes != "" {
		return usage(addrHint, "--routes: %w", err)
	}
	if h.Expect == 2 {
		return usage("a third node may be small: it can run beside another one, though not on the same disk", "--expect: %w", cluster.ErrTwo)
	}
	if h.Expect < 3 || h.Expect > 7 || h.Expect%2 == 0 {
		return usage("start three nodes and leave --expect out; further ones join them", "--expect %d: a cluster is founded by 3, 5 or 7 nodes with storage", h.Expect)
	}
	return nil
}

// open joins the others, and says meanwhile for whom it waits.
func (c *nodeRunCmd) open(ctx context.Context, st *station, h *home) (*cluster.Node, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make(chan struct{})
	defer close(opened)
	st.work.Go(func() {
		select {
		case <-st.leave:
			cancel()
		case <-opened:
		}
	})
	var once sync.Once
	return cluster.Open(ctx, cluster.Config{
		Dir: filepath.Join(c.Dir, serverDir), Certs: h.Certs, Name: h.Name, Join: h.Join, Listen: h.Listen, Routes: h.Routes, Advertise: h.Advertise,
		Storage: h.Storage, Expect: h.Expect, Version: protocol, Least: least, Now: node.Now, Warn: st.warn,
		Log: func(text string) {
			select {
			case <-opened:
				st.log(text)
			default:
				once.Do(func() { // it may be stopped before it finds the others
					if err := h.write(c.Dir, ""); err != nil {
						st.warn(err)
					}
				})
				st.opening(text)
			}
		},
	})
}

// crawl takes part in a crawl until the node leaves.
func (c *nodeRunCmd) crawl(ctx context.Context, e *env, st *station, sp cluster.Spec) error {
	cfg, err := c.config(e, st, sp)
	if errors.Is(err, cluster.ErrLost) {
		st.farewell(err)
	}
	if err != nil {
		return err
	}
	p := e.watch(cfg, c.JSON)
	cfg.Notice = p.note
	show := cfg.Progress
	cfg.Progress = func(s node.Status) {
		st.told(s)
		show(s)
	}
	cfg.Peer.Secret = st.cl.Secret()
	cfg.Peer.Watch = st.watch
	cfg.Peer.Fail = st.farewell
	cfg.Peer.Ready = st.ready(cfg.Dir, cfg.Peer.Scheme, func(origin uint64) error { return st.cl.Keep(sp.Name, origin) })
	cfg.Peer.Open = func(tell func(overlay.Event)) (node.Carrier, error) {
		var carrier node.Carrier = attended{st.cl, st}
		if path := os.Getenv(witnessEnv); path != "" {
			w, err := newWitness(path, carrier, st.warn)
			if err != nil {
				return nil, errors.Join(err, carrier.Close())
			}
			carrier, tell = w, w.before(tell)
		}
		if err := st.cl.Attend(tell); err != nil {
			return nil, errors.Join(err, carrier.Close()) // or somebody may read the store while it is closed
		}
		return carrier, nil
	}
	cfg.Peer.Quiet = func(is bool) {
		if is {
			st.work.Go(st.done)
		}
	}
	cfg.Peer.Rolls, cfg.Peer.Took = st.rolls, st.took
	cfg.Peer.Borrow = func(ctx context.Context, b []byte) ([]byte, string) { return st.cl.Any(ctx, lendTopic, b) }
	st.begin(sp.Name, p)
	p.say(fmt.Sprintf("crawling %s into %s with the others; Ctrl-C hands over and leaves", sp.Name, cfg.Dir))
	running, leaveNow := context.WithCancel(ctx)
	why := make(chan string, 1)
	st.work.Go(func() {
		st.forsaken(running, func(text string) {
			why <- text
			leaveNow()
		})
	})
	r, err := node.Run(running, st.leave, *cfg)
	cut, ended := ctx.Err() != nil, running.Err() != nil
	leaveNow()
	st.end(e)
	p.end()
	if errors.Is(err, context.Canceled) && ended {
		err = nil
	}
	alone := ""
	if ended && !cut && !st.gone() { // else it had handed over before the others were out of sight
		alone = <-why
	}
	if c.JSON && r.StoppedBy != crawl.StopByNobody {
		err = errors.Join(err, writeReport(e.out, r))
	}
	switch {
	case errors.Is(context.Cause(ctx), errGone):
		return nil // the caller says so
	case errors.Is(err, node.ErrStranger):
		return failure(fmt.Errorf("%s holds a crawl of another cluster, or of its own: %w", cfg.Dir, err), "start the node with a new, empty --dir, or move that folder away")
	case errors.Is(err, cluster.ErrLost):
		err = c.lost(cfg.Dir+" holds another crawl than before", err)
		st.farewell(err)
		return err
	case err != nil:
		return folderError(cfg.Dir, err)
	case cut:
		fmt.Fprintf(e.err, "weir: ended at once; the others take over in %s. weir node --dir %s comes back\n", short(overlay.TTL), c.Dir)
		return quiet(exitInterrupted)
	case alone != "":
		fmt.Fprintf(e.err, "weir: %s. weir node --dir %s comes back\n", alone, c.Dir)
		return nil
	}
	st.mu.Lock()
	left := untaken(st.member)
	st.mu.Unlock()
	if left > 0 {
		fmt.Fprintf(e.err, "weir: no other node stays to take over; everything is saved, and the crawl goes on when most nodes are back. weir node --dir %s comes back\n", c.Dir)
		return nil
	}
	fmt.Fprintf(e.err, "weir: everything is handed over; %s fetched by this node are in %s. weir node --dir %s comes back\n", many(r.Fetched, "page"), cfg.Dir, c.Dir)
	return nil
}

// lost says what to do when the node has lost its part of the crawl. Its own name and
// folder are no good any more: others count on what they stand for.
func (c *nodeRunCmd) lost(what string, err error) error {
	return failure(fmt.Errorf("%s: %w", what, err), fmt.Sprintf("if it was moved away, put it back; if it is lost, start a node with another --name and a new --dir, and weir node remove %s --refetch then has the others fetch again what this one had", c.Name))
}

// config makes of what was submitted what this node runs.
func (c *nodeRunCmd) config(e *env, st *station, sp cluster.Spec) (*node.Config, error) {
	t, err := readTask(sp.Body)
	if err != nil {
		return nil, err
	}
	s, seeds, list, err := t.open()
	if err != nil {
		return nil, err
	}
	s.Dir = filepath.Join(c.Dir, sp.Name)
	s.ShareWith, s.ShareWithin = c.ShareWith, c.ShareWithin
	s.Limit, s.Timetable, s.Quota, s.Strict, s.Yield, s.Probe, s.Memory = c.Limit, c.Timetable, c.Quota, c.Strict, c.Yield, c.Probe, c.Memory
	at, err := look(s.Dir)
	if err != nil {
		return nil, folderError(s.Dir, err)
	}
	if at == vacant && st.cl.Keeps(sp.Name) {
		return nil, c.lost(s.Dir+" is missing or empty", cluster.ErrLost)
	}
	if at == foreign {
		return nil, usage("name another folder with --dir", "%s is not empty and holds no crawl", s.Dir)
	}
	cfg, err := setup(s, seeds)
	if err != nil {
		return nil, err
	}
	cfg.Programs = list
	scheme, err := overlay.ParseScheme(t.Scheme)
	if err != nil {
		return nil, fmt.Errorf("the crawl that was submitted: %w", err)
	}
	roll := t.roll(sp.Name)
	cfg.Peer = &node.Peer{Name: c.Name, Scheme: scheme, Limit: t.Limit, Weight: c.Weight, Ends: t.Ends, Roll: &roll}
	bounded(cfg, t.Limit)
	for _, w := range cfg.Warnings {
		fmt.Fprintf(e.err, "weir: warning: %s\n", w)
	}
	return cfg, keep(s, at)
}

// attended is the cluster while a crawl goes on: with its end those who read the
// crawl's store end too.
type attended struct {
	*cluster.Node
	st *station
}

// Close implements node.Carrier.
func (a attended) Close() error {
	a.st.silence()
	return a.Node.Close()
}
