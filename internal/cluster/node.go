package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weir/overlay"
	"weir/page"
)

// Node is one node's hold on the cluster. Make one with Open.
type Node struct {
	cfg    Config
	host   *host
	lobby  *lobby
	lock   io.Closer // on its folder
	secret page.Secret

	srv     *server.Server
	log     *serverLog
	nc, sys *nats.Conn
	js      jetstream.JetStream
	streams map[string]jetstream.Stream // not changed after Open

	append  *appender
	readers [overlay.Logs]*reader
	members *members
	owners  *owners
	crawls  *crawls
	talk    *talk
	health  *health
	count   counter

	ctx  context.Context // ends when the node closes
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	closed bool

	opened chan struct{} // closed when Open succeeds: nothing is told before

	// Events that are being told; none begins when mute is set.
	telling sync.Mutex
	tell    func(overlay.Event) // nil: nobody listens yet
	mute    bool
	tells   sync.WaitGroup
}

var _ overlay.Carrier = (*Node)(nil)

// Open starts the node: it founds a cluster with others, joins one, or comes back
// to its own. It returns when most nodes with storage are there, or when ctx ends;
// what it waits for meanwhile it says in the Log. Nothing is told before it returns.
func Open(ctx context.Context, cfg Config) (_ *Node, err error) {
	cfg, err = cfg.filled()
	if err != nil {
		return nil, err
	}
	c, err := loadCerts(cfg.Certs, cfg.Name, cfg.clock)
	if err != nil {
		return nil, err
	}
	listen, routes, err := cfg.place(c.hosts)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the node's folder: %w", err)
	}
	n := &Node{cfg: cfg, tell: cfg.Tell, streams: map[string]jetstream.Stream{}, opened: make(chan struct{})}
	n.ctx, n.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			n.shut()
		}
	}()
	if n.lock, err = vfs.Default.Lock(filepath.Join(cfg.Dir, lockFile)); err != nil {
		if errors.As(err, new(*fs.PathError)) {
			return nil, fmt.Errorf("lock the node's folder: %w", err)
		}
		return nil, fmt.Errorf("%s: %w", cfg.Dir, ErrInUse)
	}
	id, err := loadIdentity(cfg.Dir, cfg.Name, cfg.Storage)
	if err != nil {
		return nil, err
	}
	if err := id.save(cfg.Dir); err != nil {
		return nil, err
	}
	release, err := reserve(&routes)
	if err != nil {
		return nil, err
	}
	defer release()
	n.host = newHost(cfg, c, id)
	// The lobby may be asked as soon as it listens, and must know its address then.
	n.host.mu.Lock()
	n.lobby, err = openLobby(listen.bind(), c, cfg.clock, n.warn, n.host.serve)
	if err == nil {
		listen.port = n.lobby.port()
		n.host.self = place{Name: cfg.Name, Node: id.Node, Lobby: listen.reach(), Routes: routes.reach(), Storage: cfg.Storage, Protocol: cfg.Version}
	}
	n.host.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := n.host.enter(ctx); err != nil {
		return nil, err
	}
	if n.secret, err = id.secret(); err != nil {
		return nil, err
	}
	if err := n.connect(routes, release); err != nil {
		return nil, err
	}
	if err := n.prepare(ctx); err != nil {
		return nil, err
	}
	if err := n.expelled(ctx); err != nil {
		return nil, err
	}
	return n, n.begin(ctx)
}

// connect starts the server and the node's two connections to it.
func (n *Node) connect(routes address, release func()) (err error) {
	n.host.mu.Lock()
	id := *n.host.id
	n.host.mu.Unlock()
	var password string
	n.log = &serverLog{say: n.cfg.Log, warn: n.warn, clock: n.cfg.clock}
	n.srv, password, err = startServer(n.cfg, n.host.certs, &id, routes, release, n.log)
	if err != nil {
		return err
	}
	if n.nc, err = dial(n.srv, memberUser, password, n.cfg.Log); err != nil {
		return err
	}
	if n.sys, err = dial(n.srv, systemUser, password, n.cfg.Log); err != nil {
		return err
	}
	n.js, err = jetstream.New(n.nc, jetstream.WithPublishAsyncTimeout(appendTime))
	return err
}

// begin starts everything that runs until Close.
func (n *Node) begin(ctx context.Context) error {
	n.append = newAppender(n)
	n.members = newMembers(n)
	n.owners = newOwners(n)
	n.crawls = newCrawls(n)
	n.talk = newTalk(n)
	n.health = newHealth(n)
	if _, err := n.nc.Subscribe(n.append.prefix+"*", n.append.acked); err != nil {
		return fmt.Errorf("listen for acknowledgements: %w", err)
	}
	if err := n.talk.listen(); err != nil {
		return err
	}
	runs := []func(context.Context){
		n.append.send, n.append.sweep,
		n.members.renewals, n.members.watch, n.members.expiries,
		n.owners.claims, n.owners.watch, n.owners.poll,
		n.crawls.watch,
		n.talk.send,
		n.health.watch,
	}
	for i := range n.readers {
		var err error
		if n.readers[i], err = newReader(n, i); err != nil {
			return err
		}
		runs = append(runs, n.readers[i].run)
		if n.cfg.Storage {
			if err := n.lend(i); err != nil {
				return err
			}
		}
	}
	for _, run := range runs {
		n.wg.Go(func() { run(n.ctx) })
	}
	if err := n.members.first(ctx); err != nil {
		return err
	}
	n.removes()
	n.host.open(n.members.live, n.owners.banned, n.talk.question)
	close(n.opened)
	return nil
}

// Do carries an action out. It never blocks.
func (n *Node) Do(a overlay.Action) {
	switch a := a.(type) {
	case overlay.Renew:
		n.members.renew(a)
	case overlay.Claim:
		n.owners.claim(a)
	case overlay.Follow:
		n.readers[overlay.LogOf(a.Part)].follow(a)
	case overlay.Unfollow:
		n.readers[overlay.LogOf(a.Part)].unfollow(a.Part)
	case overlay.Append:
		n.append.add(a)
	case overlay.Say:
		n.talk.say("", a.Data)
	case overlay.Send:
		n.talk.say(a.To, a.Data)
	default:
		panic(fmt.Sprintf("cluster: %T is not for a carrier", a))
	}
}

// answer passes an event on, unless the node was closed.
func (n *Node) answer(e overlay.Event) {
	select {
	case <-n.opened:
	case <-n.ctx.Done():
		return
	}
	n.telling.Lock()
	tell := n.tell
	if n.mute || tell == nil {
		n.telling.Unlock()
		return
	}
	n.tells.Add(1)
	n.telling.Unlock()
	defer n.tells.Done()
	tell(e)
}

// warn passes on something a person should know, once while it lasts.
func (n *Node) warn(err error) {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	n.host.warnOnce(plainly(err))
}

// Secret keys the hashes of all nodes of the cluster.
func (n *Node) Secret() page.Secret { return n.secret }

// Cluster is the cluster's identity: other clusters have another one.
func (n *Node) Cluster() string {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	return n.host.id.Cluster
}

// Addr is where others find the node: to join, or with a question.
func (n *Node) Addr() string { return n.host.self.Lobby }

// Close gives the session up and stops everything; the others take over at once,
// so whatever the node crawls must have come to an end. Events are taken until it
// returns, and none comes after.
func (n *Node) Close() error {
	n.mu.Lock()
	was := n.closed
	n.closed = true
	n.mu.Unlock()
	if was {
		return nil
	}
	n.members.resign()
	n.shut()
	return nil
}

// kill stops the node without a word to the others.
func (n *Node) kill() {
	n.mu.Lock()
	was := n.closed
	n.closed = true
	n.mu.Unlock()
	if !was {
		n.shut()
	}
}

func (n *Node) shut() {
	n.stop()
	n.telling.Lock()
	n.mute = true
	n.telling.Unlock()
	if n.lobby != nil {
		n.lobby.close()
	}
	n.wg.Wait()
	if n.talk != nil {
		n.talk.close()
	}
	n.tells.Wait()
	for _, c := range []*nats.Conn{n.nc, n.sys} {
		if c != nil {
			c.Close()
		}
	}
	if n.srv != nil {
		n.srv.Shutdown()
		n.srv.WaitForShutdown()
	}
	if n.lock != nil {
		_ = n.lock.Close() // nothing was written to it
	}
}

// routes are the nodes whose servers this one is connected to.
func (n *Node) routes() map[string]bool {
	seen := map[string]bool{} // there are several connections to each
	if n.srv == nil {
		return seen
	}
	rz, err := n.srv.Routez(nil)
	if err != nil {
		return seen
	}
	for _, r := range rz.Routes {
		seen[r.RemoteName] = true
	}
	return seen
}

// pause waits, or ends early with the context. It reports whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
