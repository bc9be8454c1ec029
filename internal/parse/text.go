package parse

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// folder gathers text with its spaces folded, up to a bound. A gap before the
// first and after the last word is not kept.
type folder struct {
	buf []byte
	max int
	gap byte // what stands before the next word: 0, ' ' or '\n'
}

func (f *folder) reset(max int) {
	if cap(f.buf) > 64*keep {
		f.buf = nil
	}
	f.buf, f.max, f.gap = f.buf[:0], max, 0
}

func (f *folder) full() bool { return len(f.buf) >= f.max }

// space ends a word.
func (f *folder) space() {
	if f.gap == 0 {
		f.gap = ' '
	}
}

// line ends a line.
func (f *folder) line() { f.gap = '\n' }

// write appends text. Invalid UTF-8 becomes U+FFFD and controls are spaces.
func (f *folder) write(s []byte) {
	for len(s) > 0 && !f.full() {
		if n := f.run(s); n > 0 {
			f.word(s[:n])
			s = s[n:]
			continue
		}
		if s[0] < utf8.RuneSelf {
			f.space()
			s = s[1:]
			continue
		}
		r, size := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && size == 1:
			f.word([]byte("\uFFFD"))
		case unicode.IsSpace(r) || unicode.IsControl(r):
			f.space()
		case r == '\u00AD' || r == '\u200B' || r == '\uFEFF':
			// Soft hyphens and the like are not seen.
		default:
			f.word(s[:size])
		}
		s = s[size:]
	}
}

// run returns how many bytes of s are as they will be kept: words of visible
// ASCII with one space between them, as many as have room, but at least one.
func (f *folder) run(s []byte) int {
	room := f.max - len(f.buf) - 1 // a gap may come before it
	whole := 0                     // where the last whole word ends
	i := 0
	for ; i < len(s) && (i <= room || whole == 0); i++ {
		if visible(s[i]) {
			continue
		}
		whole = i
		if i == 0 || s[i] != ' ' || i+1 == len(s) || !visible(s[i+1]) {
			return whole
		}
	}
	if i > room && whole > 0 {
		return whole
	}
	return i
}

// visible says that c is visible ASCII.
func visible(c byte) bool { return c > ' ' && c < 0x7f }

// word appends w, a run or one rune, or as much of it as has room.
func (f *folder) word(w []byte) {
	gap := f.gap != 0 && len(f.buf) > 0
	room := f.max - len(f.buf)
	if gap {
		room--
	}
	if len(w) > room {
		if w[0] >= utf8.RuneSelf || room <= 0 {
			f.max = len(f.buf)
			return
		}
		w = w[:room]
	}
	if gap {
		f.buf = append(f.buf, f.gap)
	}
	f.gap = 0
	f.buf = append(f.buf, w...)
}

func (f *folder) String() string { return string(f.buf) }

// lowerText returns UTF-8 in lower case. It may write over b.
func lowerText(b []byte) []byte {
	if !isASCII(b) {
		return bytes.ToLower(b)
	}
	for i, c := range b {
		b[i] = lower(c)
	}
	return b
}

// words returns b in lower case with its spaces folded, cut at max bytes.
func words(b []byte, max int) string {
	f := folder{max: max}
	f.write(b)
	return string(lowerText(f.buf))
}

// isASCII reads eight bytes at a time.
func isASCII(b []byte) bool { return asciiPrefix(b) == len(b) }

// asciiPrefix returns how many bytes of ASCII b begins with.
func asciiPrefix(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if binary.LittleEndian.Uint64(b[i:])&0x8080808080808080 != 0 {
			break
		}
	}
	for i < len(b) && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}
