package page

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// urlCase is one case of the web-platform-tests' urltestdata.json.
type urlCase struct {
	Input    string
	Base     string // "" for none
	Failure  bool
	Href     string
	Protocol string
}

func urlCases(tb testing.TB) []urlCase {
	tb.Helper()
	data, err := os.ReadFile("testdata/urltestdata.json")
	if err != nil {
		tb.Fatal(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		tb.Fatal(err)
	}
	var cases []urlCase
	for _, r := range raw {
		if r[0] == '"' {
			continue // a comment between the cases
		}
		var c urlCase
		if err := json.Unmarshal(r, &c); err != nil {
			tb.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// want returns the URL that weir should make of the case, "" for a refusal.
func (c urlCase) want() string {
	if c.Failure || !web(c.Protocol) {
		return ""
	}
	href, _, _ := strings.Cut(c.Href, "#")
	return href
}

// got reads the case as weir would: against its base when that is a page of
// the web, else alone. A base of another scheme changes nothing for http URLs.
func (c urlCase) got() (URL, error) {
	if !web(c.Base) {
		return Parse(c.Input)
	}
	base, err := Parse(c.Base)
	if err != nil {
		return URL{}, err
	}
	return base.Resolve(c.Input)
}

func web(s string) bool {
	return strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "https:")
}

// known are the cases the parser decides otherwise. All are ASCII names with a
// label that says it is an encoded one but does not decode to a valid name. The
// standard lets such names pass; the parser refuses them. No registry sells
// them, so no page is lost.
var known = map[[2]string]bool{
	{"http://a.b.c.xn--pokxncvks", ""}:  true,
	{"http://10.0.0.xn--pokxncvks", ""}: true,
	{"http://a.b.c.XN--pokxncvks", ""}:  true,
	{"http://a.b.c.Xn--pokxncvks", ""}:  true,
	{"http://10.0.0.XN--pokxncvks", ""}: true,
	{"http://10.0.0.xN--pokxncvks", ""}: true,
	{"https://xn--/", ""}:               true,
	{"file://xn--/p", ""}:               true, // refused for its name, not for its scheme
}

func TestConformance(t *testing.T) {
	seen := 0
	for _, c := range urlCases(t) {
		u, err := c.got()
		good := u.String() == c.want() && (err == nil) == (c.want() != "")
		if !c.Failure && !web(c.Protocol) && (c.Base == "" || web(c.Base)) {
			good = good && errors.Is(err, ErrScheme)
		}
		switch expected := !known[[2]string{c.Input, c.Base}]; {
		case good != expected && expected:
			t.Errorf("%q on %q: got %q, %v, want %q", c.Input, c.Base, u, err, c.want())
		case good != expected:
			t.Errorf("%q on %q is right now: take it off the list", c.Input, c.Base)
		case !expected:
			seen++
		}
	}
	if seen != len(known) {
		t.Errorf("%d of the %d known deviations are cases", seen, len(known))
	}
}

// TestConformanceURLs checks on every URL of the suite what holds for all.
func TestConformanceURLs(t *testing.T) {
	n := 0
	for _, c := range urlCases(t) {
		if u, err := c.got(); err == nil {
			n++
			checkURL(t, u)
			checkStrip(t, DefaultStrip(), u)
		}
	}
	if n < 200 {
		t.Errorf("only %d URLs", n)
	}
}
