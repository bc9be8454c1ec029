package fetch

import (
	"bytes"
	"io"

	"weir/page"
)

// Kept is an answer that an archive has kept. It says of it what its [Answer]
// said when it came, by the same code. One Kept reads many answers, one after
// another, and keeps its buffers; the zero value is ready. It is not safe for
// concurrent use.
type Kept struct {
	Limits Limits // as when the answer came
	Head   []byte // the header verbatim, up to and with its empty line
	Header Header

	body    faults
	chunked bool
	payload memory
	scratch []byte
}

// Open begins another answer, by its Head and what the archive has behind it. Of
// an answer whose payload an earlier one had too, an archive may keep only that
// one's: holder is then the head that stands before body, else nil.
func (k *Kept) Open(head, holder []byte, body io.Reader) {
	own := parseHead(head)
	k.Head, k.Header, k.chunked = head, own.header, own.chunked
	if holder != nil {
		k.chunked = parseHead(holder).chunked
	}
	k.body = faults{src: body}
}

// Decoded returns the payload without its content encodings, as [Answer.Decoded]
// does, once for each Open. Whether the archive could be read is for Err to say.
// The bytes are valid until the next call.
func (k *Kept) Decoded(max int64) ([]byte, page.Outcome) {
	limits := k.Limits.withDefaults()
	if max <= 0 || max > limits.MaxDecoded {
		max = limits.MaxDecoded
	}
	if cap(k.payload) > maxScratch {
		k.payload = nil
	}
	if cap(k.scratch) > maxScratch {
		k.scratch = nil
	}
	var r io.Reader = &k.body
	if k.chunked {
		r = &unchunker{src: r}
	}
	// One byte more than is allowed tells a payload that is too large.
	buf := bytes.NewBuffer(k.payload[:0])
	buf.ReadFrom(io.LimitReader(r, max+1))
	k.payload = buf.Bytes()
	d := decoding{source: &k.payload, header: k.Header, size: int64(len(k.payload)), limits: &limits, scratch: k.scratch}
	b, outcome := d.run(max)
	k.scratch = d.scratch
	return b, outcome
}

// Err returns the archive's failure in reading the body, if there was one.
func (k *Kept) Err() error { return k.body.err }

// memory is a payload that was read.
type memory []byte

func (m *memory) Payload() io.Reader           { return bytes.NewReader(*m) }
func (m *memory) PayloadBytes() ([]byte, bool) { return *m, true }

// faults remembers what went wrong in reading: a body that was cut off long
// since ends in good order.
type faults struct {
	src io.Reader
	err error
}

func (f *faults) Read(p []byte) (int, error) {
	n, err := f.src.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}
