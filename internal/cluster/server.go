package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	syncEvery    = time.Second
	maxMessage   = maxAsk
	readyTime    = 30 * time.Second
	systemUser   = "system"
	memberUser   = "member"
	consumerWait = 30 * time.Second // a consumer that nobody reads from is gone after this
)

// startServer runs the node's server with routes to the peers it knows.
func startServer(cfg Config, c *certs, id *identity, routes address, release func(), log *serverLog) (s *server.Server, password string, err error) {
	password = draw(16)
	system := server.NewAccount("$SYS")
	o := &server.Options{
		ServerName: cfg.Name,
		// Whoever has a question comes to the lobby, but a server that listens to no
		// clients makes no routes either. Nobody knows the password of this port.
		Host:   "127.0.0.1",
		Port:   server.RANDOM_PORT,
		NoSigs: true,
		// Who comes is this node itself, and on a busy machine late.
		AuthTimeout: readyTime.Seconds(),
		MaxPayload:  maxMessage,
		// A node that is away is tried for each second: the log says so at first, and
		// then every ten minutes.
		ReconnectErrorReports: 600,

		JetStream:              cfg.Storage,
		StoreDir:               filepath.Join(cfg.Dir, "server"),
		SyncInterval:           syncEvery,
		SyncAlways:             cfg.Always,
		JetStreamMaxStore:      cfg.MaxStore,
		DisableJetStreamBanner: true,

		Accounts:      []*server.Account{system},
		SystemAccount: "$SYS",
		Users:         []*server.User{{Username: systemUser, Password: password, Account: system}, {Username: memberUser, Password: password}},

		CustomRouterAuthentication: nodesOnly{},
		Cluster: server.ClusterOpts{
			// The servers themselves refuse routes of another cluster.
			Name:       id.Cluster,
			Host:       routes.host,
			Port:       routes.port,
			Advertise:  routes.reach(),
			TLSConfig:  c.between(),
			TLSTimeout: 5,
			// A server that has a copy of a log reads it for its own node only: the
			// others have their own, or ask in a way that costs less (source.go).
			Permissions: &server.RoutePermissions{Import: &server.SubjectPermission{Deny: []string{directGet + ">"}}},
			// Batches come compressed.
			Compression: server.CompressionOpts{Mode: server.CompressionOff},
		},
	}
	if o.Cluster.Host == "" {
		o.Cluster.Host = "0.0.0.0"
	}
	// The number of routes is the server's guess at the size of a cluster that has
	// no state yet, and a route to itself would count.
	for _, p := range id.Peers {
		if p.Storage || !cfg.Storage {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: p.Routes})
		}
	}
	if len(o.Routes) == 0 {
		return nil, "", errors.New("start the server: no other node is known")
	}
	s, err = server.NewServer(o)
	if err != nil {
		return nil, "", fmt.Errorf("start the server: %w", err)
	}
	s.SetLogger(log, false, false)
	release()
	s.Start()
	if !s.ReadyForConnections(readyTime) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, "", fmt.Errorf("start the server: it was not ready after %v; %s", readyTime, log.worst())
	}
	return s, password, nil
}

// dial connects to the node's own server.
func dial(s nats.InProcessConnProvider, user, password string, log func(string)) (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo(user, password),
		nats.Timeout(readyTime), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log("server: " + err.Error()) }))
	if err != nil {
		return nil, fmt.Errorf("connect to the node's own server: %w", err)
	}
	return nc, nil
}

// serverLog passes on what a server has to say. Warnings and errors only: the
// rest is of interest to those who work on servers.
type serverLog struct {
	say   func(string)
	warn  func(error) // of certificates
	clock func() time.Time
	last  atomic.Pointer[string]
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}
func (l *serverLog) Warnf(format string, a ...any) {
	if strings.HasPrefix(format, "Plaintext passwords") {
		return // they are drawn at each start and never leave the process
	}
	l.say("server: " + fmt.Sprintf(format, a...))
}

func (l *serverLog) Errorf(format string, a ...any) {
	if err := l.refusal(format, a); err != nil {
		l.warn(err)
		return
	}
	text := "server: " + fmt.Sprintf(format, a...)
	l.last.Store(&text)
	l.say(text)
}

// refusal is about a certificate that this server has refused, or another one this
// server's, whichever of them has called the other; nil: it is about something else. It
// goes by the address: the name in a certificate that was refused can be anything.
func (l *serverLog) refusal(format string, a []any) error {
	from, _, ok := strings.Cut(format, " - ") // as in 192.0.2.7:4711 - rid:12 - TLS route handshake error
	if !ok {
		return nil
	}
	for _, x := range a {
		err, _ := x.(error)
		if c := new(CertError); errors.As(explain(err, "the server at "+hostOf(from), nil, l.clock()), &c) {
			return c
		}
	}
	return nil
}

// Fatalf is called where a server of its own would end. Ours does not take the
// node with it: Open and Status see that it is not running.
func (l *serverLog) Fatalf(format string, a ...any) { l.Errorf(format, a...) }

func (l *serverLog) worst() string {
	if p := l.last.Load(); p != nil {
		return *p
	}
	return "it did not say why"
}

// reserve takes the port that the server will listen on, and picks one where the
// configuration leaves that open: others are told of it long before. It is held
// until release.
func reserve(a *address) (release func(), err error) {
	ln, err := net.Listen("tcp", a.bind())
	if err != nil {
		return nil, fmt.Errorf("listen for other servers: %w", err)
	}
	a.port = ln.Addr().(*net.TCPAddr).Port
	return func() { ln.Close() }, nil
}
