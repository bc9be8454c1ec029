package page

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// Base is what the links of one page are relative to: the page's URL, or that
// of its base element. Whoever reads links makes one Base per page. It is not
// safe for concurrent use.
//
// Nearly all links are plain: all their characters stand for themselves, so
// the URL is a piece of the base and a piece of the link. Those are joined
// here, see plain; the rest is left to the parser, which costs thirty times as
// much. A link becomes the same URL on either way.
type Base struct {
	url  URL
	dir  int         // url.s[:dir] ends with the path's last slash
	file int         // url.s[:file] ends with the path
	w    *whatwg.Url // url without its query, for the parser; nil until it is needed
}

// Base returns u as the base of links. Under the zero URL only absolute links
// can be resolved.
func (u URL) Base() *Base {
	b := baseOf(u)
	return &b
}

func baseOf(u URL) Base {
	file := len(u.s)
	if i := strings.IndexByte(u.s, '?'); i >= 0 {
		file = i
	}
	return Base{url: u, dir: strings.LastIndexByte(u.s[:file], '/') + 1, file: file}
}

// Resolve reads ref, absolute or relative to the base. A ref of another scheme
// is refused for that alone, without being parsed.
func (b *Base) Resolve(ref string) (URL, error) {
	return b.ResolveBytes([]byte(ref)) // not copied: ResolveBytes only reads it
}

// ResolveBytes is Resolve for a slice of a page. The URL does not keep it.
func (b *Base) ResolveBytes(ref []byte) (URL, error) {
	if len(ref) > MaxURL {
		return URL{}, ErrLong
	}
	link := trim(ref)
	scheme := schemeOf(link)
	if scheme > 0 && !isHTTP(link[:scheme]) {
		return URL{}, ErrScheme
	}
	if u, ok := b.plain(link, scheme); ok {
		return u, nil
	}
	return b.resolveSlow(string(ref))
}

// resolveSlow reads any ref by the WHATWG rules.
func (b *Base) resolveSlow(ref string) (URL, error) {
	if b.url.IsZero() {
		return parseSlow(ref)
	}
	if err := bounded(ref); err != nil {
		return URL{}, err
	}
	if b.self(ref) {
		return b.url, nil
	}
	if b.w == nil {
		// A link takes over the query only when it is the page itself, and the
		// parser would copy all parameters of the query for every link.
		w, err := parser.Parse(b.url.s[:b.file])
		if err != nil {
			return URL{}, reason(err)
		}
		b.w = w
	}
	w, err := b.w.Parse(ref)
	if err != nil {
		return URL{}, reason(err)
	}
	return fromWhatwg(w)
}

// self says that ref is the base itself: nothing, or its scheme alone, before
// a fragment.
func (b *Base) self(ref string) bool {
	ref, _, _ = strings.Cut(clean(ref), "#")
	scheme := strings.TrimSuffix(b.url.s[:b.url.user], "//")
	return ref == "" || len(ref) == len(scheme) && strings.EqualFold(ref, scheme)
}

// plain resolves a trimmed link, whose scheme has that many bytes, if all of
// it is plain. When in doubt it is not. Links and URLs of up to MaxParts bytes
// keep within all bounds.
func (b *Base) plain(link []byte, scheme int) (URL, bool) {
	if len(link) > MaxParts || scheme == 0 && b.url.IsZero() {
		return URL{}, false
	}
	// The URL is head + site + rest, with a slash before rest where that lacks
	// its first.
	u, head, rest, slash := b.url, "", link, false
	var site []byte
	switch {
	case scheme > 0 || len(link) > 1 && link[0] == '/' && link[1] == '/':
		var ok bool
		if head, rest, ok = b.origin(link, scheme); !ok {
			return URL{}, false
		}
		if n := b.stays(head, rest); n > 0 {
			head, rest = u.s[:u.path], rest[n:]
		} else {
			host, end, ok := authority(rest, head == "https://")
			if !ok {
				return URL{}, false
			}
			site, rest = rest[:end], rest[end:]
			start := len(head)
			u.parts = parts{user: uint16(start), host: uint16(start), hostEnd: uint16(start + host), path: uint16(start + end)}
		}
		slash = len(rest) == 0 || rest[0] != '/'
	case len(link) == 0 || link[0] == '#':
		return u, true
	case link[0] == '/':
		head = u.s[:u.path]
	case link[0] == '?':
		head = u.s[:b.file]
	default:
		head, rest = b.climb(link)
	}
	n, ok := tail(rest)
	size := len(head) + len(site) + n
	if slash {
		size++
	}
	if !ok || size > MaxParts {
		return URL{}, false
	}
	var s strings.Builder
	s.Grow(size)
	s.WriteString(head)
	s.Write(site)
	if slash {
		s.WriteByte('/')
	}
	s.Write(rest[:n])
	u.s = s.String()
	return u, true
}

// origin returns what stands before the host of an absolute link, and the link
// from there on.
func (b *Base) origin(link []byte, scheme int) (string, []byte, bool) {
	switch rest := link[scheme:]; {
	case scheme == 0:
		return b.url.s[:b.url.user], link[2:], true
	case len(rest) < 3 || string(rest[:3]) != "://":
		return "", nil, false
	case string(link[:scheme]) == "http":
		return "http://", rest[3:], true
	case string(link[:scheme]) == "https":
		return "https://", rest[3:], true
	}
	return "", nil, false
}

// stays returns the length of the host and port that rest, which follows head,
// begins with if they are the base's own, else 0. What is canonical need not be
// looked at again. A base with credentials is not the same site: they would be
// left out.
func (b *Base) stays(head string, rest []byte) int {
	u := b.url
	own := u.HostPort()
	if u.user == u.host && head == u.s[:u.user] && len(rest) >= len(own) && string(rest[:len(own)]) == own && ends(rest, len(own)) {
		return len(own)
	}
	return 0
}

// climb follows the dots that a relative link begins with, and returns the
// directory they lead to and the link behind them.
func (b *Base) climb(link []byte) (string, []byte) {
	s, dir, root := b.url.s, b.dir, int(b.url.path)+1
	for len(link) > 0 && link[0] == '.' {
		n := 1
		if len(link) > 1 && link[1] == '.' {
			n = 2
		}
		if !ends(link, n) {
			break
		}
		if n == 2 && dir > root {
			dir = strings.LastIndexByte(s[:dir-1], '/') + 1
		}
		if n < len(link) && link[n] == '/' {
			n++
		}
		link = link[n:]
	}
	return s[:dir], link
}
