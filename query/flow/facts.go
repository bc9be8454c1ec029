package flow

import (
	"strconv"

	"weir/page"
	"weir/query"
)

// fact is how one table of the crawler lies in a page's facts.
type fact struct {
	n    func(f *page.Facts) int
	cell func(f *page.Facts, i, column int) query.Value
	link bool      // it is about those of n Links that
	kind page.Kind // are of this kind
	via  Via
	many int // rows of a page, about
}

func text(s string) query.Value  { return query.Value{S: s} }
func number(n int64) query.Value { return query.Value{N: n} }

// facts are the page facts, by the table's name.
var facts = map[string]*fact{
	"fetched": {
		n: func(f *page.Facts) int {
			if f.Robots || f.Outcome == page.None {
				return 0
			}
			return 1
		},
		cell: func(f *page.Facts, _, column int) query.Value {
			switch column {
			case 0:
				return text(f.URL.String())
			case 1:
				return number(int64(f.Status))
			case 2:
				return text(f.Mime)
			case 3:
				return number(f.Bytes)
			case 4:
				return text(f.Outcome.String())
			case 5:
				return number(f.At / 1e9)
			}
			return query.FloatValue(f.Elapsed.Seconds())
		},
		many: 1,
	},
	"link":      links(ByLink, page.Nav),
	"requisite": links(ByRequisite, page.Requisite),
	"sitemap":   links(BySitemap, page.Sitemap),
	"robots":    links(ByRobots, page.Sitemap),
	"title": {
		n: func(f *page.Facts) int {
			if f.Title == "" {
				return 0
			}
			return 1
		},
		cell: func(f *page.Facts, _, column int) query.Value {
			if column == 0 {
				return text(f.URL.String())
			}
			return text(f.Title)
		},
		many: 1,
	},
	"word": {
		n: func(f *page.Facts) int { return len(f.Words) },
		cell: func(f *page.Facts, i, column int) query.Value {
			switch column {
			case 0:
				return text(f.URL.String())
			case 1:
				return text(f.Words[i].Term)
			case 2:
				return number(int64(f.Words[i].N))
			}
			return number(int64(f.Said))
		},
		many: 300,
	},
	"noindex": {
		n: func(f *page.Facts) int {
			if f.NoIndex && !f.Robots {
				return 1
			}
			return 0
		},
		cell: func(f *page.Facts, _, _ int) query.Value { return text(f.URL.String()) },
		many: 1,
	},
	"header": listed(func(f *page.Facts) []page.Field { return f.Headers }),
	"meta":   listed(func(f *page.Facts) []page.Field { return f.Metas }),
	"redirect": {
		n: func(f *page.Facts) int {
			if f.Outcome != page.Redirected || f.Robots || f.Redirect.URL.IsZero() {
				return 0
			}
			return 1
		},
		cell: func(f *page.Facts, _, column int) query.Value {
			switch column {
			case 0:
				return text(f.URL.String())
			case 1:
				return text(f.Redirect.URL.String())
			}
			return number(int64(f.Status))
		},
		via:  ByRedirect,
		many: 1,
	},
	"hreflang": {
		n: func(f *page.Facts) int { return len(f.Translations) },
		cell: func(f *page.Facts, i, column int) query.Value {
			switch column {
			case 0:
				return text(f.URL.String())
			case 1:
				return text(f.Translations[i].Lang)
			}
			return text(f.Translations[i].URL.String())
		},
		many: 5,
	},
}

func links(via Via, kind page.Kind) *fact {
	k := &fact{link: true, kind: kind, via: via, many: 50}
	k.n = func(f *page.Facts) int {
		if kind == page.Sitemap && f.Robots != (via == ByRobots) {
			return 0
		}
		return len(f.Links)
	}
	k.cell = func(f *page.Facts, i, column int) query.Value {
		l := &f.Links[i]
		switch {
		case column == 0:
			return text(f.URL.String())
		case column == 1:
			return text(l.URL.String())
		case via == BySitemap && column == 2:
			return number(timeOf(l.Text))
		case via == BySitemap && l.Rel == "sitemap":
			return text("index")
		case via == BySitemap:
			return text("page")
		case column == 2:
			return text(l.Text)
		}
		return text(l.Rel)
	}
	return k
}

func listed(of func(f *page.Facts) []page.Field) *fact {
	return &fact{
		n: func(f *page.Facts) int { return len(of(f)) },
		cell: func(f *page.Facts, i, column int) query.Value {
			switch column {
			case 0:
				return text(f.URL.String())
			case 1:
				return text(of(f)[i].Name)
			}
			return text(of(f)[i].Value)
		},
		many: 20,
	}
}

// target returns the column that holds where a fact leads to, or -1.
func (k *fact) target() int {
	if k.link || k.via == ByRedirect {
		return 1
	}
	return -1
}

// lead returns the link that a row lies in. Only facts with a target have one.
func (k *fact) lead(f *page.Facts, i int) *page.Link {
	if k.link {
		return &f.Links[i]
	}
	return &f.Redirect
}

// way says how a link leads to its page.
func (k *fact) way(l *page.Link) Via {
	if k.via == BySitemap && l.Rel == "sitemap" {
		return BySitemapIndex
	}
	return k.via
}

// hidden says that a crawler must not follow a link of a page: the page asks for
// that, or the link does and leads to a stranger. On the page's own host a
// nofollow says nothing.
func hidden(f *page.Facts, l *page.Link) bool {
	return f.NoFollow || l.NoFollow && l.URL.Host() != f.URL.Host()
}

// priority is a score as the program wrote it: the shortest number that is kept
// as this one.
func priority(score float32) float64 {
	f := float64(score)
	if f == float64(int64(f)) {
		return f
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 32), 64)
	return f
}
