package testweb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A site with a Folder serves its files as they are, and compressed only where it does that and the visitor takes it.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	page := "<title>one</title>" + strings.Repeat("<p>words", 100)
	for name, text := range map[string]string{"index.html": "<a href=sub/>one</a>", "sub/index.html": page, "a.bin": "\x00"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := start(t, Config{Sites: []Site{
		{Name: "plain.test", Folder: dir},
		{Name: "zip.test", Folder: dir, Faults: []Fault{{Kind: Gzip}}},
		{Name: "other.test", Pages: 3, Links: 2},
	}})
	for _, c := range []struct {
		host, path, head string
		status           int
		body, coding     string
	}{
		{"plain.test", "/robots.txt", "", 404, "", ""},
		{"plain.test", "/", "", 200, "<a href=sub/>one</a>", ""},
		{"plain.test", "/sub/", "Accept-Encoding: gzip\r\n", 200, page, ""},
		{"plain.test", "/sub/index.html?q", "", 200, page, ""},
		{"plain.test", "/sub", "", 404, "", ""},
		{"zip.test", "/sub/", "", 200, page, ""},
		{"zip.test", "/sub/", "Accept-Encoding: gzip\r\n", 200, string(zip([]byte(page))), "gzip"},
		{"zip.test", "/a.bin", "Accept-Encoding: gzip\r\n", 200, "\x00", ""},
	} {
		v := to(t, w, c.host)
		v.head = c.head
		resp, body := v.get(c.path)
		if resp.StatusCode != c.status || resp.Header.Get("Content-Encoding") != c.coding {
			t.Errorf("%s%s: status %d, coding %q", c.host, c.path, resp.StatusCode, resp.Header.Get("Content-Encoding"))
		}
		if c.status == 200 && body != c.body {
			t.Errorf("%s%s: %d bytes, want %d", c.host, c.path, len(body), len(c.body))
		}
	}
	if _, err := Start(Config{Sites: []Site{{Name: "x.test", Folder: filepath.Join(dir, "none")}}}); err == nil {
		t.Error("a folder that is not there was served")
	}
	for _, u := range w.Truth() {
		if !strings.Contains(u, "other.test") {
			t.Errorf("the truth tells of %s", u)
		}
	}
}
