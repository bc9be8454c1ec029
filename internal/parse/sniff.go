package parse

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
)

// sniffed is how much of a body is looked at to tell what it is.
const sniffed = 1024

// IsHTML says whether a body is read as HTML: when it was served as such, or
// when it was served as nothing in particular and begins like HTML.
func IsHTML(contentType string, head []byte) bool {
	m := media(contentType)
	if htmlType(m) {
		return true
	}
	return unknownType(m) && looksHTML(head)
}

func htmlType(m string) bool { return m == "text/html" || m == "application/xhtml+xml" }

func unknownType(m string) bool {
	return m == "" || m == "unknown/unknown" || m == "application/unknown" || m == "*/*" || !strings.Contains(m, "/")
}

// htmlStarts are the tags by which the MIME Sniffing standard knows HTML.
var htmlStarts = []string{
	"<!doctype html", "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table",
	"<a", "<style", "<title", "<b", "<body", "<br", "<p", "<meta", "<link",
}

func looksHTML(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\uFEFF"))
	head = skipSpace(head[:min(len(head), sniffed)])
	for _, tag := range htmlStarts {
		if hasPrefix(head, tag) && len(head) > len(tag) && (isSpace(head[len(tag)]) || head[len(tag)] == '>') {
			return true
		}
	}
	if hasPrefix(head, "<!--") {
		return true
	}
	return hasPrefix(head, "<?xml") && bytes.Contains(bytes.ToLower(head), []byte("<html"))
}

// IsSitemap says whether a body may be read as a sitemap or feed: XML with the
// root of one, gzipped or not, or a list of addresses: a file whose name says
// sitemap and that begins with one, or plain text that as far as can be seen
// holds nothing else.
func IsSitemap(contentType, path string, head []byte) bool {
	if htmlType(media(contentType)) {
		return false
	}
	head = gunzip(head, sniffed)
	head = bytes.ToLower(head[:min(len(head), sniffed)])
	head = bytes.ReplaceAll(head, []byte{0}, nil) // UTF-16, near enough
	for _, root := range []string{"urlset", "sitemapindex", "rss", "feed", "rdf"} {
		if hasRoot(head, root) {
			return true
		}
	}
	path, _, _ = strings.Cut(path, "?")
	name := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	head = skipSpace(bytes.TrimPrefix(head, []byte("\uFEFF")))
	if !hasPrefix(head, "http://") && !hasPrefix(head, "https://") {
		return false
	}
	return strings.Contains(name, "sitemap") || media(contentType) == "text/plain" && allAddresses(head)
}

// allAddresses says that every whole line is an address and nothing more.
func allAddresses(head []byte) bool {
	for {
		line, rest, more := bytes.Cut(head, []byte{'\n'})
		if !more {
			return true // the last one may be cut off
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && (!hasPrefix(line, "http://") && !hasPrefix(line, "https://") || bytes.ContainsAny(line, " \t")) {
			return false
		}
		head = rest
	}
}

// hasRoot says that a start tag of that name, with or without a prefix, is the
// first element of head, which is lower case.
func hasRoot(head []byte, root string) bool {
	for len(head) > 0 {
		i := bytes.IndexByte(head, '<')
		if i < 0 || i+1 == len(head) {
			return false
		}
		head = head[i:]
		if !isLetter(head[1]) {
			close := ">"
			if hasPrefix(head, "<!--") {
				close = "-->"
			}
			end := bytes.Index(head, []byte(close))
			if end < 0 {
				return false
			}
			head = head[end:]
			continue
		}
		end := bytes.IndexAny(head, " \t\r\n\f/>")
		if end < 0 {
			return false
		}
		_, local := splitName(head[1:end])
		return string(local) == root
	}
	return false
}

// splitName splits prefix:local.
func splitName(name []byte) (prefix, local []byte) {
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return nil, name
}

// gunzip undoes gzip, twice if need be: a .gz file is sometimes served with an
// encoding on top. What comes before an error or the bound counts.
func gunzip(body []byte, limit int64) []byte {
	for range 2 {
		if !bytes.HasPrefix(body, []byte("\x1f\x8b")) {
			break
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			break
		}
		body, _ = io.ReadAll(io.LimitReader(z, limit))
	}
	return body
}
