package robots

import (
	"fmt"
	"strings"
	"testing"
)

// No file makes a question take more than its steps, and only one that was made
// to is given up: its paths are denied, but for /robots.txt.
func TestSteps(t *testing.T) {
	for _, f := range bigFiles() {
		r := Parse([]byte(f.body), "weir")
		for _, path := range f.paths {
			octets := append([]byte(path), end)
			_, steps := r.searchWild(octets, int32(len(r.rules)))
			// The last rule tried may look for a piece at each octet.
			if last := 3 + 2*len(octets); steps > maxSteps(octets)+last {
				t.Errorf("%s: %s takes %d steps", f.name, path, steps)
			}
			allowed, rule := r.Match(path)
			if given := rule == TooLong; given != f.tooLong || given && allowed || r.Allowed(path) != allowed {
				t.Errorf("%s: %s: allowed %v by %q after %d steps", f.name, path, allowed, rule, steps)
			}
		}
		if !r.Allowed("/robots.txt") {
			t.Errorf("%s: /robots.txt is denied", f.name)
		}
	}
}

// A step is a bounded piece of work: what a rule takes grows with its pieces and
// with the path.
func TestGlobCountsSteps(t *testing.T) {
	long := "/" + strings.Repeat("a", 159) // 161 octets with the end
	for _, tc := range []struct {
		pattern, path string
		ok            bool
		steps         int
	}{
		{"/x*a", "/a", false, 2},
		{"/*a", "/a", true, 3},
		{"/*b", long, false, 3 + 10},
		{"/*a*a*a", long, true, 5},
		{"/*a*a*b", long, false, 5 + 10},
		{"/*a$", long, true, 3 + 9},
		{"/" + strings.Repeat("*aa", 90), long, false, 2 + 80 + 10},
	} {
		pattern, _ := compilePattern([]byte(tc.pattern), false)
		ok, steps := glob(pattern, append([]byte(tc.path), end))
		if ok != tc.ok || steps != tc.steps {
			t.Errorf("%.20s on %.20s: %v after %d steps, want %v after %d", tc.pattern, tc.path, ok, steps, tc.ok, tc.steps)
		}
	}
}

// Forty rules, of pieces that stand in every path, are always all tried.
func TestFortyRulesAreTried(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\nAllow: /*e\n")
	for i := range 39 {
		fmt.Fprintf(&b, "Disallow: /*a*b*%c*%c\n", "cdefghij"[i%8], "abcde"[i/8])
	}
	r := Parse([]byte(b.String()), "weir")
	for n := range 200 {
		path := "/" + strings.Repeat("x", 10*n) + "jihgfedcba"
		if allowed, rule := r.Match(path); !allowed || rule != "Allow: /*e" {
			t.Errorf("a path of %d octets: allowed %v by %q", len(path), allowed, rule)
		}
	}
}
