package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"weir/crawl"
	"weir/internal/ask"
	"weir/internal/store"
	"weir/page"
)

// exportCmd writes a table of a crawl.
type exportCmd struct {
	Table  string `arg:"" help:"pages, links, hosts, text, parked, queue, crawl, or a table of the crawl's program; NAME.TABLE where several programs share the crawl."`
	Dir    string `placeholder:"DIR" default:"weir-crawl" help:"Folder of the crawl. Default: weir-crawl."`
	Format string `placeholder:"FORMAT" help:"csv, jsonl or parquet. Default: as the file is named, else csv."`
	Output string `short:"o" placeholder:"FILE" help:"File to write instead of the standard output."`
	JSON   bool   `name:"json" help:"The same as --format jsonl."`
	At     string `placeholder:"HOST:PORT" help:"Gather the table from all nodes of a cluster, of which this is one; with --certs."`
	Certs  string `placeholder:"DIR" help:"Folder of your certificate, for --at."`
}

// Help lists the tables.
func (c *exportCmd) Help() string {
	return `Tables and their columns:
  pages   url,status,mime,bytes,depth,outcome,server,fetched_at,seconds,via
          every page that ended; status 0: no answer came, or it was never asked for
  links   from,to,kind,rel,text,nofollow
          read again from the archive, requisites, redirects and sitemaps included; with --warc none and a bound on the
          depth, those that the crawl kept for its own program
  hosts   site,host,queued,ended,fetched,parked,crawl_delay,robots_at,failures
  text    url,title,text
          of every HTML page, read again from the archive
  parked  url,reason,depth
          held back as traps; weir release queues them
  queue   url,depth,attempt,score
          what waits to be fetched
  crawl   url,depth,priority
          every page that the program asks for, fetched or not
Besides, every table that the crawl's program derives, by its name, sorted. Those that were kept up during the crawl are
there already; others are worked out now, as weir query does.
Bytes are those of the body on the wire, times are RFC 3339 in UTC, durations are seconds.

Examples:
  weir export pages --dir crawl > pages.csv
  weir export links --dir crawl -o links.parquet
  weir export broken --dir crawl > broken.csv
  weir export pages --at a.example.org:7400 --certs me > pages.csv
  weir export broken --at a.example.org:7400 --certs me -o broken.parquet
  weir export pages --format jsonl | jq -r 'select(.status >= 400) | .url'`
}

// Run implements the verb.
func (c *exportCmd) Run(e *env) error {
	of := ""
	if i := strings.LastIndexByte(c.Table, '.'); i > 0 {
		of, c.Table = c.Table[:i], c.Table[i+1:]
	}
	format, err := written{c.Format, c.JSON, c.Output}.choose(e, c.Table, "csv", "jsonl", "parquet")
	if err != nil {
		return err
	}
	switch {
	case c.At != "" && slices.Contains(exported, c.Table):
		return c.gather(e, of, format)
	case c.At != "":
		return c.tableAt(e, of, format)
	}
	f, err := openFolder(c.Dir)
	if errors.Is(err, store.ErrInUse) && !slices.Contains(exported, c.Table) {
		return e.askRunning(c.Dir, c.question(), asking{format: cmp.Or(format, "csv"), output: c.Output, memory: int64(defaults().Memory), of: of})
	}
	if err != nil {
		return err
	}
	defer f.close()
	if !slices.Contains(exported, c.Table) {
		own, err := f.own(of)
		if err != nil {
			return err
		}
		return c.derived(e, f, own, format)
	}
	if err := f.of(of); err != nil {
		return err
	}
	if err := c.bare(e, f); err != nil {
		return err
	}
	if own, err := f.own(""); err == nil { // or it has no tables to tell of
		c.namesake(e, own, f.dir, of)
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt)
	defer stop()
	out, err := e.create("-o", c.Output)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(out, 64<<10)
	err = c.write(ctx, f, buf, format)
	if err == nil {
		err = buf.Flush()
	}
	if err == nil {
		err = ctx.Err()
	}
	err = out.finish(err)
	switch {
	case errors.Is(err, context.Canceled):
		return quiet(exitInterrupted)
	case err == nil || closed(err):
		return nil
	}
	return fmt.Errorf("export %s: %w", c.Table, err)
}

// bare says what a crawl without an archive has of a table that is read again.
func (c *exportCmd) bare(e *env, f *folder) error {
	if c.Table != "links" && c.Table != "text" || f.store.Form() != store.None {
		return nil
	}
	kept, ok, err := crawl.ReadWant(f.store)
	if err != nil {
		return err
	}
	if !ok || c.Table == "text" {
		return unread(c.Table)
	}
	without := ""
	if lacks := linkWant.Without(kept); lacks != (page.Want{}) {
		without = ", without " + lacks.String()
	}
	fmt.Fprintf(e.err, "weir: this crawl kept no archive (--warc none): links as the crawl kept them for its own program%s\n", without)
	return nil
}

// namesake says that the crawl's program has a table of the same name, and where.
func (c *exportCmd) namesake(e *env, own *ask.Own, where, of string) {
	if own == nil || !slices.Contains(own.Tables(), c.Table) {
		return
	}
	if of != "" {
		where += " --of " + of
	}
	fmt.Fprintf(e.err, "weir: these are the %s that every crawl has; the program has a table of that name, too: weir query %s --table %s\n", c.Table, where, c.Table)
}

// unread says that a crawl without an archive does not have a table.
func unread(table string) error {
	return failure(fmt.Errorf("this crawl kept no archive (--warc none), so its %s cannot be read again", table),
		"export pages, hosts, parked, queue, crawl and the tables of the program that it kept up (live ones, and those that steer) work; a crawl with --warc gzip keeps the rest")
}

// exported are the tables that every crawl has.
var exported = []string{"pages", "links", "hosts", "text", "parked", "queue"}

// derived writes a table of the crawl's program.
func (c *exportCmd) derived(e *env, f *folder, own *ask.Own, format string) error {
	names := append(slices.Clone(exported), "crawl")
	if own != nil {
		names = append(names, own.Tables()...)
	}
	if !slices.Contains(names, c.Table) && own == nil {
		return usage("write NAME."+c.Table+", with one of "+strings.Join(f.Programs().Names(), ", "), "several programs share this crawl: whose %s is meant?", c.Table)
	}
	if !slices.Contains(names, c.Table) {
		return choice("export", c.Table, names...)
	}
	q := c.question()
	q.Own = own
	return e.ask(f, q, asking{format: cmp.Or(format, "csv"), output: c.Output, memory: int64(f.asRun.Memory)})
}

// question asks for the table.
func (c *exportCmd) question() ask.Question {
	if c.Table == "crawl" {
		return ask.Question{Name: "export", Table: "answer", Text: "answer(Url, Depth, Priority) :- crawl(Url, Depth, Priority)."}
	}
	return ask.Question{Name: "export", Table: c.Table}
}

// output is where a table goes. A file appears under its name only when it is
// whole.
type output struct {
	io.Writer
	file *os.File // nil: the standard output
	name string   // of the file when it is whole; "": file is no regular file
}

// create opens a file for what a flag asks for; "" and - are the standard output.
func (e *env) create(flag, asked string) (*output, error) {
	if asked == "" || asked == "-" {
		return &output{Writer: e.out}, nil
	}
	if at, err := os.Stat(asked); err == nil && !at.Mode().IsRegular() {
		// A pipe or a device is written to; nothing may take its place.
		file, err := os.OpenFile(asked, os.O_WRONLY, 0)
		if err != nil {
			return nil, failure(fmt.Errorf("%s: %w", asked, plain(err)), flag+" FILE needs a file that can be written to")
		}
		return &output{Writer: file, file: file}, nil
	}
	name := asked
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real // what the link points to is replaced, not the link
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, failure(fmt.Errorf("%s: %w", asked, plain(err)), flag+" FILE needs a folder that exists and can be written to")
	}
	return &output{Writer: file, file: file, name: name}, nil
}

// finish gives the file its name, or removes it after an error.
func (o *output) finish(err error) error {
	if o.file == nil {
		return err
	}
	if o.name == "" {
		return errors.Join(err, o.file.Close())
	}
	// A temporary file is for its owner alone; a table is for those who asked.
	err = errors.Join(err, o.file.Chmod(0o644), o.file.Close())
	if err == nil {
		err = os.Rename(o.file.Name(), o.name)
	}
	if err != nil {
		os.Remove(o.file.Name())
	}
	return err
}

// write writes the table that was asked for.
func (c *exportCmd) write(ctx context.Context, f *folder, out io.Writer, format string) error {
	switch c.Table {
	case "pages":
		return scan(ctx, out, format, f.Pages, newPageRow)
	case "hosts":
		return scan(ctx, out, format, f.Sites, newHostRow)
	case "parked":
		return scan(ctx, out, format, f.Parked, newParkedRow)
	case "queue":
		return scan(ctx, out, format, f.Queue, newQueueRow)
	case "links":
		all, err := f.links(ctx, f.Pages)
		return exportRows(out, format, all, err)
	default:
		all, err := f.texts(ctx, f.Pages)
		return exportRows(out, format, all, err)
	}
}

// scan writes a row for everything that each visits.
func scan[T, I any](ctx context.Context, out io.Writer, format string, each func(func(*I) bool) error, row func(*I) T) error {
	w := newTable[T](out, format)
	var bad error
	err := each(func(info *I) bool {
		if bad = ctx.Err(); bad == nil {
			r := row(info)
			bad = w.write(&r)
		}
		return bad == nil
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	return w.close()
}

func newPageRow(p *crawl.PageInfo) pageRow {
	r := pageRow{
		URL: p.URL.String(), Status: int64(p.Status), Mime: p.Mime, Bytes: p.Bytes, Depth: int64(p.Depth),
		Outcome: p.Outcome.String(), Server: p.Server, Seconds: p.Elapsed.Seconds(), Via: p.By.String(),
	}
	if p.Outcome.Row().Pause != page.NoPause { // else nothing was sent
		r.FetchedAt = p.At
	}
	return r
}

func newHostRow(s *crawl.SiteInfo) hostRow {
	return hostRow{
		Site: s.Name, Host: page.SiteHost(s.Name), Queued: s.Queued, Ended: s.Ended, Fetched: s.Fetched, Parked: s.Parked,
		Delay: s.Delay.Seconds(), RobotsAt: s.RobotsAt, Failures: int64(s.Host.Failures),
	}
}

func newParkedRow(p *crawl.PageInfo) parkedRow {
	return parkedRow{URL: p.URL.String(), Reason: p.Why, Depth: int64(p.Depth)}
}

func newQueueRow(p *crawl.PageInfo) queueRow {
	return queueRow{URL: p.URL.String(), Depth: int64(p.Depth), Attempt: int64(p.Entry.Attempt), Score: float64(p.Entry.Score)}
}
