package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"weir/frontier"
	"weir/internal/fetch"
	"weir/internal/node"
	"weir/page"
)

// flags returns the settings that a command line gives.
func flags(t *testing.T, args ...string) *settings {
	t.Helper()
	var c cli
	k, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(append([]string{"crawl"}, args...)); err != nil {
		t.Fatal(err)
	}
	return &c.Crawl.settings
}

func TestDefaults(t *testing.T) {
	s := defaults()
	if got := flags(t); !reflect.DeepEqual(got, s) {
		t.Errorf("an empty command line means %+v, defaults are %+v", got, s)
	}
	cfg, err := setup(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Scope.Scope != "host" || cfg.Scope.Depth != -1 || cfg.Conns != 64 || cfg.PerConn != 1 || cfg.Auto || cfg.Wait.Seconds() != 1 ||
		cfg.PerServer != 4 || cfg.SitePages != 100_000 || cfg.DomainPages != 1_000_000 || cfg.Memory != 1e9 ||
		cfg.Fetch.Limits.MaxBody != 64e6 || cfg.Archive.String() != "gzip" || cfg.Order != "siteopic" ||
		cfg.MaxPages != 0 || cfg.MaxBytes != 0 || cfg.MaxTime != 0 || cfg.Bandwidth.Rate != 0 || cfg.Trap != frontier.DefaultTrap() {
		t.Errorf("defaults became %+v", cfg)
	}
	if cfg.Agent != "weir" || !strings.HasPrefix(cfg.Fetch.Agent, "weir/") || cfg.Fetch.From != "" || cfg.Fetch.AllowPrivate {
		t.Errorf("weir calls itself %q, robots.txt is read for %q", cfg.Fetch.Agent, cfg.Agent)
	}
}

// Every flag is a setting with a rule for going on, and the other way round.
func TestEveryFlagIsAKey(t *testing.T) {
	var c cli
	k, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	all := fields(&c.Crawl.settings)
	for _, cmd := range k.Model.Children {
		if cmd.Name != "crawl" {
			continue
		}
		for _, flag := range cmd.Flags {
			if _, ok := find(all, flag.Name); !ok {
				t.Errorf("--%s is no setting", flag.Name)
			}
			if flag.Help == "" {
				t.Errorf("--%s has no help", flag.Name)
			}
		}
	}
	for _, f := range all {
		switch f.keep {
		case "fixed", "longer", "yes", "no":
		default:
			t.Errorf("%s: keep is %q", f.name, f.keep)
		}
	}
}

// What crawl.yaml keeps is read as the same settings.
func TestConfigRoundTrip(t *testing.T) {
	s := flags(t, "--scope=any", "--depth=0", "--match=a{2,3}: #b", "--match=- c", "--limit=8Mbit/s", "--max-time=3d", "--wait=0s",
		"--trap=repeat=4", "--requisites", "--contact=me@example.org", "--auth=example.org=me:pw.txt", "--resolve=a.example=::1",
		"--strip=default,007", "--user-agent=true/1", "--dns=1.1.1.1", "--max-pages=5", "--warc=none", "--order=score", "--batch=7", "--stop-gain=0.25")
	s.Sites = []site{{Site: "b.example", Wait: span(5e9), Limit: 10_000, MaxPages: 7}, {Site: "c.example", Wait: -1}}
	s.AllowAddress = []string{"127.0.0.1"}
	dir := t.TempDir()
	if err := writeConfig(dir, s); err != nil {
		t.Fatal(err)
	}
	back := defaults()
	if _, err := readConfig(filepath.Join(dir, crawlFile), back, nil); err != nil {
		t.Fatal(err)
	}
	for i := range back.Sites {
		back.Sites[i].at = "" // it stands elsewhere now
	}
	if !reflect.DeepEqual(back, s) {
		b, _ := os.ReadFile(filepath.Join(dir, crawlFile))
		t.Errorf("wrote %+v\nread %+v\nfrom %s", s, back, b)
	}
	if !same(back, s) {
		t.Error("equal settings differ")
	}
}

func TestConfigKeepsNoSecrets(t *testing.T) {
	s := defaults()
	s.Header = []string{"Authorization: Bearer tiger"}
	s.Proxy = "http://me:tiger@proxy.example:3128"
	s.Sites = []site{{Site: "b.example", Wait: -1, Headers: []string{"X-Key: tiger"}}}
	dir := t.TempDir()
	if err := writeConfig(dir, s); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, crawlFile))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "tiger") {
		t.Errorf("crawl.yaml holds a secret:\n%s", b)
	}
	for _, want := range []string{"Authorization", "X-Key", "proxy"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("crawl.yaml does not say that there was %s:\n%s", want, b)
		}
	}
	back := defaults()
	if _, err := readConfig(filepath.Join(dir, crawlFile), back, nil); err != nil {
		t.Fatal(err)
	}
	if forgotten(back) == nil {
		t.Error("a crawl goes on without its headers")
	}
	back.Header, back.Sites = nil, nil
	if err := forgotten(back); err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("a crawl goes on without its proxy: %v", err)
	}
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{"limit: 1MB/s\n", "sites:\n  - site: a\n    wait: 3s\n", "a: &x 1\nb: *x\n", "{", "- 1", "match: [a, [b]]", "wait: !!str 1\n", "? a\n: b\n"} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		file := filepath.Join(dir, "fuzz.yaml")
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		s := defaults()
		if _, err := readConfig(file, s, nil); err == nil {
			s.Cookies, s.Auth = "", nil // no file of this machine is touched
			setup(s, nil)
		}
	})
}

func TestIdentity(t *testing.T) {
	for _, c := range []struct{ agent, contact, wantToken, wantAgent, wantFrom string }{
		{"", "https://example.org/bot", "weir", "weir/" + version() + " (+https://example.org/bot)", ""},
		{"", "bot@example.org", "weir", "weir/" + version() + " (+bot@example.org)", "bot@example.org"},
		{"my-bot/2.0 (research)", "", "my-bot", "my-bot/2.0 (research)", ""},
	} {
		s := defaults()
		s.UserAgent, s.Contact = c.agent, c.contact
		cfg, err := setup(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Agent != c.wantToken || cfg.Fetch.Agent != c.wantAgent || cfg.Fetch.From != c.wantFrom {
			t.Errorf("%q, %q: robots.txt is read for %q, User-Agent %q, From %q", c.agent, c.contact, cfg.Agent, cfg.Fetch.Agent, cfg.Fetch.From)
		}
	}
}

// Who names a private address means it; others stay out of reach.
func TestAllowedAddresses(t *testing.T) {
	s := defaults()
	var seeds []node.Seed
	for _, text := range []string{"http://127.0.0.1:8080/", "http://[fd00::1]/", "http://192.0.2.7/", "http://8.8.8.8/", "http://localhost/", "http://example.org/"} {
		u, err := page.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, node.Seed{URL: u})
	}
	s.allow(seeds)
	s.allow(seeds)
	got := strings.Join(s.AllowAddress, " ")
	for _, want := range []string{"127.0.0.1", "fd00::1", "::1"} {
		if strings.Count(" "+got+" ", " "+want+" ") != 1 {
			t.Errorf("%s is not allowed once: %s", want, got)
		}
	}
	if strings.Contains(got, "8.8.8.8") {
		t.Errorf("a public address needs no permission: %s", got)
	}
	s.Resolve = []string{"inside.example=10.1.2.3", "inside.example=10.1.2.4", "EXAMPLE.org=8.8.4.4"}
	cfg, err := setup(s, seeds)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Fetch.Resolve["inside.example"]) != 2 || len(cfg.Fetch.Resolve["example.org"]) != 1 {
		t.Errorf("names stand for %v", cfg.Fetch.Resolve)
	}
	if n := len(cfg.Fetch.AllowAddrs); n != len(s.AllowAddress)+2 {
		t.Errorf("%d addresses are allowed: %v", n, cfg.Fetch.AllowAddrs)
	}
}

func TestSecretsReachTheirHost(t *testing.T) {
	dir := t.TempDir()
	password, cookies := filepath.Join(dir, "pw"), filepath.Join(dir, "cookies")
	os.WriteFile(password, []byte("open sesame\n"), 0o600)
	os.WriteFile(cookies, []byte("example.org\tFALSE\t/\tFALSE\t0\tname\tvalue\n"), 0o600)
	s := defaults()
	s.Auth = []string{"Example.ORG=ali:" + password}
	s.Cookies = cookies
	cfg, err := setup(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := cfg.Fetch.Auth["example.org"]; c.User != "ali" || c.Password != "open sesame" {
		t.Errorf("credentials %+v", cfg.Fetch.Auth)
	}
	if len(cfg.Fetch.Cookies) != 1 {
		t.Errorf("cookies %+v", cfg.Fetch.Cookies)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"max-pages", "max-bytes", "match", "wait"}
	for got, want := range map[string]string{"max-page": "max-pages", "maxbytes": "max-bytes", "wiat": "wait", "mat": "match", "frobnicate": "", "": ""} {
		if near := nearest(got, words); near != want {
			t.Errorf("%q is taken for %q, want %q", got, near, want)
		}
	}
}

// A site's limit holds for that site and for no other.
func TestSiteLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	text := "limit: 1MB/s\nsites:\n  - {site: Slow.Example, limit: 10KB/s}\n  - {site: b.example, wait: 5s}\n  - {site: c.example, limit: none}\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s := defaults()
	if _, err := readConfig(file, s, nil); err != nil {
		t.Fatal(err)
	}
	cfg, err := setup(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	slow, ok := cfg.Fetch.SiteLimiter["slow.example"].(*fetch.Bucket)
	if !ok || slow.Rate() != 10_000 || len(cfg.Fetch.SiteLimiter) != 1 || cfg.Bandwidth.Rate != 1e6 {
		t.Errorf("limits of sites: %v, of all: %d", cfg.Fetch.SiteLimiter, cfg.Bandwidth.Rate)
	}
}

// A file of brackets in brackets is refused before a parser takes ages over it.
func TestConfigTooDeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep.yaml")
	if err := os.WriteFile(file, []byte("limit: 1MB/s\nmatch: "+strings.Repeat("[", 100_000)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(file, defaults(), nil); err == nil || !strings.HasSuffix(err.Error(), "deep.yaml:2: values stand too deep in one another") {
		t.Errorf("%v", err)
	}
}
