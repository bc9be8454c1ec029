package store

import (
	crand "crypto/rand"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"weir/internal/pack"
)

// Form is how an archive is compressed. The numbers are stored.
type Form uint8

const (
	Gzip Form = iota // a gzip member per record: what every WARC tool reads
	Zstd             // a zstd frame per record, with a dictionary once there are pages to make one from
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
	Bytes    []byte      // head and body when they lie in memory in one piece; Response and Size are then not looked at
	Response io.ReaderAt // head and body, read at most twice
	Size     int64       // of Response
	HeadLen  int         // bytes of the answer up to and with the empty line
	Status   int         // 0, or what the head must say: a guard against mixed-up buffers
	Mime     string      // found by looking at the payload; written when the head names no type

	// PayloadDigest is the SHA-1 of the payload: of the bytes after the head with
	// transfer coding undone. It says whether two payloads are the same one.
	//
	// The archive's own WARC-Payload-Digest is always that of the bytes after the
	// head. When they are PayloadSize bytes, no transfer coding was undone and the
	// two are the same: it is not computed again.
	PayloadDigest [20]byte
	PayloadSize   int64 // 0: never a revisit

	Truncated string      // empty, or length, time, disconnect, unspecified
	Meta      [][2]string // written as a metadata record when there is any
}

func (x *Exchange) size() int64 {
	if x.Bytes != nil {
		return int64(len(x.Bytes))
	}
	return x.Size
}

// Record is an Exchange ready to be appended. It belongs to one goroutine at a
// time; whoever holds it last calls Release. It keeps none of the Exchange's
// bytes.
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
	status    int
	mime      string // of the head
	found     string // Exchange.Mime, when the head has none
	head      []byte
	dict      *dictionary // that the members use
	live      bool        // not released

	out                         spool // request, response, metadata
	request, response, metadata int64 // lengths of the members in out
}

var records = sync.Pool{New: func() any { return new(Record) }}

// Release gives up the record's memory and temporary file. The record must not
// be used again.
func (r *Record) Release() {
	if !r.live {
		return
	}
	r.out.release()
	*r = Record{head: r.head[:0], out: r.out}
	records.Put(r)
}

// Size returns the compressed bytes of the record's members.
func (r *Record) Size() int64 { return r.out.size }

// Encoder makes records. It keeps its compressor and buffers from one record to
// the next. Not safe for concurrent use: every worker has its own.
type Encoder struct {
	form    Form
	deflate pack.Deflater
	gz      *gzip.Writer // for answers too long for memory; made when one needs it
	flat    *gzip.Writer // stored blocks, alike
	frame   pack.Zstd
	zs      *zstd.Encoder // for other levels and answers too long for memory; made when one needs it
	level   zstd.EncoderLevel
	dict    *dictionary                 // that frames use
	near    *pack.Dictionary            // the same
	share   *atomic.Pointer[dictionary] // the one to use, of a Store
	ids     *rand.ChaCha8
	hdr     []byte // WARC header of the record under way
	block   []byte // an answer that did not lie in one piece
	in      []byte // a member in one piece
	out     []byte // and compressed
	copy    []byte // for answers too long for memory
}

// Levels of the libraries: of gzip for answers too long for memory, of zstd when
// none is asked for. gzip's second makes a page a hundredth smaller and a quarter
// dearer; zstd's second costs more than twice its first.
const (
	gzipLevel = 1
	zstdLevel = 1
)

// NewEncoder returns an Encoder for archives of the given form. Level 0 is a
// fast one, the only one of gzip; zstd knows 1 to 22. The one of
// [Store.NewEncoder] knows the archive's dictionary too.
func NewEncoder(form Form, level int) *Encoder {
	e := &Encoder{form: form}
	var seed [32]byte
	crand.Read(seed[:])
	e.ids = rand.NewChaCha8(seed)
	if form == Zstd {
		if level == 0 {
			level = zstdLevel
		}
		e.level = zstd.EncoderLevelFromZstd(level)
	}
	return e
}

// NewEncoder returns an Encoder of records for this store.
func (s *Store) NewEncoder(level int) *Encoder {
	e := NewEncoder(s.arch.form, level)
	e.share = &s.arch.share
	return e
}

// Encode compresses the exchange. Members beyond 1 MiB wait in a temporary file
// of the operating system until the record is released.
func (e *Encoder) Encode(x *Exchange) (*Record, error) {
	r := records.Get().(*Record)
	r.live = true
	if e.share != nil && e.form == Zstd {
		if d := e.share.Load(); d != e.dict {
			e.use(d)
		}
	}
	r.dict = e.dict
	if err := e.encode(r, x); err != nil {
		r.Release()
		return nil, fmt.Errorf("archive record for %s: %w", x.URL, full(err))
	}
	return r, nil
}

func (e *Encoder) encode(r *Record, x *Exchange) error {
	size := x.size()
	if x.HeadLen <= 0 || int64(x.HeadLen) > size {
		return fmt.Errorf("head of %d bytes in a response of %d", x.HeadLen, size)
	}
	r.form, r.url, r.at, r.addr = e.form, x.URL, x.At.UTC(), address(x.Addr)
	r.key, r.payload, r.truncated = x.PayloadDigest, x.PayloadSize, x.Truncated
	block, err := e.read(r, x, size)
	if err != nil {
		return err
	}
	info := readHead(r.head)
	if x.Status != 0 && info.status != 0 && x.Status != info.status {
		return fmt.Errorf("the head says %d, the caller %d", info.status, x.Status)
	}
	r.status, r.mime = info.status, info.mime
	if info.mime == "" {
		r.found = oneLine(x.Mime)
	}
	e.newID(&r.id)
	if e.form == None {
		return nil
	}
	if len(x.Request) > 0 {
		if err := e.aside(r, "request", "application/http; msgtype=request", x.Request); err != nil {
			return err
		}
		r.request = r.out.size
	}
	if err := e.response(r, x, block, size, info.packed); err != nil {
		return err
	}
	r.response = r.out.size - r.request
	if len(x.Meta) > 0 {
		if err := e.aside(r, "metadata", "application/warc-fields", warcFields(x.Meta)); err != nil {
			return err
		}
		r.metadata = r.out.size - r.request - r.response
	}
	return nil
}

// read sets the record's head and returns the whole answer, or nothing when it
// is not needed or too long for memory.
func (e *Encoder) read(r *Record, x *Exchange, size int64) (block []byte, err error) {
	if x.Bytes != nil {
		r.head = append(r.head[:0], x.Bytes[:x.HeadLen]...)
		return x.Bytes, nil
	}
	if e.form != None && size <= spoolMax {
		e.block = resize(e.block, int(size))
		if err := readFull(x.Response, e.block); err != nil {
			return nil, err
		}
		r.head = append(r.head[:0], e.block[:x.HeadLen]...)
		return e.block, nil
	}
	r.head = resize(r.head, x.HeadLen)
	return nil, readFull(x.Response, r.head)
}

// aside writes a record that belongs to the response.
func (e *Encoder) aside(r *Record, kind, mime string, block []byte) error {
	e.begin(kind, r)
	e.newRecordID()
	e.urn("WARC-Concurrent-To", &r.id)
	e.sum("WARC-Block-Digest", sha1.Sum(block))
	e.end(mime, int64(len(block)))
	return e.member(&r.out, block, 0)
}

// response has no WARC-Block-Digest: it would cost a second pass over every
// page, and what it guards beside the payload, the head, is guarded by the
// member's own checksum.
func (e *Encoder) response(r *Record, x *Exchange, block []byte, size int64, packed bool) error {
	rest := size - int64(x.HeadLen)
	switch {
	case rest == x.PayloadSize && rest > 0:
		r.stored = x.PayloadDigest
	case block != nil:
		r.stored = sha1.Sum(block[x.HeadLen:])
	default:
		h := sha1.New()
		if err := e.stream(h, x, size); err != nil {
			return err
		}
		h.Sum(r.stored[:0])
	}
	e.begin("response", r)
	e.urn("WARC-Record-ID", &r.id)
	e.payload(r, r.stored)
	e.end("application/http; msgtype=response", size)
	if block == nil {
		return e.long(&r.out, r.head, x, size, packed)
	}
	if packed = packed && dense(block[x.HeadLen:]); !packed {
		rest = 0
	}
	return e.member(&r.out, block, int(rest))
}

// revisit writes the record that stands for r's response when its payload is
// already in the archive: the head alone, and where the payload is.
// file is the name of the original's file.
func (e *Encoder) revisit(w io.Writer, r *Record, o *origin, file string) error {
	e.begin("revisit", r)
	e.urn("WARC-Record-ID", &r.id)
	e.payload(r, o.stored)
	e.sum("WARC-Block-Digest", sha1.Sum(r.head))
	e.field("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")
	e.urn("WARC-Refers-To", &o.id)
	e.field("WARC-Refers-To-Target-URI", o.url)
	e.date("WARC-Refers-To-Date", o.at)
	e.field("WARC-Refers-To-Filename", file)
	e.number("WARC-Refers-To-File-Offset", o.place.Offset)
	e.end("application/http; msgtype=response", int64(len(r.head)))
	return e.member(w, r.head, 0)
}

// warcinfo writes the record that opens every file.
func (e *Encoder) warcinfo(w io.Writer, name string, at time.Time, info [][2]string) error {
	block := warcFields(info)
	e.hdr = append(e.hdr[:0], "WARC/1.1\r\nWARC-Type: warcinfo\r\n"...)
	e.date("WARC-Date", at)
	e.field("WARC-Filename", name)
	e.newRecordID()
	e.sum("WARC-Block-Digest", sha1.Sum(block))
	e.end("application/warc-fields", int64(len(block)))
	return e.member(w, block, 0)
}

// stream copies what follows the head of an answer that is not in memory.
func (e *Encoder) stream(w io.Writer, x *Exchange, size int64) error {
	if e.copy == nil {
		e.copy = make([]byte, 64<<10)
	}
	n := size - int64(x.HeadLen)
	body := io.NewSectionReader(x.Response, int64(x.HeadLen), n)
	m, err := io.CopyBuffer(onlyWriter{w}, onlyReader{body}, e.copy)
	if err == nil && m < n {
		err = fmt.Errorf("%w: %d of %d bytes", io.ErrUnexpectedEOF, m, n)
	}
	return err
}

// onlyReader and onlyWriter hide WriteTo and ReadFrom, so that io.CopyBuffer
// uses its buffer.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }

func readFull(r io.ReaderAt, p []byte) error {
	n, err := r.ReadAt(p, 0)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func resize(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
