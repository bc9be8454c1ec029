package overlay

// common is what a Member knows of the common log, which it follows while it has a session.
type common struct {
	followed bool
	offset   uint64 // of what was applied
	stamp    uint64 // of the last batch of that

	// Of a teller: the Mark that it reads back before a round begins, and where that
	// was. Whoever has come as far has read what all had to say before the round.
	mark  uint64 // 0 = none is on its way
	reach uint64
}

// onCommon has the next batch of the common log applied.
func (m *Member) onCommon(ev Delivered) {
	c := &m.common
	if ev.Offset <= c.offset {
		return
	}
	c.offset, c.stamp = ev.Offset, ev.Batch.Stamp
	m.applied++
	m.do(Apply(ev))
	for _, r := range ev.Batch.Records {
		switch r := r.(type) {
		case Mark:
			if r.ID == c.mark && r.Node == m.cfg.Name {
				c.mark, c.reach = 0, ev.Offset
				m.talk.desk.said = -never
			}
		default:
			m.worked()
		}
	}
}

// sound appends a Mark to the common log, for the round that comes.
func (m *Member) sound() {
	m.common.mark = m.nextMark()
	m.posts.urgent(m.now, m.cfg.Parts, Mark{ID: m.common.mark, Node: m.cfg.Name})
	m.out = m.posts.run(m.now, m.out)
}
