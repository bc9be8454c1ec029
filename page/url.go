package page

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	fault "github.com/nlnwa/whatwg-url/errors"
	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/publicsuffix"
)

// MaxURL bounds the bytes of a canonical URL, and of any text that is read as
// one. Anything longer is refused: no server that means well sends one.
const MaxURL = 64 << 10

// MaxParts bounds the slashes before the query, and the bytes of credentials,
// host and port together. The parser's work grows with the square of both:
// without a bound, one long link could cost it seconds.
const MaxParts = 1000

// parser is stateless after construction and safe for concurrent use.
var parser = whatwg.NewParser()

// URL is a canonical http or https URL without a fragment: parsing its string
// again gives the same URL. The zero URL is no URL. URLs are values; equal
// strings are equal URLs.
type URL struct {
	s string
	parts
}

// parts says where the parts of a URL are. It is a struct of its own since the
// compiler keeps structs of up to four fields in registers: a URL is passed
// around twice as fast.
type parts struct {
	host    uint16 // s[host:hostEnd] is the host, brackets of IPv6 included
	hostEnd uint16
	path    uint16 // s[path:] is path and query; s[hostEnd:path] is :port or nothing
	user    uint16 // s[user:host-1] are credentials when user < host
}

// Why a text is no URL that can be crawled.
var (
	ErrScheme = errors.New("only http and https URLs can be crawled")
	ErrHost   = errors.New("the URL has no host")
	ErrLong   = fmt.Errorf("the URL is not shorter than %d bytes", MaxURL)
	ErrParts  = fmt.Errorf("the URL has more than %d slashes, or as many bytes before its path", MaxParts)
)

// Parse reads an absolute URL by the WHATWG rules. It takes any bytes.
func Parse(s string) (URL, error) {
	link := trim([]byte(s))
	if u, ok := new(Base).plain(link, schemeOf(link)); ok {
		return u, nil
	}
	return parseSlow(s)
}

// parseSlow is Parse for whatever is not plain.
func parseSlow(s string) (URL, error) {
	if err := bounded(s); err != nil {
		return URL{}, err
	}
	w, err := parser.Parse(s)
	if err != nil {
		return URL{}, reason(err)
	}
	return fromWhatwg(w)
}

// Resolve reads ref as it would be read on the page u. For many links of one
// page, see [URL.Base].
func (u URL) Resolve(ref string) (URL, error) { return u.Base().Resolve(ref) }

// bounded refuses texts that would be dear to parse.
func bounded(s string) error {
	if len(s) <= MaxParts {
		return nil
	}
	if len(s) > MaxURL {
		return ErrLong
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	if strings.Count(s, "/")+strings.Count(s, `\`) > MaxParts {
		return ErrParts
	}
	s = clean(s)
	i := strings.IndexAny(s, `:/\`)
	if i < 0 || s[i] != ':' && !(i == 0 && len(s) > 1 && (s[1] == '/' || s[1] == '\\')) {
		return nil // a path
	}
	s = strings.TrimLeft(s[i+1:], `/\`)
	if i := strings.IndexAny(s, `/\`); i >= 0 {
		s = s[:i]
	}
	if len(s) > MaxParts {
		return ErrParts
	}
	return nil
}

var breaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// clean drops what the parser drops: space and control characters round a
// text, tabs and line breaks inside.
func clean(s string) string {
	return breaks.Replace(strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }))
}

// reason says in our words why the parser refused a text. Its own error quotes
// the whole of it.
func reason(err error) error {
	var what string
	switch fault.Type(err) {
	case fault.HostMissing, fault.InvalidCredentials:
		return ErrHost
	case fault.MissingSchemeNonRelativeURL:
		what = "it does not start with http:// or https://"
	case fault.DomainToASCII, fault.DomainInvalidCodePoint, fault.HostInvalidCodePoint:
		what = "its host is not a valid name"
	case fault.PortInvalid, fault.PortOutOfRange:
		what = "its port is not a number up to 65535"
	default:
		what = "its host is not a valid address"
	}
	return errors.New("not a valid URL: " + what)
}

func fromWhatwg(w *whatwg.Url) (URL, error) {
	if p := w.Protocol(); p != "http:" && p != "https:" {
		return URL{}, fmt.Errorf("%w, not %.20s", ErrScheme, strings.TrimSuffix(p, ":"))
	}
	u, err := index(w.Href(true))
	if err != nil {
		return URL{}, err
	}
	path, _, _ := strings.Cut(u.Path(), "?")
	if 2+strings.Count(path, "/") > MaxParts || u.path-u.user > MaxParts {
		return URL{}, ErrParts
	}
	// The parser maps some characters to names that it would refuse itself.
	if host := u.Host(); strings.Contains(host, "xn--") {
		if again, err := parser.Parse("http://" + host); err != nil || again.Hostname() != host {
			return URL{}, errors.New("not a valid URL: its host is not a valid name")
		}
	}
	return u, nil
}

// Canonical takes a string that a URL's String returned before: it is split,
// not parsed again. It must not be given anything else.
func Canonical(s string) URL {
	u, err := index(s)
	if err != nil {
		return URL{}
	}
	return u
}

// index finds the parts of a canonical URL.
func index(s string) (URL, error) {
	if len(s) >= MaxURL { // offsets are 16 bits
		return URL{}, ErrLong
	}
	i := strings.IndexByte(s, ':')
	if i >= 0 && !strings.HasPrefix(s[i:], "://") {
		i = strings.Index(s, "://")
	}
	if i < 0 {
		return URL{}, ErrHost
	}
	start := i + 3
	slash := strings.IndexByte(s[start:], '/')
	if slash < 0 {
		return URL{}, ErrHost
	}
	path := start + slash
	host := start
	if at := lastByte(s[start:path], '@'); at >= 0 {
		host = start + at + 1
	}
	hostEnd := path
	if colon := lastByte(s[host:path], ':'); colon >= 0 && !strings.HasSuffix(s[host:path], "]") {
		hostEnd = host + colon
	}
	if hostEnd == host {
		return URL{}, ErrHost
	}
	return URL{s, parts{user: uint16(start), host: uint16(host), hostEnd: uint16(hostEnd), path: uint16(path)}}, nil
}

// lastByte is strings.LastIndexByte for a byte that is mostly not there, which is
// found out sooner from the front.
func lastByte(s string, c byte) int {
	if strings.IndexByte(s, c) < 0 {
		return -1
	}
	return strings.LastIndexByte(s, c)
}

// IsZero says that u is no URL.
func (u URL) IsZero() bool { return u.s == "" }

// String returns the canonical form.
func (u URL) String() string { return u.s }

// Secure says that the scheme is https.
func (u URL) Secure() bool { return strings.HasPrefix(u.s, "https:") }

// Host returns the host's name, with the brackets of an IPv6 address.
func (u URL) Host() string { return u.s[u.host:u.hostEnd] }

// HostPort returns the host with the port when it is not the scheme's own: the
// value of a Host header.
func (u URL) HostPort() string { return u.s[u.host:u.path] }

// Port returns the port, also when it is the scheme's own.
func (u URL) Port() string {
	switch {
	case u.hostEnd < u.path:
		return u.s[u.hostEnd+1 : u.path]
	case u.Secure():
		return "443"
	default:
		return "80"
	}
}

// Path returns path and query, as they stand in a request line.
func (u URL) Path() string { return u.s[u.path:] }

// Site returns scheme, host and port: "https://example.org:8443".
func (u URL) Site() string {
	if u.user == u.host {
		return u.s[:u.path]
	}
	return u.s[:u.user] + u.s[u.host:u.path]
}

// Rest returns what Site leaves out: path and query, with credentials in front
// as "user:password@/path" where a URL has them. Site and Rest are the URL.
func (u URL) Rest() string {
	if u.user == u.host {
		return u.s[u.path:]
	}
	return u.s[u.user:u.host] + u.s[u.path:]
}

// Join makes the URL again of what Site and Rest returned.
func Join(site, rest string) URL {
	if strings.HasPrefix(rest, "/") {
		return Canonical(site + rest)
	}
	at := strings.IndexByte(rest, '@')
	scheme := strings.Index(site, "://")
	if at < 0 || scheme < 0 {
		return URL{}
	}
	return Canonical(site[:scheme+3] + rest[:at+1] + site[scheme+3:] + rest[at+1:])
}

// Addr returns the address when the host is one.
func (u URL) Addr() (netip.Addr, bool) { return HostAddr(u.Host()) }

// HostAddr returns the address that a host's name spells, if it spells one.
func HostAddr(host string) (netip.Addr, bool) {
	if strings.HasPrefix(host, "[") {
		host = strings.TrimSuffix(host[1:], "]")
	}
	a, err := netip.ParseAddr(host)
	return a, err == nil
}

// Domain returns the registered domain of a host: what one can buy, by the
// public suffix list. An address, or a name that is itself a public suffix, is
// its own domain. The dot that may end a name is no part of its domain.
func Domain(host string) string {
	if _, ok := HostAddr(host); ok {
		return host
	}
	host = strings.TrimSuffix(host, ".")
	d, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return d
}

// SiteHost returns the host of a site's name as URL.Site writes it.
func SiteHost(site string) string {
	u, err := index(site + "/")
	if err != nil {
		return ""
	}
	return u.Host()
}

// RestPath returns the path and query of what Rest returned.
func RestPath(rest string) string {
	if strings.HasPrefix(rest, "/") {
		return rest
	}
	_, path, _ := strings.Cut(rest, "@")
	return path
}
