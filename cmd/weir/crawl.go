package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/node"
	"weir/internal/store"
)

// crawlCmd crawls, or goes on with a crawl.
type crawlCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Pages to start from. A folder that holds a crawl needs none."`
	settings
}

// Help ends the help text of the command.
func (c *crawlCmd) Help() string {
	return `Examples:

    weir crawl https://example.org/
    weir crawl --scope domain --depth 3 --limit 140KB/s https://example.org/
    weir crawl --seeds urls.txt --scope any --max-pages 100000 --dir big
    weir crawl --dir big

A link that is shared (weir steer changes limits while the crawl runs):

    weir crawl --timetable 'Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s' https://example.org/
    weir crawl --limit 2MB/s --quota 100GB/month https://example.org/
    weir crawl --limit 2MB/s --yield --yield-probe 9.9.9.9 https://example.org/

Deadlines (weir plan answers beforehand whether they can be kept):

    weir crawl --limit 2MB/s --deadline example.org=06:00 https://example.org/ https://example.com/

The same command again means the same deadlines, as long as they are to come; a new one takes the place of the old.

Two crawls that want the same pages (each takes what the other has fetched within the hour):

    weir crawl --dir one --share-with two https://example.org/
    weir crawl --dir two --share-with one --scope domain https://example.org/

weir crawl --dir big goes on with the crawl in the folder big, under the settings it was
started with. What may change then: bounds of the whole crawl, limits, deadlines, how the network is
reached, --conns, --per-conn, --per-server and --batch, a longer wait, more seeds. Ctrl-C once finishes what is under way, twice stops now;
both lose nothing. A third time ends weir at once, as a crash would.

Exit codes: 0 done, 1 failed or no seed could be fetched, 2 wrong usage,
130 interrupted with everything saved.`
}

// Run checks everything that can be checked before the first byte is sent,
// writes crawl.yaml, and crawls.
func (c *crawlCmd) Run(e *env, k *kong.Context) error {
	given := map[string]bool{}
	for _, p := range k.Path {
		if p.Flag != nil {
			given[p.Flag.Name] = true
		}
	}
	if err := c.dirOfConfig(given); err != nil {
		return err
	}
	at, err := look(c.Dir)
	if err != nil {
		return folderError(c.Dir, err)
	}
	if at == foreign {
		return usage("name an empty folder, or one that does not exist, with --dir", "%s is not empty and holds no crawl", c.Dir)
	}
	if err := stayed(c.Dir); err != nil {
		return err
	}
	s, dues, err := settle(&c.settings, given, at)
	if err != nil {
		return err
	}
	fresh, notes, err := s.agree(time.Now(), dues)
	if err != nil {
		return err
	}
	if at == begun && len(c.URLs) == 0 && s.Seeds == "" {
		if c.URLs, err = unbegun(s.Dir); err != nil {
			return folderError(s.Dir, err)
		}
	}
	seeds, err := e.seeds(c.URLs, s.Seeds)
	if err != nil {
		return err
	}
	if len(seeds) == 0 && at == vacant && len(s.Program) == 0 { // a program may name its pages itself
		return usage("name a page to start from, as in weir crawl https://example.org/", "no URL to crawl, and no crawl in %s to go on with", c.Dir)
	}
	s.allow(seeds)
	list, err := s.sources(e, given, at)
	if err != nil {
		return err
	}
	cfg, err := setup(s, seeds)
	if err != nil {
		return err
	}
	cfg.Programs = list
	if err := familiar(s, at, fresh, seeds); err != nil {
		return err
	}
	e.warn(s, seeds)
	for _, note := range notes {
		fmt.Fprintf(e.err, "weir: %s\n", note)
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintf(e.err, "weir: warning: %s\n", w)
	}
	if err := traceable(s.Trace); err != nil {
		return err
	}
	if at == vacant && len(c.URLs) > 0 {
		if err := keepURLs(s.Dir, c.URLs); err != nil {
			return folderError(s.Dir, err)
		}
	}
	if err := keep(s, at); err != nil {
		return err
	}
	if !s.JSON {
		what := map[ground]string{vacant: "crawling into", begun: "going on with"}[at]
		fmt.Fprintf(e.err, "%s %s; Ctrl-C stops and saves\n", what, s.Dir)
	}
	if err := e.crawl(cfg, s.JSON); err != nil {
		return err
	}
	os.Remove(filepath.Join(s.Dir, urlsFile)) // its state has them
	return nil
}

// urlsFile has the URLs of the command that began a crawl, from before the folder
// holds one until its first run has ended: killed in between, the crawl goes on
// all the same.
const urlsFile = "urls"

func keepURLs(dir string, urls []string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return replace(filepath.Join(dir, urlsFile), []byte(strings.Join(urls, "\n")+"\n"))
}

// unbegun returns the URLs of a first run that did not end, none if it did.
func unbegun(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, urlsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}

// traceable refuses files that no trace can be written to, or that hold something
// else. A trace is written behind those of earlier runs.
func traceable(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return usage("name a file that can be written", "--trace: %w", err)
	}
	f.Close()
	if special(name) {
		return nil
	}
	if f, err = os.Open(name); err != nil {
		return usage("name a file that can be read, too", "--trace: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(crawl.TraceHead))
	n, err := io.ReadFull(f, head)
	if n > 0 && string(head[:n]) != crawl.TraceHead[:n] {
		return usage("name a new file, or the trace of an earlier run", "--trace %s is a file that holds something else", name)
	}
	if n > 0 || errors.Is(err, io.EOF) {
		return nil
	}
	return usage("name a file that can be read, too", "--trace: %w", err)
}

// dirOfConfig takes the folder from the config file when no flag names it: it
// must be known before anything else.
func (c *crawlCmd) dirOfConfig(given map[string]bool) error {
	if given["dir"] || c.Config == "" {
		return nil
	}
	s := defaults()
	if _, err := readConfig(c.Config, s, nil); err != nil {
		return err
	}
	c.Dir = s.Dir
	return nil
}

// warn says aloud what could harm others.
func (e *env) warn(s *settings, seeds []node.Seed) {
	if s.IgnoreRobots {
		fmt.Fprintln(e.err, "weir: WARNING: --ignore-robots: the rules of the sites you visit are neither read nor obeyed.")
		fmt.Fprintln(e.err, "weir: WARNING: this is for servers you own; elsewhere it is rude, and may be against the law.")
	}
	if s.Wait > 0 {
		return
	}
	for _, seed := range seeds {
		if a, ok := seed.URL.Addr(); !ok || fetch.Public(a) {
			fmt.Fprintf(e.err, "weir: WARNING: --wait 0s asks %s for page after page without a pause: only for servers you own.\n", seed.URL.Host())
			return
		}
	}
}

// keep writes the settings into the folder, unless they stand there already. A
// folder that another process uses is left alone.
func keep(s *settings, at ground) error {
	if at == begun {
		if err := store.Free(s.Dir); err != nil {
			return folderError(s.Dir, err)
		}
		was := defaults()
		if _, err := readConfig(filepath.Join(s.Dir, crawlFile), was, nil); err != nil {
			return err
		}
		if same(was, s) {
			return nil
		}
	}
	if err := writeConfig(s.Dir, s); err != nil {
		return folderError(s.Dir, err)
	}
	return nil
}

// crawl runs a node and tells how it went.
func (e *env) crawl(cfg *node.Config, asJSON bool) error {
	p := e.watch(cfg, asJSON)
	cfg.Notice = p.note
	ctx, stop, release := e.interrupts(func() {
		s, _ := p.status()
		p.say("finishing " + inFlight(s.Flying) + "; Ctrl-C again stops now")
	})
	collect(cfg.Memory)
	r, err := node.Run(ctx, stop, *cfg)
	interrupted := ctx.Err() != nil
	release()
	p.end()

	if interrupted && errors.Is(err, context.Canceled) {
		r.StoppedBy, err = crawl.StopByUser, nil
	}
	if asJSON && r.StoppedBy != crawl.StopByNobody {
		err = errors.Join(err, writeReport(e.out, r))
	}
	var large *node.TooLarge
	if errors.As(err, &large) {
		return failure(err, rankHint(large))
	}
	if err != nil {
		return folderError(cfg.Dir, err)
	}
	switch {
	case r.StoppedBy == crawl.StopDone && r.Seeds == 0 && r.Pages == 0: // killed before the first seed was kept
		return usage("name a page to start from, as in weir crawl"+dirFlag(cfg.Dir)+" https://example.org/", "the crawl in %s has no URL yet", cfg.Dir)
	case r.StoppedBy == crawl.StopDone && r.Seeds > 0 && r.SeedsOK == 0:
		return noSeed(r.Outcomes, r.Waiting, "weir why"+dirFlag(r.Dir)+" URL tells more")
	case asJSON:
	case r.StoppedBy == crawl.StopDone && r.Resumed && r.Queued == 0 && !p.moved(r):
		fmt.Fprintf(e.out, "this crawl is finished: %s fetched, nothing is queued; add seeds, or start another one with --dir\n", many(r.Fetched, "page"))
	default:
		if err := summary(e.out, r, cfg.Archive != store.None); err != nil {
			return err
		}
	}
	if r.StoppedBy == crawl.StopByUser {
		if !asJSON {
			fmt.Fprintf(e.err, "weir: interrupted; everything is saved. weir crawl%s goes on\n", dirFlag(cfg.Dir))
		}
		return quiet(exitInterrupted)
	}
	return nil
}

// rankHint says what to do about pages that cannot be ranked. The order of a crawl
// is for good.
func rankHint(e *node.TooLarge) string {
	other := "a new crawl in another --dir with --order siteopic ranks nothing"
	if e.Memory == 0 {
		return "no --memory is enough for that; " + other
	}
	return fmt.Sprintf("go on with --memory %dMB; %s", e.Memory/1e6+1, other)
}

// inFlight names the pages under way; the last status may be half a second old.
func inFlight(n int) string {
	switch n {
	case 0:
		return "what is in flight"
	case 1:
		return "the page in flight"
	}
	return thousands(int64(n)) + " pages in flight"
}

// moved says that this run brought pages to an end.
func (p *progress) moved(r node.Report) bool {
	s, ok := p.status()
	return r.RunPages > 0 || ok && r.Pages > s.Started.Ended()
}

// folderError says what to do about a failure that is our own.
func folderError(dir string, err error) error {
	hint := "weir crawl" + dirFlag(dir) + " goes on once it is put right"
	switch {
	case errors.Is(err, store.ErrInUse):
		hint = "another weir has this folder, for a crawl or for a question: wait for it, stop it, or name another folder with --dir"
	case errors.Is(err, store.ErrFull), errors.Is(err, syscall.ENOSPC):
		hint = "make room on the disk, then run the same command again: it goes on where it stopped"
	case errors.Is(err, syscall.EFBIG):
		hint = "files may not grow so large here: raise the limit (ulimit -f), or take a disk that allows it, then run the same command again"
	case errors.Is(err, node.ErrOtherProgram):
		hint = "leave --program and --set out to go on with the program it has; weir steer --program gives a running crawl another one; or start a new crawl with --dir"
	case errors.Is(err, node.ErrShared):
		hint = "weir node --dir, with the folder around it, takes up its part again; weir export and weir query read what it has"
	case errors.Is(err, node.ErrOld):
		hint = "finish it with the weir that began it, or start a new crawl with --dir"
	case errors.Is(err, crawl.ErrLayout):
		hint = "weir crawl" + dirFlag(dir) + " derives it again from the archive; a crawl without one needs the weir that began it"
	case errors.Is(err, store.ErrDamaged):
		hint = "keep a copy of the folder; start another crawl with --dir"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid), errors.Is(err, fs.ErrExist), isPath(err):
		hint = "weir must be able to write there: name another folder with --dir"
	}
	return failure(err, hint)
}

// isPath says that a file or folder could not be used.
func isPath(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}
