package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	maxLine  = 16 << 20 // bytes of a line: long enough for any page of a bare graph
	maxEdges = 1 << 27  // links of a text, which take more room than those of a file
)

// ReadEdges reads a web as text (see the package's documentation), plain or
// compressed with gzip. What the text leaves out is drawn as fill says: sizes
// of pages by Bytes, servers by Speed, Latency, Again and Delay, all of them
// by Seed.
func ReadEdges(r io.Reader, fill Shape) (*Web, error) {
	r, err := unzip(r)
	if err != nil {
		return nil, err
	}
	var t text
	if err := lines(r, t.line); err != nil {
		return nil, err
	}
	return t.web(fill)
}

// unzip reads what gzip wrote, and anything else as it is.
func unzip(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if head, _ := b.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("reading a web: %w", err)
	}
	return bufio.NewReaderSize(z, 1<<16), nil
}

// lines calls f with each line, without its end.
func lines(r io.Reader, f func(line []byte) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), maxLine)
	n := 1
	for ; sc.Scan(); n++ {
		if err := f(sc.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	return nil
}

// text collects a web of pages numbered as they come.
type text struct {
	number map[string]uint32
	site   map[string]uint32
	names  []string // of the sites
	sites  []given
	pages  []written
	links  [][2]uint32
	seeds  []uint32
	strict bool // some line names a page: links and seeds must not bring new ones
	ends   bool
}

type written struct {
	site  uint32
	path  string
	named bool // by a line of its own
	size  int64
	end   uint8
}

// given is what a line says about a site; NaN: nothing.
type given struct{ speed, latency, again, delay float64 }

func (t *text) line(line []byte) error {
	f := strings.Fields(string(line))
	if len(f) == 0 || f[0][0] == '#' {
		return nil
	}
	switch {
	case strings.Trim(f[0], "0123456789") == "":
		return ErrNumbers
	case f[0] == "site" && len(f) >= 2:
		return t.siteLine(f[1], f[2:])
	case f[0] == "page" && len(f) >= 2:
		return t.pageLine(f[1], f[2:])
	case f[0] == "seed" && len(f) == 2:
		p, err := t.page(f[1])
		t.seeds = append(t.seeds, p)
		return err
	case len(f) != 2:
		return fmt.Errorf("a line is site NAME, page ADDRESS SIZE, seed ADDRESS, or two addresses; this one has %s", fields(len(f)))
	}
	from, err := t.page(f[0])
	if err != nil {
		return err
	}
	to, err := t.page(f[1])
	if err != nil {
		return err
	}
	if len(t.links) >= maxEdges {
		return fmt.Errorf("more than %d links", maxEdges)
	}
	t.links = append(t.links, [2]uint32{from, to})
	return nil
}

func fields(n int) string {
	if n == 1 {
		return "1 field"
	}
	return strconv.Itoa(n) + " fields"
}

func (t *text) siteLine(name string, fields []string) error {
	name, path, err := split(name)
	if err != nil {
		return err
	}
	if path != "/" {
		return fmt.Errorf("site %s has a path, %s", name, path)
	}
	g := &t.sites[t.siteNumber(name)]
	for _, field := range fields {
		key, value, _ := strings.Cut(field, "=")
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(x) {
			return fmt.Errorf("site %s: %s: not a number", name, field)
		}
		switch key {
		case "speed":
			g.speed = x
		case "latency":
			g.latency = x
		case "again":
			g.again = x
		case "delay":
			g.delay = x
		default:
			return fmt.Errorf("site %s: %s: known are speed, latency, again and delay", name, field)
		}
	}
	return nil
}

func (t *text) pageLine(address string, fields []string) error {
	p, err := t.page(address)
	if err != nil {
		return err
	}
	page := &t.pages[p]
	if page.named {
		return fmt.Errorf("page %s is here twice", address)
	}
	page.named, t.strict = true, true
	for i, field := range fields {
		value, isEnd := strings.CutPrefix(field, "end=")
		switch {
		case isEnd:
			n, err := strconv.ParseUint(value, 10, 8)
			if err != nil || n > MaxEnd {
				return fmt.Errorf("page %s: %s: not the number of an outcome between 0 and %d", address, field, MaxEnd)
			}
			page.end, t.ends = uint8(n), true
		case i == 0:
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return fmt.Errorf("page %s: %s: not a number of bytes below 2^32", address, field)
			}
			page.size = int64(n)
		default:
			return fmt.Errorf("page %s: %s: after the size only end=N may follow", address, field)
		}
	}
	return nil
}

// page returns the number of a page, and numbers it when it is new.
func (t *text) page(address string) (uint32, error) {
	name, path, err := split(address)
	if err != nil {
		return 0, err
	}
	if p, ok := t.number[name+path]; ok {
		return p, nil
	}
	if len(t.pages) >= MaxPages {
		return 0, fmt.Errorf("more than %d pages", MaxPages)
	}
	if t.number == nil {
		t.number = map[string]uint32{}
	}
	p := uint32(len(t.pages))
	key := name + path // the path of the page shares its bytes
	t.number[key] = p
	t.pages = append(t.pages, written{site: t.siteNumber(name), path: key[len(name):], size: -1})
	return p, nil
}

func (t *text) siteNumber(name string) uint32 {
	s, ok := t.site[name]
	if !ok {
		if t.site == nil {
			t.site = map[string]uint32{}
		}
		s = uint32(len(t.names))
		name = strings.Clone(name)
		t.site[name] = s
		t.names = append(t.names, name)
		none := math.NaN()
		t.sites = append(t.sites, given{none, none, none, none})
	}
	return s
}

// split parts an address into site and path. An address without a scheme is
// one of http.
func split(address string) (site, path string, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "http", address
	}
	scheme = strings.ToLower(scheme)
	if scheme != "http" && scheme != "https" {
		return "", "", fmt.Errorf("%q: the address begins with neither http:// nor https://", address)
	}
	path = "/"
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest, path = rest[:i], rest[i:]
		if path[0] != '/' {
			path = "/" + path
		}
	}
	if rest == "" {
		return "", "", fmt.Errorf("%q: the address has no host", address)
	}
	return scheme + "://" + strings.ToLower(rest), path, nil
}

// web numbers the pages site by site, and draws what is missing.
func (t *text) web(fill Shape) (*Web, error) {
	if t.strict {
		for _, l := range t.links {
			for _, p := range l {
				if !t.pages[p].named {
					return nil, fmt.Errorf("a link names %s, which no page line does: unknown page", t.url(p))
				}
			}
		}
		for _, p := range t.seeds {
			if !t.pages[p].named {
				return nil, fmt.Errorf("the seed %s is named by no page line: unknown page", t.url(p))
			}
		}
	}
	of := make([]uint32, len(t.pages))
	for p := range of {
		of[p] = t.pages[p].site
	}
	g := grouped(of, len(t.names))
	if empty := slices.Index(g.count, 0); empty >= 0 {
		return nil, fmt.Errorf("site %s has no pages", t.names[empty])
	}
	w := &Web{Sites: make([]Site, len(t.names))}
	g.number(w)
	if err := g.fill(w, &fill); err != nil {
		return nil, err
	}
	w.links(func(yield func(from, to uint32)) {
		for _, l := range t.links {
			yield(g.at[l[0]], g.at[l[1]])
		}
	})
	w.Path = make([]string, len(t.pages))
	if t.ends {
		w.End = make([]uint8, len(t.pages))
	}
	for old, p := range g.at {
		page := &t.pages[old]
		w.Path[p] = page.path
		if page.size >= 0 {
			w.Size[p] = uint32(page.size)
		}
		if t.ends {
			w.End[p] = page.end
		}
	}
	for s, x := range t.sites {
		site := &w.Sites[s]
		site.Name = t.names[s]
		for _, f := range [...]struct {
			to    *float64
			given float64
		}{{&site.Speed, x.speed}, {&site.Latency, x.latency}, {&site.Again, x.again}, {&site.Delay, x.delay}} {
			if !math.IsNaN(f.given) {
				*f.to = f.given
			}
		}
	}
	for _, p := range t.seeds {
		w.Seeds = append(w.Seeds, g.at[p])
	}
	slices.Sort(w.Seeds)
	w.Seeds = slices.Compact(w.Seeds)
	if err := w.Check(); err != nil {
		return nil, err
	}
	return w, nil
}

func (t *text) url(p uint32) string { return t.names[t.pages[p].site] + t.pages[p].path }

// group numbers pages anew, so that those of a site lie together.
type group struct {
	of    []uint32 // the site of each page, by its old number
	at    []uint32 // the new number of each
	count []int    // pages of each site
}

// grouped keeps the order within a site.
func grouped(of []uint32, sites int) *group {
	g := &group{of: of, at: make([]uint32, len(of)), count: make([]int, sites)}
	for _, s := range of {
		g.count[s]++
	}
	next := make([]uint32, sites)
	for s := 1; s < sites; s++ {
		next[s] = next[s-1] + uint32(g.count[s-1])
	}
	for p, s := range of {
		g.at[p] = next[s]
		next[s]++
	}
	return g
}

// number sets which pages are whose.
func (g *group) number(w *Web) {
	w.First = make([]uint32, len(g.count)+1)
	for s, n := range g.count {
		w.First[s+1] = w.First[s] + uint32(n)
	}
	w.SiteOf = make([]uint32, len(g.of))
	for p, s := range g.of {
		w.SiteOf[g.at[p]] = s
	}
}

// fill draws sizes and servers.
func (g *group) fill(w *Web, s *Shape) error {
	if len(g.of) == 0 {
		return ErrEmpty
	}
	if err := s.checkSpreads(); err != nil {
		return fmt.Errorf("what fills the gaps: %w", err)
	}
	s.sizes(w)
	s.servers(w)
	return nil
}

// links sets the links of a web; each is given twice, in the same order.
// Those that a page has already are left out.
func (w *Web) links(each func(yield func(from, to uint32))) {
	w.Off = make([]uint32, w.Pages()+1)
	each(func(from, _ uint32) { w.Off[from+1]++ })
	for p := range w.Pages() {
		w.Off[p+1] += w.Off[p]
	}
	w.Adj = make([]uint32, w.Off[w.Pages()])
	next := slices.Clone(w.Off)
	each(func(from, to uint32) {
		w.Adj[next[from]] = to
		next[from]++
	})
	seen := make([]uint32, w.Pages())
	kept := w.Adj[:0]
	for p := range uint32(w.Pages()) {
		out := w.Adj[w.Off[p]:w.Off[p+1]]
		w.Off[p] = uint32(len(kept))
		for _, t := range out {
			if seen[t] != p+1 {
				seen[t] = p + 1
				kept = append(kept, t)
			}
		}
	}
	w.Off[w.Pages()] = uint32(len(kept))
	w.Adj = kept
}

// Load reads a web that says itself what it is: a file of Write's, or else text.
// Bare numbers do not, and are refused with ErrNumbers.
func Load(r io.Reader, fill Shape) (*Web, error) {
	r, err := unzip(r)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(r, 1<<16)
	head, err := b.Peek(len(magic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a web: %w", err)
	}
	if string(head) == magic {
		return read(b)
	}
	return ReadEdges(b, fill)
}
