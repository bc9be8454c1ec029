package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawWeb draws any small web that passes Check.
func drawWeb(t *rapid.T) *Web {
	w := &Web{Name: rapid.String().Draw(t, "name"), First: []uint32{0}, Off: []uint32{0}}
	names, paths := rapid.Bool().Draw(t, "names"), rapid.Bool().Draw(t, "paths")
	ends, seeds := rapid.Bool().Draw(t, "ends"), rapid.Bool().Draw(t, "seeds")
	second := rapid.Float64Range(0, MaxTime)
	for s := range rapid.IntRange(1, 6).Draw(t, "sites") {
		site := Site{Speed: rapid.Float64Range(MinSpeed, MaxSpeed).Draw(t, "speed"), Latency: second.Draw(t, "latency"), Again: second.Draw(t, "again"), Delay: second.Draw(t, "delay")}
		if names {
			site.Name = "http://" + rapid.String().Draw(t, "host")
		}
		w.Sites = append(w.Sites, site)
		for range rapid.IntRange(1, 6).Draw(t, "pages") {
			w.SiteOf = append(w.SiteOf, uint32(s))
		}
		w.First = append(w.First, uint32(len(w.SiteOf)))
	}
	page := rapid.Uint32Range(0, uint32(w.Pages()-1))
	for range w.Pages() {
		w.Adj = append(w.Adj, rapid.SliceOfDistinct(page, rapid.ID[uint32]).Draw(t, "links")...)
		w.Off = append(w.Off, uint32(len(w.Adj)))
		w.Size = append(w.Size, rapid.Uint32().Draw(t, "size"))
		if ends {
			w.End = append(w.End, rapid.Uint8Range(0, MaxEnd).Draw(t, "end"))
		}
		if paths {
			w.Path = append(w.Path, rapid.String().Draw(t, "path"))
		}
	}
	if seeds {
		w.Seeds = rapid.SliceOfNDistinct(page, 1, -1, rapid.ID[uint32]).Draw(t, "seeds")
	}
	return w
}

func TestFileKeepsTheWeb(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWeb(t)
		var file bytes.Buffer
		if err := w.Write(&file); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Adj) == 0 {
			w.Adj = []uint32{} // rapid's nil is as good
		}
		if !reflect.DeepEqual(w, again) {
			t.Fatalf("wrote %+v\nread %+v", w, again)
		}
		cut := rapid.IntRange(0, file.Len()-1).Draw(t, "cut")
		if _, err := Read(bytes.NewReader(file.Bytes()[:cut])); err == nil {
			t.Fatalf("%d of %d bytes are read as a web", cut, file.Len())
		}
	})
}

func TestFileIsSmall(t *testing.T) {
	w := small(t, "chile", 0.01)
	var file bytes.Buffer
	if err := w.Write(&file); err != nil {
		t.Fatal(err)
	}
	if perLink := float64(file.Len()) / float64(w.Links()); perLink > 2.5 {
		t.Errorf("the file takes %.2f bytes a link", perLink)
	}
}

// raw writes a file by hand: strings as they are, ints as varints, floats.
func raw(parts ...any) []byte {
	var plain bytes.Buffer
	e := encoder{bufio.NewWriter(&plain)}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			e.WriteString(p)
		case int:
			e.number(uint64(p))
		case uint64:
			e.number(p)
		case float64:
			e.float(p)
		}
	}
	e.Flush()
	return plain.Bytes()
}

func TestReadRefuses(t *testing.T) {
	site := func(pages int) []any { return []any{0, pages, 1e4, 0.5, 0.1, 0.0} }
	file := func(parts ...[]any) []byte {
		var all []any
		for _, p := range parts {
			all = append(all, p...)
		}
		return raw(all...)
	}
	head := func(flags, sites, pages, links int) []any {
		return []any{magic, version, flags, 0, sites, pages, links}
	}
	for want, b := range map[string][]byte{
		"unexpected EOF":                nil,
		"it does not begin with":        []byte("something else entirely"),
		"version 9":                     raw(magic, 9),
		"8 is an unknown set of flags":  raw(magic, version, 8),
		"the web is empty":              file(head(0, 0, 0, 0)),
		"67108865 pages: at most":       file(head(0, 1, MaxPages+1, 0)),
		"536870913 links: at most":      file(head(0, 1, 1, MaxLinks+1)),
		"the sites hold 1 pages, not 2": file(head(0, 1, 2, 0), site(1)),
		"3 pages on a site: at most 2":  file(head(0, 1, 2, 0), site(3)),
		"has no pages":                  file(head(0, 2, 1, 0), site(1), site(0), []any{5, 0}),
		"the pages have 0 links, not 1": file(head(0, 1, 1, 1), site(1), []any{5, 0}),
		"2 links of a page: at most 1":  file(head(0, 1, 1, 1), site(1), []any{5, 2}),
		"a link +1 pages from page 0":   file(head(0, 1, 1, 1), site(1), []any{5, 1, 2}),
		"a link -1 pages from page 0":   file(head(0, 1, 1, 1), site(1), []any{5, 1, 1}),
		"links to page 0 twice":         file(head(0, 1, 1, 2), site(1), []any{5, 2, 0, 0}),
		"a seed +1 pages from page 0":   file(head(hasSeeds, 1, 1, 0), site(1), []any{5, 0, 1, 2}),
		"no seeds":                      file(head(hasSeeds, 1, 1, 0), site(1), []any{5, 0, 0}),
		"more after the web's end":      file(head(0, 1, 1, 0), site(1), []any{5, 0, 0}),
		"its speed is -1":               file(head(0, 1, 1, 0), []any{0, 1, -1.0, 0.5, 0.1, 0.0, 5, 0}),
		"its latency is NaN":            file(head(0, 1, 1, 0), []any{0, 1, 1.0, math.NaN(), 0.1, 0.0, 5, 0}),
		"its crawl-delay is +Inf":       file(head(0, 1, 1, 0), []any{0, 1, 1.0, 0.5, 0.1, math.Inf(1), 5, 0}),
		"99999 bytes of a site's name":  file(head(0, 1, 1, 0), []any{99999}),
		"4294967296 bytes of a page":    file(head(0, 1, 1, 0), site(1), []any{uint64(1 << 32)}),
	} {
		if _, err := Read(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
}

func TestReadNoticesDamage(t *testing.T) {
	var file bytes.Buffer
	if err := parse(t, example).Write(&file); err != nil {
		t.Fatal(err)
	}
	b := file.Bytes()
	b[len(b)-6] ^= 1 // in the checksum
	if _, err := Read(bytes.NewReader(b)); !errors.Is(err, gzip.ErrChecksum) {
		t.Errorf("a file with another checksum gives %v", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	if err := new(Web).Write(io.Discard); !errors.Is(err, ErrEmpty) {
		t.Errorf("the empty web is written: %v", err)
	}
	w := parse(t, example)
	w.Path[1] = strings.Repeat("x", maxName+1)
	if err := w.Write(io.Discard); err == nil {
		t.Error("a path too long to be read again is written")
	}
}

func FuzzRead(f *testing.F) {
	var file bytes.Buffer
	if err := parse(f, example).Write(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	z, err := gzip.NewReader(&file)
	if err != nil {
		f.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Fuzz(func(t *testing.T, b []byte) { valid(t, b, func() (*Web, error) { return Read(bytes.NewReader(b)) }) })
}
