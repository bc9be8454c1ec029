package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"

	"weir/internal/testweb"
)

// books are Debian packages of documentation and where their pages lie: prose with
// few links, and a reference with many.
var books = []struct{ name, dir string }{
	{"postgresql-doc", "/usr/share/doc/postgresql-doc-*/html"},
	{"ant-doc", "/usr/share/doc/ant/api"},
}

// real crawls pages that people and their tools wrote, under twenty names.
func (l *lab) real() error {
	var kinds []testweb.Site
	var sizes []int
	for _, b := range books {
		found, err := filepath.Glob(b.dir)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("%s is not there: run 'apt-get install %s' as root, or 'make books', which does", b.dir, b.name)
		}
		dir := found[len(found)-1]
		has, err := readBook(dir)
		if err != nil {
			return err
		}
		l.say("%s: %d pages of %.1f KB with %.1f links", b.name, has.pages, float64(has.bytes)/float64(has.pages)/1e3, float64(has.links)/float64(has.pages))
		kinds = append(kinds, testweb.Site{Folder: dir, Pages: has.pages})
		sizes = append(sizes, has.bytes)
	}
	for _, f := range []struct{ road, form string }{{"identity", "none"}, {"identity", "zstd"}, {"identity", "gzip"}, {"gzip", "gzip"}} {
		sites := testweb.Even(max(len(kinds), l.scaled(20)), testweb.Site{})
		plain := 0
		for i := range sites {
			plain += sizes[i%len(sizes)]
			name := sites[i].Name
			sites[i] = kinds[i%len(kinds)]
			sites[i].Name = name
			if f.road == "gzip" {
				sites[i].Faults = []testweb.Fault{{Kind: testweb.Gzip}}
			}
		}
		s, err := l.crawl(sites, append(fast, f.form)...)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s transfer, archive %s", f.road, f.form)
		l.value("CPU, "+name, s.of(result.perThousand), "s/1,000 pages")
		l.value("speed, "+name, s.of(result.speed), "pages/s")
		if f.form != "none" {
			l.value("archive, times smaller than the pages", s.of(func(r result) float64 { return float64(plain) / float64(r.archive) }), "")
		}
	}
	return nil
}

// book is what a folder shows to somebody who follows its links: its own few
// lines tell how much a crawl has to find.
type book struct{ pages, bytes, links int }

func readBook(dir string) (book, error) {
	var b book
	seen := map[string]bool{"/": true}
	for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
		at := &url.URL{Path: queue[0]}
		file := strings.TrimPrefix(at.Path, "/")
		if strings.HasSuffix(at.Path, "/") {
			file += "index.html"
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			return b, err
		}
		b.pages++
		b.bytes += len(text)
		if filepath.Ext(file) != ".html" {
			continue
		}
		for _, link := range anchors(text) {
			b.links++
			to, err := at.Parse(link)
			if err != nil || to.Host != "" || to.Opaque != "" || !strings.HasPrefix(to.Path, "/") || seen[to.Path] {
				continue
			}
			seen[to.Path] = true
			queue = append(queue, to.Path)
		}
	}
	return b, nil
}

// anchors are where the links of a page lead.
func anchors(text []byte) []string {
	var list []string
	for z := html.NewTokenizer(bytes.NewReader(text)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return list
		case html.StartTagToken:
			name, more := z.TagName()
			if string(name) != "a" {
				continue
			}
			for more {
				var key, value []byte
				if key, value, more = z.TagAttr(); string(key) == "href" {
					list = append(list, string(value))
					break
				}
			}
		}
	}
}
