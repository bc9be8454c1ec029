package testweb

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// site is a Site at work. Everything but its counters is fixed before the first connection.
type site struct {
	Site
	web       *Web
	index     int
	rank      int // in web.plain
	name      string
	addr      netip.Addr
	origin    string // scheme://host:port
	robots    string
	rules     rules
	behaviour *behaviour
	folder    *folder
	host      *host
	hole      io.Closer // a listener that answers nothing

	mu    sync.Mutex
	spent map[int]int // page -> how often its fault has struck, for those that pass
	asked int         // robots.txt answered with RobotsStatus
	given int         // answers at a rate
}

func newSite(w *Web, i int, desc Site) (*site, error) {
	s := &site{Site: desc, web: w, index: i, name: strings.ToLower(desc.Name), spent: make(map[int]int)}
	s.Pages = max(1, s.Pages)
	switch {
	case s.Links < 0 || s.Leaves < 0 || s.Size < 0 || s.Rate < 0 || s.Latency < 0 || s.Delay < 0 || s.PerConn < 0 || s.Piece < 0:
		return nil, errors.New("negative number")
	case s.Slows.After < 0 || !(s.Slows.Factor >= 0 && s.Slows.Factor <= 1):
		return nil, errors.New("it slows down by a factor that is not between 0 and 1")
	case s.Slows.Factor > 0 && s.Rate == 0:
		return nil, errors.New("it slows down from no rate")
	case max(s.Links, s.Leaves) > 10_000 || s.Size > 64<<20:
		return nil, errors.New("more than 10000 links or 64 MB a page")
	case s.Pages > 1 && s.Links == 0 && s.Folder == "":
		return nil, errors.New("several pages and no links")
	}
	if s.Behaviour != "" {
		if s.behaviour = behaviours[s.Behaviour]; s.behaviour == nil {
			return nil, fmt.Errorf("no behaviour %q", s.Behaviour)
		}
	}
	if s.Folder != "" {
		if s.folder = w.folders[s.Folder]; s.folder == nil {
			f, err := readFolder(s.Folder)
			if err != nil {
				return nil, err
			}
			s.folder, w.folders[s.Folder] = f, f
		}
	}
	s.robots = s.Robots
	if s.robots == "" && (s.Delay > 0 || len(s.Deny) > 0) {
		s.robots = writeRobots(s.Delay, s.Deny)
	}
	s.rules = readRobots(s.robots)
	return s, nil
}

func (s *site) scheme() string {
	if s.TLS {
		return "https"
	}
	return "http"
}

// pace is the rate of the next answer, 0 as fast as possible.
func (s *site) pace() int64 {
	if s.Slows.Factor == 0 {
		return s.Rate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given++
	return s.Slows.rate(s.Rate, s.given-1)
}

// nameless sites have no address to give out: their name is what is wrong with them.
func (s *site) nameless() bool { return s.behaviour != nil && s.behaviour.nameless }

// rules are those of robots.txt for everyone: plain prefixes, the longest of which decides. This is all the audit needs,
// since it judges only files that are written for it.
type rules struct {
	allow, deny []string
	delay       time.Duration
}

func writeRobots(delay time.Duration, deny []string) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	if delay > 0 {
		fmt.Fprintf(&b, "Crawl-delay: %s\n", strconv.FormatFloat(delay.Seconds(), 'f', -1, 64))
	}
	for _, p := range deny {
		fmt.Fprintf(&b, "Disallow: %s\n", p)
	}
	return b.String()
}

func readRobots(text string) rules {
	var r rules
	var mine, open bool
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "user-agent":
			if !open {
				mine = false
			}
			open = true
			mine = mine || value == "*"
			continue
		case "disallow":
			if mine && value != "" {
				r.deny = append(r.deny, value)
			}
		case "allow":
			if mine && value != "" {
				r.allow = append(r.allow, value)
			}
		case "crawl-delay":
			if n, err := strconv.ParseFloat(value, 64); mine && err == nil && n > 0 && n < 1e6 {
				r.delay = time.Duration(n * float64(time.Second))
			}
		default:
			continue
		}
		open = false
	}
	return r
}

// denies says whether a path is forbidden.
func (r *rules) denies(path string) bool {
	if len(r.deny) == 0 {
		return false
	}
	longest := func(list []string) int {
		n := -1
		for _, p := range list {
			if strings.HasPrefix(path, p) {
				n = max(n, len(p))
			}
		}
		return n
	}
	return longest(r.deny) > longest(r.allow)
}

// page reads the number of a page from its path, -1 when it is none.
func (s *site) page(path []byte) int {
	if len(path) == 1 && path[0] == '/' {
		return 0
	}
	rest, ok := bytes.CutPrefix(path, []byte("/p/"))
	if !ok || len(rest) == 0 || len(rest) > 9 || rest[0] == '0' {
		return -1
	}
	n := 0
	for _, c := range rest {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	if n >= s.Pages {
		return -1
	}
	return n
}

// fault is what is wrong with a page, nil when nothing is. It does not count how often it has struck.
func (s *site) fault(page int) *Fault {
	if page <= 0 {
		return nil
	}
	for i := range s.Faults {
		f := &s.Faults[i]
		if slices.Contains(f.Pages, page) {
			return f
		}
		if f.Every > 0 {
			r := dice(s.web.seed, uint64(s.index), uint64(page), uint64(i), saltFault)
			if r.below(f.Every) == 0 {
				return f
			}
		}
	}
	return nil
}

// strikes is fault, counted: a page that has failed often enough is well.
func (s *site) strikes(page int) *Fault {
	f := s.fault(page)
	if f == nil || f.Times == 0 {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent[page] >= f.Times {
		return nil
	}
	s.spent[page]++
	return f
}

// answer serves one request; it says whether the connection lives on.
func (s *site) answer(x *exchange) bool {
	if s.behaviour != nil {
		return s.behaviour.answer(x)
	}
	if s.Latency > 0 && !x.v.web.wait(s.Latency) {
		return false
	}
	if s.folder != nil && string(x.path) != "/robots.txt" {
		return s.folder.answer(x)
	}
	if body, ok := s.Files[string(x.path)]; ok {
		return x.reply(200, typeOf(string(x.path)), "", []byte(body))
	}
	if page := s.page(x.path); page >= 0 {
		x.page = page
		if f := s.strikes(page); f != nil {
			return s.fail(x, f, page)
		}
		x.html, _ = s.body(x.buffer(), page)
		return x.reply(200, "text/html; charset=utf-8", "", x.html)
	}
	path := string(x.path)
	if path == "/robots.txt" {
		return s.answerRobots(x)
	}
	if n, ok := strings.CutPrefix(path, "/loop/"); ok {
		return x.reply(302, "", "Location: /p/"+n+"\r\n", nil)
	}
	if html, ok := s.trap(x.buffer(), path); ok {
		x.html = html
		return x.reply(200, "text/html; charset=utf-8", "", html)
	}
	if s.rules.denies(path) {
		x.html = s.leaf(x.buffer(), path)
		return x.reply(200, "text/html; charset=utf-8", "", x.html)
	}
	return x.reply(404, "text/plain", "", []byte("not found\n"))
}

func (s *site) answerRobots(x *exchange) bool {
	status := 200
	if s.RobotsStatus != 0 {
		s.mu.Lock()
		if s.RobotsTimes == 0 || s.asked < s.RobotsTimes {
			s.asked++
			status = s.RobotsStatus
		}
		s.mu.Unlock()
	}
	if status == 200 && s.robots == "" {
		status = 404
	}
	switch {
	case status >= 500 || status == 429:
		x.host.told(&rules{deny: []string{"/"}})
	case status == 200:
		x.host.told(&s.rules)
		return x.reply(200, "text/plain", "", []byte(s.robots))
	default:
		x.host.told(&rules{})
	}
	return x.reply(status, "text/plain", "", []byte("no robots.txt\n"))
}

// fail answers for a page with a fault.
func (s *site) fail(x *exchange, f *Fault, page int) bool {
	const html = "text/html; charset=utf-8"
	retry := ""
	if f.After > 0 {
		retry = fmt.Sprintf("Retry-After: %d\r\n", (f.After+time.Second-1)/time.Second)
	}
	switch f.Kind {
	case NotFound:
		return x.reply(404, "text/plain", "", []byte("not found\n"))
	case Broken:
		return x.reply(500, "text/plain", "", []byte("broken\n"))
	case Unavailable:
		return x.reply(503, "text/plain", retry, []byte("unavailable\n"))
	case Busy:
		return x.reply(429, "text/plain", retry, []byte("too many requests\n"))
	case RedirectPage, RedirectSite, RedirectLoop:
		status := 302
		if f.Kind == RedirectSite {
			status = 301
		}
		return x.reply(status, "", "Location: "+s.target(f.Kind, page)+"\r\n", nil)
	case Duplicate:
		x.html = s.mirror(x.buffer())
		return x.reply(200, html, "", x.html)
	case Dropped:
		return false
	}
	body, text := s.body(x.buffer(), page)
	x.html = body
	switch f.Kind {
	case Truncated:
		x.send(appendHead(nil, 200, html, "", len(body), false, false))
		x.send(body[:text+(len(body)-text)/2])
		return false
	case WrongType:
		return x.reply(200, "application/octet-stream", "", body)
	case Chunked:
		return x.chunks(200, html, body)
	case Gzip:
		if x.gzip {
			return x.reply(200, html, "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n", quickZip(body))
		}
	}
	return x.reply(200, html, "", body)
}

// target is where a redirecting page leads.
func (s *site) target(kind FaultKind, page int) string {
	l := s.leads(kind, page)
	if l.page < 0 {
		return l.path
	}
	return s.web.sites[l.site].origin + pagePath(l.page)
}

func (s *site) leads(kind FaultKind, page int) link {
	r := dice(s.web.seed, uint64(s.index), uint64(page), saltFault, saltLinks)
	switch {
	case kind == RedirectLoop:
		return link{site: s.index, page: -1, path: "/loop/" + strconv.Itoa(page)}
	case kind == RedirectSite && len(s.web.plain) > 1:
		o := s.other(&r)
		return link{site: o.index, page: r.below(o.Pages)}
	}
	return link{site: s.index, page: r.below(page)}
}

var (
	zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	quick   = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // there is such a level
		return z
	}}
)

// zip packs what is packed once and sent often.
func zip(b []byte) []byte { return zipBy(&zippers, b) }

// quickZip packs what is asked for once, as servers do that make their pages when
// they are asked.
func quickZip(b []byte) []byte { return zipBy(&quick, b) }

func zipBy(pool *sync.Pool, b []byte) []byte {
	var out bytes.Buffer
	z := pool.Get().(*gzip.Writer)
	defer pool.Put(z)
	z.Reset(&out)
	z.Write(b) // a bytes.Buffer does not fail
	z.Close()
	return out.Bytes()
}
