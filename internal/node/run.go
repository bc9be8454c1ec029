package node

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/fetch"
	"weir/internal/search"
	"weir/internal/store"
	"weir/overlay"
	"weir/page"
)

// Run crawls until nothing is left, a bound is reached, or the user has had
// enough. Closing stop lets what is under way finish; cancelling ctx ends it
// now. Both save everything that came before. The Report is filled in as far as
// the crawl went, also with an error.
func Run(ctx context.Context, stop <-chan struct{}, cfg Config) (Report, error) {
	n, err := open(cfg)
	if err != nil {
		return Report{Dir: cfg.Dir}, err
	}
	err = n.run(ctx, stop)
	return n.close(err)
}

// node is one run of a crawl.
type node struct {
	cfg      Config
	store    *store.Store
	ledger   *crawl.Ledger
	engine   *crawl.Engine
	ecfg     crawl.EngineConfig
	client   atomic.Pointer[fetch.Client]
	before   *fetch.Client      // the one from before there was a limit; nil: there was none before
	wire     *fetch.Wire        // nil without a limit
	urges    map[string]float64 // of the loop: whose bytes come first, as the Engine said last
	link     crawl.Limits       // as the user has set them for this node
	limits   crawl.Limits       // of the loop: as they hold now
	due      bool               // of the loop: there are deadlines
	yield    *yielding          // nil: never steps aside
	probe    fetch.Target       // for yield
	secret   page.Secret
	programs crawl.Programs            // the committer's
	turned   int                       // how often they have changed in this run; the committer's
	rules    rules                     // theirs; the committer's
	several  *crawl.Several            // the same, if more than one share the crawl
	want     atomic.Pointer[page.Want] // what the program asks pages for
	relaid   bool                      // it begins anew with this version
	keeps    bool                      // there is no archive, but facts of pages are kept
	kept     page.Want                 // which
	forgets  bool                      // there is neither, and the program may need them
	resumed  bool                      // the folder was there before: hosts may have been visited a moment ago
	fresh    crawl.Totals
	began    time.Time
	reason   string

	wallAhead  int64 // of the loop: the wall clock less the crawl's, as told last
	wallOffset int   // its zone, then
	paused     bool  // of the loop: nothing may flow
	boundBy    string

	peer    *peer   // nil: no other node crawls with this one
	counted mark    // of the loop: when the others were told last how busy it is
	lender  *lender // nil: pages are not shared with other crawls

	log   *journal
	index *search.Indexer // nil: pages are not indexed while they are crawled

	events   chan crawl.Event
	asks     chan ask
	results  chan *result
	scores   chan scored // of pages that were ranked
	again    chan delivered
	turns    chan turn // to other programs
	awaits   chan crawl.Await
	saved    chan struct{} // closed when the committer has ended
	outgrown bool          // of the ranking, of which there is one at a time: the web is too large for it
	known    chan recalled // pages of earlier runs, on their way into memory
	mail     mailbox
	commits  latency
	tools    chan *tool
	visits   map[string]*visit // of the loop: who holds a host's connection
	tracer   *crawl.Tracer
	trace    *bufio.Writer
	traceTo  *os.File

	flying map[uint64]string // of the loop: the host of every request under way
	work   sync.WaitGroup    // visits and lookups
	failed chan error        // the first failure of our own
	broken bool              // the committer ended early; read after it has
	cut    bool              // the user could not wait
}

// ErrStranger says that a folder belongs to another cluster, or to a crawl of its
// own.
var ErrStranger = errors.New("the folder belongs to another crawl")

// ErrShared says that a folder is a node's of a cluster: to crawl it alone would be
// to visit hosts that other nodes visit too.
var ErrShared = errors.New("the folder belongs to a node of a cluster")

// Credits: how many answers may be on their way.
const (
	maxLoads    = 64
	maxResolves = 64
)

// An address that serves more than so many domains is a CDN's, and may have more
// connections than another.
const (
	cdnDomains = 50
	perCDN     = 32
)

func open(cfg Config) (_ *node, err error) {
	link := cfg.Bandwidth.Limits
	if cfg.Peer != nil && cfg.Peer.Limit > 0 {
		cfg.Bandwidth.Rate = LeastShare // until the others have agreed on more
	}
	n := &node{cfg: cfg, link: link, limits: cfg.Bandwidth.Limits, began: time.Now(), visits: map[string]*visit{}, flying: map[uint64]string{}, failed: make(chan error, 1)}
	opts := store.Options{Form: cfg.Archive, MaxFile: cfg.MaxFile, Info: cfg.Info, Cache: cfg.Memory / 12, Ordered: crawl.Ordered}
	n.store, err = store.Open(cfg.Dir, opts)
	n.resumed = err == nil
	if errors.Is(err, store.ErrNotCrawl) {
		n.store, err = store.Create(cfg.Dir, opts)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.store.Close())
		}
	}()
	if err := n.openCore(); err != nil {
		return nil, err
	}
	if cfg.Bandwidth.Set() {
		n.wire = n.newWire()
		n.cfg.Fetch.Wire = n.wire
	}
	if cfg.Peer != nil {
		n.cfg.Fetch.Unheard = overlay.TTL - overlay.Hold // then others may visit its hosts
	}
	if n.cfg.Fetch.Memory == 0 {
		n.cfg.Fetch.Memory = max(cfg.Memory/4, 64<<20)
	}
	if cfg.Archive == store.None {
		n.cfg.Fetch.Digest = varied
	}
	client, err := fetch.New(n.cfg.Fetch)
	if err != nil {
		return nil, err
	}
	n.client.Store(client)
	if n.log, err = openJournal(filepath.Join(cfg.Dir, "log.jsonl")); err != nil {
		return nil, err
	}
	if err := n.openTrace(); err != nil {
		n.log.close()
		return nil, err
	}
	if cfg.Yield && n.wire != nil {
		if err := n.openYield(); err != nil {
			n.log.close()
			return nil, err
		}
	}
	if n.lender, err = newLender(n, cfg.Lending); err != nil {
		n.log.close()
		return nil, err
	}
	n.openIndex()
	n.events = make(chan crawl.Event, 256)
	n.asks = make(chan ask)
	n.results = make(chan *result, groupPages)
	n.known = make(chan recalled, 2)
	n.scores = make(chan scored)
	n.again = make(chan delivered)
	n.turns = make(chan turn)
	n.awaits = make(chan crawl.Await)
	n.saved = make(chan struct{})
	n.mail.ring = make(chan struct{}, 1)
	workers := runtime.GOMAXPROCS(0) + 1
	n.tools = make(chan *tool, workers)
	for range workers {
		n.tools <- newTool(n)
	}
	return n, nil
}

// varied says whose payload must be told from others when none is archived: the
// queries of one path, of which the trap guard counts those that bring nothing
// new.
func varied(u page.URL) bool { return strings.IndexByte(u.Path(), '?') >= 0 }

// openCore makes the two machines.
func (n *node) openCore() error {
	secret, ok, err := crawl.ReadSecret(n.store)
	if err != nil {
		return err
	}
	if p := n.cfg.Peer; p != nil && ok && secret != p.Secret {
		return ErrStranger
	}
	if _, shared, err := crawl.ReadOrigin(n.store); err != nil || shared && n.cfg.Peer == nil {
		return cmp.Or(err, ErrShared) // other nodes own parts of it by now
	}
	if !ok {
		if p := n.cfg.Peer; p != nil {
			secret = p.Secret
		} else if _, err := rand.Read(secret[:]); err != nil {
			return fmt.Errorf("draw the crawl's secret: %w", err)
		}
		g := n.store.Begin()
		crawl.WriteSecret(g, secret)
		if err := g.Commit(); err != nil {
			return err
		}
	}
	n.secret = secret
	order, err := frontier.Order(n.cfg.Order)
	if err != nil {
		return err
	}
	rules, err := n.openRules()
	if err != nil {
		return err
	}
	n.rules = rules
	n.several, _ = rules.(*crawl.Several)
	var share *crawl.Sharing
	if n.cfg.Peer != nil {
		n.peer = newPeer(n, *n.cfg.Peer)
		if share, err = n.peer.sharing(); err != nil {
			return err
		}
	}
	n.ledger, err = crawl.NewLedger(n.store, crawl.LedgerConfig{
		Order: order, Trap: n.cfg.Trap, Rules: rules, Traits: rules.Traits(), Secret: secret, Domains: n.cfg.DomainPages > 0, Memory: n.cfg.Memory * 3 / 8, Kept: maxKept,
		Links: order.Traits().Ranked, Again: n.cfg.Archive != store.None || n.keeps, Said: n.keeps, Version: n.programs.Version, Share: share,
	})
	if err != nil {
		return err
	}
	if n.relaid {
		n.ledger.Clock(time.Now().UnixNano())
		if err := n.turnTo(n.programs.Version, rules); err != nil {
			return err
		}
		if err := n.flush(n.store.Begin()); err != nil {
			return err
		}
	}
	if r := n.roll(); r != nil {
		n.ledger.Clock(time.Now().UnixNano())
		if err := n.takeUp(r); err != nil {
			return err
		}
	}
	n.fresh = n.ledger.Totals()
	c := n.cfg
	n.ecfg = crawl.EngineConfig{
		Order: c.Order,
		Frontier: frontier.Config{
			Wait: c.Wait, PerConn: c.PerConn, Auto: c.Auto, Conns: c.Conns, PerServer: c.PerServer, PerCDN: perCDN, CDNDomains: cdnDomains,
			SitePages: c.SitePages, DomainPages: c.DomainPages, Hot: 4*c.Conns + 4096, Proxy: c.Fetch.Proxy != nil,
			Holdable: frontier.Holdable, NoRobots: c.IgnoreRobots, Sites: c.Sites, Leased: c.Peer != nil,
		},
		Bandwidth: c.Bandwidth,
		Batch:     c.Batch, StopGain: c.StopGain, Demands: c.Demands, Shared: c.Peer != nil, Rationed: c.Peer != nil && c.MaxPages > 0, Metered: c.Peer != nil && c.MaxBytes > 0,
		Open: 4*c.Conns + 512, Loads: maxLoads, Resolves: maxResolves,
	}
	n.ecfg.MaxPages, n.ecfg.MaxBytes, n.ecfg.MaxTime = n.alone()
	if c.Peer != nil && !c.Peer.Ends.IsZero() {
		n.ecfg.Ends = c.Peer.Ends.UnixNano()
	}
	if share != nil && !n.ledger.Several() {
		n.ecfg.Homes, n.ecfg.Leave = share.Leaves()
	}
	n.engine, err = crawl.NewEngine(n.ecfg)
	return err
}

func (n *node) openTrace() error {
	if n.cfg.Trace == "" {
		return nil
	}
	f, err := os.OpenFile(n.cfg.Trace, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the trace: %w", err)
	}
	n.traceTo, n.trace = f, bufio.NewWriterSize(f, 1<<16)
	n.tracer = crawl.NewTracer(n.trace, n.ecfg)
	return nil
}

// run starts the committer and the loop and waits for everything it started.
func (n *node) run(ctx context.Context, stop <-chan struct{}) error {
	if err := n.seed(); err != nil {
		return err
	}
	n.ledger.Clock(time.Now().UnixNano())
	start, err := n.ledger.Start(n.resumed)
	if err != nil {
		return err
	}
	if err := n.learn(&start); err != nil {
		return err
	}
	if n.peer != nil {
		if err := n.peer.open(); err != nil {
			return err
		}
		n.peer.note(n.several)
		if start.Stop != "" {
			n.peer.halt(start.Stop)
			start.Stop = ""
		}
	}
	n.due = len(n.cfg.Demands) > 0 || len(start.Promises) > 0
	for _, w := range n.cfg.Warnings {
		n.log.event("warning", map[string]any{"what": w})
	}
	if n.relaid {
		n.log.event("program", map[string]any{"version": n.programs.Version, "queued": start.Totals.Queued, "stored": start.Totals.Fetched})
	}
	if n.forgets {
		n.notice(forgetful)
	}
	n.log.event("start", map[string]any{"resumed": n.resumed, "queued": start.Totals.Queued, "sites": len(start.Sites)})

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The committer outlives the loop, whose last orders it still carries out.
	saving, saved := context.WithCancel(context.WithoutCancel(ctx))
	defer saved()
	var committer sync.WaitGroup
	committer.Go(func() {
		defer close(n.saved)
		if err := n.commitAll(saving); err != nil {
			n.broken = true
			n.fail(err)
		}
	})
	if n.peer != nil {
		n.peer.begin(ctx)
		leave := stop
		n.work.Go(func() { n.peer.run(ctx, leave) })
		if rolls := n.cfg.Peer.Rolls; rolls != nil {
			n.work.Go(func() { n.heedRolls(ctx, rolls) })
		}
		stop = nil // it leaves first, and then stops the Engine
	}
	if n.wire != nil {
		n.runWire(ctx)
	}
	if n.yield != nil {
		n.work.Go(func() { n.watchLink(ctx) })
	}
	defer n.lender.close()
	control, err := n.serveControl(ctx)
	if err != nil {
		n.log.event("warning", map[string]any{"what": err.Error()}) // a crawl that cannot be steered is one nevertheless
	} else {
		defer control.close()
	}
	if !n.ledger.Remembers() {
		n.work.Go(func() { n.recall(ctx) })
	}
	err = n.loop(ctx, stop, start)
	cancel(err)
	saved()
	// Nobody takes events any more; those who still send must not be left hanging.
	done := make(chan struct{})
	go func() {
		n.work.Wait()
		committer.Wait()
		close(done)
	}()
	for {
		select {
		case <-n.events:
		case r := <-n.results:
			r.release()
		case <-done:
			select {
			case late := <-n.failed:
				return errors.Join(err, late)
			default:
				return err
			}
		}
	}
}

// seed makes the user's pages durable before anything is fetched. A resumed
// crawl has them already, unless the user names others.
func (n *node) seed() error {
	digest := n.seedDigest()
	if had, err := crawl.Seeded(n.store, digest); err != nil || had {
		return err
	}
	n.ledger.Clock(time.Now().UnixNano())
	if err := n.ledger.Begin(); err != nil {
		return err
	}
	for _, s := range n.cfg.Seeds {
		if err := n.ledger.Seed(n.cfg.Strip.Apply(s.URL), s.Score); err != nil {
			return err
		}
		if n.ledger.Pending() >= 4096 {
			if err := n.flush(n.store.Begin()); err != nil {
				return err
			}
		}
	}
	g := n.store.Begin()
	crawl.WriteSeeded(g, digest)
	return n.flush(g)
}

// seedDigest stands for what seeds bring into the state.
func (n *node) seedDigest() []byte {
	h := sha256.New()
	fmt.Fprintln(h, n.cfg.Scope.Scope)
	for _, s := range n.cfg.Seeds {
		fmt.Fprintln(h, n.cfg.Strip.Apply(s.URL), s.Score)
	}
	return h.Sum(nil)
}

// flush commits what the Ledger has gathered, before the Engine has started:
// Start will tell it.
func (n *node) flush(g *store.Group) error {
	if _, err := n.ledger.Flush(g); err != nil {
		return err
	}
	return g.Commit()
}

// close writes the report and lets go of everything.
func (n *node) close(err error) (Report, error) {
	if err == nil && !n.cut {
		if err = n.store.Finish(); err == nil {
			err = n.keepSeen()
		}
	}
	var large *TooLarge
	if err != nil && n.reason == crawl.StopByNobody {
		switch {
		case errors.As(err, &large):
			n.reason = crawl.StopTooLarge
		case errors.Is(err, store.ErrFull) || errors.Is(err, syscall.ENOSPC):
			n.reason = crawl.StopNoRoom
		default:
			n.reason = crawl.StopByStore
		}
	}
	report := n.report()
	n.log.event("stop", map[string]any{"stopped_by": n.reason, "fetched": report.RunPages, "queued": report.Queued})
	if n.tracer != nil {
		err = errors.Join(err, n.tracer.Err(), n.trace.Flush(), n.traceTo.Close())
	}
	n.indexFault(n.index.Close())
	closed := n.store.Close()
	if err == nil {
		err = closed // after a failure it only says the same again
	}
	n.log.close()
	if n.before != nil {
		err = errors.Join(err, n.before.Close())
	}
	err = errors.Join(err, n.client.Load().Close())
	if err == nil || n.reason == crawl.StopTooLarge { // nothing is wrong with the folder
		err = errors.Join(err, writeReport(filepath.Join(n.cfg.Dir, "report.json"), report))
	}
	return report, err
}
