package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/query"
	"weir/query/flow"
)

const text = `
	input blocked(text) from "lists/blocked.txt".
	set max = 2.
	crawl(U, 0) :- seed(U).
	crawl(V, D+1) :- crawl(U, D), link(U, V), D < $max, !blocked(host(V)).
`

// lay writes a program and its input, and returns the program's file.
func lay(t *testing.T, program, blocked string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"site.dl": program, "lists/blocked.txt": blocked} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "site.dl")
}

// A crawl goes on by its copy of the program, with the settings and rows of the
// day it began.
func TestCopyMeansTheSame(t *testing.T) {
	file := lay(t, text, "bad.example\n")
	src, err := Read(file, []query.Setting{{Name: "max", Value: "5"}})
	if err != nil {
		t.Fatal(err)
	}
	crawl := t.TempDir()
	if had, err := Load(crawl, 0); had != nil || err != nil {
		t.Fatalf("a crawl without a program has %v, %v", had, err)
	}
	for version := range 3 {
		if err := src.Save(crawl, version); err != nil {
			t.Fatal(err)
		}
		if err := src.Save(crawl, version); err != nil {
			t.Fatalf("once more, as after a crash: %v", err)
		}
		had, err := Load(crawl, version)
		if err != nil || !had.Same(src) || !src.Same(had) {
			t.Fatalf("version %d: %+v, %v", version, had, err)
		}
		if _, err := had.Compile(flow.Options{Crawl: true}); err != nil {
			t.Error(err)
		}
	}
	for name, change := range map[string]func(s *Source){
		"text":    func(s *Source) { s.Text += " " },
		"setting": func(s *Source) { s.Settings = []query.Setting{{Name: "max", Value: "6"}} },
		"input":   func(s *Source) { s.Inputs[0].Text += "worse.example\n" },
	} {
		had, err := Load(crawl, 0)
		if err != nil {
			t.Fatal(err)
		}
		change(had)
		if had.Same(src) || src.Same(had) {
			t.Errorf("another %s is the same", name)
		}
	}
}

// What is wrong comes with its place: in the program, or in the input's file.
func TestFaultsHaveTheirPlaces(t *testing.T) {
	for _, c := range []struct{ program, blocked, want string }{
		{strings.Replace(text, "link(U, V)", "lnik(U, V)", 1), "", "site.dl:5:32"},
		{text, "a.example\tb\n", "blocked.txt:1:1"},
		{strings.Replace(text, "crawl(V, D+1)", "crawl(V D+1)", 1), "", "site.dl:5:"},
	} {
		src, err := Read(lay(t, c.program, c.blocked), nil)
		if err == nil {
			_, err = src.Compile(flow.Options{Crawl: true})
		}
		var f *Fault
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	file := lay(t, text, "")
	if err := os.Remove(filepath.Join(filepath.Dir(file), "lists/blocked.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file, nil); err == nil || !strings.Contains(err.Error(), "blocked") {
		t.Errorf("an input that is not there: %v", err)
	}
}
