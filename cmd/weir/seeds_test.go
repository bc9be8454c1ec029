package main

import (
	"strings"
	"testing"
)

func TestReadSeeds(t *testing.T) {
	list, bad, err := readSeeds(strings.NewReader("\uFEFFhttps://a.example/\r\n\n# no\nhttp://b.example/x\t-1.5\nnot a url\nhttps://c.example/\tNaN\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].URL.String() != "https://a.example/" || list[1].Score != -1.5 {
		t.Errorf("seeds %v", list)
	}
	if len(bad) != 2 || bad[0].line != 5 || bad[1].line != 6 {
		t.Errorf("junk %v", bad)
	}
	_, _, err = readSeeds(strings.NewReader("https://a.example/\n" + strings.Repeat("x", maxSeedLine+1)))
	if err == nil || !strings.Contains(err.Error(), "line 2 is longer") {
		t.Errorf("an endless line: %v", err)
	}
}

func FuzzReadSeeds(f *testing.F) {
	f.Add("https://example.org/\t3\n# x\nexample.org\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, bad, err := readSeeds(strings.NewReader(text))
		if err != nil {
			return
		}
		if lines := strings.Count(text, "\n") + 1; len(list)+len(bad) > lines {
			t.Fatalf("%d seeds and %d junk lines of %d lines", len(list), len(bad), lines)
		}
		for _, s := range list {
			if s.URL.IsZero() || s.Score != s.Score {
				t.Fatalf("seed %v", s)
			}
		}
	})
}

func TestGuess(t *testing.T) {
	for text, want := range map[string]string{
		"example.org": "https://example.org/", "example.org:8443/a?b": "https://example.org:8443/a?b",
		"localhost": "https://localhost/", "javascript:alert(1)": "", "mailto:me@example.org": "", "ftp://example.org/": "", "hello": "", "": "",
	} {
		if got := guess(text); got != want {
			t.Errorf("%q is taken for %q, want %q", text, got, want)
		}
	}
}
