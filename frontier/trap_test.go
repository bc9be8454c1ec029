package frontier

import (
	"strings"
	"testing"
)

func TestTrapPath(t *testing.T) {
	segments := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("/" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + strings.Repeat("x", i%7))
		}
		return b.String()
	}
	for _, c := range []struct{ path, why string }{
		{"/", ""},
		{"/a", ""},
		{"/a/a", ""},
		{"/a/a/b/a", ""},
		{"/a/a/a", "/a/ 3 times in a row"},
		{"/x/a/a/a/y", "/a/ 3 times in a row"},
		{"/a/a/a/", "/a/ 3 times in a row"},
		{"/a/A/a", ""},
		{"/a/b/a/b", ""},
		{"/a/b/a/b/a", ""},
		{"/a/b/a/b/a/b", "/a/b/ repeated 3 times"},
		{"/z/a/b/c/a/b/c/a/b/c/end", "/a/b/c/ repeated 3 times"},
		{"/a/b/c/a/b/c/a/b/d", ""},
		{"//////", ""},
		{"/a//a//a", ""},
		{"/2024/01/01/2024-01-01.html", ""},
		{"/search?path=/a/a/a", ""},
		{"/docs/en/c/docs/en/cpp/docs.html", ""},
		{segments(30), ""},
		{segments(31), "more than 30 path segments"},
		{"/" + strings.Repeat("x", 1999), ""},
		{"/" + strings.Repeat("x", 2000), "longer than 2000 bytes"},
		{"/p?" + strings.Repeat("x", 1997), ""},
		{"/p?" + strings.Repeat("x", 1998), "longer than 2000 bytes"},
	} {
		if why := DefaultTrap().Path(c.path); why != c.why {
			t.Errorf("%.60s: %q, want %q", c.path, why, c.why)
		}
	}
	if why := (Trap{}).Path(strings.Repeat("/a", 5000)); why != "" {
		t.Errorf("thresholds of 0 are off, yet: %s", why)
	}
}

func TestTrapQueries(t *testing.T) {
	for _, c := range []struct {
		fetched, repeats int64
		want             bool
	}{
		{0, 0, false}, {499, 499, false}, {500, 250, false}, {500, 251, true}, {501, 250, false}, {10_000, 5_000, false}, {10_000, 5_001, true},
	} {
		if got := DefaultTrap().Queries(c.fetched, c.repeats); got != c.want {
			t.Errorf("%d fetched, %d repeats: %v", c.fetched, c.repeats, got)
		}
	}
	if (Trap{}).Queries(1e9, 1e9) {
		t.Error("a threshold of 0 is off")
	}
}
