package web

import "fmt"

// Builder makes a web of addresses, such as the pages of a crawl that was
// recorded: first the pages, then the links and seeds between them. The first
// page of a site becomes its home page. The zero value is ready; it is not
// safe for concurrent use.
type Builder struct{ text text }

// Page adds a page of so many bytes that ends in an outcome (a number of
// page.Outcome; 0: fine).
func (b *Builder) Page(address string, bytes uint32, end uint8) error {
	p, err := b.text.page(address)
	if err != nil {
		return err
	}
	page := &b.text.pages[p]
	if page.named {
		return fmt.Errorf("page %s is here twice", address)
	}
	page.named, page.size, page.end = true, int64(bytes), end
	b.text.strict = true
	b.text.ends = b.text.ends || end != 0
	return nil
}

// Site says how a site answers; sites of which nothing is said are drawn. The
// site is known by its name, such as http://a.example, and must have pages
// already.
func (b *Builder) Site(site Site) error {
	name, _, err := split(site.Name)
	if err != nil {
		return err
	}
	s, ok := b.text.site[name]
	if !ok {
		return fmt.Errorf("site %s has no pages", name)
	}
	if err := site.check(); err != nil {
		return fmt.Errorf("site %s: %w", name, err)
	}
	b.text.sites[s] = given{site.Speed, site.Latency, site.Again, site.Delay}
	return nil
}

// Link adds a link, unless one of the two pages is not there: then it says
// false.
func (b *Builder) Link(from, to string) bool {
	f, known := b.text.find(from)
	if !known {
		return false
	}
	t, known := b.text.find(to)
	if known {
		b.text.links = append(b.text.links, [2]uint32{f, t})
	}
	return known
}

// Seed makes a page a seed, unless it is not there: then it says false.
func (b *Builder) Seed(address string) bool {
	p, known := b.text.find(address)
	if known {
		b.text.seeds = append(b.text.seeds, p)
	}
	return known
}

// Web returns the web, its gaps drawn as fill says. The Builder is spent.
func (b *Builder) Web(name string, fill Shape) (*Web, error) {
	w, err := b.text.web(fill)
	if err != nil {
		return nil, err
	}
	w.Name = name
	return w, nil
}

// find returns the number of a page that is there.
func (t *text) find(address string) (p uint32, known bool) {
	if p, known = t.number[address]; known { // most are written as we do
		return p, true
	}
	name, path, err := split(address)
	if err != nil {
		return 0, false
	}
	p, known = t.number[name+path]
	return p, known
}
