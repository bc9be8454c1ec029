package pack

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// inflateProse is the text of pages: links, and made-up words whose
// frequencies fall off as in prose.
func inflateProse(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 2048)
	for i := range words {
		for range 1 + i/512 {
			words[i] += string("bcdfghjklmnprstvwz"[r.IntN(18)]) + string("aeiou"[r.IntN(5)])
		}
	}
	word := func() string { return words[int(math.Pow(r.Float64(), 3)*float64(len(words)))] }
	var b bytes.Buffer
	for b.Len() < size {
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "<li><a href=\"/p/%d\">%s %s</a></li>\n", r.IntN(100000), word(), word())
			continue
		}
		b.WriteString("<p>")
		for range 20 + r.IntN(80) {
			b.WriteString(word())
			b.WriteByte(' ')
		}
		b.WriteString("</p>\n")
	}
	return b.Bytes()[:size]
}

// BenchmarkGunzip is what a page of 20 KB takes: pages of made-up prose, which
// pack badly; the same again and again, whose branches a processor learns by
// heart; and one that people wrote, again and again.
func BenchmarkGunzip(b *testing.B) {
	const size, pages = 20_000, 100
	prose, real := inflateProse(pages*size), inflatePage(b)[:size]
	var many [][]byte
	for i := range pages {
		many = append(many, inflateGzip(b, 6, prose[i*size:(i+1)*size]))
	}
	for _, bm := range []struct {
		name string
		srcs [][]byte
	}{
		{"prose", many},
		{"same-prose", many[:1]},
		{"same-real", [][]byte{inflateGzip(b, 6, real)}},
	} {
		out := make([]byte, 0, 64<<10)
		b.Run(bm.name+"/pack", func(b *testing.B) {
			var z Inflater
			b.SetBytes(size)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if got, err := z.Gunzip(out, bm.srcs[i%len(bm.srcs)], size); err != nil || len(got) != size {
					b.Fatal(err)
				}
			}
		})
		for _, lib := range []struct {
			name string
			z    interface {
				io.Reader
				Reset(io.Reader) error
			}
		}{{"klauspost", new(gzip.Reader)}, {"std", new(stdgzip.Reader)}} {
			b.Run(bm.name+"/"+lib.name, func(b *testing.B) {
				b.SetBytes(size)
				r, w := new(bytes.Reader), bytes.NewBuffer(out)
				for i := 0; b.Loop(); i++ {
					r.Reset(bm.srcs[i%len(bm.srcs)])
					w.Reset()
					if err := lib.z.Reset(r); err != nil {
						b.Fatal(err)
					}
					if _, err := w.ReadFrom(lib.z); err != nil || w.Len() != size {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
