package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Limits of the reader.
const (
	maxHeader = 64 << 10 // bytes of one WARC header
	maxRecord = 1 << 36  // bytes of one block
	maxHead   = 1 << 20  // bytes of one HTTP head
	maxWindow = 64 << 20 // memory of a zstd frame
)

// ErrSyntax is wrapped by every error about bytes that are not WARC. The error
// names the offset of the record.
var ErrSyntax = errors.New("not a valid WARC record")

// Reader reads WARC records one after the other: plain, a gzip member each or a
// zstd frame each. It takes what archives in the wild hold: versions 0.17 to
// 1.1, lines ended by a bare newline, folded header lines, target URIs in angle
// brackets, any number of newlines after a plain record. It refuses, with the
// offset: a member that holds more than one record (it could not be found
// through an index), a missing or absurd Content-Length, a header over 64 KiB, a
// zstd dictionary anywhere but at the start or over 4 MiB, and an end in the
// middle of a record ([io.ErrUnexpectedEOF]).
//
// Not safe for concurrent use.
type Reader struct {
	count counter
	src   *bufio.Reader
	file  uint32 // for Place
	base  int64  // offset of the first byte, for Place

	dict  *dictionary // that the file begins with
	gz    *gzip.Reader
	zs    *zstd.Decoder
	inner *bufio.Reader // over the open member
	cur   *Entry
	err   error
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	d := &Reader{count: counter{r: r}}
	d.src = bufio.NewReaderSize(&d.count, 64<<10)
	return d
}

// reset begins anew with r, whose frames need dict. It keeps the buffers.
func (d *Reader) reset(r io.Reader, dict *dictionary) {
	zs := d.zs
	if d.dict != dict {
		zs = nil // made for the other
	}
	d.src.Reset(nil)
	*d = Reader{src: d.src, dict: dict, gz: d.gz, zs: zs, inner: d.inner}
	d.count.r = r
	d.src.Reset(&d.count)
}

func (d *Reader) offset() int64 { return d.base + d.count.n - int64(d.src.Buffered()) }

// Next returns the next record, or io.EOF. The entry and all it hands out are
// valid until the next call. After an error the Reader is done.
func (d *Reader) Next() (*Entry, error) {
	if d.err != nil {
		return nil, d.err
	}
	e, err := d.next()
	if err != nil {
		d.err = err
		return nil, err
	}
	return e, nil
}

func (d *Reader) next() (*Entry, error) {
	if err := d.finish(); err != nil {
		return nil, err
	}
	start, in, err := d.open()
	if err != nil {
		return nil, err
	}
	e, err := readHeader(in)
	if err != nil {
		return nil, d.wrap(start, err)
	}
	e.Place = Place{File: d.file, Offset: start}
	e.block = &blockReader{r: in, left: e.Size}
	if err := e.readHTTP(); err != nil {
		return nil, d.wrap(start, err)
	}
	d.cur = e
	return e, nil
}

func (d *Reader) wrap(off int64, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("record at %d: %w", off, err)
}

// finish reads the current record to its end, which is also what checks its
// checksum, and sets its length.
func (d *Reader) finish() error {
	e := d.cur
	if e == nil {
		return nil
	}
	d.cur = nil
	start := e.Place.Offset
	if _, err := io.Copy(io.Discard, e.block); err != nil {
		return d.wrap(start, err)
	}
	if d.inner == nil {
		if err := skipNewlines(d.src); err != nil && err != io.EOF {
			return d.wrap(start, err)
		}
	} else {
		err := skipNewlines(d.inner)
		if err == nil {
			return d.wrap(start, fmt.Errorf("%w: more than one record in a member; compress each record by itself", ErrSyntax))
		}
		if err != io.EOF {
			return d.wrap(start, err)
		}
	}
	e.Place.Length = d.offset() - start
	return nil
}

// open finds the next member and returns its start and a reader of its bytes.
func (d *Reader) open() (int64, *bufio.Reader, error) {
	for {
		start := d.offset()
		magic, err := d.src.Peek(4)
		if len(magic) == 0 {
			if err == io.EOF {
				return 0, nil, io.EOF
			}
			return 0, nil, d.wrap(start, err)
		}
		switch {
		case len(magic) >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
			if d.gz == nil {
				d.gz = new(gzip.Reader)
			}
			if err := d.gz.Reset(d.src); err != nil {
				return 0, nil, d.wrap(start, err)
			}
			d.gz.Multistream(false)
			d.setInner(d.gz)
			return start, d.inner, nil
		case bytes.Equal(magic, zstdMagic):
			if d.zs == nil {
				if d.zs, err = d.dict.decoder(); err != nil {
					return 0, nil, err
				}
			}
			if err := d.zs.Reset(&frameReader{src: d.src, dict: d.dict}); err != nil {
				return 0, nil, d.wrap(start, err)
			}
			d.setInner(d.zs)
			return start, d.inner, nil
		case len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], skippableMagic):
			if magic[0] == 0x5d {
				if start != 0 {
					return 0, nil, d.wrap(start, fmt.Errorf("%w: a dictionary after the start of the file", ErrSyntax))
				}
				if d.dict, err = readDictionary(d.src); err != nil {
					return 0, nil, d.wrap(start, err)
				}
				continue
			}
			if err := skipFrame(d.src); err != nil {
				return 0, nil, d.wrap(start, err)
			}
		case magic[0] == 'W':
			d.inner = nil
			return start, d.src, nil
		default:
			return 0, nil, d.wrap(start, fmt.Errorf("%w: expected WARC/, gzip or zstd, found %q", ErrSyntax, magic))
		}
	}
}

func (d *Reader) setInner(r io.Reader) {
	if d.inner == nil {
		d.inner = bufio.NewReaderSize(r, 32<<10)
		return
	}
	d.inner.Reset(r)
}

// skipNewlines returns nil when something else follows, io.EOF at the end.
func skipNewlines(r *bufio.Reader) error {
	for {
		c, err := r.ReadByte()
		if err != nil {
			return err
		}
		if c != '\r' && c != '\n' {
			return r.UnreadByte()
		}
	}
}

// blockReader ends after left bytes, and knows when there are fewer.
type blockReader struct {
	r    io.Reader
	left int64
}

func (b *blockReader) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func readHeader(r *bufio.Reader) (*Entry, error) {
	budget := maxHeader
	line, err := readLine(r, &budget)
	if err != nil {
		return nil, err
	}
	switch line {
	case "WARC/1.1", "WARC/1.0", "WARC/0.18", "WARC/0.17":
	default:
		return nil, fmt.Errorf("%w: version line %.40q", ErrSyntax, line)
	}
	e := &Entry{Size: -1}
	for {
		line, err := readLine(r, &budget)
		if err != nil {
			return nil, err
		}
		if line == "" {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if n := len(e.Header); n > 0 {
				e.Header[n-1][1] += " " + strings.TrimSpace(line)
				continue
			}
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%w: header line %.40q has no colon", ErrSyntax, line)
		}
		e.Header = append(e.Header, [2]string{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return e, e.readFields()
}

func readLine(r *bufio.Reader, budget *int) (string, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if *budget -= len(part); *budget < 0 {
			return "", fmt.Errorf("%w: header over %d bytes", ErrSyntax, maxHeader)
		}
		if err == bufio.ErrBufferFull {
			long = append(long, part...)
			continue
		}
		if err != nil {
			return "", err
		}
		if long != nil {
			part = append(long, part...)
		}
		return string(bytes.TrimRight(part, "\r\n")), nil
	}
}

// readFields takes the fields everyone needs out of the header.
func (e *Entry) readFields() error {
	e.Type = strings.ToLower(e.Field("WARC-Type"))
	e.URI = strings.TrimSuffix(strings.TrimPrefix(e.Field("WARC-Target-URI"), "<"), ">")
	e.ID = e.Field("WARC-Record-ID")
	e.Truncated = e.Field("WARC-Truncated")
	if e.Type == "" {
		return fmt.Errorf("%w: no WARC-Type", ErrSyntax)
	}
	length := e.Field("Content-Length")
	n, err := strconv.ParseInt(length, 10, 64)
	if err != nil || n < 0 || n > maxRecord {
		return fmt.Errorf("%w: Content-Length %.40q", ErrSyntax, length)
	}
	e.Size = n
	// A date that cannot be read is no reason to refuse the record.
	if t, err := time.Parse(time.RFC3339Nano, e.Field("WARC-Date")); err == nil {
		e.Date = t.UTC()
	}
	return nil
}
