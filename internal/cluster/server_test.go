package cluster

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// drowsy is a server that is heard after a while, as on a machine with too much to do.
type drowsy struct {
	*server.Server
	after time.Duration
}

func (d drowsy) InProcessConn() (net.Conn, error) {
	c, err := d.Server.InProcessConn()
	return &lateConn{Conn: c, after: d.after}, err
}

// lateConn sends nothing for a while.
type lateConn struct {
	net.Conn
	after time.Duration
	once  sync.Once
}

func (c *lateConn) Write(b []byte) (int, error) {
	c.once.Do(func() { <-time.After(c.after) })
	return c.Conn.Write(b)
}

// A node that is slow to speak to its own server is not taken for a stranger who says
// nothing: servers give those two seconds.
func TestNodeMayBeLateAtItsOwnServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := w.config("a")
	cfg, err := cfg.filled()
	if err != nil {
		t.Fatal(err)
	}
	c, err := loadCerts(cfg.Certs, cfg.Name, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	routes := address{host: "127.0.0.1"}
	release, err := reserve(&routes)
	if err != nil {
		t.Fatal(err)
	}
	id := &identity{Cluster: "x", Peers: []place{{Name: "b", Routes: w.lobby[1], Storage: true}}}
	log := &serverLog{say: func(s string) { w.logf("%s", s) }, warn: func(err error) { t.Error(err) }, clock: time.Now}
	s, password, err := startServer(cfg, c, id, routes, release, log)
	if err != nil {
		t.Fatal(err)
	}
	defer s.WaitForShutdown()
	defer s.Shutdown()
	nc, err := dial(drowsy{s, 3 * time.Second}, memberUser, password, log.say)
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}
