package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"weir/crawl"
	"weir/internal/ask"
	"weir/internal/node"
	"weir/internal/search"
	"weir/internal/store"
	"weir/page"
)

// folder is a crawl folder that is read and not changed.
type folder struct {
	*crawl.View
	dir   string
	store *store.Store
	asRun settings // what the crawl was asked for, as far as crawl.yaml says
	strip page.Strip

	known search.Point // of a crawl that runs: the View has all that is archived up to here
}

// openFolder opens the crawl in dir for reading. The caller closes it.
func openFolder(dir string) (*folder, error) {
	st, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		return nil, folderFault(dir, err)
	}
	view, err := crawl.NewView(st)
	if err != nil {
		st.Close()
		return nil, failure(fmt.Errorf("crawl folder %s: %w", dir, err), "weir crawl"+dirFlag(dir)+" URL starts it")
	}
	f := &folder{View: view, dir: dir, store: st}
	f.asRun, f.strip = readAsRun(dir)
	return f, nil
}

// own is the program that the crawl runs: of several that share it the one with a
// name, whose crawl it is from then on; nil if none is named.
func (f *folder) own(of string) (*ask.Own, error) {
	if err := f.of(of); err != nil {
		return nil, err
	}
	own, err := ask.ReadOwn(f.dir, f.store, f.View, f.asRun.plain())
	if errors.Is(err, crawl.ErrLayout) {
		return nil, folderError(f.dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the program of the crawl in %s: %w", f.dir, err)
	}
	return own, nil
}

// of makes it the crawl of a program, of several that share it.
func (f *folder) of(name string) error {
	view, err := ask.Of(f.View, name)
	if err != nil {
		return usage("weir explain"+dirFlag(f.dir)+" shows the programs of the crawl", "%w", err)
	}
	f.View = view
	return nil
}

func (f *folder) close() { f.store.Close() } // nothing was written that could fail

// folderFault says what is wrong with a folder, and what to do about it.
func folderFault(dir string, err error) error {
	_, missing := os.Stat(dir)
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		err = fmt.Errorf("there is no folder %s", dir)
		fallthrough
	case errors.Is(err, store.ErrNotCrawl):
		return failure(err, "name the folder of a crawl with --dir; weir crawl"+dirFlag(dir)+" URL makes one")
	case errors.Is(err, store.ErrInUse):
		return failure(err, usedBy(dir))
	}
	return failure(err, "check that the folder can be read, and that its disk is well")
}

// usedBy says what to do about a folder that another process uses.
func usedBy(dir string) string {
	if h, err := readHome(filepath.Dir(filepath.Clean(dir))); err == nil && h.At != "" {
		return fmt.Sprintf("the node %s runs there: weir export --at %s --certs DIR reads the tables of all nodes meanwhile; for the rest end it with Ctrl-C, and start it again afterwards", h.Name, h.At)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	if _, err := node.Steer(ctx, dir, node.Steering{}); err != nil {
		return "another weir has the folder, for a crawl or for a question: wait until it is done"
	}
	return "a crawl runs there, and answers weir query and weir steer meanwhile, also weir search if it was begun with --index; for the rest end it with Ctrl-C: the same weir crawl goes on later and nothing is lost"
}

// answerTime is how long a crawl may take to say that it runs.
const answerTime = 2 * time.Second

// readAsRun reads what a crawl was asked for. Whatever cannot be read is the
// default: a folder is worth reading without its crawl.yaml too.
func readAsRun(dir string) (settings, page.Strip) {
	s := defaults()
	readConfig(filepath.Join(dir, crawlFile), s, nil) // as far as it goes
	strip, err := page.ParseStrip(s.Strip)
	if err != nil {
		strip = page.DefaultStrip()
	}
	return *s, strip
}

// page returns what the crawl knows of a URL that a person wrote: of the URL
// that is crawled for it, or of it as it stands. The info is nil when it is not
// known.
func (f *folder) page(text string) (page.URL, *crawl.PageInfo, error) {
	u, err := page.Parse(text)
	if err != nil {
		return u, nil, usage("write it with http:// or https://, as weir export pages does", "%s: %w", visible(text), err)
	}
	info, err := f.Page(f.strip.Apply(u))
	if err == nil && info == nil {
		info, err = f.Page(u)
	}
	if err != nil {
		return u, nil, fmt.Errorf("look up %s: %w", u, err)
	}
	if info != nil {
		u = info.URL
	}
	return u, info, nil
}

// site returns what is known of a site, nil when it is not known.
func (f *folder) site(name string) (*crawl.SiteInfo, error) {
	var got *crawl.SiteInfo
	err := f.Sites(func(s *crawl.SiteInfo) bool {
		if s.Name == name {
			got = s
		}
		return got == nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", name, err)
	}
	return got, nil
}
