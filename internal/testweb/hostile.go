package testweb

import (
	"crypto/tls"
	"html"
	"io"
	"slices"
	"strings"
)

// Behaviour is one way in which a server can be hostile, or merely broken.
type Behaviour struct {
	ID     string // as in "http-01"; variants have a slash and a word after it
	Host   string // the site that shows it
	Server string // what the server does
	Expect string // what a crawler should end with
	Paths  []string
}

// Suffix ends the names of all hostile hosts: http-01.hostile.test, and for variants smtp.proto-05.hostile.test.
const Suffix = ".hostile.test"

// Behaviours lists them all, those that this system can show, in order of their ids.
func Behaviours() []Behaviour {
	var out []Behaviour
	for _, b := range behaviours {
		if b.absent {
			continue
		}
		v := Behaviour{ID: b.id, Host: hostOf(b.id), Server: b.server, Expect: b.expect}
		for _, p := range b.paths {
			v.Paths = append(v.Paths, p.at)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Behaviour) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Hostile is a site for each behaviour. The start page of each links to what is wrong with it; a crawler that is pointed at all
// of them must come to an end, and each URL with what Expect says. Answers that never end do so when the visitor leaves
// or the web closes.
func Hostile() []Site {
	var out []Site
	for _, b := range Behaviours() {
		def := behaviours[b.ID]
		out = append(out, Site{Name: b.Host, Behaviour: b.ID, TLS: def.cert != nil, Wildcard: def.wildcard})
	}
	return out
}

func hostOf(id string) string {
	id, variant, ok := strings.Cut(id, "/")
	if ok {
		return variant + "." + id + Suffix
	}
	return id + Suffix
}

// behaviour is a Behaviour at work: paths with an answer each, linked from the start page in their order.
type behaviour struct {
	id, server, expect string
	paths              []path

	first    func(*exchange) (keep, done bool)              // asked before anything else
	rest     func(x *exchange, path string) (keep, ok bool) // asked for paths that are not listed
	hidden   bool                                           // the start page does not link to the paths
	links    func(*site) []string                           // further links of the start page
	wildcard bool
	cert     func(*authority, string) (*tls.Certificate, error)
	records  func(*site) map[string]record
	nameless bool                    // has no address to give out
	setup    func(*Web, *site) error // before names are given out
	absent   bool                    // not on this system
}

// path is one answer; it says whether the connection lives on.
type path struct {
	at string
	do func(*exchange) bool
}

var behaviours = make(map[string]*behaviour)

// register adds to the table, which is complete before any web starts.
func register(list ...behaviour) {
	for i := range list {
		behaviours[list[i].id] = &list[i]
	}
}

func init() {
	register(framing()...)
	register(pace()...)
	register(sizes()...)
	register(redirects()...)
	register(endless()...)
	register(robotsFiles()...)
	register(protocols()...)
	register(names()...)
	register(addresses()...)
}

func (b *behaviour) answer(x *exchange) bool {
	if b.first != nil {
		if keep, done := b.first(x); done {
			return keep
		}
	}
	target := string(x.path)
	for _, p := range b.paths {
		if p.at == target {
			return p.do(x)
		}
	}
	if b.rest != nil {
		if keep, ok := b.rest(x, target); ok {
			return keep
		}
	}
	if target == "/" {
		x.page = 0
		return x.page200(b.index(x.host.site))
	}
	return x.reply(404, "text/plain", "", []byte("not found\n"))
}

func (b *behaviour) index(s *site) string {
	var links []string
	for _, p := range b.paths {
		if !b.hidden {
			links = append(links, p.at)
		}
	}
	if b.links != nil {
		links = append(links, b.links(s)...)
	}
	return list(b.id+": "+b.server, links...)
}

// list is a page of links.
func list(title string, links ...string) string {
	var w strings.Builder
	w.WriteString("<!doctype html><meta charset=\"utf-8\"><title>" + html.EscapeString(title) + "</title>\n")
	for _, l := range links {
		w.WriteString("<a href=\"" + html.EscapeString(l) + "\">link</a>\n")
	}
	return w.String()
}

// page200 answers with HTML.
func (x *exchange) page200(html string) bool {
	return x.reply(200, "text/html; charset=utf-8", "", []byte(html))
}

// script answers with bytes as they are. The answer counts as complete with a status, as broken off with 0.
func (x *exchange) script(status int, b string, keep bool) bool {
	if status != 0 {
		x.finish(status)
	}
	return x.send([]byte(b)) && keep
}

// drain says nothing until the visitor leaves or the web closes.
func (x *exchange) drain() bool {
	io.Copy(io.Discard, x.in)
	return false
}

// always answers the same bytes whatever the path.
func always(b string) func(*exchange) (bool, bool) {
	return func(x *exchange) (bool, bool) { return x.script(0, b, false), true }
}

// page is a path with plain HTML.
func page(at, html string) path {
	return path{at, func(x *exchange) bool { return x.page200(html) }}
}

// raw is a path with scripted bytes.
func raw(at string, status int, b string, keep bool) path {
	return path{at, func(x *exchange) bool { return x.script(status, b, keep) }}
}

// redirect is a path that leads elsewhere.
func redirect(at string, status int, location string) path {
	return path{at, func(x *exchange) bool { return x.reply(status, "text/html", location, nil) }}
}
