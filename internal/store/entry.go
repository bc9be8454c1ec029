package store

import (
	"bufio"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Entry is one record of an archive, open for reading. Its readers may be read
// once. Not safe for concurrent use.
type Entry struct {
	Type      string // warcinfo, request, response, revisit, metadata, ...
	URI       string
	ID        string
	Date      time.Time
	Truncated string
	Header    [][2]string // all fields, in order
	Size      int64       // of the block
	Place     Place       // Length is known once the record was read to its end

	// Of records that hold HTTP:
	Head   []byte // with the empty line
	Status int    // 0 in a request
	Mime   string // media type without parameters, lower case

	block  io.Reader // what is left of the block
	origin func() (*Entry, error)
	close  func() error
	opened []*Entry
}

// Field returns the first value of a WARC header field.
func (e *Entry) Field(name string) string {
	for _, f := range e.Header {
		if strings.EqualFold(f[0], name) {
			return f[1]
		}
	}
	return ""
}

// Close ends the use of an entry that came from ReadRecord. It may be called on
// any entry.
func (e *Entry) Close() error {
	var errs []error
	for _, o := range e.opened {
		errs = append(errs, o.Close())
	}
	e.opened = nil
	if e.close != nil {
		errs = append(errs, e.close())
		e.close = nil
	}
	return errors.Join(errs...)
}

// Raw returns the block after the head, as it is stored.
func (e *Entry) Raw() io.Reader { return e.block }

// Holder returns the record that holds the payload: the entry itself, or what a
// revisit refers to. It is closed with the entry.
func (e *Entry) Holder() (*Entry, error) {
	if e.Type != "revisit" {
		return e, nil
	}
	if e.origin == nil {
		return nil, fmt.Errorf("%s: the record this revisit refers to is not at hand", e.URI)
	}
	o, err := e.origin()
	if err != nil {
		return nil, err
	}
	e.opened = append(e.opened, o)
	return o, nil
}

// Body returns the payload with chunked transfer coding undone. The body of a
// revisit is that of the record it refers to. A body that claims to be chunked
// and does not begin with a chunk is returned as it is: some archives hold
// bodies that were decoded before they were written.
func (e *Entry) Body() (io.Reader, error) {
	if e.Type == "revisit" {
		o, err := e.Holder()
		if err != nil {
			return nil, err
		}
		return o.Body()
	}
	if e.Head == nil || !strings.EqualFold(lastToken(headField(e.Head, "Transfer-Encoding")), "chunked") {
		return e.block, nil
	}
	b := bufio.NewReader(e.block)
	if !startsChunk(b) {
		return b, nil
	}
	return httputil.NewChunkedReader(b), nil
}

// Decoded returns the body with its content coding undone too, at most limit
// bytes of it: what exceeds them is [ErrTooLarge]. For a revisit the coding is
// that of the record which holds the bytes.
func (e *Entry) Decoded(limit int64) (io.Reader, error) {
	body, err := e.Body()
	if err != nil {
		return nil, err
	}
	head := e.Head
	if len(e.opened) > 0 {
		head = e.opened[len(e.opened)-1].Head
	}
	return Decode(body, headField(head, "Content-Encoding"), limit)
}

// ErrTooLarge says that a body is larger than the caller allowed.
var ErrTooLarge = errors.New("body is larger than allowed")

// Decode undoes content codings (gzip, deflate, br, zstd), given as in the
// Content-Encoding field. An unknown coding is an error, more than three are
// too.
func Decode(r io.Reader, coding string, limit int64) (io.Reader, error) {
	names := strings.Split(coding, ",")
	if len(names) > 3 {
		return nil, fmt.Errorf("%d content codings", len(names))
	}
	for i := len(names) - 1; i >= 0; i-- {
		var err error
		switch name := strings.ToLower(strings.TrimSpace(names[i])); name {
		case "", "identity":
		case "gzip", "x-gzip":
			r, err = gzip.NewReader(r)
		case "deflate":
			r, err = inflate(r)
		case "br":
			r = brotli.NewReader(r)
		case "zstd":
			var z *zstd.Decoder
			z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			r = z
		default:
			err = fmt.Errorf("unknown content coding %.40q", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return &limitReader{r: r, left: limit}, nil
}

// inflate reads what servers call deflate: zlib by the standard, often bare.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	h, err := b.Peek(2)
	if err == nil && h[0]&0x0f == 8 && (uint(h[0])<<8|uint(h[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

type limitReader struct {
	r    io.Reader
	left int64
}

func (l *limitReader) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		n = int(l.left)
		l.left = 0
		return n, ErrTooLarge
	}
	l.left -= int64(n)
	return n, err
}

// readHTTP takes the head off the block of a record that holds HTTP.
func (e *Entry) readHTTP() error {
	if !strings.HasPrefix(strings.ToLower(e.Field("Content-Type")), "application/http") {
		return nil
	}
	b := bufio.NewReaderSize(e.block, 4<<10)
	head := []byte{}
	for {
		line, err := b.ReadSlice('\n')
		if len(head)+len(line) > maxHead {
			return fmt.Errorf("%w: HTTP head over %d bytes", ErrSyntax, maxHead)
		}
		whole := err == nil && (len(head) == 0 || head[len(head)-1] == '\n')
		head = append(head, line...)
		if err == io.EOF || whole && len(bytes.TrimRight(line, "\r\n")) == 0 && !interim(head) {
			break
		}
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
	}
	e.Head, e.block = head, b
	if e.Type != "request" {
		info := readHead(head)
		e.Status, e.Mime = info.status, info.mime
	}
	return nil
}

// interim says whether the head so far ends with a 1xx answer, after which the
// real one follows.
func interim(head []byte) bool {
	last := head[:len(bytes.TrimRight(head, "\r\n"))]
	if i := bytes.LastIndex(last, []byte("\n\r\n")); i >= 0 {
		last = last[i+3:]
	}
	s := status(last)
	return s >= 100 && s < 200 && s != 101
}

type headInfo struct {
	status int
	mime   string
	packed bool // the body says of itself that it is compressed
}

// readHead returns what the index and the Encoder want to know of an answer
// with this head.
func readHead(head []byte) headInfo {
	if i := bytes.LastIndex(bytes.TrimRight(head, "\r\n"), []byte("\r\n\r\n")); i >= 0 {
		head = head[i+4:]
	}
	info := headInfo{status: status(head), mime: mediaType(headValue(head, "Content-Type"))}
	coding := headValue(head, "Content-Encoding")
	info.packed = len(coding) > 0 && !bytes.EqualFold(coding, []byte("identity")) || compressed(info.mime)
	return info
}

// mediaType returns a Content-Type without its parameters, or nothing when it
// cannot be one.
func mediaType(v []byte) string {
	v, _, _ = bytes.Cut(v, []byte(";"))
	v = bytes.TrimSpace(v)
	if string(v) == "text/html" {
		return "text/html" // most of them, and without memory of its own
	}
	mime := strings.ToLower(string(v))
	if len(mime) > 100 || strings.ContainsFunc(mime, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return ""
	}
	return mime
}

// compressed says whether files of a type are.
func compressed(mime string) bool {
	kind, of, _ := strings.Cut(mime, "/")
	switch kind {
	case "image":
		switch of {
		case "jpeg", "png", "gif", "webp", "avif":
			return true
		}
	case "video", "audio":
		return true
	case "font":
		return of == "woff" || of == "woff2"
	case "application":
		switch of {
		case "gzip", "x-gzip", "zip", "zstd", "x-xz", "x-bzip2":
			return true
		}
	}
	return false
}

// status reads the code of a status line, or 0.
func status(head []byte) int {
	if !bytes.HasPrefix(head, []byte("HTTP/")) {
		return 0
	}
	_, rest, ok := bytes.Cut(head, []byte(" "))
	rest = bytes.TrimLeft(rest, " ")
	if !ok || len(rest) < 3 {
		return 0
	}
	n, err := strconv.Atoi(string(rest[:3]))
	if err != nil || n < 100 || n > 999 {
		return 0
	}
	return n
}

// headField returns the first value of a field of an HTTP head.
func headField(head []byte, name string) string { return string(headValue(head, name)) }

func headValue(head []byte, name string) []byte {
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\n"))
		i := bytes.IndexByte(line, ':')
		if i < len(name) {
			continue
		}
		if k := bytes.TrimSpace(line[:i]); len(k) == len(name) && strings.EqualFold(string(k), name) {
			return bytes.TrimSpace(line[i+1:])
		}
	}
	return nil
}

func lastToken(s string) string {
	return strings.TrimSpace(s[strings.LastIndexByte(s, ',')+1:])
}

// startsChunk says whether the bytes ahead are the size line of a chunk.
func startsChunk(b *bufio.Reader) bool {
	line, _ := b.Peek(20)
	n := 0
	for n < len(line) && strings.IndexByte("0123456789abcdefABCDEF", line[n]) >= 0 {
		n++
	}
	if n == 0 || n > 16 {
		return false
	}
	rest := bytes.TrimLeft(line[n:], " \t")
	return len(rest) > 0 && (rest[0] == '\r' || rest[0] == '\n' || rest[0] == ';')
}
