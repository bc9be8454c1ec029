package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testweb"
)

// urlCase is one case of the web-platform-tests' urltestdata.json.
type urlCase struct {
	Input, Base, Href, Protocol string
	Failure                     bool
}

// otherwise are the cases that the URL parser decides otherwise; package page
// says why.
var otherwise = map[string]bool{
	"http://a.b.c.xn--pokxncvks": true, "http://10.0.0.xn--pokxncvks": true, "http://a.b.c.XN--pokxncvks": true,
	"http://a.b.c.Xn--pokxncvks": true, "http://10.0.0.XN--pokxncvks": true, "http://10.0.0.xN--pokxncvks": true,
	"https://xn--/": true,
}

func TestInspectURLConformance(t *testing.T) {
	b, err := os.ReadFile("../../page/testdata/urltestdata.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	var cases []urlCase
	var input strings.Builder
	for _, r := range raw {
		var c urlCase
		if r[0] == '"' {
			continue
		}
		if err := json.Unmarshal(r, &c); err != nil {
			t.Fatal(err)
		}
		// A line can hold neither.
		if strings.ContainsAny(c.Input+c.Base, "\t\n") || otherwise[c.Input] {
			continue
		}
		cases = append(cases, c)
		input.WriteString(c.Input)
		if c.Base != "" {
			input.WriteString("\t" + c.Base)
		}
		input.WriteByte('\n')
	}
	if len(cases) < 500 {
		t.Fatalf("only %d cases", len(cases))
	}
	got := weir(t, input.String(), "inspect", "url", "--json")
	if got.code != 0 {
		t.Fatal(got.err)
	}
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%d lines for %d inputs", len(lines), len(cases))
	}
	for i, c := range cases {
		var info struct {
			Input string
			URL   *string
			Error *string
		}
		if err := json.Unmarshal([]byte(lines[i]), &info); err != nil {
			t.Fatalf("%q: %v", lines[i], err)
		}
		want := ""
		if !c.Failure && (c.Protocol == "http:" || c.Protocol == "https:") {
			want, _, _ = strings.Cut(c.Href, "#")
		}
		switch {
		case info.Input != c.Input:
			t.Errorf("input %q came back as %q", c.Input, info.Input)
		case (info.URL == nil) == (info.Error == nil):
			t.Errorf("%q on %q: neither url nor error, or both: %s", c.Input, c.Base, lines[i])
		case want == "" && info.URL != nil, want != "" && (info.URL == nil || *info.URL != want):
			t.Errorf("%q on %q: want %q, got %s", c.Input, c.Base, want, lines[i])
		}
	}
}

func TestInspectURLOddLines(t *testing.T) {
	for _, c := range []struct{ name, input, out string }{
		{"the base itself", "\thttp://h/x", "http://h/x\n"},
		{"only the first tab counts", "a\thttp://h/b\tc/d", "http://h/bc/a\n"},
		{"no newline at the end", "http://h/", "http://h/\n"},
		{"carriage returns", "http://h/a\r\nb\thttp://h/\r\n", "http://h/a\nhttp://h/b\n"},
		{"no UTF-8", "http://h/\xff", "http://h/%EF%BF%BD\n"},
		{"a base of another scheme", "http://h/\tmailto:x", "http://h/\n"},
		{"a bad base", "x\thttp://", "refused: x: its base: the URL has no host\n"},
		{"an empty line", "\n", "refused: \"\": not a valid URL: it does not start with http:// or https://\n"},
		{"a NUL", "http://h/\x00", "http://h/\n"},
		{"too long", "http://h/" + strings.Repeat("x", 1<<20), "refused: http://h/" + strings.Repeat("x", 191) + "...: the URL is not shorter than 65536 bytes\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := weir(t, c.input, "inspect", "url")
			if got.code != 0 || got.out != c.out {
				t.Errorf("exit %d, printed %q, want %q", got.code, got.out, c.out)
			}
		})
	}
}

func FuzzInspectURL(f *testing.F) {
	f.Add("a\thttp://h/")
	f.Add("http://\xff\x00")
	f.Fuzz(func(t *testing.T, input string) {
		want := strings.Count(input, "\n")
		if input != "" && !strings.HasSuffix(input, "\n") {
			want++
		}
		got := weir(t, input, "inspect", "url", "--json")
		if n := strings.Count(got.out, "\n"); n != want {
			t.Errorf("%d lines for %d inputs", n, want)
		}
		for line := range strings.Lines(got.out) {
			if !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %q", line)
			}
		}
	})
}

func TestInspectRobotsGoogle(t *testing.T) {
	b, err := os.ReadFile("../../robots/testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Robots, Agent, URL string
		Allowed            bool
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "robots.txt")
	skipped := 0
	for _, c := range cases {
		// RFC 9309 section 2.2.2 decides these otherwise; package robots says how.
		if strings.Contains(c.URL, "ツ") && !c.Allowed {
			skipped++
			continue
		}
		if err := os.WriteFile(file, []byte(c.Robots), 0o600); err != nil {
			t.Fatal(err)
		}
		var info robotsInfo
		out := must(t, "inspect", "robots", file, "--agent="+c.Agent, "--json", c.URL)
		if err := json.Unmarshal([]byte(out), &info); err != nil {
			t.Fatal(err)
		}
		if info.Allowed != c.Allowed || info.URL != c.URL {
			t.Errorf("%s asks for %q: got %s, want %v\n%s", c.Agent, c.URL, out, c.Allowed, c.Robots)
		}
	}
	if skipped != 2 {
		t.Errorf("%d cases were skipped, want 2", skipped)
	}
}

// A robots.txt is fetched, and its absence judged, as in a crawl.
func TestInspectRobotsFetched(t *testing.T) {
	for _, c := range []struct {
		name    string
		site    testweb.Site
		allowed bool
		note    string
	}{
		{"rules", testweb.Site{Deny: []string{"/private"}, Delay: 2e9}, false, ""},
		{"missing", testweb.Site{}, true, "404 Not Found: everything is allowed"},
		{"broken", testweb.Site{RobotsStatus: 503}, false, "503 Service Unavailable: nothing is allowed"},
		{"busy", testweb.Site{RobotsStatus: 429}, false, "429 Too Many Requests: nothing is allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			web, err := testweb.Start(testweb.Config{Sites: []testweb.Site{c.site}})
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			got := weir(t, "", "inspect", "robots", web.URL(0), "--json", "/private/x")
			var info robotsInfo
			if err := json.Unmarshal([]byte(got.out), &info); err != nil {
				t.Fatalf("%v: %s%s", err, got.out, got.err)
			}
			if info.Allowed != c.allowed || !strings.Contains(got.err, c.note) {
				t.Errorf("got %s%s", got.out, got.err)
			}
			if c.name == "rules" && (info.Rule != "Disallow: /private" || info.Delay != 2) {
				t.Errorf("got %s", got.out)
			}
		})
	}
}

func TestInspectPageFetched(t *testing.T) {
	web, err := testweb.Start(testweb.Config{Sites: []testweb.Site{
		{Pages: 6, Links: 3, Size: 500, Faults: []testweb.Fault{{Kind: testweb.Gzip, Pages: []int{1}}, {Kind: testweb.RedirectPage, Pages: []int{2}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	for _, path := range []string{"", "p/1"} {
		var info pageInfo
		out := must(t, "inspect", "page", web.URL(0)+path, "--json")
		if err := json.Unmarshal([]byte(out), &info); err != nil {
			t.Fatal(err)
		}
		if info.URL != web.URL(0)+path || info.Title == "" || len(info.Links) == 0 || !info.Robots.Follow || info.Charset != "utf-8" {
			t.Errorf("%q: got %s", path, out)
		}
	}
	var info pageInfo
	if err := json.Unmarshal([]byte(must(t, "inspect", "page", web.URL(0)+"p/2", "--json")), &info); err != nil || info.URL == web.URL(0)+"p/2" {
		t.Errorf("the redirect was not followed: %v %+v", err, info)
	}
	if r := web.Audit().Hosts[0]; r.Robots != 0 {
		t.Errorf("robots.txt was asked for %d times; the help says it is not", r.Robots)
	}
}
