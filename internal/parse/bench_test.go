package parse

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/page"
)

// farmPage is 20 KB of text with 30 links, the page of the pipeline's figures.
func farmPage() []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><meta charset=utf-8><title>A page</title></head><body>\n")
	for i := range 30 {
		fmt.Fprintf(&b, "<p class=\"text\">%s <a href=\"/section/%d/page-%d.html\">page %d</a>.</p>\n",
			strings.Repeat("water flows over the weir ", 23), i%5, i, i)
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

func BenchmarkHTML(b *testing.B) {
	body := farmPage()
	at := mustURL(b, "http://h.test/section/1/")
	for _, bc := range []struct {
		name string
		want Want
	}{{"links", Want{}}, {"everything", all}} {
		b.Run(bc.name, func(b *testing.B) {
			var p Parser
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if d := p.HTML(body, at, "text/html", "weir", bc.want); len(d.Links) != 30 {
					b.Fatalf("%d links", len(d.Links))
				}
			}
		})
	}
}

// TestAllocations holds a page to its allocations: one an address, and a few for all
// else that outlives the Parser's buffers.
func TestAllocations(t *testing.T) {
	body := farmPage()
	at := mustURL(t, "http://h.test/section/1/")
	var p Parser
	got := testing.AllocsPerRun(100, func() { p.HTML(body, at, "text/html", "weir", all) })
	if got > 30+10 {
		t.Errorf("%v allocations for 30 links", got)
	}
}

// BenchmarkPages reads pages as people write them, those of the tests or some of
// -pages, with the scanner and, to compare, with the tokenizer.
func BenchmarkPages(b *testing.B) {
	root := "testdata/pages"
	if *pages != "" {
		root = *pages
	}
	var bodies [][]byte
	size := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".html") || size > 8<<20 {
			return err
		}
		body, err := os.ReadFile(path)
		bodies = append(bodies, body)
		size += len(body)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	at := mustURL(b, here)
	var p Parser
	for _, bc := range []struct {
		name string
		want Want
		read func([]byte, page.URL, string, string, Want) *Doc
	}{
		{"links", Want{}, p.HTML},
		{"everything", all, p.HTML},
		{"tokenizer", Want{}, oracleHTML},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, body := range bodies {
					bc.read(body, at, "text/html", "weir", bc.want)
				}
			}
			b.ReportMetric(float64(len(bodies)), "pages/op")
		})
	}
}
