package robots

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The cases of Google's own library. RFC 9309 section 2.2.2 encodes octets
// outside ASCII in the URL as well as in the rule; Google's library leaves that
// to its caller, so two of its cases come out the other way here.
func TestGoogleCases(t *testing.T) {
	type googleCase struct {
		Test, Robots, Agent, URL string
		Allowed                  bool
	}
	var cases []googleCase
	load(t, "cases.json", &cases)
	if len(cases) != 142 {
		t.Fatalf("read %d cases, want 142", len(cases))
	}
	otherwise := map[googleCase]bool{
		{"ID_Encoding", "User-agent: FooBot\nDisallow: /\nAllow: /foo/bar/ツ\n", "FooBot", "http://foo.bar/foo/bar/ツ", false}:         true,
		{"ID_Encoding", "User-agent: FooBot\nDisallow: /\nAllow: /foo/bar/%E3%83%84\n", "FooBot", "http://foo.bar/foo/bar/ツ", false}: true,
	}
	differ := 0
	for _, c := range cases {
		want := c.Allowed
		if otherwise[c] {
			want = !want
			differ++
		}
		r := Parse([]byte(c.Robots), c.Agent)
		if got, rule := r.Match(pathOf(c.URL)); got != want {
			t.Errorf("%s: %s asks for %q: allowed %v by %q, want %v\n%s", c.Test, c.Agent, c.URL, got, rule, want, c.Robots)
		}
	}
	if differ != len(otherwise) {
		t.Errorf("%d cases decided otherwise, want %d", differ, len(otherwise))
	}
}

// pathOf cuts a URL to its path and query.
func pathOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return rest[i:]
	}
	return ""
}

func load(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
