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
	b = append(b, surt(l.uri)...)
	b = append(b, ' ')
	b = l.at.UTC().AppendFormat(b, "20060102150405")
	b = append(b, ' ')
	mime := l.mime
	if l.kind == "revisit" {
		mime = "warc/revisit"
	} else if mime == "" {
		mime = "unk"
	}
	fields := struct {
		URL    string `json:"url"`
		Mime   string `json:"mime"`
		Status string `json:"status,omitempty"`
		Digest string `json:"digest"`
		Length string `json:"length"`
		Offset string `json:"offset"`
		File   string `json:"filename"`
	}{
		URL: l.uri, Mime: mime, Digest: l.digest, File: l.file,
		Length: strconv.FormatInt(l.place.Length, 10),
		Offset: strconv.FormatInt(l.place.Offset, 10),
	}
	if l.status != 0 {
		fields.Status = strconv.Itoa(l.status)
	}
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&fields); err != nil {
		panic(fmt.Sprintf("store: a struct of strings: %v", err))
	}
	return buf.Bytes()
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
