package main

import "weir/internal/testweb"

// fast are the flags of every run that is about speed.
var fast = []string{"--wait", "0s", "--per-conn", "100", "--warc"}

// pages are sites of pages of 20 KB with 30 links. The first one forbids a part
// of itself and links to it, so that obedience is seen.
func pages(sites, each int) []testweb.Site {
	s := testweb.Even(sites, testweb.Site{Pages: each, Links: 30, Size: 20_000})
	s[0].Deny = []string{"/private/"}
	return s
}

// farm is the load that the targets of speed are about.
func (l *lab) farm() error {
	for _, f := range []struct {
		form       string
		cpu, speed float64
	}{{"none", 0.12, 9000}, {"zstd", 0.30, 5000}, {"gzip", 0.32, 4500}} {
		s, err := l.crawl(pages(20, l.scaled(5000)), append(fast, f.form)...)
		if err != nil {
			return err
		}
		l.target("CPU, archive "+f.form, s.of(result.perThousand), "s/1,000 pages", atMost(f.cpu))
		l.target("speed, archive "+f.form, s.of(result.speed), "pages/s", atLeast(f.speed))
		l.value("memory", s.of(result.memory), "MB")
		if f.form != "none" {
			l.value("archive, times smaller than the pages", s.of(result.ratio), "")
		}
	}
	return l.yardstick()
}

// forms are the same pages on other roads. The server compresses only for those
// who ask; weir asks.
func (l *lab) forms() error {
	for _, f := range []struct {
		name string
		set  func(*testweb.Site)
	}{
		{"TLS", func(s *testweb.Site) { s.TLS = true }},
		{"gzip transfer", func(s *testweb.Site) { s.Faults = []testweb.Fault{{Kind: testweb.Gzip, Every: 1}} }},
		{"chunked", func(s *testweb.Site) { s.Faults = []testweb.Fault{{Kind: testweb.Chunked, Every: 1}} }},
	} {
		for _, form := range []string{"none", "gzip"} {
			sites := pages(20, l.scaled(1000))
			for i := range sites {
				f.set(&sites[i])
			}
			s, err := l.crawl(sites, append(fast, form)...)
			if err != nil {
				return err
			}
			if f.name == "gzip transfer" && form == "gzip" {
				l.target("CPU, "+f.name+", archive "+form, s.of(result.perThousand), "s/1,000 pages", atMost(0.20))
			} else {
				l.value("CPU, "+f.name+", archive "+form, s.of(result.perThousand), "s/1,000 pages")
			}
			l.value("speed, "+f.name+", archive "+form, s.of(result.speed), "pages/s")
		}
	}
	return nil
}
