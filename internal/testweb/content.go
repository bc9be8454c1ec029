package testweb

import (
	"math/bits"
	"strconv"
)

// What a page says is decided by dice thrown from (seed, site, page): the same three give the same bytes, in any order and on
// any machine. Text is not written for each page but copied from a pool of sentences, which costs a few microseconds for 20 KB.

// Salts keep throws for different purposes apart.
const (
	saltSite = iota + 1
	saltText
	saltLinks
	saltBody
	saltFault
	saltTrap
)

// rng is splitmix64.
type rng uint64

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// dice starts a sequence from its coordinates.
func dice(at ...uint64) rng {
	h := uint64(0x9e3779b97f4a7c15)
	for _, a := range at {
		h = mix(h+0x9e3779b97f4a7c15) ^ mix(a+0x632be59bd9b4e019)
	}
	return rng(h)
}

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return mix(uint64(*r))
}

// below is a throw of 0 ... n-1.
func (r *rng) below(n int) int {
	if n <= 0 {
		return 0
	}
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

func (r *rng) float() float64 { return float64(r.next()>>11) / (1 << 53) }

// text is the pool: sentences of made-up words whose frequencies fall off as in prose, so that pages compress about as
// prose does.
type text struct {
	words []string
	pool  []byte
	start []int // of each sentence in the pool
}

const poolSize = 256 << 10

func newText(seed uint64) *text {
	r := dice(seed, saltText)
	t := &text{words: make([]string, 2048), pool: make([]byte, 0, poolSize+4096)}
	for i := range t.words {
		t.words[i] = word(&r, 1+i/512)
	}
	for len(t.pool) < poolSize {
		t.start = append(t.start, len(t.pool))
		first := true
		for range 6 + r.below(14) {
			w := t.word(&r)
			if first {
				t.pool = append(t.pool, w[0]-'a'+'A')
				t.pool = append(t.pool, w[1:]...)
				first = false
				continue
			}
			t.pool = append(t.pool, ' ')
			t.pool = append(t.pool, w...)
		}
		t.pool = append(t.pool, ". "...)
	}
	return t
}

// word is drawn with a chance that falls roughly as 1/rank.
func (t *text) word(r *rng) string {
	u := r.float()
	return t.words[int(u*u*u*float64(len(t.words)))]
}

// word makes up one: common ones are short.
func word(r *rng, syllables int) string {
	const onset, vowel, coda = "bcdfghjklmnprstvwz", "aeiou", "nrstlm"
	var b []byte
	for range syllables {
		b = append(b, onset[r.below(len(onset))], vowel[r.below(len(vowel))])
	}
	if r.below(2) == 0 {
		b = append(b, coda[r.below(len(coda))])
	}
	return string(b)
}

// paragraph is a run of whole sentences, at most n bytes.
func (t *text) paragraph(r *rng, n int) []byte {
	i := r.below(len(t.start) - 12)
	j := i + 4 + r.below(8)
	p := t.pool[t.start[i]:t.start[j]]
	return p[:min(n, len(p))]
}

// link is where a link points: a page of a site, or a path of the same site that is none of its pages.
type link struct {
	site, page int
	path       string
}

// fan is how many children a page has in the tree that makes every page reachable.
func (s *site) fan() int { return max(1, s.Links/2) }

// links calls yield for each link of a page, in order. Its throws are its own, so that the truth can be told without text.
func (s *site) links(page int, yield func(link)) {
	n := s.fan()
	left := s.Links
	if s.Leaves > 0 && page*n+1 >= s.Pages {
		left = s.Leaves
	}
	for c := page*n + 1; c <= page*n+n && c < s.Pages; c++ {
		yield(link{site: s.index, page: c})
		left--
	}
	r := dice(s.web.seed, uint64(s.index), uint64(page), saltLinks)
	for ; left > 0; left-- {
		if len(s.web.plain) > 1 && r.below(100) >= 88 {
			o := s.other(&r)
			yield(link{site: o.index, page: r.below(o.Pages)})
			continue
		}
		yield(link{site: s.index, page: r.below(s.Pages)})
	}
	for i, prefix := range s.rules.deny {
		if (page+i)%4 == 0 {
			yield(link{site: s.index, page: -1, path: prefix + "no" + strconv.Itoa(page)})
		}
	}
	if page == 0 {
		for _, p := range s.Traps.entries() {
			yield(link{site: s.index, page: -1, path: p})
		}
	}
}

// other is any other site with pages.
func (s *site) other(r *rng) *site {
	i := r.below(len(s.web.plain) - 1)
	if i >= s.rank {
		i++
	}
	return s.web.plain[i]
}

func pagePath(page int) string {
	if page == 0 {
		return "/"
	}
	return "/p/" + strconv.Itoa(page)
}

func appendPath(b []byte, page int) []byte {
	if page == 0 {
		return append(b, '/')
	}
	return strconv.AppendInt(append(b, "/p/"...), int64(page), 10)
}

// body appends the HTML of a page: its links, then text up to its size. It also says where the text begins.
func (s *site) body(b []byte, page int) (html []byte, text int) {
	r := dice(s.web.seed, uint64(s.index), uint64(page), saltBody)
	from := len(b)
	size := s.Size/2 + r.below(s.Size+1)
	b = s.head(b, page)
	b = append(b, "<ul>\n"...)
	s.links(page, func(l link) {
		b = append(b, `<li><a href="`...)
		if l.site != s.index {
			b = append(b, s.web.sites[l.site].origin...)
		}
		if l.page < 0 {
			b = append(b, l.path...)
		} else {
			b = appendPath(b, l.page)
		}
		b = append(b, `">`...)
		b = append(b, s.web.text.word(&r)...)
		b = append(b, ' ')
		b = append(b, s.web.text.word(&r)...)
		b = append(b, "</a></li>\n"...)
	})
	b = append(b, "</ul>\n"...)
	text = len(b)
	return s.prose(b, &r, size-(len(b)-from)), text
}

func (s *site) head(b []byte, page int) []byte {
	b = append(b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"...)
	b = append(b, s.name...)
	b = append(b, " page "...)
	b = strconv.AppendInt(b, int64(page), 10)
	return append(b, "</title></head><body>\n"...)
}

const tail = "</body></html>\n"

// prose appends about n bytes of paragraphs and the end of the page.
func (s *site) prose(b []byte, r *rng, n int) []byte {
	const tags = len("<p></p>\n")
	for n -= len(tail); n > tags+16; {
		p := s.web.text.paragraph(r, n-tags)
		b = append(b, "<p>"...)
		b = append(b, p...)
		b = append(b, "</p>\n"...)
		n -= len(p) + tags
	}
	return append(b, tail...)
}

// mirror is the body that all Duplicate pages of the site share.
func (s *site) mirror(b []byte) []byte {
	r := dice(s.web.seed, uint64(s.index), saltBody)
	b = append(b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Mirror</title></head><body>\n<a href=\"/\">home</a>\n"...)
	return s.prose(b, &r, s.Size)
}

// leaf is a body without links, for what should not be fetched.
func (s *site) leaf(b []byte, path string) []byte {
	b = append(b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"...)
	b = append(b, s.name...)
	b = append(b, "</title></head><body>\n"...)
	r := dice(s.web.seed, uint64(s.index), hash(path), saltBody)
	return s.prose(b, &r, s.Size/2)
}

// hash is FNV-1a.
func hash[T ~string | ~[]byte](s T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
