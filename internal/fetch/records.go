package fetch

import "encoding/binary"

// records follows the records of TLS as their bytes come over a link, and tells
// how many are still to come of an answer whose length is known.
type records struct {
	cost    int64   // bytes of a record's body that are not what it holds, about
	head    [5]byte // of the record that begins
	got     int     // of head
	need    int64   // bytes of the record's body that have not come
	asked   int     // how many requests were sent
	held    int64   // bytes that the records since the last hold
	largest int64   // that one held
}

// maxAnswer is more than any answer is long.
const maxAnswer = 1 << 50

// dataRecord is the type of records that hold what the application sends.
const dataRecord = 23

// ask notes that a request is sent.
func (r *records) ask() {
	r.asked++
	r.held = 0
}

// feed takes the next bytes of the stream.
func (r *records) feed(p []byte) {
	for len(p) > 0 {
		if r.need > 0 {
			n := min(r.need, int64(len(p)))
			r.need -= n
			p = p[n:]
			continue
		}
		n := copy(r.head[r.got:], p)
		r.got += n
		p = p[n:]
		if r.got < len(r.head) {
			return
		}
		r.got, r.need = 0, int64(binary.BigEndian.Uint16(r.head[3:]))
		if holds := max(r.need-r.cost, 0); r.head[0] == dataRecord {
			r.held += holds
			r.largest = max(r.largest, holds)
		}
	}
}

// aside is how many bytes a server said beside its first answer, of which so many
// were: tickets for the next connection. It is not known of later ones, where there
// are none as a rule, nor within a record.
func (r *records) aside(answer int64) (bytes int64, known bool) {
	if r.asked != 1 || r.need > 0 || r.got > 0 {
		return 0, false
	}
	return min(max(r.held-answer, 0), maxAside), true
}

// maxAside is more than servers say aside.
const maxAside = 8 << 10

// left is how many bytes are still to come of an answer of so many, most likely:
// those of the record that has begun, and further ones as large as the largest. A
// server may fill its records with anything, so nobody should rely on it.
func (r *records) left(answer int64) int64 {
	left := r.need
	if more := min(max(answer, 0), maxAnswer) - r.held; more > 0 {
		size := max(r.largest, 1)
		left += more + (more+size-1)/size*(int64(len(r.head))+r.cost) - int64(r.got)
	}
	return left
}
