package store

import (
	crand "crypto/rand"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Form is how an archive is compressed. The numbers are stored.
type Form uint8

const (
	Gzip Form = iota // a gzip member per record: what every WARC tool reads
	Zstd             // a zstd frame per record, no dictionary
	None             // no archive
)

var forms = [...]string{"gzip", "zstd", "none"}

func (f Form) String() string {
	if int(f) < len(forms) {
		return forms[f]
	}
	return "form " + strconv.Itoa(int(f))
}

// ParseForm reads "gzip", "zstd" or "none".
func ParseForm(s string) (Form, error) {
	for i, name := range forms {
		if s == name {
			return Form(i), nil
		}
	}
	return 0, fmt.Errorf("unknown archive form %q: use gzip, zstd or none", s)
}

func (f Form) suffix() string {
	if f == Zstd {
		return ".warc.zst"
	}
	return ".warc.gz"
}

// Exchange is one request and its answer, with the bytes as they went over the
// wire.
type Exchange struct {
	URL  string // canonical, ASCII
	At   time.Time
	Addr string // the server's address, with or without port; empty behind a proxy

	Request  []byte      // head, and body if any; empty: no request record
	Response io.ReaderAt // head and body, read twice
	Size     int64       // of Response
	HeadLen  int         // bytes of Response up to and with the empty line
	Status   int         // 0, or what the head must say: a guard against mixed-up buffers
	Mime     string      // found by looking at the payload; written when the head names no type

	// PayloadDigest is the SHA-1 that says whether two payloads are the same
	// one. The caller chooses over which decoding it is taken; the archive's own
	// WARC-Payload-Digest is always that of the bytes after the head.
	PayloadDigest [20]byte
	PayloadSize   int64 // 0: never a revisit

	Truncated string      // empty, or length, time, disconnect, unspecified
	Meta      [][2]string // written as a metadata record when there is any
}

// Record is an Exchange ready to be appended. It belongs to one goroutine at a
// time; whoever holds it last calls Release.
type Record struct {
	form      Form
	url       string
	at        time.Time
	addr      string
	id        [16]byte // of the response or revisit record
	key       [20]byte // Exchange.PayloadDigest
	stored    [20]byte // WARC-Payload-Digest
	payload   int64
	truncated string
	mime      string // Exchange.Mime, when the head has none
	head      []byte

	out                         spool // request, response, metadata
	request, response, metadata int64 // lengths of the members in out
}

// Release gives up the record's memory and temporary file. The record must not
// be used again.
func (r *Record) Release() { r.out.release() }

// Size returns the compressed bytes of the record's members.
func (r *Record) Size() int64 { return r.out.size }

// Encoder makes records. It keeps its compressor and buffers from one record to
// the next. Not safe for concurrent use: every worker has its own.
type Encoder struct {
	form Form
	gz   *gzip.Writer
	zs   *zstd.Encoder
	ids  *rand.ChaCha8
	hdr  []byte
	copy []byte
}

// NewEncoder returns an Encoder for archives of the given form. Level 0 is the
// compressor's default; gzip knows 1 to 9, zstd 1 to 22.
func NewEncoder(form Form, level int) *Encoder {
	e := &Encoder{form: form, copy: make([]byte, 64<<10)}
	var seed [32]byte
	crand.Read(seed[:])
	e.ids = rand.NewChaCha8(seed)
	switch form {
	case Gzip:
		if level == 0 {
			level = gzip.DefaultCompression
		}
		w, err := gzip.NewWriterLevel(io.Discard, level)
		if err != nil {
			w = gzip.NewWriter(io.Discard)
		}
		e.gz = w
	case Zstd:
		opts := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1 << 20)}
		if level != 0 {
			opts = append(opts, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
		}
		w, err := zstd.NewWriter(nil, opts...)
		if err != nil {
			panic(err) // only for options out of range
		}
		e.zs = w
	}
	return e
}

// Encode compresses the exchange. Members beyond 1 MiB wait in a temporary file
// of the operating system until the record is released.
func (e *Encoder) Encode(x *Exchange) (*Record, error) {
	r, err := e.encode(x)
	if err != nil {
		if r != nil {
			r.Release()
		}
		return nil, fmt.Errorf("archive record for %s: %w", x.URL, full(err))
	}
	return r, nil
}

func (e *Encoder) encode(x *Exchange) (*Record, error) {
	if x.HeadLen <= 0 || int64(x.HeadLen) > x.Size {
		return nil, fmt.Errorf("head of %d bytes in a response of %d", x.HeadLen, x.Size)
	}
	r := &Record{
		form: e.form, url: x.URL, at: x.At.UTC(), addr: address(x.Addr), key: x.PayloadDigest,
		payload: x.PayloadSize, truncated: x.Truncated,
		head: make([]byte, x.HeadLen),
	}
	if _, err := readFull(x.Response, r.head, 0); err != nil {
		return nil, err
	}
	info := readHead(r.head)
	if x.Status != 0 && info.status != 0 && x.Status != info.status {
		return nil, fmt.Errorf("the head says %d, the caller %d", info.status, x.Status)
	}
	if info.mime == "" {
		r.mime = oneLine(x.Mime)
	}
	e.newID(&r.id)
	if e.form == None {
		return r, nil
	}

	if len(x.Request) > 0 {
		sum := sha1.Sum(x.Request)
		e.begin("request", r)
		e.newRecordID()
		e.field("WARC-Concurrent-To", urn(r.id))
		e.field("WARC-Block-Digest", digest(sum[:]))
		if err := e.write(&r.out, "application/http; msgtype=request", int64(len(x.Request)), x.Request, nil); err != nil {
			return r, err
		}
		r.request = r.out.size
	}

	block, payload := sha1.New(), sha1.New()
	block.Write(r.head)
	body := io.NewSectionReader(x.Response, int64(x.HeadLen), x.Size-int64(x.HeadLen))
	if _, err := io.CopyBuffer(io.MultiWriter(block, payload), onlyReader{body}, e.copy); err != nil {
		return r, err
	}
	payload.Sum(r.stored[:0])
	e.begin("response", r)
	e.field("WARC-Record-ID", urn(r.id))
	e.payloadFields(r)
	e.field("WARC-Block-Digest", digest(block.Sum(nil)))
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return r, err
	}
	if err := e.write(&r.out, "application/http; msgtype=response", x.Size, r.head, body); err != nil {
		return r, err
	}
	r.response = r.out.size - r.request

	if len(x.Meta) > 0 {
		block := warcFields(x.Meta)
		sum := sha1.Sum(block)
		e.begin("metadata", r)
		e.newRecordID()
		e.field("WARC-Concurrent-To", urn(r.id))
		e.field("WARC-Block-Digest", digest(sum[:]))
		if err := e.write(&r.out, "application/warc-fields", int64(len(block)), block, nil); err != nil {
			return r, err
		}
		r.metadata = r.out.size - r.request - r.response
	}
	return r, nil
}

// revisit writes the record that stands for r's response when its payload is
// already in the archive: the head alone, and where the payload is.
// file is the name of the original's file.
func (e *Encoder) revisit(w io.Writer, r *Record, o *origin, file string) error {
	sum := sha1.Sum(r.head)
	e.begin("revisit", r)
	e.field("WARC-Record-ID", urn(r.id))
	stored := *r
	stored.stored = o.stored
	e.payloadFields(&stored)
	e.field("WARC-Block-Digest", digest(sum[:]))
	e.field("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")
	e.field("WARC-Refers-To", urn(o.id))
	e.field("WARC-Refers-To-Target-URI", o.url)
	e.field("WARC-Refers-To-Date", warcDate(o.at))
	e.field("WARC-Refers-To-Filename", file)
	e.field("WARC-Refers-To-File-Offset", strconv.FormatInt(o.place.Offset, 10))
	return e.write(w, "application/http; msgtype=response", int64(len(r.head)), r.head, nil)
}

// warcinfo writes the record that opens every file.
func (e *Encoder) warcinfo(w io.Writer, name string, at time.Time, info [][2]string) error {
	block := warcFields(info)
	sum := sha1.Sum(block)
	e.hdr = append(e.hdr[:0], "WARC/1.1\r\nWARC-Type: warcinfo\r\n"...)
	e.field("WARC-Date", warcDate(at))
	e.field("WARC-Filename", name)
	e.newRecordID()
	e.field("WARC-Block-Digest", digest(sum[:]))
	return e.write(w, "application/warc-fields", int64(len(block)), block, nil)
}

// begin starts a header with the fields all records of an exchange share.
func (e *Encoder) begin(kind string, r *Record) {
	e.hdr = append(e.hdr[:0], "WARC/1.1\r\nWARC-Type: "...)
	e.hdr = append(e.hdr, kind...)
	e.hdr = append(e.hdr, "\r\n"...)
	e.field("WARC-Target-URI", r.url)
	e.field("WARC-Date", warcDate(r.at))
	if r.addr != "" && kind != "metadata" {
		e.field("WARC-IP-Address", r.addr)
	}
}

func (e *Encoder) payloadFields(r *Record) {
	e.field("WARC-Payload-Digest", digest(r.stored[:]))
	if r.mime != "" {
		e.field("WARC-Identified-Payload-Type", r.mime)
	}
	if r.truncated != "" {
		e.field("WARC-Truncated", r.truncated)
	}
}

func (e *Encoder) newRecordID() {
	var id [16]byte
	e.newID(&id)
	e.field("WARC-Record-ID", urn(id))
}

// newID draws a random UUID (RFC 9562, version 4).
func (e *Encoder) newID(id *[16]byte) {
	e.ids.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
}

func (e *Encoder) field(name, value string) {
	e.hdr = append(e.hdr, name...)
	e.hdr = append(e.hdr, ": "...)
	e.hdr = append(e.hdr, oneLine(value)...)
	e.hdr = append(e.hdr, "\r\n"...)
}

// write finishes the header in e.hdr and writes the record as one member.
func (e *Encoder) write(w io.Writer, mime string, size int64, block []byte, rest io.Reader) error {
	e.field("Content-Type", mime)
	e.hdr = append(e.hdr, "Content-Length: "...)
	e.hdr = strconv.AppendInt(e.hdr, size, 10)
	e.hdr = append(e.hdr, "\r\n\r\n"...)
	var c io.WriteCloser
	if e.form == Zstd {
		e.zs.Reset(w)
		c = e.zs
	} else {
		e.gz.Reset(w)
		c = e.gz
	}
	if _, err := c.Write(e.hdr); err != nil {
		return err
	}
	if _, err := c.Write(block); err != nil {
		return err
	}
	n := int64(len(block))
	if rest != nil {
		m, err := io.CopyBuffer(onlyWriter{c}, onlyReader{rest}, e.copy)
		if err != nil {
			return err
		}
		n += m
	}
	if n != size {
		return fmt.Errorf("%w: %d of %d bytes", io.ErrUnexpectedEOF, n, size)
	}
	if _, err := io.WriteString(c, "\r\n\r\n"); err != nil {
		return err
	}
	return c.Close()
}

// onlyReader and onlyWriter hide WriteTo and ReadFrom, so that io.CopyBuffer
// uses its buffer.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }

func readFull(r io.ReaderAt, p []byte, off int64) (int, error) {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// address returns the plain IP address in s, or nothing.
func address(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().WithZone("").String()
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("").String()
	}
	return ""
}

func warcDate(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func urn(id [16]byte) string {
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func digest(sum []byte) string { return "sha1:" + base32.StdEncoding.EncodeToString(sum) }

func warcFields(fields [][2]string) []byte {
	var b []byte
	for _, f := range fields {
		b = append(b, oneLine(f[0])...)
		b = append(b, ": "...)
		b = append(b, oneLine(f[1])...)
		b = append(b, "\r\n"...)
	}
	return b
}

// oneLine keeps a value from ending its header line.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return ' '
		}
		return r
	}, s)
}
