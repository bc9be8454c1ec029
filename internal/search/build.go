package search

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"weir/internal/store"
	"weir/page"
)

// Page is what the index takes of a page.
type Page struct {
	URL   page.URL
	Title string
	Words []page.Word // every term once
	Place store.Place // of its record
}

// builder gathers pages in memory until they make a segment.
type builder struct {
	docs  []document
	terms map[string]*list
	size  int // bytes of memory, about
}

// What a document and a term take besides their texts.
const (
	docSize  = 80
	termSize = 120
)

func newBuilder() *builder { return &builder{terms: map[string]*list{}} }

// add takes the next page, in the order of the archive. A page without words is
// nothing that could be found.
func (b *builder) add(p *Page) {
	if len(p.Words) == 0 {
		return
	}
	d := document{url: p.URL.String(), title: clip(p.Title, maxTitle), print: xxhash.Sum64String(p.Title), place: p.Place}
	if len(d.url) > maxURL {
		return
	}
	n := len(b.docs)
	for _, w := range p.Words {
		if w.Term == "" || len(w.Term) > maxTerm || w.N <= 0 || w.N >= 1<<31 {
			continue
		}
		d.words += w.N
		d.print += said(w)
		b.post(w.Term, n, w.N)
	}
	for _, h := range zones(p.URL.Host()) {
		b.post(hostTerm(h), n, 1)
	}
	b.docs = append(b.docs, d)
	b.size += docSize + len(d.url) + len(d.title)
}

func (b *builder) post(term string, doc, times int) {
	l := b.terms[term]
	if l == nil {
		l = &list{}
		term = strings.Clone(term) // it is part of a page's text
		b.terms[term] = l
		b.size += termSize + len(term)
	}
	if l.next > doc {
		return // it was said twice
	}
	room := cap(l.b)
	l.add(doc, times)
	b.size += cap(l.b) - room
}

// said is one word's part in a page's print. Prints are sums, so the order of
// the words does not matter.
func said(w page.Word) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], xxhash.Sum64String(w.Term)+uint64(w.N))
	return xxhash.Sum64(b[:])
}

// write makes a segment of what was gathered.
func (b *builder) write(w *writer) {
	for i := range b.docs {
		w.addDoc(&b.docs[i])
	}
	for _, t := range slices.Sorted(maps.Keys(b.terms)) {
		l := b.terms[t]
		w.addTerm(t, l.n, l.b)
	}
}

// hostTerm is the term under which pages of a host are found. No word begins so.
func hostTerm(host string) string { return "\x01" + clip(host, maxTerm-1) }

// zones returns a host and the domains it is in, the ten largest of them.
func zones(host string) []string {
	all := []string{host}
	if strings.HasPrefix(host, "[") || strings.Trim(host, "0123456789.") == "" {
		return all // an address
	}
	for {
		_, up, ok := strings.Cut(host, ".")
		if !ok || up == "" {
			break
		}
		all = append(all, up)
		host = up
	}
	if len(all) > maxZones {
		all = append(all[:1], all[len(all)-maxZones+1:]...)
	}
	return all
}

const maxZones = 11

// clip cuts a text at a character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
