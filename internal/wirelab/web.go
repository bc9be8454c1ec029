package wirelab

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"time"
)

// Web is servers and one queue of pages on them. Pages are in the order of
// their scores, the best first, so that the queue is the same for every
// program that is measured on it.
type Web struct {
	Servers []Server
	Pages   []Page
}

// Page is a document of a server.
type Page struct {
	Server int
	Size   int
}

// WebConfig asks for a web that keeps a limit busy for a time.
type WebConfig struct {
	Limit   float64 // bytes a second
	Length  time.Duration
	Seed    uint64
	Servers int // 0 for as many as the limit needs
}

const (
	slowest, quickest  = 5e3, 200e3 // bytes a second, of the ordinary servers of the paper's limit
	smallest, largest  = 5e3, 300e3 // bytes of a page
	typicalPage        = 40e3       // bytes
	quick              = 4          // servers faster than the limit
	supply             = 4          // times the limit, what all servers give together at least
	spare              = 1.8        // times what the limit can fetch in the time, bytes of all pages
	nearest, furthest  = 10e-3, 300e-3
	shortest, longest  = 10e-3, 200e-3 // seconds of thought
	paperLimit         = 140e3
	roundTripsPerVisit = 5 // connect, ask, and as many as slow start needs for a typical page
)

// NewWeb makes a web like the one that bounded bandwidth was first measured
// on: round trips of 10 to 300 ms, 40 servers of 5 to 200 KB/s and four faster than the
// limit of 140 KB/s, pages of 5 to 300 KB. For larger limits there are
// more servers and they are faster, equally uneven, so that they offer about four times the limit.
func NewWeb(cfg WebConfig) Web {
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x77697265))
	n := cfg.Servers
	if n == 0 {
		n = serversFor(cfg.Limit)
	}
	w := Web{Servers: make([]Server, n)}
	for i := range w.Servers {
		s := &w.Servers[i]
		s.Name = fmt.Sprintf("host%02d.lab.test", i)
		s.Addr = netip.AddrFrom4([4]byte{10, 77, byte(1 + i/20), byte(10 + i%20)})
		s.RTT = seconds(spread(rng, nearest, furthest))
		s.Think = seconds(spread(rng, shortest, longest))
		s.Rate = spread(rng, slowest, quickest)
	}
	// The quick ones are anywhere in the order of names.
	fast := rng.Perm(n)[:min(quick, n)]
	for k, i := range fast {
		w.Servers[i].Rate = cfg.Limit * (1.3 + 0.4*float64(k))
	}
	w.scale(cfg.Limit, fast)
	w.fill(rng, cfg)
	return w
}

// serversFor is how many servers a limit needs when a host is visited by one connection at a time.
func serversFor(limit float64) int {
	switch {
	case limit <= 2*paperLimit:
		return 40
	case limit <= 2e6:
		return 80
	default:
		return min(2000, int(limit/1e6*60))
	}
}

// scale speeds the ordinary servers up until all of them together offer enough.
func (w *Web) scale(limit float64, fast []int) {
	isFast := make([]bool, len(w.Servers))
	for _, i := range fast {
		isFast[i] = true
	}
	for range 20 {
		var sum float64
		for _, s := range w.Servers {
			sum += s.visit()
		}
		if sum >= supply*limit {
			return
		}
		for i := range w.Servers {
			if !isFast[i] {
				w.Servers[i].Rate *= 1.2
			}
		}
	}
}

// visit is the rate at which a server gives typical pages, one connection each and one at a time.
func (s Server) visit() float64 {
	t := s.Think.Seconds() + roundTripsPerVisit*s.RTT.Seconds() + typicalPage/s.Rate
	return typicalPage / t
}

// fill spreads pages over the servers by what each can give, so that the last
// pages of the queue are not all on the slowest, and every server has some.
func (w *Web) fill(rng *rand.Rand, cfg WebConfig) {
	ends := make([]float64, len(w.Servers))
	var sum float64
	for i, s := range w.Servers {
		sum += min(s.visit(), cfg.Limit/4)
		ends[i] = sum
	}
	want := spare * cfg.Limit * (cfg.Length + 30*time.Second).Seconds()
	for bytes := 0.0; bytes < want; {
		at := rng.Float64() * sum
		i := 0
		for ends[i] < at && i < len(ends)-1 {
			i++
		}
		size := math.Exp(math.Log(typicalPage*0.75) + 0.85*rng.NormFloat64())
		p := Page{Server: i, Size: int(min(max(size, smallest), largest))}
		w.Pages = append(w.Pages, p)
		bytes += float64(p.Size)
	}
}

// spread draws from a range so that each doubling in it is equally likely.
func spread(rng *rand.Rand, from, to float64) float64 {
	return from * math.Exp(rng.Float64()*math.Log(to/from))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// URL is where a page is: under the server's name, or its address.
func (w Web) URL(page int, scheme string, byAddr bool) string {
	s := w.Servers[w.Pages[page].Server]
	host := s.Name
	if byAddr {
		host = s.Addr.String()
	}
	return fmt.Sprintf("%s://%s/p/%d", scheme, host, page)
}

// WriteSeeds writes the queue as weir reads it: a URL, a tab and a score a
// line.
func (w Web) WriteSeeds(to io.Writer, scheme string) error {
	b := bufio.NewWriter(to)
	for i := range w.Pages {
		// float32 holds whole numbers up to 16 million, so scores differ.
		fmt.Fprintf(b, "%s\t%d\n", w.URL(i, scheme, false), len(w.Pages)-i)
	}
	return b.Flush()
}

// WriteList writes the URLs alone, by address, for programs that know neither
// scores nor the laboratory's DNS.
func (w Web) WriteList(to io.Writer, scheme string) error {
	b := bufio.NewWriter(to)
	for i := range w.Pages {
		fmt.Fprintln(b, w.URL(i, scheme, true))
	}
	return b.Flush()
}
