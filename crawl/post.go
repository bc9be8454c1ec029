package crawl

import (
	"encoding/binary"
	"math"
	"slices"

	"weir/frontier"
	"weir/overlay"
)

// posts gathers what a group has to say, by partition.
type posts struct {
	list []post
	at   map[int]int // the partition's place in the list
}

type post struct {
	part  int
	rows  []overlay.Row
	own   []overlay.Row // of those that this node has taken itself, where scores are cash
	hosts []overlay.Host
	wide  []overlay.Wide
	trips []overlay.Trip
	hands []overlay.Handing
	ships []overlay.Shipped // by program
	ended []overlay.Ended
}

func (p *posts) to(part int) *post {
	i, ok := p.at[part]
	if !ok {
		if p.at == nil {
			p.at = map[int]int{}
		}
		i = len(p.list)
		p.at[part] = i
		p.list = append(p.list, post{part: part})
	}
	return &p.list[i]
}

// ship adds a row of a program.
func (p *post) ship(program uint8, row overlay.Ship) {
	i := slices.IndexFunc(p.ships, func(s overlay.Shipped) bool { return s.Program == program })
	if i < 0 {
		i = len(p.ships)
		p.ships = append(p.ships, overlay.Shipped{Program: program})
	}
	p.ships[i].Rows = append(p.ships[i].Rows, row)
}

// sent remembers rows that were sent of late, with their depths and, if these count,
// priorities: most links lead to pages that were named a moment ago.
//
// Where scores are cash, what such links hand on gathers with the row, and goes out with
// it once more when it has become as much as rows carry on the mean. So a row that is
// sent for its cash alone is worth its bytes, and a page waits for less than the mean. A
// row that puts another one out takes along what that one has gathered: the URL is not
// known any more, and the sum stays. What has gathered is lost with the process.
type sent struct {
	slots []sentSlot
	mean  float32 // cash of the last rows, about
	rows  int     // so many
}

func newSent(slots int) sent { return sent{slots: make([]sentSlot, min(slots, sentSlots))} }

type sentSlot struct {
	print uint64
	score float32 // or the cash that was not sent
	depth uint16
}

const (
	sentSlots = 1 << 16 // at most: a small budget has as many as links that seen has met
	sentRows  = 1 << 10
)

func (s *sent) at(print uint64) *sentSlot { return &s.slots[print%uint64(len(s.slots))] }

// add says whether the row is news, and remembers it.
func (s *sent) add(print uint64, depth uint16, score float32) bool {
	x := s.at(print)
	if x.print == print && x.depth <= depth && x.score >= score {
		return false
	}
	*x = sentSlot{print, score, depth}
	return true
}

// pay is add where scores are cash: it says how much goes with the row.
func (s *sent) pay(print uint64, depth uint16, cash float32) (float32, bool) {
	x := s.at(print)
	cash += x.score
	if x.print == print && x.depth <= depth && (cash < s.mean || cash == 0) {
		x.score = cash
		return 0, false
	}
	*x = sentSlot{print: print, depth: depth}
	s.rows = min(s.rows+1, sentRows)
	s.mean += (cash - s.mean) / float32(s.rows)
	return cash, true
}

// logRow sends a row of crawl to its partition's log.
func (l *Ledger) logRow(part int, row *Row) {
	to := l.share.posts.to(part)
	to.rows = append(to.rows, row.logged())
}

// logOwn tells the log of a partition that is this node's of a row that was taken.
func (l *Ledger) logOwn(part int, rows ...overlay.Row) {
	to := l.share.posts.to(part)
	if l.purse == nil {
		to.rows = append(to.rows, rows...)
	} else {
		to.own = append(to.own, rows...)
	}
}

// logged is the row as its partition's log has it.
func (r *Row) logged() overlay.Row {
	return overlay.Row{
		URL: r.URL, Depth: r.Depth, Hops: r.Hops, Root: r.Root, Seed: r.Seed, Rule: uint8(r.By), Moves: r.moves, Score: r.Score,
	}
}

// logEnd tells a page's partition that it has ended.
func (l *Ledger) logEnd(s *siteRecord, r *pageRecord) error {
	if st := l.share.stakes.of(int(s.part)); st.adopted {
		st.queued--
	}
	return l.postEnd(s, r)
}

// sizeOf is how many bytes the body of a page had that this node has fetched; 0 where they
// are not counted.
func (l *Ledger) sizeOf(r *pageRecord) (int64, error) {
	switch {
	case l.share == nil || !l.share.Bytes || !r.outcome.Row().Answer || r.archive.File == elsewhere:
		return 0, nil
	case r.told:
		return r.text.bytes, nil
	}
	b, ok, err := l.kv.Get(pageKey(keyText, r.key))
	if err != nil || !ok {
		return 0, err
	}
	var t textRow
	err = t.read(b)
	return t.bytes, err
}

// logAgain tells the same of a page that was delivered again.
func (l *Ledger) logAgain(r *pageRecord) error {
	s, err := l.site(r.key.Site)
	if err != nil {
		return err
	}
	return l.postEnd(s, r)
}

func (l *Ledger) postEnd(s *siteRecord, r *pageRecord) (err error) {
	e := overlay.Ended{Site: s.name, Hash: r.key.Hash, Outcome: r.outcome, Status: uint16(r.status), Depth: r.depth}
	if l.cfg.Traits.Score && l.purse == nil {
		e.Score = r.score
	}
	bytes, err := l.sizeOf(r)
	if err != nil {
		return err
	}
	e.Bytes = uint64(bytes)
	if l.several != nil {
		if e.Asked, err = l.several.print(r.key); err != nil {
			return err
		}
	}
	to := l.share.posts.to(int(s.part))
	to.ended = append(to.ended, e)
	return nil
}

// logHost tells the partition of a host what was learned of it.
func (l *Ledger) logHost(name string, st frontier.HostState) {
	part := l.share.Keys.HostPart(name)
	l.noteHost(part, name)
	to := l.share.posts.to(part)
	to.hosts = append(to.hosts, overlay.Host{Name: name, Failures: uint16(min(st.Failures, math.MaxUint16)), Last: st.Last, Rest: st.Rest, Pace: st.Pace})
}

// send hands a row on to the node whose it is.
func (l *Ledger) send(row *Row, print uint64) {
	news := true
	if row.plain() {
		row.Score, news = l.sends(print, row.Depth, row.Score)
	}
	if news {
		l.logRow(l.share.Keys.Home(row.URL), row)
	}
}

// sends says whether a row for another node is to be sent, and with which score.
func (l *Ledger) sends(print uint64, depth uint16, score float32) (float32, bool) {
	switch {
	case l.purse != nil:
		return l.share.sent.pay(print, depth, score)
	case !l.cfg.Traits.Priority:
		return score, l.share.sent.add(print, depth, 0)
	}
	return score, l.share.sent.add(print, depth, score)
}

// endsAtOnce is how many ends are one record, so that it is no larger than an append can be.
const endsAtOnce = 1 << 12

// pack writes what is to be sent into the outbox, and the offsets of logs.
func (l *Ledger) pack(w Writer, ev *Committed) {
	sh := l.share
	for ; sh.gone < sh.posted; sh.gone++ {
		w.Delete(outboxKey(sh.gone + 1))
	}
	for _, part := range sh.offsets {
		st := sh.stakes.of(part)
		st.moved = false
		b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, st.offset), st.stamp)
		if b = binary.BigEndian.AppendUint64(b, uint64(st.fetched)); sh.Bytes { // weirs that do not count them cannot read it
			b = binary.BigEndian.AppendUint64(b, uint64(st.bytes))
		}
		w.Set(logKey(part), b)
	}
	sh.offsets = sh.offsets[:0]
	ev.Waiting = l.Waiting()
	if len(sh.posts.list) == 0 {
		return
	}
	sh.seq++
	ev.Parcel = &overlay.Parcel{Seq: sh.seq}
	for _, p := range sh.posts.list {
		var rows []overlay.Record
		if len(p.rows) > 0 {
			rows = append(rows, overlay.Tuples{Rows: p.rows})
		}
		if len(p.own) > 0 {
			rows = append(rows, overlay.Tuples{Rows: p.own, Own: true})
		}
		if len(p.hands) > 0 { // behind its rows: only what is known can be handed on
			rows = append(rows, overlay.Handed{Epoch: sh.stakes.of(p.part).epoch, Pages: p.hands})
		}
		if len(p.hosts) > 0 {
			rows = append(rows, overlay.Hosts{Hosts: p.hosts})
		}
		if len(p.wide) > 0 {
			rows = append(rows, overlay.Spread{Hosts: p.wide})
		}
		if len(p.trips) > 0 {
			rows = append(rows, overlay.Trips{Hosts: p.trips})
		}
		for _, s := range p.ships {
			rows = append(rows, s)
		}
		if len(rows) > 0 {
			ev.Parcel.Rows = append(ev.Parcel.Rows, overlay.Post{Part: p.part, Records: rows})
		}
		if len(p.ended) > 0 {
			var ends []overlay.Record
			for pages := range slices.Chunk(p.ended, endsAtOnce) {
				ends = append(ends, overlay.Done{Epoch: sh.stakes.of(p.part).epoch, Node: sh.Node, Pages: pages})
			}
			ev.Parcel.Ended = append(ev.Parcel.Ended, overlay.Post{Part: p.part, Records: ends})
		}
	}
	clear(sh.posts.list)
	sh.posts.list = sh.posts.list[:0]
	clear(sh.posts.at)
	w.Set(outboxKey(sh.seq), overlay.AppendParcel(nil, ev.Parcel))
}
