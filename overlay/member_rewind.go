package overlay

import "weir/page"

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
		if s.phase == taking && !s.ready {
			m.posts.urgent(m.now, ev.Part, Taken{Epoch: s.epoch, Node: m.cfg.Name})
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
// parcels that wait for more. What is under way is acknowledged as well, and counted.
func (o *outbox) again(now page.Time) {
	if len(o.parcels) == 0 {
		return
	}
	for i := range o.parcels {
		x := &o.parcels[i]
		for _, post := range x.sent.Rows {
			for _, r := range post.Records {
				for _, r := range split(r) {
					x.rows++
					o.unacked += bulk(r)
					o.push(now, post.Part, entry{record: r, size: bulk(r), seq: x.seq})
				}
			}
		}
		if x.posts != nil {
			continue // none of them was said
		}
		x.posts = x.sent.Ended
		for _, post := range x.posts {
			for _, r := range post.Records {
				x.ended++
				o.unacked += bulk(r)
			}
		}
	}
	o.rowed, o.done = 0, 0
	o.advance(now)
}
