package store

import (
	"encoding/base32"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// begin starts a header with the fields all records of an exchange share.
func (e *Encoder) begin(kind string, r *Record) {
	e.hdr = append(e.hdr[:0], "WARC/1.1\r\nWARC-Type: "...)
	e.hdr = append(e.hdr, kind...)
	e.hdr = append(e.hdr, "\r\n"...)
	e.field("WARC-Target-URI", r.url)
	e.date("WARC-Date", r.at)
	if r.addr != "" && kind != "metadata" {
		e.field("WARC-IP-Address", r.addr)
	}
}

// payload says what is known of the payload; stored is its digest.
func (e *Encoder) payload(r *Record, stored [20]byte) {
	e.sum("WARC-Payload-Digest", stored)
	if r.found != "" {
		e.field("WARC-Identified-Payload-Type", r.found)
	}
	if r.truncated != "" {
		e.field("WARC-Truncated", r.truncated)
	}
}

// end finishes the header of a record with a block of that size.
func (e *Encoder) end(mime string, size int64) {
	e.field("Content-Type", mime)
	e.number("Content-Length", size)
	e.hdr = append(e.hdr, "\r\n"...)
}

func (e *Encoder) newRecordID() {
	var id [16]byte
	e.newID(&id)
	e.urn("WARC-Record-ID", &id)
}

// newID draws a random UUID (RFC 9562, version 4).
func (e *Encoder) newID(id *[16]byte) {
	e.ids.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
}

func (e *Encoder) name(name string) {
	e.hdr = append(e.hdr, name...)
	e.hdr = append(e.hdr, ": "...)
}

func (e *Encoder) field(name, value string) {
	e.name(name)
	e.hdr = append(e.hdr, oneLine(value)...)
	e.hdr = append(e.hdr, "\r\n"...)
}

func (e *Encoder) number(name string, v int64) {
	e.name(name)
	e.hdr = strconv.AppendInt(e.hdr, v, 10)
	e.hdr = append(e.hdr, "\r\n"...)
}

func (e *Encoder) date(name string, t time.Time) {
	e.name(name)
	e.hdr = t.UTC().AppendFormat(e.hdr, "2006-01-02T15:04:05.000000Z\r\n")
}

func (e *Encoder) urn(name string, id *[16]byte) {
	e.name(name)
	e.hdr = append(e.hdr, "<urn:uuid:"...)
	from := 0
	for _, to := range [...]int{4, 6, 8, 10, 16} {
		if from > 0 {
			e.hdr = append(e.hdr, '-')
		}
		e.hdr = hex.AppendEncode(e.hdr, id[from:to])
		from = to
	}
	e.hdr = append(e.hdr, ">\r\n"...)
}

func (e *Encoder) sum(name string, sum [20]byte) {
	e.name(name)
	e.hdr = appendDigest(e.hdr, &sum)
	e.hdr = append(e.hdr, "\r\n"...)
}

func appendDigest(b []byte, sum *[20]byte) []byte {
	return base32.StdEncoding.AppendEncode(append(b, "sha1:"...), sum[:])
}

// address returns the plain IP address in s, or nothing.
func address(s string) string {
	if s == "" {
		return ""
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		ap, err := netip.ParseAddrPort(s)
		if err != nil {
			return ""
		}
		a = ap.Addr()
	}
	var buf [64]byte
	b := a.Unmap().WithZone("").AppendTo(buf[:0])
	if string(b) == s {
		return s
	}
	return string(b)
}

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
	if strings.IndexByte(s, '\r') < 0 && strings.IndexByte(s, '\n') < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return ' '
		}
		return r
	}, s)
}
