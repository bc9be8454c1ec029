package cluster

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"weir/overlay"
	"weir/page"
)

// Config says who a node is, and where it finds the others.
type Config struct {
	Dir   string // of its own; what the server keeps is here
	Certs string // the folder with ca.pem, node.pem, node.key
	Name  string // as its certificate says
	Join  []string

	Listen    string // HOST:PORT of the lobby
	Routes    string // HOST:PORT between servers; "" is the next port after Listen
	Advertise string // the host that others reach it at; "" is that of Listen, or the first of the certificate

	Storage  bool // it keeps logs; the others of a cluster may come and go
	Expect   int  // nodes with storage that found the cluster, 3 or 5; 0 = 3
	Replicas int  // of everything; 0 = 3
	Always   bool // to disk before each acknowledgement: slower, and nothing is lost if all lose power at once

	MaxStore int64         // bytes of the disk; 0 is what the server finds sensible
	Forget   time.Duration // a node with storage that was away so long is removed; 0 = 24 h, < 0 never

	Now  func() page.Time    // the driver's clock
	Tell func(overlay.Event) // may block: what follows waits; nil: nobody, see Attend
	Warn func(error)         // something a person should know of; at most twice a minute while it lasts
	Log  func(string)        // what the server has to say, and what a node waits for; nil is silence

	// Of the protocol, and of the oldest one that is understood; 0: as this weir has
	// them. Tests of upgrades set them.
	Version, Least int

	// Set by tests only.
	clock func() time.Time
	ttl   time.Duration
	beat  time.Duration // of consumers
}

const (
	defaultExpect   = 3
	defaultReplicas = 3
	defaultForget   = 24 * time.Hour
)

// The protocol between nodes. A node talks to those whose version is at least
// its least, and the other way round. Version goes up with whatever others must
// know before they are asked for it; least, when older nodes would do harm: then
// all nodes are stopped before the first is upgraded.
//
//	2  ends of pages tell their depths, which older nodes misread
//	3  logs of bundles, letters of several pieces: older nodes would read neither
//	4  pages are counted over all nodes: older nodes would not tell theirs
//	5  pages that are left are divided: older nodes would not keep to it
//	6  the programs of a crawl change: older nodes would not hear of it, and nobody changes them while one is there, or may come back; once they have changed none is let in (Require)
//	7  adaptive:rtt: older nodes do not know it, and no crawl is submitted with it while one is there; once one is, none is let in
//	8  --max-time, --max-bytes: the same; older nodes would each count for themselves, and leave
//	9  programs that want young pages (weir submit --share-within): older nodes would give them old ones, and none joins while one is there; once one has, none is let in
const (
	version = 9
	least   = 5
)

// ErrTwo refuses a cluster of two nodes.
var ErrTwo = errors.New("two nodes cannot be a cluster: when one does not hear the other it cannot know which of them is cut off, so neither could go on alone; run one node, or three or more")

func (c Config) filled() (Config, error) {
	if err := checkName(c.Name); err != nil {
		return c, err
	}
	if c.Dir == "" || c.Certs == "" {
		return c, errors.New("a node needs a folder of its own and one with its certificates")
	}
	if c.Now == nil {
		return c, errors.New("a node needs a clock")
	}
	if c.Expect == 0 {
		c.Expect = defaultExpect
	}
	switch {
	case c.Expect == 2:
		return c, ErrTwo
	case c.Expect < 3 || c.Expect > 7 || c.Expect%2 == 0:
		return c, fmt.Errorf("a cluster is founded by 3, 5 or 7 nodes with storage, not by %d", c.Expect)
	}
	if c.Replicas == 0 {
		c.Replicas = defaultReplicas
	}
	if c.Replicas < 1 || c.Replicas > c.Expect {
		return c, fmt.Errorf("%d copies on %d nodes with storage", c.Replicas, c.Expect)
	}
	if c.Forget == 0 {
		c.Forget = defaultForget
	}
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	if c.Version == 0 {
		c.Version, c.Least = version, least
	}
	if c.ttl == 0 {
		c.ttl = overlay.TTL
	}
	if c.beat == 0 {
		c.beat = heartbeat
	}
	return c, nil
}

// ErrName refuses a name.
var ErrName = errors.New("is no name: letters, digits, - and _, at most 63")

// checkName holds names to what can stand in a subject, a file name and a
// certificate alike.
func checkName(name string) error {
	ok := len(name) >= 1 && len(name) <= 63
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || (c == '-' || c == '_') && i > 0
	}
	if !ok {
		return fmt.Errorf("%q %w", name, ErrName)
	}
	return nil
}

// place splits the addresses into where to listen and what to tell others.
func (c Config) place(hosts []string) (listen, routes address, err error) {
	listen, err = split(c.Listen)
	if err != nil {
		return listen, routes, fmt.Errorf("the address to listen on: %w", err)
	}
	routes = listen
	if c.Routes != "" {
		if routes, err = split(c.Routes); err != nil {
			return listen, routes, fmt.Errorf("the address for other servers: %w", err)
		}
	} else if routes.port != 0 {
		if routes.port++; routes.port > math.MaxUint16 {
			return listen, routes, fmt.Errorf("%q: the next port, for the nodes' servers, is none", c.Listen)
		}
	}
	for _, a := range []*address{&listen, &routes} {
		a.known = a.host
		if ip := net.ParseIP(a.host); c.Advertise != "" {
			a.known = c.Advertise
		} else if a.host == "" || ip != nil && ip.IsUnspecified() {
			if len(hosts) == 0 {
				return listen, routes, fmt.Errorf("listening on %s, but at which host do others reach this node? Say so, or name it in the certificate", c.Listen)
			}
			a.known = hosts[0]
		}
	}
	return listen, routes, nil
}

// address is where a node listens, and by which host others know it.
type address struct {
	host, known string
	port        int
}

func (a address) bind() string  { return net.JoinHostPort(a.host, strconv.Itoa(a.port)) }
func (a address) reach() string { return net.JoinHostPort(a.known, strconv.Itoa(a.port)) }

// CheckAddr says what is wrong with the address of a node; nil: nothing.
func CheckAddr(addr string) error {
	_, err := split(addr)
	return err
}

func split(s string) (address, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return address{}, fmt.Errorf("%q is not HOST:PORT", s)
	}
	p, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return address{}, fmt.Errorf("%q: a port is a number from 1 to 65535", s)
	}
	return address{host: host, port: int(p)}, nil
}

// hostOf leaves out the port of who has come from anywhere.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}
