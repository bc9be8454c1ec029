package sim

import (
	"math/bits"

	"weir/crawl"
	"weir/page"
	"weir/sim/web"
)

// Sample is a crawl at one moment.
type Sample struct {
	Seconds float64 // of virtual time
	Pages   int64   // fetched
	Queued  int64   // waiting
	Bytes   float64
	Rank    float64 // sum over the pages fetched
	Busy    float64 // connections in use, mean since the last sample
}

// Interrupted says that a crawl was cut short from outside.
const Interrupted = "interrupted"

// Result is how a simulated crawl went.
type Result struct {
	Name     string
	Stopped  string // why it ended: done, max-pages, max-time, Interrupted
	Pages    int64
	Bytes    float64
	Seconds  float64 // of virtual time
	Rank     float64 // sum over the pages fetched
	RankTime float64 // mean time of a page, weighted by its rank, seconds
	Busy     float64 // share of the connections in use, over the whole time
	Trace    uint64  // the same for the same events and orders, and with all likelihood for no others
	Events   int64
	Samples  []Sample
	News     []News // of promises
}

// log writes down what a crawl does.
type log struct {
	cfg      Config
	every    int64
	due      int64
	pages    int64
	bytes    float64
	rank     float64
	rankTime float64
	active   int
	area     float64 // connections in use, times seconds
	past     float64 // of it, at the last sample
	at       page.Time
	trace    uint64
	events   int64
	samples  []Sample
	news     []News
}

func (l *log) begin(w *web.Web, cfg Config) {
	l.cfg, l.at = cfg, 1
	total := int64(w.Pages())
	if cfg.MaxPages > 0 {
		total = min(total, cfg.MaxPages)
	}
	l.every = max(total/int64(cfg.Samples), 1)
	l.due = l.every
	l.samples = make([]Sample, 1, cfg.Samples+2)
}

// mix folds a number into the trace.
func (l *log) mix(x uint64) {
	hi, lo := bits.Mul64(l.trace^x^0x9e3779b97f4a7c15, 0xff51afd7ed558ccd)
	l.trace = hi ^ lo
}

// step adds an event and what came of it to the trace.
func (l *log) step(now page.Time, ev crawl.Event, orders []crawl.Order) {
	l.events++
	l.mix(uint64(now))
	switch ev := ev.(type) {
	case crawl.Done:
		l.mix(1<<60 | ev.ID)
	case crawl.Committed:
		l.mix(2<<60 | uint64(len(ev.IDs))<<40 | uint64(len(ev.Queued))<<20 | uint64(len(ev.Moved)))
	case crawl.Loaded:
		l.mix(3<<60 | uint64(ev.Site)<<20 | uint64(len(ev.Entries)))
	}
	for _, o := range orders {
		switch o := o.(type) {
		case crawl.Fetch:
			l.mix(4<<60 | o.ID)
			l.mix(o.Entry.Hash ^ uint64(o.Site))
		case crawl.Load:
			l.mix(5<<60 | uint64(o.Site)<<20 | uint64(o.N))
		case crawl.Wake:
			l.mix(6<<60 ^ uint64(o.At))
		case crawl.Limit:
			l.mix(7<<60 ^ uint64(o.Rate))
		default:
			l.mix(8 << 60)
		}
	}
}

// busy counts connections in use.
func (l *log) busy(now page.Time, change int) {
	l.area += float64(float64(l.active) * seconds(now.Sub(l.at))) // rounded, so that every machine adds up alike
	l.at = now
	l.active += change
}

// fetched counts a page.
func (l *log) fetched(c *crawler, t *trip) {
	now := c.w.now
	l.pages++
	l.bytes += float64(t.bytes)
	if l.cfg.Ranks != nil {
		r := float64(l.cfg.Ranks[t.page])
		l.rank += r
		l.rankTime += float64(r * seconds(now.Sub(1)))
	}
	if l.cfg.Fetched != nil {
		l.cfg.Fetched(t.page)
	}
	if l.pages >= l.due {
		l.due += l.every
		l.keep(c)
	}
}

func (l *log) keep(c *crawler) {
	s := c.sample()
	l.samples = append(l.samples, s)
	l.past = l.area
}

// finish takes the last sample.
func (l *log) finish(c *crawler) {
	l.busy(c.w.now, 0)
	if l.samples[len(l.samples)-1].Pages != l.pages {
		l.keep(c)
	}
}

func (c *crawler) sample() Sample {
	l := &c.log
	l.busy(c.w.now, 0)
	s := Sample{Seconds: seconds(c.w.now.Sub(1)), Pages: l.pages, Bytes: l.bytes, Rank: l.rank, Queued: c.ledger.Totals().Queued}
	if dt := s.Seconds - l.samples[len(l.samples)-1].Seconds; dt > 0 {
		s.Busy = (l.area - l.past) / dt
	} else {
		s.Busy = float64(l.active)
	}
	return s
}

func (c *crawler) result() Result {
	l := &c.log
	last := l.samples[len(l.samples)-1]
	r := Result{
		Name: c.cfg.Name, Stopped: c.reason, Pages: l.pages, Bytes: l.bytes, Seconds: last.Seconds, Rank: l.rank, Trace: l.trace, Events: l.events,
		Samples: l.samples, News: l.news,
	}
	if l.rank > 0 {
		r.RankTime = l.rankTime / l.rank
	}
	if r.Seconds > 0 {
		r.Busy = l.area / r.Seconds / float64(c.cfg.Conns)
	}
	return r
}
