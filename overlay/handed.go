package overlay

import (
	"slices"
	"time"

	"weir/page"
)

// A page that is handed on is two things in a parcel: a row for the partition that is to
// fetch it, and an end without a status for the one that hands it on, which goes out
// behind the row. As long as the row has not, nobody has heard of it. If another node
// owns the partition by then, the page waits there, or was fetched: the log has its row
// and no end. So what was not acknowledged by then is called off, the row and the end,
// and the node takes the page back (TakeBack).
//
// No page is lost by that, nor by letting it go out: its partition's log has the row
// until it has the end, and it gets the end only behind the row of the other. What is
// left are pages that are fetched twice: those whose row was acknowledged when their
// end could not be, and those whose row was appended though that is not known.

const (
	// holdBack is how long after a session began a node waits to see who owns a partition:
	// by then it has what it had before, or another does. No longer, as all that it has
	// fetched meanwhile is told behind the rows that wait.
	holdBack  = 5 * time.Second
	lookAgain = time.Second / 2 // whether it shows
)

// hand is a page that was handed on.
type hand struct {
	part  int // by whom; -1: by several
	epoch uint64
	off   bool // it was called off
}

// pageID is a page as ends name it.
type pageID struct {
	site string
	hash uint64
}

// withheld is an entry that waits until it shows who owns partitions.
type withheld struct {
	part  int
	entry entry
	hands []hand // that it waits for, each partition once
}

// Handed says that the page did not end, but was handed on.
func (e *Ended) Handed() bool { return e.Outcome == page.OK && e.Status == 0 }

// idOf names the page of a row.
func (o *outbox) idOf(r *Row) pageID { return pageID{r.URL.Site(), o.hash(r.URL)} }

// handsOf finds the pages that a parcel hands on. Those whose rows were acknowledged in
// an earlier run are handed on for good.
func (o *outbox) handsOf(p *Parcel) map[pageID]*hand {
	if o.hash == nil || p.Seq <= o.arrived {
		return nil
	}
	var hands map[pageID]*hand
	for _, post := range p.Ended {
		for _, r := range post.Records {
			d, ok := r.(Done)
			if !ok {
				continue
			}
			for i := range d.Pages {
				e := &d.Pages[i]
				if !e.Handed() {
					continue
				}
				if hands == nil {
					hands = map[pageID]*hand{}
				}
				id := pageID{e.Site, e.Hash}
				if h := hands[id]; h == nil {
					hands[id] = &hand{part: post.Part, epoch: d.Epoch}
				} else if h.part != post.Part {
					h.part = -1
				}
			}
		}
	}
	return hands
}

// handOf returns what a row hands on, if that may be called off.
func (o *outbox) handOf(x *parcel, r *Row) *hand {
	if r.Moves == 0 || len(x.hands) == 0 {
		return nil
	}
	if h := x.hands[o.idOf(r)]; h != nil && h.part >= 0 {
		return h
	}
	return nil
}

// rowsOf makes an entry of rows of a parcel.
func (o *outbox) rowsOf(x *parcel, r Record) entry {
	e := entry{record: r, size: bulk(r), seq: x.seq}
	if t, ok := r.(Tuples); ok {
		e.hands = slices.ContainsFunc(t.Rows, func(r Row) bool { return o.handOf(x, &r) != nil })
	}
	return e
}

// arrive says that an entry was acknowledged: its pages are handed on for good.
func (o *outbox) arrive(x *parcel, e entry) {
	if !e.hands {
		return
	}
	t := e.record.(Tuples)
	for i := range t.Rows {
		if h := o.handOf(x, &t.Rows[i]); h != nil && !h.off {
			delete(x.hands, o.idOf(&t.Rows[i]))
		}
	}
}

// sift looks at what a lane is about to append: it calls off what may have been another
// node's to decide by now, and holds back what may be called off yet.
func (o *outbox) sift(part int, l *lane) {
	if !slices.ContainsFunc(l.queue, func(e entry) bool { return e.hands }) {
		return
	}
	queue, size := l.queue, 0
	l.queue = make([]entry, 0, len(queue))
	for i, e := range queue {
		if size > maxAppend {
			l.queue = append(l.queue, queue[i:]...)
			break
		}
		had := len(l.queue)
		if e.hands {
			o.judge(part, l, e)
		} else {
			l.queue = append(l.queue, e)
		}
		for _, e := range l.queue[had:] { // what was called off makes room for what comes behind it
			size += e.size
		}
	}
}

// judge puts the rows of an entry where they belong: back into the lane, among those
// that are held back, or nowhere.
func (o *outbox) judge(part int, l *lane, e entry) {
	x, t := o.of(e), e.record.(Tuples)
	if !slices.ContainsFunc(t.Rows, func(r Row) bool { return !o.goes(x, &r) }) { // as nearly always
		l.queue = append(l.queue, e)
		return
	}
	var sent, wait []Row
	var hands []hand
	for i := range t.Rows {
		r := t.Rows[i]
		if o.goes(x, &r) {
			sent = append(sent, r)
			continue
		}
		h := o.handOf(x, &r)
		switch _, known := o.kept(h.part, h.epoch); {
		case h.off:
		case !known:
			wait = append(wait, r)
			if !slices.ContainsFunc(hands, func(x hand) bool { return x.part == h.part && x.epoch == h.epoch }) {
				hands = append(hands, hand{part: h.part, epoch: h.epoch})
			}
		default:
			h.off, o.off = true, true
			x.callOff(h.part, r)
		}
	}
	l.bytes -= e.size
	o.count(x, e, -1)
	if len(sent) > 0 {
		e := o.rowsOf(x, Tuples{sent, t.Own})
		l.bytes += e.size
		o.count(x, e, 1)
		l.queue = append(l.queue, e)
	}
	if len(wait) > 0 {
		e := o.rowsOf(x, Tuples{wait, t.Own})
		o.count(x, e, 1)
		o.held = append(o.held, withheld{part, e, hands})
	}
}

// goes says that a row may go out: nobody else has owned the partition that hands it on.
func (o *outbox) goes(x *parcel, r *Row) bool {
	h := o.handOf(x, r)
	if h == nil || h.off {
		return h == nil
	}
	kept, _ := o.kept(h.part, h.epoch)
	return kept
}

// callOff notes a row that does not go out.
func (x *parcel) callOff(part int, r Row) {
	at := slices.IndexFunc(x.back, func(p Post) bool { return p.Part == part })
	if at < 0 {
		at = len(x.back)
		x.back = append(x.back, Post{part, []Record{Tuples{}}})
	}
	t := x.back[at].Records[0].(Tuples)
	x.back[at].Records[0] = Tuples{Rows: append(t.Rows, r)}
}

// takeBack has the node take back what was called off.
func (o *outbox) takeBack(now page.Time, out []Action) []Action {
	o.off = false
	for i := range o.parcels {
		if x := &o.parcels[i]; len(x.back) > 0 {
			o.strip(x)
			out = append(out, TakeBack{x.back, x.sent})
			x.back = nil
		}
	}
	o.advance(now) // it may have been all that ends waited for
	return o.note(out)
}

// note says which parcels have all their rows in the logs: before their ends are.
func (o *outbox) note(out []Action) []Action {
	if o.hash == nil || o.arrived <= o.noted {
		return out
	}
	o.noted = o.arrived
	return append(out, Arrived{o.noted})
}

// strip takes out of a parcel what was called off. Its ends are not in lanes: they wait
// for its rows.
func (o *outbox) strip(x *parcel) {
	o.countEnded(x, -1)
	x.sent.Rows = sieve(x.sent.Rows, func(_ int, r Record) Record {
		t, ok := r.(Tuples)
		if !ok {
			return r
		}
		rows := without(t.Rows, func(r *Row) bool {
			h := o.handOf(x, r)
			return h != nil && h.off
		})
		if len(rows) == 0 {
			return nil
		}
		return Tuples{rows, t.Own}
	})
	x.sent.Ended = sieve(x.sent.Ended, func(part int, r Record) Record {
		d, ok := r.(Done)
		if !ok {
			return r
		}
		d.Pages = without(d.Pages, func(e *Ended) bool {
			h := x.hands[pageID{e.Site, e.Hash}]
			return h != nil && h.off && h.part == part && e.Handed()
		})
		if len(d.Pages) == 0 {
			return nil
		}
		return d
	})
	x.posts = x.sent.Ended
	o.countEnded(x, 1)
}

// countEnded counts the ends of a parcel that wait for its rows.
func (o *outbox) countEnded(x *parcel, by int) {
	for _, post := range x.posts {
		for _, r := range post.Records {
			o.count(x, entry{size: bulk(r), ended: true}, by)
		}
	}
}

// sieve returns posts with what becomes of their records, without those that become nil.
// The old ones stay as they are: they may be another's, too.
func sieve(posts []Post, change func(part int, r Record) Record) []Post {
	var list []Post
	for _, post := range posts {
		var records []Record
		for _, r := range post.Records {
			if r = change(post.Part, r); r != nil {
				records = append(records, r)
			}
		}
		if len(records) > 0 {
			list = append(list, Post{post.Part, records})
		}
	}
	return list
}

// without returns a list without some of it. If nothing is left out it is the same one.
func without[T any](list []T, out func(*T) bool) []T {
	if !slices.ContainsFunc(list, func(x T) bool { return out(&x) }) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool { return out(&x) })
}

// release lets entries go on that were held back, if it shows by now what becomes of any
// of their rows.
func (o *outbox) release(now page.Time) {
	waiting := o.held
	o.held = nil
	for _, w := range waiting {
		if slices.ContainsFunc(w.hands, func(h hand) bool {
			_, known := o.kept(h.part, h.epoch)
			return known
		}) {
			o.push(now, w.part, w.entry)
		} else {
			o.held = append(o.held, w)
		}
	}
}

// kept says whether nobody else has owned a partition since it had an epoch, which was
// this node's; known is false as long as that may show yet.
func (m *Member) kept(part int, epoch uint64) (kept, known bool) {
	s := &m.parts[part]
	switch {
	case m.ours(s):
		return s.epoch == epoch || s.before == epoch, true
	case s.session != 0 && s.epoch > epoch:
		return false, true
	}
	return false, m.now >= m.joined.Add(holdBack)
}

// post appends what is due.
func (m *Member) post() {
	had := len(m.out)
	m.out = m.posts.run(m.now, m.out)
	for _, a := range m.out[had:] {
		if _, ok := a.(TakeBack); ok {
			m.applied++
			m.worked()
		}
	}
}
