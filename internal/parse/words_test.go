package parse

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"weir/page"
)

func TestWords(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"  \n ", ""},
		{"The cat saw the CAT.", "the 2, cat 2, saw 1"},
		{"don't e-mail snake_case 3.14", "don 1, t 1, e 1, mail 1, snake 1, case 1, 3 1, 14 1"},
		{"x86 r2d2", "x86 1, r2d2 1"},
		{"ÉCOLE école e\u0301cole", "école 3"},
		{"Straße STRASSE", "straße 1, strasse 1"},
		{"ΣΊΣΥΦΟΣ σίσυφος", "σίσυφος 2"},
		{"ISI ısı İSİ", "isi 3"},
		{"Москва МОСКВА", "москва 2"},
		{"ＡＢＣ１２ abc12", "abc12 2"},
		{"co\u00ADop\u200Beration", "cooperation 1"},
		{"नमस्ते दुनिया", "नमस्ते 1, दुनिया 1"},
		{"สวัสดี", "สวั 1, วัส 1, สดี 1"},
		{"東京都", "東京 1, 京都 1"},
		{"水。水道", "水 1, 水道 1"},
		{"iPhone手机 3個", "iphone 1, 手机 1, 3 1, 個 1"},
		{"한국어 문서", "한국어 1, 문서 1"},
		{"カﾞ ひらがな", "カﾞ 1, ひら 1, らが 1, がな 1"},
		{"a" + strings.Repeat("b", 38) + "c " + strings.Repeat("d", 41), "a" + strings.Repeat("b", 38) + "c 1"},
		{"\xff\xfeab\xffcd", "ab 1, cd 1"},
		{"\u0301x \u0301", "x 1"},
	} {
		if got := listWords(Words(tc.text)); got != listWords(parseWords(tc.want)) {
			t.Errorf("%q: %s, want %s", tc.text, got, tc.want)
		}
	}
}

func parseWords(list string) (words []page.Word) {
	for w := range strings.SplitSeq(list, ", ") {
		var word page.Word
		if n, _ := fmt.Sscan(w, &word.Term, &word.N); n == 2 {
			word.Term = strings.ReplaceAll(word.Term, "σίσυφος", "σίσυφοσ")
			words = append(words, word)
		}
	}
	return words
}

func listWords(words []page.Word) string {
	var b strings.Builder
	for _, w := range words {
		fmt.Fprintf(&b, "%s %d, ", w.Term, w.N)
	}
	return b.String()
}

// A title and a text do not grow together where they meet.
func TestWordsOfTexts(t *testing.T) {
	if got := listWords(Words("one", "two one")); got != "one 2, two 1, " {
		t.Error(got)
	}
}

func TestMaxWords(t *testing.T) {
	var b strings.Builder
	for i := range 2 * MaxWords {
		fmt.Fprintf(&b, "w%d ", i)
	}
	b.WriteString("w7 late")
	words := Words(b.String())
	if len(words) != MaxWords || words[7] != (page.Word{Term: "w7", N: 2}) {
		t.Errorf("%d words, %v", len(words), words[7])
	}
}

// A Counter that was used before counts as a new one does.
func TestCounterAgain(t *testing.T) {
	var c Counter
	c.Add([]byte("one two two"))
	c.Take()
	c.Add([]byte("two three"))
	if got, want := c.Take(), Words("two three"); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if c.Take() != nil {
		t.Error("words of nothing")
	}
}

// EachTerm shows where in the text a term was read.
func TestEachTerm(t *testing.T) {
	text := "Über 東京都!"
	var got []string
	EachTerm(text, func(term []byte, from, to int) bool {
		got = append(got, string(term)+"="+text[from:to])
		return true
	})
	if want := []string{"über=Über", "東京=東京", "京都=京都"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	n := 0
	EachTerm(text, func([]byte, int, int) bool { n++; return false })
	if n != 1 {
		t.Errorf("called %d times", n)
	}
}

func FuzzWords(f *testing.F) {
	f.Add("The cat e\u0301cole ΣΊΣΥΦΟΣ 東京都 สวัสดี 한국어 ＡＢＣ")
	f.Add("\xff\u00AD\u200D\u0301İıſǅ㍿ﬁ")
	f.Fuzz(func(t *testing.T, text string) {
		words := Words(text)
		if len(words) > MaxWords {
			t.Errorf("%d words", len(words))
		}
		seen := make(map[string]bool)
		for _, w := range words {
			if seen[w.Term] || w.N < 1 || w.Term == "" || !utf8.ValidString(w.Term) {
				t.Errorf("%q, %d times", w.Term, w.N)
			}
			seen[w.Term] = true
			if n := utf8.RuneCountInString(w.Term); n > MaxTerm {
				t.Errorf("a term of %d characters", n)
			}
			if again := Words(w.Term); len(again) != 1 || again[0] != (page.Word{Term: w.Term, N: 1}) {
				t.Errorf("%q is %v", w.Term, again)
			}
		}
	})
}

func BenchmarkWords(b *testing.B) {
	english := strings.Repeat("Water flows over the weir, and the weir holds some of it back for the mill below. ", 256)
	russian := strings.Repeat("Вода течёт через плотину, и плотина сдерживает часть её для мельницы внизу. ", 128)
	chinese := strings.Repeat("水流過堰，堰為下面的磨坊留住一些水。", 256)
	for _, bc := range []struct{ name, text string }{{"english", english}, {"russian", russian}, {"chinese", chinese}} {
		b.Run(bc.name, func(b *testing.B) {
			text := []byte(bc.text)
			var c Counter
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				c.Add(text)
				c.Take()
			}
		})
	}
}

// The usual letters are letters, and need no composing.
func TestUsual(t *testing.T) {
	for r := range unicode.MaxRune {
		c := usual(r)
		if c == gap {
			continue
		}
		if unassigned := r <= 0x9FFF && r > 0x9FEF; !unicode.IsLetter(r) && !unassigned || (c == sign) != unspaced(r) || !norm.NFC.IsNormalString(string(simple(r))) {
			t.Errorf("%U %c", r, r)
		}
		if unicode.IsMark(r) || norm.NFC.PropertiesString(string(r)).CCC() != 0 {
			t.Errorf("%U %c may compose with what is before it", r, r)
		}
	}
}

// Every letter there is makes terms that are their own only terms.
func TestTermsOfAll(t *testing.T) {
	var c Counter
	for r := rune(0); r < 0x20000; r++ {
		c.Add([]byte(string(r) + "x" + string(r)))
		for _, w := range c.Take() {
			c.Add([]byte(w.Term))
			if again := c.Take(); len(again) != 1 || again[0].Term != w.Term {
				t.Errorf("%U: %q is %v", r, w.Term, again)
			}
		}
	}
}
