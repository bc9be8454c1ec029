package testweb

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A complete and polite crawl fetches exactly the truth and offends nobody, whatever is wrong with the pages.
func TestPoliteCrawl(t *testing.T) {
	var faults []Fault
	for kind := NotFound; kind <= Dropped; kind++ {
		faults = append(faults, Fault{Kind: kind, Every: 40})
	}
	faults = append(faults, Fault{Kind: Unavailable, Every: 10, Times: 2}, Fault{Kind: Dropped, Every: 10, Times: 1})
	w := start(t, Config{Seed: 7, Sites: []Site{
		{Name: "plain.test", Pages: 60, Links: 6, Size: 3000},
		{Name: "faulty.test", Pages: 300, Links: 8, Size: 2000, Faults: faults},
		{Name: "strict.test", Pages: 40, Links: 6, Size: 1000, Deny: []string{"/private/", "/p/3"}},
		{Name: "slow.test", Pages: 3, Links: 2, Size: 100, Delay: 20 * time.Millisecond, Rate: 100_000},
		{Name: "shut.test", Pages: 10, Links: 3, RobotsStatus: 503},
		{Name: "late.test", Pages: 10, Links: 3, RobotsStatus: 503, RobotsTimes: 2, Deny: []string{"/p/9"}},
		{Name: "", Pages: 5, Links: 2, Size: 100},
	}})
	newCrawler(t, w, time.Microsecond).run()
	truth, served := w.Truth(), w.Served()
	// A page cut short shows all its links but is never complete, so it is truth that cannot be served.
	for i := range w.sites[1].Pages {
		if f := w.sites[1].fault(i); f != nil && f.Kind == Truncated {
			served = append(served, w.sites[1].origin+pagePath(i))
		}
	}
	slices.Sort(served)
	served = slices.Compact(served)
	if !slices.Equal(truth, served) {
		t.Errorf("served %d URLs, truth has %d: missing %v, extra %v", len(served), len(truth), minus(truth, served), minus(served, truth))
	}
	for _, p := range w.Audit().Problems(Manners{Wait: time.Microsecond, PerServer: 1, PerConn: 1}) {
		t.Error(p)
	}
	if got := w.Audit().Host("slow.test").Delay; got != 20*time.Millisecond {
		t.Errorf("crawl-delay of slow.test is %v", got)
	}
	if w.Audit().Host("shut.test").Robots == 0 || len(w.TruthOf(4)) != 0 {
		t.Error("shut.test should be asked for robots.txt and nothing else")
	}
}

func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// Every page can be reached from the start page by links within the site.
func TestEveryPageIsReachable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &Web{seed: rapid.Uint64().Draw(rt, "seed")}
		n := rapid.IntRange(1, 3).Draw(rt, "sites")
		for i := range n {
			s, err := newSite(w, i, Site{
				Name:  fmt.Sprintf("s%d.test", i),
				Pages: rapid.IntRange(1, 400).Draw(rt, "pages"), Links: rapid.IntRange(1, 12).Draw(rt, "links"),
			})
			if err != nil {
				rt.Fatal(err)
			}
			s.origin, s.rank = "http://"+s.name, i
			w.sites, w.plain = append(w.sites, s), append(w.plain, s)
		}
		for i, s := range w.sites {
			if got := len(w.TruthOf(i)); got != s.Pages {
				rt.Fatalf("%d of %d pages with %d links", got, s.Pages, s.Links)
			}
		}
	})
}

// The same seed makes the same pages, another seed others; sizes and compression are those of prose.
func TestPages(t *testing.T) {
	fetch := func(seed uint64) (pages []string) {
		w := start(t, Config{Seed: seed, Sites: []Site{{Name: "a.test", Pages: 50, Links: 10, Size: 20_000}}})
		c := dial(t, w, 0)
		for i := range 50 {
			_, body := c.get(pagePath(i))
			pages = append(pages, body)
		}
		return pages
	}
	a, b, c := fetch(1), fetch(1), fetch(2)
	if !slices.Equal(a, b) {
		t.Error("the same seed made other pages")
	}
	if a[3] == c[3] {
		t.Error("another seed made the same page")
	}
	total, packed := 0, 0
	for _, p := range a {
		total += len(p)
		packed += len(zip([]byte(p)))
	}
	if mean := total / len(a); mean < 16_000 || mean > 24_000 {
		t.Errorf("mean size %d, asked for 20000", mean)
	}
	if ratio := float64(total) / float64(packed); ratio < 2 || ratio > 6 {
		t.Errorf("pages compress %.1f times, prose 2 to 6", ratio)
	}
	if n := strings.Count(a[0], "<a "); n != 10 {
		t.Errorf("%d links on the start page, asked for 10", n)
	}
}

// A web of ten million pages starts at once, and the last page is as good as the first.
func TestHuge(t *testing.T) {
	w := start(t, Config{Sites: Even(200, Site{Pages: 50_000, Links: 20, Size: 1000})})
	c := dial(t, w, 199)
	if r, body := c.get("/p/49999"); r.StatusCode != 200 || !strings.Contains(body, "s0199.test page 49999") {
		t.Errorf("last page: %s", r.Status)
	}
	if r, _ := c.get("/p/50000"); r.StatusCode != 404 {
		t.Errorf("the page after the last: %s", r.Status)
	}
}

func TestUneven(t *testing.T) {
	a, b := Uneven(3, 500, Site{Pages: 100, Links: 10, Size: 8000}), Uneven(3, 500, Site{Pages: 100, Links: 10, Size: 8000})
	total, largest := 0, 0
	for i := range a {
		if a[i].Pages != b[i].Pages || a[i].Size != b[i].Size {
			t.Fatal("the same seed drew other sites")
		}
		total += a[i].Pages
		largest = max(largest, a[i].Pages)
	}
	if mean := total / len(a); mean < 50 || mean > 200 || largest < 5*mean {
		t.Errorf("mean %d pages, largest %d", mean, largest)
	}
}

// Every fault shows as what it is called.
func TestFaults(t *testing.T) {
	kinds := map[FaultKind]int{
		NotFound: 404, Broken: 500, Unavailable: 503, Busy: 429, RedirectPage: 302, RedirectSite: 301, RedirectLoop: 302,
		Duplicate: 200, WrongType: 200, Gzip: 200, Chunked: 200,
	}
	s := Site{Name: "a.test", Pages: 40, Links: 4, Size: 9000}
	for kind := range kinds {
		s.Faults = append(s.Faults, Fault{Kind: kind, Pages: []int{int(kind)}, After: 1500 * time.Millisecond})
	}
	s.Faults = append(s.Faults, Fault{Kind: Duplicate, Pages: []int{30}}, Fault{Kind: Unavailable, Pages: []int{31}, Times: 2},
		Fault{Kind: Truncated, Pages: []int{32}}, Fault{Kind: Dropped, Pages: []int{33}})
	w := start(t, Config{Sites: []Site{s, {Name: "b.test", Pages: 9, Links: 2}}})
	c := dial(t, w, 0)
	c.head = "Accept-Encoding: gzip\r\n"
	got := make(map[FaultKind]*http.Response)
	body := make(map[FaultKind]string)
	for kind, status := range kinds {
		got[kind], body[kind] = c.get(pagePath(int(kind)))
		if got[kind].StatusCode != status {
			t.Errorf("fault %d: %s, want %d", kind, got[kind].Status, status)
		}
	}
	if v := got[Busy].Header.Get("Retry-After"); v != "2" {
		t.Errorf("Retry-After %q", v)
	}
	if v := got[RedirectSite].Header.Get("Location"); !strings.HasPrefix(v, w.URL(1)) {
		t.Errorf("redirect to another site leads to %s", v)
	}
	if v := got[RedirectLoop].Header.Get("Location"); v != "/loop/7" {
		t.Errorf("loop leads to %s", v)
	}
	if r, _ := c.get("/loop/7"); r.Header.Get("Location") != "/p/7" {
		t.Errorf("loop does not lead back: %s", r.Header.Get("Location"))
	}
	if _, again := c.get("/p/30"); again != body[Duplicate] {
		t.Error("duplicates differ")
	}
	if v := got[WrongType].Header.Get("Content-Type"); v != "application/octet-stream" {
		t.Errorf("wrong type is %s", v)
	}
	if v := got[Chunked].TransferEncoding; len(v) != 1 || !strings.HasSuffix(body[Chunked], tail) {
		t.Errorf("chunked: %v", v)
	}
	if _, err := gzip.NewReader(strings.NewReader(body[Gzip])); err != nil || got[Gzip].Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("gzip: %v", err)
	}
	for i, want := range []int{503, 503, 200} {
		if r, _ := c.get("/p/31"); r.StatusCode != want {
			t.Errorf("try %d of a page that fails twice: %s", i+1, r.Status)
		}
	}
	c.ask("/p/32")
	if _, cut, err := c.try(); err == nil || !strings.Contains(cut, "</ul>") || strings.Contains(cut, tail) {
		t.Errorf("truncated: %v", err)
	}
	c = dial(t, w, 0)
	c.ask("/p/33")
	if !c.closed() {
		t.Error("dropped: the connection is open")
	}
	if d := w.Audit().Host("a.test").Duplicates; d != 0 {
		t.Errorf("%d duplicates; retries and different URLs are none", d)
	}
}

func TestPerConn(t *testing.T) {
	w := start(t, Config{Sites: []Site{
		{Name: "said.test", Pages: 9, Links: 2, PerConn: 2},
		{Name: "silent.test", Pages: 9, Links: 2, PerConn: 2, Silent: true},
	}})
	for i := range 2 {
		c := dial(t, w, i)
		c.get("/p/1")
		if r, _ := c.get("/p/2"); r.Close != (i == 0) {
			t.Errorf("%s: last answer announces the close: %v", c.host, r.Close)
		}
		if !c.closed() {
			t.Errorf("%s: open after two answers", c.host)
		}
	}
}

// Latency and rate are lower bounds that an answer cannot beat.
func TestSlowSite(t *testing.T) {
	w := start(t, Config{Sites: []Site{{Name: "a.test", Pages: 1, Size: 10_000, Latency: 20 * time.Millisecond, Rate: 100_000}}})
	c := dial(t, w, 0)
	from := time.Now()
	_, body := c.get("/")
	least := 20*time.Millisecond + time.Duration(len(body)-5000)*10*time.Microsecond
	if took := time.Since(from); took < least {
		t.Errorf("%d bytes took %v, at least %v was asked for", len(body), took, least)
	}
}

// What a visitor does not take from a site with a rate stays with the site, and is not answered.
func TestSlowSiteHoldsBack(t *testing.T) {
	if !canHold {
		t.Skip("this system cannot be told how much to take from a slow server")
	}
	w := start(t, Config{Sites: []Site{{Name: "a.test", Pages: 1, Size: 1 << 20, Rate: 1 << 40}}})
	c := dial(t, w, 0)
	socket := c.conn.(*net.TCPConn)
	socket.SetReadBuffer(4096)
	socket.SetLinger(0)
	fmt.Fprintf(socket, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if _, err := socket.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	socket.Close()
	w.Close()
	if h := w.Audit().Host("a.test"); h.Requests != 1 || h.Pages != 0 {
		t.Errorf("%d requests, %d pages answered to somebody who read one byte", h.Requests, h.Pages)
	}
}

// A site slows down after so many answers and stays so, whoever asks.
func TestSlowingSite(t *testing.T) {
	tired := Slows{After: 2, Factor: 0.1}
	w := start(t, Config{Sites: []Site{{Name: "a.test", Pages: 3, Links: 2, Size: 10_000, Rate: 1_000_000, Slows: tired}}})
	c := dial(t, w, 0)
	c.get("/robots.txt")
	c.get("/")
	from := time.Now()
	_, body := c.get("/p/1")
	least := time.Duration(len(body)-5000) * 10 * time.Microsecond
	if took := time.Since(from); took < least {
		t.Errorf("%d bytes took %v after the site had slowed down, at least %v was asked for", len(body), took, least)
	}
	for _, x := range []struct {
		slows   Slows
		answers int
		want    int64
	}{{tired, 0, 1000}, {tired, 1, 1000}, {tired, 2, 100}, {tired, 3, 100}, {Slows{}, 9, 1000}, {Slows{After: 2}, 9, 1000}, {Slows{Factor: 1e-9}, 0, 1}} {
		if got := x.slows.rate(1000, x.answers); got != x.want {
			t.Errorf("%+v: %d bytes a second after %d answers, want %d", x.slows, got, x.answers, x.want)
		}
	}
}

// Sites share an address when they are told to, and only then.
func TestWith(t *testing.T) {
	w := start(t, Config{Sites: []Site{{Name: "a.test"}, {Name: "b.test", With: "a.test"}, {Name: "c.test"}, {Name: "d.test", With: "b.test"}}})
	for i := range 4 {
		dial(t, w, i).get("/robots.txt")
	}
	a := w.Audit()
	if len(a.Servers) != 2 || a.Servers[0].Conns != 3 || a.Servers[1].Conns != 1 || len(a.Strays) > 0 {
		t.Errorf("visited were %+v, and in vain %q", a.Servers, a.Strays)
	}
}

func TestTLS(t *testing.T) {
	w := start(t, Config{Addresses: 1, Sites: []Site{{Name: "safe.test", TLS: true, Pages: 3, Links: 2}, {Name: "plain.test"}}})
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(w.CA()) {
		t.Fatal("no authority")
	}
	if !strings.HasPrefix(w.URL(0), "https://safe.test:") {
		t.Errorf("URL is %s", w.URL(0))
	}
	c := dial(t, w, 0)
	s := tls.Client(c.conn, &tls.Config{ServerName: "safe.test", RootCAs: pool})
	if err := s.Handshake(); err != nil {
		t.Fatal(err)
	}
	c.conn = s
	c.in.Reset(s)
	if r, _ := c.get("/p/1"); r.StatusCode != 200 {
		t.Error(r.Status)
	}
	if r, _ := dial(t, w, 1).get("/"); r.StatusCode != 200 {
		t.Errorf("a plain site at the same address: %s", r.Status)
	}
	if r, _ := dial(t, w, 0).get("/"); r.StatusCode != 421 {
		t.Errorf("the secure site without TLS: %s", r.Status)
	}
}

func TestTraps(t *testing.T) {
	w := start(t, Config{Sites: []Site{{Name: "a.test", Traps: Traps{Calendar: true, Nest: true, Facets: true, Session: true}}}})
	c := dial(t, w, 0)
	_, home := c.get("/")
	for _, entry := range w.sites[0].Traps.entries() {
		if !strings.Contains(home, `href="`+entry+`"`) {
			t.Errorf("the start page does not lead to %s", entry)
		}
		at := entry
		seen := make(map[string]bool)
		for range 20 {
			r, body := c.get(at)
			if r.StatusCode != 200 || seen[at] {
				t.Fatalf("%s: %s, seen before: %v", at, r.Status, seen[at])
			}
			seen[at] = true
			links := hrefs.FindAllStringSubmatch(body, -1)
			next := links[len(links)-1][1]
			for _, l := range links {
				// Facets: of the filters, one whose page goes on.
				if f, ok := strings.CutPrefix(l[1], "/find?f="); ok && !seen[l[1]] {
					var n uint32
					fmt.Sscan(f, &n)
					if bytes.Contains(facets(nil, n), []byte("href")) {
						next = l[1]
					}
				}
			}
			if !strings.HasPrefix(next, "/") {
				next = at + next
			}
			at = next
		}
	}
}

func TestDNS(t *testing.T) {
	w := start(t, Config{Sites: append(Hostile(), Site{Name: "Good.test"})})
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, w.DNS())
	}}
	find := func(name string) ([]string, error) { return r.LookupHost(t.Context(), name+".") }
	if got, err := find("good.test"); err != nil || len(got) != 1 || got[0] != w.Addr(w.Find("good.test")).String() {
		t.Errorf("good.test: %v, %v", got, err)
	}
	var de *net.DNSError
	if _, err := find("nobody.test"); err == nil || !asDNS(err, &de) || !de.IsNotFound {
		t.Errorf("nobody.test: %v", err)
	}
	if got, err := find("anything.trap-06.hostile.test"); err != nil || len(got) != 1 {
		t.Errorf("a name below a wildcard: %v, %v", got, err)
	}
	if got, err := find("dns-02.hostile.test"); err != nil || len(got) != 1000 || got[3] != w.Addr(w.Find("dns-02.hostile.test")).String() {
		t.Errorf("dns-02: %d addresses, %v", len(got), err)
	}
	if got, err := find("dns-04.hostile.test"); err == nil {
		t.Errorf("dns-04 resolves to %v", got)
	}
	if n := w.Audit().Lookups; n < 5 {
		t.Errorf("%d lookups counted", n)
	}
}

func asDNS(err error, to **net.DNSError) bool {
	de, ok := err.(*net.DNSError)
	*to = de
	return ok
}

func TestBadConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no sites":    {},
		"speeds up":   {Sites: []Site{{Name: "a.test", Rate: 1000, Slows: Slows{Factor: 3}}}},
		"no rate":     {Sites: []Site{{Name: "a.test", Slows: Slows{Factor: 0.5}}}},
		"no links":    {Sites: []Site{{Name: "a.test", Pages: 2}}},
		"twice":       {Addresses: 1, Sites: []Site{{Name: "a.test"}, {Name: "A.test"}}},
		"with nobody": {Sites: []Site{{Name: "a.test", With: "b.test"}, {Name: "b.test"}}},
		"negative":    {Sites: []Site{{Size: -1}}},
		"behaviour":   {Sites: []Site{{Name: "a.test", Behaviour: "http-99"}}},
		"too many":    {Sites: Even(maxAddresses+1, Site{})},
		"large pages": {Sites: []Site{{Size: 1 << 30}}},
	} {
		if w, err := Start(cfg); err == nil {
			w.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
