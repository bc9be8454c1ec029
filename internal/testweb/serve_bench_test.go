package testweb

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"testing"
)

// BenchmarkServe is the server's own speed: pages of about 20 KB, asked for one after the other on one connection. Bytes are
// those of the answers, heads included.
func BenchmarkServe(b *testing.B) {
	for _, keep := range []bool{true, false} {
		b.Run(fmt.Sprintf("keepalive=%v", keep), func(b *testing.B) {
			w, err := Start(Config{Seed: 1, Sites: Even(4, Site{Pages: 5000, Links: 20, Size: 20_000})})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				c := &caller{b: b, w: w}
				defer c.hang()
				for i := 1; pb.Next(); i++ {
					c.ask(i % 5000)
					if !keep {
						c.hang()
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
			b.SetBytes(w.Audit().Hosts[0].Bytes / int64(b.N))
		})
	}
}

// BenchmarkPage is the cost of making a page.
func BenchmarkPage(b *testing.B) {
	w, err := Start(Config{Seed: 1, Sites: Even(4, Site{Pages: 5000, Links: 20, Size: 20_000})})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	buf := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for i := range b.N {
		html, _ := w.sites[0].body(buf, i%5000)
		b.SetBytes(int64(len(html)))
	}
}

// caller is a client that does as little as can be done.
type caller struct {
	b    *testing.B
	w    *Web
	conn net.Conn
	in   *bufio.Reader
	line []byte
}

func (c *caller) ask(page int) {
	if c.conn == nil {
		conn, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.w.Addr(0), uint16(c.w.Port()))))
		if err != nil {
			c.b.Error(err)
			return
		}
		c.conn = conn
		if c.in == nil {
			c.in = bufio.NewReaderSize(conn, 64<<10)
		}
		c.in.Reset(conn)
	}
	c.line = fmt.Appendf(c.line[:0], "GET %s HTTP/1.1\r\nHost: s0000.test\r\nUser-Agent: bench\r\n\r\n", pagePath(page))
	c.conn.Write(c.line)
	n := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			c.b.Error(err)
			return
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			n, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
		if len(line) == 2 {
			break
		}
	}
	if _, err := c.in.Discard(n); err != nil && err != io.EOF {
		c.b.Error(err)
	}
}

func (c *caller) hang() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
