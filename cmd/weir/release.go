package main

import (
	"fmt"
	"regexp"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/store"
	"weir/page"
)

// releaseCmd queues pages that the trap guard holds back, or that failed.
type releaseCmd struct {
	URLs   []string `arg:"" optional:"" name:"url" help:"Parked pages to release."`
	Dir    string   `placeholder:"DIR" default:"weir-crawl" help:"Folder of the crawl. Default: weir-crawl."`
	Match  string   `placeholder:"RE" help:"Release the pages whose URL matches a regular expression."`
	All    bool     `help:"Release all parked pages."`
	Failed bool     `help:"Queue pages that could not be fetched once more: hosts that were down, names that did not resolve."`
}

// Help shows examples.
func (c *releaseCmd) Help() string {
	return `Pages that look like part of an endless site are parked: neither fetched nor forgotten. A released page is fetched by
the next weir crawl and never parked again; what it links to is judged anew.

Examples:
  weir export parked --dir crawl
  weir release --dir crawl --match '^https://example.org/calendar/'
  weir release --dir crawl --all
  weir release --dir crawl --failed                   after a server or the network was down`
}

// releaseGroup is how many pages become durable together.
const releaseGroup = 10_000

// Run implements the verb.
func (c *releaseCmd) Run(e *env) error {
	if c.Failed {
		return c.failed(e)
	}
	want, named, err := c.choice()
	if err != nil {
		return err
	}
	// What the folder must be opened with is written in it.
	f, err := openFolder(c.Dir)
	if err != nil {
		return err
	}
	err = f.parked(named)
	form, asRun := f.store.Form(), f.asRun
	f.close()
	if err != nil {
		return err
	}
	n, err := release(c.Dir, form, asRun, func(l *crawl.Ledger) (int, bool, error) {
		took, err := l.Release(releaseGroup, want)
		return took, took > 0, err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return failure(fmt.Errorf("no parked page matches"), "weir export parked"+dirFlag(c.Dir)+" lists them")
	}
	_, err = fmt.Fprintf(e.out, "%s released; weir crawl%s fetches them\n", plural(n, "page"), dirFlag(c.Dir))
	return err
}

// failed queues pages that could not be fetched.
func (c *releaseCmd) failed(e *env) error {
	if len(c.URLs) > 0 || c.All {
		return usage("weir release --failed, or with --match RE", "--failed goes with --match only")
	}
	re, err := regexp.Compile(c.Match)
	if err != nil {
		return usage("--match takes a regular expression, as in '^https://example.org/cal'", "--match: %w", err)
	}
	f, err := openFolder(c.Dir)
	if err != nil {
		return err
	}
	form, asRun := f.store.Form(), f.asRun
	f.close()
	var from []byte
	n, err := release(c.Dir, form, asRun, func(l *crawl.Ledger) (int, bool, error) {
		took, next, err := l.Retry(from, releaseGroup, func(u page.URL, _ page.Outcome) bool { return re.MatchString(u.String()) })
		from = next
		return took, next != nil, err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return failure(fmt.Errorf("no page failed"), "weir export pages"+dirFlag(c.Dir)+" shows how each page ended")
	}
	_, err = fmt.Fprintf(e.out, "%s queued again; weir crawl%s fetches them\n", plural(n, "page"), dirFlag(c.Dir))
	return err
}

// choice returns which pages are meant, and those that were named.
func (c *releaseCmd) choice() (want func(page.URL, string) bool, named []page.URL, err error) {
	const hint = "weir release --match RE, weir release URL..., or weir release --all"
	ways := 0
	for _, given := range []bool{len(c.URLs) > 0, c.Match != "", c.All} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0:
		return nil, nil, usage(hint, "say which parked pages to release")
	case ways > 1:
		return nil, nil, usage(hint, "URLs, --match and --all exclude each other")
	case c.All:
		return func(page.URL, string) bool { return true }, nil, nil
	case c.Match != "":
		re, err := regexp.Compile(c.Match)
		if err != nil {
			return nil, nil, usage("--match takes a regular expression, as in '^https://example.org/cal'", "--match: %w", err)
		}
		return func(u page.URL, _ string) bool { return re.MatchString(u.String()) }, nil, nil
	}
	set := map[page.URL]bool{}
	for _, text := range c.URLs {
		u, err := page.Parse(text)
		if err != nil {
			return nil, nil, usage("write it with http:// or https://, as weir export parked does", "%s: %w", visible(text), err)
		}
		set[u] = true
		named = append(named, u)
	}
	return func(u page.URL, _ string) bool { return set[u] }, named, nil
}

// parked checks that pages are parked, so that a typing error is not taken for
// a page that is already free.
func (f *folder) parked(urls []page.URL) error {
	for _, u := range urls {
		info, err := f.Page(u)
		switch {
		case err != nil:
			return fmt.Errorf("look up %s: %w", u, err)
		case info == nil:
			return failure(fmt.Errorf("%s is not part of this crawl", u), "weir export parked lists what can be released")
		case info.State != "parked":
			return failure(fmt.Errorf("%s is not parked but %s", u, info.State), "weir export parked lists what can be released")
		}
	}
	return nil
}

// release queues pages of a folder, group by group: some queues the next, and
// says how many and whether there may be more.
func release(dir string, form store.Form, asRun settings, some func(*crawl.Ledger) (int, bool, error)) (n int64, err error) {
	order, err := frontier.Order(asRun.Order)
	if err != nil {
		return 0, failure(err, "mend order in "+dir+"/"+crawlFile)
	}
	st, err := store.Open(dir, store.Options{Form: form})
	if err != nil {
		return 0, folderFault(dir, err)
	}
	defer func() {
		if failed := st.Close(); err == nil && failed != nil {
			err = fmt.Errorf("close the crawl folder: %w", failed)
		}
	}()
	secret, _, err := crawl.ReadSecret(st)
	if err != nil {
		return 0, err
	}
	ledger, err := crawl.NewLedger(st, crawl.LedgerConfig{Order: order, Trap: frontier.Trap(asRun.Trap), Secret: secret})
	if err != nil {
		return 0, err
	}
	ledger.Clock(time.Now().UnixNano())
	for more := true; more; {
		var took int
		took, more, err = some(ledger)
		if err != nil {
			return n, err
		}
		if took == 0 {
			continue
		}
		group := st.Begin()
		_, err = ledger.Flush(group)
		if err == nil {
			err = group.Commit()
		}
		if err != nil {
			return n, failure(fmt.Errorf("release pages: %w", err), plural(n, "page")+" were released before")
		}
		n += int64(took)
	}
	return n, nil
}

// plural writes a number of things.
func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(n) + " " + thing + "s"
}
