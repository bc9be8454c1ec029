package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/search"
	"weir/internal/store"
)

// searchCmd answers questions with the pages of a crawl.
type searchCmd struct {
	Dir      string   `arg:"" optional:"" help:"Folder of the crawl. None with --at."`
	Terms    []string `arg:"" optional:"" help:"Words that a page must say."`
	Limit    int      `placeholder:"N" default:"10" help:"Show the N best pages. Default: 10."`
	Any      bool     `help:"Show pages that say any of the words, not only those that say all."`
	NoUpdate bool     `help:"Answer from what is indexed, without looking for pages that are not."`
	JSON     bool     `name:"json" help:"A JSON object a line."`
	At       string   `placeholder:"HOST:PORT" help:"Search what all nodes of a cluster have crawled, of which this is one; with --certs, and without a folder."`
	Certs    string   `placeholder:"DIR" help:"Folder of your certificate, for --at."`
}

// Help explains questions.
func (c *searchCmd) Help() string {
	return `Shows the pages that say all the words, the best first (BM25). The first search of a crawl reads its archive and keeps an
index in the folder words of the crawl; later ones read only what is new. The index may be deleted at any time.

  solar panel             pages that say both words, in any order; case does not count
  '"solar panel"'         pages that say them one after the other
  'solar -wind'           pages that do not say wind
  solar host:example.org  pages of example.org and of hosts below it; -host: leaves them out

A question needs a word that pages say; host: and - only narrow it. weir export pages lists all pages.

The shell takes one pair of quotes, and words that begin with - are taken for flags unless the question is quoted.
Pages that ask not to be indexed are left out. Pages that say the same are shown once.

With --at the nodes of a cluster are asked, and the answer is ranked here as it would be for one crawl. If that was submitted
with --index, and nothing shares it, each node owns some words, with all pages that say them, and a node that is gone is not
missed but for what its pages show. Else each node indexes the pages that it has fetched, when they are first searched.

Examples:
  weir search crawl solar panel
  weir search crawl '"solar panel" -wind' --limit 20
  weir search crawl solar host:example.org --json | jq -r .url
  weir search --at a.example.org:7400 --certs me solar panel`
}

// maxHits bounds --limit.
const maxHits = 10_000

// Run implements the verb.
func (c *searchCmd) Run(e *env) error {
	switch {
	case c.Dir == "" && c.At != "":
		return usage("weir search --at "+c.At+" WORD...; weir search --help shows what a question can be", "there is no word to look for")
	case c.Dir == "":
		return usage("as in weir search crawl solar panel; weir search --help shows what a question can be", "there is no word to look for, nor where")
	case c.At != "":
		if err := c.noFolder(e); err != nil {
			return err
		}
		c.Dir, c.Terms = "", append([]string{c.Dir}, c.Terms...)
	case len(c.Terms) == 0:
		return usage("the folder of the crawl comes before the words: weir search "+defaults().Dir+" "+quoted(c.Dir), "there is no word to look for in %s", c.Dir)
	}
	q, err := search.Parse(strings.Join(c.Terms, " "))
	if err != nil {
		return usage("weir search DIR WORD...; weir search --help shows what a question can be", "%s: %w", visible(strings.Join(c.Terms, " ")), err)
	}
	if c.Limit < 1 || c.Limit > maxHits {
		return usage(fmt.Sprintf("write a number from 1 to %s", thousands(maxHits)), "--limit %d cannot be", c.Limit)
	}
	q.Any = c.Any
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt)
	defer stop()
	if c.At != "" {
		err = c.searchAt(ctx, e, q)
	} else {
		err = c.run(ctx, e, q)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return quiet(exitInterrupted)
	case err == nil || closed(err):
		return nil
	}
	return err
}

// noFolder refuses a folder before the words of a question to a cluster. One that is no
// crawl's may be a word by chance.
func (c *searchCmd) noFolder(e *env) error {
	if st, err := os.Stat(c.Dir); err != nil || !st.IsDir() {
		return nil
	}
	holds := func(file string) bool {
		_, err := os.Stat(filepath.Join(c.Dir, file))
		return err == nil
	}
	if strings.ContainsAny(c.Dir, `/\`) || holds(crawlFile) || holds(homeFile) {
		return usage("leave the folder out: --at asks the nodes; if it is meant as a word, quote it twice: '\""+c.Dir+"\"'", "there is --at %s, and the folder %s", c.At, c.Dir)
	}
	fmt.Fprintf(e.err, "weir: with --at, %s is taken for a word, and not for the folder of that name\n", c.Dir)
	return nil
}

func (c *searchCmd) run(ctx context.Context, e *env, q *search.Query) error {
	x, err := c.open(e)
	if err != nil {
		return err
	}
	defer x.close()
	if err := x.update(ctx); err != nil {
		return err
	}
	begin := time.Now()
	a, err := x.search(ctx, q, c.Limit)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	if err := c.print(e, a); err != nil || c.JSON {
		return err
	}
	return x.sum(e.err, q, a, took)
}

// print shows an answer.
func (c *searchCmd) print(e *env, a *search.Answer) (err error) {
	out := bufio.NewWriter(e.out)
	if c.JSON {
		err = printHitLines(out, a)
	} else {
		printHits(out, a, terminal(e.out) && os.Getenv("TERM") != "dumb")
	}
	if err == nil {
		err = out.Flush()
	}
	return err
}

// open opens the crawl for searching.
func (c *searchCmd) open(e *env) (*searching, error) {
	f, err := openFolder(c.Dir)
	if errors.Is(err, store.ErrInUse) {
		return c.openRunning(e, err)
	}
	if err != nil {
		if _, bad := os.Stat(c.Dir); bad != nil {
			return nil, failure(err, "the folder of the crawl comes before the words: weir search "+defaults().Dir+" "+quoted(c.Dir)+" "+strings.Join(c.Terms, " "))
		}
		return nil, err
	}
	if f.store.Form() == store.None {
		f.close()
		return nil, failure(errors.New("this crawl kept no archive (--warc none): there is nothing to search"), "crawl with --warc gzip to keep what pages say")
	}
	x, err := search.Open(c.Dir, search.Options{Crawl: f.Hash(search.Folder), ReadOnly: c.NoUpdate})
	if err != nil {
		f.close()
		return nil, failure(err, "the index is kept in the crawl's folder, which must be writable; --no-update changes nothing")
	}
	s := &searching{dir: c.Dir, e: e, index: x, folder: f, frozen: c.NoUpdate}
	s.texts = pageTexts{f.store}
	if err := s.ready(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openRunning opens the index of a crawl that another process has in use, which
// may be there or not.
func (c *searchCmd) openRunning(e *env, inUse error) (*searching, error) {
	x, err := search.Open(c.Dir, search.Options{ReadOnly: true})
	if err != nil {
		return nil, failure(err, "check that the folder can be read, and that its disk is well")
	}
	if x.Stats().Segments == 0 {
		x.Close()
		if run, _ := readAsRun(c.Dir); run.Index {
			return nil, failure(errors.New("nothing is indexed yet"), "the crawl indexes the first pages some seconds after they came, and others within half a minute: ask again then")
		}
		return nil, failure(fmt.Errorf("the crawl has no index, and none can be made while another weir has the folder: %w", inUse), "end that with Ctrl-C and search then, the same weir crawl goes on later; one that is begun with weir crawl --index answers while it runs")
	}
	archive, err := store.OpenArchive(c.Dir, store.Options{})
	if err != nil {
		x.Close()
		return nil, folderFault(c.Dir, err)
	}
	fmt.Fprintf(e.err, "weir: the crawl is in use; this is what was indexed so far (%s)\n", many(int64(x.Stats().Pages), "page"))
	return &searching{dir: c.Dir, e: e, index: x, texts: pageTexts{archive}, frozen: true}, nil
}

// hitLine is a hit for a program. Names are for programs: add, never rename.
type hitLine struct {
	Rank    int     `json:"rank"`
	Score   float64 `json:"score"`
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Snippet string  `json:"snippet"`
	Copies  int     `json:"copies,omitempty"` // pages that say the same
}

func printHitLines(out io.Writer, a *search.Answer) error {
	for i, h := range a.Hits {
		if err := writeJSON(out, hitLine{i + 1, h.Score, h.URL, h.Title, h.Snippet.Text, h.Copies}); err != nil {
			return err
		}
	}
	return nil
}

// printHits shows hits to a person. On a terminal the words that were asked for
// are bold.
func printHits(out io.Writer, a *search.Answer, bold bool) {
	for i, h := range a.Hits {
		title := h.Title
		if title == "" {
			title = "(no title)"
		}
		indent := strings.Repeat(" ", len(fmt.Sprint(i+1))+2)
		fmt.Fprintf(out, "%d. %s\n%s%s\n", i+1, tame(title), indent, h.URL)
		if h.Snippet.Text != "" {
			fmt.Fprintf(out, "%s%s\n", indent, marked(h.Snippet, bold))
		}
		if h.Copies > 0 {
			fmt.Fprintf(out, "%s(%s the same)\n", indent, sayOf(h.Copies))
		}
	}
}

func sayOf(copies int) string {
	if copies == 1 {
		return "1 more page says"
	}
	return many(int64(copies), "more page") + " say"
}

// marked returns a snippet with its marks in bold, or in plain text.
func marked(s search.Snippet, bold bool) string {
	var b strings.Builder
	at := 0
	for _, m := range s.Marks {
		b.WriteString(tame(s.Text[at:m[0]]))
		word := tame(s.Text[m[0]:m[1]])
		if bold {
			word = "\x1b[1m" + word + "\x1b[0m"
		}
		b.WriteString(word)
		at = m[1]
	}
	b.WriteString(tame(s.Text[at:]))
	return b.String()
}
