package overlay

import (
	"cmp"
	"slices"
	"time"

	"weir/page"
)

const (
	gather      = 250 * time.Millisecond // how long records wait for others to the same partition
	gatherLong  = 4 * time.Second        // the same where nobody waits for them
	plenty      = 256                    // pages that a node has to fetch, which waits for no more then
	gatherIdle  = 50 * time.Millisecond  // the same while nothing else waits for acknowledgement
	gatherWords = time.Second            // the same of Handed
	maxAppend   = 256 << 10              // bytes, about
	retryFirst  = time.Second
	retryLast   = 4 * time.Second
	synced      = 3 * time.Second // after which what was acknowledged is on disks
)

// outbox keeps parcels until all the others have them. The rows of a parcel are
// appended as they come, what has ended only when all rows of this parcel and of
// those before it are acknowledged. So it is never known that a page has ended
// while one of its links is not.
//
// Every partition has a lane: one append is under way in it at a time, and what
// comes meanwhile goes with the next. When a lane has waited long enough, those that
// share its log go with it: the carrier makes one message of them all, and what a
// message costs hardly hangs on what is in it.
type outbox struct {
	origin uint64
	limit  int

	parcels []parcel // oldest first
	rowed   int      // of these, so many have all their rows acknowledged
	done    int      // of these, so many have all of it acknowledged
	last    uint64   // Seq of the last parcel that was handed in
	safe    uint64   // Seq of the last one that was acknowledged with all before it
	early   uint64   // Seq of the last one that was there when the session began

	lanes   []*lane    // by partition; nil = nothing was ever said in it
	busy    []int32    // lanes that have something to say
	appends uint64     // IDs given; an ID is one of these times the number of lanes, plus the lane
	failing [Logs]bool // a lane pauses, or did a moment ago
	unacked int        // bytes
	full    bool
	moved   bool // safe has moved

	heard page.Time // when a renewal was sent that was answered: those who keep the logs lived
	due   page.Time

	patient func(part int) bool // nobody waits for what is said in it; nil: somebody does
	beat    func(log int)       // called before something goes to a log; nil: nobody wants to know
	hasty   bool                // somebody waits until all is acknowledged
}

type parcel struct {
	seq   uint64
	rows  int       // records that are not acknowledged
	ended int       // the same; not in lanes before rows is 0
	posts []Post    // Ended
	sent  Parcel    // all of it: until it is on disks it may have to be said again
	at    page.Time // when the last was acknowledged
}

type lane struct {
	queue  []entry // the first flying of them are under way
	flying int
	id     uint64 // of the append under way; 0 = none
	busy   bool
	bytes  int
	pause  time.Duration // after the last failure
	due    page.Time
}

type entry struct {
	record Record
	size   int
	seq    uint64 // of its parcel; 0 = none
	ended  bool
}

// waits reports whether the lane has something to append, and may.
func (l *lane) waits() bool { return l.id == 0 && len(l.queue) > 0 }

func newOutbox(origin uint64, parts, limit int) outbox {
	return outbox{origin: origin, limit: limit, lanes: make([]*lane, parts), due: never}
}

// add takes a parcel. One that was handed in before is left alone.
func (o *outbox) add(now page.Time, p Parcel) {
	if p.Seq <= o.last {
		return
	}
	o.last = p.Seq
	alone := o.quiet()
	x := parcel{seq: p.Seq, posts: p.Ended, sent: p}
	for _, post := range p.Rows {
		for _, r := range post.Records {
			for _, r := range split(r) {
				e := entry{record: r, size: bulk(r), seq: p.Seq}
				x.rows++
				o.unacked += e.size
				o.push(now.Add(o.wait(post.Part, r, alone)), post.Part, e)
			}
		}
	}
	for _, post := range p.Ended {
		for _, r := range post.Records {
			x.ended++
			o.unacked += bulk(r)
		}
	}
	o.parcels = append(o.parcels, x)
	o.advance(now)
}

// wait is how long a record waits for others to its partition; alone says that
// nothing else waits for acknowledgement. A message to a log costs half a kilobyte
// between the servers, whatever it holds, so what nobody waits for is gathered for
// long. For Handed others wait than those who follow the log: whom pages are left to.
func (o *outbox) wait(part int, r Record, alone bool) time.Duration {
	_, handed := r.(Handed)
	switch {
	case o.hasty:
		return gatherIdle
	case handed:
		return gatherWords
	case o.patient != nil && o.patient(part):
		return gatherLong
	case alone:
		return gatherIdle
	}
	return gather
}

// hurry says whether somebody waits until all is acknowledged. What waits already then
// waits no longer.
func (o *outbox) hurry(now page.Time, on bool) {
	if on && !o.hasty {
		for _, p := range o.busy {
			l := o.lanes[p]
			if l.pause == 0 {
				l.due = min(l.due, now)
			}
			if l.id == 0 {
				o.due = min(o.due, l.due)
			}
		}
	}
	o.hasty = on
}

// urgent says something at once, before all that waits.
func (o *outbox) urgent(now page.Time, part int, r Record) {
	l := o.lane(part)
	e := entry{record: r, size: bulk(r)}
	l.queue = slices.Insert(l.queue, l.flying, e)
	l.bytes += e.size
	if l.pause == 0 {
		l.due = now
	}
	o.due = min(o.due, l.due)
}

// recall takes back a Mark, if it was not said yet.
func (o *outbox) recall(part int, mark Mark) (ok bool) {
	if l := o.lanes[part]; l != nil {
		l.drop(l.flying, func(e entry) bool {
			is := e.record == Record(mark)
			ok = ok || is
			return is
		})
	}
	return ok
}

// push lets a record wait in its lane, until a time if none there is due before.
func (o *outbox) push(until page.Time, part int, e entry) {
	l := o.lane(part)
	switch {
	case len(l.queue) == l.flying:
		l.due = until
	case l.pause == 0:
		l.due = min(l.due, until)
	}
	l.queue = append(l.queue, e)
	l.bytes += e.size
	if l.bytes >= maxAppend && l.pause == 0 {
		l.due = 0
	}
	if l.id == 0 {
		o.due = min(o.due, l.due)
	}
}

// lane returns the lane of a partition that has something to say from now on.
func (o *outbox) lane(part int) *lane {
	l := o.lanes[part]
	if l == nil {
		l = &lane{}
		o.lanes[part] = l
	}
	if !l.busy {
		l.busy = true
		o.busy = append(o.busy, int32(part))
	}
	return l
}

// under returns the lane that an append is under way in.
func (o *outbox) under(id uint64) *lane {
	if l := o.lanes[id%uint64(len(o.lanes))]; l != nil && l.id == id && id != 0 {
		return l
	}
	return nil
}

func (o *outbox) acked(now page.Time, id uint64) {
	l := o.under(id)
	if l == nil {
		return
	}
	for _, e := range l.queue[:l.flying] {
		l.bytes -= e.size
		if x := o.of(e); x != nil {
			o.count(x, e, -1)
		}
	}
	clear(l.queue[:l.flying])
	l.queue = l.queue[l.flying:]
	l.id, l.flying, l.pause = 0, 0, 0
	o.due = min(o.due, l.due)
	o.resume(now, LogOf(int(id%uint64(len(o.lanes)))))
	o.advance(now)
}

// resume lets all go on that pauses since its log did not take it: it does again. What has
// ended is to be told as soon as that can be, as others may begin with it.
func (o *outbox) resume(now page.Time, log int) {
	if !o.failing[log] {
		return
	}
	o.failing[log] = false
	for _, p := range o.busy {
		if l := o.lanes[p]; LogOf(int(p)) == log && l.pause > 0 && l.id == 0 {
			l.pause, l.due = 0, min(l.due, now)
			o.due = min(o.due, now)
		}
	}
}

func (o *outbox) failed(now page.Time, id uint64) {
	l := o.under(id)
	if l == nil {
		return
	}
	l.pause = min(max(2*l.pause, retryFirst), retryLast)
	o.failing[LogOf(int(id%uint64(len(o.lanes))))] = true
	if l.queue[0].seq == 0 { // it is urgent: an election may be over any moment
		l.pause = retryFirst
	}
	l.id, l.flying = 0, 0
	l.drop(0, func(e entry) bool { // its rows are said again, and it will be after them
		x := o.of(e)
		early := x != nil && e.ended && x.posts != nil
		if early {
			o.count(x, e, -1)
		}
		return early
	})
	l.due = now.Add(l.pause)
	o.due = min(o.due, l.due)
}

// of finds the parcel of an entry; nil if there is none.
func (o *outbox) of(e entry) *parcel {
	at, ok := slices.BinarySearchFunc(o.parcels, e.seq, func(p parcel, seq uint64) int { return cmp.Compare(p.seq, seq) })
	if !ok {
		return nil
	}
	return &o.parcels[at]
}

// count notes that an entry waits to be acknowledged, or does no more.
func (o *outbox) count(x *parcel, e entry, by int) {
	o.unacked += by * e.size
	if e.ended {
		x.ended += by
	} else {
		x.rows += by
	}
}

// advance lets what has ended follow its rows, and finds what is acknowledged.
func (o *outbox) advance(now page.Time) {
	for ; o.rowed < len(o.parcels) && o.parcels[o.rowed].rows == 0; o.rowed++ {
		x := &o.parcels[o.rowed]
		alone := o.done == len(o.parcels)-1
		for _, post := range x.posts {
			for _, r := range post.Records {
				o.push(now.Add(o.wait(post.Part, r, alone)), post.Part, entry{record: r, size: bulk(r), seq: x.seq, ended: true})
			}
		}
		x.posts = nil
	}
	for ; o.done < o.rowed && o.parcels[o.done].ended == 0; o.done++ {
		x := &o.parcels[o.done]
		x.at = now
		o.safe = x.seq
		o.moved = true
		o.due = min(o.due, now.Add(synced))
	}
}

// told is the last parcel that was acknowledged with all before it.
func (o *outbox) told() uint64 {
	if o.done == len(o.parcels) {
		return o.last
	}
	return o.safe
}

// live says that those who keep the logs were there at a time.
func (o *outbox) live(now, at page.Time) {
	o.heard = max(o.heard, at)
	if o.done > 0 && o.heard >= o.parcels[0].at.Add(synced) {
		o.due = min(o.due, now)
	}
}

// empty reports whether nothing is left, not even to be forgotten.
func (o *outbox) empty() bool { return len(o.parcels) == 0 }

// quiet reports whether all was acknowledged.
func (o *outbox) quiet() bool { return o.done == len(o.parcels) }

// run appends what is due.
func (o *outbox) run(now page.Time, out []Action) []Action {
	o.full = o.unacked > o.limit || o.full && o.unacked > o.limit/4*3
	if now < o.due {
		return out
	}
	o.due = never
	var goes [Logs]bool
	for _, p := range o.busy {
		if o.lanes[p].waits() && now >= o.lanes[p].due {
			goes[LogOf(int(p))] = true
		}
	}
	for log, is := range goes {
		if is && o.beat != nil {
			o.beat(log)
		}
	}
	kept := o.busy[:0]
	for _, p := range o.busy {
		l := o.lanes[p]
		if l.waits() && (now >= l.due || goes[LogOf(int(p))] && l.pause == 0) {
			out = append(out, o.flush(int(p), l))
		}
		if l.busy = len(l.queue) > 0; !l.busy {
			l.queue = nil
			continue
		}
		kept = append(kept, p)
		if l.id == 0 {
			o.due = min(o.due, l.due)
		}
	}
	o.busy = kept
	return o.forget(now, out)
}

func (o *outbox) flush(part int, l *lane) Action {
	n, size := 0, 0
	for n < len(l.queue) && (n == 0 || size+l.queue[n].size <= maxAppend) {
		size += l.queue[n].size
		n++
	}
	records := make([]Record, n)
	for i := range records {
		records[i] = l.queue[i].record
	}
	o.appends++
	l.id, l.flying = o.appends*uint64(len(o.lanes))+uint64(part), n
	return Append{ID: l.id, Part: part, Batch: Batch{Origin: o.origin, Records: records}}
}

// forget lets go of parcels that are on the disks of the others: those who keep the
// logs were there when that must have been so, and answered.
func (o *outbox) forget(now page.Time, out []Action) []Action {
	n := 0
	for n < o.done && o.heard >= o.parcels[n].at.Add(synced) {
		n++
	}
	if n > 0 {
		out = append(out, Posted{o.parcels[n-1].seq})
		o.parcels = slices.Delete(o.parcels, 0, n)
		o.done -= n
		o.rowed -= n
	}
	if o.done > 0 && now < o.parcels[0].at.Add(synced) {
		o.due = min(o.due, o.parcels[0].at.Add(synced))
	}
	return out
}

// split makes several records of one that is too large for an append: a page may
// have very many links. Ends are too small for that, and facts are one thing.
func split(r Record) []Record {
	if bulk(r) <= maxAppend {
		return []Record{r}
	}
	switch r := r.(type) {
	case Tuples:
		if n := len(r.Rows) / 2; n > 0 {
			return append(split(Tuples{r.Rows[:n], r.Own}), split(Tuples{r.Rows[n:], r.Own})...)
		}
	case Handed:
		if n := len(r.Pages) / 2; n > 0 {
			return append(split(Handed{r.Epoch, r.Pages[:n]}), split(Handed{r.Epoch, r.Pages[n:]})...)
		}
	case Shipped:
		if n := len(r.Rows) / 2; n > 0 {
			return append(split(Shipped{r.Program, r.Rows[:n]}), split(Shipped{r.Program, r.Rows[n:]})...)
		}
	}
	return []Record{r}
}

// bulk is about how many bytes a record takes.
func bulk(r Record) int {
	n := 8
	switch r := r.(type) {
	case Tuples:
		for i := range r.Rows {
			n += 16 + len(r.Rows[i].URL.String())
		}
	case Handed:
		for i := range r.Pages {
			n += 20 + len(r.Pages[i].Row.URL.String())
		}
	case Shipped:
		for i := range r.Rows {
			n += 6 + len(r.Rows[i].Row)
		}
	case Trips:
		for i := range r.Hosts {
			n += 8 + len(r.Hosts[i].Host)
		}
	case Hosts:
		for i := range r.Hosts {
			n += 24 + len(r.Hosts[i].Name)
		}
	case Done:
		for i := range r.Pages {
			n += 12 + len(r.Pages[i].Site)
		}
	}
	return n
}
