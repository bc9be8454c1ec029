package crawl

import (
	"math"
	"slices"
	"time"

	"weir/bandwidth"
)

// pipe is the link of a simulated crawl: downloads share it max-min fairly,
// none faster than its server. Like the limiter of the live crawl it tells the
// Engine what it sees.
type pipe struct {
	s     *sim
	line  float64 // what the line itself carries; 0 = the limit is held on the wire
	rate  int64   // the limit, as ordered
	flows []*stream
	at    time.Duration
	bytes float64
	due   int           // the number of the event that counts
	idle  time.Duration // since when more could flow
	quiet time.Duration // the pause between two reports while nothing flows
	past  []float64     // bytes at the last reports
	each  []float64     // bytes of each whole second
	mark  float64
}

type stream struct {
	left, most, rate float64
	held             bool // it could have been faster
	end              func(held bool)
}

const pipePause = 100 * time.Millisecond

// limit takes the Engine's order.
func (p *pipe) limit(rate int64) {
	if p == nil {
		return
	}
	p.advance()
	p.rate = rate
	p.share()
}

// carry sends so many bytes through the pipe, at most at a server's speed.
func (p *pipe) carry(bytes int64, most float64, end func(held bool)) {
	p.advance()
	p.flows = append(p.flows, &stream{left: float64(max(bytes, 1)), most: most, end: end})
	p.share()
}

// room is what may flow now.
func (p *pipe) room() float64 {
	if p.line > 0 {
		return p.line
	}
	return float64(p.rate)
}

// share gives every flow its rate, and plans when the first of them ends.
func (p *pipe) share() {
	order := slices.Clone(p.flows)
	slices.SortStableFunc(order, func(a, b *stream) int {
		switch {
		case a.most < b.most:
			return -1
		case a.most > b.most:
			return 1
		}
		return 0
	})
	room, next := p.room(), math.Inf(1)
	for i, f := range order {
		f.rate = min(f.most, room/float64(len(order)-i))
		f.held = f.held || f.rate < f.most
		room -= f.rate
		if f.rate > 0 {
			next = min(next, f.left/f.rate)
		}
	}
	switch {
	case room <= 0:
		p.idle = -1
	case p.idle < 0:
		p.idle = p.s.now
	}
	p.due = p.s.seq + 1
	this := p.due
	if !math.IsInf(next, 1) {
		p.s.after(time.Duration(next*1e9)+1, func() {
			if p.due == this {
				p.advance()
				p.share()
			}
		})
	}
}

// advance lets the bytes flow that flowed since, and ends what is through.
func (p *pipe) advance() {
	dt := (p.s.now - p.at).Seconds()
	p.at = p.s.now
	var ended []*stream
	p.flows = slices.DeleteFunc(p.flows, func(f *stream) bool {
		n := min(f.rate*dt, f.left)
		f.left -= n
		p.bytes += n
		if f.left < 0.5 {
			ended = append(ended, f)
		}
		return f.left < 0.5
	})
	for _, f := range ended {
		p.s.after(0, func() { f.end(f.held) })
	}
}

// report tells the Engine what the wire did, again and again.
func (p *pipe) report() {
	p.advance()
	p.share()
	p.past = append(p.past, p.bytes)
	if len(p.past)%10 == 0 {
		p.each = append(p.each, p.bytes-p.mark)
		p.mark = p.bytes
	}
	w := bandwidth.Wire{Limit: float64(p.rate), Bytes: int64(p.bytes)}
	if n := len(p.past); n > 2 {
		w.Rate = (p.past[n-1] - p.past[n-3]) / (2 * pipePause.Seconds())
	}
	if p.idle >= 0 {
		w.Idle = p.s.now - p.idle
	} else {
		w.Backlog = 1
	}
	pause := pipePause
	if len(p.flows) == 0 && p.quiet > 0 { // else days of rest would take long to play
		p.quiet = min(2*p.quiet, time.Minute)
		pause = p.quiet
	} else if p.quiet > 0 {
		p.quiet = pipePause
	}
	if p.s.finished == "" {
		p.s.step(Wire{w})
		p.s.after(pause, p.report)
	}
}
