package main

import (
	"encoding/csv"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weir/internal/testweb"
	made "weir/sim/web"
)

// orders crawls a hundredth of the laboratory's Chilean web on the real clock,
// with the orders that it compares there: what wins in virtual time has to win
// here. All times are a sixtieth of the laboratory's (a wait of 15 s, 200 KB/s,
// the servers' latencies and speeds), and pages have a fifth of their bytes.
//
// How soon good pages came is the mean time of a page since the first one,
// weighted by its PageRank.
func (l *lab) orders() error {
	shape, err := made.Preset("chile", 0.01*l.scale)
	if err != nil {
		return err
	}
	w, err := made.Generate(shape)
	if err != nil {
		return err
	}
	l.say("%d pages on %d sites, %d links", w.Pages(), len(w.Sites), w.Links())
	finish, good := map[string]figures{}, map[string]figures{}
	attempts := []string{"length 1", "siteopic 1", "siteopic auto"}
	for _, name := range attempts {
		order, perConn, _ := strings.Cut(name, " ")
		args := []string{"--order", order, "--per-conn", perConn, "--conns", "64", "--wait", "250ms", "--limit", "2400KB/s", "--warc", "none"}
		l.say("weir crawl %s", strings.Join(args, " "))
		for range max(1, l.runs) {
			r, weighted, err := l.timed(w, args)
			if err != nil {
				return err
			}
			finish[name] = append(finish[name], r.wall.Seconds())
			good[name] = append(good[name], weighted)
		}
		l.value("time to finish", finish[name], "s")
		l.value("mean time of a page by its rank", good[name], "s")
	}
	base, best := attempts[0], attempts[len(attempts)-1]
	l.target("siteopic with auto, time to finish against length", one(finish[best].median()/finish[base].median()), "times", atMost(1))
	l.target("siteopic with auto, time by rank against length", one(good[best].median()/good[base].median()), "times", atMost(1))
	return nil
}

const (
	hurry  = 60 // how much faster time passes than in the laboratory
	thrift = 5  // how many times smaller pages are
)

// timed crawls a web once, and returns the mean time of its pages by their ranks.
func (l *lab) timed(m *made.Web, args []string) (result, float64, error) {
	l.n++
	pages := filepath.Join(l.dir, fmt.Sprintf("pages%d", l.n))
	dir := filepath.Join(l.dir, fmt.Sprintf("crawl%d", l.n))
	defer os.RemoveAll(dir)
	defer os.RemoveAll(pages)
	cfg, err := written(m, pages)
	if err != nil {
		return result{}, 0, err
	}
	w, err := l.serve(cfg)
	if err != nil {
		return result{}, 0, err
	}
	r, err := run(l.command(w, dir, args...))
	var ended error
	if r.audit, ended = w.close(); err == nil {
		err = ended
	}
	if err != nil {
		return r, 0, err
	}
	for _, p := range r.audit.Problems {
		l.say("  MANNERS: %s", p)
	}
	if int(r.Fetched) != m.Pages() {
		l.say("  PAGES: %d fetched of %d", r.Fetched, m.Pages())
	}
	cmd := exec.Command(l.weir, "export", "pages", "--dir", dir, "--format", "csv")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, 0, fmt.Errorf("export the pages: %w", err)
	}
	weighted, err := byRank(m, string(out))
	return r, weighted, err
}

// written writes the pages of a web into a folder, and says how to serve them.
func written(m *made.Web, dir string) (webConfig, error) {
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return webConfig{}, err
	}
	cfg := webConfig{Port: free.Addr().(*net.TCPAddr).Port}
	_ = free.Close()
	for s := range m.Sites {
		site := filepath.Join(dir, strconv.Itoa(s))
		if err := os.MkdirAll(site, 0o755); err != nil {
			return cfg, err
		}
		name := strings.TrimPrefix(m.SiteName(uint32(s)), "http://")
		cfg.Sites = append(cfg.Sites, testweb.Site{
			Name: name, Folder: site, Latency: time.Duration(m.Sites[s].Again / hurry * float64(time.Second)), Rate: int64(m.Sites[s].Speed * hurry / thrift),
		})
		for p := m.First[s]; p < m.First[s+1]; p++ {
			if err := os.WriteFile(filepath.Join(site, pageFile(m, p)), pageText(m, p, cfg.Port), 0o644); err != nil {
				return cfg, err
			}
		}
	}
	return cfg, nil
}

// pageFile is the name of a page's file, and of its URL but for a home page's.
func pageFile(m *made.Web, p uint32) string {
	if i := p - m.First[m.SiteOf[p]]; i > 0 {
		return strconv.Itoa(int(i)) + ".html"
	}
	return "index.html"
}

func pageText(m *made.Web, p uint32, port int) []byte {
	var b []byte
	for _, q := range m.Out(p) {
		b = fmt.Appendf(b, "<a href=\"%s:%d/%s\">x</a>\n", m.SiteName(m.SiteOf[q]), port, strings.TrimSuffix(pageFile(m, q), "index.html"))
	}
	if n := int(m.Size[p])/thrift - len(b); n > 0 {
		b = append(b, strings.Repeat("weir ", n/5)...)
	}
	return b
}

// byRank is the mean time of exported pages since the first, weighted by their
// ranks.
func byRank(m *made.Web, table string) (float64, error) {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil || len(rows) < 2 {
		return 0, fmt.Errorf("read the exported pages: %d rows, %w", len(rows), err)
	}
	col := map[string]int{}
	for i, name := range rows[0] {
		col[name] = i
	}
	site := map[string]int{}
	for s := range m.Sites {
		site[strings.TrimPrefix(m.SiteName(uint32(s)), "http://")] = s
	}
	ranks := m.Ranks()
	var first time.Time
	sum, all := 0.0, 0.0 // of ranks times Unix seconds, of ranks
	for i, row := range rows[1:] {
		u, err := url.Parse(row[col["url"]])
		if err != nil {
			return 0, err
		}
		at, err := time.Parse(time.RFC3339, row[col["fetched_at"]])
		if err != nil {
			return 0, err
		}
		if i == 0 || at.Before(first) {
			first = at
		}
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), ".html")) // a home page is 0
		r := float64(ranks[m.First[site[u.Hostname()]]+uint32(n)])
		sum += r * float64(at.UnixMilli()) / 1000
		all += r
	}
	return sum/all - float64(first.UnixMilli())/1000, nil
}
