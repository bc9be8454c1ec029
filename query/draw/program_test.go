package draw_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/query"
	"weir/query/draw"
	"weir/query/flow"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// TestPrograms draws all programs of the language's tests, by both schemes.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("../testdata/programs/*.dl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".dl")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			b.Write(text)
			for _, scheme := range []flow.Scheme{flow.ByURL, flow.ByHost} {
				g := graph(t, string(text), flow.Options{Scheme: scheme})
				fmt.Fprintf(&b, "\nby %s\n%s", scheme, draw.Text(g))
			}
			golden(t, name+".txt", b.String())
		})
	}
}

func TestPictures(t *testing.T) {
	text, err := os.ReadFile("../testdata/programs/11.dl")
	if err != nil {
		t.Fatal(err)
	}
	g := graph(t, string(text), flow.Options{Scheme: flow.ByURL})
	golden(t, "broken.svg", draw.SVG(g, "broken links"))
	golden(t, "broken.dot", draw.DOT(g))
}

// A question to a crawl that is over begins with its pages, and nothing is fetched.
func TestQuestion(t *testing.T) {
	g := graph(t, "deep(U, T) :- crawl(U, D), D > 3, title(U, T).", flow.Options{Given: []string{"crawl"}, Tables: []string{"deep"}}, "crawl")
	golden(t, "question.txt", draw.Text(g))
}

func graph(t *testing.T, text string, o flow.Options, given ...string) *flow.Graph {
	t.Helper()
	p, diags := query.Parse("test.dl", text)
	if query.Failed(diags) {
		t.Fatal(diags)
	}
	c, diags := query.Check(p, given...)
	if c == nil {
		t.Fatal(diags)
	}
	plan, diags := flow.Compile(c, o)
	if query.Failed(diags) {
		t.Fatal(diags)
	}
	return plan.Graph()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}
