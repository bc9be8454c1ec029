package parse

import (
	"fmt"
	"strings"
	"testing"
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
