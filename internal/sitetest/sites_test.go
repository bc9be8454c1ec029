package sitetest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nlnwa/gowarc/v2"
)

var (
	which = flag.String("sites", "short", "crawl the `short` sites, or all")
	weir  = flag.String("weir", "", "test this `binary` instead of building one")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if testing.Short() || *weir != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	*weir = filepath.Join(dir, "weir")
	if runtime.GOOS == "windows" {
		*weir += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", *weir, "../../cmd/weir").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building weir: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A crawl of a real site fetches every page of it that a reader can reach by
// clicking, once, and nothing else; with --requisites also what its pages show.
// The server's log, the table of pages and the archive agree on that.
func TestSites(t *testing.T) {
	if testing.Short() {
		t.Skip("real sites are left out with -short")
	}
	if *which != "short" && *which != "all" {
		t.Fatalf("-sites is short or all, not %q", *which)
	}
	for _, s := range sites {
		if !s.small && *which == "short" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			root := s.unpack(t)
			t.Run("pages", func(t *testing.T) { s.crawl(t, root, false) })
			t.Run("requisites", func(t *testing.T) { s.crawl(t, root, true) })
		})
	}
}

func (s site) crawl(t *testing.T, root string, requisites bool) {
	srv := serve(t, root)
	want := s.want(t, root, requisites)
	dir := filepath.Join(t.TempDir(), "crawl")
	args := []string{"crawl", "--dir", dir, "--wait", "0s", "--per-conn", "100", "--allow-private"}
	if requisites {
		args = append(args, "--requisites")
	}
	for _, p := range s.starts {
		args = append(args, srv.origin+p)
	}
	command(t, args...)
	srv.stop()

	got := map[string]int{}
	for _, r := range srv.requests(t) {
		if r.path == "/robots.txt" {
			continue
		}
		if _, twice := got[r.path]; twice {
			t.Errorf("%s was fetched twice", r.path)
		}
		got[r.path] = r.status
	}
	compare(t, "the server saw", want, got)
	compare(t, "weir export pages says", want, exported(t, dir, srv.origin))
	want["/robots.txt"] = 404
	compare(t, "the archive holds", want, archived(t, dir, srv.origin))
}

// command runs weir and returns what it printed.
func command(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, msg bytes.Buffer
	cmd := exec.CommandContext(t.Context(), *weir, args...)
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		t.Fatalf("weir %s: %v\n%s%s", strings.Join(args, " "), err, &out, &msg)
	}
	return out.Bytes()
}

// exported reads the table of pages: path and status of each.
func exported(t *testing.T, dir, origin string) map[string]int {
	rows, err := csv.NewReader(bytes.NewReader(command(t, "export", "pages", "--dir", dir, "--format", "csv"))).ReadAll()
	must(t, err)
	if len(rows) == 0 {
		t.Fatal("weir export pages printed nothing")
	}
	url, status, outcome := slices.Index(rows[0], "url"), slices.Index(rows[0], "status"), slices.Index(rows[0], "outcome")
	if url < 0 || status < 0 || outcome < 0 {
		t.Fatalf("weir export pages has the columns %v", rows[0])
	}
	pages := map[string]int{}
	for _, row := range rows[1:] {
		path, ours := strings.CutPrefix(row[url], origin)
		if !ours {
			t.Errorf("%s is no page of the site", row[url])
		}
		n, err := strconv.Atoi(row[status])
		if err != nil {
			t.Errorf("%s has the status %q and the outcome %q", path, row[status], row[outcome])
		}
		if _, twice := pages[path]; twice {
			t.Errorf("%s is in the table twice", path)
		}
		pages[path] = n
	}
	return pages
}

// archived reads the archive with a library that is not ours and complains of
// all it complains of. It returns path and status of every answer.
func archived(t *testing.T, dir, origin string) map[string]int {
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	must(t, err)
	pages := map[string]int{}
	for _, name := range files {
		r, err := gowarc.NewWarcFileReader(name, 0, gowarc.WithBufferTmpDir(t.TempDir()))
		must(t, err)
		defer r.Close()
		for {
			rec, offset, complaints, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = rec.ValidateDigest(complaints)
			}
			if err == nil && !complaints.Valid() {
				err = complaints
			}
			if err != nil {
				t.Fatalf("%s, record at %d: %v", filepath.Base(name), offset, err)
			}
			if rec.Type() == gowarc.Response || rec.Type() == gowarc.Revisit {
				path, ours := strings.CutPrefix(rec.WarcHeader().Get(gowarc.WarcTargetURI), origin)
				if _, twice := pages[path]; twice || !ours {
					t.Errorf("%s, record at %d: %s again, or of another site", filepath.Base(name), offset, path)
				}
				pages[path] = status(rec.Block())
			}
			rec.Close()
		}
	}
	return pages
}

func status(b gowarc.Block) int {
	if resp, ok := b.(gowarc.HttpResponseBlock); ok {
		return resp.HttpStatusCode()
	}
	// A revisit keeps the header of its answer.
	raw, err := b.RawBytes()
	if err != nil {
		return 0
	}
	line, _ := bufio.NewReader(raw).ReadString('\n')
	if f := strings.Fields(line); len(f) > 1 {
		n, _ := strconv.Atoi(f[1])
		return n
	}
	return 0
}

// compare fails with the first differences, in the order of paths.
func compare(t *testing.T, what string, want, got map[string]int) {
	t.Helper()
	all := slices.Collect(maps.Keys(want))
	for p := range got {
		if _, ok := want[p]; !ok {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	var diff []string
	for _, p := range all {
		w, wanted := want[p]
		g, found := got[p]
		switch {
		case !found:
			diff = append(diff, fmt.Sprintf("missing  %d %s", w, p))
		case !wanted:
			diff = append(diff, fmt.Sprintf("too many %d %s", g, p))
		case w != g:
			diff = append(diff, fmt.Sprintf("status   %d instead of %d %s", g, w, p))
		}
	}
	if len(diff) > 0 {
		t.Errorf("%s %d URLs, the list has %d; %d differ:\n%s", what, len(got), len(want), len(diff), strings.Join(diff[:min(len(diff), 30)], "\n"))
	}
}

// truth is a row of a site's list.
type truth struct {
	path   string
	status int
	nav    bool
}

func readTruth(t *testing.T, name string) []truth {
	f, err := os.Open(filepath.Join("testdata", name+".urls.tsv.gz"))
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	var rows []truth
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		col := strings.Split(lines.Text(), "\t") // id path status type bytes depth nav
		if len(col) != 7 {
			t.Fatalf("%s has the line %q", name, lines.Text())
		}
		if col[0] == "id" {
			continue
		}
		n, err := strconv.Atoi(col[2])
		must(t, err)
		rows = append(rows, truth{path: col[1], status: n, nav: col[6] == "1"})
	}
	must(t, lines.Err())
	return rows
}
