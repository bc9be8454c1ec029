package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/wirelab"
)

const (
	yieldLimit = 1e6
	yieldLink  = 1.25e6 // a link that the limit nearly fills
	pouring    = 20 * time.Second
	quiet5     = 5 * time.Minute
)

// pour is a download of the neighbour's.
type pour struct {
	begin, end time.Duration
	bytes      int64
}

func (p pour) rate() float64 { return float64(p.bytes) / (p.end - p.begin).Seconds() }

// pourFor downloads for a while.
func pourFor(ctx context.Context, l *wirelab.Lab, length time.Duration) (pour, error) {
	p := pour{begin: l.Now()}
	b, err := l.Pour()
	if err != nil {
		return p, err
	}
	rest(ctx, length)
	p.end = l.Now()
	p.bytes = b.Stop()
	return p, nil
}

// rest waits, and says whether it could to the end.
func rest(ctx context.Context, length time.Duration) bool {
	t := time.NewTimer(length)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// yielding measures what a neighbour's download loses to the crawler, and how
// soon the crawler makes room and comes back; then that it does not yield to nobody.
func (l *lab) yielding() error {
	l.say("\nweir --yield, L = %s on a link of %s, a neighbour downloads for %v three times", say(yieldLimit), say(yieldLink), pouring)
	link := wirelab.Link{Rate: yieldLink, Queue: int(yieldLink / 5)}
	alone, err := l.lone(link)
	if err != nil {
		return err
	}
	l.value("the neighbour alone", one(alone/1e3), "KB/s")
	// With a plain limit first, to show what yielding is for.
	for _, kind := range []struct {
		name string
		args []string
	}{{"without --yield", nil}, {"--yield", []string{"--yield", "--yield-probe", "{probe}"}}} {
		if err := l.yieldOnce(kind.name, link, alone, kind.args); err != nil {
			return err
		}
	}
	return l.falseYield(link)
}

func (l *lab) yieldTrial(name string, link wirelab.Link, length time.Duration, args []string) trial {
	a := attempt{name: "weir", limit: yieldLimit, conns: 128, args: args}
	return trial{
		web:   wirelab.NewWeb(wirelab.WebConfig{Limit: yieldLimit, Length: length, Seed: 1}),
		link:  link,
		limit: yieldLimit, conns: a.conns, length: length,
		argv: a.program(l.weir, ""),
		dir:  filepath.Join(l.dir, strings.ReplaceAll(name, " ", "-")),
	}
}

// lone is the rate of the neighbour's download when nobody else is there.
func (l *lab) lone(link wirelab.Link) (float64, error) {
	t := l.yieldTrial("lone", link, time.Second, nil)
	lab, err := wirelab.Start(wirelab.Config{Web: t.web, Link: link, Seed: 1})
	if err != nil {
		return 0, err
	}
	defer lab.Close()
	p, err := pourFor(context.Background(), lab, pouring)
	return p.rate(), err
}

func (l *lab) yieldOnce(name string, link wirelab.Link, alone float64, args []string) error {
	const times = 3
	t := l.yieldTrial("yield "+name, link, times*2*pouring+2*pouring, args)
	var pours []pour
	t.beside = func(ctx context.Context, lab *wirelab.Lab) error {
		for rest(ctx, pouring) && len(pours) < times {
			p, err := pourFor(ctx, lab, pouring)
			if err != nil {
				return err
			}
			pours = append(pours, p)
		}
		return nil
	}
	r, err := t.run()
	if err != nil {
		return err
	}
	if len(pours) < times {
		return fmt.Errorf("the crawl ended before the neighbour did:\n%s", r.output)
	}
	bins := r.received
	var kept, down, back figures
	for _, p := range pours {
		at := func(t time.Duration) int { return int((t - r.begin) / wirelab.Step) }
		kept = append(kept, 100*p.rate()/alone)
		// The time until the rate is halved, or that of the whole download.
		d, ok := wirelab.Sink(bins, at(p.begin), yieldLimit/2)
		if !ok || d > pouring {
			d = pouring
		}
		b, ok := wirelab.Rise(bins, at(p.end), 0.9*yieldLimit)
		if !ok || b > pouring {
			b = pouring
		}
		down, back = append(down, d.Seconds()), append(back, b.Seconds())
	}
	l.say("%s", name)
	if args == nil {
		l.value("the neighbour keeps, least of three", one(slices.Min(kept)), "% of its rate")
		return nil
	}
	l.target("the neighbour keeps, least of three", one(slices.Min(kept)), "% of its rate", atLeast(95))
	l.target("has yielded after, longest of three", one(slices.Max(down)), "s", atMost(1))
	l.target("is back at 90% after, longest of three", one(slices.Max(back)), "s", atMost(5))
	return nil
}

// falseYield crawls a quiet link.
func (l *lab) falseYield(link wirelab.Link) error {
	length := min(quiet5, l.wireLength()) + rampUp
	t := l.yieldTrial("yield quiet", link, length, []string{"--yield", "--yield-probe", "{probe}"})
	r, err := t.run()
	if err != nil {
		return err
	}
	l.say("quiet, %v", length-rampUp)
	l.short = ""
	if length < quiet5 {
		l.short = "the full measure is five minutes"
	}
	defer func() { l.short = "" }()
	row := newRow("weir --yield, quiet", yieldLimit, r)
	lines := strings.Split(strings.TrimSpace(r.output), "\n")
	var report struct {
		Yields *float64 `json:"yields"`
	}
	for _, line := range slices.Backward(lines) {
		if json.Unmarshal([]byte(line), &report) == nil && report.Yields != nil {
			l.target("false yields, by its own report", one(*report.Yields), "", atMost(0))
			break
		}
	}
	if report.Yields == nil {
		l.untold("false yields, by its own report", atMost(0), "weir does not tell")
	}
	var low float64
	for b := r.received[row.use.Begin:]; len(b) >= 10; b = b[10:] {
		var s float64
		for _, x := range b[:10] {
			s += x
		}
		if s < 0.8*yieldLimit {
			low++
		}
	}
	l.target("seconds below 80% of L", one(low), "", atMost(0))
	return nil
}
