package page

import (
	"fmt"
	"strings"
)

// Strip takes out of URLs what tells apart only visitors, never pages: the
// parameters of trackers and sessions. A name matches whatever its case; one
// that ends in * matches all that begin so; one that begins with ; is a
// parameter of the last path segment, as in /cart;jsessionid=1F3.
//
// The zero Strip knows no parameters. A Strip is never changed after it is made
// and is safe for concurrent use.
type Strip struct {
	names []stripName
}

type stripName struct {
	text   string // without ; and *
	path   bool   // it began with ;
	prefix bool   // it ended in *
}

// defaultStrip holds only names that no page is known to be chosen by. Names
// as short as sid are left out: on some sites they are.
const defaultStrip = "utm_*,gclid,dclid,gclsrc,gbraid,wbraid,fbclid,msclkid,yclid,igshid,twclid,ttclid," +
	"mc_cid,mc_eid,mkt_tok,_ga,_gl,_hsenc,_hsmi," +
	"phpsessid,jsessionid,;jsessionid,aspsessionid*,asp.net_sessionid,cfid,cftoken"

// DefaultStrip returns the parameters of well-known trackers and sessions.
func DefaultStrip() Strip {
	s, err := ParseStrip(defaultStrip)
	if err != nil {
		panic(err) // the list is our own
	}
	return s
}

// ParseStrip reads names separated by commas. The name default stands for
// those of [DefaultStrip]; none, alone, for no names.
func ParseStrip(list string) (Strip, error) {
	if strings.TrimSpace(list) == "none" {
		return Strip{}, nil
	}
	var s Strip
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "default" {
			s.names = append(s.names, DefaultStrip().names...)
			continue
		}
		n, err := parseStripName(item)
		if err != nil {
			return Strip{}, err
		}
		s.names = append(s.names, n)
	}
	return s, nil
}

func parseStripName(item string) (stripName, error) {
	var n stripName
	n.text, n.path = strings.CutPrefix(strings.ToLower(item), ";")
	n.text, n.prefix = strings.CutSuffix(n.text, "*")
	odd := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("*&=;?#/", r) }
	switch {
	case item == "none":
		return n, fmt.Errorf("none cannot be joined with other parameters")
	case n.text == "" && !n.prefix:
		return n, fmt.Errorf("%q is not the name of a parameter; none strips nothing", item)
	case strings.ContainsRune(n.text, '*'):
		return n, fmt.Errorf("%q: a * can only stand at the end of a name", item)
	case strings.ContainsFunc(n.text, odd):
		return n, fmt.Errorf("%q is not the name of a parameter as it stands in a URL", item)
	}
	return n, nil
}

// String returns the list that [ParseStrip] reads.
func (s Strip) String() string {
	if len(s.names) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, n := range s.names {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.path {
			b.WriteByte(';')
		}
		b.WriteString(n.text)
		if n.prefix {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// Apply returns u without the parameters that match and without credentials,
// which are never sent and would only make twins. All else stays as it is,
// byte for byte; a query that loses its last parameter goes with its question
// mark. It does not allocate when nothing is to be taken out.
func (s Strip) Apply(u URL) URL {
	rest := u.Path()
	if u.user == u.host && strings.IndexByte(rest, '?') < 0 && strings.IndexByte(rest, ';') < 0 {
		return u // as most are
	}
	path, query, asked := strings.Cut(rest, "?")
	p, q := s.path(path), s.query(query)
	if len(p) == len(path) && len(q) == len(query) {
		if u.user == u.host {
			return u
		}
		return Canonical(u.Site() + rest)
	}
	if asked && (q != "" || query == "") {
		p += "?" + q
	}
	return Canonical(u.Site() + p)
}

// query returns q without the parameters that match.
func (s Strip) query(q string) string {
	if q == "" {
		return q
	}
	return s.without(q, "&", false)
}

// path returns p without the parameters of its last segment that match. A
// segment that would be left as . or .. keeps them: without, it would lead
// elsewhere.
func (s Strip) path(p string) string {
	dir := strings.LastIndexByte(p, '/') + 1
	segment, params, ok := strings.Cut(p[dir:], ";")
	if !ok {
		return p
	}
	kept := s.without(params, ";", true)
	switch {
	case len(kept) == len(params):
		return p
	case kept != "":
		return p[:dir+len(segment)+1] + kept
	case dots(segment):
		return p
	}
	return p[:dir+len(segment)]
}

// dots says that a path segment is one of those that lead here or up.
func dots(segment string) bool {
	plain := strings.ReplaceAll(strings.ToLower(segment), "%2e", ".")
	return plain == "." || plain == ".."
}

// without returns list without the parameters that match, and list itself when
// none does.
func (s Strip) without(list, sep string, path bool) string {
	var kept []string
	cut := false
	for rest, more := list, true; more; {
		var param string
		start := len(list) - len(rest)
		param, rest, more = strings.Cut(rest, sep)
		name, _, _ := strings.Cut(param, "=")
		switch match := s.match(name, path); {
		case match && !cut:
			cut = true
			if start > 0 {
				kept = append(kept, list[:start-1])
			}
		case !match && cut:
			kept = append(kept, param)
		}
	}
	if !cut {
		return list
	}
	return strings.Join(kept, sep)
}

func (s Strip) match(name string, path bool) bool {
	for _, n := range s.names {
		if n.path != path || len(name) < len(n.text) || len(name) > len(n.text) && !n.prefix {
			continue
		}
		if n.text == "" || name[0]|0x20 == n.text[0]|0x20 && strings.EqualFold(name[:len(n.text)], n.text) {
			return true
		}
	}
	return false
}
