package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"weir/internal/node"
	"weir/internal/store"
)

// readCSV returns the header and the rows of a table, a map each.
func readCSV(t *testing.T, text string) (header []string, rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

// by finds the row with a value.
func by(rows []map[string]string, column, value string) map[string]string {
	for _, r := range rows {
		if r[column] == value {
			return r
		}
	}
	return nil
}

func TestExportPages(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, nil)
	header, rows := readCSV(t, must(t, "export", "pages", "--dir", dir))
	if want := "url,status,mime,bytes,depth,outcome,server,fetched_at,seconds"; !strings.HasPrefix(strings.Join(header, ","), want) {
		t.Errorf("columns %v do not begin with %s", header, want)
	}
	var fetched []string
	for _, r := range rows {
		if r["status"] == "200" && !strings.Contains(r["url"], "/a/b/") {
			fetched = append(fetched, r["url"])
		}
		if r["fetched_at"] == "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, r["fetched_at"]); err != nil || time.Since(at) > time.Hour || !strings.HasSuffix(r["fetched_at"], "Z") {
			t.Errorf("fetched_at is %q", r["fetched_at"])
		}
	}
	slices.Sort(fetched)
	if truth := web.Truth(); !slices.Equal(fetched, truth) {
		t.Errorf("fetched\n%s\nwant\n%s", strings.Join(fetched, "\n"), strings.Join(truth, "\n"))
	}
	odd := strings.TrimSuffix(web.URL(1), "/")
	if r := by(rows, "url", odd+"/p/1"); r["status"] != "404" || r["outcome"] != "client-error" || r["server"] != web.Addr(1).String() {
		t.Errorf("the missing page: %v", r)
	}
	if r := by(rows, "url", odd+"/p/2"); r["status"] != "302" || r["outcome"] != "redirect" {
		t.Errorf("the redirect: %v", r)
	}
	if r := by(rows, "outcome", "denied"); r == nil || r["status"] != "0" || r["fetched_at"] != "" || !strings.HasPrefix(r["url"], odd+"/private") {
		t.Errorf("the forbidden page: %v", r)
	}
	if r := by(rows, "url", web.URL(0)); r["depth"] != "0" || r["via"] != "seed" || r["mime"] != "text/html" {
		t.Errorf("the start page: %v", r)
	}
}

// The three formats hold the same.
func TestExportFormats(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, nil)
	for _, name := range []string{"pages", "links", "hosts", "text", "parked", "queue"} {
		t.Run(name, func(t *testing.T) {
			header, rows := readCSV(t, must(t, "export", name, "--dir", dir))
			var lines []map[string]any
			for line := range strings.Lines(must(t, "export", name, "--dir", dir, "--format", "jsonl")) {
				var row map[string]any
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				lines = append(lines, row)
			}
			file := filepath.Join(t.TempDir(), name+".parquet")
			must(t, "export", name, "--dir", dir, "-o", file)
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			table, err := parquet.OpenFile(f, info.Size())
			if err != nil {
				t.Fatal(err)
			}
			var columns []string
			for _, c := range table.Schema().Fields() {
				columns = append(columns, c.Name())
			}
			if !slices.Equal(columns, header) || len(lines) != len(rows) || table.NumRows() != int64(len(rows)) {
				t.Errorf("csv: %v, %d rows; jsonl: %d rows; parquet: %v, %d rows", header, len(rows), len(lines), columns, table.NumRows())
			}
			if name != "queue" && len(rows) == 0 {
				t.Error("the table is empty")
			}
			for i, row := range lines {
				if !slices.Equal(slices.Sorted(maps.Keys(row)), slices.Sorted(slices.Values(header))) {
					t.Fatalf("line %d has other columns: %v", i, row)
				}
				for k, v := range row {
					if text, ok := v.(string); ok && text != rows[i][k] {
						t.Errorf("line %d: %s is %q, in csv %q", i, k, text, rows[i][k])
					}
				}
			}
			if name == "pages" {
				got, err := parquet.ReadFile[pageRow](file)
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range got {
					if r.URL != rows[i]["url"] || stamp(r.FetchedAt) != rows[i]["fetched_at"] || r.Outcome != rows[i]["outcome"] {
						t.Errorf("row %d is %+v, in csv %v", i, r, rows[i])
					}
				}
			}
		})
	}
}

func TestExportLinks(t *testing.T) {
	web := smallWeb(t)
	for _, form := range []store.Form{store.Gzip, store.Zstd} {
		dir := crawlWeb(t, web, func(c *node.Config) { c.Archive = form })
		text := must(t, "export", "links", "--dir", dir)
		if again := must(t, "export", "links", "--dir", dir); again != text {
			t.Error("the same export twice differs")
		}
		_, rows := readCSV(t, text)
		_, pages := readCSV(t, must(t, "export", "pages", "--dir", dir))
		from := map[string]bool{}
		for _, r := range rows {
			from[r["from"]] = true
			// Scope is any: whatever is linked was crawled, denied or parked.
			if r["kind"] == "nav" && by(pages, "url", r["to"]) == nil && !strings.Contains(r["to"], "/a/b/a/b/") {
				t.Errorf("%s is linked and not among the pages", r["to"])
			}
		}
		plain, odd := strings.TrimSuffix(web.URL(0), "/"), strings.TrimSuffix(web.URL(1), "/")
		for what, url := range map[string]string{
			"compressed": plain + "/p/1", "chunked": plain + "/p/2", "first of two": plain + "/p/3", "repeated": plain + "/p/4",
		} {
			if !from[url] {
				t.Errorf("%s: no link of the %s page", form, what)
			}
		}
		if from[plain+"/p/5"] {
			t.Error("links were read from something that is not HTML")
		}
		if r := by(rows, "from", odd+"/p/2"); r["kind"] != "redirect" || !strings.HasPrefix(r["to"], odd) {
			t.Errorf("the redirect is %v", r)
		}
	}
}

func TestExportText(t *testing.T) {
	web := smallWeb(t)
	_, rows := readCSV(t, must(t, "export", "text", "--dir", crawlWeb(t, web, nil)))
	r := by(rows, "url", web.URL(0))
	if r["title"] == "" || len(r["text"]) < 100 || strings.Contains(r["text"], "<") {
		t.Errorf("the start page reads %q, %.200q", r["title"], r["text"])
	}
}

func TestExportHostsAndParked(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, nil)
	_, rows := readCSV(t, must(t, "export", "hosts", "--dir", dir))
	odd := by(rows, "host", "odd.test")
	if odd == nil || odd["queued"] != "0" || odd["parked"] != "1" || odd["robots_at"] == "" || odd["site"]+"/" != web.URL(1) {
		t.Errorf("odd.test: %v", odd)
	}
	_, rows = readCSV(t, must(t, "export", "parked", "--dir", dir))
	if len(rows) != 1 || !strings.HasSuffix(rows[0]["url"], "/a/b/a/b/a/b/") || rows[0]["reason"] == "" {
		t.Errorf("parked: %v", rows)
	}
}

// A table is read page by page; the queue of an unfinished crawl is a table
// too.
func TestExportQueue(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, func(c *node.Config) { c.MaxPages = 2 })
	_, rows := readCSV(t, must(t, "export", "queue", "--dir", dir))
	// Which two pages came first is not fixed, so a start page may be waiting too.
	if link := by(rows, "depth", "1"); link == nil || link["attempt"] != "0" {
		t.Errorf("queue: %v", rows)
	}
}

func TestExportWithoutArchive(t *testing.T) {
	dir := crawlWeb(t, smallWeb(t), func(c *node.Config) { c.Archive = store.None })
	for _, name := range []string{"links", "text"} {
		if got := weir(t, "", "export", name, "--dir", dir); got.code != 1 || !strings.Contains(got.err, "--warc none") || !strings.Contains(got.err, "hint:") {
			t.Errorf("exit %d: %s", got.code, got.err)
		}
	}
	must(t, "export", "pages", "--dir", dir)
}

// A file that cannot be written whole does not appear.
func TestExportOutput(t *testing.T) {
	dir := crawlWeb(t, smallWeb(t), nil)
	out := t.TempDir()
	must(t, "export", "pages", "--dir", dir, "-o", filepath.Join(out, "pages.csv"))
	got := weir(t, "", "export", "pages", "--dir", dir, "-o", filepath.Join(out, "missing", "pages.csv"))
	if got.code != 1 || !strings.Contains(got.err, "hint:") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	if list, err := os.ReadDir(out); err != nil || len(list) != 1 || list[0].Name() != "pages.csv" {
		t.Errorf("%v, %v", list, err)
	}
}

// served is an answer: its type, one more header, and its body.
type served struct{ kind, header, value, body string }

// serveAll answers with pages by their paths.
func serveAll(t *testing.T, pages map[string]served) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", p.kind)
		w.Header().Set(p.header, p.value)
		io.WriteString(w, p.body)
	}))
	t.Cleanup(server.Close)
	return server
}

// Pages are read again as the crawl has read them, whatever they claim.
func TestExportOddPages(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "<title>cut</title><a href=/from-cut>x</a>", strings.Repeat("text and ", 1000))
	z.Flush()
	pages := map[string]served{
		"/":       {"text/html", "X-A", "b", "<a href=lies>l</a><a href=tagged>t</a><a href=cut>c</a><a href=latin>l</a><a href=plain>p</a>"},
		"/lies":   {"text/html", "Content-Encoding", "gzip", "<title>lies</title><a href=/from-lies>x</a>"},
		"/tagged": {"text/html", "X-Robots-Tag", "nofollow", "<title>tagged</title><a href=/from-tagged>x</a>"},
		"/cut":    {"text/html", "Content-Encoding", "gzip", packed.String()},
		"/latin":  {"text/html; charset=iso-8859-1", "X-A", "b", "<title>gr\xfcn</title><a href='/?q=\xfc'>x</a>"},
		"/plain":  {"text/plain", "X-A", "b", "<title>plain</title><a href=/from-plain>x</a>"},
	}
	server := serveAll(t, pages)
	dir := filepath.Join(t.TempDir(), "crawl")
	crawlInto(t, dir, []string{server.URL + "/"}, nil, nil)

	_, links := readCSV(t, must(t, "export", "links", "--dir", dir))
	for _, path := range []string{"/from-lies", "/from-cut", "/?q=%FC"} {
		if r := by(links, "to", server.URL+path); r == nil || r["nofollow"] != "false" {
			t.Errorf("the link to %s: %v", path, r)
		}
	}
	if r := by(links, "to", server.URL+"/from-tagged"); r["nofollow"] != "true" {
		t.Errorf("a link of a page whose header says nofollow: %v", r)
	}
	if r := by(links, "to", server.URL+"/from-plain"); r != nil {
		t.Errorf("a link of plain text: %v", r)
	}
	_, words := readCSV(t, must(t, "export", "text", "--dir", dir))
	for path, title := range map[string]string{"/lies": "lies", "/tagged": "tagged", "/cut": "cut", "/latin": "grün"} {
		if r := by(words, "url", server.URL+path); r["title"] != title {
			t.Errorf("the title of %s is %q", path, r["title"])
		}
	}
	if got := must(t, "get", server.URL+"/lies", "--dir", dir); got != pages["/lies"].body {
		t.Errorf("a body that claims a coding it does not have: %q", got)
	}
	if got := weir(t, "", "get", server.URL+"/cut", "--dir", dir); got.code != 1 || !strings.HasPrefix(got.out, "<title>cut") {
		t.Errorf("a body that breaks off: exit %d: %.60q %s", got.code, got.out, got.err)
	}
}
