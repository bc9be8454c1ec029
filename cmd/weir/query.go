package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/ask"
	"weir/internal/node"
	"weir/internal/store"
	"weir/query"
	"weir/query/flow"
)

// queryCmd asks a crawl a question.
type queryCmd struct {
	Dir    string   `arg:"" optional:"" help:"Folder of the crawl. None with --at."`
	Rules  string   `arg:"" optional:"" help:"Rules, or only the body of one."`
	File   string   `name:"file" placeholder:"FILE" help:"File of rules, - for standard input."`
	Table  string   `name:"table" placeholder:"TABLE" help:"Table to answer with, if not that of the last rule."`
	Of     string   `name:"of" placeholder:"NAME" help:"Of several programs that share the crawl, the one whose crawl and tables the question is about. Default: the pages of all, and no tables."`
	Set    []string `name:"set" sep:"none" placeholder:"NAME=VALUE" help:"Value of a setting that the rules call $NAME; may be repeated."`
	Format string   `placeholder:"FORMAT" help:"table, csv, jsonl or parquet. Default: as the file is named, else table on a terminal and csv elsewhere."`
	Output string   `short:"o" placeholder:"FILE" help:"File to write instead of the standard output."`
	JSON   bool     `name:"json" help:"The same as --format jsonl."`
	Limit  count    `placeholder:"N" default:"none" help:"Rows to write, at most."`
	Memory size     `placeholder:"SIZE" default:"1GB" help:"Memory for rows; what needs more is worked out on disk. Default: 1GB."`
	At     string   `placeholder:"HOST:PORT" help:"Ask all nodes of a cluster, of which this is one; with --certs, and without a folder."`
	Certs  string   `placeholder:"DIR" help:"Folder of your certificate, for --at."`
}

// Help shows examples.
func (c *queryCmd) Help() string {
	return `Asks a crawl, finished or running, what nobody asked when it began. Nothing is fetched: facts are read from the archive
once more, and only those that the question names. Rules are as in weir crawl --program; a body alone answers with all its
variables, in the order in which they appear. With several rules the answer is the table of the last one, or --table.

weir check --facts lists facts, functions and aggregates. crawl(url, depth, priority) is what the crawl has found. The
tables of its own program can be used by name, unless the question derives one of the same name. A crawl with --warc none
has only crawl, fetched, seed, robots, and the tables that it kept; if its program tests the depth, it also has the links,
redirects and titles of its pages and whatever else that program looks at. Rows are sorted.

What does not fit into --memory is worked out on disk, in a temporary folder within that of the crawl.

With --at the crawl is that of a cluster. Every node reads its own pages, all of them at a time, and hands on the facts that
the question names; they are joined here, within --memory. So every question is answered as it would be for one crawl, at the
price of these facts on the wire. A node that does not answer is named, and the exit code is 1 then.

Examples:
  weir query big 'link(U, V), fetched(V, S), S >= 400'
  weir query big 'fetched(U, 200), !title(U, _)' --format csv > untitled.csv
  weir query big 'in(V, count<U>) :- link(U, V). best(top<20, N, V>) :- in(V, N).'
  weir query big 'external(H, count<V>) :- link(U, V), H = host(V), H != host(U).' --limit 50
  weir query big 'fetched(U, S), S >= $least' --set least=500 --json
  weir query big --file report.dl --table orphan -o orphan.parquet
  weir query --at a.example.org:7400 --certs me 'link(U, V), fetched(V, S), S >= 400'`
}

// Run implements the verb.
func (c *queryCmd) Run(e *env) error {
	if c.At != "" && c.Dir != "" {
		if c.Rules != "" {
			return usage("leave the folder out: --at asks the nodes", "there is --at %s, and the folder %s", c.At, c.Dir)
		}
		c.Dir, c.Rules = "", c.Dir
	}
	if c.At == "" && c.Dir == "" {
		return usage("name the folder of the crawl, or a node of a cluster with --at", "whom is the question for?")
	}
	q := ask.Question{Name: "query", Text: c.Rules, Table: c.Table}
	switch {
	case c.Rules != "" && c.File != "":
		return usage("give the rules in one place", "there are rules on the command line, and more with --file")
	case c.File != "":
		text, err := e.readProgram(c.File)
		if err != nil {
			return err
		}
		q.Name, q.Text = c.File, text
	case strings.TrimSpace(c.Rules) == "" && c.Table == "":
		where := c.Dir
		if c.At != "" {
			where = "--at " + c.At
		}
		return usage("ask for instance: weir query "+where+" 'link(U, V), fetched(V, S), S >= 400'", "there is no question")
	}
	if c.Memory < minMemory {
		return usage("weir needs 64MB at least; 1GB is the default", "--memory %s is too little", c.Memory)
	}
	var err error
	if q.Sets, err = parseSets(c.Set); err != nil {
		return err
	}
	format, err := written{c.Format, c.JSON, c.Output}.choose(e, "answer", "table", "csv", "jsonl", "parquet")
	if err != nil {
		return err
	}
	a := asking{format: format, output: c.Output, limit: int64(c.Limit), memory: int64(c.Memory), of: c.Of}
	if c.At != "" {
		return e.askSwarm(&contact{At: c.At, Certs: c.Certs, Node: "weir-node"}, q, a)
	}
	f, err := openFolder(c.Dir)
	if errors.Is(err, store.ErrInUse) {
		return e.askRunning(c.Dir, q, a)
	}
	if _, missing := os.Stat(c.Dir); err != nil && missing != nil {
		return failure(err, "the folder of the crawl comes before the question: weir query "+defaults().Dir+" "+quoted(strings.TrimSpace(c.Rules)))
	}
	if err != nil {
		return err
	}
	defer f.close()
	if q.Own, err = f.own(c.Of); err != nil {
		return err
	}
	if c.Of == "" {
		q.Programs = f.Programs().Names()
	}
	return e.ask(f, q, a)
}

// asking says what becomes of an answer.
type asking struct {
	format string // "": as suits where it goes
	output string
	limit  int64 // 0: all rows
	memory int64
	of     string // a program of several
}

// written is what flags say about how a table is written.
type written struct {
	format string
	json   bool
	output string
}

// choose decides the form of a table by the flags, or by the name of its file; ""
// when neither says.
func (f written) choose(e *env, table string, forms ...string) (string, error) {
	switch {
	case f.json && f.format != "" && f.format != "jsonl":
		return "", usage("leave one of them out", "--json is --format jsonl, and there is --format %s", f.format)
	case f.json:
		f.format = "jsonl"
	case f.format == "":
		switch ext := strings.ToLower(filepath.Ext(f.output)); ext {
		case ".csv", ".jsonl", ".parquet":
			f.format = ext[1:]
		}
	case !slices.Contains(forms, f.format):
		return "", choice("--format", f.format, forms...)
	}
	if f.format == "parquet" && f.output == "" && terminal(e.out) {
		return "", usage("-o "+table+".parquet, or send it into a pipe", "parquet is not for a terminal")
	}
	return f.format, nil
}

// ask works out the answer to a question and writes it.
func (e *env) ask(f *folder, q ask.Question, a asking) error {
	p, diags := q.Read()
	for _, d := range diags {
		fmt.Fprint(e.err, q.Format(d))
	}
	if p == nil {
		return quiet(exitUsage)
	}
	archive, err := f.archive(p.Wants())
	if err != nil {
		return err
	}
	if !archive.Bodies() {
		if err := p.WithoutArchive(archive.Has); err != nil {
			return failure(err, "ask for what it has: crawl, fetched, seed, robots, the tables that it kept, and with a bound on the depth what its program looks at; a crawl with --warc gzip has the rest")
		}
		e.bare(p.Said(archive.Has), p.Missing(archive.Has))
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt)
	defer stop()
	meter := e.meter(f)
	crawl := ask.Crawl{View: f.View, Archive: archive, Input: inputOf(q.Name)}
	work := ask.Work{Memory: a.memory, Temp: f.dir, Now: time.Now().Unix(), Progress: meter.page, Moved: meter.moved}
	err = e.writeAnswer(a, p.Answer.Columns, p.Answer.Types, func(fn func(flow.Row) bool) error {
		err := p.Rows(ctx, crawl, work, func(row flow.Row) bool {
			meter.clear()
			return fn(row)
		})
		meter.clear()
		return err
	})
	return ending(err)
}

// ending makes of an error what the verb ends with.
func ending(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return quiet(exitInterrupted)
	case err == nil || closed(err):
		return nil
	}
	return err
}

// bare says which facts a crawl without an archive has from its store instead, and
// which it does not have.
func (e *env) bare(said, missing []string) {
	if len(said) > 0 {
		fmt.Fprintf(e.err, "weir: this crawl kept no archive (--warc none): %s: as the crawl kept them for its own program\n", strings.Join(said, ", "))
	}
	if len(missing) > 0 {
		fmt.Fprintf(e.err, "weir: this crawl kept no archive (--warc none): %s: nothing is known of them\n", strings.Join(missing, ", "))
	}
}

// askRunning has the crawl that runs in dir answer a question.
func (e *env) askRunning(dir string, q ask.Question, a asking) error {
	running := node.Query{Name: q.Name, Text: q.Text, Table: q.Table, Of: a.of, Sets: q.Sets, Limit: a.limit, Memory: a.memory, Inputs: map[string]string{}}
	p, _ := query.Parse(q.Name, q.Text, q.Sets...) // what is wrong with it the crawl will tell
	for _, in := range p.Inputs {
		_, text, err := readInput(q.Name, in)
		if err != nil {
			return err
		}
		running.Inputs[in.Table] = text
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt)
	defer stop()
	var head node.Reply
	var w *sink
	begin := func(r node.Reply) (err error) {
		for _, f := range r.Faults {
			fmt.Fprint(e.err, f)
		}
		if head = r; r.Failed {
			return nil
		}
		e.bare(r.Said, r.Missing)
		fmt.Fprintf(e.err, "so far: %s, %s waiting\n", many(r.Pages, "page"), thousands(r.Waiting))
		w, err = e.sink(a, r.Columns, r.Types)
		return err
	}
	err := node.Ask(ctx, dir, running, begin, func(row flow.Row) bool { return w.row(row) })
	if w != nil {
		err = w.finish(err)
	}
	switch {
	case errors.Is(err, node.ErrNotRunning):
		return failure(fmt.Errorf("%s is in use, but no crawl answers there", dir), usedBy(dir))
	case err == nil && head.Failed:
		return quiet(exitUsage)
	}
	return ending(err)
}

// writeAnswer writes the rows that each hands out.
func (e *env) writeAnswer(a asking, columns []string, types []query.Type, each func(func(flow.Row) bool) error) error {
	w, err := e.sink(a, columns, types)
	if err != nil {
		return err
	}
	return w.finish(each(w.row))
}

// sink is where rows of an answer go.
type sink struct {
	answer
	out   *output
	buf   *bufio.Writer
	limit int64
	rows  int64
	err   error
}

func (e *env) sink(a asking, columns []string, types []query.Type) (*sink, error) {
	out, err := e.create("-o", a.output)
	if err != nil {
		return nil, err
	}
	if a.format == "" {
		a.format = "csv"
		if a.output == "" && terminal(e.out) {
			a.format = "table"
		}
	}
	buf := bufio.NewWriterSize(out, 64<<10)
	return &sink{answer: newAnswer(buf, a.format, columns, types), out: out, buf: buf, limit: a.limit}, nil
}

// row writes a row, and says whether more are wanted.
func (s *sink) row(row flow.Row) bool {
	s.err = s.write(row)
	s.rows++
	return s.err == nil && (s.limit <= 0 || s.rows < s.limit)
}

// finish ends the answer, or takes it back after an error.
func (s *sink) finish(err error) error {
	if err = errors.Join(err, s.err); err == nil {
		err = s.close()
	}
	if err == nil {
		err = s.buf.Flush()
	}
	return s.out.finish(err)
}

// inputOf reads the inputs that a question has of its own.
func inputOf(name string) func(*query.Input) ([]flow.Row, error) {
	return func(in *query.Input) ([]flow.Row, error) {
		file, text, err := readInput(name, in)
		if err != nil {
			return nil, err
		}
		rows, diags := in.Read(text)
		for _, d := range diags {
			return nil, usage("a row is a line, with tabs between its columns", "%s", d.Format(&query.Program{Name: file, Text: text}))
		}
		return rows, nil
	}
}

// readInput reads the file of an input, which lies beside the file of the
// question, or where weir was started.
func readInput(name string, in *query.Input) (file, text string, err error) {
	file = in.File
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(name), file)
	}
	if text, err = readUpTo(file, query.MaxInput); err != nil {
		return "", "", usage("it is looked for beside the rules", "cannot read the input %s: %w", in.Table, err)
	}
	return file, text, nil
}
