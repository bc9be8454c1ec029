package page

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustParse(tb testing.TB, s string) URL {
	tb.Helper()
	u, err := Parse(s)
	if err != nil {
		tb.Fatalf("Parse(%q): %v", s, err)
	}
	return u
}

// checkURL checks what holds for every URL that Parse or Resolve returns.
func checkURL(t interface{ Errorf(string, ...any) }, u URL) {
	s := u.String()
	if again, err := Parse(s); again != u {
		t.Errorf("%q parsed again is %q, %v", s, again, err)
	}
	if c := Canonical(s); c != u {
		t.Errorf("Canonical(%q) = %q", s, c)
	}
	if j := Join(u.Site(), u.Rest()); j != u {
		t.Errorf("%q and %q join to %q, not %q", u.Site(), u.Rest(), j, s)
	}
	if p := RestPath(u.Rest()); p != u.Path() {
		t.Errorf("RestPath(%q) = %q, not %q", u.Rest(), p, u.Path())
	}
	var back URL
	if text, err := u.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != u {
		t.Errorf("%q is stored as %q, %v, and read back as %q", s, text, err, back)
	}
	if len(s) >= MaxURL {
		t.Errorf("%d bytes", len(s))
	}
	if u.Host() == "" || u.Port() == "" {
		t.Errorf("%q has host %q and port %q", s, u.Host(), u.Port())
	}
	if !strings.HasPrefix(u.Path(), "/") {
		t.Errorf("%q has path %q", s, u.Path())
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }) {
		t.Errorf("%q has a byte that no request line can carry", s)
	}
	if h := SiteHost(u.Site()); h != u.Host() {
		t.Errorf("SiteHost(%q) = %q, not %q", u.Site(), h, u.Host())
	}
	for _, ref := range []string{"", "#x", s, u.Path()} {
		if v, err := u.Resolve(ref); ref != u.Path() && v != u {
			t.Errorf("%q on %q is %q, %v", ref, s, v, err)
		}
	}
}

func TestParts(t *testing.T) {
	for _, c := range []struct {
		in, site, host, port, hostPort, path, rest string
	}{
		{"http://example.org", "http://example.org", "example.org", "80", "example.org", "/", "/"},
		{"https://example.org:443/a?b#c", "https://example.org", "example.org", "443", "example.org", "/a?b", "/a?b"},
		{"https://example.org:80/", "https://example.org:80", "example.org", "80", "example.org:80", "/", "/"},
		{"HTTP://EXAMPLE.org:08080/?", "http://example.org:8080", "example.org", "8080", "example.org:8080", "/?", "/?"},
		{"http://[2001:DB8::1]/x", "http://[2001:db8::1]", "[2001:db8::1]", "80", "[2001:db8::1]", "/x", "/x"},
		{"http://[::1]:8080/x", "http://[::1]:8080", "[::1]", "8080", "[::1]:8080", "/x", "/x"},
		{"http://u:p@[::1]:8080/x", "http://[::1]:8080", "[::1]", "8080", "[::1]:8080", "/x", "u:p@/x"},
		{"http://u@h/@x:1/", "http://h", "h", "80", "h", "/@x:1/", "u@/@x:1/"},
		{"http://a@b:c:d@h/", "http://h", "h", "80", "h", "/", "a%40b:c%3Ad@/"},
		{"http://:p@h/", "http://h", "h", "80", "h", "/", ":p@/"},
		{"http://:@h/", "http://h", "h", "80", "h", "/", "/"},
		{"http://0x7f.1/", "http://127.0.0.1", "127.0.0.1", "80", "127.0.0.1", "/", "/"},
		{"http://h/?a/b://c@d", "http://h", "h", "80", "h", "/?a/b://c@d", "/?a/b://c@d"},
		{"http://Bücher.example./", "http://xn--bcher-kva.example.", "xn--bcher-kva.example.", "80", "xn--bcher-kva.example.", "/", "/"},
	} {
		u := mustParse(t, c.in)
		for _, p := range []struct{ name, got, want string }{
			{"Site", u.Site(), c.site}, {"Host", u.Host(), c.host}, {"Port", u.Port(), c.port},
			{"HostPort", u.HostPort(), c.hostPort}, {"Path", u.Path(), c.path}, {"Rest", u.Rest(), c.rest},
		} {
			if p.got != p.want {
				t.Errorf("%s: %s is %q, want %q", c.in, p.name, p.got, p.want)
			}
		}
		if u.Secure() != strings.HasPrefix(c.site, "https:") {
			t.Errorf("%s: Secure is %v", c.in, u.Secure())
		}
		checkURL(t, u)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		in   string
		want error // nil for any
	}{
		{"", nil},
		{"example.org", nil},
		{"/path", nil},
		{"ftp://example.org/", ErrScheme},
		{"javascript:alert(1)", ErrScheme},
		{"mailto:a@b.c", ErrScheme},
		{"data:text/html,x", ErrScheme},
		{"http://", ErrHost},
		{"http:///", ErrHost},
		{"https://:80/", ErrHost},
		{"http://u:p@/", ErrHost},
		{"http://a b/", nil},
		{"http://a%00b/", nil},
		{"http://a\xffb/", nil},
		{"http://h:65536/", nil},
		{"http://h:x/", nil},
		{"http://1.2.3.256/", nil},
		{"http://[::1/", nil},
		{"http://≠/", nil}, // becomes a name that is refused itself
		{"http://h/" + strings.Repeat("a", MaxURL), ErrLong},
		{"http://h/" + strings.Repeat("é", MaxURL/3), ErrLong},
		{"http://h/" + strings.Repeat("a/", MaxParts), ErrParts},
		{`http:\\h\` + strings.Repeat(`a\`, MaxParts), ErrParts},
		{"http://" + strings.Repeat("@", MaxParts+2) + "h/", ErrParts},
		{"http://" + strings.Repeat("é", MaxParts/3) + "@h/", ErrParts},
		{"http://" + strings.Repeat("a", MaxParts+1) + "/", ErrParts},
		{"http://" + strings.Repeat("\u4e00", 20000), ErrParts},
		{"http:" + strings.Repeat("a", MaxParts+1), ErrParts},
		{"\n http:\t//u:" + strings.Repeat("p", MaxParts) + "@h/", ErrParts},
	} {
		u, err := Parse(c.in)
		if err == nil {
			t.Errorf("%.80q was read as %.80q", c.in, u)
			continue
		}
		if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%.80q: %v, want %v", c.in, err, c.want)
		}
		if len(err.Error()) > 120 || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%.80q: the error is no short sentence: %q", c.in, err)
		}
		if !u.IsZero() {
			t.Errorf("%.80q: refused, but returned %q", c.in, u)
		}
	}
}

func TestBoundsLeaveRoom(t *testing.T) {
	for _, s := range []string{
		"http://h/" + strings.Repeat("a", MaxURL-10),
		"http://h/?" + strings.Repeat("/", MaxURL-11),
		"http://h" + strings.Repeat("/", MaxParts-2),
		"http://" + strings.Repeat("u", MaxParts-2) + "@h/",
		"http://" + strings.Repeat("a", MaxParts) + "/",
		"http://h/" + strings.Repeat("x", 2*MaxParts) + "@",
		"http://h/" + strings.Repeat("x", 2*MaxParts) + "/@",
	} {
		u, err := Parse(s)
		if err != nil {
			t.Errorf("%.40s... (%d bytes): %v", s, len(s), err)
			continue
		}
		checkURL(t, u)
	}
	page := mustParse(t, "http://h/a/")
	for _, ref := range []string{strings.Repeat("x", 2*MaxParts) + "@", "b/" + strings.Repeat("x", 2*MaxParts), "/" + strings.Repeat("x:", MaxParts)} {
		if _, err := page.Resolve(ref); err != nil {
			t.Errorf("%.20s... (%d bytes): %v", ref, len(ref), err)
		}
	}
	if u, err := page.Resolve("\n/\t/" + strings.Repeat("x", MaxParts+1)); !errors.Is(err, ErrParts) {
		t.Errorf("a long host is %.40q, %v", u, err)
	}
	// A link may be short and still lead too deep.
	deep := mustParse(t, "http://h"+strings.Repeat("/", MaxParts-2))
	if u, err := deep.Resolve("a/b"); !errors.Is(err, ErrParts) {
		t.Errorf("one level below the deepest is %.40q, %v", u, err)
	}
}

// What a server reads behind these URLs differs from what a tidy mind would
// make of them, so they must reach it as they were written.
func TestNoChangeOfMeaning(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"http://h/a%00b", "http://h/a%00b"},
		{"http://h/a?b=%00", "http://h/a?b=%00"},
		{"http://h/a%2Fb", "http://h/a%2Fb"},
		{"http://h/a%2fb", "http://h/a%2fb"},
		{"http://h/%252e%252e/a", "http://h/%252e%252e/a"},
		{"http://h/a/%252F", "http://h/a/%252F"},
		{"http://h/%41%7E", "http://h/%41%7E"},
		{"http://h/a%5Cb", "http://h/a%5Cb"},
		{"http://h/a%3Fb%23c", "http://h/a%3Fb%23c"},
		{"http://h/%", "http://h/%"},
		{"http://h/%zz%2", "http://h/%zz%2"},
		{"http://h/a//b///", "http://h/a//b///"},
		{"http://h/a?b=1&a=2&&c", "http://h/a?b=1&a=2&&c"},
		{"http://h/a?b+c%20d", "http://h/a?b+c%20d"},
		{"http://h/A/b", "http://h/A/b"},
		{"http://h/...", "http://h/..."},
		{"http://h/a/..;/b", "http://h/a/..;/b"},
		{"http://h/%c0%ae%c0%ae/a", "http://h/%c0%ae%c0%ae/a"},
		{"http://h/%ed%a0%80", "http://h/%ed%a0%80"},

		// The standard reads encoded dots as dots, as servers and browsers do.
		{"http://h/a/%2e%2e/b", "http://h/b"},
		{"http://h/a/%2E./b", "http://h/b"},
		{"http://h/a/%2e/b", "http://h/a/b"},
		{"http://h/a?%2e%2e/b", "http://h/a?%2e%2e/b"},

		// Right-to-left text and its controls stay where they are written.
		{"http://h/\u202egpj.exe", "http://h/%E2%80%AEgpj.exe"},
		{"http://h/\u05d0/a?\u0627", "http://h/%D7%90/a?%D8%A7"},
		{"http://\u05d0\u05d1.example/", "http://xn--4dbc.example/"},

		// Names that look alike stay different names.
		{"http://\u0430pple.com/", "http://xn--pple-43d.com/"},
		{"http://apple.com/", "http://apple.com/"},
		{"http://xn--pple-43d.com/", "http://xn--pple-43d.com/"},
		{"http://stra\u00dfe.de/", "http://xn--strae-oqa.de/"},
		{"http://strasse.de/", "http://strasse.de/"},
		{"http://example.org./", "http://example.org./"},

		// The same path in two Unicode forms is two paths.
		{"http://h/\u00e9", "http://h/%C3%A9"},
		{"http://h/e\u0301", "http://h/e%CC%81"},

		// Bytes that are no text become the sign for that, as in a browser.
		{"http://h/\xff", "http://h/%EF%BF%BD"},
		{"http://h/\xed\xa0\x80", "http://h/%EF%BF%BD%EF%BF%BD%EF%BF%BD"},
		{"http://h/a\x00b\x7f", "http://h/a%00b%7F"},
	} {
		u := mustParse(t, c.in)
		if u.String() != c.want {
			t.Errorf("%q became %q, want %q", c.in, u, c.want)
		}
		checkURL(t, u)
		if r, err := mustParse(t, "https://other/x?y").Resolve(c.in); r != u {
			t.Errorf("as a link %q became %q, %v", c.in, r, err)
		}
	}
}

func TestResolve(t *testing.T) {
	base := mustParse(t, "https://u:p@h/a/b?c")
	shared := base.Base()
	for _, c := range []struct{ ref, want string }{
		{"", "https://u:p@h/a/b?c"},
		{" \n\t", "https://u:p@h/a/b?c"},
		{"#", "https://u:p@h/a/b?c"},
		{" #top", "https://u:p@h/a/b?c"},
		{"https:", "https://u:p@h/a/b?c"},
		{"HTTP\ts:#x", "https://u:p@h/a/b?c"},
		{"https: #x", "https://u:p@h/a/%20"},
		{"?", "https://u:p@h/a/b?"},
		{"?d", "https://u:p@h/a/b?d"},
		{"d", "https://u:p@h/a/d"},
		{"https:d", "https://u:p@h/a/d"},
		{"./", "https://u:p@h/a/"},
		{"../../..", "https://u:p@h/"},
		{"/d", "https://u:p@h/d"},
		{"//g/d", "https://g/d"},
		{"http://g", "http://g/"},
	} {
		if got, err := base.Resolve(c.ref); got.String() != c.want {
			t.Errorf("%q is %q, %v, want %q", c.ref, got, err, c.want)
		}
		if got, err := shared.Resolve(c.ref); got.String() != c.want {
			t.Errorf("%q under the same base is %q, %v, want %q", c.ref, got, err, c.want)
		}
	}
	for _, ref := range []string{"http:", "mailto:x@y", "//", "http://["} {
		if got, err := shared.Resolve(ref); err == nil {
			t.Errorf("%q is %q", ref, got)
		}
	}
	if got, err := (URL{}).Resolve("http://h/x"); got.String() != "http://h/x" {
		t.Errorf("an absolute link without base is %q, %v", got, err)
	}
	if got, err := (URL{}).Resolve("x"); err == nil {
		t.Errorf("a relative link without base is %q", got)
	}
}

func TestZeroURL(t *testing.T) {
	var u URL
	if !u.IsZero() || u.String() != "" || u.Host() != "" || u.Path() != "" || u.Site() != "" || u.Rest() != "" {
		t.Errorf("%#v", u)
	}
	v := mustParse(t, "http://h/")
	if err := v.UnmarshalText(nil); err != nil || !v.IsZero() {
		t.Errorf("nothing is read as %q, %v", v, err)
	}
	if err := v.UnmarshalText([]byte("ftp://h/")); !errors.Is(err, ErrScheme) || !v.IsZero() {
		t.Errorf("ftp://h/ is read as %q, %v", v, err)
	}
	for _, s := range []string{"", "x", "http://", "http:///", "http://h", "http://@/"} {
		if c := Canonical(s); !c.IsZero() {
			t.Errorf("Canonical(%q) = %q", s, c)
		}
	}
	for _, j := range []URL{Join("", ""), Join("http://h", ""), Join("http://h", "x"), Join("h", "u@/"), Join("", "/")} {
		if !j.IsZero() {
			t.Errorf("joined to %q", j)
		}
	}
}

func TestSiteHost(t *testing.T) {
	for _, c := range []struct{ site, want string }{
		{"http://h", "h"},
		{"https://example.org:8443", "example.org"},
		{"http://[::1]:80", "[::1]"},
		{"http://[::1]", "[::1]"},
		{"http://", ""},
		{"", ""},
	} {
		if got := SiteHost(c.site); got != c.want {
			t.Errorf("SiteHost(%q) = %q, want %q", c.site, got, c.want)
		}
	}
}

func TestDomain(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"example.org", "example.org"},
		{"www.example.org", "example.org"},
		{"a.b.example.co.uk", "example.co.uk"},
		{"me.github.io", "me.github.io"},
		{"x.me.github.io", "me.github.io"},
		{"www.example.org.", "example.org"},
		{"co.uk", "co.uk"},
		{"co.uk.", "co.uk"},
		{"com", "com"},
		{"localhost", "localhost"},
		{"localhost.", "localhost"},
		{"a.localhost", "a.localhost"},
		{"www.xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"127.0.0.1", "127.0.0.1"},
		{"[2001:db8::1]", "[2001:db8::1]"},
		{"a..b.org", "a..b.org"},
		{".", ""},
		{"", ""},
	} {
		if got := Domain(c.host); got != c.want {
			t.Errorf("Domain(%q) = %q, want %q", c.host, got, c.want)
		}
	}
}

func TestAddr(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"http://127.1/", "127.0.0.1"},
		{"http://0x7f000001/", "127.0.0.1"},
		{"http://[::ffff:10.0.0.1]:8/", "::ffff:10.0.0.1"},
		{"http://u@[fe80::1]/", "fe80::1"},
		{"http://example.org/", ""},
		{"http://127.0.0.1.example/", ""},
	} {
		a, ok := mustParse(t, c.in).Addr()
		if ok != (c.want != "") || ok && a.String() != c.want {
			t.Errorf("%s has address %v, %v, want %q", c.in, a, ok, c.want)
		}
	}
}

func TestURLProperties(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"http:", "https:", "//", "/", `\`, "..", ".", "%2e", "%2F", "%00", "%", "?", "#", "&", "=", ";", "@", ":", ":80", ":443", ":8080",
		"[::1]", "[", "]", "127.1", "example.org", "h", "xn--9ca", "é", "\u00ad", "\u200d", "ß", "\xff", "\x00", "\t", "\n", " ", "|", "^", "`", "{", "'", "\"", "+", "~",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		u, err := Parse("http://" + text.Draw(t, "url"))
		if err != nil {
			return
		}
		checkURL(t, u)
		v, err := u.Resolve(text.Draw(t, "link"))
		if err != nil {
			return
		}
		checkURL(t, v)
	})
}

func FuzzParse(f *testing.F) {
	for _, c := range urlCases(f) {
		f.Add(c.Input, c.Base)
	}
	f.Fuzz(func(t *testing.T, text, base string) {
		if u, err := Parse(text); err == nil {
			checkURL(t, u)
		} else if !u.IsZero() {
			t.Errorf("%q is refused and yet %q", text, u)
		}
		b, err := Parse(base)
		if err != nil {
			return
		}
		if u, err := b.Resolve(text); err == nil {
			checkURL(t, u)
			// A Base leaves its query out; the whole URL must lead to the same.
			if w, err := parser.ParseRef(b.String(), text); err != nil || w.Href(true) != u.String() {
				t.Errorf("%q on %q is %q, but the parser says %v, %v", text, base, u, w, err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("https://www.example.org/path/to/a/page.html?id=12345&lang=en"); err != nil {
			b.Fatal(err)
		}
	}
}
