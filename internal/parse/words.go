package parse

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"weir/page"
)

// Words counts the words of texts, taken as one text with a gap between each
// two. Every term stands there once, where it first comes; after [MaxWords] of
// them new ones are left out. A search must part its question with the same
// function.
//
// A word is a run of letters, digits and the marks on them; everything else
// parts words, also apostrophes, hyphens and underscores. Its term is the word in
// lower case by Unicode's simple rules, in which letters that share a capital
// are one letter (σ and ς, s and ſ, i and ı), composed (NFC), and with the
// full-width forms of ASCII made plain. Invisible characters inside a word (soft
// hyphens, joiners) are dropped. A word of more than [MaxTerm] characters is
// none: it is nothing that anybody would look for.
//
// Scripts that put no spaces between words (Han, Hiragana, Katakana, Bopomofo, Thai, Lao,
// Khmer, Burmese) give every two neighbours in a run of them as a term, and a
// sign that stands alone as one: 東京都 is 東京 and 京都. So a question of two
// signs and more finds them wherever they stand together; one of a single sign
// finds it only where it stands alone.
//
// A term is its own only term.
func Words(texts ...string) []page.Word {
	var c Counter
	for _, t := range texts {
		c.Add([]byte(t))
	}
	return c.Take()
}

// EachTerm calls fn with the terms of a text as Words parts it, one after
// another, and with the place each was read from, until fn returns false. A term
// holds during the call.
func EachTerm(text string, fn func(term []byte, from, to int) bool) {
	l := lexer{text: []byte(text)}
	for l.next() {
		if !fn(l.term, l.from, l.to) {
			return
		}
	}
}

// Counter counts words, and keeps its buffers for the next text. The zero value
// is ready. It is not safe for concurrent use.
type Counter struct {
	lexer lexer
	found []count
	terms []byte // what the counts are cut from
	seen  table  // of counts, by term
}

// count is a word in the making.
type count struct {
	span // in terms
	n    int
}

// Add counts the words of a text, which it does not keep.
func (c *Counter) Add(text []byte) {
	l := &c.lexer
	l.open(text)
	for l.next() {
		c.add(l.term)
	}
	l.open(nil)
}

// hashTerm is hashBytes, and quicker for the short.
func hashTerm(term []byte) uint64 {
	if len(term) > 8 || cap(term) < 8 {
		return hashBytes(term)
	}
	w := binary.LittleEndian.Uint64(term[:8]) << (8 * (8 - len(term)) & 63)
	hi, lo := bits.Mul64(w^short[0], uint64(len(term))^short[1])
	return hi ^ lo
}

// short is the seed for short terms.
var short = [2]uint64{maphash.Bytes(seed, []byte{0}), maphash.Bytes(seed, []byte{1})}

func (c *Counter) add(term []byte) {
	h := hashTerm(term)
	for probe := c.seen.probe(h); probe.next(); {
		w := &c.found[probe.place]
		if string(c.terms[w.from:w.to]) == string(term) {
			w.n++
			return
		}
	}
	if len(c.found) >= MaxWords {
		return
	}
	c.seen.add(h, len(c.found))
	from := len(c.terms)
	c.terms = append(c.terms, term...)
	c.found = append(c.found, count{span{from, len(c.terms)}, 1})
}

// Take returns the words counted, in memory of their own, and begins anew.
func (c *Counter) Take() []page.Word {
	var words []page.Word
	if len(c.found) > 0 {
		words = make([]page.Word, len(c.found))
		terms := string(c.terms)
		for i, w := range c.found {
			words[i] = page.Word{Term: terms[w.from:w.to], N: w.n}
		}
	}
	c.found = again(c.found, 4*keep)
	c.terms = again(c.terms, 64*keep)
	c.seen.reset()
	return words
}

// maxTermBytes is room for a term, or for enough of a word to see that it is
// none.
const maxTermBytes = utf8.UTFMax * (MaxTerm + 1)

// lexer parts a text into terms.
type lexer struct {
	text   []byte
	pos    int
	paired bool // the sign at pos was the second of a pair

	term     []byte // of the word it stands on
	from, to int    // where in text that is

	runes int
	other bool   // the term may have to be composed
	spare []byte // for terms that have to be composed
}

func (l *lexer) open(text []byte) { *l = lexer{text: text, term: l.term, spare: l.spare} }

// next moves to the next term.
func (l *lexer) next() bool {
	for l.pos < len(l.text) {
		switch plain[l.text[l.pos]] {
		case 0:
			l.pos++
			continue
		case wide:
		default:
			if l.word() {
				return true
			}
			continue
		}
		r, size := utf8.DecodeRune(l.text[l.pos:])
		switch classOf(r) {
		case letter:
			if l.word() {
				return true
			}
		case sign:
			if l.pair() {
				return true
			}
		default:
			l.pos += size
		}
	}
	return false
}

func (l *lexer) begin() {
	if l.term == nil {
		l.term = make([]byte, 0, maxTermBytes)
	}
	l.from, l.term = l.pos, l.term[:0]
	l.runes, l.other = 0, false
}

// word reads the word that begins at pos. It is false when it is none.
func (l *lexer) word() bool {
	l.begin()
	for {
		l.ascii()
		if l.pos == len(l.text) || l.text[l.pos] < utf8.RuneSelf {
			return l.finish()
		}
		r, size := utf8.DecodeRune(l.text[l.pos:])
		class := classOf(r)
		if class == gap || class == sign {
			return l.finish()
		}
		l.pos += size
		if class != unseen {
			l.write(r)
		}
	}
}

// ascii reads the letters and digits of ASCII from pos on.
func (l *lexer) ascii() {
	term, i := l.term, l.pos
	for ; i < len(l.text); i++ {
		c := plain[l.text[i]]
		if c == 0 || c == wide {
			break
		}
		if len(term) < cap(term) {
			term = append(term, c)
		}
	}
	l.runes += i - l.pos
	l.term, l.pos = term, i
}

// pair reads the sign at pos and the one behind it, and moves to that one.
func (l *lexer) pair() bool {
	paired := l.paired
	l.begin()
	l.cluster()
	second := l.pos
	if r, _ := utf8.DecodeRune(l.text[second:]); classOf(r) != sign {
		l.paired = false
		return !paired && l.finish()
	}
	l.cluster()
	ok := l.finish()
	l.pos, l.paired = second, true
	return ok
}

// cluster reads a sign and the marks on it.
func (l *lexer) cluster() {
	for first := true; l.pos < len(l.text); first = false {
		r, size := utf8.DecodeRune(l.text[l.pos:])
		class := classOf(r)
		if !first && class != mark && class != unseen {
			return
		}
		l.pos += size
		if class != unseen {
			l.write(r)
		}
	}
}

func (l *lexer) write(r rune) {
	l.other = l.other || usual(r) == gap
	if l.runes++; l.runes <= MaxTerm {
		l.term = utf8.AppendRune(l.term, simple(r)) // has room, as long as the word is one
	}
}

// finish ends a term. It is false for one that is too long.
func (l *lexer) finish() bool {
	l.to = l.pos
	if l.runes > MaxTerm {
		return false
	}
	if l.other && !norm.NFC.IsNormal(l.term) {
		l.spare = norm.NFC.Append(l.spare[:0], l.term...)
		l.term = append(l.term[:0], l.spare...)
	}
	return true
}

// class is what a character is to a word.
type class uint8

const (
	gap    class = iota // parts words
	letter              // a letter or digit of a script that parts its words
	sign                // a letter of one that does not
	mark                // goes with the letter before it
	unseen              // as if it were not there
)

// plain are the letters and digits of ASCII, in lower case; wide stands for
// what is not ASCII.
var plain = func() (t [256]byte) {
	for i := range t {
		switch c := byte(i); {
		case c >= utf8.RuneSelf:
			t[i] = wide
		case isLetter(c), c >= '0' && c <= '9':
			t[i] = lower(c)
		}
	}
	return t
}()

const wide = 0xff

func classOf(r rune) class {
	if c := usual(r); c != gap {
		return c
	}
	switch {
	case r == '\u00AD', r >= '\u200B' && r <= '\u200D', r == '\u2060', r == '\uFEFF':
		return unseen
	case unicode.IsLetter(r):
		if unspaced(r) {
			return sign
		}
		return letter
	case unicode.IsDigit(r), r == '〇':
		return letter
	case unicode.IsMark(r):
		return mark
	}
	return gap
}

// usual knows the letters that nearly all are. They are composed, and stay so as
// long as nothing else follows them.
func usual(r rune) class {
	switch {
	case r >= 0xC0 && r <= 0x24F && r != '×' && r != '÷', // Latin
		r >= 0x388 && r <= 0x3CE && r != 0x38B && r != 0x38D && r != 0x3A2, // Greek
		r >= 0x400 && r <= 0x481, r >= 0x48A && r <= 0x52F, // Cyrillic
		r >= 0x5D0 && r <= 0x5EA, r >= 0x620 && r <= 0x64A, // Hebrew, Arabic
		r >= 0xAC00 && r <= 0xD7A3: // Hangul
		return letter
	case r >= 0x3041 && r <= 0x3096, r >= 0x30A1 && r <= 0x30FA, // kana
		r >= 0x4E00 && r <= 0x9FFF: // Han
		return sign
	}
	return gap
}

// unspaced says that a letter belongs to a script that puts no spaces between
// words.
func unspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r < 0x0F00: // Thai, Lao
		return true
	case r < 0x3000: // Burmese, Khmer
		return r >= 0x1000 && r <= 0x109F || r >= 0x1780 && r <= 0x17FF
	case r <= 0x9FFF: // kana, Bopomofo, Han; but for Hangul's letters
		return r < 0x3130 || r > 0x318F
	}
	return r >= 0xF900 && r <= 0xFAFF || r >= 0xFF66 && r <= 0xFF9F || r >= 0x1AFF0 && r <= 0x1B16F || r >= 0x20000 && r <= 0x3FFFF
}

// simple returns a letter as terms have it.
func simple(r rune) rune {
	switch {
	case r >= 'а' && r <= 'я', r >= 'à' && r <= 'ÿ', r >= 'γ' && r <= 'ρ', r >= 0x0590 && r <= 0x109F, r >= 0x2E80 && r <= 0xA63F, r >= 0xAC00 && r <= 0xD7A3:
		return r // small already, or of a script that knows no capitals
	case r >= '！' && r <= '～':
		r -= '！' - '!'
	}
	return unicode.ToLower(unicode.ToUpper(r))
}
