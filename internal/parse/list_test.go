package parse

import "testing"

// TestPlainListIsASitemap reads a list of addresses as a sitemap under any
// name, and prose with an address in it as prose.
func TestPlainListIsASitemap(t *testing.T) {
	for _, test := range []struct {
		kind, path, head string
		want             bool
	}{
		{"text/plain", "/a.txt", "http://a.test/1\nhttps://a.test/2\n\nhttp://a.te", true},
		{"text/plain; charset=utf-8", "/a.txt", "https://a.test/1\r\n", true},
		{"text/plain", "/a.txt", "http://a.test/1 is a page\nhttp://a.test/2\n", false},
		{"text/plain", "/a.txt", "http://a.test/1\nSee also:\n", false},
		{"text/plain", "/a.txt", "Links:\nhttp://a.test/1\n", false},
		{"text/css", "/a.css", "http://a.test/1\n", false},
		{"application/octet-stream", "/sitemap.txt", "http://a.test/1\n", true},
	} {
		if got := IsSitemap(test.kind, test.path, []byte(test.head)); got != test.want {
			t.Errorf("%s %s %q: %v", test.kind, test.path, test.head, got)
		}
	}
}
