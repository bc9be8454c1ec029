package chaos

import (
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"weir/internal/wirelab"
)

// lan is the network: a room for each node and one for the web, each with a link to the router's.
type lan struct {
	router *wirelab.Room
	web    *wirelab.Room
	nodes  []*wirelab.Room

	mu    sync.Mutex
	rules int // made so far
}

var (
	everyNode = netip.MustParsePrefix("10.78.0.0/16")
	webNet    = netip.MustParsePrefix("10.80.0.0/16")
	webFirst  = netip.MustParseAddr("10.80.0.1")
)

const webLink = 255 // the web's place among the links

// place is the address of a node.
func place(node int) netip.Addr { return netip.AddrFrom4([4]byte{10, 78, byte(node), 2}) }

// nodeAt is the node of an address.
func nodeAt(a netip.Addr) int { return int(a.As4()[2]) }

func one(node int) netip.Prefix { return netip.PrefixFrom(place(node), 32) }

// Usable says why no network can be made here; nil if it can.
func Usable() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("network namespaces need root: %w", fs.ErrPermission)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return fmt.Errorf("links are made with ip, of iproute2, that make tools installs: %w", err)
	}
	l, err := newLAN(1)
	if err != nil {
		return err
	}
	l.close()
	return nil
}

func newLAN(nodes int) (_ *lan, err error) {
	l := new(lan)
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.router, err = wirelab.NewRoom(); err != nil {
		return nil, err
	}
	if err := ip(l.router, "link set lo up"); err != nil {
		return nil, err
	}
	err = l.router.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) })
	if err != nil {
		return nil, fmt.Errorf("let the router forward: %w", err)
	}
	for i := range nodes {
		r, err := l.link(i)
		if r != nil {
			l.nodes = append(l.nodes, r)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.web, err = l.link(webLink); err != nil {
		return nil, err
	}
	if err := ip(l.web, fmt.Sprintf("route add local %s dev lo", webNet)); err != nil {
		return nil, err
	}
	return l, ip(l.router, fmt.Sprintf("route add %s via %s", webNet, place(webLink)))
}

// link makes a room and joins it to the router.
func (l *lan) link(i int) (*wirelab.Room, error) {
	r, err := wirelab.NewRoom()
	if err != nil {
		return nil, err
	}
	gate := place(i).Prev()
	for _, step := range []struct {
		room *wirelab.Room
		args string
	}{
		{l.router, fmt.Sprintf("link add v%d type veth peer name eth0 netns %d", i, r.ID())},
		{l.router, fmt.Sprintf("addr add %s/24 dev v%d", gate, i)},
		{l.router, fmt.Sprintf("link set v%d up", i)},
		{r, "link set lo up"},
		{r, fmt.Sprintf("addr add %s/24 dev eth0", place(i))},
		{r, "link set eth0 up"},
		{r, fmt.Sprintf("route add default via %s", gate)},
	} {
		if err := ip(step.room, step.args); err != nil {
			return r, err
		}
	}
	return r, nil
}

// ip runs the command in a room.
func ip(r *wirelab.Room, args string) error {
	return r.Do(func() error {
		out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, strings.TrimSpace(string(out)))
		}
		return nil
	})
}

// lose makes the router swallow what goes from one to another, until mended.
func (l *lan) lose(from, to netip.Prefix) (mend func() error, err error) {
	l.mu.Lock()
	l.rules++
	pref := strconv.Itoa(1000 + l.rules)
	l.mu.Unlock()
	if err := ip(l.router, fmt.Sprintf("rule add pref %s from %s to %s blackhole", pref, from, to)); err != nil {
		return nil, err
	}
	return func() error { return ip(l.router, "rule del pref "+pref) }, nil
}

// start starts a program in a room; it dies with the room.
func start(r *wirelab.Room, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return r.Do(cmd.Start)
}

func (l *lan) close() {
	for _, r := range append([]*wirelab.Room{l.router, l.web}, l.nodes...) {
		if r != nil {
			r.Close()
		}
	}
}
