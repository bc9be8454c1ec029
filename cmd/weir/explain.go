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
	p, err := e.programOf(s, at)
	if err != nil {
		return err
	}
	plan, diags := flow.Compile(p, o)
	if err := e.faults(p.Program, diags); err != nil {
		return err
	}
	s.rank(p, given, at)
	return c.show(e, s, seeds, p, plan)
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
func (c *explainCmd) show(e *env, s *settings, seeds []node.Seed, p *query.Checked, plan *flow.Plan) error {
	graph := plan.Graph()
	for i := range graph.Operators {
		if o := &graph.Operators[i]; o.Kind == flow.OpReorder {
			o.Detail = "by --order " + s.Order
		}
	}
	text := heading(s, seeds) + strings.TrimRight(p.Text, "\n") + "\n"
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
	if s.Program != "" {
		return "weir crawl --program " + s.Program
	}
	return "weir crawl"
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

// programOf reads and checks the program of a crawl: the one that its folder
// keeps, that of a file, or the one that its flags mean.
func (e *env) programOf(s *settings, at ground) (*query.Checked, error) {
	if at == begun {
		src, err := program.Last(s.Dir)
		if err != nil {
			return nil, err
		}
		if src != nil {
			return e.checked(src.Name, src.Text, src.Settings)
		}
	}
	if s.Program == "" {
		text, err := s.plain().Program()
		if err != nil {
			return nil, usage("weir crawl --help says how flags are written", "%w", err)
		}
		return e.checked("flags", text, nil)
	}
	text, err := e.readProgram(s.Program)
	if err != nil {
		return nil, err
	}
	sets, err := parseSets(s.Set)
	if err != nil {
		return nil, err
	}
	return e.checked(s.Program, text, sets)
}
