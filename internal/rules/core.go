package rules

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// foreign maps packages the core must not import to the reason. An entry
// holds for everything below it too, unless pureStd names it.
var foreign = []struct{ path, why string }{
	{"net", "the core never sees the network (net/netip and net/url are fine)"},
	{"os", "the core never sees the machine it runs on"},
	{"syscall", "the core never sees the machine it runs on"},
	{"runtime", "the core never sees the machine it runs on"},
	{"unsafe", "the core never sees the machine it runs on"},
	{"sync", "one goroutine owns each machine of the core, so there is nothing to lock"},
	{"context", "a turn of the core never blocks, so there is nothing to cancel"},
	{"log", "the core emits events; whoever drives it may log them"},
	{"math/rand", "the global source differs on every run: take a seeded *rand.Rand of math/rand/v2"},
	{"crypto/rand", "it differs on every run: take a seeded *rand.Rand of math/rand/v2"},
	{"hash/maphash", "its seed differs on every run"},
}

var pureStd = []string{"net/netip", "net/url", "math/rand/v2"}

// pureLibraries are the packages of others that the core may import: each was
// read and neither looks at a clock nor at the machine.
var pureLibraries = []string{
	"github.com/cespare/xxhash/v2",
	"github.com/nlnwa/whatwg-url/errors",
	"github.com/nlnwa/whatwg-url/url",
	"golang.org/x/net/idna",
	"golang.org/x/net/publicsuffix",
	"golang.org/x/text/unicode/norm",
}

// calls are functions of allowed packages that the core must not use. For
// math/rand/v2 it is the other way round: only its constructors are allowed.
var calls = []struct {
	path  string
	names []string
	why   string
}{
	{"time", []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"the core takes the time as an argument, so that a simulation and a replay see the same"},
	{"maps", []string{"All", "Keys", "Values", "DeleteFunc"},
		"the order of a map differs on every run"},
}

var seededRand = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

// pure checks what makes a core package deterministic, all but the order of
// maps, which needs types: see mapOrder. Tests are free to do as they like.
func (t *tree) pure(p *pkg) {
	for _, f := range p.files {
		if f.test {
			continue
		}
		names := t.pureImports(f)
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.breach(n.Pos(), "starts a goroutine: a machine of the core is one state machine, so that equal inputs give equal traces")
			case *ast.SelectStmt:
				t.breach(n.Pos(), "select picks among ready cases at random")
			case *ast.ChanType, *ast.SendStmt:
				t.breach(n.Pos(), "uses a channel: in the core events come in as arguments and orders go out as results")
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok {
					t.pureCall(n.Pos(), names[id.Name], n.Sel.Name)
				}
			}
			return true
		})
	}
}

// pureImports checks the imports of f and returns the path behind each name
// that f uses for a package.
func (t *tree) pureImports(f *file) map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		p := importPath(spec)
		name := path.Base(p)
		if p == "math/rand/v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			t.breach(spec.Pos(), "imports %s with a dot: it hides which package a call belongs to", p)
		}
		names[name] = p
		if why := impure(t, p); why != "" {
			t.breach(spec.Pos(), "imports %s: %s", p, why)
		}
	}
	return names
}

func impure(t *tree, importPath string) string {
	if _, ours := t.folder(importPath); ours || slices.Contains(pureStd, importPath) || slices.Contains(pureLibraries, importPath) {
		return ""
	}
	for _, f := range foreign {
		if importPath == f.path || strings.HasPrefix(importPath, f.path+"/") {
			return f.why
		}
	}
	if first, _, _ := strings.Cut(importPath, "/"); strings.Contains(first, ".") {
		return "a library may look at clocks, files or the network: if this one is pure, add it to pureLibraries in internal/rules/core.go"
	}
	return ""
}

func (t *tree) pureCall(pos token.Pos, importPath, name string) {
	if importPath == "math/rand/v2" && !slices.Contains(seededRand, name) {
		t.breach(pos, "uses rand.%s: the global source differs on every run: take a seeded *rand.Rand", name)
	}
	for _, c := range calls {
		if c.path == importPath && slices.Contains(c.names, name) {
			t.breach(pos, "uses %s.%s: %s", path.Base(c.path), name, c.why)
		}
	}
}

// Exports opens the export data of a package from outside the module.
type Exports func(importPath string) (io.ReadCloser, error)

// mapOrder finds loops over maps in the core. It type-checks the core against
// the export data of everything else. Errors of types are the compiler's to
// tell, but a loop over something of unknown type is a breach: it could be a map.
func (t *tree) mapOrder(exports Exports) {
	c := &checker{
		tree:   t,
		others: importer.ForCompiler(t.fset, "gc", importer.Lookup(exports)),
		done:   map[string]*types.Package{},
	}
	for _, p := range t.pkgs {
		if r, _ := find(p.dir); r.core {
			c.Import(t.module + "/" + p.dir) // an error is a cycle, which the compiler tells
		}
	}
}

// checker type-checks the core, and imports for it.
type checker struct {
	tree   *tree
	others types.Importer
	done   map[string]*types.Package
}

// Import makes checker a types.Importer.
func (c *checker) Import(importPath string) (*types.Package, error) {
	dir, ours := c.tree.folder(importPath)
	if !ours {
		return c.others.Import(importPath)
	}
	if p, ok := c.done[dir]; ok {
		if p == nil {
			return nil, fmt.Errorf("%s imports itself", dir)
		}
		return p, nil
	}
	r, _ := find(dir)
	p := c.tree.pkg(dir)
	if p == nil || !r.core {
		return nil, fmt.Errorf("%s is no part of the core", dir)
	}
	c.done[dir] = nil
	var files []*ast.File
	for _, f := range p.files {
		if !f.test {
			files = append(files, f.ast)
		}
	}
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: c, Error: func(error) {}}
	c.done[dir], _ = conf.Check(importPath, c.tree.fset, files, &info)
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok {
				c.loop(loop, info.TypeOf(loop.X))
			}
			return true
		})
	}
	return c.done[dir], nil
}

func (c *checker) loop(loop *ast.RangeStmt, over types.Type) {
	switch {
	case over == nil || over == types.Typ[types.Invalid]:
		c.tree.breach(loop.Pos(), "ranges over something whose type cannot be told, which could be a map: make the package compile first")
	case isMap(over):
		c.tree.breach(loop.Pos(), "ranges over a map: its order differs on every run; keep a slice beside it")
	}
}

// isMap reports whether t is a map, or a type parameter that may be one.
func isMap(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface:
		for i := range u.NumEmbeddeds() {
			if isMap(u.EmbeddedType(i)) {
				return true
			}
		}
	case *types.Union:
		for i := range u.Len() {
			if isMap(u.Term(i).Type()) {
				return true
			}
		}
	}
	return false
}

// GoList returns the Exports that the go command finds from dir, compiling
// what is not compiled yet. It asks once for each package and its dependencies.
func GoList(dir string) Exports {
	files := map[string]string{}
	return func(importPath string) (io.ReadCloser, error) {
		if _, ok := files[importPath]; !ok {
			cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "--", importPath)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("asking the go command for export data of %s: %w", importPath, err)
			}
			for line := range strings.Lines(string(out)) {
				p, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				files[p] = name
			}
		}
		return os.Open(files[importPath])
	}
}
