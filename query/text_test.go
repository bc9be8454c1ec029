package query

import (
	"strings"
	"testing"
)

// A file that is no text has one fault, however long it is.
func TestNotText(t *testing.T) {
	const rule = "crawl(U, 0) :- seed(U).\n"
	for _, c := range []struct{ name, program, want string }{
		{"latin-1", rule + "p(U) :- title(U, \"Stra\xdfe\"), sead(U).\n", "x.dl:2:23: error: this is no text: the byte 0xdf is not UTF-8\n"},
		{"binary", strings.Repeat("\x7fELF\x02\x00\x00(\n\xff", 300), "x.dl:1:6: error: this is no text: it has a byte 0\n"},
		{"UTF-16", "\xff\xfec\x00r\x00", "x.dl:1:1: error: this is no text: the byte 0xff is not UTF-8\n"},
		{"wide", "% größe \x00\n", "x.dl:1:9: error: this is no text: it has a byte 0\n"},
	} {
		p, checked, diags := Load("x.dl", c.program, nil)
		if checked != nil || len(diags) != 1 || !strings.HasPrefix(diags[0].Format(p), c.want) {
			t.Errorf("%s: got %d faults:\n%swant:\n%s", c.name, len(diags), format(p, diags), c.want)
		}
	}
}

// Values of --set are kept one a line: what would not read back, or could not be
// printed, is refused.
func TestSettingsAreLines(t *testing.T) {
	const program = "crawl(U, 0) :- seed(U), contains(U, $word).\n"
	for _, c := range []struct{ value, want string }{
		{"tab\tand ü", ""},
		{"one\ntwo", `--set word="one\ntwo": a value has one line`},
		{"one\r", `--set word="one\r": a value has one line`},
		{"a\x1b[31m", `--set word="a\x1b[31m": this is no text: it has a control character`},
		{"a\xff", `--set word="a\xff": this is no text: it is not UTF-8`},
		{strings.Repeat("x", MaxText+1), "bytes, at most"},
	} {
		p, _, diags := Load("x.dl", program, nil, Setting{"word", c.value})
		if got := format(p, diags); c.want == "" && Failed(diags) || !strings.Contains(got, c.want) {
			t.Errorf("%.20q: got\n%s", c.value, got)
		}
	}
}
