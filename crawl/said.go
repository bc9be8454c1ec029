package crawl

import (
	"encoding/binary"
	"fmt"
	"slices"

	"weir/page"
)

// What a page says lies in the archive, and is read from there when it is to be
// delivered again. A crawl without an archive whose rules may ask for that keeps it
// in rows x, written with the page's end. m|want says which facts are in them; it is
// written when the crawl begins, so it holds for all pages. A page that says nothing
// has no row.
//
// A row begins with a byte of flags. Then come, each only if there is one: the
// title, the target of a redirect, the number of links and the links, and in the
// same way words, headers, metas and translations. A text is its length and its
// bytes. The links of a page resemble one another: a URL is written as the number of
// bytes that it shares with the URL before it, the first with that of the page, and
// what follows them.

var wantKey = []byte("mwant")

// What a row has; a flag for each.
const (
	saysNoIndex = 1 << iota
	saysNoFollow
	saysTitle
	saysRedirect
	saysWords
	saysHeaders
	saysMetas
	saysTranslations
)

// What a link has; its kind is in the two bits below.
const (
	linkNoFollow = 4 << iota
	linkRel      // one of its own
	linkSameRel  // that of the last link that had one of its own
	linkText
)

// maxSaid bounds the bytes of URLs that a row stands for: more is not read of any
// page, so such a row is damaged.
const maxSaid = 256 << 20

// ReadWant returns which facts of its pages a stored crawl keeps in rows, beside
// those that every crawl reads; false when it keeps none.
func ReadWant(kv KV) (w page.Want, ok bool, err error) {
	b, ok, err := kv.Get(wantKey)
	if err != nil || !ok {
		return w, false, err
	}
	set, size := binary.Uvarint(b)
	if size != len(b) || set >= 1<<len(wants(&w)) {
		return w, false, fmt.Errorf("read which facts are kept: %w", errRow)
	}
	for i, p := range wants(&w) {
		*p = set&(1<<i) != 0
	}
	return w, true, nil
}

// WriteWant notes that a crawl, which begins, keeps these facts of all its pages.
func WriteWant(w Writer, want page.Want) {
	set := uint64(0)
	for i, p := range wants(&want) {
		if *p {
			set |= 1 << i
		}
	}
	w.Set(wantKey, binary.AppendUvarint(nil, set))
}

// wants are the fields of a Want in the order of their bits. Add at the end.
func wants(w *page.Want) []*bool {
	return []*bool{&w.Anchors, &w.Requisites, &w.Sitemaps, &w.Words, &w.Headers, &w.Metas, &w.Translations}
}

// ReadSaid adds to the facts of a page that ended what it said, in a crawl that
// keeps it. The key, the URL and the outcome must be there.
func ReadSaid(kv KV, secret page.Secret, f *page.Facts) error {
	if !says(f.Outcome) {
		return nil
	}
	b, ok, err := kv.Get(pageKey(keySaid, f.Key))
	if err == nil && ok {
		err = readSaid(b, secret, f)
	}
	if err != nil {
		return fmt.Errorf("read what the page said: %w", err)
	}
	return nil
}

// says tells that pages which end so say something.
func says(o page.Outcome) bool { return o == page.Redirected || o.Row().Kept }

// keepSaid keeps what a page said.
func (l *Ledger) keepSaid(f *page.Facts) {
	if !says(f.Outcome) {
		return
	}
	if b := appendSaid(nil, f); len(b) > 0 {
		l.extra = append(l.extra, Pair{Key: pageKey(keySaid, f.Key), Value: b})
		l.bytes += int64(len(b) + pairCost)
	}
}

// appendSaid writes what a page said; nothing if that is nothing.
func appendSaid(b []byte, f *page.Facts) []byte {
	flags := byte(0)
	for i, set := range [...]bool{
		f.NoIndex, f.NoFollow, f.Title != "", !f.Redirect.URL.IsZero(),
		len(f.Words) > 0, len(f.Headers) > 0, len(f.Metas) > 0, len(f.Translations) > 0,
	} {
		if set {
			flags |= 1 << i
		}
	}
	if flags == 0 && len(f.Links) == 0 {
		return b
	}
	b = append(slices.Grow(b, 64+24*len(f.Links)), flags)
	if f.Title != "" {
		b = appendText(b, f.Title)
	}
	last := f.URL.String()
	if !f.Redirect.URL.IsZero() {
		b = appendURL(b, &last, f.Redirect.URL)
	}
	b = appendLinks(b, &last, f.Links)
	if len(f.Words) > 0 {
		b = binary.AppendUvarint(b, uint64(len(f.Words)))
		for _, w := range f.Words {
			b = binary.AppendUvarint(appendText(b, w.Term), uint64(w.N))
		}
	}
	for _, fields := range [...][]page.Field{f.Headers, f.Metas} {
		if len(fields) > 0 {
			b = binary.AppendUvarint(b, uint64(len(fields)))
			for _, field := range fields {
				b = appendText(appendText(b, field.Name), field.Value)
			}
		}
	}
	if len(f.Translations) > 0 {
		b = binary.AppendUvarint(b, uint64(len(f.Translations)))
		for _, t := range f.Translations {
			b = appendURL(appendText(b, t.Lang), &last, t.URL)
		}
	}
	return b
}

func appendLinks(b []byte, last *string, links []page.Link) []byte {
	b = binary.AppendUvarint(b, uint64(len(links)))
	rel := ""
	for i := range links {
		l := &links[i]
		flags := byte(l.Kind & 3)
		if l.NoFollow {
			flags |= linkNoFollow
		}
		if l.Text != "" {
			flags |= linkText
		}
		switch l.Rel {
		case "":
		case rel:
			flags |= linkSameRel
		default:
			flags |= linkRel
		}
		b = append(b, flags)
		if flags&linkRel != 0 {
			rel = l.Rel
			b = appendText(b, rel)
		}
		if flags&linkText != 0 {
			b = appendText(b, l.Text)
		}
		b = appendURL(b, last, l.URL)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendURL writes how a URL differs from the last one, and is then the last.
func appendURL(b []byte, last *string, u page.URL) []byte {
	s, n := u.String(), 0
	for n < min(len(s), len(*last)) && s[n] == (*last)[n] {
		n++
	}
	*last = s
	return appendText(binary.AppendUvarint(b, uint64(n)), s[n:])
}

// saidDecoder reads a row x.
type saidDecoder struct {
	decoder
	secret page.Secret
	last   string
	room   int // bytes of URLs that may still come
}

// readSaid reads a row into facts that have a URL, and nothing of what is in the row.
func readSaid(b []byte, secret page.Secret, f *page.Facts) error {
	d := saidDecoder{decoder: decoder{b: b}, secret: secret, last: f.URL.String(), room: maxSaid}
	flags := d.byte()
	f.NoIndex, f.NoFollow = flags&saysNoIndex != 0, flags&saysNoFollow != 0
	if flags&saysTitle != 0 {
		f.Title = d.text()
	}
	if flags&saysRedirect != 0 {
		f.Redirect = page.Link{URL: d.url(), Kind: page.Redirect}
		f.Redirect.Hash = secret.Hash(f.Redirect.URL.Rest())
	}
	f.Links = d.links()
	if flags&saysWords != 0 {
		f.Words = make([]page.Word, d.count(2))
		for i := range f.Words {
			f.Words[i] = page.Word{Term: d.text(), N: int(d.uvarint())}
			f.Said += f.Words[i].N
		}
	}
	if flags&saysHeaders != 0 {
		f.Headers = d.fields()
	}
	if flags&saysMetas != 0 {
		f.Metas = d.fields()
	}
	if flags&saysTranslations != 0 {
		f.Translations = make([]page.Translation, d.count(3))
		for i := range f.Translations {
			f.Translations[i] = page.Translation{Lang: d.text(), URL: d.url()}
		}
	}
	if d.err == nil && len(d.b) > 0 {
		d.err = errRow
	}
	return d.err
}

// count reads the length of a list whose entries have so many bytes at least.
func (d *saidDecoder) count(least int) int {
	n := d.uvarint()
	if d.err != nil || n > uint64(len(d.b)/least) {
		d.err = errRow
		return 0
	}
	return int(n)
}

func (d *saidDecoder) links() []page.Link {
	n := d.count(3)
	if n == 0 {
		return nil
	}
	links := make([]page.Link, n)
	rel := ""
	for i := range links {
		if d.err != nil {
			return nil
		}
		flags := d.byte()
		l := page.Link{Kind: page.Kind(flags & 3), NoFollow: flags&linkNoFollow != 0}
		if flags&linkRel != 0 {
			rel = d.text()
		}
		if flags&(linkRel|linkSameRel) != 0 {
			l.Rel = rel
		}
		if flags&linkText != 0 {
			l.Text = d.text()
		}
		l.URL = d.url()
		l.Hash = d.secret.Hash(l.URL.Rest())
		links[i] = l
	}
	return links
}

func (d *saidDecoder) fields() []page.Field {
	fields := make([]page.Field, d.count(2))
	for i := range fields {
		fields[i] = page.Field{Name: d.text(), Value: d.text()}
	}
	return fields
}

// url reads how a URL differs from the last one.
func (d *saidDecoder) url() page.URL {
	shared := d.uvarint()
	rest := d.span()
	if d.err != nil || shared > uint64(len(d.last)) {
		d.err = errRow
		return page.URL{}
	}
	d.last = d.last[:shared] + string(rest)
	u := page.Canonical(d.last)
	if d.room -= len(d.last); d.room < 0 || u.IsZero() {
		d.err = errRow
		return page.URL{}
	}
	return u
}
