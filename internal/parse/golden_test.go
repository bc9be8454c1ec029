package parse

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files again")

// dump writes a page the way a reader can check it.
func dump(d *Doc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title     %s\ncharset   %s\nbase      %s\ncanonical %s\n", d.Title, d.Charset, d.Base, d.Canonical)
	fmt.Fprintf(&b, "robots    noindex=%v nofollow=%v noarchive=%v\nrefused   %d\n", d.Robots.NoIndex, d.Robots.NoFollow, d.Robots.NoArchive, d.Refused)
	for _, a := range d.Translations {
		fmt.Fprintf(&b, "alternate %s %s\n", a.Lang, a.URL)
	}
	for _, m := range d.Metas {
		fmt.Fprintf(&b, "meta      %s %q\n", m.Name, m.Value)
	}
	for _, l := range d.Links {
		fmt.Fprintf(&b, "%-9s %s", l.Kind, l.URL)
		if l.Rel != "" {
			fmt.Fprintf(&b, " rel=%q", l.Rel)
		}
		if l.Text != "" {
			fmt.Fprintf(&b, " %q", l.Text)
		}
		if l.NoFollow {
			b.WriteString(" nofollow")
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n" + d.Text + "\n")
	for _, w := range d.Words {
		fmt.Fprintf(&b, "\nword %s %d", w.Term, w.N)
	}
	return b.String()
}

func TestPages(t *testing.T) {
	files, err := filepath.Glob("testdata/pages/*.html")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var p Parser
			got := dump(p.HTML(body, mustURL(t, "http://h.test/tutorial/gauge.html"), "text/html", "weir", all))
			golden := strings.TrimSuffix(file, ".html") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
