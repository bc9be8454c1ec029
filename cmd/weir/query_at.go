package main

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"weir/internal/ask"
	"weir/internal/store"
	"weir/page"
	"weir/query/flow"
)

// askSwarm works out the answer to a question about a crawl of several nodes. Pages
// are read where they are, by all nodes at a time; what comes of that is joined here.
func (e *env) askSwarm(c *contact, q ask.Question, a asking) error {
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt)
	defer stop()
	w, err := e.openSwarm(ctx, c, a.of)
	if err != nil {
		return err
	}
	if q.Own = w.own; q.Own == nil {
		q.Programs, q.Tables = w.names(), w.tables()
	}
	if q.Name == "export" && q.Text == "" { // a table of the crawl's program
		if q.Own == nil {
			names := append(slices.Clone(exported), "crawl")
			var with []string
			for _, name := range q.Programs {
				for _, table := range q.Tables[name] {
					names = append(names, name+"."+table)
					if table == q.Table {
						with = append(with, name+"."+table)
					}
				}
			}
			if len(with) == 0 {
				return choice("export", q.Table, names...)
			}
			return usage("write "+strings.Join(with, " or "), "several programs share this crawl: whose %s is meant?", q.Table)
		}
		if !slices.Contains(q.Own.Tables(), q.Table) {
			return choice("export", q.Table, append(append(slices.Clone(exported), "crawl"), q.Own.Tables()...)...)
		}
	}
	p, diags := q.ReadFar()
	for _, d := range diags {
		fmt.Fprint(e.err, q.Format(d))
	}
	if p == nil {
		return quiet(exitUsage)
	}
	if w.settings.Warc == store.None.String() {
		none := func(page.Want) bool { return false }
		if err := p.WithoutArchive(none); err != nil {
			return failure(err, "ask for what it has: crawl, fetched, seed, robots and the tables that it kept; a crawl with --warc gzip has the rest")
		}
		e.bare(nil, p.Missing(none))
	}
	dir, err := os.MkdirTemp("", "weir-query-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	work := ask.Work{Memory: a.memory, Temp: dir, Now: time.Now().Unix()}
	err = e.writeAnswer(a, p.Answer.Columns, p.Answer.Types, func(fn func(flow.Row) bool) error {
		return p.Rows(ctx, ask.Crawl{Far: w, Input: inputOf(q.Name)}, work, fn)
	})
	if err = ending(err); err != nil {
		return err
	}
	return w.lacks("the answer is written")
}

// tableAt writes a table of the crawl's program, gathered from all nodes.
func (c *exportCmd) tableAt(e *env, of, format string) error {
	return e.askSwarm(c.contact(), c.question(), asking{format: cmp.Or(format, "csv"), output: c.Output, memory: int64(defaults().Memory), of: of})
}

func (c *exportCmd) contact() *contact { return &contact{At: c.At, Certs: c.Certs, Node: "weir-node"} }
