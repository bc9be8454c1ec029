package node

import (
	"context"
	"fmt"
	"time"

	"weir/crawl"
	"weir/plan"
)

// reserve makes a plan of the promises, beside the crawl.
func (n *node) reserve(ctx context.Context, o crawl.Plan) {
	n.send(ctx, crawl.Planned{Version: o.Version, Reserved: plan.Reserve(o.Link, o.Promises)})
}

// tellNews tells the user how it stands with a promise.
func (n *node) tellNews(o crawl.News) {
	due := time.Unix(0, o.Deadline)
	fields := map[string]any{"site": o.Host, "standing": o.Standing, "deadline": due.Format(time.RFC3339)}
	if o.Why != "" {
		fields["why"] = o.Why
	}
	n.log.event("promise", fields)
	at := Clock(due, time.Now())
	switch o.Standing {
	case crawl.Held:
		n.notice(fmt.Sprintf("%s will be done by %s", o.Host, at))
	case crawl.Refused:
		n.notice(fmt.Sprintf("%s cannot be promised by %s: %s. It is crawled as everything else", o.Host, at, o.Why))
	case crawl.Broken:
		n.notice(fmt.Sprintf("%s will NOT be done by %s: %s", o.Host, at, o.Why))
	case crawl.Kept:
		n.notice(fmt.Sprintf("%s is done, %s before its deadline", o.Host, time.Until(due).Round(time.Second)))
	case crawl.Missed:
		n.notice(fmt.Sprintf("%s has missed its deadline of %s: %s", o.Host, at, o.Why))
	}
}

// Clock writes a time as short as it is clear near another.
func Clock(t, now time.Time) string {
	if d := t.Sub(now).Abs(); d < 10*time.Minute {
		return t.Format("15:04:05")
	} else if d < 18*time.Hour {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// Promise is how it stands with a deadline. Names are for programs: add, never
// rename.
type Promise struct {
	Site     string         `json:"site"`
	Deadline time.Time      `json:"deadline"`
	Standing crawl.Standing `json:"standing"` // wished, held, refused, broken, kept or missed
	Why      string         `json:"why,omitempty"`
	ETA      *time.Time     `json:"eta,omitempty"`   // when its last page should come, or came
	Slack    *float64       `json:"slack,omitempty"` // seconds from then to the deadline
	Risk     crawl.Risk     `json:"risk"`
	Pages    int64          `json:"pages"`      // fetched
	Left     int64          `json:"pages_left"` // that are known
	Bytes    int64          `json:"bytes"`      // on the wire
	Expected int64          `json:"bytes_left"` // with caution
	Speed    float64        `json:"speed"`      // bytes a second that the site can bring with its waits
	Xi       float64        `json:"xi"`         // bytes on the wire for a byte of its pages
}

// Promises tells of the deadlines of a crawl.
func Promises(all []crawl.PromiseStatus) []Promise {
	var out []Promise
	for _, s := range all {
		p := Promise{
			Site: s.Host, Deadline: time.Unix(0, s.Deadline), Standing: s.Standing, Why: s.Why, Risk: s.Risk, Pages: s.Had, Left: s.Left,
			Bytes: s.Bytes, Expected: s.Expected, Speed: s.Rate, Xi: s.Xi,
		}
		if p.Standing == crawl.Wished {
			p.Standing = "wished"
		}
		if s.ETA != 0 {
			eta, slack := time.Unix(0, s.ETA), float64(s.Deadline-s.ETA)/1e9
			p.ETA, p.Slack = &eta, &slack
		}
		out = append(out, p)
	}
	return out
}
