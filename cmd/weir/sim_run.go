package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"weir/frontier"
	"weir/sim"
)

// simRunCmd plays one configuration.
type simRunCmd struct {
	labFlags
	simOutput
	JSON  bool   `name:"json" group:"output" help:"Print the result as JSON."`
	Trace string `name:"trace" group:"output" placeholder:"FILE" help:"Record every event of the engine; weir sim replay plays it again."`
}

// Help shows examples.
func (c *simRunCmd) Help() string {
	return `The scheduler that crawls is the one that is simulated, unchanged; only the web, the line and the clock are made up. The
same web and flags give the same trace hash, on any machine. Ctrl-C ends a simulation and prints what it has.

Examples:
  weir sim run                                          a hundredth of the Chilean web, in a second
  weir sim run --order depth --conns 256 --per-conn 10  another order, more connections, more pages on each
  weir sim run --scale 1 --conns 256                    all 3.5 million pages
  weir sim run --line 20KB/s --sharing even             the paper's reading of a shared line
  weir sim run --html report.html --csv series.csv      charts, and the numbers behind them
  weir sim run --web crawl.weirweb --order depth        what if I had used another order? See weir sim record
  weir sim run --json | jq .virtual_seconds

A web can be written by hand, with a line for each site, page, seed and link. Numbers are bytes, bytes per second and
seconds; end=N says how a page ends: 1 fine, 2 redirected, 3 not found or refused, 5 the server failed. What is left out
is made up; when no line begins with page, every address in a link is one. Lines that begin with # are skipped, and any
file may be gzipped.
  site http://a.example speed=20000 latency=0.8 again=0.3 delay=10
  page http://a.example/ 23000
  page http://a.example/news 5100
  page http://a.example/old 300 end=3
  seed http://a.example/
  http://a.example/ http://a.example/news
  http://a.example/news http://a.example/old

Graphs of bare numbers come in two forms that look alike, so say which one it is. Their sites are guessed from the links.
  --web edges:FILE   each line is a link, from the first page to the second, as in the graphs of SNAP
  --web adj:FILE     line n, counted from 0, holds the pages that page n links to, as in cnr-2000

` + ordersHelp() + `

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.`
}

// Run implements the verb.
func (c *simRunCmd) Run(e *env) error {
	if len(c.Order) == 0 {
		c.Order = frontier.Orders()[:1]
	}
	trials, err := c.trials()
	if err != nil {
		return err
	}
	if len(trials) > 1 {
		return usage("weir sim compare takes lists", "weir sim run plays one configuration, and these are %s", thousands(int64(len(trials))))
	}
	t := trials[0]
	if err := c.open(e, c.Trace, c.Web); err != nil {
		return err
	}
	defer c.drop()
	began := time.Now()
	p, err := t.from.watched(e, c.bound())
	if err != nil {
		return err
	}
	if err := t.fit(p); err != nil {
		return err
	}
	fmt.Fprintln(e.err, p)
	made := time.Since(began)
	trace := c.file("--trace")
	if trace != nil {
		t.cfg.Trace = trace
	}
	f, err := t.watched(e, p)
	if trace != nil {
		err = trace.finish(err)
	}
	if err != nil {
		return err
	}
	f.made = made
	if c.JSON {
		err = json.NewEncoder(e.out).Encode(f.json(true))
	} else {
		err = f.print(e.out, width(e.out))
	}
	if err == nil {
		err = c.write(f.series, f.report(), f.charts()...)
	}
	if err != nil && !closed(err) {
		return err
	}
	if f.Stopped == sim.Interrupted {
		return quiet(exitInterrupted)
	}
	return nil
}

// watched opens the web and shows that something happens, until somebody
// interrupts it.
func (s origin) watched(e *env, memory int64) (*place, error) {
	_, stop, release := e.interrupts(func() {})
	defer release()
	what := "making"
	if s.file() {
		what = "reading"
	}
	began := time.Now()
	say := func() string {
		return fmt.Sprintf("%s %s, and ranking its pages: %s", what, s, short(time.Since(began)))
	}
	fmt.Fprintf(e.err, "%s %s\n", what, s)
	g := e.gauge(func() []string { return []string{"  " + say()} }, say)
	defer g.end()
	p, err := soon(func() (*place, error) { return s.open(memory) }, stop)
	if errors.Is(err, errStopped) {
		return nil, &fault{fmt.Errorf("interrupted while %s %s; there is nothing to tell yet", what, s), "", exitInterrupted}
	}
	return p, err
}

var errStopped = errors.New("stopped")

// soon opens a web, or returns errStopped as soon as somebody stops it. Then
// nobody waits for the web: the process ends, and with it what makes the web.
func soon(open func() (*place, error), stop <-chan struct{}) (*place, error) {
	type opened struct {
		*place
		err error
	}
	done := make(chan opened, 1)
	go func() {
		p, err := open()
		done <- opened{p, err}
	}()
	select {
	case o := <-done:
		return o.place, o.err
	case <-stop:
		return nil, errStopped
	}
}

// watched plays the trial and shows how far it is, until somebody interrupts it.
func (t *trial) watched(e *env, p *place) (*finding, error) {
	var now struct {
		sync.Mutex
		sim.Sample
		spent time.Duration
	}
	began := time.Now()
	look := func() (sim.Sample, time.Duration) {
		now.Lock()
		defer now.Unlock()
		return now.Sample, now.spent
	}
	_, stop, release := e.interrupts(func() {})
	defer release()
	fmt.Fprintf(e.err, "%s; Ctrl-C stops and prints what there is\n", t)
	g := e.gauge(
		func() []string { s, spent := look(); return t.picture(p, s, spent) },
		func() string { s, spent := look(); return t.progressLine(p, s, spent) })
	defer g.end()
	return t.play(p, func(w *sim.World) bool {
		now.Lock()
		now.Sample, now.spent = w.Progress(), time.Since(began)
		now.Unlock()
		select {
		case <-stop:
			return false
		default:
			return true
		}
	})
}

// play runs the trial; it goes on while on says so.
func (t *trial) play(p *place, on func(*sim.World) bool) (*finding, error) {
	began := time.Now()
	cfg := t.cfg
	cfg.Ranks = p.ranks
	w, err := sim.New(p.Web, t.line, cfg)
	if err != nil {
		return nil, usage("weir sim run --help says what each flag takes", "%s: %w", t.name, err)
	}
	if err := w.Run(func() bool { return on(w) }); err != nil {
		return nil, fmt.Errorf("simulate %s: %w", t.name, err)
	}
	return &finding{Result: w.Results()[0], trial: t, place: p.facts(), wall: time.Since(began)}, nil
}

// part is how much of the crawl is done.
func (t *trial) part(p *place, s sim.Sample) float64 {
	most := float64(p.pages)
	if n := float64(t.cfg.MaxPages); n > 0 {
		most = min(most, n)
	}
	part := float64(s.Pages) / max(most, 1)
	if d := t.cfg.MaxTime; d > 0 {
		part = max(part, s.Seconds/d.Seconds())
	}
	return min(part, 1)
}

// picture is what a person at a terminal sees.
func (t *trial) picture(p *place, s sim.Sample, spent time.Duration) []string {
	part := t.part(p, s)
	return []string{
		fmt.Sprintf("  %s %3.0f%%  %s%s", bar(part, 40), 100*part, short(spent), remaining(spent, part, ", ")),
		fmt.Sprintf("  virtual %s, %.0f times as fast", clock(s.Seconds), s.Seconds/max(spent.Seconds(), 1e-3)),
		fmt.Sprintf("  pages   %s of %s, %s/s", thousands(s.Pages), thousands(int64(p.pages)), thousands(int64(float64(s.Pages)/max(spent.Seconds(), 1e-3)))),
		fmt.Sprintf("  rank    %.1f%% of the PageRank that can be had", 100*s.Rank/p.rank),
		fmt.Sprintf("  queue   %s, %s of %s busy", many(s.Queued, "page"), thousands(int64(s.Busy+0.5)), many(int64(t.cfg.Conns), "connection")),
	}
}

// progressLine is the same for a log.
func (t *trial) progressLine(p *place, s sim.Sample, spent time.Duration) string {
	part := t.part(p, s)
	return fmt.Sprintf("%s: %.0f%%, %s after %s, %.1f%% of the rank, %s queued, %.0f of %d connections busy%s", short(spent), 100*part,
		many(s.Pages, "page"), clock(s.Seconds), 100*s.Rank/p.rank, thousands(s.Queued), s.Busy, t.cfg.Conns, remaining(spent, part, ", "))
}

// clock writes virtual seconds for people.
func clock(seconds float64) string {
	if seconds >= 10 {
		seconds = math.Round(seconds) // short cuts off
	}
	return short(time.Duration(seconds * 1e9))
}

// print writes a finding for people, in lines of so many columns; 0: as long as
// they are.
func (f *finding) print(w io.Writer, room int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "time      %s (%s s)", clock(f.Seconds), thousands(int64(f.Seconds+0.5)))
	if floor := f.trial.floor(f.Bytes); floor > 0 {
		fmt.Fprintf(&b, ", %.2f of T*, the %s that %s needs for the bytes", f.Seconds/floor, clock(floor), f.trial.neck())
	}
	if f.Stopped != "done" {
		fmt.Fprintf(&b, "; ended by %s", f.Stopped)
	}
	fmt.Fprintf(&b, "\npages     %s of %s that can be reached, %s\n", thousands(f.Pages), thousands(int64(f.place.pages)), bytesOf(f.Bytes))
	fmt.Fprintf(&b, "rank      %.1f%% of what can be had\n", 100*f.Rank/f.place.rank)
	fmt.Fprintf(&b, "busy      %.1f%% of the connections; %.1f of %d idle in the mean\n", 100*f.Busy, f.idle(), f.trial.cfg.Conns)
	fmt.Fprintf(&b, "\n         %8.0f%% %8.0f%% %8.0f%%  mean by rank\n", 100*shares[0], 100*shares[1], 100*shares[2])
	fmt.Fprintf(&b, "pages at ")
	for _, part := range shares {
		fmt.Fprintf(&b, " %9s", clockOr(f.reached(part).pages))
	}
	fmt.Fprintf(&b, "\nrank at  ")
	for _, part := range shares {
		fmt.Fprintf(&b, " %9s", clockOr(f.reached(part).rank))
	}
	fmt.Fprintf(&b, "  %12s\n\n", clock(f.RankTime))
	fmt.Fprintf(&b, "trace     %s, %s events\n", f.trace(), thousands(f.Events))
	fmt.Fprintf(&b, "simulated in %s, %s times as fast as it would be; the web took %s\n", short(f.wall), thousands(int64(f.speedup())), short(f.made))
	_, err := io.WriteString(w, folded(b.String(), room, 10))
	return err
}

// folded breaks lines that are too long between words; what follows stands under
// what was said, after the name of the line, which takes so many columns.
func folded(text string, room, inset int) string {
	if room <= inset {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		for {
			at := strings.LastIndexByte(line[:min(len(line), room+1)], ' ')
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= room || at <= inset {
				break
			}
			b.WriteString(line[:at] + "\n")
			line = strings.Repeat(" ", inset) + line[at+1:]
		}
		b.WriteString(line)
	}
	return b.String()
}

func clockOr(seconds float64) string {
	if seconds != seconds {
		return "–"
	}
	return clock(seconds)
}
