package fetch

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// recordOf is one of TLS 1.3 that holds so many bytes.
func recordOf(kind byte, holds int) []byte {
	b := make([]byte, 5+holds+17)
	b[0] = kind
	binary.BigEndian.PutUint16(b[3:], uint16(holds+17))
	return b
}

// At every byte of an answer it is known how much is to come, if its records are
// as large as the largest so far; and within the last record in any case.
func TestRecordsLeft(t *testing.T) {
	const answer = 100 + 4000 + 4000 + 4000 + 50
	stream := bytes.Join([][]byte{
		recordOf(20, 1), recordOf(dataRecord, 100), recordOf(dataRecord, 4000), recordOf(dataRecord, 4000), recordOf(dataRecord, 4000), recordOf(dataRecord, 50),
	}, nil)
	large, last := len(recordOf(20, 1))+len(recordOf(dataRecord, 100))+5, len(stream)-len(recordOf(dataRecord, 50))+5
	for _, step := range []int{1, 2, 3, 7, 1448, len(stream)} {
		r := records{cost: 17}
		for at := 0; at < len(stream); {
			n := min(step, len(stream)-at)
			r.feed(stream[at : at+n])
			at += n
			left := r.left(answer)
			if exact := int64(len(stream) - at); at >= large && left != exact {
				t.Fatalf("steps of %d: %d bytes are left after %d, want %d", step, left, at, exact)
			}
			if rest := int64(len(stream) - at); at >= last && r.need != rest {
				t.Fatalf("steps of %d: the record needs %d after %d, want %d", step, r.need, at, rest)
			}
		}
	}
}

// What a server says beside its first answer is learned when that is whole.
func TestRecordsAside(t *testing.T) {
	r := records{cost: 17}
	r.feed(recordOf(22, 900))
	for i, c := range []struct {
		stream []byte
		answer int64
		aside  int64
		known  bool
	}{
		{append(recordOf(dataRecord, 230), recordOf(dataRecord, 4000)...), 4000, 230, true},
		{recordOf(dataRecord, 4000), 4000, 0, false},
	} {
		r.ask()
		r.feed(c.stream[:len(c.stream)-1])
		if _, known := r.aside(c.answer); known {
			t.Errorf("answer %d: known before its end", i)
		}
		r.feed(c.stream[len(c.stream)-1:])
		if aside, known := r.aside(c.answer); aside != c.aside || known != c.known {
			t.Errorf("answer %d: %d bytes aside, known %v", i, aside, known)
		}
	}
	for _, lie := range []int64{-1, 0, 1 << 60} {
		r := records{}
		r.ask()
		for range 10 {
			r.feed(recordOf(dataRecord, 16<<10))
		}
		if aside, _ := r.aside(lie); aside < 0 || aside > maxAside {
			t.Errorf("of an answer of %d: %d bytes aside", lie, aside)
		}
	}
}

// However the bytes are cut, the same is known in the end; and nothing is ever
// less than nothing.
func FuzzRecords(f *testing.F) {
	f.Add(append(recordOf(dataRecord, 10), recordOf(22, 300)...), 3, int64(400))
	f.Add([]byte{dataRecord, 3, 3, 0, 0, dataRecord, 3, 3, 255, 255, 1}, 1, int64(1<<62))
	f.Add(recordOf(dataRecord, 1), 2, int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, stream []byte, step int, answer int64) {
		step = min(max(step, 1), 1<<16)
		whole, cut := records{cost: 17}, records{cost: 17}
		whole.feed(stream)
		for rest := stream; len(rest) > 0; {
			n := min(step, len(rest))
			cut.feed(rest[:n])
			rest = rest[n:]
			if left := cut.left(answer); left < 0 || cut.need < 0 || cut.need > 1<<16 {
				t.Fatalf("%d left, %d needed", left, cut.need)
			}
		}
		whole.head, cut.head = [5]byte{}, [5]byte{}
		if whole != cut {
			t.Errorf("at once %+v, in steps of %d %+v", whole, step, cut)
		}
	})
}
