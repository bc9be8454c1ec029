package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// gauge shows how far a simulation is: a picture on a terminal, a line now and
// then elsewhere. Its functions run on a goroutine of its own.
type gauge struct {
	screen
	over chan struct{}
	done sync.WaitGroup
}

// gauge begins to show; the caller calls end.
func (e *env) gauge(picture func() []string, line func() string) *gauge {
	g := &gauge{screen: e.screen(), over: make(chan struct{})}
	every, show := lineEvery, func() { fmt.Fprintln(g.out, line()) }
	if g.width != nil {
		every, show = drawEvery, func() { g.paint(picture()) }
	}
	ticker := time.NewTicker(every)
	g.done.Go(func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				show()
			case <-g.over:
				g.wipe()
				return
			}
		}
	})
	return g
}

// end stops the showing and clears the picture.
func (g *gauge) end() {
	close(g.over)
	g.done.Wait()
}

// bar draws how much of something is done.
func bar(part float64, width int) string {
	part = min(max(part, 0), 1)
	full := int(part * float64(width))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// remaining says how long something still takes that took so long for a part of
// it, after a separator, when that can be known.
func remaining(spent time.Duration, part float64, before string) string {
	if part <= 0.005 || part >= 1 || spent < time.Second {
		return ""
	}
	return before + "about " + short(time.Duration(float64(spent)*(1-part)/part)) + " left"
}
