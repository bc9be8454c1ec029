package parse

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

func TestCharset(t *testing.T) {
	utf16 := func(label, s string) string {
		e, _ := charset.Lookup(label)
		b, err := e.NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	page := `<title>é</title>`
	for _, tc := range []struct{ name, contentType, body, want, title string }{
		{"nothing, ASCII", "text/html", "<title>e</title>", "utf-8", "e"},
		{"nothing, UTF-8", "text/html", page, "utf-8", "é"},
		{"nothing, Latin-1", "text/html", "<title>\xe9</title>", "windows-1252", "é"},
		{"nothing, Latin-1 late", "", "<title>x</title>" + strings.Repeat("x", 1<<20) + "\xe9.", "windows-1252", "x"},
		{"nothing, UTF-8 cut off", "", "<title>é</title>\xe2\x82", "utf-8", "é"},
		{"windows quotes", "", "<title>\x93q\x94</title>", "windows-1252", "“q”"},

		{"header", "text/html; charset=iso-8859-2", "<title>\xb1</title>", "iso-8859-2", "ą"},
		{"header quoted", `text/html;x=y; Charset="KOI8-R"`, "<title>\xc1</title>", "koi8-r", "а"},
		{"header unknown", "text/html; charset=nonsense", page, "utf-8", "é"},
		{"latin-1 means windows-1252", "text/html; charset=ISO-8859-1", "<title>\x80</title>", "windows-1252", "€"},
		{"header UTF-8, bytes are not", "text/html; charset=utf-8", "<title>\xe9</title>", "utf-8", "\uFFFD"},
		{"header over meta", "text/html; charset=windows-1251", "<meta charset=utf-8><title>\xe9</title>", "windows-1251", "й"},
		{"mark over header", "text/html; charset=windows-1251", "\xEF\xBB\xBF" + page, "utf-8", "é"},
		{"UTF-16LE mark", "text/html; charset=utf-8", "\xFF\xFE" + utf16("utf-16le", page), "utf-16le", "é"},
		{"UTF-16BE mark", "", "\xFE\xFF" + utf16("utf-16be", page), "utf-16be", "é"},
		{"UTF-16 by header", "text/html; charset=utf-16", utf16("utf-16le", page), "utf-16le", "é"},
		{"UTF-16 XML without mark", "", utf16("utf-16be", "<?xml version='1.0'?>"+page), "utf-16be", "é"},

		{"meta charset", "text/html", "<meta charset=windows-1251><title>\xe9</title>", "windows-1251", "й"},
		{"meta in capitals, quoted", "", "<html><HEAD><META  CHARSET = 'Windows-1251' /><title>\xe9</title>", "windows-1251", "й"},
		{"meta http-equiv", "", `<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">` + "<title>\xe9</title>", "windows-1251", "й"},
		{"meta content first", "", `<meta content='text/html; charset="koi8-r"' http-equiv=content-type>` + "<title>\xc1</title>", "koi8-r", "а"},
		{"meta content without http-equiv", "", `<meta content="text/html; charset=windows-1251">` + "<title>\xe9</title>", "windows-1252", "é"},
		{"meta says UTF-16", "", "<meta charset=utf-16>" + page, "utf-8", "é"},
		{"meta in a comment", "", "<!-- <meta charset=koi8-r> --><meta charset=windows-1251><title>\xe9</title>", "windows-1251", "й"},
		{"meta in an attribute", "", "<p title='<meta charset=koi8-r>'><meta charset=windows-1251><title>\xe9</title>", "windows-1251", "й"},
		{"meta unknown, then known", "", "<meta charset=nonsense><meta charset=windows-1251><title>\xe9</title>", "windows-1251", "й"},
		{"meta too late", "", strings.Repeat(" ", 1024) + "<meta charset=windows-1251><title>\xe9</title>", "windows-1252", "é"},
		{"short comment", "", "<!--><meta charset=windows-1251><title>\xe9</title>", "windows-1251", "й"},
		{"unclosed meta", "", "<meta charset=windows-1251", "windows-1251", ""},

		{"XML declaration", "application/xhtml+xml", "<?xml version='1.0' encoding='windows-1251'?><title>\xe9</title>", "windows-1251", "й"},
		{"meta over XML", "", "<?xml version='1.0' encoding='koi8-r'?><meta charset=windows-1251><title>\xe9</title>", "windows-1251", "й"},
		{"Japanese", "text/html; charset=Shift_JIS", "<title>\x93\xfa\x96{</title>", "shift_jis", "日本"},
		{"Japanese with escapes", "text/html; charset=iso-2022-jp", "<title>\x1b$BF|K\\\x1b(B</title>", "iso-2022-jp", "日本"},
		{"Chinese", "text/html; charset=gb2312", "<title>\xd6\xd0</title>", "gbk", "中"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p Parser
			d := p.HTML([]byte(tc.body), mustURL(t, here), tc.contentType, "weir", Want{})
			if d.Charset != tc.want || d.Title != tc.title {
				t.Errorf("charset %s, title %q; want %s, %q", d.Charset, d.Title, tc.want, tc.title)
			}
		})
	}
}

// A browser sends a query in the page's encoding, and all else in UTF-8.
func TestQueryEncoding(t *testing.T) {
	for _, tc := range []struct{ charset, ref, want string }{
		{"utf-8", "é?é", "/d/%C3%A9?%C3%A9"},
		{"windows-1252", "\xe9?\xe9=\xfc&x=%41#\xe9", "/d/%C3%A9?%E9=%FC&x=%41"},
		{"windows-1252", "?&#26085;&#8364;", "/d/p.html?%26%2326085%3B%80"},
		{"shift_jis", "?q=\x93\xfa\x96{", "/d/p.html?q=%93%FA%96{"},
		{"shift_jis", "?q=\x83\\", "/d/p.html?q=%83\\"},
		{"iso-2022-jp", "?q=\x1b$BF|\x1b(B&r", "/d/p.html?q=%1B$BF|%1B(B&r"},
		{"gb18030", "?\xd6\xd0", "/d/p.html?%D6%D0"},
		{"utf-16le", "?\xe9\x00", "/d/p.html?%C3%A9"},
		{"euc-kr", "plain?a=b", "/d/plain?a=b"},
	} {
		body := "<a href='" + tc.ref + "'>"
		if tc.charset == "utf-16le" {
			body = ""
			for _, c := range []byte("<a href='?") {
				body += string(c) + "\x00"
			}
			body += "\xe9\x00'\x00>\x00"
		}
		var p Parser
		d := p.HTML([]byte(body), mustURL(t, here), "text/html; charset="+tc.charset, "weir", Want{})
		if got := strings.Join(show(d.Links), ","); got != "nav "+tc.want {
			t.Errorf("%s %q: %s, want %s", tc.charset, tc.ref, got, tc.want)
		}
	}
}
