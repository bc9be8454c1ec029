package pack

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/klauspost/compress/flate"
)

// BenchmarkDeflate compresses pages, beside a streaming library's first levels.
// In a crawl a page is compressed after much else was done: "cold" touches a
// megabyte of other memory between pages, and times that too, some 10 µs.
func BenchmarkDeflate(b *testing.B) {
	real, err := os.ReadFile("testdata/inflate/page.html")
	if err != nil {
		b.Fatal(err)
	}
	var prose, short [][]byte
	for i := range 100 {
		prose = append(prose, deflateProse(uint64(i), 20000))
		short = append(short, prose[i][200:600])
	}
	other := make([]byte, 1<<20)
	for _, c := range []struct {
		name  string
		pages [][]byte
		cold  bool
	}{
		{"prose", prose, false},
		{"prose/cold", prose, true},
		{"real", [][]byte{real}, false},
		{"short", short, false},
		{"noise", [][]byte{deflateNoise(1, 20000)}, false},
	} {
		run := func(name string, deflate func(dst, src []byte) []byte) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				var out []byte
				n, from, to := 0, 0, 0
				for b.Loop() {
					src := c.pages[n%len(c.pages)]
					if c.cold {
						for i := 0; i < len(other); i += 64 {
							other[i]++
						}
					}
					out = deflate(out[:0], src)
					n++
					from += len(src)
					to += len(out)
				}
				b.SetBytes(int64(from / n))
				b.ReportMetric(float64(from)/float64(to), "ratio")
			})
		}
		var d Deflater
		run("pack", func(dst, src []byte) []byte { return d.deflate(dst, src, nil) })
		for level := 1; level <= 3; level++ {
			w, _ := flate.NewWriter(io.Discard, level)
			run(fmt.Sprint("klauspost-", level), func(dst, src []byte) []byte {
				buf := bytes.NewBuffer(dst)
				w.Reset(buf)
				w.Write(src)
				w.Close()
				return buf.Bytes()
			})
		}
	}
}
