package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// cli is the command line: a verb a field.
type cli struct {
	Crawl   crawlCmd   `cmd:"" help:"Crawl from one or more URLs; the same command again goes on where it stopped."`
	Explain explainCmd `cmd:"" help:"Show the program and the plan that crawl's flags, or a program, mean."`
	Steer   steerCmd   `cmd:"" help:"Change the limits of a crawl that runs, or tell what holds now."`
	Check   checkCmd   `cmd:"" help:"Tell what is wrong with a program, or that it is fine."`
	Inspect inspectCmd `cmd:"" help:"Show how weir sees one URL, robots.txt or page."`
	Query   queryCmd   `cmd:"" help:"Ask a crawl a question: rules over what it found."`
	Export  exportCmd  `cmd:"" help:"Write pages, links, hosts, text or parked pages of a crawl as a table."`
	Search  searchCmd  `cmd:"" help:"Find pages of a crawl by what they say."`
	Get     getCmd     `cmd:"" help:"Print what the archive holds of a URL."`
	Why     whyCmd     `cmd:"" help:"Tell why a URL is where it is in a crawl."`
	Release releaseCmd `cmd:"" help:"Put pages that the trap guard parked back into the queue."`
	Plan    planCmd    `cmd:"" help:"Tell beforehand whether sites can be done by their deadlines, and at which rates."`
	Sim     simCmd     `cmd:"" help:"The laboratory: crawl webs of numbers in virtual time, to compare orders and settings."`
	Node    nodeCmd    `cmd:"" help:"Run one of several machines that are one crawler, or make what it needs."`
	Submit  submitCmd  `cmd:"" help:"Give a crawl to the nodes of a cluster."`
	Status  statusCmd  `cmd:"" help:"Show how the nodes of a cluster are doing."`
	Drain   drainCmd   `cmd:"" help:"Have a node hand its work over to the others and leave."`
	Demo    demoCmd    `cmd:"" help:"Crawl a small web on this machine, to see how it looks; works offline."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// env is what a verb may touch of the process it runs in.
type env struct {
	ctx context.Context
	in  io.Reader
	out io.Writer // what was asked for
	err io.Writer // what a person should know besides
}

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1 // also: no seed could be fetched
	exitUsage       = 2
	exitInterrupted = 130 // and everything is saved
)

// fault is an error with a hint and an exit code.
type fault struct {
	err  error
	hint string // what to do next; "" when there is nothing to say
	code int
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// usage is an error in the command line; hint says how it is done right.
func usage(hint, format string, args ...any) error {
	return &fault{fmt.Errorf(format, args...), hint, exitUsage}
}

// failure is an error in doing what was asked for; hint says what to do next.
func failure(err error, hint string) error {
	return &fault{err, hint, exitFailed}
}

// quiet ends the process with a code; everything was said already.
func quiet(code int) error {
	return &fault{nil, "", code}
}

// run carries out one command line and returns the exit code.
func run(args []string, e *env) int {
	var c cli
	helped := false
	parser, err := kong.New(&c,
		kong.Name("weir"),
		kong.Description("weir crawls the web for people who must share a link: within a bandwidth budget, with good manners, losing nothing."),
		kong.Writers(e.out, e.err),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "web", Title: "Which web:"},
			{Key: "scope", Title: "What to crawl:"},
			{Key: "link", Title: "How much of the link:"},
			{Key: "bounds", Title: "How much in all:"},
			{Key: "manners", Title: "In which order, and how politely:"},
			{Key: "identity", Title: "Who asks:"},
			{Key: "sizes", Title: "How large sites are:"},
			{Key: "network", Title: "How servers are reached:"},
			{Key: "output", Title: "What is written:"},
		}),
	)
	if err != nil {
		return e.fail(err)
	}
	hide(parser.Model.Node)
	if len(args) == 0 {
		args = []string{"help"}
	}
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	ctx, err := parser.Parse(args)
	switch {
	case helped:
		return exitDone
	case err != nil:
		return e.fail(misuse(err))
	}
	return e.fail(ctx.Run(e))
}

// hide leaves flags of weir crawl out of the help of weir submit, which has them
// only to say what to do instead.
func hide(model *kong.Node) {
	for _, verb := range model.Children {
		if verb.Name != "submit" {
			continue
		}
		for _, flag := range verb.Flags {
			if _, ok := local[flag.Name]; ok {
				flag.Hidden = true
			}
		}
	}
}

// fail tells the person what went wrong and returns the exit code.
func (e *env) fail(err error) int {
	if err == nil {
		return exitDone
	}
	f := &fault{err: err, code: exitFailed}
	errors.As(err, &f)
	if f.err == nil {
		return f.code
	}
	fmt.Fprintf(e.err, "weir: %s\n", line(err.Error()))
	if f.hint != "" {
		fmt.Fprintf(e.err, "  hint: %s\n", f.hint)
	}
	return f.code
}

// line makes one line of a message.
func line(s string) string {
	return strings.Join(strings.Fields(s), " ")
}

// edition is a binary's version if it was built with -ldflags "-X main.edition=VERSION".
// Protocol, and the least one that is understood, are set in tests of upgrades only;
// 0: as package cluster has them.
var (
	edition         string
	protocol, least int
)

// version is what this binary calls itself, also to servers.
func version() string {
	if edition != "" {
		return edition
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			return strings.TrimPrefix(v, "v")
		}
	}
	return "0.1"
}

type versionCmd struct{}

func (c *versionCmd) Run(e *env) error {
	_, err := fmt.Fprintln(e.out, "weir", version())
	return err
}
