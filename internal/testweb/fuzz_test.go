package testweb

import (
	"bufio"
	"bytes"
	"net"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// sink is a connection that reads given bytes and forgets what is written.
type sink struct {
	net.Conn
	in *bytes.Reader
}

func (s *sink) Read(b []byte) (int, error)       { return s.in.Read(b) }
func (s *sink) Write(b []byte) (int, error)      { return len(b), nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// Whatever bytes arrive, a request that is read has a method, a bounded path and a lower-case host.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: A.test:80\r\nConnection: close\r\n\r\nGET /p/1 HTTP/1.0\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.1\nHost: [::1]\nCookie: a\n\n"))
	f.Add([]byte("\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &sink{in: bytes.NewReader(data)}
		x := &exchange{conn: &conn{Conn: c, raw: c, in: bufio.NewReaderSize(c, maxLine)}}
		for n := 0; x.read(); n++ {
			if len(x.method) == 0 || len(x.path) > maxLine || bytes.ContainsAny(x.name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") || n > len(data) {
				t.Fatalf("read %q %q %q", x.method, x.path, x.name)
			}
		}
	})
}

// Whatever is asked, the DNS server answers with a message that can be read, or not at all.
func FuzzDNS(f *testing.F) {
	q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("a.test."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	seed, err := q.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	d := &dns{records: map[string]record{"a.test.": {cname: "b.test."}, "b.test.": {cname: "a.test."}}}
	f.Fuzz(func(t *testing.T, msg []byte) {
		for _, cut := range []bool{false, true} {
			out := d.answer(msg, cut)
			if out == nil {
				continue
			}
			var m dnsmessage.Message
			if err := m.Unpack(out); err != nil || !m.Response {
				t.Fatalf("answer %x: %v", out, err)
			}
		}
	})
}

// Reading robots.txt ends, and what was written is read back.
func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a # no\nCrawl-delay: 2.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := readRobots(text)
		back := readRobots(writeRobots(r.delay, r.deny))
		if len(back.deny) != len(r.deny) {
			t.Fatalf("%q, then %q", r.deny, back.deny)
		}
	})
}
