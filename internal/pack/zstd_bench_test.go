package pack

import (
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// BenchmarkZstd packs pages beside the library's fastest level. Pages of prose
// take turns; "crawl" has a megabyte of other memory touched between them, as a
// crawl does.
func BenchmarkZstd(b *testing.B) {
	kit := zstdOwn()
	var html [][]byte
	for _, name := range []string{"docs", "legacy", "news"} {
		page, err := os.ReadFile("../parse/testdata/pages/" + name + ".html")
		if err != nil {
			b.Fatal(err)
		}
		html = append(html, page)
	}
	library := func(opts ...zstd.EOption) *zstd.Encoder {
		w, err := zstd.NewWriter(nil, append(opts, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))...)
		if err != nil {
			b.Fatal(err)
		}
		return w
	}
	var z Zstd
	with, without := library(zstd.WithEncoderDict(kit.body)), library()
	prose := zstdPages(60, 20000)[30:]
	other := make([]byte, 1<<20)
	for _, in := range []struct {
		name  string
		pages [][]byte
		other []byte
	}{
		{"prose", prose, nil},
		{"crawl", prose, other},
		{"html", html, nil},
		{"request", [][]byte{prose[0][:500]}, nil},
	} {
		for _, c := range []struct {
			name string
			pack func(dst, src []byte) []byte
		}{
			{"dictionary", func(dst, src []byte) []byte { return z.Frame(dst, src, kit.dict) }},
			{"dictionary/library", func(dst, src []byte) []byte { return with.EncodeAll(src, dst) }},
			{"none", func(dst, src []byte) []byte { return z.Frame(dst, src, nil) }},
			{"none/library", func(dst, src []byte) []byte { return without.EncodeAll(src, dst) }},
		} {
			b.Run(in.name+"/"+c.name, func(b *testing.B) {
				var out []byte
				sum, i, size := 0, 0, 0
				for _, p := range in.pages {
					size += len(p)
				}
				size /= len(in.pages)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					page := in.pages[i%len(in.pages)]
					out = c.pack(out[:0], page)
					sum += len(out)
					i++
					for j := 0; j < len(in.other); j += 64 {
						in.other[j]++
					}
				}
				b.ReportMetric(float64(sum)/float64(i)/float64(size), "ratio")
			})
		}
	}
}
