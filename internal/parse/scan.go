package parse

import (
	"bytes"
	"math/bits"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// token is what a scanner stands on.
type token uint8

const (
	endOfPage token = iota
	textToken
	startTag
	endTag
)

// scanner parts a page into text and tags. It sees the tags that the tokenizer
// of the HTML standard sees, as far as one can without a tree, but reads only
// what it is asked for: everything else is stepped over. Comments, doctypes and
// processing instructions are passed in silence, a tag that the page breaks off
// is none.
//
// What it shows are slices of the page, which it never writes to, or of its own
// buffer; both hold until the next token.
type scanner struct {
	page  []byte
	pos   int
	dec   *encoding.Decoder // of the page's bytes; nil: they are UTF-8
	cdata bool              // CDATA sections are text, as in XML

	always    attrSet // the attributes to read on every element
	requisite attrSet // of those that make requisites, the ones to read

	mute bool     // text between tags is of no use and not shown
	next *element // what the text to come stands in when its tags are no tags

	// The token.
	name    []byte   // of a tag, as written
	elem    *element // what the name means to us
	attr    attrs    // of a start tag, those asked for
	has     attrSet  // which of attr were written
	more    bool     // the tag has attributes, asked for or not
	from    int      // where in page they begin
	last    []byte   // the name of the last one that has an unquoted value
	lastEnd int      // where that value ends
	raw     []byte   // of a text, as written
	in      *element // what a text stands in when its tags are no tags, or nil
	section bool     // a text is a CDATA section

	buf []byte // values of the token that could not be shown as they stand
}

// open begins a page in an encoding whose ASCII bytes are always ASCII.
func (s *scanner) open(page []byte, dec *encoding.Decoder) {
	buf := s.buf
	if cap(buf) > 64*keep {
		buf = nil
	}
	*s = scanner{page: page, dec: dec, buf: buf[:0]}
}

// close lets go of the page.
func (s *scanner) close() { s.open(nil, nil) }

// notRaw makes the tags after a start tag count, in whatever element they are.
func (s *scanner) notRaw() { s.next = nil }

// scan moves to the next token.
func (s *scanner) scan() token {
	if s.next != nil {
		if s.readRaw(); len(s.raw) > 0 {
			return textToken
		}
	}
	s.in, s.section = nil, false
	for {
		start := s.pos
		i := markup(s.page, start)
		if i > start && !s.mute {
			s.raw, s.pos = s.page[start:i], i
			return textToken
		}
		if i == len(s.page) {
			s.pos = i
			return endOfPage
		}
		switch c := s.page[i+1]; {
		case isLetter(c):
			return s.start(i + 1)
		case c == '/' && isLetter(s.page[i+2]):
			return s.end(i + 2)
		case s.cdata && bytes.HasPrefix(s.page[i:], []byte("<![CDATA[")):
			s.readSection(i + len("<![CDATA["))
			return textToken
		case bytes.HasPrefix(s.page[i:], []byte("<!--")):
			s.pos = commentEnd(s.page, i+len("<!--"))
		default:
			s.pos = after(s.page, i+1)
		}
	}
}

// markup finds where the text at i ends: at a tag or comment, or with the page.
// A less-than sign before anything else is text.
func markup(b []byte, i int) int {
	for {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 || i+n+1 == len(b) {
			return len(b)
		}
		i += n
		if c := b[i+1]; isLetter(c) || c == '!' || c == '?' || c == '/' && i+2 < len(b) {
			return i
		}
		i++
	}
}

// after returns the place after the next '>'.
func after(b []byte, i int) int {
	n := bytes.IndexByte(b[i:], '>')
	if n < 0 {
		return len(b)
	}
	return i + n + 1
}

// commentEnd returns the place after the comment whose text begins at start.
// Dashes that open it may close it: <!--> and <!---> are whole.
func commentEnd(b []byte, start int) int {
	for i := start; ; {
		end := after(b, i)
		if end == len(b) {
			return end // by its end or the page's, there is nothing after it
		}
		text := b[start : end-1]
		if len(text) == 0 || len(text) == 1 && text[0] == '-' ||
			bytes.HasSuffix(text, []byte("--")) || bytes.HasSuffix(text, []byte("--!")) {
			return end
		}
		i = end
	}
}

func (s *scanner) readSection(i int) {
	end := len(s.page)
	s.pos = end
	if n := bytes.Index(s.page[i:], []byte("]]>")); n >= 0 {
		end = i + n
		s.pos = end + len("]]>")
	}
	s.raw, s.section = s.page[i:end], true
}

// start reads a start tag whose name begins at i.
func (s *scanner) start(i int) token {
	i = s.tagName(i)
	keep := s.elem.nav | s.elem.requisite&s.requisite | s.always
	s.forget()
	if s.pos = s.attributes(i, keep); s.pos < 0 {
		s.pos = len(s.page)
		return endOfPage
	}
	if s.elem.text != markupText {
		s.next = s.elem
	}
	return startTag
}

// end reads an end tag. It may have attributes, which mean nothing.
func (s *scanner) end(i int) token {
	i = s.tagName(i)
	if s.pos = s.attributes(i, 0); s.pos < 0 {
		s.pos = len(s.page)
		return endOfPage
	}
	return endTag
}

func (s *scanner) tagName(i int) int {
	end := i
	hash := nameHash(0)
	for end < len(s.page) && !endsName(s.page[end]) {
		hash = hash.add(s.page[end])
		end++
	}
	s.name = s.page[i:end]
	s.elem = elementOf(s.name, hash)
	return end
}

// attributes reads to the end of a tag, and keeps the values asked for. It
// returns the place after the tag, or -1 when the page ends first.
func (s *scanner) attributes(i int, keep attrSet) int {
	s.from, s.more, s.lastEnd = i, false, 0
	for {
		if i = skipSpaceAt(s.page, i); i == len(s.page) {
			return -1
		}
		if s.page[i] == '>' {
			return i + 1
		}
		var name, value []byte
		var bare bool
		if name, value, bare, i = readAttribute(s.page, i); i < 0 {
			return -1
		}
		if len(name) == 0 {
			continue // a slash
		}
		s.more = true
		if bare {
			s.last, s.lastEnd = name, i
		}
		if keep == 0 {
			continue
		}
		// Of two with one name the first counts, also when it is empty.
		if k, ok := attrOf(name); ok && keep.has(k) && !s.has.has(k) {
			s.has |= 1 << k
			if len(value) > 0 {
				s.attr[k] = s.decode(value, valueText)
			}
		}
	}
}

// forget drops the attributes of the last tag.
func (s *scanner) forget() {
	for ; s.has != 0; s.has &= s.has - 1 {
		s.attr[bits.TrailingZeros32(uint32(s.has))] = nil
	}
	s.buf = s.buf[:0]
}

// selfClosing says that a start tag ends in a slash of its own, not in that of
// an unquoted value. The value of an attribute that is there twice is no value.
func (s *scanner) selfClosing() bool {
	slash := s.pos - len("/>")
	return s.page[slash] == '/' && (s.lastEnd != slash+1 || s.twice(s.last))
}

// twice says that the tag's last attribute is also one of its others. It is
// asked only in the odd case, so it may read the tag again.
func (s *scanner) twice(name []byte) bool {
	want := s.transcode(name)
	for i := s.from; ; {
		var other []byte
		other, _, _, i = readAttribute(s.page, skipSpaceAt(s.page, i))
		if i == s.lastEnd {
			return false
		}
		if equalASCIIFold(s.transcode(other), want) {
			return true
		}
	}
}

// readAttribute reads the attribute at i, or the slash, whose name is empty. A
// value is bare when it has no quotes. It returns the place after it, or -1
// when the page ends inside.
func readAttribute(b []byte, i int) (name, value []byte, bare bool, next int) {
	start := i
	if b[i] == '=' {
		i++ // what a name may begin with
	}
	for i < len(b) && !endsName(b[i]) && b[i] != '=' {
		i++
	}
	name = b[start:i]
	if i = skipSpaceAt(b, i); i == len(b) {
		return name, nil, false, -1
	}
	if b[i] == '/' {
		return name, nil, false, i + 1
	}
	if b[i] != '=' {
		return name, nil, false, i
	}
	if i = skipSpaceAt(b, i+1); i == len(b) {
		return name, nil, false, -1
	}
	switch quote := b[i]; quote {
	case '>':
		return name, nil, false, i
	case '"', '\'':
		i++
		n := bytes.IndexByte(b[i:], quote)
		if n < 0 {
			return name, nil, false, -1
		}
		return name, b[i : i+n], false, i + n + 1
	}
	start = i
	for i < len(b) && b[i] != '>' && !isSpace(b[i]) {
		i++
	}
	if i == len(b) {
		return name, nil, true, -1
	}
	return name, b[start:i], true, i
}

func skipSpaceAt(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// endsName says that c ends the name of a tag.
func endsName(c byte) bool { return c <= '>' && (c == '>' || c == '/' || isSpace(c)) }

func equalASCIIFold(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// text returns what a text says.
func (s *scanner) text() []byte {
	s.buf = s.buf[:0]
	how := markupText
	if s.in != nil {
		how = s.in.text
	}
	return s.decode(s.raw, how)
}

// transcode returns b in UTF-8.
func (s *scanner) transcode(b []byte) []byte {
	if s.dec == nil || isASCII(b) {
		return b
	}
	from := len(s.buf)
	// A decoder of ours fails on nothing: what it cannot read becomes U+FFFD.
	s.buf, _, _ = transform.Append(s.dec, s.buf, b)
	return s.buf[from:len(s.buf):len(s.buf)]
}
