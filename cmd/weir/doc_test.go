package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/query"
)

// tutorial is the text whose examples are run.
const tutorial = "../../docs/query.md"

// TestTutorial runs what docs/query.md shows, every section of it as a script.
// A fenced block whose first word is
//
//	prolog FILE    is a program
//	text FILE      is a file
//	console        has commands after "$ " and what they print, if anything stands there
//	console exit N has one that ends with this code
//
// A command that ends with & runs beside those of its block; the next block waits
// for it.
// A line "..." stands for any lines, "..." inside a line for any text. Programs
// of earlier sections are there, and crawls that a section asks and does not
// make itself are made first.
func TestTutorial(t *testing.T) {
	b, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	scripts, commands := 0, 0
	before := newStage()
	for i, s := range sections(string(b)) {
		script, n := before.script(t, s)
		if n == 0 {
			continue
		}
		scripts++
		commands += n
		name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(s.title), "-"), "-")
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d-%s.txtar", i, name)), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if scripts < 20 {
		t.Errorf("%d sections have examples; at least 20 were promised", scripts)
	}
	t.Logf("%d sections, %d commands", scripts, commands)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"garden": openGarden, "exits": exits, "shows": shows, "listens": listens,
		},
	})
}

// A reader copies the README's programs too.
func TestReadmePrograms(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range sections(string(b)) {
		for _, k := range s.blocks {
			if k.kind != "prolog" {
				continue
			}
			found = true
			if v := judge("README.md", k.text, nil); !v.Fine {
				t.Errorf("%s: %+v", s.title, v.Faults)
			}
		}
	}
	if !found {
		t.Error("the README shows no program")
	}
}

// A reference that leaves something out misleads.
func TestTutorialReference(t *testing.T) {
	b, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, f := range query.Facts {
		if want := "`" + f.Name + "(" + strings.Join(f.Columns, ", ") + ")`"; !strings.Contains(text, want) {
			t.Errorf("it does not have the fact %s", want)
		}
	}
	for _, f := range slices.Concat(query.Functions, query.Tests) {
		if !strings.Contains(text, "`"+f.Name+"(") {
			t.Errorf("it does not have %s", f.Name)
		}
	}
	for _, a := range query.Aggregates {
		if !strings.Contains(text, "`"+a.Name+"<") {
			t.Errorf("it does not have the aggregate %s", a.Name)
		}
	}
}

// section is a part of a text under one heading.
type section struct {
	title  string
	blocks []block
}

// block is fenced text.
type block struct {
	kind, rest string // the words after the fence
	text       string
}

func sections(text string) []section {
	list := []section{{}}
	var open *block
	for line := range strings.Lines(text) {
		s := &list[len(list)-1]
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			kind, rest, _ := strings.Cut(strings.TrimSpace(info), " ")
			s.blocks = append(s.blocks, block{kind: kind, rest: rest})
			open = &s.blocks[len(s.blocks)-1]
		case fence:
			open = nil
		case open != nil:
			open.text += line
		case strings.HasPrefix(line, "#"):
			list = append(list, section{title: strings.TrimSpace(strings.TrimLeft(line, "#"))})
		}
	}
	return list
}

// stage is what earlier sections have left for later ones.
type stage struct {
	files  map[string]string
	crawls map[string]string // by folder, the command that made it
}

func newStage() *stage { return &stage{map[string]string{}, map[string]string{}} }

var dirFlagged = regexp.MustCompile(`^weir crawl .*--dir (\S+)`)

// script makes a script of a section and says how many commands it runs.
func (g *stage) script(t *testing.T, s section) (string, int) {
	var body, files strings.Builder
	made := map[string]bool{}
	commands, beside := 0, false
	for _, b := range s.blocks {
		switch b.kind {
		case "prolog", "text":
			if b.rest != "" {
				g.files[b.rest] = b.text
			}
		case "console":
			if beside {
				body.WriteString("wait\n")
				beside = false
			}
			for chunk := range strings.SplitSeq("\n"+b.text, "\n$ ") {
				if strings.TrimSpace(chunk) == "" {
					continue
				}
				command, want, _ := strings.Cut(strings.TrimPrefix(chunk, "\n"), "\n")
				for dir, by := range g.crawls {
					if !made[dir] && !strings.HasPrefix(command, "weir crawl") && slices.Contains(strings.Fields(command), dir) {
						fmt.Fprintf(&body, "exec %s\n", by)
						made[dir] = true
					}
				}
				if m := dirFlagged.FindStringSubmatch(command); m != nil && b.rest == "" {
					made[m[1]] = true
					g.crawls[m[1]] = strings.TrimSuffix(command, " &")
				}
				commands++
				fmt.Fprintf(&body, "%s\n", inScript(t, command, b.rest))
				if m := dirFlagged.FindStringSubmatch(command); m != nil && strings.HasSuffix(command, "&") {
					fmt.Fprintf(&body, "listens %s\n", m[1])
					beside = true
				}
				if strings.TrimSpace(want) != "" {
					fmt.Fprintf(&body, "shows want%d\n", commands)
					fmt.Fprintf(&files, "-- want%d --\n%s\n", commands, strings.TrimRight(want, "\n"))
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.files)) {
		fmt.Fprintf(&files, "-- %s --\n%s", name, g.files[name])
	}
	return "garden\n" + body.String() + files.String(), commands
}

// inScript is a command of the text as a script has it. On a terminal questions are
// answered with a table, so that is asked for where there is none.
func inScript(t *testing.T, command, rest string) string {
	if !strings.HasPrefix(command, "weir ") {
		t.Errorf("no test can run %q", command)
	}
	if strings.HasPrefix(command, "weir query ") && !strings.Contains(command, "--format") && !strings.Contains(command, " -o ") {
		command += " --format table"
	}
	if code, ok := strings.CutPrefix(rest, "exit "); ok {
		return "exits " + code + " " + command
	}
	return "exec " + command
}

// openGarden opens the garden of the tutorial for one script.
func openGarden(ts *testscript.TestScript, neg bool, args []string) {
	server, l, err := newGarden().open("127.0.0.1:0", ts.MkAbs("."))
	ts.Check(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l) // until it is closed
	}()
	ts.Defer(func() {
		server.Close()
		<-done
	})
}

// shows compares what the last command said with a file: on one of its outputs,
// or on both.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shows FILE")
	}
	want := pattern(ts.ReadFile(args[0]))
	out, err := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	if !want.MatchString(out) && !want.MatchString(err) && !want.MatchString(out+err) {
		ts.Fatalf("the text shows\n%s\nand weir said\n%s%s", ts.ReadFile(args[0]), out, err)
	}
}

// pattern matches what a text shows. Spaces at the ends of lines are not seen.
func pattern(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A\n*`)
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		if line = strings.TrimSpace(line); line == "..." {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(`[ \t]*` + strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + `[ \t]*\n`)
	}
	return regexp.MustCompile(b.String() + `\n*\z`)
}
