package survey

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"weir/bandwidth"
	"weir/internal/fetch"
	"weir/internal/parse"
	"weir/page"
)

// Listing is what a site says of itself.
type Listing struct {
	Host  string
	Start page.URL      // where it was found; zero: it could not be had
	Pages int64         // different ones on its own host that its sitemaps list
	Files int           // sitemaps that were read
	More  bool          // there are more; Pages counts them as large as those that were read
	Drawn []page.URL    // some of the pages, drawn with equal chances
	Delay time.Duration // crawl-delay
	Err   error         // why nothing was counted; nil with Pages 0: its sitemaps are empty
}

// Sitemaps asks every host for its robots.txt and for the sitemaps that it names,
// or /sitemap.xml, and counts the pages they list. The error is our own failure, or
// the context's.
func Sitemaps(ctx context.Context, cfg Config, hosts []string) ([]Listing, error) {
	cfg = cfg.withDefaults()
	ts, err := parseTargets(hosts)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, cfg.Time)
	defer cancel()
	s, err := newSurveyor(timed, cfg)
	if err != nil {
		return nil, err
	}
	defer s.close()
	lists := s.listAll(timed, &ts)
	return lists, ctx.Err()
}

// surveyor reads sitemaps.
type surveyor struct {
	visitor
	cfg    Config
	secret page.Secret
	stop   func() // ends the wire
}

// ErrPaused says that nothing can be asked for.
var ErrPaused = errors.New("the limit lets nothing through now")

// errLate says that the time ended before it was a host's turn.
var errLate = errors.New("there was no time left for it")

func newSurveyor(ctx context.Context, cfg Config) (*surveyor, error) {
	c := cfg.Crawl
	s := &surveyor{cfg: cfg, stop: func() {}}
	if _, err := rand.Read(s.secret[:]); err != nil {
		return nil, fmt.Errorf("draw a secret: %w", err)
	}
	s.visitor = visitor{
		wait: c.Wait, sites: c.Sites, perServer: cmp.Or(c.PerServer, 4), agent: c.Agent, noRobots: c.IgnoreRobots,
		room:  make(chan struct{}, max(1, c.Conns)),
		hosts: map[string]*host{}, servers: map[netip.Addr]chan struct{}{}, rules: map[string]*ruling{},
		parsers: make(chan *parse.Parser, runtime.GOMAXPROCS(0)),
	}
	for range cap(s.parsers) {
		s.parsers <- new(parse.Parser)
	}
	c.Fetch.Limits.MaxBody = parse.MaxSitemap
	c.Fetch.TempDir = cfg.TempDir
	if c.Bandwidth.Set() {
		limit := limitNow(cfg)
		if limit <= bandwidth.Off {
			return nil, ErrPaused
		}
		began := time.Now()
		wire := fetch.NewWire(fetch.WireConfig{
			Limit: limit, Strict: c.Strict, Clock: func() page.Time { return page.Time(time.Since(began)) },
		})
		c.Fetch.Wire = wire
		running, cancel := context.WithCancel(ctx)
		var run sync.WaitGroup
		run.Go(func() { wire.Run(running, time.Second, nil) })
		s.stop = func() {
			cancel()
			run.Wait()
		}
	}
	var err error
	if s.client, err = fetch.New(c.Fetch); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// limitNow is what the limit and the timetable let through at the beginning: a
// survey does not last long enough for another hour to matter.
func limitNow(cfg Config) int64 {
	l := cfg.Crawl.Bandwidth.Limits
	limit := cmp.Or(l.Rate, bandwidth.Unlimited)
	if l.Timetable.Set() {
		rate, _ := l.Timetable.At(time.Now())
		limit = min(limit, rate)
	}
	return limit
}

func (s *surveyor) close() {
	s.client.Close()
	s.stop()
}

// workers is how many hosts are looked at at once. Most of them rest; visitor
// bounds the connections.
const workers = 256

// listAll lists every target; those of one key share a Listing.
func (s *surveyor) listAll(ctx context.Context, ts *targets) []Listing {
	out := make([]Listing, len(ts.list))
	todo := make(chan int)
	var mu sync.Mutex
	told := Progress{Stage: "sitemaps", Sites: len(ts.by)}
	s.cfg.Progress(told)
	var work sync.WaitGroup
	for range min(workers, len(ts.by)) {
		work.Go(func() {
			for i := range todo {
				out[i] = s.list(ctx, ts.list[i])
				mu.Lock()
				told.Done++
				told.Pages += out[i].Pages
				s.cfg.Progress(told)
				mu.Unlock()
			}
		})
	}
	for i, t := range ts.list {
		if ts.by[t.key] == i {
			todo <- i // a worker that has no time left is soon done
		}
	}
	close(todo)
	work.Wait()
	for i, t := range ts.list {
		if errors.Is(out[i].Err, context.DeadlineExceeded) {
			out[i].Err = errLate
		}
		if first := ts.by[t.key]; first != i {
			out[i] = out[first]
			out[i].Host = t.name
		}
	}
	return out
}

const (
	maxPending   = 10_000 // sitemaps that are remembered of a site
	maxNest      = 4      // indexes inside one another
	maxFailures  = 5      // sitemaps in a row that could not be read
	maxListed    = 1e12   // pages that are believed of a site
	drawnOfPages = 2      // of so many pages of a sample one is drawn from sitemaps
)

// book is the reading of one site's sitemaps. They are read in an order that is
// not theirs, so that those that there is no time for are like those that were
// read.
type book struct {
	site    page.URL
	strip   page.Strip
	secret  page.Secret
	pages   sketch
	pending []file
	seen    map[uint64]bool // by hash
	leaves  int             // sitemaps that listed pages
	cut     bool            // one of them, or their list, had more than is read
}

type file struct {
	url  page.URL
	nest int
	hash uint64
}

func (b *book) push(u page.URL, nest int) {
	h := b.secret.Hash(u.String())
	switch {
	case !kin(u, b.site) || b.seen[h]:
	case nest > maxNest || len(b.seen) >= maxPending:
		b.cut = true
	default:
		b.seen[h] = true
		b.pending = append(b.pending, file{u, nest, h})
	}
}

func (b *book) pop() file {
	least := 0
	for i := range b.pending {
		if b.pending[i].hash < b.pending[least].hash {
			least = i
		}
	}
	f := b.pending[least]
	last := len(b.pending) - 1
	b.pending[least] = b.pending[last]
	b.pending = b.pending[:last]
	return f
}

func (b *book) read(m *parse.Sitemap, nest int) {
	b.cut = b.cut || m.Cut
	for _, e := range m.Entries {
		switch {
		case m.Index:
			b.push(e.URL, nest+1)
		case e.URL.HostPort() == b.site.HostPort() || e.URL.HostPort() == sister(b.site.HostPort()):
			b.pages.add(b.strip.Apply(e.URL))
		}
	}
	if !m.Index {
		b.leaves++
	}
}

// list reads the sitemaps of one site, from where it answers. When there was no
// time to try elsewhere, what was wrong at first is why nothing was counted.
func (s *surveyor) list(ctx context.Context, t target) Listing {
	var l Listing
	for i, start := range t.starts {
		before := l.Err
		if i > 0 && !s.retry(ctx, t.starts[i-1], start) {
			break
		}
		l = Listing{Host: t.name}
		rules, err := s.robots(ctx, start)
		if l.Err = err; err != nil {
			if before != nil && (errors.Is(err, errBusy) || ctx.Err() != nil) {
				l.Err = before
			}
			continue
		}
		l.Start, l.Delay = start, rules.CrawlDelay()
		s.readAll(ctx, &l, rules.Sitemaps())
		if s.noRobots && before != nil && errors.Is(l.Err, errBusy) {
			l.Err = before // nothing was asked for here
		}
		var nobody silence
		if !s.noRobots || i == len(t.starts)-1 || !errors.As(l.Err, &nobody) {
			break // else nothing has answered there yet
		}
	}
	return l
}

func (s *surveyor) readAll(ctx context.Context, l *Listing, lines []string) {
	b := book{site: l.Start, strip: s.cfg.Crawl.Strip, secret: s.secret, seen: map[uint64]bool{}}
	b.pages = sketch{secret: s.secret, draw: max(1, s.cfg.Pages/drawnOfPages)}
	if len(lines) == 0 {
		lines = []string{"/sitemap.xml"}
	}
	for _, line := range lines {
		if u, err := page.Join(l.Start.Site(), "/robots.txt").Resolve(line); err == nil {
			b.push(u, 0)
		}
	}
	failures := 0
	for len(b.pending) > 0 && l.Files < s.cfg.Files && failures < maxFailures && ctx.Err() == nil {
		f := b.pop()
		err := s.sitemap(ctx, f.url, func(m *parse.Sitemap) { b.read(m, f.nest) })
		if err == nil {
			l.Files++
			failures = 0
			continue
		}
		if errors.Is(err, errBusy) || ctx.Err() != nil {
			b.pending = append(b.pending, f)
		}
		l.Err = fmt.Errorf("%s: %w", f.url, err)
		if failures++; errors.Is(err, errBusy) {
			break
		}
	}
	count := b.pages.count()
	if b.leaves > 0 {
		count += count / float64(b.leaves) * float64(len(b.pending))
	}
	l.Pages = int64(min(count, maxListed))
	l.More = b.cut || len(b.pending) > 0
	l.Drawn = b.pages.urls()
	if l.Files > 0 {
		l.Err = nil
	}
}
