// Package rules keeps the house in order: which folder may import which, what
// the deterministic core must not touch, and a few habits of a clean tree.
//
// The rules are data in table.go and run as a test, so that `go test ./...`
// fails with the file, the line and the reason. To change the house, change
// the table in the same commit and say why in an ADR.
//
//	rules.go   reads the tree and checks imports against the table
//	core.go    what makes a core package deterministic
//	tidy.go    package docs, long files, leftovers
package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Breach is one place where a rule is broken, with the reason for the rule.
type Breach struct {
	File string // slash-separated, from the root of the module
	Line int    // 0 when the whole file or folder is meant
	Why  string
}

func (b Breach) String() string {
	if b.Line == 0 {
		return b.File + ": " + b.Why
	}
	return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Why)
}

// Check reads the module at the root of fsys and returns every breach, in the
// order of files and lines. exports finds the compiled form of packages from
// outside the module; see GoList. An error means that the tree could not be
// read, not that it is untidy.
func Check(fsys fs.FS, exports Exports) ([]Breach, error) {
	t, err := read(fsys)
	if err != nil {
		return nil, err
	}
	for _, p := range t.pkgs {
		if p.declares() {
			t.imports(p)
			t.doc(p)
		}
		if r, ok := find(p.dir); ok && r.core {
			t.pure(p)
		}
	}
	t.mapOrder(exports)
	slices.SortFunc(t.found, func(a, b Breach) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return t.found, nil
}

// tree is a module as read, and what was found in it so far.
type tree struct {
	module string
	fset   *token.FileSet
	pkgs   []*pkg
	found  []Breach
}

// pkg is the Go files of one folder, test files included.
type pkg struct {
	dir   string
	files []*file
}

type file struct {
	name string
	test bool
	ast  *ast.File
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+(\S+)`)

func read(fsys fs.FS) (*tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("finding the module: %w", err)
	}
	m := moduleLine.FindSubmatch(mod)
	if m == nil {
		return nil, fmt.Errorf("finding the module: go.mod has no module line")
	}
	t := &tree{module: string(m[1]), fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(unread, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || name == ".git" { // a worktree's says where its repository lies
			return nil
		}
		return t.add(fsys, name)
	})
	return t, err
}

func (t *tree) add(fsys fs.FS, name string) error {
	if !isText(name) {
		return nil
	}
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	t.tidy(name, src)
	if path.Ext(name) != ".go" {
		return nil
	}
	f, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parsing: %w", err)
	}
	p := t.pkg(path.Dir(name))
	if p == nil {
		p = &pkg{dir: path.Dir(name)}
		t.pkgs = append(t.pkgs, p)
	}
	p.files = append(p.files, &file{name: name, test: strings.HasSuffix(name, "_test.go"), ast: f})
	return nil
}

// pkg returns the package in dir, or nil.
func (t *tree) pkg(dir string) *pkg {
	for _, p := range t.pkgs {
		if p.dir == dir {
			return p
		}
	}
	return nil
}

func (t *tree) breach(pos token.Pos, format string, args ...any) {
	p := t.fset.Position(pos)
	t.found = append(t.found, Breach{p.Filename, p.Line, fmt.Sprintf(format, args...)})
}

// declares reports whether the package has anything but imports. A folder of
// blank imports only pins versions in go.mod and is no room of the house.
func (p *pkg) declares() bool {
	for _, f := range p.files {
		for _, d := range f.ast.Decls {
			if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.IMPORT {
				return true
			}
		}
	}
	return false
}

// imports holds the imports of p against the table.
func (t *tree) imports(p *pkg) {
	r, ok := find(p.dir)
	if !ok {
		t.found = append(t.found, Breach{File: p.dir, Why: "this folder is not in the house: add it to the table in internal/rules/table.go, in the commit that makes it"})
		return
	}
	for _, f := range p.files {
		for _, spec := range f.ast.Imports {
			to, ours := t.folder(importPath(spec))
			switch {
			case !ours || to == p.dir || slices.Contains(r.imports, to):
			case f.test && r.mayTestWith(to):
			case !strings.HasPrefix(p.dir, "internal/") && !strings.HasPrefix(p.dir, "cmd/") && strings.HasPrefix(to, "internal/"):
				t.breach(spec.Pos(), "%s imports %s: ideas at the root never depend on the machinery in internal/", p.dir, to)
			default:
				t.breach(spec.Pos(), "%s imports %s: %s", p.dir, to, r.reason())
			}
		}
	}
}

// folder turns an import path into a folder of this module.
func (t *tree) folder(importPath string) (dir string, ours bool) {
	if importPath == t.module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.module+"/")
}

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked the quotes
	return p
}
