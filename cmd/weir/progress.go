package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"weir/internal/node"
)

// progress shows how a crawl is doing while it runs: a few lines drawn over and
// over on a terminal, a line now and then in a pipe, JSON lines for programs.
// The crawl leaves its Status with tell, which never waits; one goroutine does
// all the writing, because a terminal can stand still for as long as it likes.
type progress struct {
	screen
	cfg   *node.Config
	how   func(p *progress, s node.Status)
	wrote string // the last line, without the time

	mu   sync.Mutex
	last node.Status
	seen bool

	says chan string
	over chan struct{}
	done sync.WaitGroup
}

// screen is where progress is written; on a terminal, lines are painted over
// those before.
type screen struct {
	out   io.Writer
	width func() int // columns of the terminal; nil: it is none
	drawn int        // lines of the last picture, still on the screen
}

// screen returns the one that people look at.
func (e *env) screen() screen {
	s := screen{out: e.err}
	if f, ok := e.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.width = func() int {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
			return 80
		}
	}
	return s
}

// How often each kind of progress is shown.
const (
	drawEvery = 250 * time.Millisecond
	jsonEvery = 2 * time.Second
	lineEvery = 10 * time.Second
)

// watch begins to show progress; the caller calls end. It becomes cfg.Progress.
func (e *env) watch(cfg *node.Config, asJSON bool) *progress {
	p := &progress{screen: e.screen(), cfg: cfg, how: (*progress).line, says: make(chan string, 16), over: make(chan struct{})}
	every := lineEvery
	if p.width != nil {
		p.how, every = (*progress).draw, drawEvery
	}
	if asJSON {
		p.out, p.how, every = e.out, (*progress).json, jsonEvery
	}
	cfg.Progress = p.tell
	ticker := time.NewTicker(every)
	p.done.Go(func() {
		defer ticker.Stop()
		p.run(ticker.C, e.err)
	})
	return p
}

// tell takes the newest status.
func (p *progress) tell(s node.Status) {
	p.mu.Lock()
	p.last, p.seen = s, true
	p.mu.Unlock()
}

// status returns the newest status, if there is one.
func (p *progress) status() (node.Status, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.seen
}

// say shows a message to a person, above the picture where there is one.
func (p *progress) say(message string) { p.says <- message }

// note is say for the crawl, which must not wait: what a screen that stands still
// cannot take stands in the log.
func (p *progress) note(message string) {
	select {
	case p.says <- "weir: " + message:
	default:
	}
}

// end stops the showing and clears the picture.
func (p *progress) end() {
	close(p.over)
	p.done.Wait()
}

func (p *progress) run(tick <-chan time.Time, people io.Writer) {
	show := func() {
		if s, ok := p.status(); ok {
			p.how(p, s)
		}
	}
	for {
		select {
		case <-tick:
			show()
		case message := <-p.says:
			p.wipe()
			fmt.Fprintln(people, message)
		case <-p.over:
			p.wipe()
			for len(p.says) > 0 {
				fmt.Fprintln(people, <-p.says)
			}
			return
		}
	}
}

// line writes one line for a log.
func (p *progress) line(s node.Status) {
	also := ""
	for _, what := range []string{rereading(s), resting(s)} {
		if what != "" {
			also += ", " + what
		}
	}
	text := fmt.Sprintf("%s, %.1f/s, %s, %s/s%s, %s queued, %s, %s%s%s",
		many(s.Totals.Fetched, "page"), s.Pages, bytesOf(float64(s.Totals.Bytes)), bytesOf(s.Rate), p.allowed(s.Bound),
		thousands(s.Totals.Queued), many(int64(s.Active), "connection"), many(s.Totals.Errors(), "error"), p.left(s, ", "), also)
	if p.cfg.Peer != nil && text == p.wrote {
		return // a node that is done stays for days
	}
	p.wrote = text
	fmt.Fprintf(p.out, "%s: %s\n", short(s.Run), text)
}

// allowed says what may flow now.
func (p *progress) allowed(b node.Bound) string {
	if p.cfg.Peer != nil && b.By != "" && b.Rate > 0 && b.Rate <= node.LeastShare {
		return ", and has no part of the common limit yet"
	}
	return allowed(b)
}

// rereading says that a crawl reads its stored pages for another program.
func rereading(s node.Status) string {
	if !s.Totals.Steered {
		return ""
	}
	return fmt.Sprintf("reading %s again under the new program", many(s.Totals.Fetched, "stored page"))
}

// longRest is a time after which people wonder why nothing happens.
const longRest = time.Minute

// resting says that nothing can be fetched for a while, and why.
func resting(s node.Status) string {
	if s.Pause < longRest {
		return ""
	}
	why := ""
	if s.Rest.Asked >= longRest {
		why = fmt.Sprintf("; the program has it rest %s between visits", short(s.Rest.Asked))
	}
	return fmt.Sprintf("all hosts rest, the next visit is to %s in %s%s", s.Rest.Host, short(s.Pause), why)
}

// left says how long the crawl still takes, after a separator, if it can be known.
func (p *progress) left(s node.Status, before string) string {
	if eta, ok := s.ETA(*p.cfg); ok {
		return before + "about " + short(eta) + " left"
	}
	return ""
}

// draw paints the picture over the one before.
func (p *progress) draw(s node.Status) { p.paint(p.picture(s)) }

// paint puts lines where the last ones are.
func (s *screen) paint(lines []string) {
	width := s.width()
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	for _, l := range lines {
		b.WriteString("\r" + cutWidth(l, width-1) + "\x1b[K\n")
	}
	s.drawn = len(lines)
	io.WriteString(s.out, b.String())
}

// wipe takes the lines off the screen.
func (s *screen) wipe() {
	if s.drawn > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// picture is what a person at a terminal sees.
func (p *progress) picture(s node.Status) []string {
	state := ""
	if s.Stop != "" {
		state = "   finishing"
	}
	lines := []string{
		fmt.Sprintf("  time    %s%s%s", short(s.Run), p.left(s, ", "), state),
		fmt.Sprintf("  pages   %s fetched, %.1f/s now, %s", thousands(s.Totals.Fetched), s.Pages, many(s.Totals.Errors(), "error")),
		fmt.Sprintf("  bytes   %s, %s/s now%s", bytesOf(float64(s.Totals.Bytes)), bytesOf(s.Rate), p.allowed(s.Bound)),
		fmt.Sprintf("  queue   %s, %s, %s parked", many(s.Totals.Queued, "page"), many(int64(s.Sites), "site"), thousands(s.Totals.Parked)),
		fmt.Sprintf("  hosts   %d connected, %s idle, %s resting", s.Active, many(int64(s.Idle), "connection"), many(int64(s.Resting), "host")),
	}
	if again := rereading(s); again != "" {
		lines = append(lines, "  again   "+again)
	}
	if rest := resting(s); rest != "" {
		lines = append(lines, "  rest    "+rest)
	}
	promises := node.Promises(s.Promises)
	for i, p := range promises {
		if i == maxPromised {
			lines = append(lines, fmt.Sprintf("          and %s more with deadlines: weir steer lists them", thousands(int64(len(promises)-i))))
			break
		}
		lines = append(lines, fmt.Sprintf("  %-7s %s", p.Site, promiseLine(p, time.Now())))
	}
	return lines
}

// maxPromised is how many deadlines a picture shows.
const maxPromised = 10

// json writes one line for a program. Names are for programs: add, never rename.
func (p *progress) json(s node.Status) {
	event := struct {
		Event   string   `json:"event"`
		Seconds float64  `json:"seconds"`
		Pages   int64    `json:"pages"`
		Fetched int64    `json:"fetched"`
		Bytes   int64    `json:"bytes"`
		Errors  int64    `json:"errors"`
		Queued  int64    `json:"queued"`
		Parked  int64    `json:"parked"`
		Sites   int      `json:"sites"`
		Rate    float64  `json:"rate"`
		Speed   float64  `json:"pages_per_second"`
		Active  int      `json:"active"`
		Idle    int      `json:"idle"`
		Resting int      `json:"resting"`
		ETA     *float64 `json:"eta,omitempty"`

		Commits node.Commits `json:"commit_ms"`

		// Of the limit: what may flow now (0: all, -1: nothing), which one says so,
		// until when, and whether others have the way.
		Limit    int64      `json:"limit"`
		By       string     `json:"limit_by,omitempty"`
		Until    *time.Time `json:"limit_until,omitempty"`
		Yielding bool       `json:"yielding,omitempty"`
		Part     float64    `json:"yield_part,omitempty"`
		Yields   int        `json:"yields,omitempty"`
		Used     int64      `json:"quota_used,omitempty"`

		Promises []node.Promise `json:"promises,omitempty"`

		// Of another program: stored pages are read again for it, and how many it is
		// known to ask for.
		Steered bool  `json:"steered,omitempty"`
		Due     int64 `json:"due,omitempty"`

		// All hosts rest: whose turn comes first, in how many seconds, and how long the
		// program has it rest.
		RestHost  string  `json:"rest_host,omitempty"`
		RestFor   float64 `json:"rest_for,omitempty"`
		RestAsked float64 `json:"rest_asked,omitempty"`
	}{
		"progress", s.Run.Seconds(), s.Totals.Ended(), s.Totals.Fetched, s.Totals.Bytes, s.Totals.Errors(), s.Totals.Queued,
		s.Totals.Parked, s.Sites, s.Rate, s.Pages, s.Active, s.Idle, s.Resting, nil, s.Commits,
		s.Bound.Number(), s.Bound.By, nil, s.Bound.Yielding, 0, s.Bound.Yields, s.Link.Used, node.Promises(s.Promises),
		s.Totals.Steered, s.Totals.Due,
		s.Rest.Host, s.Pause.Seconds(), s.Rest.Asked.Seconds(),
	}
	if !s.Bound.Until.IsZero() {
		event.Until = &s.Bound.Until
	}
	if s.Bound.Yielding {
		event.Part = s.Bound.Part
	}
	if eta, ok := s.ETA(*p.cfg); ok {
		seconds := eta.Seconds()
		event.ETA = &seconds
	}
	json.NewEncoder(p.out).Encode(event)
}

// cutWidth keeps a line from wrapping.
func cutWidth(l string, width int) string {
	if r := []rune(l); len(r) > width {
		return string(r[:max(width, 0)])
	}
	return l
}
