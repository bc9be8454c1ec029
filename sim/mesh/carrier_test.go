package mesh

import (
	"testing"
	"time"

	"weir/internal/cluster/clustertest"
	"weir/overlay"
	"weir/page"
)

// carried is a cluster for the suite that the live carrier passes too.
type carried struct {
	t     *testing.T
	net   *Net
	ports map[string]*Port
}

func (c *carried) Start(name string, tell func(overlay.Event)) overlay.Carrier {
	c.ports[name] = c.net.Open(name, c.net.Now, tell)
	return c.ports[name]
}

func (c *carried) Kill(name string) { c.ports[name].Close() }

func (c *carried) Until(what string, done func() bool) {
	c.t.Helper()
	for end := c.net.Now().Add(5 * time.Minute); !done(); {
		if c.net.Now() >= end {
			c.t.Fatal(what)
		}
		c.net.Run(c.net.Now().Add(100*time.Millisecond), func() bool { return false })
	}
}

func (c *carried) Now() page.Time { return c.net.Now() }

// The simulated carrier does what the live one does.
func TestCarrier(t *testing.T) {
	clustertest.Run(t, func(t *testing.T) clustertest.World {
		return &carried{t, NewNet(1, overlay.Parts), map[string]*Port{}}
	})
}
