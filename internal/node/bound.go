package node

import (
	"fmt"
	"strings"
	"time"

	"weir/bandwidth"
	"weir/crawl"
)

// Bound is how many bytes a second may flow now, and why.
type Bound struct {
	Rate  int64     // bandwidth.Off and Unlimited are possible
	By    string    // limit, timetable or quota, whichever is lowest; "": nothing bounds
	Until time.Time // when that one says something else; zero: not by itself
	Thin  bool      // Off, although the quota is not spent: its share of a second would not be a packet

	Yielding bool    // stepping aside for others
	Part     float64 // of Rate that is used meanwhile; 1 else
	Blind    bool    // no probe was answered for a while: nothing is known of others
	Yields   int     // how often it stepped aside in this run
	Yielded  time.Duration
}

// bounded says which of several limits holds at a time, with so much of the
// quota used.
func bounded(l crawl.Limits, t time.Time, used int64) Bound {
	b := Bound{Rate: bandwidth.Unlimited, Part: 1}
	if l.Rate > 0 && l.Rate < bandwidth.Unlimited {
		b.Rate, b.By = l.Rate, "limit"
	}
	if l.Timetable.Set() {
		if rate, until := l.Timetable.At(t); rate < b.Rate {
			b.Rate, b.By = rate, "timetable"
			if until.Sub(t) < 7*24*time.Hour { // otherwise it is always the same
				b.Until = until
			}
		}
	}
	if l.Quota.Set() {
		if rate, until := l.Quota.At(t, used, l.Timetable); rate < b.Rate {
			b.Rate, b.By, b.Until = rate, "quota", time.Time{}
			if rate == bandwidth.Off {
				b.Until = until // otherwise it only is worked out again
				b.Thin = until.Before(l.Quota.End(t))
			}
		}
	}
	return b
}

// Pause says until when nothing may flow, "" when something may.
func (b Bound) Pause() string {
	if b.By == "" || b.Rate != bandwidth.Off {
		return ""
	}
	why := b.By
	switch {
	case b.Thin:
		why = "the quota comes to less than a packet a second until then"
	case why == "quota":
		why = "the quota is spent"
	}
	if b.Until.IsZero() {
		return fmt.Sprintf("paused (%s)", why)
	}
	return fmt.Sprintf("paused until %s (%s)", moment(b.Until, time.Now()), why)
}

// Why says what there is to say about the rate: nothing about a plain limit.
func (b Bound) Why() string {
	var why []string
	switch {
	case b.By == "timetable" && !b.Until.IsZero():
		why = append(why, "timetable until "+moment(b.Until, time.Now()))
	case b.By != "limit" && b.By != "":
		why = append(why, b.By)
	}
	switch {
	case b.Blind:
		why = append(why, "not yielding: no probe is answered")
	case b.Yielding:
		why = append(why, fmt.Sprintf("yielding: %.0f%% of it", 100*b.Part))
	}
	return strings.Join(why, ", ")
}

// Number is the rate as programs read it: 0 is none, a pause is -1.
func (b Bound) Number() int64 {
	switch {
	case b.By == "":
		return 0
	case b.Rate == bandwidth.Off:
		return -1
	}
	return b.Rate
}

// moment writes a local time as short as it can be understood.
func moment(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	switch ahead := t.Sub(now); {
	case ahead < 24*time.Hour && t.Day() == now.Day():
		return t.Format("15:04")
	case ahead < 6*24*time.Hour:
		return t.Format("Mon 15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// bound is what holds now, with so much of the quota used. The loop calls it.
func (n *node) bound(used int64) Bound {
	if n.wire == nil {
		return Bound{Rate: bandwidth.Unlimited, Part: 1}
	}
	b := bounded(n.limits, time.Now(), used)
	if n.yield != nil {
		n.yield.describe(&b)
	}
	return b
}

// flow carries out a Limit, and tells the user when the crawl pauses and when
// it goes on.
func (n *node) flow(rate int64) {
	if n.yield != nil {
		n.yield.limit(rate)
	} else {
		n.wire.SetLimit(rate)
	}
	b := n.bound(n.engine.Status().Link.Used)
	switch off := rate == bandwidth.Off; {
	case off && !n.paused:
		n.notice(b.Pause())
	case !off && n.paused:
		n.notice("going on")
	}
	n.paused = rate == bandwidth.Off
	if b.By != n.boundBy {
		n.boundBy = b.By
		n.log.event("limit", map[string]any{"rate": b.Number(), "by": b.By})
	}
}

// notice tells the user something that should be known, and logs it.
func (n *node) notice(what string) {
	n.log.event("notice", map[string]any{"what": what})
	if n.cfg.Notice != nil {
		n.cfg.Notice(what)
	}
}
