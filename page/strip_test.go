package page

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestStrip(t *testing.T) {
	for _, c := range []struct{ list, in, want string }{
		{"default", "http://h/?utm_source=x", "http://h/"},
		{"default", "http://h/?UTM_Source=x&GCLID=2", "http://h/"},
		{"default", "http://h/a?b=1&utm_source=x&c=2", "http://h/a?b=1&c=2"},
		{"default", "http://h/a?utm_source=x&z=%41+%20&a=%zz&gclid=3&a", "http://h/a?z=%41+%20&a=%zz&a"},
		{"default", "http://h/a?fbclid", "http://h/a"},
		{"default", "http://h/a?fbclid=1&", "http://h/a"},
		{"default", "http://h/a?&fbclid=1", "http://h/a"},
		{"default", "http://h/a?x&&fbclid=1&&y", "http://h/a?x&&&y"},
		{"default", "http://h/a?PHPSESSID=0123456789abcdef", "http://h/a"},
		{"default", "http://h/a.asp?ASPSESSIONIDQQABC=1&p=2", "http://h/a.asp?p=2"},
		{"default", "http://h/a?ASP.NET_SessionId=1", "http://h/a"},
		{"default", "http://h/cart;jsessionid=1F3", "http://h/cart"},
		{"default", "http://h/;JSESSIONID=1F3.node1?p=2", "http://h/?p=2"},
		{"default", "http://h/a;v=1;jsessionid=1F3;w=2", "http://h/a;v=1;w=2"},
		{"default", "http://h/a;jsessionid=1;jsessionid=2", "http://h/a"},
		{"default", "http://u:p@h:8080/a?utm_id=1", "http://h:8080/a"},
		{"default", "http://u:p@h/a?", "http://h/a?"},
		{"default", "http://u@h/", "http://h/"},
		{"none", "http://u@h/?gclid=1", "http://h/?gclid=1"},
		{"foo", "http://h/?gclid=1&foo=2&foobar=3", "http://h/?gclid=1&foobar=3"},
		{"foo*", "http://h/?gclid=1&foo=2&foobar=3", "http://h/?gclid=1"},
		{"default, foo", "http://h/?gclid=1&foo=2&foobar=3", "http://h/?foobar=3"},
		{"*", "http://h/a;b=1?c&d=2", "http://h/a;b=1"},
		{";*", "http://h/a;b=1?c&d=2", "http://h/a?c&d=2"},

		// Ordinary URLs stay as they are.
		{"default", "http://h/?", "http://h/?"},
		{"*", "http://h/?", "http://h/?"},
		{"default", "http://h/a?b=utm_source&sid=7&id=3&session=9", "http://h/a?b=utm_source&sid=7&id=3&session=9"},
		{"default", "http://h/utm_source=1/gclid=2", "http://h/utm_source=1/gclid=2"},
		{"default", "http://h/a?q=http://x/?utm_source=1", "http://h/a?q=http://x/?utm_source=1"},
		{"default", "http://h/a;jsessionid=1/b", "http://h/a;jsessionid=1/b"},
		{"default", "http://h/a/..;jsessionid=1", "http://h/a/..;jsessionid=1"},
		{"default", "http://h/a/%2E.;jsessionid=1", "http://h/a/%2E.;jsessionid=1"},
		{"default", "http://h/a?%75tm_source=1", "http://h/a?%75tm_source=1"},
	} {
		s, err := ParseStrip(c.list)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Apply(mustParse(t, c.in)); got.String() != c.want {
			t.Errorf("%s: %s became %s, want %s", c.list, c.in, got, c.want)
		}
		if again, err := ParseStrip(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%s: reads back as %s, %v", s, again, err)
		}
	}
}

func TestStripOfNothing(t *testing.T) {
	if got := DefaultStrip().Apply(URL{}); !got.IsZero() {
		t.Errorf("the zero URL became %q", got)
	}
	s := DefaultStrip()
	u := mustParse(t, "https://example.org/a;b=c?d=e&f=g")
	if n := testing.AllocsPerRun(100, func() { u = s.Apply(u) }); n != 0 {
		t.Errorf("%v allocations though nothing changes", n)
	}
}

func TestStripRefusals(t *testing.T) {
	for _, list := range []string{"", " ", "a,,b", "none,a", "a,none", "a*b", "*a", "**", ";", "a=b", "a&b", "a b", "é", "a;b"} {
		if s, err := ParseStrip(list); err == nil {
			t.Errorf("%q was read as %v", list, s)
		}
	}
}

// checkStrip checks what holds for all lists and URLs.
func checkStrip(t interface{ Errorf(string, ...any) }, s Strip, u URL) {
	once := s.Apply(u)
	if twice := s.Apply(once); twice != once {
		t.Errorf("%s: %s becomes %s, then %s", s, u, once, twice)
	}
	if again, err := Parse(once.String()); again != once {
		t.Errorf("%s: %s becomes %s, which is not canonical: %s, %v", s, u, once, again, err)
	}
	if once.Site() != u.Site() {
		t.Errorf("%s: %s moved to %s", s, u, once)
	}
	if len(once.String()) > len(u.String()) {
		t.Errorf("%s: %s grew to %s", s, u, once)
	}
}

func TestStripProperties(t *testing.T) {
	lists := rapid.SampledFrom([]string{"none", "default", "*", ";*", "*,;*", "a", "a*,;b"})
	param := rapid.SampledFrom([]string{"", "a", "a=1", "A=%2E", "ab=2", "b=3", "utm_x=4", "=", "gclid=5", "c=6", "jsessionid=7"})
	segment := rapid.SampledFrom([]string{"", "a", "x", "...", "%2e%2e", ".", "%", "%2", "é"})
	rapid.Check(t, func(t *rapid.T) {
		s, err := ParseStrip(lists.Draw(t, "list"))
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SampledFrom([]string{"http://h/", "https://u:p@h:8/", "http://[::1]/"}).Draw(t, "site") +
			strings.Join(rapid.SliceOf(segment).Draw(t, "segments"), "/")
		for _, p := range rapid.SliceOfN(param, 0, 4).Draw(t, "path") {
			text += ";" + p
		}
		if rapid.Bool().Draw(t, "query?") {
			text += "?" + strings.Join(rapid.SliceOf(param).Draw(t, "query"), "&")
		}
		u, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		checkStrip(t, s, u)
	})
}

func FuzzStrip(f *testing.F) {
	f.Add("default", "http://u@h/a;jsessionid=1?utm_source=2&b")
	f.Add("a*,;b", "http://h/..;b=1?&a&")
	f.Fuzz(func(t *testing.T, list, text string) {
		s, err := ParseStrip(list)
		if err != nil {
			return
		}
		if again, err := ParseStrip(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%q is shown as %q, which reads as %v, %v", list, s, again, err)
		}
		if u, err := Parse(text); err == nil {
			checkStrip(t, s, u)
		}
	})
}

func BenchmarkStrip(b *testing.B) {
	for _, c := range []struct{ name, url string }{
		{"path", "https://www.example.org/path/to/a/page.html"},
		{"query", "https://www.example.org/path/to/a/page.html?id=12345&lang=en"},
		{"tracked", "https://www.example.org/path/to/a/page.html?id=12345&utm_source=x"},
	} {
		u, s := mustParse(b, c.url), DefaultStrip()
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Apply(u)
			}
		})
	}
}
