package testweb

import (
	"fmt"
	"html"
	"net/netip"
	"strconv"
	"strings"
)

// endless are sites with more URLs than pages.
func endless() []behaviour {
	return []behaviour{{
		id: "trap-02", server: "a relative link that nests: /a/b/a/b/a/b/...",
		expect: "parked by the rule on repeated segments",
		links:  func(*site) []string { return []string{"/a/b/"} },
		rest: func(x *exchange, path string) (bool, bool) {
			if !strings.HasPrefix(path, "/a/b/") {
				return false, false
			}
			return x.page200(string(nest(nil))), true
		},
	}, {
		id: "trap-04", server: "a faceted search with 2^20 combinations, most of which say the same",
		expect: "parked by the rule on query variants, or the budget",
		links:  func(*site) []string { return []string{"/find?f=1"} },
		rest: func(x *exchange, path string) (bool, bool) {
			f, err := strconv.ParseUint(strings.TrimPrefix(path, "/find?f="), 10, 20)
			if err != nil {
				return false, false
			}
			return x.page200(string(facets(nil, uint32(f)))), true
		},
	}, {
		id: "trap-06", server: "every name below it exists, and links to ten new ones",
		expect:   "stops at the budget of the registered domain",
		wildcard: true,
		rest: func(x *exchange, path string) (bool, bool) {
			if path != "/" {
				return false, false
			}
			s := x.host.site
			var links []string
			for i := range 10 {
				r := dice(hash(x.name), uint64(i), saltTrap)
				links = append(links, fmt.Sprintf("http://h%08x.%s:%d/", uint32(r.next()), s.name, s.web.port))
			}
			return x.page200(list(string(x.name), links...)), true
		},
	}, {
		id: "trap-08", server: "a sitemap index that nests for ever, and one that names itself",
		expect: "the limit on depth and number of sitemaps",
		rest: func(x *exchange, path string) (bool, bool) {
			s := x.host.site
			if path == "/robots.txt" {
				return x.reply(200, "text/plain", "", []byte("Sitemap: "+s.origin+"/self.xml\nSitemap: "+s.origin+"/deep/0.xml\n")), true
			}
			next := path
			if n, ok := strings.CutPrefix(strings.TrimSuffix(path, ".xml"), "/deep/"); ok {
				i, err := strconv.Atoi(n)
				if err != nil || i < 0 {
					return false, false
				}
				next = fmt.Sprintf("/deep/%d.xml", i+1)
			} else if path != "/self.xml" {
				return false, false
			}
			return x.reply(200, "application/xml", "", []byte("<?xml version=\"1.0\"?><sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><sitemap><loc>"+
				s.origin+next+"</loc></sitemap></sitemapindex>\n")), true
		},
	}, {
		id: "trap-10", server: "takes every spelling of a path for the same: /page, /Page, /PAGE",
		expect: "each spelling once, one payload in the archive",
		links:  func(*site) []string { return spellings },
		rest: func(x *exchange, path string) (bool, bool) {
			if !strings.EqualFold(path, spellings[0]) {
				return false, false
			}
			return x.page200(list("the same page", spellings...)), true
		},
	}}
}

var spellings = []string{"/page", "/Page", "/pAge", "/PAge", "/paGe", "/PaGe", "/PAGE", "/PAgE"}

// robotsFiles are sites whose robots.txt is out of order.
func robotsFiles() []behaviour {
	failing := func(status int) func(*exchange) (bool, bool) {
		return func(x *exchange) (bool, bool) {
			if string(x.path) != "/robots.txt" {
				return false, false
			}
			if status == 0 {
				return x.drain(), true
			}
			x.host.told(&rules{deny: []string{"/"}})
			return x.reply(status, "text/plain", "", []byte("failing\n")), true
		}
	}
	const unavailable = "nothing else is fetched, robots.txt is asked for again later"
	chain := func(n int) func(*exchange) (bool, bool) {
		return func(x *exchange) (bool, bool) {
			i := 0
			if at, ok := strings.CutPrefix(string(x.path), "/robots/"); ok {
				i, _ = strconv.Atoi(at)
			} else if string(x.path) != "/robots.txt" {
				return false, false
			}
			if i < n {
				return x.reply(302, "", fmt.Sprintf("Location: /robots/%d\r\n", i+1), nil), true
			}
			file := "User-agent: *\nDisallow: /secret\n"
			if n <= 5 {
				r := readRobots(file)
				x.host.told(&r)
			}
			return x.reply(200, "text/plain", "", []byte(file)), true
		}
	}
	secrets := []path{page("/open", "<p>open"), page("/secret", "<p>secret")}
	return []behaviour{
		{id: "robots-02", server: "robots.txt answers 500", expect: unavailable, first: failing(500), paths: secrets},
		{id: "robots-02/503", server: "robots.txt answers 503", expect: unavailable, first: failing(503), paths: secrets},
		{id: "robots-02/timeout", server: "robots.txt never answers", expect: unavailable, first: failing(0), paths: secrets},
		{id: "robots-04", server: "robots.txt behind 5 redirects", expect: "followed: /open is fetched, /secret is not", first: chain(5), paths: secrets},
		{id: "robots-04/six", server: "robots.txt behind 6 redirects", expect: "as if there were none: both are fetched", first: chain(6), paths: secrets},
		{
			id: "robots-06", server: "robots.txt allows all, and forbids /secret once three pages were fetched",
			expect: "asked for again within 24 hours and obeyed from then on",
			paths:  append([]path{page("/1", "<p>1"), page("/2", "<p>2")}, secrets...),
			rest: func(x *exchange, path string) (bool, bool) {
				if path != "/robots.txt" {
					return false, false
				}
				file := "User-agent: *\nDisallow:\n"
				if x.host.account().Pages >= 3 {
					file = "User-agent: *\nDisallow: /secret\n"
				}
				r := readRobots(file)
				x.host.told(&r)
				return x.reply(200, "text/plain", "Cache-Control: max-age=1\r\n", []byte(file)), true
			},
		},
	}
}

// protocols are ports that speak something else than what the URL promises.
func protocols() []behaviour {
	out := []behaviour{{
		id: "proto-01", server: "speaks HTTP/2 only",
		expect: "an error of protocol after a bounded read",
		// An empty SETTINGS frame, then GOAWAY with PROTOCOL_ERROR.
		first: always("\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x01"),
	}, {
		id: "proto-03", server: "links to hosts whose certificates are bad",
		expect: "fetched; each of the others is refused, or recorded when told not to verify",
		links: func(s *site) []string {
			var out []string
			for _, o := range s.web.sites {
				if strings.HasPrefix(o.Behaviour, "proto-03/") {
					out = append(out, o.origin+"/")
				}
			}
			return out
		},
	}, {
		id: "proto-05", server: "speaks SSH",
		expect: "an error of protocol after a bounded read",
		first:  always("SSH-2.0-OpenSSH_9.9\r\nInvalid SSH identification string.\r\n"),
	}, {
		id: "proto-05/smtp", server: "speaks SMTP, and waits for more",
		expect: "an error of protocol after a bounded read",
		first: func(x *exchange) (bool, bool) {
			return x.send([]byte("220 mail.test ESMTP\r\n500 5.5.1 command unrecognized\r\n")) && x.drain(), true
		},
	}}
	for kind, make := range badCerts {
		out = append(out, behaviour{
			id: "proto-03/" + kind, server: "a certificate that is " + kind,
			expect: "refused, unless told not to verify",
			cert:   make,
		})
	}
	// A long list of names is unusual, not wrong.
	for i := range out {
		if out[i].id == "proto-03/many-names" {
			out[i].server, out[i].expect = "a certificate for 10,000 names", "fetched, or refused for its size"
		}
	}
	return out
}

// addresses are hosts whose trouble is in DNS.
func addresses() []behaviour {
	return []behaviour{{
		id: "dns-02", server: "1,000 addresses, of which the first three are dead and the fourth is the server",
		expect: "fetched",
		paths:  []path{page("/here", "<p>here")},
		records: func(s *site) map[string]record {
			var r record
			for i := range 1000 {
				r.addrs = append(r.addrs, netip.AddrFrom4([4]byte{127, 200, byte(i >> 8), byte(i)}))
			}
			r.addrs[3] = s.addr
			return map[string]record{s.name: r}
		},
	}, {
		id: "dns-04", server: "a name that is an alias of an alias of itself",
		expect:   "the name does not resolve",
		nameless: true,
		records: func(s *site) map[string]record {
			return map[string]record{s.name: {cname: "loop." + s.name + "."}, "loop." + s.name: {cname: s.name + "."}}
		},
	}}
}

// names are pages whose links are hard to read.
func names() []behaviour {
	// echo answers every path, so that the audit shows which ones were asked for.
	echo := func(x *exchange, path string) (bool, bool) {
		if path == "/robots.txt" {
			return false, false
		}
		return x.page200("<p>" + html.EscapeString(path)), true
	}
	return []behaviour{{
		id: "url-01", server: "links that are hardly URLs",
		expect: "no crash; what is followed has one form, which stays the same when read again",
		paths:  []path{page("/", list("odd", oddLinks...))}, hidden: true,
		rest: echo,
	}, {
		id: "url-03", server: "%00, %2e%2e, %2F, %252e, lone surrogates, right-to-left marks, look-alike names",
		expect: "no link changes its meaning: escapes stay as they were, dot segments go",
		paths: []path{page("/", "<meta charset=utf-8><title>escapes</title>\n"+
			"<a href=\"/e/%00\">.</a> <a href=\"/e/x/%2e%2e/y\">.</a> <a href=\"/e/x%2Fy\">.</a> <a href=\"/e/%252e%252e/z\">.</a>\n"+
			"<a href=\"/e/&#xD800;\">.</a> <a href=\"/e/\xed\xa0\x80\">.</a> <a href=\"/e/\u202eltr\">.</a> <a href=\"/e/%zz\">.</a>\n"+
			"<a href=\"/e/Zürich?q=ü&amp;r=%C3%BC\">.</a> <a href=\"http://аррӏе.test/\">.</a> <a href=\"http://xn--80ak6aa92e.test/\">.</a>\n")},
		hidden: true, rest: echo,
	}, {
		id: "url-05", server: "two base elements, base javascript:, base of another host",
		expect: "the first base counts, and only if it is one that can be fetched from",
		paths: []path{
			page("/twice", "<base href=\"/one/\"><base href=\"/two/\"><a href=\"x\">x</a>"),
			page("/javascript", "<base href=\"javascript:alert(1)\"><a href=\"y\">y</a>"),
			page("/elsewhere", "<base href=\"http://elsewhere.test/\"><a href=\"z\">z</a>"),
			page("/one/x", "<p>right"), page("/y", "<p>right"),
		},
	}}
}

// oddLinks are written for this list, after the kinds of mistakes that people and programs make.
var oddLinks = []string{
	"", " ", "#", "?", "/", "//", "///", "////x", "\\", "\\\\x\\y", "/\\", ".", "..", "./", "../../../..", "/./a/../b/.", "a//b///c", "/a/%2e/b",
	"http:", "http:/", "http://", "http:///x", "http://?", "http://#", "http:x", "https:x", "HTTP://URL-01.HOSTILE.TEST/UP", "hTtP:/one", "ht\ttp://x",
	"http://[", "http://[]", "http://[::1", "http://[::1]:99999/", "http://[fe80::1%25eth0]/", "http://[1:2:3:4:5:6:7:8:9]/", "http://:80/", "http://:@/", "http://@/",
	"http://user:pass@/", "http://a b/", "http://a\u00adb.test/", "http://%41.test/", "http://a..b/", "http://.test/", "http://test./", "http://-.test/", "http://xn--/", "http://xn--a/",
	"http://0x7f.1/", "http://0300.0250.1/", "http://4294967296/", "http://1.2.3.4.5/", "http://256.1.1.1/", "http://127.0.0.1:0/", "http://x:65536/", "http://x:-1/", "http://x:8 0/", "http://x:８０/",
	"http://" + strings.Repeat("a", 300) + ".test/", "http://" + strings.Repeat("a.", 200) + "test/", "/" + strings.Repeat("long/", 800), "/?" + strings.Repeat("a=b&", 2000),
	"javascript:alert(1)", "JaVaScRiPt:alert(1)", "\x01javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,<a href=/x>", "mailto:a@b", "tel:+1", "ftp://x/", "file:///etc/passwd", "ws://x/",
	"about:blank", "blob:http://x/1", "view-source:http://x/", "urn:isbn:1", "cid:1", "://x", ":", "::", ":80", "@", "a:b:c", "1http://x/", "http&#58;//x/",
	"/a b", "/a\tb", "/a\nb", " /lead", "/trail ", "/nul\x00", "/del\x7f", "/ä", "/日本語", "/😀", "/\u202e", "/\ufeff", "/\ufffd", "/\uffff", "/%", "/%1", "/%zz", "/%00", "/%ff", "/%u0041",
	"/a?b?c", "/a#b#c", "/a;b=c", "/a;jsessionid=1", "/a|b", "/a^b", "/a`b", "/a{b}", "/a<b>", "/a\"b", "/a'b", "/a[b]", "/a+b", "/a&amp;b", "/a&b=c", "/a=b", "/a,b", "/a!b", "/a$b", "/a(b)",
	"/null", "/undefined", "/[object Object]", "/NaN", "/{{ url }}", "/<%= url %>", "/${url}", "/%s", "/'; DROP TABLE pages; --", "/../../etc/passwd", "/..%2f..%2fetc", "/CON", "/aux.html",
}
