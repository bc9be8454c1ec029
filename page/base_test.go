package page

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainBases are pages whose links the tests resolve on both ways.
var plainBases = []string{
	"http://h/",
	"https://www.example.org/path/to/a/page.html?id=12345&lang=en",
	"http://h:8080/a//b/?q/../x",
	"https://u:p@h/a/b/c",
	"http://127.0.0.1:8080/a/b/c/d",
	"https://[::1]:80/x/",
	"http://xn--9ca.example./..;/.x/y",
	"https://h:80/%2E%2e%2f/a;b'c|d^e",
	"http://h//",
	"",
}

// deepBases leave links little room below the bounds.
var deepBases = []string{
	"http://h/" + strings.Repeat("long/", MaxParts/5-3),
	"http://h" + strings.Repeat("/", MaxParts-3),
	"http://h/a?" + strings.Repeat("q", 2*MaxParts),
	"http://" + strings.Repeat("a", MaxParts-20) + "/a/b",
}

type errorer interface {
	Helper()
	Errorf(string, ...any)
}

// checkPlain checks that ref becomes the same whether or not it is plain.
func checkPlain(t errorer, base URL, ref string) {
	t.Helper()
	b := base.Base()
	slow, slowErr := b.resolveSlow(ref)
	same(t, base, ref, slow, slowErr)(b.Resolve(ref))
	page := []byte(ref)
	u, err := b.ResolveBytes(page)
	clear(page) // a URL must not change with the page it came from
	same(t, base, ref, slow, slowErr)(u, err)
	if base.IsZero() {
		same(t, base, ref, slow, slowErr)(Parse(ref))
	}
}

func same(t errorer, base URL, ref string, slow URL, slowErr error) func(URL, error) {
	return func(u URL, err error) {
		t.Helper()
		if u != slow || (err == nil) != (slowErr == nil) {
			t.Errorf("%q on %q is %#v, %v, but the parser says %#v, %v", ref, base, u, err, slow, slowErr)
		}
		if errors.Is(err, ErrScheme) {
			return // whatever else is wrong with it
		}
		for _, kind := range []error{ErrScheme, ErrHost, ErrLong, ErrParts} {
			if errors.Is(err, kind) != errors.Is(slowErr, kind) {
				t.Errorf("%q on %q is refused with %v, by the parser with %v", ref, base, err, slowErr)
			}
		}
	}
}

func TestPlainConformance(t *testing.T) {
	cases := urlCases(t)
	for _, s := range plainBases {
		base := Canonical(s)
		for _, c := range cases {
			checkPlain(t, base, c.Input)
			checkPlain(t, base, c.Href)
		}
	}
	for _, c := range cases {
		if base, err := Parse(c.Base); err == nil {
			checkPlain(t, base, c.Input)
		}
	}
}

// oddRefs are links in which a byte more or less changes the rule that applies.
var oddRefs = strings.Split(""+
	// dots
	"|.|..|...|....|./|../|.../|./.|../..|../../|./..|.././|../../../../../../../x|.x|..x|x.|x..|x/.|x/..|x/./|x/../|x/./y|x/../y|x/.../y|x/.y|x/..y"+
	"|/.|/..|/./|/../|/./x|/../x|/.x|/..x|//.|//..|/x/..|/x/../../..|/x//..|/x//../y|.?x|..?x|.#x|..#x|./?x|../#x|.//x|..//x|..//../x|./../.x"+
	"|%2e|%2E|%2e%2e|.%2e|%2E.|%2e/|%2e%2e/|x/%2e|x/%2e%2e|x/.%2E/y|%2ex|%2e.x|%2|%2f|%2f..|%|%%|%2e?x|x%2e|..%2f..|%252e%252e/|.%|.%2|..%2e|..;/x|..;|?../x|x?../y|x?/../y|x#../y"+
	// slashes
	"|/|//|///|////|/x|//x|///x|////x|/x/|/x//|x//|x//y|//h|//h/|//h//|//h/../x|//h?x|//h#x|//h:|//h:80|//h:443|//h:8080/x|//u@h/x|//H/x|//./x|//../x|//%2e/x|/?x|/#x|//?x|//#x"+
	"|\\|\\\\|\\x|/\\x|\\/x|x\\y|x\\..\\y|..\\x|.\\x|//h\\x|http:\\\\h\\x|http:/\\h|x?\\y|x#\\y|/x\\..\\y|\\\\h\\x"+
	// queries and fragments
	"|?|#|??|?#|#?|?x|#x|x?|x#|x?#|x?y#z|x?y?z|x#y#z|x??|?x=1&y=2|?x='y'|?x=\"y\"|?<>|?`|?{y}|?^|x?[]|x?y/z|x?y;z|x?%|x?%zz|x? y|x?y z#|#<>|#\"|x# y|x?é|x#é|?é"+
	// schemes
	"|http:|http:x|http:/x|http:?x|http:#x|http://|http:///|http:///x|http://h|http://h/|http://h/x|https:|https:x|https:/x|https://h|https:///h|https:////h/x|https:?x|https:.|https:.."+
	"|HTTP://h/x|Http:x|hTTps://h|HTTPS:x|HTTPS:|httpx://h|httpss:x|htt:x|h:x|http|https|http/x|http//x|httpx|http.x:y|http+x:y|1http:x|-http:x|http_x:y|:|:x|::|x:|x:y|x/y:z|./x:y|?x:y|#x:y|x.y:80|x.y:80/z"+
	"|mailto:a@b|javascript:|javascript:void(0)|JavaScript:x()|data:,|data:text/html,<p>|tel:+1|ftp://h/x|ftp://[|ftp:x|file:///x|file:|file:c|x://[|x:/y|x:\\y|ws://h|wss:x|about:blank|blob:http://h/x|view-source:http://h/"+
	"|http ://h|http: //h|http:/ /h|ht\ttp://h/x|http:\n//h/x|http:/\r/h/x|java\nscript:x|mailto\t:x|mailto:\tx|x\t:y|\thttp://h/x\n|  /x  |\x00/x\x1f| ?x | #x | x | \n | mailto:x|x\n/y|x\t|/\t/h/x|.\t./x|..\n|.\n%2e|x?y\tz|x#y\tz|%\t2e|%2\ne/x"+
	// hosts
	"|http://example.org|http://EXAMPLE.org/x|http://example.org./|http://example.org../|http://.example.org/|http://a..b/|http://a.b.c.d.e.f/|http://a-b/|http://-a/|http://a-/|http://a.-b/|http://a-.b/|http://a--b/|http://ab--c/|http://a_b/|http://_/|http://-/|http://./|http://../|http://a.b-/"+
	"|http://xn--/|http://xn--9ca/|http://xn--9ca.example/|http://XN--9ca/|http://a.xn--b/|http://axn--9ca/|http://xn-9ca/|http://xn--a/x|http://é/|http://ß.example/|http://a\u00adb/|http://a\u200db/|http://a。b/|http://０/|http://a%2eb/|http://%61/|http://a%/|http://a%00/"+
	"|http://a b/|http://a,b/|http://a!b/|http://a~b/|http://a'b/|http://a<b/|http://a^b/|http://a^b|http://a\\b/|http://a&b/|http://a+b/|http://a*b/|http://a(b)/|http://a;b/|http://a=b/|http://a$b/|http://{a}/|http://`/|http://\"/|http://a\x7f/|http://a\xff/"+
	// addresses
	"|http://1/|http://1.2/|http://1.2.3/|http://1.2.3.4/|http://1.2.3.4|http://1.2.3.4./|http://1.2.3.4../|http://1.2.3.4.5/|http://1.2.3.256/|http://1.2.3.255/|http://256.2.3.4/|http://0.0.0.0/|http://00.0.0.0/|http://01.2.3.4/|http://1.2.3.04/|http://1.2.3.08/|http://010.1/|http://0x7f.1/|http://0x7f000001/|http://0x/|http://0x.0x/|http://1.0x/|http://1.2.0X3.4/|http://1..4/|http://.1/"+
	"|http://a.1/|http://a.0x1/|http://a.1x/|http://1.a/|http://1.2.3.a/|http://1a/|http://a1/|http://a.b.1.2/|http://a.01/|http://a.09/|http://4294967295/|http://4294967296/|http://99999999999999999999/|http://1.2.3.4:80/|http://1.2.3.4:8080/x|http://1.2.3.4-/|http://1-2.3/|http://1.2.3-4/|http://1.2.3.4a/|http://1.2.3.1000/|http://1.2.3.-4/|http://+1/|http://1e1/|http://0b1/|http://0o7/"+
	"|http://[::1]/|http://[::1]:8080/x|http://[::1]|http://[::1|http://[]/|http://[1:2:3:4:5:6:7:8]/|http://[::FFFF:1.2.3.4]/|http://::1/|http://[::1%25eth0]/|http://[::1]x/|http://x[::1]/"+
	// ports
	"|http://h:/|http://h:|http://h:80|http://h:80/x|http://h:080/|http://h:0/|http://h:00/|http://h:1/|http://h:443/|https://h:443/x|https://h:80/x|https://h:0443|http://h:8080|http://h:08080|http://h:65535/|http://h:65536/|http://h:65537/|http://h:99999/|http://h:100000/|http://h:0000065535/|http://h:4294967376/|http://h:18446744073709551696/|http://h:x/|http://h:8x/|http://h:8 /|http://h:-1/|http://h:+1/|http://h:80:80/|http://h:80?x|http://h:80#x|http://h:8080?x|http://h:8080#x|http://:80/|http://h:8080\\x|http://h:80a|http://h::80/"+
	// credentials
	"|http://u@h/|http://u:p@h/x|http://u:@h/|http://:p@h/|http://@h/|http://:@h/|http://u@/|http://u@v@h/|http://h:80@g/|http://h/@x|http://h?@x|http://h#@x|http://u:p@|https://u:p@h/a/b/c|https://u:p@h/d|https://h/d|https://u@h/d"+
	// bytes in paths
	"|/a b|/a\"b|/a<b|/a>b|/a`b|/a{b}|/a'b|/a!$&()*+,;=:@b|/a-._~b|/a[b]|/a^b|/é|/\xff|/\x00|/a\x7fb|/\u202e|/\U0010ffff|/a%b|/a%zz|/a%41|é|é:x|\xff|a b|a%20b|a:b|~x|_x|-x|+x|&x|=x|;x|,x|@x|!x|*x|(x)|'x'|[x]|$x|0x|x;y=1|x,y|x'y",
	"|")

func TestPlainOdd(t *testing.T) {
	refs := append(oddRefs, "|", "a|b", "?a|b", "http://a|b/", "http://h/|", "C|/x",
		strings.Repeat("x", MaxParts), strings.Repeat("x", MaxParts+1), strings.Repeat("x/", MaxParts/2), strings.Repeat("/", MaxParts), strings.Repeat("../", MaxParts/3),
		"?"+strings.Repeat("/", MaxParts-1), "http://"+strings.Repeat("h", MaxParts-8)+"/", "http://"+strings.Repeat("h", MaxParts-7), "#"+strings.Repeat("x", MaxURL),
		strings.Repeat(" ", MaxParts)+"x", "http://"+strings.Repeat("a.", 200)+"b/x", "http://"+strings.Repeat("a", 64)+".b/x",
		"data:"+strings.Repeat("x", 2*MaxParts), "data:"+strings.Repeat("/", 2*MaxParts), "data:"+strings.Repeat("x", MaxURL), "http:"+strings.Repeat("x", 2*MaxParts),
	)
	for _, s := range slices.Concat(plainBases, deepBases) {
		base := Canonical(s)
		for _, ref := range refs {
			checkPlain(t, base, ref)
		}
	}
	for _, s := range plainBases {
		base := Canonical(s)
		for _, ref := range oddRefs {
			checkPlain(t, base, base.Site()+ref)
			checkPlain(t, base, base.String()+ref)
		}
	}
}

// TestPlainBytes tries each byte wherever it could matter.
func TestPlainBytes(t *testing.T) {
	for _, s := range []string{"https://u@h:8080/a/b?c", ""} {
		base := Canonical(s)
		for b := range 256 {
			for _, ref := range []string{
				"*", "*x", "x*", "x*y", "x/*", "x/*/y", "/*", "/*x", "/*/h", "?*", "x?*", "x?y*z", "#*", "x#*", ".*", "..*", "x/.*", "x/..*/y", "*/..", "%*", "%2*", "x/%2*/", "%*e", "*2e/x",
				"*:x", "x*:y", "x:*", "http*://h/x", "http:*/h/x", "http:/*h/x", "http:/*/h/x", "http://*", "http://*/x", "http://a*", "http://a*b/x", "http://a.*.b/x", "http://a.b*/x", "http://a.*b",
				"http://1.2.3.*", "http://1.2.3.*4/", "http://*1.2.3.4", "http://1*2.3.4/", "http://h:*", "http://h:*8/x", "http://h:8*", "http://h:8*/x", "//*", "//h*x", "//h:8*",
			} {
				checkPlain(t, base, strings.ReplaceAll(ref, "*", string([]byte{byte(b)})))
			}
		}
	}
}

func TestPlainProperties(t *testing.T) {
	piece := rapid.SampledFrom(strings.Split(
		"http:|https:|HTTP|//|/|\\|..|.|%2e|%2F|%|?|#|&|=|;|@|:|:80|:443|:8080|:0|[::1]|[|127.1|10.0.0.1|256|0x7f|08|example.org|h|www.|-|--|xn--|xn--9ca|A|_|é|\u00ad|\xff|\x00|\t|\n| |^|`|{|'|\"|<|+|~|a|b1|index.html|mailto:|data:|../|./|../../", "|"))
	rapid.Check(t, func(t *rapid.T) {
		base := Canonical(rapid.SampledFrom(plainBases).Draw(t, "base"))
		ref := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		})
		for _, r := range rapid.SliceOfN(ref, 1000, 1000).Draw(t, "refs") {
			checkPlain(t, base, r)
		}
	})
}

func FuzzResolveFast(f *testing.F) {
	for i, ref := range oddRefs {
		f.Add(plainBases[i%len(plainBases)], ref)
	}
	f.Fuzz(func(t *testing.T, page, ref string) {
		base, err := Parse(page)
		if err != nil {
			base = URL{}
		}
		checkPlain(t, base, ref)
		checkPlain(t, base, base.Site()+ref)
	})
}

// TestPlain keeps the common links on the fast way: with at most one
// allocation, for the URL's text.
func TestPlain(t *testing.T) {
	base := mustParse(t, "https://www.example.org/path/to/a/page.html?id=12345&lang=en").Base()
	for _, c := range []struct {
		ref, want string
		allocs    float64
	}{
		{"", "https://www.example.org/path/to/a/page.html?id=12345&lang=en", 0},
		{"#top", "https://www.example.org/path/to/a/page.html?id=12345&lang=en", 0},
		{"other.html", "https://www.example.org/path/to/a/other.html", 1},
		{" other.html#x\n", "https://www.example.org/path/to/a/other.html", 1},
		{"b/c?d=e&f=%20#x", "https://www.example.org/path/to/a/b/c?d=e&f=%20", 1},
		{"?page=2", "https://www.example.org/path/to/a/page.html?page=2", 1},
		{".", "https://www.example.org/path/to/a/", 1},
		{"..", "https://www.example.org/path/to/", 1},
		{"../../x.html", "https://www.example.org/path/x.html", 1},
		{"./../../../../../x.html", "https://www.example.org/x.html", 1},
		{"/x_(y),z;v=1/.well-known/", "https://www.example.org/x_(y),z;v=1/.well-known/", 1},
		{"https://www.example.org", "https://www.example.org/", 1},
		{"https://www.example.org/x", "https://www.example.org/x", 1},
		{"http://www.example.org/x", "http://www.example.org/x", 1},
		{"http://www.example.org:8080?x", "http://www.example.org:8080/?x", 1},
		{"//cdn-1.example.net/x", "https://cdn-1.example.net/x", 1},
		{"http://10.0.0.1:8080/x?y", "http://10.0.0.1:8080/x?y", 1},
		{"mailto:someone@example.org", "", 0},
		{"javascript:void(0)", "", 0},
		{"data:image/png;base64," + strings.Repeat("/9", 5000), "", 0},
	} {
		u, err := base.Resolve(c.ref)
		if u.String() != c.want || c.want == "" && !errors.Is(err, ErrScheme) {
			t.Errorf("%q is %q, %v, want %q", c.ref, u, err, c.want)
		}
		page := []byte(c.ref)
		if n := testing.AllocsPerRun(100, func() { base.Resolve(c.ref) }); n > c.allocs {
			t.Errorf("%q costs %v allocations", c.ref, n)
		}
		if n := testing.AllocsPerRun(100, func() { base.ResolveBytes(page) }); n > c.allocs {
			t.Errorf("%q as bytes costs %v allocations", c.ref, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Parse("https://www.example.org/x?y=z#top") }); n > 1 {
		t.Errorf("a plain URL costs %v allocations to parse", n)
	}
}

func BenchmarkResolve(b *testing.B) {
	base := mustParse(b, "https://www.example.org/path/to/a/page.html?id=12345&lang=en").Base()
	for _, c := range []struct{ name, ref string }{
		{"relative", "other/page.html"},
		{"up", "../../other/page.html"},
		{"root", "/path/to/another/page.html"},
		{"query", "../other/page.html?id=12346&lang=en"},
		{"fragment", "page-2.html#section-3.1"},
		{"self", "#section-3.1"},
		{"same-host", "https://www.example.org/path/to/another/page.html"},
		{"other-host", "https://en.wikipedia.org/wiki/Web_crawler"},
		{"mailto", "mailto:someone@example.org"},
		{"odd", "other/pa ge.html"},
	} {
		ref := []byte(c.ref)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				base.ResolveBytes(ref)
			}
		})
	}
}
