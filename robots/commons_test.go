package robots

import (
	"os"
	"slices"
	"testing"
	"time"
)

// The robots.txt files of crawler-commons, each with what its name or comments
// say it is about.
func TestCrawlerCommonsFiles(t *testing.T) {
	const second = time.Second
	newsweek := []string{"-/login.aspx", "-/profile/x", "-/a/output/print", "-/search.aspx?q", "+/", "+/output/print"}
	newsweekMap := []string{"http://www.newsweek.com/sitemap_index.xml"}
	var amazonMaps []string
	for _, name := range []string{
		"-manual-index.xml", "_vendor_videos_us.xml", "_vod_index.xml", "s.f3053414d236e84.SitemapIndex_0.xml.gz", "s.1946f6b8171de60.SitemapIndex_0.xml.gz",
		"s.bbb7d657c7e29fa.SitemapIndex_0.xml.gz", "s.11aafed315ee654.SitemapIndex_0.xml.gz", "s.c21f969b5f03d33.SitemapIndex_0.xml.gz",
	} {
		amazonMaps = append(amazonMaps, "http://www.amazon.com/sitemap"+name)
	}
	for _, c := range []struct {
		file, agent string
		paths       []string
		delay       time.Duration
		sitemaps    []string
	}{
		{"astore.amazon.com-robots.txt", "weir", []string{"+/"}, 5 * second, nil},
		{"crawl-delay-group-merging.txt", "mybot", []string{"-/private/", "+/login/"}, 10 * second, nil},
		{"crawl-delay-group-merging.txt", "yourbot", []string{"-/private/", "-/login/", "+/"}, 0, nil},
		{"crawl-delay-group-merging.txt", "otherbot", []string{"+/private/", "+/login/"}, 30 * second, nil},
		{"directive-typos-robots.txt", "bot1", []string{"-/desallow/", "-/dissalow/", "+/useragent/"}, 0, nil},
		{"directive-typos-robots.txt", "bot2", []string{"-/useragent/", "+/desallow/"}, 0, nil},
		{"directive-typos-robots.txt", "bot3", []string{"-/useg-agent/", "+/useragent/"}, 0, nil},
		{"directive-typos-robots.txt", "bot4", []string{"-/useragent-no-colon/", "+/useg-agent/"}, 0, nil},
		{"dos-line-endings.txt", "weir", []string{"+/"}, second, nil},
		{"extended-standard-robots.txt", "bot1", []string{"+/"}, 0, nil},
		{"extended-standard-robots.txt", "bot3", []string{"+/"}, 0, nil},
		{"extension-robots.txt", "mybot", []string{"-/private/x", "+/secret/", "+/admin/"}, 0, []string{"/sitemap.xml"}},
		{"extension-robots.txt", "otherbot", []string{"-/admin/", "+/private/"}, 0, []string{"/sitemap.xml"}},
		{"extensions-group-merging.txt", "mybot", []string{"-/private/", "-/login/", "+/"}, 0, nil},
		{"extensions-group-merging.txt", "yourbot", []string{"-/private/", "-/login/", "+/"}, 0, nil},
		{"extensions-group-merging.txt", "otherbot", []string{"+/llms.txt", "-/", "-/private/"}, 0, nil},
		{"format-errors-robots.txt", "bot1", []string{"-/whitespace-before-colon/", "-/no-colon/", "+/"}, 0, []string{"/sitemap.xml"}},
		{"format-errors-robots.txt", "bot2", []string{"-/no-colon-useragent/", "+/no-colon/"}, 0, []string{"/sitemap.xml"}},
		{"format-errors-robots.txt", "bot3", []string{"+/whitespace-before-colon", "-/"}, 0, []string{"/sitemap.xml"}},
		{"malformed-path.txt", "weir", []string{"-/wiki/Wikipedia_talk:Mediation_Committee/x", "-/wiki/Wikipedia_talk%3Mediation_Committee/", "+/wiki/"}, 0, nil},
		{"many-user-agents.txt", "wget", []string{"-/", "-/index.html"}, 0, nil},
		{"many-user-agents.txt", "mysuperlongbotnamethatmatchesnothing", []string{"+/", "-/g/x", "-/bot-trap/"}, 0, nil},
		{"merge-rules.txt", "testy", []string{"-/foo/bar", "-/ckh/bar"}, 0, nil},
		{"merge-rules.txt", "wget", []string{"+/foo/bar", "-/tmp/bar", "+/ckh/bar"}, 0, nil},
		{"merge-rules.txt", "otherbot", []string{"-/foo/bar", "-/tmp/bar", "+/ckh/bar", "+/"}, 0, nil},
		{"precedence-of-rules.txt", "testy", []string{"-/foo", "+/foo/bar", "-/foo/baz", "+/"}, 0, nil},
		{"precedence-of-rules.txt", "wget", []string{"+/foo", "+/index.html", "-/bar"}, 0, nil},
		{"relative-sitemap-robots.txt", "weir", []string{"-/cache/x", "-/files/", "+/"}, 0, []string{"/sitemap.xml"}},
		{"rfc9309-example-longest-match-robots.txt", "foobot", []string{"+/example/page/x", "-/example/page/disallowed.gif"}, 0, nil},
		{"rfc9309-example-rule-group-merging.txt", "ExampleBot", []string{"-/foo", "-/bar", "-/baz"}, 0, nil},
		{"rfc9309-example-rule-group-merging.txt", "BazBot", []string{"+/foo", "+/bar", "-/baz"}, 0, nil},
		{"rfc9309-example-rule-group-merging.txt", "weir", []string{"-/foo", "-/bar", "+/baz"}, 0, nil},
		{"rfc9309-example-simple-robots.txt", "foobot", []string{"-/", "+/example/page.html", "+/example/allowed.gif"}, 0, nil},
		{"rfc9309-example-simple-robots.txt", "quxbot", []string{"+/a.gif", "+/example/"}, 0, nil},
		{"rfc9309-example-simple-robots.txt", "weir", []string{"-/a.gif", "-/example/", "+/publications/"}, 0, nil},
		{"robots-with-utf16be-bom.txt", "weir", newsweek, 0, newsweekMap},
		{"robots-with-utf16le-bom.txt", "weir", newsweek, 0, newsweekMap},
		{"robots-with-utf8-bom.txt", "weir", newsweek, 0, newsweekMap},
		{"sitemap-robots-dedup.txt", "weir", []string{"+/"}, 0, []string{"http://example.org/sitemap.xml"}},
		{"sitemap-robots.txt", "weir", []string{"+/"}, 0, []string{"http://domain.com/sitemap.xml", "http://domain.com/dir/MixedCased-sitemap.xml"}},
		{"twitter.com-robots.txt", "Slurp", []string{"-/?lang", "-/joe/with_friends", "+/joe"}, second, nil},
		{"twitter.com-robots.txt", "msnbot", []string{"-/a?"}, 10 * second, nil},
		{"twitter.com-robots.txt", "Googlebot", []string{"-/a?", "+/a"}, 0, nil},
		{"wildcards.txt", "weir", []string{
			"-/fish/gcrnsts", "-/gp/registry/wishlist/x/reserve", "-/wishlist/x", "+/wishlist/universal", "+/wishlist/universal/x",
			"-/gp/wishlist/", "+/gp/wishlist/ipad-install", "+/dp/", "-/dp/shipping/"}, 0, amazonMaps},
		{"wildcards.txt", "EtaoSpider", []string{"-/", "-/wishlist/universal"}, 0, amazonMaps},
		{"wildcards.txt", "Googlebot", []string{"-/rss/people/joe/reviews", "+/rss/people/joe", "-/x/sim/B001132UEE"}, 0, amazonMaps},
		{"www.flot.com-robots.txt", "weir", []string{"-/bitrix/", "-/img/a.png", "+/"}, 0, []string{"http://flot.com/sitemap_index.xml"}},
	} {
		t.Run(c.file+"/"+c.agent, func(t *testing.T) {
			body, err := os.ReadFile("testdata/crawler-commons/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			ask(t, string(body), c.agent, c.paths...)
			r := Parse(body, c.agent)
			if r.CrawlDelay() != c.delay {
				t.Errorf("waits %v, want %v", r.CrawlDelay(), c.delay)
			}
			if !slices.Equal(r.Sitemaps(), c.sitemaps) {
				t.Errorf("sitemaps %q, want %q", r.Sitemaps(), c.sitemaps)
			}
		})
	}
}
