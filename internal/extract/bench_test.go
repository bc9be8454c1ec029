package extract

import (
	"context"
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/store"
	"weir/page"
)

// stored is an archive of pages of 20 KB with 30 links, each a little different.
func stored(b *testing.B, form store.Form, want page.Want, n int) (*Archive, []*crawl.PageInfo) {
	st, err := store.Create(b.TempDir(), store.Options{Form: form})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	g := st.Begin()
	crawl.WriteSecret(g, page.Secret{1})
	enc := st.NewEncoder(0)
	infos := make([]*crawl.PageInfo, n)
	for i := range infos {
		var body strings.Builder
		fmt.Fprintf(&body, "<!DOCTYPE html><html><head><meta charset=utf-8><title>Page %d</title></head><body>\n", i)
		for j := range 30 {
			fmt.Fprintf(&body, "<p class=\"text\">%s %x <a href=\"/section/%d/page-%d.html\">page %d</a>.</p>\n",
				strings.Repeat("water flows over the weir ", 23), sha1.Sum(fmt.Append(nil, i, j)), j%5, i*7+j, j)
		}
		body.WriteString("</body></html>\n")
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nServer: test\r\n\r\n", body.Len())
		u, err := page.Parse(fmt.Sprintf("http://h.test/section/1/page-%d.html", i))
		if err != nil {
			b.Fatal(err)
		}
		record, err := enc.Encode(&store.Exchange{
			URL: u.String(), At: time.Unix(1, 0), Bytes: []byte(head + body.String()), HeadLen: len(head), Status: 200,
			PayloadDigest: sha1.Sum([]byte(body.String())), PayloadSize: int64(body.Len()),
		})
		if err != nil {
			b.Fatal(err)
		}
		place, _, err := g.Append(record)
		if err != nil {
			b.Fatal(err)
		}
		record.Release()
		infos[i] = &crawl.PageInfo{URL: u, Outcome: page.OK, Status: 200, At: time.Unix(1, 0), Record: crawl.Archived(place)}
		if i%100 == 99 {
			if err := g.Commit(); err != nil {
				b.Fatal(err)
			}
			g = st.Begin()
		}
	}
	if err := g.Commit(); err != nil {
		b.Fatal(err)
	}
	a, err := NewArchive(st, Config{Want: want, Agent: "weir", Strip: page.DefaultStrip()})
	if err != nil {
		b.Fatal(err)
	}
	return a, infos
}

// BenchmarkReread reads pages again, on one core and on all of them.
func BenchmarkReread(b *testing.B) {
	for _, form := range []store.Form{store.Gzip, store.Zstd} {
		for _, w := range []struct {
			name string
			want page.Want
		}{{"links", page.Want{}}, {"everything", everything}} {
			a, infos := stored(b, form, w.want, 2000)
			b.Run(fmt.Sprintf("%v/%s/one", form, w.name), func(b *testing.B) {
				r := a.Reader()
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					if f, err := r.Facts(infos[n%len(infos)]); err != nil || len(f.Links) != 30 {
						b.Fatal(err)
					}
					n++
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "pages/s")
			})
			b.Run(fmt.Sprintf("%v/%s/all", form, w.name), func(b *testing.B) {
				n := 0
				for b.Loop() {
					for _, err := range a.Facts(context.Background(), pagesOf(infos)) {
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "pages/s")
			})
		}
	}
}
