// Package wirelab is a laboratory for what a program does to the wire. It
// builds two networks, one for clients and one for servers, moves every IP
// packet between them itself, as late and as slowly as a wide area network
// would, and writes down when each packet arrived. The TCP at both ends is the
// kernel's.
//
//	client namespace            this process                  server namespace
//	10.76.0.2  tun  <-- link <-- delay <-- rate, queue <--  tun  10.77.0.0/16
//	           tun  ----------------- delay ------------->  tun  80, 443, DNS
//	10.76.0.3  tun  (a neighbour behind the same link)
//
// Each server has an address, a name such as host07.lab.test, a round trip and
// a rate of its own. The link that all clients share may have a rate and a
// bounded queue, too. Segments are at most 1,500 bytes, since no device
// here offloads anything, so the counters of an interface are IP bytes as a
// wire would carry them.
//
// The namespaces have no names. They exist while this process holds them, so
// that neither an interrupt nor a crash leaves anything behind, and any number
// of laboratories can be open at once with the same addresses inside.
//
// It needs Linux, root and /dev/net/tun. To try a program in it by hand:
//
//	go run ./internal/bench wire-lab -limit 1MB -- weir crawl --seeds {seeds} --dns {dns} ...
//	go run ./internal/bench wire-lab        stays open and says how to enter
//
// A test or a suite does the same in a few lines:
//
//	web := wirelab.NewWeb(wirelab.WebConfig{Limit: 1e6, Length: 5 * time.Minute, Seed: 1})
//	l, err := wirelab.Start(wirelab.Config{Web: web})
//	defer l.Close()
//	cmd := exec.CommandContext(ctx, "weir", "crawl", "--dns", l.DNS(), ...)
//	err = l.Start(cmd) // in the client's namespace
//	err = cmd.Wait()
//	use := wirelab.Judge(l.Received(), 1e6, begin, end)
//
// Read web.go for what is served, wan.go for how packets are held back, then
// measure.go for how a run is judged; the files for Linux join them to the
// kernel.
package wirelab

import (
	"net/netip"
	"time"
)

// Config is a laboratory.
type Config struct {
	Web  Web
	Link Link
	// Loss is the share of packets that vanish, in each direction.
	Loss float64
	// Seed makes jitter and loss repeatable.
	Seed uint64
	// Congestion is the congestion control of the servers, cubic if empty.
	Congestion string
}

// Link is the line that all clients share, downstream. Its zero value is a
// line that is never full.
type Link struct {
	Rate  float64 // bytes a second
	Queue int     // bytes that may wait in front of it; what exceeds that is dropped
}

// Server is one machine of the web.
type Server struct {
	Name   string
	Addr   netip.Addr
	RTT    time.Duration // without any queue
	Jitter time.Duration // at most so much more each way; packets stay in order
	Rate   float64       // bytes a second downstream, 0 for no bound
	Queue  int           // bytes that may wait for that rate, 0 for a quarter of a second and at least 30 KB
	Think  time.Duration // between a request and its answer
}

// queue is the bound in force.
func (s Server) queue() int {
	if s.Queue > 0 {
		return s.Queue
	}
	return max(30_000, int(s.Rate/4))
}

// Times in the records below are since the laboratory was opened.
type (
	// Packet is one IP packet as the client's interface saw it.
	Packet struct {
		At    time.Duration
		Bytes int32
		Late  int32 // microseconds that the laboratory handed it over after its time
	}

	// Sample is a reading of the counters of the client's interface.
	Sample struct {
		At           time.Duration
		Received     int64
		Sent         int64
		ReceivedPkts int64
		SentPkts     int64
	}

	// Request is one that reached a server.
	Request struct {
		At     time.Duration
		Server int
		Page   int // of Web.Pages, negative for robots.txt and what does not exist
		Port   uint16
	}

	// Flow is a TCP connection of the client, by what its interface saw.
	Flow struct {
		Server int
		Port   uint16
		Began  time.Duration // when its first SYN left
		Last   time.Duration // when its last data came
		Ended  time.Duration // when the client closed it, 0 if it has not
		Bytes  int64         // received, headers included
	}
)

// Late is how well the laboratory kept its own times: on a machine that is too
// busy packets are handed over late, and what is measured is the machine.
type Late struct {
	Packets int64
	Many    int64 // more than 2 ms after their time
	Worst   time.Duration
	Still   []Still // the first thousand
}

// Still is a time by which packets were handed over ten milliseconds late or more,
// once for all that were: what should have come in one second may have come in the next.
type Still struct{ From, To time.Duration }

// Addresses of what is not a server of the web.
var (
	clientAddr    = netip.AddrFrom4([4]byte{10, 76, 0, 2})
	neighbourAddr = netip.AddrFrom4([4]byte{10, 76, 0, 3})
	gatewayAddr   = netip.AddrFrom4([4]byte{10, 76, 0, 1})
	dnsAddr       = netip.AddrFrom4([4]byte{10, 77, 0, 53})
	bulkAddr      = netip.AddrFrom4([4]byte{10, 77, 0, 9})
)
