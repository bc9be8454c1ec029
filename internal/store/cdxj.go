package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// line is one entry of the index, made the same way from a record just appended
// and from one read back.
type line struct {
	uri    string
	at     time.Time
	kind   string // response or revisit
	status int
	mime   string
	digest string
	place  Place
	file   string
}

// lineOf returns the line of an entry that was read to its end, or false for one
// that is not indexed.
func lineOf(e *Entry, file string) (line, bool) {
	if e.Type != "response" && e.Type != "revisit" {
		return line{}, false
	}
	l := line{uri: e.URI, at: e.Date, kind: e.Type, status: e.Status, mime: e.Mime,
		digest: e.Field("WARC-Payload-Digest"), place: e.Place, file: file}
	if l.mime == "" {
		l.mime = e.Field("WARC-Identified-Payload-Type")
	}
	return l, true
}

// appendTo adds the line in the form of pywb's CDXJ:
//
//	org,example)/page 20260102030405 {"url":"https://example.org/page", ...}
func (l *line) appendTo(b []byte) []byte {
	b = appendSurt(b, l.uri)
	b = append(b, ' ')
	b = l.at.UTC().AppendFormat(b, "20060102150405")
	mime := l.mime
	if l.kind == "revisit" {
		mime = "warc/revisit"
	} else if mime == "" {
		mime = "unk"
	}
	b = appendQuoted(append(b, ` {"url":`...), l.uri)
	b = appendQuoted(append(b, `,"mime":`...), mime)
	if l.status != 0 {
		b = append(b, `,"status":"`...)
		b = append(strconv.AppendInt(b, int64(l.status), 10), '"')
	}
	b = appendQuoted(append(b, `,"digest":`...), l.digest)
	b = strconv.AppendInt(append(b, `,"length":"`...), l.place.Length, 10)
	b = strconv.AppendInt(append(b, `","offset":"`...), l.place.Offset, 10)
	b = appendQuoted(append(b, `","filename":`...), l.file)
	return append(b, "}\n"...)
}

// appendQuoted adds s as a JSON string.
func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			buf := bytes.NewBuffer(b)
			enc := json.NewEncoder(buf)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(s); err != nil {
				panic(fmt.Sprintf("store: a string: %v", err))
			}
			return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendSurt adds surt(raw). Most URLs have nothing in them that surt would have
// to look at twice; for those it needs no memory.
func appendSurt(b []byte, raw string) []byte {
	scheme, rest, _ := strings.Cut(raw, "://")
	if scheme != "http" && scheme != "https" {
		return append(b, surt(raw)...)
	}
	host, path := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	host, port, numbered := strings.Cut(host, ":")
	if !plainHost(host) || numbered && (port == "" || strings.Trim(port, "0123456789") != "") || !plainPath(path) {
		return append(b, surt(raw)...)
	}
	if first, rest, _ := strings.Cut(host, "."); isWWW(first) && strings.IndexByte(rest, '.') >= 0 {
		host = rest
	}
	for host != "" {
		i := strings.LastIndexByte(host, '.')
		b = append(b, host[i+1:]...)
		if i >= 0 {
			b = append(b, ',')
		}
		host = host[:max(i, 0)]
	}
	if numbered && !(scheme == "http" && port == "80") && !(scheme == "https" && port == "443") {
		b = append(b, ':')
		b = append(b, port...)
	}
	b = append(b, ')')
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	if path == "" {
		path = "/"
	}
	for i := range len(path) {
		c := path[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// plainHost: lower case, no empty label, no address.
func plainHost(s string) bool {
	dot, letter := true, false
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || c == '-':
			dot, letter = false, true
		case '0' <= c && c <= '9':
			dot = false
		case c == '.' && !dot:
			dot = true
		default:
			return false
		}
	}
	return letter && !dot
}

// plainPath: nothing escaped or to be escaped, no query and no fragment.
func plainPath(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
		case c == '/' || c == '-' || c == '_' || c == '.' || c == '~':
		default:
			return false
		}
	}
	return true
}

// surt returns the key under which playback looks a URL up: the host's labels
// reversed, then path and query, all in lower case; without scheme, user, www,
// default port, trailing slash and the order of query parameters.
func surt(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return strings.ReplaceAll(strings.ToLower(raw), " ", "%20")
	}
	host := strings.ToLower(u.Hostname())
	if !strings.Contains(host, ":") && !isIPv4(host) {
		labels := strings.Split(strings.TrimSuffix(host, "."), ".")
		if len(labels) > 2 && isWWW(labels[0]) {
			labels = labels[1:]
		}
		slices.Reverse(labels)
		host = strings.Join(labels, ",")
	}
	if p := u.Port(); p != "" && !(u.Scheme == "http" && p == "80") && !(u.Scheme == "https" && p == "443") {
		host += ":" + p
	}
	path := strings.ToLower(u.EscapedPath())
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	if path == "" {
		path = "/"
	}
	key := host + ")" + path
	if u.RawQuery != "" {
		args := strings.Split(strings.ToLower(u.RawQuery), "&")
		slices.Sort(args)
		key += "?" + strings.Join(args, "&")
	}
	return strings.ReplaceAll(key, " ", "%20")
}

func isWWW(label string) bool {
	return strings.HasPrefix(label, "www") && strings.Trim(label[3:], "0123456789") == ""
}

func isIPv4(host string) bool { return host != "" && strings.Trim(host, "0123456789.") == "" }
