package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"weir/query"
	"weir/query/flow"
)

// checkCmd tells whether programs mean something.
type checkCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"The program, - for standard input; several are checked one after another."`
	Set   []string `name:"set" sep:"none" placeholder:"NAME=VALUE" help:"Value of a setting that the program calls $NAME; may be repeated."`
	JSON  bool     `name:"json" help:"One JSON object, on a line, for each program."`
	Facts bool     `name:"facts" help:"List the tables, functions, tests, aggregates and declarations that programs can use, and nothing else."`
}

// Help shows examples.
func (c *checkCmd) Help() string {
	return `Reads a program and the files of its inputs, which are looked for beside it, and tells everything that is wrong, each with
its line and column. Nothing is fetched. It ends with 0 if a crawl could begin, with 2 if not.
Several programs are each checked alone: it ends with 0 if all of them are fine.

Tables that steer decide what is crawled. Rows of live ones hold as soon as they are derived; those of final ones only when
the crawl is over, or for what there is so far.

Examples:
  weir check site.dl
  weir check site.dl --set max=3
  weir check *.dl
  weir check site.dl --json | jq '.faults[] | "\(.line): \(.message)"'
  weir check --facts`
}

// Run implements the verb.
func (c *checkCmd) Run(e *env) error {
	switch {
	case c.Facts && len(c.Files) > 0:
		return usage("leave one of them out", "--facts lists what every program can use, and reads none")
	case c.Facts:
		return catalogue(e.out)
	case len(c.Files) == 0:
		return usage("name it, as in weir check site.dl", "there is no program to check")
	}
	sets, err := parseSets(c.Set)
	if err != nil {
		return err
	}
	fine := true
	var unread []error // a file that cannot be read keeps none of the others from being checked
	for _, name := range c.Files {
		text, err := e.readProgram(name)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		v := judge(name, text, sets)
		fine = fine && v.Fine
		if c.JSON {
			err = json.NewEncoder(e.out).Encode(v)
		} else {
			err = v.print(e)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case len(unread) == 1:
		return unread[0]
	case len(unread) > 1:
		return usage("name files that can be read", "%w", errors.Join(unread...))
	case !fine:
		return quiet(exitUsage)
	}
	return nil
}

// judgement is what can be said of a program.
type judgement struct {
	File   string       `json:"file"`
	Fine   bool         `json:"fine"`
	Faults []remark     `json:"faults"`
	Rules  int          `json:"rules"`
	Tables []tableShown `json:"tables"` // that it derives; none unless it is fine
}

// remark is something wrong with a program or with the file of an input.
type remark struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0: it is about the whole
	Column  int    `json:"column"`
	Warning bool   `json:"warning"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`

	text string // for people
}

// tableShown is a table that a program derives.
type tableShown struct {
	Name    string        `json:"name"`
	Columns []columnShown `json:"columns"`
	When    string        `json:"when"` // steers, live or final
}

type columnShown struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
	Best string `json:"best,omitempty"` // min or max
}

// judge finds out all there is to say of a program.
func judge(file, text string, sets []query.Setting) *judgement {
	v := &judgement{File: file, Faults: []remark{}, Tables: []tableShown{}}
	p, c, diags := query.Load(file, text, nil, sets...)
	if c != nil {
		_, more := flow.Compile(c, flow.Options{Scheme: flow.ByHost})
		diags = query.Tidy(append(diags, more...))
	}
	v.add(p, diags)
	for _, in := range p.Inputs {
		v.input(p, in)
	}
	v.Rules = len(p.Rules)
	v.Fine = c != nil
	for _, r := range v.Faults {
		v.Fine = v.Fine && r.Warning
	}
	if !v.Fine {
		return v
	}
	for _, t := range c.Tables {
		if t.Kind == query.Derived {
			v.Tables = append(v.Tables, tableOf(t))
		}
	}
	return v
}

func (v *judgement) add(p *query.Program, diags []query.Diag) {
	for _, d := range diags {
		v.Faults = append(v.Faults, remark{p.Name, d.Line, d.Col, d.Warning, d.Message, d.Hint, d.Format(p)})
	}
}

// input reads the file of an input.
func (v *judgement) input(p *query.Program, in *query.Input) {
	name := in.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(p.Name), name)
	}
	text, err := readUpTo(name, query.MaxInput)
	if err != nil {
		d := query.Diag{Pos: in.Pos, Message: fmt.Sprintf("cannot read the input %s: %s", in.Table, withoutName(err))}
		if !filepath.IsAbs(in.File) {
			d.Hint = "it is looked for beside the program, as " + name
		}
		v.add(p, []query.Diag{d})
		return
	}
	_, diags := in.Read(text)
	v.add(&query.Program{Name: name, Text: text}, diags)
}

// readUpTo reads a file, and one byte more than is allowed at most, which tells
// that it is too long.
func readUpTo(name string, most int64) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	return string(b), err
}

// withoutName is an error of a file without the file's name.
func withoutName(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}

func tableOf(t *query.Table) tableShown {
	s := tableShown{Name: t.Name, When: "live"}
	switch {
	case t.Steers:
		s.When = "steers"
	case t.Level > 0:
		s.When = "final"
	}
	for i, typ := range t.Types {
		s.Columns = append(s.Columns, columnShown{t.Columns[i], typ.String(), t.Lattice[i].String()})
	}
	return s
}

// print tells faults as a compiler does, and a person that all is well.
func (v *judgement) print(e *env) error {
	for _, r := range v.Faults {
		fmt.Fprint(e.err, r.text)
	}
	if !v.Fine {
		return nil
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: fine: %s, %s\n", v.File, many(int64(v.Rules), "rule"), many(int64(len(v.Tables)), "table"))
	for _, t := range v.Tables {
		fmt.Fprintf(w, "  %s\t%s\n", t.When, t)
	}
	return w.Flush()
}

func (t tableShown) String() string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = strings.Join(strings.Fields(c.Best+" "+c.Name+" "+c.Type), " ")
	}
	return t.Name + "(" + strings.Join(columns, ", ") + ")"
}

// catalogue lists what every program can use.
func catalogue(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	tables := func(title string, facts []query.Fact) {
		fmt.Fprintln(w, title)
		for _, f := range facts {
			fmt.Fprintf(w, "  %s(%s)\t%s\n", f.Name, strings.Join(f.Columns, ", "), f.Doc)
		}
	}
	tables("tables that the crawler fills", query.Facts)
	tables("tables that the crawler obeys", query.Orders)
	list := func(title string, functions []query.Function) {
		fmt.Fprintln(w, title)
		for _, f := range functions {
			args := make([]string, len(f.Args))
			for i, a := range f.Args {
				args[i] = a.String()
			}
			fmt.Fprintf(w, "  %s(%s)\t%s\n", f.Name, strings.Join(args, ", "), f.Doc)
		}
	}
	list("functions", query.Functions)
	list("tests", query.Tests)
	fmt.Fprintln(w, "aggregates")
	for _, a := range query.Aggregates {
		fmt.Fprintf(w, "  %s<>\t%s\n", a.Name, a.Doc)
	}
	fmt.Fprintln(w, "declarations")
	for _, d := range query.Declarations {
		fmt.Fprintf(w, "  %s\t%s\n", d.Form, d.Doc)
	}
	return w.Flush()
}
