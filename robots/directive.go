package robots

import (
	"strings"
	"time"
)

// Directives are what a page asks of those who fetched it. The zero value asks
// nothing.
type Directives struct {
	NoIndex   bool // do not list the page
	NoFollow  bool // do not follow its links
	NoArchive bool // do not show a stored copy
	NoCache   bool // Bing's word for NoArchive; also pragma: no-cache

	// Unavailable is when the page stops wishing to be listed, in UTC; zero
	// when it did not say. At applies it.
	Unavailable time.Time
}

// At returns what the directives ask at a moment: from Unavailable on, not to
// be listed.
func (d Directives) At(now time.Time) Directives {
	if !d.Unavailable.IsZero() && !now.Before(d.Unavailable) {
		d.NoIndex = true
	}
	return d
}

// Merge returns directives that ask everything that either asks.
func (d Directives) Merge(o Directives) Directives {
	d.NoIndex = d.NoIndex || o.NoIndex
	d.NoFollow = d.NoFollow || o.NoFollow
	d.NoArchive = d.NoArchive || o.NoArchive
	d.NoCache = d.NoCache || o.NoCache
	if d.Unavailable.IsZero() || !o.Unavailable.IsZero() && o.Unavailable.Before(d.Unavailable) {
		d.Unavailable = o.Unavailable
	}
	return d
}

// ParseMeta reads the content of a <meta name="robots">, or of one that is
// named after our token.
func ParseMeta(content string) Directives {
	var d Directives
	words := strings.Split(content, ",")
	for len(words) > 0 {
		words = d.read(words)
	}
	return d
}

// ParseHeader reads the values of X-Robots-Tag headers for an agent. A name
// and a colon before a directive make it, and those after it up to the next
// name, concern the crawler of that name alone ("*" is any).
func ParseHeader(values []string, agent string) Directives {
	agent = Token(agent)
	var ours, others Directives
	for _, v := range values {
		d := &ours
		words := strings.Split(v, ",")
		for len(words) > 0 {
			name, rest, ok := strings.Cut(words[0], ":")
			name = strings.TrimSpace(name)
			if ok && !hasValue(name) {
				d = &others
				if name == "" || name == "*" || strings.EqualFold(name, agent) {
					d = &ours
				}
				words[0] = rest
			}
			words = d.read(words)
		}
	}
	return ours
}

// hasValue reports whether a directive's name is followed by a colon and a
// value, so that it is not the name of a crawler.
func hasValue(name string) bool {
	switch strings.ToLower(name) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	return false
}

// read takes the first of some comma-separated directives and returns the
// rest.
func (d *Directives) read(words []string) []string {
	word, value, valued := strings.Cut(words[0], ":")
	word = strings.ToLower(word)
	if valued && strings.TrimSpace(word) == "unavailable_after" {
		if t, ok := date(value); ok {
			*d = d.Merge(Directives{Unavailable: t})
		} else if len(words) > 1 {
			// A weekday and its comma may come first.
			if t, ok := date(value + "," + words[1]); ok {
				*d = d.Merge(Directives{Unavailable: t})
				return words[2:]
			}
		}
	}
	for _, w := range strings.Fields(word) { // some forget the commas
		switch w {
		case "none":
			d.NoIndex, d.NoFollow = true, true
		case "noindex":
			d.NoIndex = true
		case "nofollow":
			d.NoFollow = true
		case "noarchive":
			d.NoArchive = true
		case "nocache", "no-cache":
			d.NoCache = true
		}
	}
	return words[1:]
}

// date reads a moment in one of the forms that Google's documentation allows. A
// zone's abbreviation counts as UTC unless the format knows better.
func date(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return time.Time{}, false
	}
	for _, layout := range []string{
		"2 Jan 2006 15:04:05 MST", "2-Jan-2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "2 Jan 2006",
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly,
		time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z, time.ANSIC,
	} {
		if t, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
