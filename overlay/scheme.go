package overlay

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/page"
)

// Parts is how many partitions the keyspace has. It is fixed: nodes that count
// otherwise would not find one another's pages.
const Parts = 256

// Logs is how many logs there are. The partitions share them: what is said at once in
// partitions of one log is one message (see outbox), and each log costs its keepers
// something, whether anything is written there or not.
const Logs = 4

// LogOf returns the log that a partition is in.
func LogOf(part int) int { return part % Logs }

// Scheme says which partition a page lives in, and whether another one may fetch
// it. The zero Scheme is host. As text:
//
//	host        the pages of a host together (Hostname in Loo et al. 2004, section 3.2)
//	url         each page by itself (URL)
//	host-8      the pages of a host in 8 partitions (Hostname-8)
//	redirect    as one of these, but who has too much to do, or is far from a
//	            host, hands its pages on (section 3.3)
//	adaptive    as host, but a host that waits for a connection of its owner is left
//	            to a node that has one free; and one of so many pages that it cannot
//	            be is fetched by 2, 4, 8 partitions, and by fewer again later. With rtt,
//	            what is found of one that is far from its owner goes to the nearest of three
//
// The last two take settings behind a colon, see ParseScheme. They move only who
// fetches a page: its home, where it is known whether it was seen, stays.
type Scheme struct {
	By     Way
	N      int // of host-n
	Second Chance

	Over int           // pages that wait: with more, pages are handed on, or a host is spread instead of left to others
	Far  time.Duration // round trip: hosts farther than that are handed on; 0: none is for that
	Max  int           // how often a page is handed on at most
	Fan  int           // among how many partitions; 0: all of them
}

// Way is how pages are put into partitions.
type Way uint8

const (
	ByHost Way = iota
	ByURL
	ByHostN
)

// Chance is what becomes of pages that their owner had better not fetch.
type Chance uint8

const (
	Stay   Chance = iota // the owner fetches them
	ByLoad               // handed on when too many wait
	ByRTT                // handed on when their host is far away
	Adapt                // their host is spread
)

// What is meant where a scheme's text does not say.
const (
	defaultOver = 500
	defaultMany = 4096 // of adaptive: rows of a few hundred kilobytes
	defaultFar  = 100 * time.Millisecond
	defaultMax  = 1
)

// Leased says that pages of one host may be fetched by several nodes: a request
// needs leases of the owners of its host and address.
func (s Scheme) Leased() bool { return s.By != ByHost || s.Second != Stay }

// ParseScheme reads a scheme. Settings of redirect, separated by commas: the scheme
// it stands on (host, url or host-n), load or rtt, over=500 (pages that wait) or
// over=80ms (round trip), max=1 (how often a page is handed on), n=80 (among how
// many partitions). Those of adaptive: over=4096 (pages of a host that wait), n=64, rtt or rtt=80ms.
func ParseScheme(text string) (Scheme, error) {
	name, settings, more := strings.Cut(text, ":")
	var s Scheme
	var err error
	switch name {
	case "redirect":
		s = Scheme{Second: ByLoad, Over: defaultOver, Max: defaultMax}
	case "adaptive":
		s = Scheme{Second: Adapt, Over: defaultMany}
	default:
		if more {
			name = text
		}
		s.By, s.N, err = parseWay(name)
		return s, err
	}
	if !more {
		return s, nil
	}
	var had []string
	for word := range strings.SplitSeq(settings, ",") {
		word = strings.TrimSpace(word)
		if err := s.set(word); err != nil {
			return Scheme{}, fmt.Errorf("scheme %s: %w", name, err)
		}
		what := setting(word)
		if slices.Contains(had, what) {
			return Scheme{}, fmt.Errorf("scheme %s: %.40s: %s was said before", name, word, what)
		}
		had = append(had, what)
	}
	return s, nil
}

// parseWay reads one of the schemes that the others stand on.
func parseWay(text string) (Way, int, error) {
	switch text {
	case "host", "":
		return ByHost, 0, nil
	case "url":
		return ByURL, 0, nil
	}
	if n, ok := strings.CutPrefix(text, "host-"); ok {
		k, err := strconv.Atoi(n)
		if err != nil || k < 2 || k > Parts {
			return 0, 0, fmt.Errorf("no scheme %.40q: the number after host- is from 2 to %d, such as host-8", text, Parts)
		}
		return ByHostN, k, nil
	}
	return 0, 0, fmt.Errorf("no scheme %.40q: there are host, url, host-8 (or another number), redirect and adaptive", text)
}

// set reads one setting of redirect or adaptive.
func (s *Scheme) set(word string) (err error) {
	name, value, assigned := strings.Cut(word, "=")
	switch {
	case assigned && name == "over":
		return s.setOver(value)
	case assigned && name == "n":
		s.Fan, err = number(word, value, 2, Parts)
		return err
	case assigned && name == "max" && s.Second != Adapt:
		s.Max, err = number(word, value, 1, math.MaxUint8)
		return err
	case assigned && name == "rtt" && s.Second == Adapt:
		s.Far, err = distance(word, value)
		return err
	case word == "rtt" && s.Second == Adapt:
		s.Far = defaultFar
		return nil
	case s.Second == Adapt:
		return fmt.Errorf("no setting %.40q: there are over=4096, n=64, rtt and rtt=80ms", word)
	case word == "load":
		if s.Second == ByRTT {
			s.Second, s.Far, s.Over = ByLoad, 0, defaultOver
		}
		return nil
	case word == "rtt":
		if s.Second == ByLoad {
			s.Second, s.Far, s.Over = ByRTT, defaultFar, 0
		}
		return nil
	case word == "host", word == "url", strings.HasPrefix(word, "host-"):
		s.By, s.N, err = parseWay(word)
		return err
	}
	return fmt.Errorf("no setting %.40q: there are host, url, host-8, load, rtt, over=500 (or over=80ms), max=1 and n=80", word)
}

// setting is what a word is about.
func setting(word string) string {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case name == "url" || strings.HasPrefix(name, "host"):
		return "which pages stay together"
	case name == "rtt" || name == "load":
		return "load or rtt"
	}
	return name
}

// setOver reads a threshold: how much is too much, or how far too far.
func (s *Scheme) setOver(value string) error {
	if _, err := time.ParseDuration(value); err == nil && value != "0" && s.Second != Adapt {
		d, err := distance("over="+value, value)
		if err == nil {
			s.Second, s.Far, s.Over = ByRTT, d, 0
		}
		return err
	}
	if s.Second == ByRTT {
		return fmt.Errorf("over=%.20s: by round trip, it is a duration such as 80ms", value)
	}
	n, err := number("over="+value, value, 1, math.MaxInt32)
	s.Over = n
	return err
}

func distance(word, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("%.40s: not a duration such as 80ms", word)
	}
	if d <= 0 || d > time.Minute {
		return 0, fmt.Errorf("%.40s: a round trip is longer than nothing and up to a minute", word)
	}
	return d, nil
}

func number(word, value string, low, high int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%.40s: not a number from %d to %d", word, low, high)
	}
	return n, nil
}

// String returns the text that ParseScheme reads, without what it takes for granted; but
// for the number of adaptive, which was another once.
func (s Scheme) String() string {
	way := "host"
	switch s.By {
	case ByURL:
		way = "url"
	case ByHostN:
		way = "host-" + strconv.Itoa(s.N)
	}
	if s.Second == Stay {
		return way
	}
	var set []string
	if s.By != ByHost {
		set = append(set, way)
	}
	switch {
	case s.Far == defaultFar:
		set = append(set, "rtt")
	case s.Second == ByRTT:
		set = append(set, "over="+s.Far.String())
	case s.Far > 0:
		set = append(set, "rtt="+s.Far.String())
	}
	if s.Second == Adapt || s.Second == ByLoad && s.Over != defaultOver {
		set = append(set, "over="+strconv.Itoa(s.Over))
	}
	if s.Second != Adapt && s.Max != defaultMax {
		set = append(set, "max="+strconv.Itoa(s.Max))
	}
	if s.Fan != 0 {
		set = append(set, "n="+strconv.Itoa(s.Fan))
	}
	name := "redirect"
	if s.Second == Adapt {
		name = "adaptive"
	}
	if len(set) == 0 {
		return name
	}
	return name + ":" + strings.Join(set, ",")
}

// Keys puts pages, hosts and addresses into partitions by a scheme. All nodes, and
// the tables of programs (flow.Options.Home), agree on them.
type Keys struct {
	scheme Scheme
	parts  int
}

// NewKeys returns the keys of a scheme in so many partitions: Parts, but for tests.
func NewKeys(s Scheme, parts int) Keys { return Keys{s, parts} }

// Scheme returns what the keys are made by.
func (k Keys) Scheme() Scheme { return k.scheme }

// Parts returns how many partitions there are.
func (k Keys) Parts() int { return k.parts }

// Home returns the partition whose owner knows whether a page was seen. Its rows go
// there, and it fetches the page unless it hands it on.
func (k Keys) Home(u page.URL) int {
	switch k.scheme.By {
	case ByURL:
		return page.Place(page.Sum(u.String()), k.parts)
	case ByHostN:
		return (k.HostPart(u.Host()) + page.Place(page.Sum(u.String()), min(k.scheme.N, k.parts))) % k.parts
	}
	return k.HostPart(u.Host())
}

// HostPart returns the partition whose owner decides when a host may be asked.
func (k Keys) HostPart(host string) int { return page.Place(page.Sum(host), k.parts) }

// AddrPart returns the partition whose owner decides how many connections an
// address may have.
func (k Keys) AddrPart(a netip.Addr) int {
	b := a.As16() // the same for an IPv4 address in either form
	return page.Place(page.Sum(b[:]), k.parts)
}
