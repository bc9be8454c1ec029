package wirelab

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sampling is how often the interface's counters are read.
const sampling = 100 * time.Millisecond

// Lab is an open laboratory. It is safe for concurrent use; Close comes last.
type Lab struct {
	web       Web
	begin     time.Time
	client    *Room
	neighbour *Room
	server    *Room
	host      *host
	mover     *mover
	authority []byte
	counters  *os.File // of the client's interfaces
	done      chan struct{}
	tasks     sync.WaitGroup

	mu      sync.Mutex
	samples []Sample
}

// Usable says why a laboratory cannot be opened here; nil if it can.
func Usable() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return fmt.Errorf("the laboratory's links need /dev/net/tun: %w", err)
	}
	return nil
}

// Start opens a laboratory.
func Start(cfg Config) (*Lab, error) {
	if err := Usable(); err != nil {
		return nil, err
	}
	if cfg.Congestion == "" {
		cfg.Congestion = "cubic"
	}
	if cfg.Link.Rate > 0 && cfg.Link.Queue == 0 {
		cfg.Link.Queue = max(30_000, int(cfg.Link.Rate/10))
	}
	cert, authority, err := newCert()
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	l := &Lab{web: cfg.Web, begin: time.Now(), authority: authority, done: make(chan struct{})}
	l.mover = &mover{wan: newWAN(cfg), book: newBook(), begin: l.begin, clients: [2]device{{-1}, {-1}}, servers: device{-1}, stop: -1}
	l.host = newHost(cfg.Web, l.begin)
	if err := l.open(cfg, cert); err != nil {
		l.abandon()
		return nil, err
	}
	// The mover must find a processor of the Go runtime whenever it wakes, also while
	// servers are busy; the kernel then sees to its priority.
	processors(+4)
	l.tasks.Go(l.mover.run)
	l.tasks.Go(l.sample)
	return l, nil
}

var processorsMu sync.Mutex

func processors(more int) {
	processorsMu.Lock()
	defer processorsMu.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + more)
}

// open makes the rooms, their devices and the servers' sockets.
func (l *Lab) open(cfg Config, cert tls.Certificate) error {
	var err error
	if l.mover.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	if l.client, err = NewRoom(); err != nil {
		return err
	}
	if l.neighbour, err = NewRoom(); err != nil {
		return err
	}
	if l.server, err = NewRoom(); err != nil {
		return err
	}
	err = l.client.Do(func() (err error) {
		if l.mover.clients[0], err = furnish(clientAddr, 8); err != nil {
			return err
		}
		// Anybody may ping, as on a desktop.
		if err = set("ipv4/ping_group_range", "0 2147483647"); err != nil {
			return err
		}
		l.counters, err = os.Open("/proc/thread-self/net/dev")
		return err
	})
	if err != nil {
		return fmt.Errorf("the client's side: %w", err)
	}
	err = l.neighbour.Do(func() (err error) {
		l.mover.clients[1], err = furnish(neighbourAddr, 8)
		return err
	})
	if err != nil {
		return fmt.Errorf("the neighbour's side: %w", err)
	}
	var s sockets
	err = l.server.Do(func() (err error) {
		if l.mover.servers, err = furnish(gatewayAddr, 16); err != nil {
			return err
		}
		s, err = listen(cfg.Congestion)
		return err
	})
	if err != nil {
		return fmt.Errorf("the servers' side: %w", err)
	}
	l.host.start(s, cert)
	return nil
}

// listen makes the servers' addresses and sockets, in the servers' namespace.
// The congestion control is asked for by socket, since a kernel need not allow
// it as a setting of a namespace.
func listen(congestion string) (sockets, error) {
	var s sockets
	ctl, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return s, os.NewSyscallError("socket", err)
	}
	defer unix.Close(ctl)
	if err := address(ctl, "lo:1", netip.AddrFrom4([4]byte{10, 77, 0, 1}), 16); err != nil {
		return s, err
	}
	if err := set("core/somaxconn", "4096"); err != nil {
		return s, err
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var chosen error
		err := c.Control(func(fd uintptr) {
			chosen = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestion)
		})
		return errors.Join(err, os.NewSyscallError("choose "+congestion, chosen))
	}}
	lc.SetMultipathTCP(false)
	var errs [5]error
	ctx := context.Background()
	s.plain, errs[0] = lc.Listen(ctx, "tcp4", "0.0.0.0:80")
	s.secure, errs[1] = lc.Listen(ctx, "tcp4", "0.0.0.0:443")
	s.bulk, errs[2] = lc.Listen(ctx, "tcp4", netip.AddrPortFrom(bulkAddr, 9).String())
	s.dns, errs[3] = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(dnsAddr, 53)))
	s.echo, errs[4] = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(dnsAddr, 7)))
	return s, errors.Join(errs[:]...)
}

// Close ends what still runs in the laboratory and takes it down. It returns
// the first failure of the laboratory itself, which spoils what was measured.
func (l *Lab) Close() error {
	close(l.done)
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	_, err := unix.Write(l.mover.stop, one)
	l.tasks.Wait()
	processors(-4)
	l.host.close()
	l.abandon()
	return errors.Join(err, l.mover.failed)
}

// abandon lets go of all that is held from the kernel.
func (l *Lab) abandon() {
	for _, r := range []*Room{l.client, l.neighbour, l.server} {
		if r != nil {
			r.Close()
		}
	}
	if l.counters != nil {
		l.counters.Close()
	}
	for _, fd := range []int{l.mover.clients[0].fd, l.mover.clients[1].fd, l.mover.servers.fd, l.mover.stop} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Start starts a program in the client's namespace. It dies with the
// laboratory.
func (l *Lab) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return l.client.Do(cmd.Start)
}

// Dial connects from the client's namespace. The host must be an address.
func (l *Lab) Dial(ctx context.Context, network, addr string) (c net.Conn, err error) {
	err = l.client.Do(func() error {
		var d net.Dialer
		c, err = d.DialContext(ctx, network, addr)
		return err
	})
	return c, err
}

// Enter names the client's namespace, for nsenter --net=.
func (l *Lab) Enter() string { return l.client.path() }

// DNS is the address of the server that knows the web's names, and a target
// for probes: it answers UDP on port 53, echoes it on port 7, and is 10 ms away.
func (l *Lab) DNS() string { return netip.AddrPortFrom(dnsAddr, 53).String() }

// CA is the authority of the servers' certificates, as PEM.
func (l *Lab) CA() []byte { return l.authority }

// Now is the time of the laboratory, which all its records use.
func (l *Lab) Now() time.Duration { return time.Since(l.begin) }

// Received is every packet that the client's interface got so far.
func (l *Lab) Received() []Packet { return l.packets(&l.mover.book.received) }

// Sent is every packet that the client's interface sent so far.
func (l *Lab) Sent() []Packet { return l.packets(&l.mover.book.sent) }

// Neighbour is every packet that the neighbour got so far.
func (l *Lab) Neighbour() []Packet { return l.packets(&l.mover.book.other) }

func (l *Lab) packets(g *log) []Packet {
	l.mover.book.mu.Lock()
	defer l.mover.book.mu.Unlock()
	return g.all()
}

// Dropped is how many packets were lost to full queues and by chance.
func (l *Lab) Dropped() int64 {
	l.mover.book.mu.Lock()
	defer l.mover.book.mu.Unlock()
	return l.mover.wan.dropped
}

// Late is how well the times were kept so far.
func (l *Lab) Late() Late {
	l.mover.book.mu.Lock()
	defer l.mover.book.mu.Unlock()
	return l.mover.wan.late
}

// Flows are the client's TCP connections so far.
func (l *Lab) Flows() []Flow {
	l.mover.book.mu.Lock()
	defer l.mover.book.mu.Unlock()
	return slices.Clone(l.mover.book.flows)
}

// Requests are those that reached the servers so far.
func (l *Lab) Requests() []Request { return l.host.visited() }

// Counters are the readings of the client's interface so far.
func (l *Lab) Counters() []Sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.samples)
}

// Count reads the counters of the client's interface now.
func (l *Lab) Count() (Sample, error) {
	b := make([]byte, 4096)
	n, err := l.counters.ReadAt(b, 0)
	at := l.Now()
	if n == 0 {
		return Sample{}, err
	}
	for line := range bytes.Lines(b[:n]) {
		name, rest, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(bytes.TrimSpace(name)) != "tun0" {
			continue
		}
		s := Sample{At: at}
		var skip int64
		_, err := fmt.Sscan(string(rest), &s.Received, &s.ReceivedPkts, &skip, &skip, &skip, &skip, &skip, &skip, &s.Sent, &s.SentPkts)
		return s, err
	}
	return Sample{}, errors.New("the client's interface has no counters")
}

// sample reads the counters until the end.
func (l *Lab) sample() {
	t := time.NewTicker(sampling)
	defer t.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-t.C:
		}
		if s, err := l.Count(); err == nil {
			l.mu.Lock()
			l.samples = append(l.samples, s)
			l.mu.Unlock()
		}
	}
}

// Bulk is a download without end, by the neighbour.
type Bulk struct {
	conn  net.Conn
	bytes int64
	tasks sync.WaitGroup
}

// Pour starts one.
func (l *Lab) Pour() (*Bulk, error) {
	b := &Bulk{}
	err := l.neighbour.Do(func() (err error) {
		b.conn, err = net.DialTimeout("tcp4", netip.AddrPortFrom(bulkAddr, 9).String(), 10*time.Second)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the neighbour's download: %w", err)
	}
	b.tasks.Go(func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := b.conn.Read(buf)
			b.bytes += int64(n)
			if err != nil {
				return
			}
		}
	})
	return b, nil
}

// Stop ends the download and returns the bytes that arrived.
func (b *Bulk) Stop() int64 {
	b.conn.Close()
	b.tasks.Wait()
	return b.bytes
}
