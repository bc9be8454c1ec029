package rules

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// exports serves every test from the same answers of the go command.
var exports = GoList("../..")

// TestHouse is the rule itself: this module keeps all of them.
func TestHouse(t *testing.T) {
	breaches, err := Check(os.DirFS("../.."), exports)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range breaches {
		t.Error(b)
	}
}

// plant is a small clean house, with one more file in it.
func plant(name, src string) fstest.MapFS {
	tree := fstest.MapFS{}
	for n, s := range map[string]string{
		"go.mod":                   "module weir\n",
		"page/page.go":             "// Package page is the vocabulary.\npackage page\n\n// Set is a map.\ntype Set map[string]bool\n",
		"frontier/frontier.go":     "// Package frontier queues.\npackage frontier\n\nimport \"weir/page\"\n\n// Seen is what was seen.\nvar Seen page.Set\n",
		"crawl/crawl.go":           "// Package crawl joins.\npackage crawl\n\nimport (\n\t\"time\"\n\t\"weir/frontier\"\n)\n\nvar _ = frontier.Seen\n\n// At is a time.\nfunc At(now time.Time) time.Time { return now.Add(time.Second) }\n",
		"internal/fetch/fetch.go":  "// Package fetch fetches.\npackage fetch\n\nimport \"time\"\n\nfunc now() time.Time { return time.Now() }\n",
		"internal/fetch/f_test.go": "package fetch\n\nimport _ \"weir/internal/testweb\"\n",
		"internal/pins/pins.go":    "package pins\n\nimport _ \"example.org/tool\"\n",
		"cmd/weir/main.go":         "// Weir crawls.\npackage main\n\nfunc main() {}\n",
		".gitignore":               "*.test\n",
	} {
		tree[n] = &fstest.MapFile{Data: []byte(s)}
	}
	if name != "" {
		tree[name] = &fstest.MapFile{Data: []byte(src)}
	}
	return tree
}

func TestCleanHousePasses(t *testing.T) {
	for _, c := range []struct{ name, src string }{
		{"", ""},
		// What the core may do.
		{"frontier/a.go", "package frontier\n\nfunc sum(s []int) (n int) {\n\tfor _, v := range s {\n\t\tn += v\n\t}\n\tfor i := range 3 {\n\t\tn += i\n\t}\n\treturn n\n}\n"},
		{"frontier/a.go", "package frontier\n\nimport \"math/rand/v2\"\n\nfunc f(r *rand.Rand) int { return rand.New(rand.NewPCG(1, 2)).IntN(3) + r.IntN(2) }\n"},
		{"page/a.go", "package page\n\nimport (\n\t\"net/netip\"\n\t\"net/url\"\n)\n\nvar _ netip.Addr\nvar _ url.URL\n"},
		{"crawl/a.go", "package crawl\n\nimport \"time\"\n\ntype clock struct{ Now time.Time }\n\nfunc (c clock) f() time.Time { return c.Now }\n"},
		// Tests are free.
		{"frontier/a_test.go", "package frontier\n\nimport (\n\t\"os\"\n\t\"time\"\n)\n\nfunc f(m map[int]int) {\n\tfor range m {\n\t\tgo os.Exit(time.Now().Day())\n\t}\n}\n"},
		// The path of a URL is no path of a machine.
		{"internal/fetch/b.go", "package fetch\n\nconst u = \"http://example.org/ho" + "me/index.html\"\n"},
	} {
		breaches, err := Check(plant(c.name, c.src), exports)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range breaches {
			t.Errorf("with %s:\n%s\nfound %v", c.name, c.src, b)
		}
	}
}

// TestPlanted breaks each rule once and expects exactly that breach.
func TestPlanted(t *testing.T) {
	type planted struct{ name, file, src, want string }
	imports := func(from, to, want string) planted {
		pkg := from[strings.LastIndex(from, "/")+1:]
		return planted{from + " imports " + to, from + "/planted.go",
			fmt.Sprintf("// Package %s is planted.\npackage %s\n\nimport _ %q\n\nvar x int\n", pkg, pkg, to), want}
	}
	body := func(name, code, want string) planted {
		imp := ""
		for _, p := range []string{"time", "maps", "math/rand/v2"} {
			base := strings.TrimSuffix(p, "/v2")
			if strings.Contains(code, base[strings.LastIndex(base, "/")+1:]+".") {
				imp = fmt.Sprintf("import %q\n\n", p)
			}
		}
		return planted{name, "frontier/planted.go", "package frontier\n\n" + imp + "func planted() {\n" + code + "\n}\n", want}
	}
	cases := []planted{
		imports("page", "weir/robots", "vocabulary"),
		imports("frontier", "weir/internal/store", "never depend on the machinery"),
		imports("sim", "weir/internal/node", "never depend on the machinery"),
		imports("internal/node", "weir/sim", "neither knows the other"),
		imports("frontier", "weir/bandwidth", "not one another"),
		imports("frontier", "weir/query", "not one another"),
		imports("bandwidth", "weir/plan", "not one another"),
		imports("plan", "weir/frontier", "not one another"),
		imports("query", "weir/bandwidth", "not one another"),
		imports("robots", "weir/frontier", "not one another"),
		imports("overlay", "weir/crawl", "not one another"),
		imports("crawl", "weir/sim", "driven from outside"),
		imports("internal/fetch", "weir/crawl", "know only page and robots"),
		imports("internal/parse", "weir/frontier", "know only page and robots"),
		imports("internal/store", "weir/crawl", "know only page and robots"),
		imports("internal/store", "weir/internal/fetch", "know only page and robots"),
		imports("internal/web", "weir/crawl", "nothing deeper"),
		imports("internal/node", "weir/internal/web", "nor who shows them"),
		imports("internal/node", "weir/internal/testweb", "neither knows"),
		imports("internal/testweb", "weir/page", "outside what it tests"),
		imports("internal/sitetest", "weir/internal/node", "outside what it tests"),
		imports("cmd/weir", "weir/internal/rules", "stay out of the binary"),
		imports("internal/util", "weir/page", "add it to the table"),
		imports("shared", "weir/page", "add it to the table"),

		imports("page", "net", "never sees the network"),
		imports("page", "net/http", "never sees the network"),
		imports("robots", "os", "never sees the machine"),
		imports("robots", "os/exec", "never sees the machine"),
		imports("frontier", "sync", "nothing to lock"),
		imports("frontier", "sync/atomic", "nothing to lock"),
		imports("crawl", "log", "emits events"),
		imports("crawl", "log/slog", "emits events"),
		imports("plan", "context", "nothing to cancel"),
		imports("plan", "math/rand", "differs on every run"),
		imports("query", "crypto/rand", "differs on every run"),
		imports("query", "hash/maphash", "differs on every run"),
		imports("overlay", "runtime", "never sees the machine"),
		imports("overlay", "unsafe", "never sees the machine"),
		imports("bandwidth", "example.org/store", "add it to pureLibraries"),

		body("goroutine", "go func() {}()", "starts a goroutine"),
		body("select", "select {}", "at random"),
		body("channel", "_ = make(chan int)", "uses a channel"),
		body("global rand", "_ = rand.IntN(3)", "uses rand.IntN"),
		body("global shuffle as a value", "_ = rand.Shuffle", "uses rand.Shuffle"),
		body("range over a map", "for range map[int]int{} {\n}", "ranges over a map"),
		body("range over a named map of page", "for k := range Seen {\n_ = k\n}", "ranges over a map"),
		body("range over what does not compile", "for range nowhere {\n}", "type cannot be told"),
		body("keys of a map", "_ = maps.Keys(map[int]int{})", "uses maps.Keys"),
		{"range over a type parameter", "frontier/planted.go", "package frontier\n\nfunc f[M ~map[int]int | ~[]int](m M) {\n\tfor range m {\n\t}\n}\n", "ranges over a map"},
		{"the clock by another name", "crawl/planted.go", "package crawl\n\nimport tm \"time\"\n\nvar start = tm.Now()\n", "uses time.Now"},
		{"the clock as a value", "crawl/planted.go", "package crawl\n\nimport \"time\"\n\nvar clock = time.Now\n", "uses time.Now"},
		{"dot import", "crawl/planted.go", "package crawl\n\nimport . \"time\"\n\nvar d Duration\n", "with a dot"},

		{"long file", "page/planted.go", "package page\n" + strings.Repeat("\n", 900), "over 900 lines"},
		{"long main", "cmd/weir/main.go", "// Weir crawls.\npackage main\n\nfunc main() {}\n" + strings.Repeat("\n", 46), "main is under 50 lines"},
		{"leftover", "internal/fetch/planted.go", "package fetch\n\n// TO" + "DO: more\n", "do it, or open an issue"},
		{"other leftover", "internal/fetch/planted.go", "package fetch\n\n// FIX" + "ME later\n", "do it, or open an issue"},
		{"no package doc", "robots/planted.go", "package robots\n\nvar x int\n", "no package doc"},
		{"doc only in a test", "robots/planted_test.go", "// Package robots tests.\npackage robots\n", "no package doc"},
		{"machine path in Go", "page/planted.go", "package page\n\nconst dir = \"/ho" + "me/me/x\"\n", "somebody's machine"},
		{"machine path in a text", "docs/planted.md", "see /wo" + "rk/main\n", "somebody's machine"},
		{"machine path in a script", ".ci/run", "cd /ro" + "ot/weir\n", "somebody's machine"},
	}
	for _, call := range []string{"Now()", "Since(time.Time{})", "Until(time.Time{})", "Sleep(1)", "After(1)", "AfterFunc(1, nil)", "Tick(1)", "NewTimer(1)", "NewTicker(1)"} {
		name, _, _ := strings.Cut(call, "(")
		cases = append(cases, body("time."+name, "time."+call, "uses time."+name+": the core takes the time as an argument"))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tree := plant(c.file, c.src)
			if c.name == "doc only in a test" {
				tree["robots/robots.go"] = &fstest.MapFile{Data: []byte("package robots\n\nvar x int\n")}
			}
			breaches, err := Check(tree, exports)
			if err != nil {
				t.Fatal(err)
			}
			if len(breaches) != 1 || !strings.Contains(breaches[0].String(), c.want) {
				t.Errorf("planted in %s:\n%s\ngot %v\nwant one breach that says %q", c.file, c.src, breaches, c.want)
			}
		})
	}
}

// A tree that cannot be read is an error, never a clean bill.
func TestUnreadableTreeIsAnError(t *testing.T) {
	broken := plant("page/broken.go", "package page\n\nfunc {\n")
	noModule := plant("", "")
	delete(noModule, "go.mod")
	for _, tree := range []fstest.MapFS{broken, noModule, {}} {
		if _, err := Check(tree, exports); err == nil {
			t.Error("no error")
		}
	}
}
