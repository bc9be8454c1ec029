package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/node"
)

func TestGet(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, nil)
	site := strings.TrimSuffix(web.URL(0), "/")

	body := must(t, "get", web.URL(0), "--dir", dir)
	if !strings.Contains(body, "<a href=") || strings.Contains(body, "HTTP/1.1") {
		t.Errorf("the body is %.100q", body)
	}
	head := must(t, "get", web.URL(0), "--dir", dir, "--headers")
	if !strings.HasPrefix(head, "HTTP/1.1 200") || !strings.HasSuffix(head, "\r\n\r\n") {
		t.Errorf("the head is %q", head)
	}
	packed := must(t, "get", site+"/p/1", "--dir", dir, "--raw")
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatalf("the raw body of a compressed page is not compressed: %v", err)
	}
	plain, err := io.ReadAll(z)
	if got := must(t, "get", site+"/p/1", "--dir", dir); err != nil || got != string(plain) {
		t.Errorf("%v: the decoded body differs from the raw one: %.100q", err, got)
	}
	if got := must(t, "get", site+"/p/2", "--dir", dir); !strings.HasPrefix(got, "<") {
		t.Errorf("the chunks of a body were left: %.40q", got)
	}
	first, second := must(t, "get", site+"/p/3", "--dir", dir), must(t, "get", site+"/p/4", "--dir", dir)
	if first != second || first == "" {
		t.Errorf("two pages with one body read %.60q and %.60q", first, second)
	}
	if got := must(t, "get", web.URL(1)+"robots.txt", "--dir", dir); !strings.Contains(got, "Disallow: /private") {
		t.Errorf("robots.txt is %q", got)
	}
	if got := must(t, "get", web.URL(0)+"?utm_source=x#top", "--dir", dir); got != body {
		t.Error("a URL with what is stripped is not found")
	}
}

// The record is what lies in the archive, byte for byte.
func TestGetRecord(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, nil)
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	packed, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{web.URL(0), web.URL(0) + "p/3", web.URL(0) + "p/4"} {
		record := must(t, "get", url, "--dir", dir, "--record")
		if !strings.HasPrefix(record, "WARC/1.1\r\n") || !bytes.Contains(all, []byte(record)) {
			t.Errorf("the record of %s is not in the archive: %.200q", url, record)
		}
	}
}

func TestGetWhatIsNotThere(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, func(c *node.Config) { c.Scope.Match = []string{"/p/[0-9]+$", "/private", "/a/b/"} })
	short := crawlWeb(t, web, func(c *node.Config) { c.MaxPages = 2 })
	_, queued := readCSV(t, must(t, "export", "queue", "--dir", short))
	_, denied := readCSV(t, must(t, "export", "pages", "--dir", dir))
	_, parked := readCSV(t, must(t, "export", "parked", "--dir", dir))
	for _, c := range []struct{ dir, url, want string }{
		{dir, "http://elsewhere.test/", "is not part of this crawl"},
		{dir, "http://elsewhere.test/robots.txt", "was never fetched"},
		{short, queued[0]["url"], "has not been fetched yet"},
		{dir, by(denied, "outcome", "denied")["url"], "ended as denied"},
		{dir, parked[0]["url"], "is parked"},
	} {
		got := weir(t, "", "get", c.url, "--dir", c.dir)
		if got.code != 1 || !strings.Contains(got.err, c.want) || !strings.Contains(got.err, "hint: weir") || got.out != "" {
			t.Errorf("%s: exit %d: %s%s", c.url, got.code, got.err, got.out)
		}
	}
	if got := weir(t, "", "get", "example.org", "--dir", dir); got.code != 2 {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

func why(t *testing.T, dir, url string) whyInfo {
	t.Helper()
	var info whyInfo
	if err := json.Unmarshal([]byte(must(t, "why", url, "--dir", dir, "--json")), &info); err != nil {
		t.Fatal(err)
	}
	if text := must(t, "why", url, "--dir", dir); !strings.Contains(text, info.State) || !strings.Contains(text, info.Reason) {
		t.Errorf("the text says something else than %+v:\n%s", info, text)
	}
	return info
}

func TestWhy(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, nil)
	_, pages := readCSV(t, must(t, "export", "pages", "--dir", dir))

	seed := why(t, dir, web.URL(0))
	if seed.State != "ended" || seed.Outcome != "ok" || seed.Status != 200 || len(seed.Chain) != 1 || seed.Chain[0].Rule != "seed" || seed.Record == nil {
		t.Errorf("the seed: %+v", seed)
	}
	for _, p := range pages {
		info := why(t, dir, p["url"])
		last := info.Chain[len(info.Chain)-1]
		if last.Rule != "seed" || info.Chain[0].URL != p["url"] || info.Outcome != p["outcome"] {
			t.Errorf("%s: %+v", p["url"], info)
		}
	}
	denied := why(t, dir, by(pages, "outcome", "denied")["url"])
	if denied.Robots == nil || denied.Robots.Allowed || denied.Robots.Rule != "Disallow: /private" || denied.Host.Host != "odd.test" {
		t.Errorf("the forbidden page: %+v %+v", denied, denied.Robots)
	}
	_, rows := readCSV(t, must(t, "export", "parked", "--dir", dir))
	if parked := why(t, dir, rows[0]["url"]); parked.State != "parked" || parked.Reason != rows[0]["reason"] || len(parked.Chain) < 3 {
		t.Errorf("the trap: %+v", parked)
	}
	if unknown := why(t, dir, web.URL(0)+"never"); unknown.State != "unknown" || !strings.Contains(unknown.Reason, "never seen") {
		t.Errorf("an unknown page: %+v", unknown)
	}
}

func TestRelease(t *testing.T) {
	web := smallWeb(t)
	dir := crawlWeb(t, web, nil)
	_, rows := readCSV(t, must(t, "export", "parked", "--dir", dir))
	url := rows[0]["url"]
	for _, args := range [][]string{{"--match", "nothing like it"}, {web.URL(0)}, {"http://elsewhere.test/"}} {
		if got := weir(t, "", append([]string{"release", "--dir", dir}, args...)...); got.code != 1 || !strings.Contains(got.err, "weir export parked") {
			t.Errorf("%v: exit %d: %s", args, got.code, got.err)
		}
	}
	if out := must(t, "release", "--dir", dir, url); !strings.HasPrefix(out, "1 page released") {
		t.Error(out)
	}
	if info := why(t, dir, url); info.State != "queued" {
		t.Errorf("after the release: %+v", info)
	}
	// The page is fetched; what it links to is one level deeper, and parked.
	crawlInto(t, dir, web.Seeds(), web.Resolve(), nil)
	if info := why(t, dir, url); info.Outcome != "ok" {
		t.Errorf("after the next crawl: %+v", info)
	}
	_, rows = readCSV(t, must(t, "export", "parked", "--dir", dir))
	if len(rows) != 1 || rows[0]["url"] != url+"a/b/" {
		t.Errorf("parked: %v", rows)
	}
	must(t, "release", "--dir", dir, "--all")
	if _, rows = readCSV(t, must(t, "export", "parked", "--dir", dir)); len(rows) != 0 {
		t.Errorf("parked after releasing all: %v", rows)
	}
}
