package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"weir/crawl"
	"weir/internal/parse"
	"weir/page"
	"weir/robots"
)

// inspectPageCmd shows what weir reads in a page.
type inspectPageCmd struct {
	Source source `arg:"" name:"file|url|-" help:"A page: a file, a URL, or - for the input."`
	Base   string `placeholder:"URL" help:"The page's own URL; a file needs it."`
	Agent  string `default:"weir" help:"Product token by which a page may speak to us in its meta elements."`
	JSON   bool   `name:"json" help:"One JSON object."`
	Text   bool   `help:"The visible text instead of the links; with --json, besides them."`
}

// Help shows examples.
func (c *inspectPageCmd) Help() string {
	return `A URL is fetched at once, whatever its robots.txt says: a person asks, not a crawl. Redirects are followed. Links are
listed as they stand, page requisites included, before scope, --strip and robots.txt choose among them.

Examples:
  weir inspect page https://example.org/
  weir inspect page page.html --base https://example.org/a/ --json
  weir get https://example.org/ | weir inspect page - --base https://example.org/ --text`
}

// maxPage bounds the page that is inspected.
const maxPage = 64e6

// pageInfo is what inspect page says. Names are for programs: add, never
// rename.
type pageInfo struct {
	URL       string      `json:"url"`
	Title     string      `json:"title"`
	Charset   string      `json:"charset"`
	Canonical string      `json:"canonical"`
	Robots    pageRobots  `json:"robots"`
	Links     []pageLink  `json:"links"`
	Status    int         `json:"status,omitempty"`
	Mime      string      `json:"mime,omitempty"`
	Alternate []alternate `json:"alternates,omitempty"`
	Refused   int         `json:"refused,omitempty"` // references that are no http or https URL
	Cut       bool        `json:"cut,omitempty"`     // there were more links than weir reads
	Text      string      `json:"text,omitempty"`
}

type pageRobots struct {
	Index  bool `json:"index"`
	Follow bool `json:"follow"`
}

type pageLink struct {
	URL      string `json:"url"`
	Kind     string `json:"kind"`
	Rel      string `json:"rel"`
	Text     string `json:"text"`
	NoFollow bool   `json:"nofollow,omitempty"`
}

type alternate struct {
	Lang string `json:"lang"`
	URL  string `json:"url"`
}

// body is a page before it is read.
type body struct {
	at     page.URL
	bytes  []byte
	kind   string // Content-Type
	status int
	tags   []string // X-Robots-Tag
	html   bool
}

// Run implements the verb.
func (c *inspectPageCmd) Run(e *env) error {
	b, done, err := c.find(e)
	if err != nil {
		return err
	}
	defer done()
	info := c.read(b)
	out := bufio.NewWriter(e.out)
	switch {
	case c.JSON:
		err = writeJSON(out, info)
	case c.Text:
		_, err = fmt.Fprintln(out, info.Text)
	default:
		err = info.print(out)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil || closed(err) {
		return nil
	}
	return fmt.Errorf("inspect page: %w", err)
}

// find gets the page from where the user says. The caller calls done when it
// has read it.
func (c *inspectPageCmd) find(e *env) (b *body, done func(), err error) {
	const hint = "--base https://example.org/page.html: links are relative to it"
	var base page.URL
	if c.Base != "" {
		if base, err = page.Parse(c.Base); err != nil {
			return nil, nil, usage(hint, "--base %s: %w", visible(c.Base), err)
		}
	}
	u, ok, err := c.Source.url()
	if err != nil {
		return nil, nil, err
	}
	if ok {
		b, done, err := fetchPage(e, u)
		if err == nil && !base.IsZero() {
			b.at = base
		}
		return b, done, err
	}
	if base.IsZero() {
		return nil, nil, usage(hint, "a file does not know its own URL; say it with --base")
	}
	text, err := c.Source.read(e, maxPage)
	if err != nil {
		return nil, nil, err
	}
	return &body{at: base, bytes: text, html: true}, func() {}, nil
}

func fetchPage(e *env, u page.URL) (*body, func(), error) {
	v, err := newVisitor(maxPage)
	if err != nil {
		return nil, nil, err
	}
	defer v.client.Close()
	a, at, o, why := v.get(e.ctx, u, crawl.MaxHops)
	if o == page.Aborted {
		return nil, nil, quiet(exitInterrupted)
	}
	if a == nil {
		return nil, nil, failure(fmt.Errorf("%s: %s (%s)", at, reasonOf(o, why), o), "check the address; "+o.Row().What)
	}
	text, decoded := a.Decoded(maxPage)
	if decoded == page.Bomb {
		a.Release()
		return nil, nil, failure(fmt.Errorf("%s: %s", at, decoded.Row().What), "weir stores such pages and reads no links from them")
	}
	if o != page.OK {
		fmt.Fprintf(e.err, "note: %s: %s\n", at, reasonOf(o, why))
	}
	b := &body{at: at, bytes: text, kind: a.Header.Get("Content-Type"), status: a.Status, tags: a.Header.Values("X-Robots-Tag")}
	if b.html = parse.IsHTML(b.kind, text); !b.html {
		fmt.Fprintf(e.err, "note: %s is %s, which weir stores and reads no links from\n", at, mediaType(b.kind))
	}
	return b, a.Release, nil
}

// mediaType returns a Content-Type without its parameters.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	if s = strings.ToLower(strings.TrimSpace(s)); s == "" {
		return "of no type"
	}
	return s
}

// read makes sense of a page as a crawl would.
func (c *inspectPageCmd) read(b *body) pageInfo {
	info := pageInfo{URL: b.at.String(), Links: []pageLink{}, Status: b.status}
	if b.kind != "" {
		info.Mime = mediaType(b.kind)
	}
	asked := robots.ParseHeader(b.tags, c.Agent)
	if b.html {
		var p parse.Parser
		doc := p.HTML(b.bytes, b.at, b.kind, robots.Token(c.Agent), parse.Want{Text: c.Text, Anchors: true, Requisites: true, Translations: true})
		asked = asked.Merge(doc.Robots)
		info.Title, info.Charset, info.Canonical = doc.Title, doc.Charset, doc.Canonical.String()
		info.Refused, info.Cut, info.Text = doc.Refused, doc.Cut, doc.Text
		for _, l := range doc.Links {
			info.Links = append(info.Links, pageLink{l.URL.String(), l.Kind.String(), l.Rel, l.Text, l.NoFollow})
		}
		for _, a := range doc.Translations {
			info.Alternate = append(info.Alternate, alternate{a.Lang, a.URL.String()})
		}
	}
	asked = asked.At(time.Now())
	info.Robots = pageRobots{Index: !asked.NoIndex, Follow: !asked.NoFollow}
	return info
}

func (i *pageInfo) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, value)
		}
	}
	row("url", i.URL)
	if i.Status != 0 {
		row("status", fmt.Sprint(i.Status))
	}
	row("type", i.Mime)
	row("title", i.Title)
	row("charset", i.Charset)
	row("canonical", i.Canonical)
	index, follow := "index", "follow"
	if !i.Robots.Index {
		index = "noindex"
	}
	if !i.Robots.Follow {
		follow = "nofollow"
	}
	row("robots", index+", "+follow)
	for _, a := range i.Alternate {
		row("hreflang "+a.Lang, a.URL)
	}
	row("links", fmt.Sprint(len(i.Links)))
	if err := t.Flush(); err != nil {
		return err
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range i.Links {
		about := l.Text
		if l.Rel != "" {
			about = strings.TrimSpace("[" + l.Rel + "] " + about)
		}
		fmt.Fprintf(t, "  %s\t%s", l.Kind, l.URL)
		if about != "" {
			fmt.Fprintf(t, "\t%s", about)
		}
		fmt.Fprintln(t)
	}
	if i.Refused > 0 {
		fmt.Fprintf(t, "  and %s to something else than http or https\n", plural(int64(i.Refused), "reference"))
	}
	if i.Cut {
		fmt.Fprintln(t, "  there are more links than weir reads of one page")
	}
	return t.Flush()
}
