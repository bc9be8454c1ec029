package overlay

import (
	"slices"

	"weir/page"
)

// onRewound goes back to where a log and what was read of it agree. All that was
// appended behind that is gone, and is said again: rows and ends by whoever has them
// in its outbox, which forgets nothing before it is on disks; what the Member itself
// has said, here. Records that are read twice change nothing.
func (m *Member) onRewound(ev Rewound) {
	switch {
	case ev.Part == len(m.parts):
		c := &m.common
		if ev.Offset >= c.offset {
			return
		}
		c.offset, c.stamp, c.reach = ev.Offset, 0, min(c.reach, ev.Offset)
		if c.mark != 0 {
			m.sound()
		}
	case ev.Part >= 0 && ev.Part < len(m.parts) && ev.Offset < m.parts[ev.Part].offset:
		s := &m.parts[ev.Part]
		s.offset, s.stamp = ev.Offset, 0
		if s.phase == taking { // what was behind the cut may be read again first
			s.ready, s.posted, s.again = false, m.now, 0
		}
		if s.phase >= taking && s.phase <= emptied {
			m.posts.urgent(m.now, ev.Part, Taken{Epoch: s.epoch, Node: m.cfg.Name})
		}
		if x := &m.pulses[LogOf(ev.Part)]; x.part == ev.Part {
			x.marks = nil
		}
		if s.warm != 0 {
			m.posts.urgent(m.now, ev.Part, Mark{ID: s.warm, Node: m.cfg.Name})
		}
	default:
		return
	}
	m.do(Rewind(ev))
	m.posts.again(m.now)
	m.worked()
}

// again says everything once more that may not be on disks: also what is acknowledged of
// parcels that wait for more. What has ended waits for its rows once more; only what is
// under way cannot be called back.
func (o *outbox) again(now page.Time) {
	if len(o.parcels) == 0 {
		return
	}
	o.unacked, o.rowed, o.done = 0, 0, 0
	for i := range o.parcels {
		x := &o.parcels[i]
		x.rows, x.ended, x.posts = 0, 0, x.sent.Ended
	}
	for _, p := range o.busy {
		l := o.lanes[p]
		for _, e := range l.queue[:l.flying] {
			if x := o.of(e); x != nil {
				o.count(x, e, 1)
			}
		}
		l.drop(l.flying, func(e entry) bool { return e.seq != 0 })
	}
	for i := range o.parcels {
		x := &o.parcels[i]
		for _, post := range x.sent.Rows {
			for _, r := range post.Records {
				for _, r := range split(r) {
					e := entry{record: r, size: bulk(r), seq: x.seq}
					o.count(x, e, 1)
					o.push(now, post.Part, e)
				}
			}
		}
		for _, post := range x.posts {
			for _, r := range post.Records {
				o.count(x, entry{size: bulk(r), ended: true}, 1)
			}
		}
	}
	o.advance(now)
}

// drop takes some of what is not under way out of a lane.
func (l *lane) drop(from int, which func(entry) bool) {
	l.queue = append(l.queue[:from:from], slices.DeleteFunc(l.queue[from:], func(e entry) bool {
		if !which(e) {
			return false
		}
		l.bytes -= e.size
		return true
	})...)
}
