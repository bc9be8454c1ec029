package chart

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// pageStyle is the look of a report. Colours come from few variables, which a
// reader's preference for dark paper replaces.
const pageStyle = `
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c1e21; --quiet: #5b6068; --line: #e4e6e9; --tint: #f6f7f8; --link: #0072b2; --good: #00734f; --bad: #b34700 }
@media (prefers-color-scheme: dark) { :root { --paper: #16181d; --ink: #e8e9eb; --quiet: #a4aab3; --line: #2c3038; --tint: #1e2127; --link: #4aa8e0; --good: #2cc295; --bad: #f2813a } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif; overflow-wrap: break-word }
main { max-width: 824px; margin: 0 auto; padding: 2rem 2rem 4rem }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 1rem }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.75rem 0 .5rem; padding-top: 1.25rem; border-top: 1px solid var(--line) }
p { margin: 0 0 .8rem; max-width: 68ch }
a { color: var(--link) }
nav ol { margin: 0; padding-left: 1.4rem; columns: 2 18rem; font-size: .925rem }
figure { margin: 1.25rem 0 }
svg { display: block; max-width: 100%; height: auto }
.narrow { display: none }
.scroll { overflow-x: auto; margin: 1rem 0 .5rem }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding: 0 0 .4rem }
th, td { padding: .32rem .75rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
th { font-weight: 600; border-bottom: 2px solid var(--line); vertical-align: bottom }
tbody tr:nth-child(even) { background: var(--tint) }
.n { text-align: right; white-space: nowrap }
.good { color: var(--good); font-weight: 600 }
.bad { color: var(--bad); font-weight: 600 }
.note { font-size: .85rem; color: var(--quiet); margin-bottom: .3rem }
@media (max-width: 600px) { main { padding: 1.25rem 1rem 3rem } .wide { display: none } .narrow { display: block; width: 100% } }
@media print { .narrow { display: none } h2 { break-after: avoid } figure, tr { break-inside: avoid } }
`

// WriteHTML writes the report as one HTML file.
func (r *Report) WriteHTML(w io.Writer) error {
	if err := r.check(); err != nil {
		return err
	}
	var b strings.Builder
	title := html.EscapeString(clean(named(r.Title, "Report")))
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	b.WriteString("<title>" + title + "</title>\n<style>" + pageStyle + darkStyle() + "\n</style>\n</head>\n<body>\n<main>\n")
	b.WriteString("<h1>" + title + "</h1>\n")
	paragraphs(&b, r.Intro)
	r.contents(&b)
	for i, p := range r.Parts {
		b.WriteString("<section>\n")
		if p.Heading != "" {
			fmt.Fprintf(&b, "<h2 id=\"part-%d\">%s</h2>\n", i+1, html.EscapeString(clean(p.Heading)))
		}
		paragraphs(&b, p.Text)
		if p.Chart != nil {
			figure(&b, p.Chart, p.Chart.Title)
		}
		if p.Bars != nil {
			figure(&b, p.Bars, p.Bars.Title)
		}
		if p.Gantt != nil {
			figure(&b, p.Gantt, p.Gantt.Title)
		}
		if p.Table != nil {
			p.Table.html(&b)
		}
		b.WriteString("</section>\n")
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// contents lists the headings if they do not fit on a screen anyway.
func (r *Report) contents(b *strings.Builder) {
	headings := 0
	for _, p := range r.Parts {
		if p.Heading != "" {
			headings++
		}
	}
	if headings < 3 {
		return
	}
	b.WriteString("<nav aria-label=\"Contents\">\n<ol>\n")
	for i, p := range r.Parts {
		if p.Heading != "" {
			fmt.Fprintf(b, "<li><a href=\"#part-%d\">%s</a></li>\n", i+1, html.EscapeString(clean(p.Heading)))
		}
	}
	b.WriteString("</ol>\n</nav>\n")
}

// figure writes a chart for wide and for narrow screens; style shows one.
func figure(b *strings.Builder, d drawing, title string) {
	b.WriteString("<figure>\n")
	s := svg{}
	s.begin(d, title, wide, "wide")
	s.begin(d, title, narrow, "narrow")
	b.Write(s.Bytes())
	b.WriteString("</figure>\n")
}

func (t *Table) html(b *strings.Builder) {
	b.WriteString("<div class=\"scroll\" tabindex=\"0\">\n<table>\n")
	if t.Title != "" {
		b.WriteString("<caption>" + html.EscapeString(clean(t.Title)) + "</caption>\n")
	}
	classes := make([]string, len(t.Columns))
	b.WriteString("<thead><tr>")
	for i, name := range t.Columns {
		if t.numbers(i) {
			classes[i] = ` class="n"`
		}
		fmt.Fprintf(b, "<th scope=\"col\"%s>%s</th>", classes[i], html.EscapeString(clean(name)))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for i, class := range classes {
			c := cell(row, i)
			switch c {
			case "met":
				class = ` class="good"`
			case "not met":
				class = ` class="bad"`
			}
			fmt.Fprintf(b, "<td%s>%s</td>", class, html.EscapeString(clean(c)))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n</div>\n")
	for _, n := range t.Notes {
		b.WriteString("<p class=\"note\">" + html.EscapeString(clean(n)) + "</p>\n")
	}
}

// split returns the paragraphs of a text.
func split(s string) []string {
	var out []string
	for p := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n\n") {
		if p = strings.TrimSpace(clean(p)); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func paragraphs(b *strings.Builder, s string) {
	for _, p := range split(s) {
		b.WriteString("<p>" + html.EscapeString(p) + "</p>\n")
	}
}

// WriteText writes the report for a terminal or a plain file.
func (r *Report) WriteText(w io.Writer) error {
	if err := r.check(); err != nil {
		return err
	}
	var b strings.Builder
	heading := func(s, rule string) {
		if s = clean(s); s != "" {
			b.WriteString(s + "\n" + strings.Repeat(rule, columns(s)) + "\n\n")
		}
	}
	text := func(s string) {
		for _, p := range split(s) {
			fold(&b, p, textWidth)
			b.WriteString("\n")
		}
	}
	heading(r.Title, "=")
	text(r.Intro)
	for _, p := range r.Parts {
		heading(p.Heading, "-")
		text(p.Text)
		if p.Chart != nil {
			p.Chart.text(&b, textWidth)
			b.WriteString("\n")
		}
		if p.Bars != nil {
			p.Bars.text(&b)
			b.WriteString("\n")
		}
		if p.Gantt != nil {
			p.Gantt.text(&b, textWidth, []rune(plainLevels))
			b.WriteString("\n")
		}
		if p.Table != nil {
			p.Table.text(&b, 0)
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func (r *Report) check() error {
	for _, p := range r.Parts {
		if p.Table != nil {
			if err := p.Table.check(); err != nil {
				return err
			}
		}
		if p.Chart != nil {
			if err := p.Chart.check(); err != nil {
				return err
			}
		}
		if p.Bars != nil {
			if err := p.Bars.check(); err != nil {
				return err
			}
		}
		if p.Gantt != nil {
			if err := p.Gantt.check(); err != nil {
				return err
			}
		}
	}
	return nil
}
