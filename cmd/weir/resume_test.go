package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A crawl that was killed in its first instants goes on without its URLs being
// named again, whatever had been written by then.
func TestKilledInTheFirstInstants(t *testing.T) {
	server := serveAll(t, map[string]served{"/": {"text/html", "X-A", "b", "<a href=more>more</a>"}, "/more": {"text/html", "X-A", "b", "more"}})
	url := server.URL + "/"
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	// Before there was a crawl, the folder is as good as empty.
	dir := filepath.Join(t.TempDir(), "crawl")
	write(dir, urlsFile, "http://127.0.0.1:1/\n")
	if got := must(t, "crawl", "--wait", "1ms", "--dir", dir, url); !strings.Contains(got, ": 2 pages fetched") {
		t.Error(got)
	}

	// After it, and before its state had the URL.
	dir = filepath.Join(t.TempDir(), "crawl")
	write(dir, urlsFile, url+"\n")
	write(dir, crawlFile, "wait: 1ms\n")
	if got := must(t, "crawl", "--dir", dir); !strings.Contains(got, ": 2 pages fetched") {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(dir, urlsFile)); err == nil {
		t.Error("the URLs are still kept beside the state")
	}
	if got := must(t, "crawl", "--dir", dir); !strings.Contains(got, "this crawl is finished") {
		t.Error(got)
	}
}
