package query

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// goldens runs fn over the programs of a txtar file and compares what it says
// with what the file says. A program stands in NAME.dl, what is said of it in
// NAME.out; lines such as "% --set max=3" at its beginning are settings.
func goldens(t *testing.T, path string, fn func(name, program string, settings []Setting) string) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := &txtar.Archive{Comment: archive.Comment}
	for i, f := range archive.Files {
		name, isProgram := strings.CutSuffix(f.Name, ".dl")
		if !isProgram {
			continue
		}
		var settings []Setting
		rest := string(f.Data)
		for strings.HasPrefix(rest, "% --set ") {
			line, more, _ := strings.Cut(rest, "\n")
			k, v, _ := strings.Cut(strings.TrimPrefix(line, "% --set "), "=")
			settings = append(settings, Setting{k, v})
			rest = more
		}
		got := fn(f.Name, string(f.Data), settings)
		out.Files = append(out.Files, f, txtar.File{Name: name + ".out", Data: []byte(got)})
		t.Run(name, func(t *testing.T) {
			switch {
			case *rewrite:
			case i+1 >= len(archive.Files) || archive.Files[i+1].Name != name+".out":
				t.Errorf("%s has no %s.out", path, name)
			case string(archive.Files[i+1].Data) != got:
				t.Errorf("got:\n%swant:\n%s", got, archive.Files[i+1].Data)
			}
		})
	}
	if *rewrite {
		if err := os.WriteFile(path, txtar.Format(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// format is all that is said of a program.
func format(p *Program, diags []Diag) string {
	var b strings.Builder
	for _, d := range diags {
		b.WriteString(d.Format(p))
	}
	return b.String()
}
