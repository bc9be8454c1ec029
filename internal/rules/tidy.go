package rules

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	longestFile = 900 // lines of a Go file
	longestMain = 50  // lines of cmd/weir/main.go
)

// unread are folders that hold no text of ours: other people's test data,
// what tools leave behind, and what git ignores.
var unread = []string{".git", "testdata", "weir-crawl", "node_modules"}

// isText reports whether a file is written by a person, to judge by its name.
func isText(name string) bool {
	switch path.Ext(name) {
	case ".go", ".md", ".sh", ".yaml", ".yml", ".html", ".css", ".js", ".dl", ".txt", ".mod", "":
		return true
	}
	return strings.HasPrefix(path.Base(name), ".") // .gitignore and its like
}

var (
	// The words are put together here so that this file passes its own rule.
	leftover    = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	machinePath = regexp.MustCompile("(^|[\\s\"'`(=:,\\[])/(wor" + "k|roo" + "t|hom" + "e)/")
)

// tidy checks one file as text.
func (t *tree) tidy(name string, src []byte) {
	if bytes.IndexByte(src, 0) >= 0 {
		return // a binary without an extension
	}
	isGo := path.Ext(name) == ".go"
	lines := slices.Collect(bytes.Lines(src))
	switch {
	case name == "cmd/weir/main.go" && len(lines) >= longestMain:
		t.found = append(t.found, Breach{name, len(lines), "main is under 50 lines: it reads like a table of contents, each verb has its own file"})
	case isGo && len(lines) > longestFile:
		t.found = append(t.found, Breach{name, len(lines), "over 900 lines: one idea to a file"})
	}
	for i, line := range lines {
		if isGo && !strings.HasSuffix(name, "_test.go") && leftover.Match(line) {
			t.found = append(t.found, Breach{name, i + 1, "holds " + string(leftover.Find(line)) + ": do it, or open an issue"})
		}
		if machinePath.Match(line) {
			t.found = append(t.found, Breach{name, i + 1, "names a path of somebody's machine: it does not exist on another"})
		}
	}
}

// doc checks that p says what it is for.
func (t *tree) doc(p *pkg) {
	for _, f := range p.files {
		if f.ast.Doc != nil && (!f.test || p.testOnly()) {
			return
		}
	}
	t.found = append(t.found, Breach{File: p.dir, Why: "has no package doc: open with what the package decides or keeps"})
}

func (p *pkg) testOnly() bool {
	for _, f := range p.files {
		if !f.test {
			return false
		}
	}
	return true
}
