package fetch

import (
	"bytes"
	"iter"
	"net/http"
	"strings"
)

// Header is the fields of an answer's header, in the order they came. Values
// are parts of one string, so they may be kept. The zero Header is empty.
type Header struct {
	lines string // "name: value" lines, each with its LF; no folds, no control characters
}

// ParseHeader reads a header verbatim, as [Answer.Head] has it. One that cannot be
// read is empty.
func ParseHeader(head []byte) Header { return parseHead(head).header }

// Get returns the first value of a field, "" when there is none. Names are
// compared without regard to case.
func (h Header) Get(name string) string {
	value, _, _ := h.next(name)
	return value
}

// Values returns all values of a field.
func (h Header) Values(name string) []string {
	var all []string
	for {
		value, rest, ok := h.next(name)
		if !ok {
			return all
		}
		all = append(all, value)
		h = rest
	}
}

// All goes over the fields: names as they came, values without the spaces round
// them.
func (h Header) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for line := range strings.Lines(h.lines) {
			name, value, ok := strings.Cut(line, ":")
			if ok && !yield(name, strings.Trim(value, " \t\r\n")) {
				return
			}
		}
	}
}

// next finds the first field of that name, and what follows it.
func (h Header) next(name string) (value string, rest Header, ok bool) {
	for lines := h.lines; lines != ""; {
		line := lines
		if end := strings.IndexByte(lines, '\n'); end >= 0 {
			line, lines = lines[:end], lines[end+1:]
		} else {
			lines = ""
		}
		if len(line) > len(name) && line[len(name)] == ':' && strings.EqualFold(line[:len(name)], name) {
			return strings.Trim(line[len(name)+1:], " \t\r"), Header{lines}, true
		}
	}
	return "", Header{}, false
}

// headerOf returns the fields that net/http has read.
func headerOf(fields http.Header) Header {
	var b strings.Builder
	fields.Write(&b) // a Builder takes everything
	return Header{b.String()}
}

// head is what a header says: how the body is framed, and its fields.
type head struct {
	status  int
	length  int64 // of the body; -1 when it is not told
	chunked bool
	close   bool // the connection ends with this answer
	doubt   bool // another reader might see the body end elsewhere
	header  Header
}

// reading is how far a header has been read.
type reading uint8

const (
	partial reading = iota // plain so far; its end has not come
	whole                  // plain, and all there
	odd                    // not plain: net/http has to read it
)

// headReader reads a header by hand as long as it is plain: HTTP/1.1, a final
// status with a body, lines that end with CRLF and hold a token, a colon and a
// value without control characters, and one Content-Length or one
// "Transfer-Encoding: chunked" for the framing. That is nearly all there is;
// what is not is left to net/http, and where both read a header they agree.
type headReader struct {
	head
	n    int // bytes read so far, whole lines only
	from int // where the fields begin
}

// read goes on reading in b, which begins with all that was given before.
func (r *headReader) read(b []byte) reading {
	for {
		end := bytes.IndexByte(b[r.n:], '\n')
		if end < 0 {
			return partial
		}
		line := b[r.n : r.n+end]
		if end == 0 || line[end-1] != '\r' {
			return odd
		}
		line = line[:end-1]
		first := r.n == 0
		r.n += end + 1
		switch {
		case first:
			if !r.statusLine(line) {
				return odd
			}
			r.from = r.n
			r.length = -1
		case len(line) == 0:
			if r.length < 0 && !r.chunked {
				return odd // its end is the connection's
			}
			r.header = Header{string(b[r.from : r.n-len("\r\n")])}
			return whole
		case !r.field(line):
			return odd
		}
	}
}

func (r *headReader) statusLine(line []byte) bool {
	const start = len("HTTP/1.1 ")
	if len(line) < start+3 || string(line[:start]) != "HTTP/1.1 " || len(line) > start+3 && line[start+3] != ' ' {
		return false
	}
	for _, c := range line[start : start+3] {
		if c < '0' || c > '9' {
			return false
		}
		r.status = r.status*10 + int(c-'0')
	}
	return r.status >= 200 && r.status != http.StatusNoContent && r.status != http.StatusNotModified && valueBytes(line[start+3:])
}

func (r *headReader) field(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !nameBytes(line[:colon]) || !valueBytes(line[colon+1:]) {
		return false
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	switch {
	case is(name, "Content-Length"):
		n, ok := digits(value)
		if !ok || r.length >= 0 || r.chunked {
			return false
		}
		r.length = n
	case is(name, "Transfer-Encoding"):
		if !is(value, "chunked") || r.length >= 0 || r.chunked {
			return false
		}
		r.chunked = true
	case is(name, "Connection"):
		if is(value, "close") {
			r.close = true
		} else if !is(value, "keep-alive") {
			return false
		}
	case is(name, "Trailer"):
		return false
	}
	return true
}

// is compares without regard to the case of ASCII letters.
func is(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if b[i] != s[i] && (b[i]|0x20 != s[i]|0x20 || b[i]|0x20 < 'a' || b[i]|0x20 > 'z') {
			return false
		}
	}
	return true
}

// digits reads a number that cannot overflow.
func digits(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(b) > 0 && len(b) <= 18
}

// token holds the characters of field names (RFC 9110, section 5.6.2).
var token = func() (is [256]bool) {
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		is[c] = true
	}
	return is
}()

func nameBytes(b []byte) bool {
	for _, c := range b {
		if !token[c] {
			return false
		}
	}
	return true
}

func valueBytes(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
