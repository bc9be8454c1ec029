package testweb

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
)

// smuggled is a whole answer hidden in the bytes after another one. A visitor that loses count of the bytes takes it for
// the answer to its next question.
const smuggled = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<p>smuggled</p>"

const ok200 = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

func length(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }

// framing are answers whose bytes do not add up.
func framing() []behaviour {
	return []behaviour{{
		id: "http-01", server: "Content-Length larger than the body, then closes",
		expect: "what came is kept and marked truncated (disconnect)",
		paths:  []path{raw("/short", 0, ok200+"Content-Length: 5000\r\n\r\n<p>only this much", false)},
	}, {
		id: "http-03", server: "two different Content-Length",
		expect: "refused, or read to the close; the next answer is never the smuggled one",
		paths: []path{
			raw("/lengths", 200, ok200+"Content-Length: 4\r\n"+length(4+len(smuggled))+"\r\n<p>."+smuggled, true),
			page("/after", "<p>after"),
		},
	}, {
		id: "http-05", server: "chunked with a size that is no number",
		expect: "what came is kept and marked truncated",
		paths:  []path{raw("/chunks", 0, ok200+"Transfer-Encoding: chunked\r\n\r\n6\r\n<p>one\r\nzz\r\n<p>two\r\n0\r\n\r\n", false)},
	}, {
		id: "http-07", server: "chunked without the last chunk, then closes",
		expect: "what came is kept and marked truncated",
		paths:  []path{raw("/chunks", 0, ok200+"Transfer-Encoding: chunked\r\n\r\n6\r\n<p>one\r\n", false)},
	}, {
		id: "http-09", server: "Transfer-Encoding and Content-Length both",
		expect: "the chunks count, the connection is not used again",
		paths: []path{
			raw("/both", 200, ok200+"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n<p>one\r\n0\r\n\r\n", true),
			page("/after", "<p>after"),
		},
	}, {
		id: "http-11", server: "a bare body without status line or headers, as in HTTP/0.9",
		expect: "an error of protocol, or the body",
		paths:  []path{raw("/bare", 0, "<p>no head at all\n", false)},
	}, {
		id: "http-13", server: "100 MB of headers",
		expect: "given up at the limit on headers",
		paths:  []path{{"/headers", headers}},
	}, {
		id: "http-15", server: "NUL, a lone CR or a folded line in a header",
		expect: "refused, or read as a plain value; no header is made up",
		paths: []path{
			raw("/nul", 200, ok200+"X-Odd: a\x00b\r\nContent-Length: 6\r\n\r\n<p>nul", false),
			raw("/cr", 200, ok200+"X-Odd: a\rX-Made-Up: b\r\nContent-Length: 5\r\n\r\n<p>cr", false),
			raw("/fold", 200, ok200+"X-Odd: a\r\n  folded\r\nContent-Length: 7\r\n\r\n<p>fold", false),
		},
	}, {
		id: "http-17", server: "204 and 304 with a body",
		expect: "no body, the connection is not used again or the body is not taken for an answer",
		paths: []path{
			raw("/204", 204, "HTTP/1.1 204 No Content\r\n"+length(len(smuggled))+"\r\n"+smuggled, true),
			raw("/304", 304, "HTTP/1.1 304 Not Modified\r\n"+length(len(smuggled))+"\r\n"+smuggled, true),
			page("/after", "<p>after"),
		},
	}, {
		id: "http-19", server: "promises keep-alive and resets the connection at the second request",
		expect: "asked again on a fresh connection, all pages fetched",
		paths:  []path{page("/1", "<p>1"), page("/2", "<p>2"), page("/3", "<p>3")},
		first: func(x *exchange) (bool, bool) {
			if x.answers < 2 {
				return false, false
			}
			if t, ok := x.raw.(*net.TCPConn); ok {
				t.SetLinger(0)
			}
			return false, true
		},
	}}
}

func headers(x *exchange) bool {
	if !x.send([]byte(ok200)) {
		return false
	}
	line := []byte(strings.Repeat("X-Filler: "+strings.Repeat("x", 1012)+"\r\n", 64))
	for sent := 0; sent < 100<<20; sent += len(line) {
		if !x.send(line) {
			return false
		}
	}
	return x.script(200, "Content-Length: 0\r\n\r\n", false)
}

// pace are servers that keep one waiting.
func pace() []behaviour {
	return []behaviour{{
		id: "slow-01", server: "takes the request and never answers",
		expect: "the time to the first byte runs out",
		paths:  []path{{"/never", (*exchange).drain}},
	}, {
		id: "slow-03", server: "one byte of body a second, for ever",
		expect: "too slow, given up within the limit; the host's slot is free again",
		paths: []path{{"/drip", func(x *exchange) bool {
			for x.send([]byte(ok200 + "\r\n")); x.send([]byte("x")) && x.v.web.wait(time.Second); {
			}
			return false
		}}},
	}, {
		id: "slow-05", server: "drops every SYN",
		expect: "connecting runs out of time, the host backs off",
		absent: !canHole,
		setup:  func(w *Web, s *site) error { return s.dig(w.port) },
	}}
}

// sizes are answers larger than they look.
func sizes() []behaviour {
	return []behaviour{{
		id: "size-01", server: "random bytes without end",
		expect: "cut at the largest body, marked truncated (length)",
		paths: []path{{"/endless", func(x *exchange) bool {
			r := dice(x.v.web.seed, saltTrap)
			b := make([]byte, 64<<10)
			for ok := x.send([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n")); ok; ok = x.send(b) {
				for i := 0; i < len(b); i += 8 {
					v := r.next()
					copy(b[i:], []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32), byte(v >> 40), byte(v >> 48), byte(v >> 56)})
				}
			}
			return false
		}}},
	}, {
		id: "size-03", server: "2 kB of brotli that unpack to 1 GiB",
		expect: "the limit on unpacked size or ratio",
		paths: []path{{"/bomb", func(x *exchange) bool {
			return x.reply(200, "text/html", "Content-Encoding: br\r\n", bomb())
		}}},
	}, {
		id: "size-05", server: "gzip within gzip, within br, thirty deep",
		expect: "shallow ones are unpacked, deep ones refused",
		paths: []path{
			coded("/two", "gzip, gzip", zip(zip([]byte("<p>two deep")))),
			coded("/three", "gzip, gzip, br", squeeze(zip(zip([]byte("<p>three deep"))))),
			coded("/thirty", strings.Repeat("gzip, ", 29)+"gzip", zips(30, []byte("<p>thirty deep"))),
		},
	}, {
		id: "size-07", server: "Content-Encoding gzip over a plain body",
		expect: "the plain body",
		paths:  []path{coded("/lies", "gzip", []byte("<!doctype html><title>plain</title><p>not packed at all"))},
	}, {
		id: "size-09", server: "an attribute of 10 MB; 100,000 nested elements",
		expect: "parsed in linear time, the stack does not overflow",
		paths: []path{
			{"/attribute", func(x *exchange) bool {
				return x.page200("<p title=\"" + strings.Repeat("a", 10<<20) + "\">wide <a href=\"/wide\">link</a>")
			}},
			{"/nested", func(x *exchange) bool {
				return x.page200(strings.Repeat("<div>", 100_000) + "deep <a href=\"/deep\">link</a>" + strings.Repeat("</div>", 100_000))
			}},
			page("/wide", "<p>wide"), page("/deep", "<p>deep"),
		},
	}}
}

func coded(at, coding string, b []byte) path {
	return path{at, func(x *exchange) bool {
		return x.reply(200, "text/html", "Content-Encoding: "+coding+"\r\n", b)
	}}
}

func zips(n int, b []byte) []byte {
	for range n {
		b = zip(b)
	}
	return b
}

func squeeze(b []byte) []byte {
	var out bytes.Buffer
	z := brotli.NewWriter(&out)
	z.Write(b) // a bytes.Buffer does not fail
	z.Close()
	return out.Bytes()
}

// Size of the brotli bomb: blocks of zeros.
const (
	bombBlock  = 8 << 20
	bombBlocks = 128
)

// bomb packs 1 GiB of zeros. After two blocks the encoder is in a state that no longer changes, so that the third block's
// bytes can stand for all that follow.
var bomb = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	z := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: 5, LGWin: 24})
	zeros := make([]byte, bombBlock)
	for range 2 {
		z.Write(zeros)
		z.Flush()
	}
	at := out.Len()
	z.Write(zeros)
	z.Flush()
	block := bytes.Clone(out.Bytes()[at:])
	for range bombBlocks - 3 {
		out.Write(block)
	}
	z.Close()
	return out.Bytes()
})

// redirects lead nowhere, or to strange places.
func redirects() []behaviour {
	const last = 10_000
	to := func(location string) string { return "Location: " + location + "\r\n" }
	return []behaviour{{
		id: "redirect-01", server: "redirects to itself",
		expect: "stops: the URL is known",
		paths:  []path{redirect("/self", 302, to("/self"))},
	}, {
		id: "redirect-03", server: "a chain of 10,000 redirects",
		expect: "stops at the limit on redirects in a row",
		links:  func(*site) []string { return []string{"/r/0"} },
		rest: func(x *exchange, path string) (bool, bool) {
			n, err := strconv.Atoi(strings.TrimPrefix(path, "/r/"))
			switch {
			case err != nil || n < 0 || n > last:
				return false, false
			case n == last:
				return x.page200("<p>the end"), true
			}
			return x.reply(302, "", to("/r/"+strconv.Itoa(n+1)), nil), true
		},
	}, {
		id: "redirect-05", server: "Location missing, empty, relative, //host, /\\\\host/, with a space, with UTF-8, javascript:, file:",
		expect: "resolved by the WHATWG rules; only http and https are followed",
		paths: []path{
			redirect("/missing", 302, ""),
			redirect("/empty", 302, to("")),
			redirect("/d/relative", 302, to("../landed?by=relative")),
			redirect("/scheme", 302, to("//redirect-05"+Suffix+"/landed?by=scheme")),
			redirect("/backslash", 302, to("/\\redirect-05"+Suffix+"/landed?by=backslash")),
			redirect("/space", 302, to("/landed?by=a space")),
			redirect("/utf8", 302, to("/landed?by=Zürich")),
			redirect("/javascript", 302, to("javascript:alert(1)")),
			redirect("/file", 302, to("file:///etc/passwd")),
		},
		rest: func(x *exchange, path string) (bool, bool) {
			if !strings.HasPrefix(path, "/landed") {
				return false, false
			}
			return x.page200("<p>landed"), true
		},
	}, {
		id: "redirect-07", server: "meta refresh to itself, and in a circle",
		expect: "each URL once",
		paths: []path{
			page("/refresh", "<meta http-equiv=refresh content=\"0\"><p>again"),
			page("/self", "<meta http-equiv=refresh content=\"0; url=/self\"><p>again"),
			page("/ping", "<meta http-equiv=refresh content=\"0; url=/pong\"><p>ping"),
			page("/pong", "<meta http-equiv=refresh content=\"0; url=/ping\"><p>pong"),
		},
	}, {
		id: "redirect-09", server: "300, 307 and 308",
		expect: "followed with GET",
		paths: []path{
			redirect("/300", 300, to("/end/300")), redirect("/307", 307, to("/end/307")), redirect("/308", 308, to("/end/308")),
		},
		rest: func(x *exchange, path string) (bool, bool) {
			if !strings.HasPrefix(path, "/end/") {
				return false, false
			}
			return x.page200(fmt.Sprintf("<p>end of %s", path[5:])), true
		},
	}}
}
