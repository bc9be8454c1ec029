// Package robots decides which paths of a site a crawler may fetch, and how
// long it should wait between two of them: RFC 9309 on bytes.
//
//	robots.txt --Parse--> Rules --Allowed("/a?b")--> yes or no
//	X-Robots-Tag, <meta name=robots> --ParseHeader, ParseMeta--> Directives
//
// A file is read once for one crawler. What remains is the group that concerns
// it, compiled so that a question costs about a microsecond however large the
// file was:
//
//   - rules without a wildcard lie sorted, each pointing at the longest rule
//     that is a prefix of it, and one binary search finds all that match;
//   - a rule with a wildcard is filed under a few octets that any path it
//     matches must contain, and only rules whose octets occur are tried.
//
// Reading is lenient, as Google's is: misspelt keys, a forgotten colon, any
// line end, byte order marks, UTF-16. Where readings differ the package stays
// out rather than goes in.
//
// It does so too where a file was made to be slow. Thousands of rules with
// wildcards whose every piece stands in a path, as "/*a*e*i" may, would all have
// to be tried. The work of one question is bounded; a path that needs more is
// denied. No file of up to 40 rules with wildcards, four in each, comes to that,
// nor does a larger one whose rules each name something of their own.
//
// # Percent-encoding
//
// RFC 9309 section 2.2.2 compares a rule and a path after both were brought to
// one spelling. Octets that a URI cannot hold are encoded, hex digits are upper
// case, "%7E" is "~", and "%2F" is not "/". Google's library differs in one
// point: it takes an encoded letter or digit ("%62" for "b") as it is written.
// So a Disallow holds for either spelling, as the RFC says; an Allow written
// with encoded letters holds only for paths spelled the same.
package robots

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxSize is how much of a robots.txt is read (RFC 9309 section 2.5). A
	// line that it would cut in two is not read at all.
	MaxSize = 500 << 10

	// MaxDelay is the longest Crawl-delay; a file that asks for more gets it.
	MaxDelay = 24 * time.Hour

	// MaxSitemaps is how many different Sitemap lines are kept.
	MaxSitemaps = 1000

	// TooLong stands for the rule that denies a path when too many wildcards
	// would have to be tried for it.
	TooLong = "(too many wildcards to try)"

	// maxLine is where a longer line is cut: eight times the longest URL that
	// browsers once took, as in Google's parser.
	maxLine = 2083*8 - 1
)

// Rules says what one robots.txt means for one crawler. The zero value allows
// everything. Rules never change once made, except by UnmarshalText, so any
// number of goroutines may ask.
type Rules struct {
	rules    []rule // best first: the first that matches decides
	patterns []byte // the compiled patterns of all rules, end to end
	literals []literal
	wild     wildcards
	delay    time.Duration
	sitemaps []string
}

// Parse reads a robots.txt for one agent, which is a product token such as
// "weir" or a whole User-Agent value that starts with one. It never fails:
// what cannot be understood has no effect.
func Parse(body []byte, agent string) *Rules {
	text := decode(body[:min(len(body), MaxSize)])
	if len(body) > MaxSize {
		text = text[:bytes.LastIndexAny(text, "\r\n")+1]
	}
	return read(text, Token(agent), maxLine)
}

// AllowAll returns the rules of a site without a robots.txt: it answered 4xx
// (RFC 9309 section 2.3.1.3).
func AllowAll() *Rules { return new(Rules) }

// DenyAll returns the rules of a site whose robots.txt cannot be had now: it
// answered 5xx or 429, or did not answer (RFC 9309 section 2.3.1.4).
func DenyAll() *Rules { return Parse([]byte("User-agent: *\nDisallow: /"), "") }

// Allowed reports whether a path, with its query if it has one, may be fetched.
// /robots.txt itself always may.
func (r *Rules) Allowed(path string) bool {
	i := r.find(path)
	return i == noRule || i >= 0 && r.rules[i].allow
}

// Match is Allowed, and names the rule that decided as its author wrote it:
// "Disallow: /private". The name is empty when no rule matched, and TooLong when
// that was not found out.
func (r *Rules) Match(path string) (allowed bool, rule string) {
	switch i := r.find(path); i {
	case noRule:
		return true, ""
	case tooLong:
		return false, TooLong
	default:
		return r.rules[i].allow, r.rules[i].String()
	}
}

// CrawlDelay returns the wait that the file asks for between two requests, 0
// if it does not. It is the longest one given for the agent and at most
// MaxDelay.
func (r *Rules) CrawlDelay() time.Duration { return r.delay }

// Sitemaps returns the values of the file's Sitemap lines in order, each once
// and at most MaxSitemaps. They are the author's words and not yet URLs.
func (r *Rules) Sitemaps() []string { return slices.Clone(r.sitemaps) }

// MarshalText writes the rules as a small robots.txt for any agent.
// UnmarshalText reads it to rules that answer every question the same.
func (r *Rules) MarshalText() ([]byte, error) {
	b := []byte("User-agent: *\n")
	for i := range r.rules {
		b = append(b, r.rules[i].String()...)
		b = append(b, '\n')
	}
	if r.delay > 0 {
		b = append(b, "Crawl-delay: "...)
		b = strconv.AppendFloat(b, r.delay.Seconds(), 'f', -1, 64)
		b = append(b, '\n')
	}
	for _, s := range r.sitemaps {
		b = append(b, "Sitemap: "...)
		b = append(b, s...)
		b = append(b, '\n')
	}
	return b, nil
}

// UnmarshalText replaces the rules by those of a text that MarshalText wrote.
// The text may be longer than MaxSize, since it is spelled out in full. The
// error is always nil.
func (r *Rules) UnmarshalText(text []byte) error {
	*r = *read(text, "", len(text))
	return nil
}

// Size returns about how many bytes of memory the rules take.
func (r *Rules) Size() int {
	const header, perRule, perLiteral, perSlot, perString = 200, 32, 12, 16, 16
	n := header + perRule*cap(r.rules) + cap(r.patterns) +
		perLiteral*cap(r.literals) + perSlot*cap(r.wild.slots) + 4*cap(r.wild.lists) + 8*cap(r.wild.filter)
	for i := range r.rules {
		n += len(r.rules[i].text)
	}
	for _, s := range r.sitemaps {
		n += perString + len(s)
	}
	return n
}

// Token returns the product token of a User-Agent value: "weir" for
// "weir/1.0 (+https://example.org)". A value that does not start with one
// gives "", which no group but that of "*" concerns.
func Token(userAgent string) string {
	if i := strings.IndexAny(userAgent, "/("); i >= 0 {
		userAgent = userAgent[:i]
	}
	userAgent = strings.TrimSpace(userAgent)
	if tokenLen([]byte(userAgent)) != len(userAgent) {
		return ""
	}
	return userAgent
}
