package fetch

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"weir/page"
)

// Cookie is one line of a cookie file: a value that belongs to a domain.
type Cookie struct {
	Domain  string // lower case, without a leading dot
	Sub     bool   // for its subdomains too
	Path    string
	Secure  bool      // over https alone
	Expires time.Time // zero: never
	Name    string
	Value   string
}

// Bounds of a cookie file.
const (
	maxCookies    = 10_000
	maxCookieLine = 16 << 10
)

// ReadCookies reads a Netscape cookie file, the form that browsers' add-ons,
// curl and wget write: seven fields a line, separated by tabs. An error names
// its line.
func ReadCookies(r io.Reader) ([]Cookie, error) {
	var all []Cookie
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxCookieLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSuffix(lines.Text(), "\r")
		line = strings.TrimPrefix(line, "#HttpOnly_")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		c, err := readCookie(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(all) == maxCookies {
			return nil, fmt.Errorf("line %d: more than %d cookies", n, maxCookies)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return all, nil
}

func readCookie(line string) (Cookie, error) {
	f := strings.Split(line, "\t")
	if len(f) == 6 {
		f = append(f, "") // some writers drop the tab before an empty value
	}
	if len(f) != 7 {
		return Cookie{}, fmt.Errorf("a cookie has 7 fields separated by tabs, not %d", len(f))
	}
	c := Cookie{
		Domain: strings.ToLower(strings.TrimPrefix(f[0], ".")),
		Path:   f[2],
		Name:   f[5],
		Value:  f[6],
	}
	var err error
	if c.Sub, err = yes(f[1]); err != nil {
		return Cookie{}, err
	}
	if c.Secure, err = yes(f[3]); err != nil {
		return Cookie{}, err
	}
	expires, err := strconv.ParseInt(strings.TrimSuffix(f[4], ".0"), 10, 64)
	if err != nil {
		return Cookie{}, fmt.Errorf("%q is no time of expiry: it is seconds since 1970, 0 for never", f[4])
	}
	if expires > 0 {
		c.Expires = time.Unix(expires, 0)
	}
	switch {
	case c.Domain == "":
		return Cookie{}, fmt.Errorf("a cookie without a domain")
	case !strings.HasPrefix(c.Path, "/"):
		return Cookie{}, fmt.Errorf("%q is no path", c.Path)
	case !cookieText(c.Name) || strings.Contains(c.Name, "=") || !cookieText(c.Value):
		return Cookie{}, fmt.Errorf("the cookie has characters that no header can carry")
	}
	if suffix, _ := publicsuffix.PublicSuffix(c.Domain); suffix == c.Domain {
		c.Sub = false // a cookie for all of .com is for nobody
	}
	return c, nil
}

func yes(s string) (bool, error) {
	switch strings.ToUpper(s) {
	case "TRUE":
		return true, nil
	case "FALSE":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither TRUE nor FALSE", s)
}

func cookieText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f || s[i] == ';' {
			return false
		}
	}
	return true
}

// matches says whether c is sent with a request for u (RFC 6265, section 5.4).
func (c Cookie) matches(u page.URL, now time.Time) bool {
	if c.Secure && !u.Secure() || !c.Expires.IsZero() && !now.Before(c.Expires) {
		return false
	}
	host := settingsHost(u)
	if host != c.Domain {
		_, literal := u.Addr()
		if !c.Sub || literal || !strings.HasSuffix(host, "."+c.Domain) {
			return false
		}
	}
	path, _, _ := strings.Cut(u.Path(), "?")
	rest, ok := strings.CutPrefix(path, c.Path)
	return ok && (rest == "" || strings.HasSuffix(c.Path, "/") || rest[0] == '/')
}

// cookieHeader returns the value of the Cookie header for u, "" for none. The
// more exact path goes first.
func cookieHeader(all []Cookie, u page.URL, now time.Time) string {
	var sent []Cookie
	for _, c := range all {
		if c.matches(u, now) {
			sent = append(sent, c)
		}
	}
	if len(sent) == 0 {
		return ""
	}
	slices.SortStableFunc(sent, func(a, b Cookie) int { return cmp.Compare(len(b.Path), len(a.Path)) })
	parts := make([]string, len(sent))
	for i, c := range sent {
		parts[i] = c.Name + "=" + c.Value
	}
	return strings.Join(parts, "; ")
}
