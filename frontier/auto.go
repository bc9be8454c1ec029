package frontier

import (
	"math"
	"time"

	"weir/page"
)

// With Config.Auto the pages of a connection follow the backlog: a host that
// would keep the crawl waiting at one page a connection gets as many as let it
// end with the others, at most PerConn. Of manners that takes nothing but the
// common wait between two pages, and it gives back:
//
//   - between two requests of a connection the host rests at least as long as
//     its last answer took, so that a slow server is never kept busy;
//   - a host with a crawl-delay is left out: one page a connection, as ever;
//   - what the server says of its connections, in Keep-Alive, is heeded;
//   - failures end the connection, and the full rest follows it, as ever.

// backlog is what decides how many pages a connection carries.
type backlog struct {
	pages int64         // waiting at the host
	rest  time.Duration // between two connections to it
	each  time.Duration // that one of its pages takes
	all   int64         // pages waiting at all hosts
	mean  time.Duration // that a page takes, over all hosts; 0: not known
	conns int
}

// perConn is how many pages a connection must carry for the host to end with
// the others: all that waits takes all*mean/conns, and one page a connection
// takes the host pages*(rest+each). As long as nothing is known it is 1.
//
// The terms are multiplied and divided, never added to a product: so every
// machine rounds alike and traces can be played anywhere.
func (b backlog) perConn(most int) int {
	if b.all <= 0 || b.mean <= 0 {
		return 1
	}
	alone := float64(b.pages) * (float64(b.rest) + float64(b.each))
	n := alone * float64(b.conns) / (float64(b.all) * float64(b.mean))
	if n >= float64(most) {
		return max(most, 1)
	}
	return max(int(math.Ceil(n)), 1)
}

// most is how many requests a connection to the host may carry, as it is opened.
func (f *Frontier) most(h *host) int {
	if !f.cfg.Auto {
		return f.cfg.PerConn
	}
	if h.care.delay > 0 {
		return 1
	}
	return f.share(h)
}

// share is the host's share of the connections' time, in pages a connection.
func (f *Frontier) share(h *host) int {
	mean := f.tempo.mean()
	each := h.tempo()
	if each == 0 {
		each = mean
	}
	return backlog{
		pages: h.sites.queued(), rest: f.wait(h), each: each, all: f.work, mean: mean, conns: f.cfg.Conns,
	}.perConn(f.cfg.PerConn)
}

// shelfCount is how many sites of a host are counted. Few hosts have more than
// two, and the first on the shelf have most to do.
const shelfCount = 8

// queued is how many pages wait on the shelf.
func (q *shelf) queued() int64 {
	if q.one != nil {
		return q.one.queued
	}
	n := int64(0)
	if q.many != nil {
		for _, s := range q.many.items[:min(shelfCount, len(q.many.items))] {
			n += s.queued
		}
	}
	return n
}

// tempo is how long pages took, in this run.
type tempo struct {
	sum   int64 // microseconds
	pages int64
}

func (t *tempo) mean() time.Duration {
	if t.pages == 0 {
		return 0
	}
	return time.Duration(t.sum/t.pages) * time.Microsecond
}

// tempo is how long a page of the host takes, 0 when that is not known.
func (h *host) tempo() time.Duration { return time.Duration(h.pace) * time.Microsecond }

// pace makes a time small enough to be kept for every host.
func pace(d time.Duration) uint32 {
	return uint32(min(max(d, 0), page.MaxPause) / time.Microsecond)
}

// paceGain is how many pages it takes to change one's mind about a host.
const paceGain = 4

// measure notes how long a page took.
func (f *Frontier) measure(h *host, took time.Duration) {
	now := max(pace(took), 1)
	f.tempo.sum += int64(now)
	f.tempo.pages++
	if h.pace == 0 {
		h.pace = now
		return
	}
	h.pace = uint32(int64(h.pace) + (int64(now)-int64(h.pace))/paceGain)
}

// heed takes what a server says about a connection that stays open.
func (l *line) heed(v Visit) {
	if v.Left != 0 {
		l.most = min(l.most, int(l.pages)+max(v.Left, 0))
	}
	if v.Idle > 0 {
		l.idle = v.Idle
	}
}

// spacing is how long a host is left alone between an answer and the next
// request on the same connection. ok is false when the connection is not to be
// held open for that.
func (f *Frontier) spacing(h *host, took time.Duration) (gap time.Duration, ok bool) {
	delay := h.care.delay
	if !f.cfg.Auto {
		return delay, delay <= f.cfg.Holdable
	}
	gap = min(took, page.MaxPause)
	return gap, delay == 0 && gap <= f.cfg.Holdable && (h.line.idle == 0 || gap < h.line.idle)
}

// lapsed says that an open connection is not to be used any more: the server
// said that it would have closed it by then, or a crawl-delay has become known.
func (f *Frontier) lapsed(now page.Time, h *host) bool {
	l := h.line
	return f.cfg.Auto && (h.care.delay > 0 || l.idle > 0 && max(now, h.next).Sub(l.end) >= l.idle)
}

// keepPace is what is kept of the host's pace. It is written when it has become
// half as long again or two thirds, and only of hosts that more than one page a
// connection depends on: most have no row.
func (f *Frontier) keepPace(h *host) time.Duration {
	was, now := h.care.saved.Pace, h.tempo()
	if !f.cfg.Auto || now >= was*2/3 && now <= was*3/2 || h.care.delay > 0 || f.share(h) == 1 {
		return was
	}
	return now
}

// bare says that a care holds nothing that must stay when its host is forgotten.
func (c care) bare() bool {
	c.saved.Pace = 0
	return c == care{}
}
