package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"weir/frontier"
	"weir/page"
)

// inspectURLCmd prints the canonical forms of URLs.
type inspectURLCmd struct {
	URLs  []string `arg:"" optional:"" name:"url" help:"URLs; without any, lines of the input are read."`
	JSON  bool     `name:"json" help:"A JSON object a line."`
	Strip string   `placeholder:"LIST" default:"default" help:"Parameters taken out before a URL is fetched: names, default, or none."`
}

// Help shows examples.
func (c *inspectURLCmd) Help() string {
	return `Each line of the input is a URL, or a reference, a tab and the URL of the page it stands on.
URLs that cannot be crawled are reported with the reason; that is an answer, not a failure, and the exit code stays 0.

Parameters of trackers and sessions are stripped by default:
` + wrap(page.DefaultStrip().String(), ",", 96) + `

Examples:
  weir inspect url 'HTTP://Example.org:80/a/../b?utm_source=x#top'
  printf '../c\thttps://example.org/a/b\n' | weir inspect url --json`
}

// wrap breaks a list into lines of at most width bytes.
func wrap(list, sep string, width int) string {
	var b strings.Builder
	n := 0
	for item := range strings.SplitAfterSeq(list, sep) {
		if n > 0 && n+len(item) > width {
			b.WriteByte('\n')
			n = 0
		}
		b.WriteString(item)
		n += len(item)
	}
	return b.String()
}

// urlInfo is what inspect url says of one input. Names are for programs: add,
// never rename.
type urlInfo struct {
	Input  string `json:"input"`
	Base   string `json:"base,omitempty"`
	URL    string `json:"url,omitempty"`
	Error  string `json:"error,omitempty"`
	Fetch  string `json:"fetch,omitempty"` // what is fetched instead, after --strip
	Site   string `json:"site,omitempty"`
	Host   string `json:"host,omitempty"`
	Domain string `json:"domain,omitempty"`
	Trap   string `json:"trap,omitempty"` // why it would be parked
}

// Run implements the verb.
func (c *inspectURLCmd) Run(e *env) error {
	const hint = "weir inspect url URL..., or a URL a line on the input"
	strip, err := page.ParseStrip(c.Strip)
	if err != nil {
		return usage("--strip utm_*,sid or --strip none", "--strip: %w", err)
	}
	out := bufio.NewWriter(e.out)
	say := func(text string) error {
		info := inspectURL(text, strip)
		if c.JSON {
			return writeJSON(out, info)
		}
		return info.print(out)
	}
	n := 0
	for _, text := range c.URLs {
		n++
		if err = say(text); err != nil {
			break
		}
	}
	if len(c.URLs) == 0 {
		if terminal(e.in) {
			return usage(hint, "no URL given")
		}
		n, err = eachLine(e.in, say)
	}
	if err == nil {
		err = out.Flush()
	}
	switch {
	case closed(err):
		return nil
	case err != nil:
		return fmt.Errorf("inspect URLs: %w", err)
	case n == 0:
		return usage(hint, "no URL given: the input is empty")
	}
	return nil
}

// maxLine is how much of a line is kept: room for a URL and a base that are
// both too long.
const maxLine = 4 * page.MaxURL

// eachLine calls fn for every line of in, of any bytes and any length, and
// returns how many there were. What exceeds maxLine is left out.
func eachLine(in io.Reader, fn func(string) error) (int, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	for n := 0; ; n++ {
		line = line[:0]
		for {
			part, err := r.ReadSlice('\n')
			line = append(line, part[:min(len(part), maxLine-len(line))]...)
			if err == nil {
				break
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if !errors.Is(err, io.EOF) {
				return n, err
			}
			if len(line) == 0 {
				return n, nil
			}
			return n + 1, fn(string(line))
		}
		if last := len(line) - 1; last >= 0 && line[last] == '\n' {
			line = line[:last]
		}
		if err := fn(string(line)); err != nil {
			return n, err
		}
	}
}

// inspectURL reads a URL, or a reference, a tab and its base.
func inspectURL(text string, strip page.Strip) urlInfo {
	input, base, based := strings.Cut(text, "\t")
	info := urlInfo{Input: input, Base: base}
	u, err := readURL(input, base, based)
	if err != nil {
		info.Error = err.Error()
		return info
	}
	info.URL, info.Site, info.Host, info.Domain = u.String(), u.Site(), u.Host(), page.Domain(u.Host())
	fetched := strip.Apply(u)
	if fetched != u {
		info.Fetch = fetched.String()
	}
	info.Trap = frontier.DefaultTrap().Path(fetched.Path())
	return info
}

// readURL reads input on the page base. A base of another scheme is fine when
// input does not need it.
func readURL(input, base string, based bool) (page.URL, error) {
	if !based {
		return page.Parse(input)
	}
	b, err := page.Parse(base)
	switch {
	case errors.Is(err, page.ErrScheme):
		return page.Parse(input)
	case err != nil:
		return page.URL{}, fmt.Errorf("its base: %w", err)
	}
	return b.Resolve(input)
}

func (i urlInfo) print(w io.Writer) error {
	if i.Error != "" {
		_, err := fmt.Fprintf(w, "refused: %s: %s\n", visible(i.Input), i.Error)
		return err
	}
	_, err := fmt.Fprintln(w, i.URL)
	if err == nil && i.Fetch != "" {
		_, err = fmt.Fprintf(w, "  fetched as %s\n", i.Fetch)
	}
	if err == nil && i.Trap != "" {
		_, err = fmt.Fprintf(w, "  parked as a trap: %s\n", i.Trap)
	}
	return err
}

// visible returns text as it is when a terminal shows it so, else quoted; long
// text is cut.
func visible(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "..."
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7f || r == '\uFFFD' {
			return fmt.Sprintf("%q", s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// tame makes text from a stranger safe for a terminal.
func tame(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// writeJSON writes v as a line of JSON, with <, > and & as they are.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
