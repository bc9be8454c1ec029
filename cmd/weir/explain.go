package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"weir/internal/node"
	"weir/internal/program"
	"weir/query"
	"weir/query/draw"
	"weir/query/flow"
)

// explainCmd shows what a crawl would do.
type explainCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Pages to start from."`
	settings
	Scheme string `name:"scheme" group:"output" placeholder:"SCHEME" default:"host" help:"How rows are spread over nodes: by url; by host, where a host and all its URLs stay together; or by host-n, as in host-n:4, where the URLs of a host are spread over four. Default: host."`
	DOT    bool   `name:"dot" group:"output" help:"The plan for Graphviz, and nothing else; Exchanges are thick edges."`
	SVG    string `name:"svg" group:"output" placeholder:"FILE" help:"The plan as a picture, - for the standard output."`
}

// Help shows examples.
func (c *explainCmd) Help() string {
	return `Flags are those of weir crawl. They mean a program; explain prints it, with settings that are no rules as comments, then
the plan by which it runs: a line for each box, read from top to bottom. Rails on the left lead from a box to those that take
its rows; a double one is an Exchange, where rows may go to another node. Home is what decides on which node a box does its
work, keeps what it stores. What is live follows the crawl; what is final is worked out at its end, or when it is
asked for. Nothing is fetched.

Examples:
  weir explain --scope domain --depth 3 https://example.org/
  weir explain --program site.dl --set max=3 --scheme url
  weir explain --program site.dl --svg plan.svg
  weir explain --dir big                         the program of a crawl that was begun
  weir explain --dot https://example.org/ | dot -Tpdf -o plan.pdf
  weir explain --json --program site.dl | jq '.operators[].kind'`
}

// Run implements the verb.
func (c *explainCmd) Run(e *env, k *kong.Context) error {
	o, err := parseScheme(c.Scheme)
	if err != nil {
		return err
	}
	given := map[string]bool{}
	for _, p := range k.Path {
		if p.Flag != nil {
			given[p.Flag.Name] = true
		}
	}
	s, seeds, at, err := c.settle(e, given)
	if err != nil {
		return err
	}
	if _, err := setup(s, seeds); err != nil {
		return err
	}
	list, err := e.programsOf(s, at)
	if err != nil {
		return err
	}
	v := view{text: heading(s, seeds)}
	for _, p := range list {
		plan, diags := flow.Compile(p.Checked, o)
		if err := e.faults(p.Program, diags); err != nil {
			return err
		}
		s.rank(p.Checked, given, at)
		if len(list) > 1 {
			v.text += "% program " + p.name + "\n"
		}
		v.text += strings.TrimRight(p.Text, "\n") + "\n"
		v.names, v.plans = append(v.names, p.name), append(v.plans, plan.Graph())
	}
	return c.show(e, s, v)
}

// view is what there is to be shown of a crawl.
type view struct {
	text  string
	names []string // of its programs
	plans []*flow.Graph
}

// graph is the plan of the crawl: that of its program, or those of several with one
// Fetch.
func (v *view) graph() *flow.Graph {
	if len(v.plans) == 1 {
		return v.plans[0]
	}
	return flow.Share(v.names, v.plans)
}

func parseScheme(name string) (flow.Options, error) {
	switch name {
	case "url":
		return flow.Options{Scheme: flow.ByURL}, nil
	case "host":
		return flow.Options{Scheme: flow.ByHost}, nil
	}
	if n, ok := strings.CutPrefix(name, "host-n:"); ok {
		spread, err := strconv.Atoi(n)
		if err != nil || spread < 1 {
			return flow.Options{}, usage("say over how many nodes a host may spread, as in host-n:4", "--scheme %s: %q is no number from 1 on", name, n)
		}
		return flow.Options{Scheme: flow.ByHostN, Spread: spread}, nil
	}
	return flow.Options{}, choice("--scheme", name, "url", "host", "host-n:4")
}

// settle finds out which crawl is meant: that of a folder, if one is named or
// nothing else is, or one that was never begun.
func (c *explainCmd) settle(e *env, given map[string]bool) (*settings, []node.Seed, ground, error) {
	means := func(f field) bool { return given[f.name] && f.name != "json" }
	at := vacant
	if given["dir"] || len(c.URLs) == 0 && !slices.ContainsFunc(fields(&c.settings), means) {
		var err error
		if at, err = look(c.Dir); err != nil {
			return nil, nil, at, folderError(c.Dir, err)
		}
		if at != begun {
			return nil, nil, at, usage("name pages, flags or a program, as in weir explain --depth 3 https://example.org/", "there is no crawl in %s to explain", c.Dir)
		}
	}
	s, _, err := settle(&c.settings, given, at)
	if err != nil {
		return nil, nil, at, err
	}
	seeds, err := e.seeds(c.URLs, s.Seeds)
	return s, seeds, at, err
}

// show writes what was asked for.
func (c *explainCmd) show(e *env, s *settings, v view) error {
	graph, text := v.graph(), v.text
	for i := range graph.Operators {
		if o := &graph.Operators[i]; o.Kind == flow.OpReorder {
			o.Detail = "by --order " + s.Order
		}
	}
	if c.SVG != "" {
		file, err := e.create("--svg", c.SVG)
		if err != nil {
			return err
		}
		_, err = io.WriteString(file, draw.SVG(graph, titleOf(s)))
		if err := file.finish(err); err != nil {
			return fmt.Errorf("write the picture: %w", err)
		}
	}
	out := bufio.NewWriter(e.out)
	switch {
	case c.JSON:
		b, err := draw.JSON(graph, text)
		if err != nil {
			return err
		}
		out.Write(b)
	case c.DOT:
		out.WriteString(draw.DOT(graph))
	case c.SVG != "":
	default:
		fmt.Fprintf(out, "%s\n%s", text, draw.Text(graph))
	}
	if err := out.Flush(); err != nil && !closed(err) {
		return err
	}
	return nil
}

// titleOf is what stands above a picture.
func titleOf(s *settings) string {
	title := "weir crawl"
	for _, file := range s.Program {
		title += " --program " + file
	}
	return title
}

// maxSeedsShown is how many seeds are printed one by one.
const maxSeedsShown = 5

// heading are the parts of a crawl that are no rules, as comments: its seeds,
// and settings that bound or order it.
func heading(s *settings, seeds []node.Seed) string {
	var b strings.Builder
	for i, seed := range seeds {
		if i == maxSeedsShown {
			fmt.Fprintf(&b, "%% and %s more\n", many(int64(len(seeds)-i), "seed"))
			break
		}
		fmt.Fprintf(&b, "%% seed %s\n", seed.URL)
	}
	usual := fields(defaults())
	var line strings.Builder
	flush := func() {
		if line.Len() > 0 {
			fmt.Fprintf(&b, "%%%s\n", line.String())
			line.Reset()
		}
	}
	for i, f := range fields(s) {
		always := slices.Contains([]string{"order", "wait", "limit", "max-pages"}, f.name)
		if f.keep == "no" || f.value.Kind() == 0 || ruled(f.name) || !always && f.text() == usual[i].text() {
			continue
		}
		word := " --" + f.name + " " + shown(f.text())
		if line.Len()+len(word) > 78 {
			flush()
		}
		line.WriteString(word)
	}
	flush()
	return b.String()
}

// ruled says that a setting is in the program, or a key without a flag.
func ruled(name string) bool {
	return slices.Contains([]string{
		"scope", "depth", "match", "exclude", "requisites", "sitemaps", "ignore-robots", "program",
		"sites", "deadline-as", "allow-address", "header-hosts", "header", "auth", "proxy", "cookies",
	}, name)
}

// explained is a program that means something, and its name.
type explained struct {
	*query.Checked
	name string
}

// programsOf reads and checks the programs of a crawl: those that its folder
// keeps, those of files, or the one that its flags mean.
func (e *env) programsOf(s *settings, at ground) ([]explained, error) {
	var list []*program.Source
	var err error
	switch {
	case at == begun:
		list, err = keptSources(s)
	case len(s.Program) == 1: // its inputs need not be there
		var text string
		var sets []query.Setting
		if text, err = e.readProgram(s.Program[0]); err == nil {
			sets, err = parseSets(s.Set)
		}
		list = append(list, &program.Source{Name: s.Program[0], Text: text, Settings: sets})
	case len(s.Program) > 1:
		list, err = e.readSources(s.Program, s.Set)
	}
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		text, err := s.plain().Program()
		if err != nil {
			return nil, usage("weir crawl --help says how flags are written", "%w", err)
		}
		list = append(list, &program.Source{Name: "flags", Text: text})
	}
	var out []explained
	for _, src := range list {
		checked, err := e.checked(src.Name, src.Text, src.Settings)
		if err != nil {
			return nil, err
		}
		out = append(out, explained{checked, src.As})
	}
	return out, nil
}

// keptSources are the programs that the folder of a crawl keeps: of several the
// newest of each name.
func keptSources(s *settings) ([]*program.Source, error) {
	if len(s.Program) < 2 {
		src, err := program.Last(s.Dir)
		if err != nil || src == nil {
			return nil, err
		}
		return []*program.Source{src}, nil
	}
	var list []*program.Source
	for _, file := range s.Program {
		src, err := program.Newest(s.Dir, program.Title(file))
		if err != nil {
			return nil, err
		}
		if src != nil {
			list = append(list, src)
		}
	}
	return list, nil
}
