package sim

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"weir/page"
	"weir/sim/web"
)

// names gives numbered sites and pages their URLs, and finds them again. Those
// of webs without names of their own are made up by the web, from the numbers,
// and read back here.
type names struct {
	w      *web.Web
	sites  []string            // by number
	hashes []uint64            // of pages, made when they are asked for; 0 = not yet
	byName map[string]uint32   // sites
	hosts  map[string]uint32   // numbered as they come
	byKey  map[page.Key]uint32 // pages of a web that has paths of its own, by number of site and hash
	text   []byte
	tail   string // behind the numbers of pages, so that URLs are as long as real ones
}

// secret keys the hashes of every simulated crawl: nobody attacks them.
var secret = page.Secret{'w', 'e', 'i', 'r'}

func newNames(w *web.Web) (*names, error) {
	n := &names{
		w: w, sites: make([]string, len(w.Sites)), hashes: make([]uint64, w.Pages()),
		byName: make(map[string]uint32, len(w.Sites)), hosts: make(map[string]uint32, len(w.Sites)),
	}
	for s := range n.sites {
		name := w.SiteName(uint32(s))
		u, err := page.Parse(name + "/")
		if err != nil || u.Site() != name {
			return nil, fmt.Errorf("site %d of the web is called %q: that is not the beginning of a URL, such as http://example.org", s, name)
		}
		if _, twice := n.byName[name]; twice {
			return nil, fmt.Errorf("two sites of the web are called %s", name)
		}
		n.sites[s], n.byName[name] = name, uint32(s)
		if host := u.Host(); n.hosts[host] == 0 {
			n.hosts[host] = uint32(len(n.hosts)) + 1
		}
	}
	if w.Path == nil {
		return n, nil
	}
	n.byKey = make(map[page.Key]uint32, w.Pages())
	for p := range n.hashes {
		u, err := n.url(uint32(p))
		if err != nil {
			return nil, err
		}
		k := page.Key{Site: page.SiteID(w.SiteOf[p]), Hash: n.hash(uint32(p))}
		if _, twice := n.byKey[k]; twice {
			return nil, fmt.Errorf("two pages of the web are called %s", u)
		}
		n.byKey[k] = uint32(p)
	}
	return n, nil
}

func (n *names) site(s uint32) string { return n.sites[s] }

// rest appends what follows the site's name in a page's URL.
func (n *names) rest(b []byte, p uint32) []byte {
	if n.w.Path != nil {
		return append(b, n.w.Path[p]...)
	}
	b = append(b, '/')
	if i := p - n.w.First[n.w.SiteOf[p]]; i > 0 {
		b = append(strconv.AppendUint(b, uint64(i), 10), n.tail...)
	}
	return b
}

func (n *names) url(p uint32) (page.URL, error) {
	text := string(n.rest([]byte(n.site(n.w.SiteOf[p])), p))
	u, err := page.Parse(text)
	if err == nil && u.String() != text {
		err = fmt.Errorf("it should read %s", u)
	}
	if err != nil {
		return u, fmt.Errorf("page %d of the web is called %q: %w", p, text, err)
	}
	return u, nil
}

// hash returns the hash of a page's rest.
func (n *names) hash(p uint32) uint64 {
	h := n.hashes[p]
	if h == 0 {
		n.text = n.rest(n.text[:0], p)
		h = secret.Hash(string(n.text))
		n.hashes[p] = h
	}
	return h
}

// findSite returns the number of a site. Only sites of the web are asked for.
func (n *names) findSite(name string) uint32 { return n.byName[name] }

// address makes up one for every host: each is its own server.
func (n *names) address(host string) netip.Addr {
	i := n.hosts[host]
	return netip.AddrFrom4([4]byte{10 + byte(i>>24), byte(i >> 16), byte(i >> 8), byte(i)})
}

// findPage returns the number of a site's page; ok is false when the web has no
// such page.
func (n *names) findPage(s uint32, rest string, hash uint64) (p uint32, ok bool) {
	if n.byKey != nil {
		p, ok = n.byKey[page.Key{Site: page.SiteID(s), Hash: hash}]
		return p, ok
	}
	if rest == "/" {
		return n.w.First[s], true
	}
	i, err := strconv.ParseUint(strings.TrimSuffix(rest[1:], n.tail), 10, 32)
	p = n.w.First[s] + uint32(i)
	return p, err == nil && i > 0 && p < n.w.First[s+1]
}
