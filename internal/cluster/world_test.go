package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"weir/internal/cluster/clustertest"
	"weir/overlay"
	"weir/page"
)

func TestMain(m *testing.M) {
	if conf := os.Getenv(childEnv); conf != "" {
		if err := child(conf); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1) // it is only ever killed
	}
	// A server that is shut down while it makes a stream forgets the one goroutine
	// that looks after its files, and the clock that all of these share.
	const path = "github.com/nats-io/nats-server/v2/server"
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(path+".(*fileStore).flushStreamStateLoop"), goleak.IgnoreTopFunction(path+"/ats.Register.func1"))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	clustertest.Run(t, func(t *testing.T) clustertest.World { return newWorld(t) })
}

var began = time.Now()

func now() page.Time { return page.Time(time.Since(began)) }

// world is nodes in this process, on loopback and ports of their own.
type world struct {
	t     testing.TB
	dir   string
	ctx   context.Context
	nodes map[string]*proxy
	tune  func(*Config)
	lobby []string
	woken chan struct{}

	stubborn atomic.Bool // nodes renew sessions that have ended, too
}

// proxy stands for a node that may still be starting.
type proxy struct {
	mu      sync.Mutex
	node    *Node
	waiting []overlay.Action
	err     error
	stop    context.CancelFunc
	done    chan struct{}
}

func (p *proxy) Do(a overlay.Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.node != nil {
		p.node.Do(a)
	} else {
		p.waiting = append(p.waiting, a)
	}
}

// A machine may be slow for as long as it likes: these times only end a test that
// would wait for ever.
const (
	patience = 5 * time.Minute  // for one thing
	lifetime = 20 * time.Minute // of a world
)

// worlds bounds those that are there at once. They wait for most of their time, but on a
// small machine many more of them would renew their sessions too late.
var worlds = make(chan struct{}, 4)

func newWorld(t testing.TB) *world {
	worlds <- struct{}{}
	t.Cleanup(func() { <-worlds })
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	w := &world{t: t, dir: t.TempDir(), ctx: ctx, nodes: map[string]*proxy{}, woken: make(chan struct{}, 1)}
	ca := filepath.Join(w.dir, "ca")
	if err := InitCA(ca); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for name := range w.nodes {
			w.Kill(name)
		}
		cancel()
	})
	for range 3 {
		w.lobby = append(w.lobby, freePort(t))
	}
	return w
}

func freePort(t testing.TB) string {
	addr, release, err := clustertest.Address()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addr
}

// config is that of a node; the first three have addresses that all know.
func (w *world) config(name string) Config {
	ca := filepath.Join(w.dir, "ca")
	certs := filepath.Join(ca, name)
	if _, err := os.Stat(certs); err != nil {
		if _, err := Issue(ca, name, []string{"127.0.0.1"}); err != nil {
			w.t.Fatal(err)
		}
	}
	cfg := Config{
		Dir: filepath.Join(w.dir, name), Certs: certs, Name: name,
		Listen: "127.0.0.1:0", Routes: freePort(w.t), Join: w.lobby,
		Storage: true, MaxStore: 1 << 30,
		Now: now, Tell: func(overlay.Event) {}, Warn: func(err error) { w.logf("%s: warning: %v", name, err) },
		ttl: 4 * time.Second,
	}
	if testing.Verbose() {
		cfg.Log = func(s string) { w.logf("%s: %s", name, s) }
	}
	if i := int(name[0] - 'a'); len(name) == 1 && i < len(w.lobby) {
		cfg.Listen = w.lobby[i]
	}
	if w.tune != nil {
		w.tune(&cfg)
	}
	return cfg
}

// logf does not use t.Log: a server may say something when the test is over.
func (w *world) logf(format string, a ...any) {
	if testing.Verbose() {
		fmt.Printf(time.Now().Format("05.000 ")+format+"\n", a...)
	}
}

func (w *world) Start(name string, tell func(overlay.Event)) overlay.Carrier {
	cfg := w.config(name)
	cfg.Tell = func(e overlay.Event) {
		tell(e)
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
	ctx, stop := context.WithCancel(w.ctx)
	p := &proxy{stop: stop, done: make(chan struct{})}
	w.nodes[name] = p
	go func() {
		defer close(p.done)
		n, err := Open(ctx, cfg)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.node, p.err = n, err
		if err != nil {
			w.logf("%s: %v", name, err)
			p.node = nil
			return
		}
		for _, a := range p.waiting {
			n.Do(a)
		}
		p.waiting = nil
	}()
	return p
}

func (w *world) Kill(name string) {
	p := w.nodes[name]
	p.stop()
	<-p.done
	if p.node != nil {
		p.node.kill()
	}
}

func (w *world) Until(what string, done func() bool) {
	w.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !done() {
		for name, p := range w.nodes {
			p.mu.Lock()
			if p.err != nil && w.ctx.Err() == nil && p.err.Error() != "" && !isCancel(p.err) {
				p.mu.Unlock()
				w.t.Fatalf("%s: %v", name, p.err)
			}
			p.mu.Unlock()
		}
		select {
		case <-w.woken:
		case <-tick.C:
		case <-late:
			w.t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// agreed does what nodes have to agree on, and again while they choose who leads them:
// on a machine that stands still for seconds they may do so at any moment.
func (w *world) agreed(do func() error) error {
	for {
		err := do()
		if err == nil || !undecided(err) || !pause(w.ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// undecided says of an error that what was asked for may still come to pass, or not. Of what
// went wrong at another node there is only a text.
func undecided(err error) bool {
	var api *jetstream.APIError
	return strings.Contains(plainly(err).Error(), ErrHeadless.Error()) || errors.Is(err, jetstream.ErrAsyncPublishTimeout) ||
		errors.As(err, &api) && api.ErrorCode == jetstream.ErrorCode(server.JSStreamDuplicateMessageConflict) // it was sent before, and is under way
}

func (w *world) Now() page.Time { return now() }

func isCancel(err error) bool { return errors.Is(err, context.Canceled) }
