package main

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"weir/frontier"
	"weir/sim"
	"weir/sim/link"
)

// simCmd is the laboratory: the scheduler of weir crawl on webs that are only
// numbers, in virtual time.
type simCmd struct {
	Run     simRunCmd     `cmd:"" help:"Crawl a web in virtual time, with one configuration."`
	Compare simCompareCmd `cmd:"" help:"Crawl with every configuration of a matrix; one table, one chart."`
	Record  simRecordCmd  `cmd:"" help:"Make a web of a finished crawl: what if I had used another order?"`
	Replay  simReplayCmd  `cmd:"" help:"Play the trace of a crawl again, and compare every order."`
	Papers  simPapersCmd  `cmd:"" help:"Repeat the tables and figures of the papers, and say which targets are met."`
}

// AfterApply refuses values that are empty, such as those of a variable that the
// shell does not know. Lists would have no configuration, and files no name.
func (c *simCmd) AfterApply(at *kong.Context) error {
	for _, p := range at.Path {
		if p.Flag == nil {
			continue
		}
		if v := p.Flag.Target; (v.Kind() == reflect.Slice || v.Kind() == reflect.String) && v.Len() == 0 {
			return fmt.Errorf("--%s is empty", p.Flag.Name)
		}
	}
	return nil
}

// labFlags say what is simulated. Most take lists: weir sim run wants one value
// of each, weir sim compare plays every combination.
type labFlags struct {
	Web   []string  `name:"web" group:"web" placeholder:"WEB" default:"chile" help:"chile (like the Chilean web of Castillo's thesis), core (most links lead to large, flat sites), isolated (most sites are linked from nowhere), or a FILE: a recorded crawl, or a text with addresses. edges:FILE and adj:FILE are graphs of bare numbers. weir sim run --help shows all forms."`
	Scale []float64 `name:"scale" group:"web" placeholder:"X" default:"0.01" help:"Size of a web that is made up; 1 has 3.5 million pages. Default: 0.01."`
	Seed  []uint64  `name:"seed" group:"web" placeholder:"N" default:"1" help:"Another number makes up another web of the same kind. Default: 1."`

	Line    []rate   `name:"line" group:"link" placeholder:"RATE" help:"What the crawler's line carries, B in Castillo's thesis, or none for no bound. Default: 200KB/s; none on a web from a file."`
	Sharing []string `name:"sharing" group:"link" placeholder:"RULE" default:"maxmin" help:"How downloads share the line: maxmin (what one cannot use goes to the others) or even (B/n for each open connection, the reading that fits the thesis' table 6.1). Default: maxmin."`
	Limit   []rate   `name:"limit" group:"link" placeholder:"RATE" help:"The crawl's own limit on the line, L in the papers. Default: none."`
	Control []string `name:"control" group:"link" placeholder:"RULE" default:"weir" help:"What decides which page starts under a limit: weir, paper or reactive, as in weir crawl. Default: weir."`
	Look    []count  `name:"lookahead" group:"link" placeholder:"N" default:"64" help:"How far down the queue to look for a page that fits under the limit, max_d in the paper. Default: 64."`

	Order   []string `name:"order" group:"manners" placeholder:"ORDER" help:"What to fetch first: one of the orders above. Default: the first of them; weir sim compare takes them all."`
	Conns   []whole  `name:"conns" group:"manners" placeholder:"N" default:"64" help:"Connections open at once, r in Castillo's thesis. Default: 64."`
	PerConn []series `name:"per-conn" group:"manners" placeholder:"N" default:"1" help:"Pages fetched over one connection, c in Castillo's thesis; auto lets them follow the backlog, up to 100, or N with auto:N. Default: 1."`
	Batch   []whole  `name:"batch" group:"manners" placeholder:"N" help:"Pages in a batch, or between two rankings with --order partial or siterank, K in Castillo's thesis; and those that --stop-gain compares. Default: 10000, at most a twentieth of the web."`
	Wait    []span   `name:"wait" group:"manners" placeholder:"TIME" help:"Pause between visits to a host, w in Castillo's thesis. Default: 15s, as there; 1s on a web from a file."`
	Robots  *bool    `name:"robots" group:"manners" negatable:"" help:"Ask every site for its robots.txt first, and heed its crawl-delay. Default: only on a web from a file."`

	MaxPages count `name:"max-pages" group:"bounds" placeholder:"N" default:"none" help:"Stop after N pages. Default: none."`
	StopGain share `name:"stop-gain" group:"bounds" placeholder:"SHARE" default:"none" help:"Stop when the last --batch pages score, on the mean, less than this share of what the first did, as in 0.1. Not with orders that rank pages, such as batch: ranks do not fall. Default: none."`
	MaxTime  span  `name:"max-time" group:"bounds" placeholder:"TIME" default:"none" help:"Stop after a virtual time: 90s, 2h30m, 3d. Default: none."`
	Memory   size  `name:"memory" group:"bounds" placeholder:"SIZE" help:"Refuse webs that need more. Default: three quarters of what this machine has."`
}

// ordersHelp lists the orders.
func ordersHelp() string {
	return "Orders: " + strings.Join(frontier.Orders(), ", ") + "; optimal knows the PageRank of all pages beforehand."
}

// trial is one configuration.
type trial struct {
	name string // what tells it from the others
	from origin
	line sim.Line
	cfg  sim.Config

	strict bool // the size of batches was asked for, and must fit
}

// The configuration when nothing is said: the one of Castillo's thesis for webs
// that are made up, the one of weir crawl for webs that are somebody's.
const (
	paperLine = 200_000
	paperWait = 15 * time.Second
	liveWait  = time.Second
	liveBatch = 10_000
)

// maxTrials bounds a matrix, so that a slip of the hand ends at once.
const maxTrials = 100_000

// trials returns every combination of the values given, webs outermost.
func (f *labFlags) trials() ([]*trial, error) {
	origins, err := f.origins()
	if err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	all := make([]*trial, len(origins))
	for i, s := range origins {
		t := &trial{from: s, line: sim.Line{Rate: paperLine}, cfg: sim.Config{Wait: paperWait, Batch: liveBatch, MaxPages: int64(f.MaxPages), StopGain: float64(f.StopGain)}}
		if s.file() {
			t.line.Rate, t.cfg.Wait, t.cfg.Hold, t.cfg.Robots = 0, liveWait, frontier.Holdable, true
		}
		if f.Robots != nil {
			t.cfg.Robots = *f.Robots
		}
		if f.MaxTime > 0 {
			t.cfg.MaxTime = time.Duration(f.MaxTime)
		}
		all[i] = t
	}
	for _, grow := range []func([]*trial) []*trial{
		each(f.Line, func(t *trial, v rate) { t.line.Rate = float64(v) }),
		each(f.Sharing, func(t *trial, v string) { t.line.Sharing, _ = link.ParseSharing(v) }),
		each(f.Order, func(t *trial, v string) { t.cfg.Order = v }),
		each(f.Conns, func(t *trial, v whole) { t.cfg.Conns = int(v) }),
		each(f.PerConn, func(t *trial, v series) { t.cfg.PerConn, t.cfg.Auto = int(v.most), v.auto }),
		each(f.Batch, func(t *trial, v whole) { t.cfg.Batch, t.strict = int64(v), true }),
		each(f.Wait, func(t *trial, v span) { t.cfg.Wait = pause(v) }),
		each(f.Limit, func(t *trial, v rate) { t.cfg.Limit = int64(v) }),
		each(f.Control, func(t *trial, v string) { t.cfg.Control = v }),
		each(f.Look, func(t *trial, v count) { t.cfg.Lookahead = int(v) }),
	} {
		if all = grow(all); len(all) > maxTrials {
			return nil, usage("give fewer values, or begin with those that matter", "the matrix has more than %s configurations", thousands(maxTrials))
		}
	}
	all = distinct(all)
	christen(all)
	return all, nil
}

// fit makes the trial fit the web: batches that nobody asked for are no larger
// than a twentieth of it.
func (t *trial) fit(p *place) error {
	most := int64(p.Pages())
	switch {
	case t.strict && t.cfg.Batch > most:
		return usage("choose a smaller --batch", "a batch of %s is more than the %s of %s", many(t.cfg.Batch, "page"), thousands(most), p.Name)
	case !t.strict:
		t.cfg.Batch = min(t.cfg.Batch, max(most/20, 1))
	}
	return nil
}

// distinct takes out of every trial what does not matter in it, and those trials
// that are then the same as another.
func distinct(all []*trial) []*trial {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(t *trial) bool {
		if t.cfg.Limit == 0 {
			t.cfg.Control, t.cfg.Lookahead = "", 0
		}
		order, err := frontier.Order(t.cfg.Order)
		if err == nil && !order.Traits().Ranked && t.cfg.StopGain == 0 {
			t.cfg.Batch = 0
		}
		var key strings.Builder
		for _, k := range knobs {
			key.WriteString(k.text(t) + "\x00")
		}
		twice := seen[key.String()]
		seen[key.String()] = true
		return twice
	})
}

// each makes of every trial as many as there are values; without values they
// stay as they are.
func each[T comparable](values []T, set func(*trial, T)) func([]*trial) []*trial {
	return func(all []*trial) []*trial {
		if len(values) == 0 || len(all)*len(values) > 2*maxTrials {
			return slices.Repeat(all, max(len(values), 1))
		}
		grown := make([]*trial, 0, len(all)*len(values))
		for _, t := range all {
			for i, v := range values {
				if slices.Contains(values[:i], v) {
					continue // said twice
				}
				one := *t
				set(&one, v)
				grown = append(grown, &one)
			}
		}
		return grown
	}
}

// pause is a wait as sim takes it, where 0 is the default.
func pause(v span) time.Duration {
	if v <= 0 {
		return -1
	}
	return time.Duration(v)
}

// check refuses values that are words, and none of those that are known.
func (f *labFlags) check() error {
	for _, of := range []struct {
		flag  string
		given []string
		words []string
	}{
		{"--order", f.Order, frontier.Orders()},
		{"--sharing", f.Sharing, []string{"maxmin", "even"}},
		{"--control", f.Control, []string{"weir", "paper", "reactive"}},
	} {
		for _, v := range of.given {
			if !slices.Contains(of.words, v) {
				return choice(of.flag, v, of.words...)
			}
		}
	}
	for _, n := range f.Conns {
		if n > maxConns {
			return usage(fmt.Sprintf("use %d at most", maxConns), "--conns %d is too many", n)
		}
	}
	if f.MaxTime == 0 {
		return usage("write none for no bound", "--max-time 0s would fetch nothing")
	}
	for _, order := range f.Order {
		if err := gainful(order, float64(f.StopGain), "score"); err != nil {
			return err
		}
	}
	return nil
}

// gainful refuses --stop-gain with orders whose scores do not tell what a page
// is worth in comparison with those fetched long before it; unscored are orders
// that have no scores here, besides those that never have.
func gainful(order string, stop float64, unscored ...string) error {
	of, err := frontier.Order(order)
	switch {
	case err != nil || stop == 0:
		return err
	case slices.Contains(append(unscored, "length", "depth", "depth-flat"), order):
		return usage("choose another order, such as siteopic", "--stop-gain goes by scores, and --order %s gives none", order)
	case of.Traits().Ranked:
		// Every page that is known has a score of 1 and what others pass on to it, so
		// that the last pages of a crawl score no less than the first.
		return usage("choose another order, such as siteopic, or --stop-gain none", "--stop-gain cannot go by --order %s: its ranks are those among the pages found so far, and do not fall as a crawl goes on", order)
	}
	return nil
}

// knob is one setting of a trial, for names and tables.
type knob struct {
	name  string
	short string // before the value in the name of a trial
	text  func(*trial) string
}

var knobs = []knob{
	{"web", "", func(t *trial) string { return t.from.String() }},
	{"seed", "seed=", func(t *trial) string { return strconv.FormatUint(t.from.seed, 10) }},
	{"order", "", func(t *trial) string { return t.cfg.Order }},
	{"conns", "r=", func(t *trial) string { return strconv.Itoa(t.cfg.Conns) }},
	{"per-conn", "c=", func(t *trial) string { return t.perConn() }},
	{"batch", "K=", func(t *trial) string { return number0(t.cfg.Batch) }},
	{"wait", "w=", func(t *trial) string { return span(max(t.cfg.Wait, 0)).String() }},
	{"line", "B=", func(t *trial) string { return rate(t.line.Rate).String() }},
	{"sharing", "", func(t *trial) string { return t.sharing() }},
	{"limit", "L=", func(t *trial) string { return rate(t.cfg.Limit).String() }},
	{"control", "", func(t *trial) string { return t.cfg.Control }},
	{"lookahead", "d=", func(t *trial) string { return number0(int64(t.cfg.Lookahead)) }},
}

// number0 writes a number, and nothing for one that does not matter.
func number0(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func (t *trial) perConn() string { return series{whole(t.cfg.PerConn), t.cfg.Auto}.String() }

func (t *trial) sharing() string { return t.line.Sharing.String() }

// christen names trials by the settings in which they differ, or by their order.
func christen(all []*trial) {
	differ := slices.DeleteFunc(slices.Clone(knobs), func(k knob) bool { return k.same(all) })
	for _, t := range all {
		var parts []string
		for _, k := range differ {
			if text := k.text(t); text != "" && (k.name != "batch" || t.strict) {
				parts = append(parts, k.short+text)
			}
		}
		if t.name = strings.Join(parts, " "); t.name == "" {
			t.name = t.cfg.Order
		}
		t.cfg.Name = t.name
	}
}

// same says that all trials have the same value.
func (k knob) same(all []*trial) bool {
	return !slices.ContainsFunc(all, func(t *trial) bool { return k.text(t) != k.text(all[0]) })
}

// alike names the settings in which trials do not differ.
func alike(all []*trial) string {
	var parts []string
	for _, k := range knobs {
		if k.same(all) && k.text(all[0]) != "" {
			parts = append(parts, k.name+" "+k.text(all[0]))
		}
	}
	return strings.Join(parts, ", ")
}

// String names all settings that matter.
func (t *trial) String() string {
	s := fmt.Sprintf("order %s, r = %d, c = %s, w = %s", t.cfg.Order, t.cfg.Conns, t.perConn(), span(max(t.cfg.Wait, 0)))
	if t.line.Rate > 0 {
		s += ", B = " + rate(t.line.Rate).String() + " shared " + t.sharing()
	} else {
		s += ", no bound on the line"
	}
	if t.cfg.Batch > 0 {
		s += fmt.Sprintf(", K = %d", t.cfg.Batch)
	}
	if t.cfg.Limit > 0 {
		s += fmt.Sprintf(", L = %s by %s", rate(t.cfg.Limit), t.cfg.Control)
	}
	if t.cfg.Robots {
		s += ", robots.txt"
	}
	return s
}

// floor is T*, the time that the line, or the limit, needs for so many bytes, in seconds; 0
// when nothing bounds it.
func (t *trial) floor(bytes float64) float64 {
	b := t.line.Rate
	if t.limited() {
		b = float64(t.cfg.Limit)
	}
	if b == 0 {
		return 0
	}
	return bytes / b
}

// limited says that the limit is less than what the line carries.
func (t *trial) limited() bool {
	l := float64(t.cfg.Limit)
	return l > 0 && (t.line.Rate == 0 || l < t.line.Rate)
}

// neck names what bounds the crawl.
func (t *trial) neck() string {
	if t.limited() {
		return "the limit"
	}
	return "the line"
}
