package parse

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// fold is what a folder does, a character at a time.
func fold(pieces []string, most int) string {
	var out []byte
	gap := ""
	for _, p := range pieces {
		switch p {
		case "<br>":
			gap = "\n"
			continue
		case "<td>":
			if gap == "" {
				gap = " "
			}
			continue
		}
		for _, r := range p {
			switch {
			case unicode.IsSpace(r) || unicode.IsControl(r):
				if gap == "" {
					gap = " "
				}
			case r == '\u00AD' || r == '\u200B' || r == '\uFEFF':
			default:
				c := string(r) // invalid UTF-8 comes as U+FFFD
				if len(out) > 0 {
					c = gap + c
				}
				if len(out)+len(c) > most {
					return string(out)
				}
				out = append(out, c...)
				gap = ""
			}
		}
	}
	return string(out)
}

// TestFold writes text in pieces of every kind, with little room and with much.
func TestFold(t *testing.T) {
	kinds := []string{"a", "word", "two words", "three  words here ", " ", "  ", "\n", "\t \r", "\x00", "\x7f", "é", "日本 語", "\u00a0",
		"\u00ad", "\xff", "x\xe9y", "<br>", "<td>", "a b c d e f g", "end. "}
	const seed = 1
	r := rand.New(rand.NewPCG(seed, seed))
	var f folder
	for range 50_000 {
		pieces := make([]string, 1+r.IntN(12))
		for i := range pieces {
			pieces[i] = kinds[r.IntN(len(kinds))]
		}
		most := 1 + r.IntN(60)
		f.reset(most)
		for _, p := range pieces {
			switch p {
			case "<br>":
				f.line()
			case "<td>":
				f.space()
			default:
				f.write([]byte(p))
			}
		}
		if got, want := f.String(), fold(pieces, most); got != want || !utf8.ValidString(got) {
			t.Fatalf("%q in %d: %q, want %q", strings.Join(pieces, "|"), most, got, want)
		}
	}
}
