package page

// What a byte may be without losing or changing its meaning. The classes are
// narrower than the standard's: a byte that is in none only makes the parser
// look at it.
const (
	inScheme = 1 << iota // after the first letter, which case-folds
	inHost               // of a name or an IPv4 address, besides dots and hyphens
	inPath               // besides slashes
	inQuery
)

var class = func() (c [256]uint8) {
	for b := byte('!'); b <= '~'; b++ {
		c[b] = inPath | inQuery
	}
	for _, b := range []byte("\"#<>'") {
		c[b] = 0
	}
	c['\''] = inPath
	for _, b := range []byte("/?\\^`{|}") {
		c[b] = inQuery
	}
	for b := byte('0'); b <= '9'; b++ {
		c[b] |= inScheme | inHost
	}
	for b := byte('a'); b <= 'z'; b++ {
		c[b] |= inScheme | inHost
		c[b-'a'+'A'] |= inScheme
	}
	for _, b := range []byte("+-.") {
		c[b] |= inScheme
	}
	return c
}()

// trim cuts off the space and control characters round a link.
func trim(s []byte) []byte {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// schemeOf returns the length of a trimmed link's scheme, 0 when it has none
// or has a tab or line break in it.
func schemeOf(s []byte) int {
	if len(s) == 0 || s[0]|0x20 < 'a' || s[0]|0x20 > 'z' {
		return 0
	}
	for i, b := range s {
		if class[b]&inScheme == 0 {
			if b == ':' {
				return i
			}
			break
		}
	}
	return 0
}

// isHTTP says that a scheme is http or https, in any case.
func isHTTP(scheme []byte) bool {
	n := len(scheme)
	return (n == 4 || n == 5 && scheme[4]|0x20 == 's') &&
		scheme[0]|0x20 == 'h' && scheme[1]|0x20 == 't' && scheme[2]|0x20 == 't' && scheme[3]|0x20 == 'p'
}

// ends says that a host or path segment can end at i.
func ends(s []byte, i int) bool {
	return i == len(s) || s[i] == '/' || s[i] == '?' || s[i] == '#'
}

// authority measures the host, and the host with its port, that s begins with.
// A plain host is a name in lower case, where each dot and hyphen stands
// between letters or digits, or an IPv4 address as it is usually written. That
// rules out all names that are encoded. A plain port is not the scheme's own.
func authority(s []byte, secure bool) (host, end int, ok bool) {
	label := 0 // where the last one starts
	for host < len(s) {
		if b := s[host]; class[b]&inHost == 0 {
			if b != '.' && b != '-' || host == 0 || class[s[host-1]]&inHost == 0 {
				break
			}
			if b == '.' {
				label = host + 1
			}
		}
		host++
	}
	if host == 0 || class[s[host-1]]&inHost == 0 || digit(s[label]) && !dotted(s[:host]) {
		return 0, 0, false
	}
	end = host
	if end < len(s) && s[end] == ':' {
		port := 0
		for end++; end < len(s) && digit(s[end]) && port < 1<<16; end++ {
			port = port*10 + int(s[end]-'0')
		}
		own := 80
		if secure {
			own = 443
		}
		if port == own || port >= 1<<16 || end == host+1 || s[host+1] == '0' {
			return 0, 0, false
		}
	}
	return host, end, ends(s, end)
}

func digit(b byte) bool { return '0' <= b && b <= '9' }

// dotted says that s is four decimal numbers up to 255, as the parser would
// write them.
func dotted(s []byte) bool {
	dots, n, digits := 0, 0, 0
	for _, b := range s {
		switch {
		case b == '.' && digits > 0:
			dots, n, digits = dots+1, 0, 0
		case digit(b) && (digits == 0 || n > 0):
			n, digits = n*10+int(b-'0'), digits+1
		default:
			return false
		}
		if n > 255 {
			return false
		}
	}
	return dots == 3 && digits > 0
}

// tail measures the path and query that s begins with, up to its fragment. It
// is not plain when a segment might lead up or nowhere, whether the dots are
// written or encoded.
func tail(s []byte) (int, bool) {
	if moves(s) {
		return 0, false
	}
	i := 0
	for ; i < len(s); i++ {
		if class[s[i]]&inPath != 0 {
			continue
		}
		if s[i] != '/' {
			break
		}
		if moves(s[i+1:]) {
			return 0, false
		}
	}
	if i < len(s) && s[i] == '?' {
		for i++; i < len(s) && class[s[i]]&inQuery != 0; i++ {
		}
	}
	return i, i == len(s) || s[i] == '#'
}

// moves says that the segment that s begins with may stand for one or two dots.
func moves(s []byte) bool {
	switch {
	case len(s) == 0:
		return false
	case s[0] == '.':
		return ends(s, 1) || s[1] == '.' || s[1] == '%'
	case s[0] == '%':
		return len(s) > 2 && s[1] == '2' && s[2]|0x20 == 'e'
	}
	return false
}
