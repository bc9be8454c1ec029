package overlay

import (
	"encoding/binary"
	"errors"
)

// What members tell one another beside the logs is a version, a kind and numbers:
//
//	1  'l'  load    to all: how busy the node is, for who wants to look
//	1  'r'  report  to the teller: is the node idle, what could it use
//	1  'g'  grant   from the teller to one: its share of the limit
//	1  'p'  room    from the teller to one: up to how many pages, and bytes, it may fetch
//	1  'e'  enough  from the teller to all: nothing more is to be fetched
//	1  'h'  hands   to one whose hosts wait for connections: some are free here
//	1  'q'  round   from the teller to all: say again whether you are idle
//
// Each may be lost or come twice, late, or from a node of another version; numbers
// that a later version adds come last and are not looked at.
const (
	wordVersion = 1
	maxWord     = 256
)

type word interface {
	kind() byte
	numbers() []*uint64
}

type load struct {
	session, owned, queued, flying, unsent, pages, unacked, share uint64

	free  uint64 // connections
	spare uint64 // hosts that could be left to others
	early uint64 // 1 = it has things to tell of an earlier session
}

type report struct {
	term    uint64 // epoch of the teller
	session uint64
	count   uint64 // of reports in this session
	moves   uint64 // what the node has done; anything adds to it
	round   uint64 // the last one that it went through
	idle    uint64 // 1 = nothing to do, and nothing to say
	owned   uint64
	wanted  uint64
	owed    uint64
	have    uint64 // its share
	asked   uint64
	print   uint64 // of which partitions are the sums
	sums    [measures]sum
}

// What a bound may be for.
const (
	ofPages = iota
	ofBytes
	measures
)

// sum is a Sum, and up to where the node may begin pages.
type sum struct{ fetched, begun, under, room uint64 }

type grant struct {
	term    uint64
	session uint64
	count   uint64 // of the report that it answers; void as soon as there is another
	rate    uint64
}

type round struct {
	term, number, quiet uint64
	reach               uint64 // how far the common log must have been read
}

type room struct {
	term    uint64
	session uint64
	count   uint64           // as with grant
	upTo    [measures]uint64 // by the node's own count
}

type enough struct {
	term uint64
	of   uint64 // ofPages, ofBytes
}

type hands struct {
	session uint64 // of who is told
	part    uint64 // where hosts go to
	hosts   uint64 // so many at most
}

func (*enough) kind() byte { return 'e' }
func (*hands) kind() byte  { return 'h' }
func (*room) kind() byte   { return 'p' }
func (*load) kind() byte   { return 'l' }
func (*report) kind() byte { return 'r' }
func (*grant) kind() byte  { return 'g' }
func (*round) kind() byte  { return 'q' }

func (w *load) numbers() []*uint64 {
	return []*uint64{&w.session, &w.owned, &w.queued, &w.flying, &w.unsent, &w.pages, &w.unacked, &w.share, &w.free, &w.spare, &w.early}
}

func (w *report) numbers() []*uint64 {
	return []*uint64{
		&w.term, &w.session, &w.count, &w.moves, &w.round, &w.idle, &w.owned, &w.wanted, &w.owed, &w.have, &w.asked,
		&w.sums[ofPages].fetched, &w.print, &w.sums[ofPages].begun, &w.sums[ofPages].under, &w.sums[ofPages].room,
		&w.sums[ofBytes].fetched, &w.sums[ofBytes].begun, &w.sums[ofBytes].under, &w.sums[ofBytes].room,
	}
}

func (w *grant) numbers() []*uint64 {
	return []*uint64{&w.term, &w.session, &w.count, &w.rate}
}

func (w *room) numbers() []*uint64 {
	return []*uint64{&w.term, &w.session, &w.count, &w.upTo[ofPages], &w.upTo[ofBytes]}
}

func (w *hands) numbers() []*uint64 { return []*uint64{&w.session, &w.part, &w.hosts} }

func (w *enough) numbers() []*uint64 { return []*uint64{&w.term, &w.of} }

func (w *round) numbers() []*uint64 { return []*uint64{&w.term, &w.number, &w.quiet, &w.reach} }

func writeWord(w word) []byte {
	b := append(make([]byte, 0, 64), wordVersion, w.kind())
	for _, n := range w.numbers() {
		b = binary.AppendUvarint(b, *n)
	}
	return b
}

// older is how many numbers a word of the oldest protocol that is understood has, where
// it has fewer. What it does not tell is 0.
var older = map[byte]int{'l': 9, 'r': 16, 'p': 4, 'e': 1}

var errWord = errors.New("not a word of a member")

func readWord(b []byte) (word, error) {
	if len(b) < 2 || len(b) > maxWord || b[0] != wordVersion {
		return nil, errWord
	}
	var w word
	switch b[1] {
	case 'l':
		w = new(load)
	case 'r':
		w = new(report)
	case 'g':
		w = new(grant)
	case 'h':
		w = new(hands)
	case 'p':
		w = new(room)
	case 'e':
		w = new(enough)
	case 'q':
		w = new(round)
	default:
		return nil, errWord
	}
	b = b[2:]
	had, fewer := older[w.kind()]
	for i, n := range w.numbers() {
		if fewer && i >= had && len(b) == 0 {
			break
		}
		x, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, errWord
		}
		*n = x
		b = b[size:]
	}
	return w, nil
}

// whole turns a rate or a count into a number that fits sums of many.
func whole(x float64) uint64 {
	if !(x > 0) {
		return 0
	}
	return uint64(min(x, maxRate))
}

const maxRate = 1 << 50
