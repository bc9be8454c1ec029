package fetch

import (
	"encoding/base64"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"weir/page"
)

// acceptEncoding lists what Decoded can undo.
const acceptEncoding = "gzip, deflate, br, zstd"

// field is one header line of the user's.
type field struct{ name, value string }

// owned are the headers that carry the framing of a request, or that would make
// an answer unfit for the archive. The user cannot set them.
var owned = map[string]bool{
	"Host": true, "Connection": true, "Keep-Alive": true, "Content-Length": true,
	"Transfer-Encoding": true, "Te": true, "Trailer": true, "Upgrade": true, "Expect": true,
	"Accept-Encoding": true, "Proxy-Authorization": true, "Proxy-Connection": true,
	"Range": true, "If-Range": true, "If-Modified-Since": true, "If-None-Match": true,
	"If-Match": true, "If-Unmodified-Since": true,
}

// readFields reads "Name: value" lines.
func readFields(lines []string) ([]field, error) {
	var all []field
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		value = strings.TrimSpace(value)
		switch {
		case !ok:
			return nil, fmt.Errorf("a header is written \"Name: value\", which %q is not", name)
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("%q cannot be the name of a header", name)
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("the value of header %s has a control character", name)
		case owned[name]:
			return nil, fmt.Errorf("header %s is weir's own to set", name)
		}
		all = append(all, field{name, value})
	}
	return all, nil
}

// request writes the request for u twice: as it is sent, and as it is kept,
// which is the same less everything the user may hold secret. The order of the
// headers never changes. With no secrets both are the same slice.
func (c *Client) request(u page.URL, last bool, now time.Time) (sent, kept []byte) {
	host := settingsHost(u)
	given := c.extra
	if more := c.site[host]; len(more) > 0 {
		given = append(given[:len(given):len(given)], more...)
	}
	kept = make([]byte, 0, 256+len(u.String())+len(c.cfg.Agent)+len(c.cfg.From)+len(c.cfg.Accept))
	kept = append(kept, "GET "...)
	if c.absolute(u) {
		kept = append(kept, u.Site()...)
	}
	kept = append(append(kept, u.Path()...), " HTTP/1.1\r\n"...)
	kept = appendField(kept, "Host", u.HostPort())
	if !has(given, "User-Agent") {
		kept = appendField(kept, "User-Agent", c.cfg.Agent)
	}
	if c.cfg.From != "" && !has(given, "From") {
		kept = appendField(kept, "From", c.cfg.From)
	}
	if !has(given, "Accept") {
		kept = appendField(kept, "Accept", c.cfg.Accept)
	}
	kept = appendField(kept, "Accept-Encoding", acceptEncoding)
	if last {
		kept = appendField(kept, "Connection", "close")
	} else {
		kept = appendField(kept, "Connection", "keep-alive")
	}

	sent = kept[:len(kept):len(kept)] // what is added goes to a copy
	for _, f := range given {
		sent = appendField(sent, f.name, f.value)
	}
	if auth, ok := c.auth[host]; ok && !has(given, "Authorization") {
		sent = appendField(sent, "Authorization", basic(auth.User, auth.Password))
	}
	if jar := cookieHeader(c.cfg.Cookies, u, now); jar != "" && !has(given, "Cookie") {
		sent = appendField(sent, "Cookie", jar)
	}
	if c.absolute(u) && c.cfg.Proxy.User != nil {
		sent = appendField(sent, "Proxy-Authorization", c.proxyAuth())
	}
	open := len(kept)
	kept = append(kept, '\r', '\n')
	if len(sent) == open {
		return kept, kept // nothing secret
	}
	return append(sent, '\r', '\n'), kept
}

func has(given []field, name string) bool {
	return slices.ContainsFunc(given, func(f field) bool { return f.name == name })
}

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(append(b, value...), '\r', '\n')
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// clean says that u can stand in a request line: a canonical URL always can,
// but a request must not be at the mercy of whoever made the URL.
func clean(u page.URL) bool {
	s := u.String()
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}
