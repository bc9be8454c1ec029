package store

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"

	"weir/internal/cputime"
	"weir/internal/testweb"
)

// farm is a sample of the web that whole crawls are measured on: pages of 20 KB
// with 30 links, their heads as they were sent.
var farm = sync.OnceValues(func() ([]*Exchange, error) {
	const sites, pages = 20, 10
	w, err := testweb.Start(testweb.Config{Seed: 1, Sites: testweb.Even(sites, testweb.Site{Pages: pages, Size: 20000, Links: 30})})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	t := &http.Transport{DisableCompression: true, DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(addr)
		return net.Dial("tcp", netip.AddrPortFrom(w.Addr(w.Find(host)), uint16(w.Port())).String())
	}}
	defer t.CloseIdleConnections()
	var out []*Exchange
	for i := range sites * pages {
		url := w.URL(i % sites)
		if i >= sites {
			url += fmt.Sprintf("p/%d", i/sites)
		}
		resp, err := (&http.Client{Transport: t}).Get(url)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		var head bytes.Buffer
		fmt.Fprintf(&head, "HTTP/1.1 %s\r\nContent-Length: %d\r\n", resp.Status, len(body))
		resp.Header.Write(&head)
		head.WriteString("\r\n")
		out = append(out, sample(url, head.Bytes(), body))
	}
	return out, nil
})

func sample(url string, head, body []byte) *Exchange {
	block := append(bytes.Clone(head), body...)
	return &Exchange{
		URL: url, At: t0, Addr: "127.0.0.1",
		Request: []byte("GET /p/12 HTTP/1.1\r\nHost: site7.test:8080\r\nUser-Agent: weir/1.0 (+https://example.org/bot)\r\n" +
			"Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Encoding: gzip\r\n\r\n"),
		Bytes: block, Response: bytes.NewReader(block), Size: int64(len(block)), HeadLen: len(head), Status: 200,
		PayloadDigest: sha1.Sum(body), PayloadSize: int64(len(body)),
	}
}

// squeezed is the farm as a server sends it to those who take gzip.
func squeezed(farm []*Exchange) []*Exchange {
	var out []*Exchange
	for _, x := range farm {
		var body bytes.Buffer
		w := gzip.NewWriter(&body)
		w.Write(x.Bytes[x.HeadLen:])
		w.Close()
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Encoding: gzip\r\nContent-Type: text/html; charset=utf-8\r\n\r\n", body.Len())
		out = append(out, sample(x.URL, []byte(head), body.Bytes()))
	}
	return out
}

// BenchmarkEncode makes the request and response records of a page. Beside the
// time, out/page guards what it was bought with.
func BenchmarkEncode(b *testing.B) {
	plain, err := farm()
	must(b, err)
	coded := squeezed(plain)
	for _, c := range []struct {
		name  string
		form  Form
		pages []*Exchange
		dict  bool
	}{
		{"gzip", Gzip, plain, false},
		{"zstd", Zstd, plain, false},
		{"zstd/dictionary", Zstd, plain[100:], true},
		{"none", None, plain, false},
		{"gzip/coded", Gzip, coded, false},
		{"zstd/coded", Zstd, coded, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			enc := NewEncoder(c.form, 0)
			if c.dict {
				var t trainer
				for _, x := range plain[:100] {
					r := encode(b, enc, x)
					must(b, t.add(r))
					r.Release()
				}
				enc.use(t.train())
				t.close()
			}
			in, n := int64(0), 0
			for _, x := range c.pages {
				in += x.Size
			}
			b.SetBytes(in / int64(len(c.pages)))
			b.ReportAllocs()
			out := int64(0)
			start := cputime.Used()
			for b.Loop() {
				r := encode(b, enc, c.pages[n%len(c.pages)])
				out += r.Size()
				n++
				r.Release()
			}
			b.ReportMetric(float64((cputime.Used()-start).Nanoseconds())/float64(n), "cpu-ns/op")
			b.ReportMetric(float64(out)/float64(n), "out/page")
		})
	}
}

// BenchmarkCommit commits groups of 100 farm pages with ten rows each to the
// disk under the temporary folder, with both syncs.
func BenchmarkCommit(b *testing.B) {
	plain, err := farm()
	must(b, err)
	for _, form := range []Form{Gzip, None} {
		b.Run(form.String(), func(b *testing.B) {
			s, err := Create(b.TempDir(), Options{Form: form, Info: info})
			must(b, err)
			enc := NewEncoder(form, 0)
			var records []*Record
			for _, x := range plain[:100] {
				records = append(records, encode(b, enc, x))
			}
			b.ReportAllocs()
			n := 0
			start := cputime.Used()
			for b.Loop() {
				g := s.Begin()
				for _, r := range records {
					n++
					r.key = sha1.Sum(fmt.Append(nil, n))
					_, _, err := g.Append(r)
					must(b, err)
					for j := range 10 {
						g.Set(fmt.Appendf(nil, "u%d/%d", n, j), []byte("0123456789012345678901"))
					}
				}
				must(b, g.Commit())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/page")
			b.ReportMetric(float64((cputime.Used()-start).Nanoseconds())/float64(n), "cpu-ns/page")
			must(b, s.Close())
		})
	}
}
