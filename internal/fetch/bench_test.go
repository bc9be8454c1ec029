package fetch

import (
	"fmt"
	"strings"
	"testing"

	"weir/page"
)

// BenchmarkGet is one page of 20 KB on a connection kept open, server included.
func BenchmarkGet(b *testing.B) {
	body := strings.Repeat("<p>All work and no play. ", 800)
	for name, text := range map[string]string{
		"length":  fmt.Sprintf(ok+"Content-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"chunked": fmt.Sprintf(ok+"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	} {
		b.Run(name, func(b *testing.B) {
			p := serve(b, func(s *scene) {
				for raw := []byte(text); s.hear() != ""; {
					s.Write(raw)
				}
			})
			u := p.url(b, "/")
			cn := open(b, newClient(b, local()), u, p.addr.Addr())
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				a := cn.Get(b.Context(), u, false)
				if a.Outcome != page.OK {
					b.Fatal(a.Outcome, a.Err)
				}
				a.Release()
			}
		})
	}
}
