package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/ask"
	"weir/query"
	"weir/query/flow"
)

// queryCmd asks a crawl a question.
type queryCmd struct {
	Dir    string `arg:"" help:"Folder of the crawl."`
	Rules  string `arg:"" optional:"" help:"Rules, or only the body of one."`
	File   string `name:"file" placeholder:"FILE" help:"File of rules, - for standard input."`
	Table  string `name:"table" placeholder:"TABLE" help:"Table to answer with, if not that of the last rule."`
	Format string `placeholder:"FORMAT" enum:"table,csv,jsonl,parquet," default:"" help:"table, csv, jsonl or parquet. Default: as the file is named, else table on a terminal and csv elsewhere."`
	Output string `short:"o" placeholder:"FILE" help:"File to write instead of the standard output."`
	Limit  count  `placeholder:"N" default:"none" help:"Rows to write, at most."`
	Memory size   `placeholder:"SIZE" default:"1GB" help:"Memory for rows; what needs more is worked out on disk. Default: 1GB."`
}

// Help shows examples.
func (c *queryCmd) Help() string {
	return `Asks a crawl, finished or running, what nobody asked when it began. Nothing is fetched: facts are read from the archive
once more, and only those that the question names. Rules are as in weir crawl --program; a body alone answers with all its
variables, in the order in which they appear. With several rules the answer is the table of the last one, or --table.

weir check --facts lists facts, functions and aggregates. crawl(url, depth, priority) is what the crawl has found. The
tables of its own program can be used by name, unless the question derives one of the same name. A crawl with --warc none
has only crawl, fetched, seed, robots, and the tables that it kept. Rows are sorted.

Examples:
  weir query big 'link(U, V), fetched(V, S), S >= 400'
  weir query big 'fetched(U, 200), !title(U, _)' --format csv > untitled.csv
  weir query big 'in(V, count<U>) :- link(U, V). best(top<20, N, V>) :- in(V, N).'
  weir query big 'external(H, count<V>) :- link(U, V), H = host(V), H != host(U).' --limit 50
  weir query big --file report.dl --table orphan -o orphan.parquet`
}

// Run implements the verb.
func (c *queryCmd) Run(e *env) error {
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
		return usage("ask for instance: weir query "+c.Dir+" 'link(U, V), fetched(V, S), S >= 400'", "there is no question")
	}
	if c.Memory < minMemory {
		return usage("weir needs 64MB at least; 1GB is the default", "--memory %s is too little", c.Memory)
	}
	format, err := formatOf(e, c.Format, c.Output, "answer")
	if err != nil {
		return err
	}
	f, err := openFolder(c.Dir)
	if err != nil {
		return err
	}
	defer f.close()
	if q.Own, err = f.own(); err != nil {
		return err
	}
	return e.ask(f, q, asking{format: format, output: c.Output, limit: int64(c.Limit), memory: int64(c.Memory)})
}

// asking says what becomes of an answer.
type asking struct {
	format string // "": as suits where it goes
	output string
	limit  int64 // 0: all rows
	memory int64
}

// formatOf decides the form of a table by the flag, or by the name of its file;
// "" when neither says.
func formatOf(e *env, format, output, table string) (string, error) {
	if format == "" {
		switch ext := strings.ToLower(filepath.Ext(output)); ext {
		case ".csv", ".jsonl", ".parquet":
			format = ext[1:]
		}
	}
	if format == "parquet" && output == "" && terminal(e.out) {
		return "", usage("-o "+table+".parquet, or send it into a pipe", "parquet is not for a terminal")
	}
	return format, nil
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
	if missing := p.Missing(); len(missing) > 0 && !archive.Bodies() {
		fmt.Fprintf(e.err, "weir: this crawl kept no archive (--warc none): %s: nothing is known of them\n", strings.Join(missing, ", "))
	}
	if a.format == "" {
		a.format = "csv"
		if a.output == "" && terminal(e.out) {
			a.format = "table"
		}
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt)
	defer stop()
	meter := e.meter(f)
	crawl := ask.Crawl{View: f.View, Archive: archive, Input: inputOf(q.Name)}
	work := ask.Work{Memory: a.memory, Temp: f.dir, Now: time.Now().Unix(), Progress: meter.page, Moved: meter.moved}
	err = e.writeAnswer(a, p.Answer, func(fn func(flow.Row) bool) error {
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

// writeAnswer writes the rows that each hands out.
func (e *env) writeAnswer(a asking, t *query.Table, each func(func(flow.Row) bool) error) error {
	out, err := e.create("-o", a.output)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(out, 64<<10)
	w := newAnswer(buf, a.format, t.Columns, t.Types)
	rows := int64(0)
	var bad error
	err = each(func(row flow.Row) bool {
		bad = w.write(row)
		rows++
		return bad == nil && (a.limit <= 0 || rows < a.limit)
	})
	if err = errors.Join(err, bad); err == nil {
		err = w.close()
	}
	if err == nil {
		err = buf.Flush()
	}
	return out.finish(err)
}

// inputOf reads the files of inputs that a question has of its own, which lie
// beside its file, or where weir was started.
func inputOf(name string) func(*query.Input) ([]flow.Row, error) {
	return func(in *query.Input) ([]flow.Row, error) {
		file := in.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(name), file)
		}
		text, err := readUpTo(file, query.MaxInput)
		if err != nil {
			return nil, usage("it is looked for beside the rules", "cannot read the input %s: %w", in.Table, err)
		}
		rows, diags := in.Read(text)
		for _, d := range diags {
			return nil, usage("", "%s", d.Format(&query.Program{Name: file, Text: text}))
		}
		return rows, nil
	}
}
