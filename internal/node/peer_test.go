package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/cluster"
	"weir/internal/cluster/clustertest"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/overlay"
	"weir/page"
)

// fleet are nodes in this process that crawl one web together.
type fleet struct {
	t     testing.TB
	web   *testweb.Web
	certs string
	lobby []string
	nodes []*sailor
	tune  func(i int, cfg *Config)

	roll   Roll // of nodes that are launched, see agree
	scheme overlay.Scheme
	moves  atomic.Int64 // pages that were handed on
	spread func(overlay.Wide)
	limit  int64
	ends   time.Time
	watch  func(overlay.Status)
}

// sailor is one of them.
type sailor struct {
	name   string
	dir    string
	routes string // where its server listens
	cancel context.CancelFunc
	stop   chan struct{}
	done   chan struct{}
	report Report
	err    error
	cut    bool // it found nobody any more to hand over to

	mu    sync.Mutex
	quiet bool
	heard chan struct{} // holds one when anything of it has changed
	rolls chan Roll
	took  int // the last roll
}

// fleets bounds those that sail at once. They wait for most of their time, but on a small
// machine many more of them would renew their sessions too late.
var fleets = make(chan struct{}, 5)

func newFleet(t testing.TB, web *testweb.Web, n int) *fleet {
	t.Helper()
	fleets <- struct{}{}
	t.Cleanup(func() { <-fleets })
	f := &fleet{t: t, web: web, certs: filepath.Join(t.TempDir(), "ca")}
	if err := cluster.InitCA(f.certs); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		f.lobby = append(f.lobby, address(t))
		f.nodes = append(f.nodes, &sailor{name: fmt.Sprintf("n%d", i), dir: t.TempDir(), routes: address(t), heard: make(chan struct{}, 1)})
	}
	t.Cleanup(func() {
		for _, s := range f.nodes {
			s.kill()
		}
	})
	return f
}

func address(t testing.TB) string {
	t.Helper()
	addr, release, err := clustertest.Address()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addr
}

// launch starts a node, or starts it again.
func (f *fleet) launch(i int) {
	f.t.Helper()
	s := f.nodes[i]
	certs := filepath.Join(f.certs, s.name)
	if _, err := os.Stat(certs); err != nil { // else it is started again
		if certs, err = cluster.Issue(f.certs, s.name, []string{"127.0.0.1"}); err != nil {
			f.t.Fatal(err)
		}
	}
	cfg := config(f.t, f.web)
	cfg.Dir, cfg.Order = filepath.Join(s.dir, "crawl"), "siteopic"
	if f.tune != nil {
		f.tune(i, &cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.stop, s.done, s.quiet = cancel, make(chan struct{}), make(chan struct{}), false
	s.mu.Lock()
	s.rolls, s.took = make(chan Roll, 16), -1
	s.mu.Unlock()
	var at atomic.Pointer[cluster.Node]
	var shelf atomic.Pointer[store.Store]
	var secret page.Secret
	copy(secret[:], "all of one fleet")
	cfg.Peer = &Peer{
		Name: s.name, Secret: secret, Scheme: f.scheme, Limit: f.limit, Ends: f.ends, Watch: f.watch,
		Open: func(tell func(overlay.Event)) (Carrier, error) {
			c, err := cluster.Open(ctx, cluster.Config{
				Dir: filepath.Join(s.dir, "cluster"), Certs: certs, Name: s.name, Join: f.lobby, Listen: f.lobby[i], Routes: s.routes, Storage: i < 3,
				Now: clock, Tell: tell, Warn: func(err error) { f.t.Log(s.name, "warns:", err) },
			})
			if err == nil {
				at.Store(c)
				c.AnswerInTurn("lend", func(_ context.Context, b []byte) ([]byte, error) { return Lend(shelf.Load(), f.scheme, b) })
			}
			return counting{c, f}, err
		},
		Ready:  func(st *store.Store) error { shelf.Store(st); return nil },
		Borrow: func(ctx context.Context, b []byte) ([]byte, string) { return at.Load().Any(ctx, "lend", b) },
		Rolls:  s.rolls,
		Took: func(number int) {
			s.mu.Lock()
			s.took = number
			s.mu.Unlock()
			s.tell()
		},
		Quiet: func(is bool) {
			s.mu.Lock()
			s.quiet = is
			s.mu.Unlock()
			s.tell()
		},
	}
	if len(f.roll.Programs) > 0 {
		roll := f.roll
		cfg.Peer.Roll = &roll
	}
	go func() {
		defer close(s.done)
		s.report, s.err = Run(ctx, s.stop, cfg)
	}()
}

// agree has the nodes that run take up other programs, and those that start begin with
// them.
func (f *fleet) agree(change func(list []Enrolled) []Enrolled, nodes ...int) {
	f.roll = Roll{Number: f.roll.Number + 1, Programs: change(slices.Clone(f.roll.Programs))}
	for _, i := range nodes {
		f.nodes[i].rolls <- f.roll
	}
}

// tell wakes who waits for the node. Nobody may.
func (s *sailor) tell() {
	select {
	case s.heard <- struct{}{}:
	default:
	}
}

func (s *sailor) kill() {
	if s.cancel != nil {
		s.cancel()
		<-s.done
	}
}

// leave has all nodes hand over and end. The last ones may be without a majority, and
// are let go then, as by weir node.
func (f *fleet) leave() {
	for _, s := range f.nodes {
		close(s.stop)
	}
	gone := make(chan struct{}, len(f.nodes))
	for _, s := range f.nodes {
		go func() {
			<-s.done
			gone <- struct{}{}
		}()
	}
	most := len(f.nodes)/2 + 1
	for range most {
		<-gone
	}
	var rest []*sailor
	for _, s := range f.nodes {
		select {
		case <-s.done:
		default:
			rest = append(rest, s)
		}
	}
	for _, s := range rest {
		s.kill()
		if s.cut = true; errors.Is(s.err, context.Canceled) {
			s.err = nil
		}
	}
	for range len(f.nodes) - most {
		<-gone
	}
}

// quieten waits until the nodes know that nothing is left, or one of them has ended: the
// others may wait for it.
func (f *fleet) quieten(nodes ...int) {
	f.t.Helper()
	over, quit := make(chan *sailor, len(nodes)), make(chan struct{})
	defer close(quit)
	for _, i := range nodes {
		go func() {
			select {
			case <-f.nodes[i].done:
				over <- f.nodes[i]
			case <-quit:
			}
		}()
	}
	for _, i := range nodes {
		s := f.nodes[i]
		for {
			s.mu.Lock()
			quiet := s.quiet && (len(f.roll.Programs) == 0 || s.took == f.roll.Number)
			s.mu.Unlock()
			if quiet {
				break
			}
			select {
			case <-s.heard:
			case x := <-over:
				f.t.Fatalf("%s has ended: %v", x.name, x.err)
			}
		}
	}
}

// TestThreeNodesCrawlOneWeb: together they fetch every page once, with manners,
// and notice that nothing is left.
func TestThreeNodesCrawlOneWeb(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"host", "url", "host-8", "redirect:url,over=10,max=2", "redirect:over=1ns", "adaptive:over=10", "adaptive:rtt=1ns"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			threeNodes(t, scheme)
		})
	}
}

func threeNodes(t *testing.T, scheme string) {
	web := start(t, testweb.Config{Seed: 4, Addresses: 6, Sites: testweb.Even(30, testweb.Site{Pages: 40, Links: 10, Size: 3000, Latency: time.Millisecond})})
	f := newFleet(t, web, 3)
	f.tune = func(_ int, cfg *Config) {
		cfg.Wait, cfg.PerConn, cfg.PerServer, cfg.Conns = 5*time.Millisecond, 4, 2, 4
	}
	var err error
	if f.scheme, err = overlay.ParseScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	complete(t, web, testweb.Manners{Wait: 5 * time.Millisecond, PerServer: 2})
	fetched := int64(0)
	f.leave()
	for _, s := range f.nodes {
		if s.err != nil {
			t.Errorf("%s: %v", s.name, s.err)
		}
		if s.report.Fetched == 0 {
			t.Errorf("%s has fetched nothing", s.name)
		}
		fetched += s.report.Fetched
	}
	if want := int64(len(web.Truth())); fetched != want {
		t.Errorf("the nodes have fetched %d pages together, the web has %d", fetched, want)
	}
	// Adaptive hands none on as long as its nodes have connections for all their hosts.
	if moves := f.moves.Load(); moves > 0 && f.scheme.Second == overlay.Stay || moves == 0 && f.scheme.Second != overlay.Stay && f.scheme.Second != overlay.Adapt {
		t.Errorf("%d pages were handed on", moves)
	}
}

// counting is a carrier that counts the pages that are handed on, and tells of hosts that are
// spread or gathered.
type counting struct {
	Carrier
	f *fleet
}

func (c counting) Do(a overlay.Action) {
	if a, ok := a.(overlay.Append); ok {
		for _, r := range a.Batch.Records {
			switch r := r.(type) {
			case overlay.Handed:
				c.f.moves.Add(int64(len(r.Pages)))
			case overlay.Spread:
				for _, w := range r.Hosts {
					if c.f.spread != nil {
						c.f.spread(w)
					}
				}
			}
		}
	}
	c.Carrier.Do(a)
}

// TestHostsAreSpreadAndGathered: nodes with a connection each, for hosts of more pages than
// they will ever fetch, spread them; started again with a connection for every host, they
// gather them. Meanwhile a host has one visitor at a time, and its rest.
func TestHostsAreSpreadAndGathered(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 7, Sites: testweb.Even(12, testweb.Site{Pages: 100_000, Links: 20, Size: 500, Latency: time.Millisecond})})
	f := newFleet(t, web, 3)
	var err error
	if f.scheme, err = overlay.ParseScheme("adaptive:over=20"); err != nil {
		t.Fatal(err)
	}
	conns := 1
	f.tune = func(_ int, cfg *Config) { cfg.Wait, cfg.PerConn, cfg.Conns = 5*time.Millisecond, 4, conns }
	spread, gathered := make(chan struct{}), make(chan struct{})
	f.spread = changes(spread, gathered)
	sail := func(until chan struct{}) {
		for i := range f.nodes {
			f.launch(i)
		}
		select {
		case <-until:
		case <-f.nodes[0].done:
		case <-f.nodes[1].done:
		case <-f.nodes[2].done:
		}
		f.leave()
		for _, s := range f.nodes {
			if s.err != nil {
				t.Fatalf("%s: %v", s.name, s.err)
			}
		}
		select {
		case <-until:
		default:
			t.Fatal("a node had nothing left to do before a host was spread and gathered")
		}
	}
	sail(spread)
	conns = 64
	sail(gathered)
	if f.moves.Load() == 0 {
		t.Error("no page was handed on")
	}
	// Which page comes twice when nodes end is for others to test.
	for _, p := range web.Audit().Problems(testweb.Manners{Wait: 5 * time.Millisecond, Duplicates: math.MaxInt}) {
		t.Error(p)
	}
}

// changes closes a channel when the first host is spread, and the other when the first is
// gathered.
func changes(spread, gathered chan struct{}) func(overlay.Wide) {
	var mu sync.Mutex
	wide := map[string]overlay.Wide{}
	var once, again sync.Once
	return func(w overlay.Wide) {
		mu.Lock()
		defer mu.Unlock()
		was := wide[w.Host]
		if w.Version <= was.Version { // it is written again
			return
		}
		wide[w.Host] = w
		if w.N > max(was.N, 1) {
			once.Do(func() { close(spread) })
		} else {
			again.Do(func() { close(gathered) })
		}
	}
}
