package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"weir/page"
	"weir/sim/agenda"
	"weir/sim/link"
	"weir/sim/web"
)

// Line is the crawler's own link to the web.
type Line struct {
	Rate    float64 // bytes a second (B in Castillo, section 6.1); 0 = no bound
	Sharing link.Sharing
}

// World is a web, a line and a clock, with the crawls that share them. Not safe
// for concurrent use, but Worlds know nothing of one another: many can run side
// by side on one Web, which they only read.
type World struct {
	web   *web.Web
	names *names
	line  Line
	link  *link.Link
	now   page.Time
	plan  agenda.Agenda[thing]
	does  []*crawler
	owner []uint16 // of flows, which crawl
	live  int      // crawls that are not over
	err   error

	changes []Change  // of sites, planned or past
	factor  []float64 // of sites' speeds, now; nil: none changes
}

// New returns a world with one crawl for every Config.
func New(w *web.Web, line Line, cfgs ...Config) (*World, error) {
	if line.Rate < 0 || math.IsNaN(line.Rate) {
		return nil, fmt.Errorf("a line of %v bytes a second carries nothing; 0 means no bound", line.Rate)
	}
	if w.Pages() == 0 || len(w.Sites) == 0 {
		return nil, errors.New("the web has no pages")
	}
	if len(cfgs) == 0 || len(cfgs) > math.MaxUint16 {
		return nil, fmt.Errorf("%d crawls; a world has at least one and at most %d", len(cfgs), math.MaxUint16)
	}
	n, err := newNames(w)
	if err != nil {
		return nil, err
	}
	flows := 0
	world := &World{web: w, names: n, line: line, live: len(cfgs), now: 1}
	for i, cfg := range cfgs {
		if cfg.Limit > 0 && len(cfgs) > 1 {
			return nil, errors.New("a crawl with a limit of its own must have the line to itself")
		}
		c, err := newCrawler(world, uint16(i), flows, cfg, nil, false)
		if err != nil {
			return nil, err
		}
		for range c.cfg.Conns {
			world.owner = append(world.owner, uint16(i))
		}
		flows += c.cfg.Conns
		world.does = append(world.does, c)
	}
	world.link = link.New(capacity(line.Rate), flows, line.Sharing)
	return world, nil
}

func capacity(rate float64) float64 {
	if rate <= 0 {
		return math.Inf(1)
	}
	return rate
}

// pause is how many things happen between two looks at whether to go on.
const pause = 4096

// lastDay is when time ends: well before the clock cannot count any further.
const lastDay = page.Time(200 * 366 * 24 * time.Hour)

var errLate = errors.New("the crawl is not over after 200 years, which is as far as time goes: its pages are too large for the line or the sites, or one of the waits is too long")

// late says that nothing happens any more before time ends.
func (w *World) late(at page.Time, flows bool) bool {
	next, ok := w.plan.Next()
	return (!flows || at > lastDay) && (!ok || next > lastDay) && (flows || ok)
}

// Run lets time pass until every crawl is over, or until on returns false; it is
// asked now and then, and may read the World's Progress. It returns the first
// failure of a crawl's ledger, a fault of ours, and an error for crawls that take
// centuries.
func (w *World) Run(on func() bool) error {
	for _, c := range w.does {
		if err := c.start(); err != nil {
			return err
		}
	}
	for n := 1; w.live > 0 && w.err == nil; n++ {
		if n%pause == 0 && on != nil && !on() {
			for _, c := range w.does {
				c.cut()
			}
			return w.err
		}
		at, flow, flows := w.link.Next()
		if w.late(page.Time(at), flows) {
			for _, c := range w.does {
				c.cut()
			}
			return cmp.Or(w.err, errLate)
		}
		if next, ok := w.plan.Next(); ok && (!flows || next <= page.Time(at)) {
			var t thing
			w.now, t = w.plan.Pop()
			if t.what == changed {
				w.change(w.changes[t.arg])
			} else {
				w.does[t.who].happen(t)
			}
			continue
		}
		if !flows {
			return fmt.Errorf("nothing is to come, and %d crawls are not over: a fault in the simulator or the engine", w.live)
		}
		w.now = max(w.now, page.Time(at))
		w.link.End(int64(w.now), flow)
		c := w.does[w.owner[flow]]
		c.answer(uint32(flow - c.base))
	}
	return w.err
}

// Results are those of the crawls, in the order of their Configs.
func (w *World) Results() []Result {
	all := make([]Result, len(w.does))
	for i, c := range w.does {
		all[i] = c.result()
	}
	return all
}

// Progress says how far the first crawl is.
func (w *World) Progress() Sample { return w.does[0].sample() }

func seconds(d time.Duration) float64 { return d.Seconds() }
