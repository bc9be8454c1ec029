package sitetest

import (
	"path/filepath"
	"strings"
	"testing"
)

// A site is one documentation package as a web site.
type site struct {
	name     string
	packages []debian
	root     string   // what is served of them
	starts   []string // seeds
	small    bool     // small enough for every test run
}

// debian names a package. Those without a version are replaced by Debian now
// and then; differs knows what that changes.
type debian struct {
	name    string
	version string
	source  string // the folder of the pool where a fixed version stays
}

var sites = []site{
	{
		name: "devref", small: true,
		packages: []debian{
			{"developers-reference", "12.18", "d/developers-reference"},
			{"libjs-sphinxdoc", "5.3.0-4", "s/sphinx"},
		},
		root:   "usr/share/developers-reference",
		starts: []string{"/index.html"},
	},
	{
		name: "stl", small: true,
		packages: []debian{{"stl-manual", "3.30-17", "s/stl-manual"}},
		root:     "usr/share/doc/stl-manual/html",
		starts:   []string{"/index.html"},
	},
	{
		name:     "swipl",
		packages: []debian{{"swi-prolog-doc", "9.0.4+dfsg-2", "s/swi-prolog"}},
		root:     "usr/share/swi-prolog/doc",
		starts:   []string{"/Manual/index.html", "/packages/index.html"},
	},
	{
		name: "python",
		packages: []debian{
			{name: "python3.11-doc"},
			{"libjs-jquery", "3.6.1+dfsg+~3.5.14-1", "n/node-jquery"},
		},
		root:   "usr/share/doc/python3.11/html",
		starts: []string{"/index.html"},
	},
	{
		name:     "postgresql",
		packages: []debian{{name: "postgresql-doc-15"}},
		root:     "usr/share/doc/postgresql-doc-15/html",
		starts:   []string{"/index.html"},
	},
	{
		name:     "cppreference",
		packages: []debian{{"cppreference-doc-en-html", "20170409-2", "c/cppreference-doc"}},
		root:     "usr/share/cppreference/doc/html",
		starts:   []string{"/en/index.html"},
	},
}

// differs is where weir and the lists part, and why. Each entry must be of
// use: a path to add that the list has, or to leave out that it lacks, fails.
var differs = []struct {
	site, path string
	status     int  // 0: the list has it, weir does not fetch it
	requisite  bool // only with --requisites
	why        string
}{
	{site: "cppreference", path: "/en/c/ftp%3A/www.sourceware.org/pub/binutils/ppc-docs/ppc-poweropen/",
		why: "the page says ftp%3A//www...: the list has lost the empty segment"},
	{site: "cppreference", path: "/en/c/ftp%3A//www.sourceware.org/pub/binutils/ppc-docs/ppc-poweropen/", status: 404,
		why: "the URL standard keeps the empty segment"},
	{site: "cppreference", path: "/upload.cppreference.com/mwiki/images/thumb/9/91/math-atan2.png/428px-math-atan2.png", status: 404, requisite: true,
		why: "from img srcset, which the list's makers did not read"},
	{site: "cppreference", path: "/upload.cppreference.com/mwiki/images/thumb/9/91/math-atan2.png/570px-math-atan2.png", status: 404, requisite: true,
		why: "from img srcset, which the list's makers did not read"},
}

// want returns the path and status of every URL that a crawl of s should
// fetch, of a site served from root.
func (s site) want(t *testing.T, root string, requisites bool) map[string]int {
	want := map[string]int{}
	for _, row := range readTruth(t, s.name) {
		if row.nav || requisites {
			want[row.path] = row.status
		}
	}
	for _, d := range differs {
		if d.site != s.name || d.requisite && !requisites {
			continue
		}
		if _, listed := want[d.path]; listed != (d.status == 0) {
			t.Errorf("the difference %s is none: %s", d.path, d.why)
		}
		if d.status == 0 {
			delete(want, d.path)
		} else {
			want[d.path] = d.status
		}
	}
	if s.name == "postgresql" {
		s.releases(t, root, want)
	}
	return want
}

// releases takes the release notes from the package: a new minor version of
// PostgreSQL has one page more than the list.
func (s site) releases(t *testing.T, root string, want map[string]int) {
	for p := range want {
		if strings.HasPrefix(p, "/release-15-") {
			delete(want, p)
		}
	}
	notes, err := filepath.Glob(filepath.Join(root, "release-15-*.html"))
	if err != nil || len(notes) == 0 {
		t.Fatalf("no release notes in %s: %v", root, err)
	}
	for _, n := range notes {
		want["/"+filepath.Base(n)] = 200
	}
}
