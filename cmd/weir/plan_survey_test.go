package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/survey"
	"weir/internal/testweb"
)

// Sitemaps tell how many pages there are, the file how large they are; the manners
// are those of a crawl, unless the file has others.
func TestPlanSitemaps(t *testing.T) {
	var urls strings.Builder
	for i := range 25 {
		fmt.Fprintf(&urls, "<url><loc>/p/%d</loc></url>", i)
	}
	web, err := testweb.Start(testweb.Config{Seed: 1, Sites: []testweb.Site{
		{Name: "listed.test", Files: map[string]string{"/sitemap.xml": "<urlset>" + urls.String() + "</urlset>"}, Robots: "User-agent: *\nCrawl-delay: 0.2\n"},
		{Name: "silent.test"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	config := filepath.Join(t.TempDir(), "crawl.yaml")
	if err := os.WriteFile(config, []byte("wait: 0s\nallow-private: true\ndns: "+web.DNS()+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	listed := fmt.Sprintf("http://listed.test:%d/", web.Port())
	got := weir(t, fmt.Sprintf("{link: 1MB/s, sites: [{site: %q, page_size: 40KB}]}", listed), "plan", "-", "--sitemaps", "--config", config, "--json")
	var plan planJSON
	if err := json.Unmarshal([]byte(got.out), &plan); err != nil || got.code != 0 {
		t.Fatalf("exit %d: %v\n%s", got.code, err, got.err)
	}
	// 25 pages, a fifth of a second apart.
	if s := plan.Sites[0]; s.Size != 25*40e3 || !s.Guessed || s.Estimate.Pages != 25 || *s.Finish < 4.9 || *s.Finish > 5.1 {
		t.Errorf("%s", got.out)
	}
	own := weir(t, fmt.Sprintf("{link: 1MB/s, sites: [{site: %q, page_size: 40KB, delay: 0}]}", listed), "plan", "-", "--sitemaps", "--config", config)
	if !strings.Contains(own.out, "all is done in 1.0s.") {
		t.Errorf("the file's own manners do not hold:\n%s%s", own.out, own.err)
	}
	none := weir(t, fmt.Sprintf("link: 1MB/s\nsites:\n- {site: 'silent.test:%d', page_size: 40KB}\n- site: listed.test\n", web.Port()), "plan", "-", "--sitemaps", "--config", config)
	if none.code != exitUsage || !strings.Contains(none.err, "stdin:4: listed.test has no size\n") {
		t.Errorf("exit %d\n%s", none.code, none.err)
	}
	silent := weir(t, fmt.Sprintf("link: 1MB/s\nsites:\n- {site: 'silent.test:%d', page_size: 40KB}\n- {site: %q, page_size: 40KB}\n", web.Port(), listed), "plan", "-", "--sitemaps", "--config", config)
	if silent.code != exitFailed || !strings.Contains(silent.out, "- silent.test:") || !strings.Contains(silent.out, "all is done in 5.0s.") {
		t.Errorf("exit %d\n%s%s", silent.code, silent.out, silent.err)
	}
	// The lines that it offers make the same plan, and nobody is asked.
	_, lines, _ := strings.Cut(silent.err, "asked again:\n")
	again := weir(t, "link: 1MB/s\nsites:\n"+lines, "plan", "-")
	if again.code != 0 || !strings.Contains(again.out, "all is done in 5.0s.") {
		t.Errorf("exit %d of\n%s\n%s%s", again.code, lines, again.out, again.err)
	}
}

// What is said of an estimate holds.
func TestEstimated(t *testing.T) {
	for _, c := range []struct {
		est  survey.Estimate
		want string
	}{
		{survey.Estimate{Size: 5e6, Low: 3e6, High: 8e6, Pages: 250, More: true, How: "links"}, "about 5.0 MB (3.0 MB to 8.0 MB), 250 pages; links"},
		{survey.Estimate{Size: 5e6, Low: 4e6, High: 8e6, Pages: 250, More: true, Least: true, How: "crawl"}, "at least 5.0 MB, 250 pages; crawl"},
		{survey.Estimate{Size: 5e6, Low: 5e6, High: 5e6, Pages: 1, How: "crawl"}, "5.0 MB, 1 page; crawl"},
	} {
		if got := estimated(&c.est); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
