package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"weir/internal/node"
	"weir/page"
)

const (
	maxSeedLine = 2 * page.MaxURL
	maxJunk     = 10 // lines that are named one by one
)

// seeds reads what to start from: the arguments and the seed file.
func (e *env) seeds(urls []string, file string) ([]node.Seed, error) {
	var list []node.Seed
	for _, text := range urls {
		u, err := page.Parse(text)
		if err != nil {
			return nil, usage(suggest(text, err), "cannot crawl %q: %w", text, err)
		}
		list = append(list, node.Seed{URL: u})
	}
	if file == "" {
		return list, nil
	}
	in, name := e.in, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usage("check the name and the permissions of the file", "cannot read the seeds: %w", err)
		}
		defer f.Close()
		in, name = f, file
	}
	more, junk, err := readSeeds(in)
	if err != nil {
		return nil, usage("a seed file has one URL per line", "cannot read the seeds: %s: %w", name, err)
	}
	for i, j := range junk {
		if i == maxJunk {
			fmt.Fprintf(e.err, "weir: %s: and %d more lines like these\n", name, len(junk)-i)
			break
		}
		fmt.Fprintf(e.err, "weir: %s:%d: skipped %q: %s\n", name, j.line, cut(j.text, 60), j.why)
	}
	if list = append(list, more...); len(list) == 0 {
		return nil, usage("write one URL per line, as in https://example.org/", "there is no URL in %s", name)
	}
	return list, nil
}

// junk is a line of a seed file that is no seed.
type junk struct {
	line int
	text string
	why  string
}

// readSeeds reads a URL a line, optionally with a tab and a score. Blank lines
// and lines that begin with # are nothing.
func readSeeds(r io.Reader) (list []node.Seed, bad []junk, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxSeedLine)
	n := 0
	for in.Scan() {
		n++
		text := strings.TrimSpace(in.Text())
		if n == 1 {
			text = strings.TrimPrefix(text, "\uFEFF")
		}
		if text == "" || text[0] == '#' {
			continue
		}
		seed, err := readSeed(text)
		if err != nil {
			bad = append(bad, junk{n, text, err.Error()})
			continue
		}
		list = append(list, seed)
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return nil, nil, fmt.Errorf("line %d is longer than %d bytes", n+1, maxSeedLine)
	}
	return list, bad, in.Err()
}

func readSeed(text string) (node.Seed, error) {
	text, scored, ok := strings.Cut(text, "\t")
	var score float64
	if ok {
		var err error
		score, err = strconv.ParseFloat(strings.TrimSpace(scored), 32)
		if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
			return node.Seed{}, fmt.Errorf("%q is no score", cut(scored, 20))
		}
	}
	u, err := page.Parse(text)
	if err != nil {
		if guess := guess(text); guess != "" {
			err = fmt.Errorf("no scheme; write %s", guess)
		}
		return node.Seed{}, err
	}
	return node.Seed{URL: u, Score: float32(score)}, nil
}

// suggest says what to write instead of a text that is no URL.
func suggest(text string, err error) string {
	if guess := guess(text); guess != "" {
		return "did you mean " + guess + " ?"
	}
	if errors.Is(err, page.ErrHost) {
		return "write the host too, as in https://example.org/"
	}
	return "a URL begins with https:// or http://, as in https://example.org/"
}

// guess returns the URL that a host without a scheme stands for, or "".
func guess(text string) string {
	if strings.Contains(text, "://") || strings.Contains(text, "@") {
		return ""
	}
	u, err := page.Parse("https://" + text)
	if err != nil || !strings.Contains(u.Host(), ".") && u.Host() != "localhost" {
		return ""
	}
	return u.String()
}

// cut shortens a text for a message.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "..."
	}
	return s
}
