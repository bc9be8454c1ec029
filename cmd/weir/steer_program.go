package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/node"
	"weir/internal/program"
	"weir/query"
	"weir/query/flow"
)

// place takes the folder and the program from what was written without a flag.
func (c *steerCmd) place(given map[string]bool) error {
	const hint = "write weir steer DIR FILE.dl, or weir steer --dir DIR --program FILE.dl"
	if len(c.Where) > 2 {
		return usage(hint, "there is one crawl to steer, and one program")
	}
	for i, name := range c.Where {
		st, err := os.Stat(name)
		folder := err == nil && st.IsDir()
		if i == 0 && (folder || len(c.Where) == 2) {
			if given["dir"] {
				return usage(hint, "%s and --dir %s: there is one crawl to steer", name, c.Dir)
			}
			c.Dir = name
			continue
		}
		if given["program"] {
			return usage(hint, "%s and --program %s: there is one program to turn to", name, c.Program)
		}
		c.Program = name
	}
	return nil
}

// turn gives the crawl another program.
func (c *steerCmd) turn(e *env) error {
	t, err := c.ask(e)
	if err != nil {
		return err
	}
	got, err := node.SteerProgram(e.ctx, c.Dir, t)
	resting := errors.Is(err, node.ErrNotRunning)
	if resting {
		if at, e := look(c.Dir); e == nil && at == begun {
			got, err = c.turnIdle(t)
		}
	}
	switch {
	case errors.Is(err, node.ErrNotRunning):
		return c.notRunning(node.Steering{})
	case errors.Is(err, node.ErrFaulty):
		fmt.Fprintln(e.err, got.Faults)
		return quiet(exitUsage)
	case err != nil:
		return failure(err, "the crawl goes on as it was")
	}
	for _, w := range got.Warnings {
		fmt.Fprint(e.err, w)
	}
	if !got.Same {
		if err := c.keepProgram(got); err != nil {
			return failure(fmt.Errorf("the crawl has the program, but its crawl.yaml could not be changed: %w", err), "it goes on with the program all the same")
		}
	}
	if c.JSON {
		return json.NewEncoder(e.out).Encode(got)
	}
	if err := tellTurned(e.out, got); err != nil || !resting {
		return err
	}
	_, err = fmt.Fprintf(e.out, "\nNo crawl is running: weir crawl%s goes on with it.\n", dirFlag(c.Dir))
	return err
}

// turnIdle changes the programs of a crawl that does not run.
func (c *steerCmd) turnIdle(t node.Turn) (node.Turned, error) {
	s := defaults()
	s.Dir = c.Dir
	if _, err := readConfig(filepath.Join(c.Dir, crawlFile), s, nil); err != nil {
		return node.Turned{}, err
	}
	cfg, err := setup(s, nil)
	if err != nil {
		return node.Turned{}, err
	}
	return node.SteerIdle(*cfg, t)
}

// ask says what the crawl is asked for.
func (c *steerCmd) ask(e *env) (node.Turn, error) {
	if c.Leave != "" {
		if c.Program != "" {
			return node.Turn{}, usage("give one command for each", "--leave %s and the program %s: one after the other", c.Leave, c.Program)
		}
		return node.Turn{Leave: c.Leave}, nil
	}
	if c.Beside && c.Add {
		return node.Turn{}, usage("leave one of them out", "--beside lets the program share the crawl, --add adds it to another")
	}
	if c.Seeds != "" && !c.Beside {
		return node.Turn{}, usage("add them to the crawl with weir crawl"+dirFlag(c.Dir)+" --seeds", "--seeds is for a program that comes to share the crawl: --beside")
	}
	src, err := c.source(e)
	if err != nil {
		return node.Turn{}, err
	}
	if c.Seeds != "" {
		seeds, err := e.seeds(nil, c.Seeds)
		if err != nil {
			return node.Turn{}, err
		}
		for _, s := range seeds {
			src.Seeds = append(src.Seeds, program.Seed{URL: s.URL.String(), Score: s.Score})
		}
	}
	return node.Turn{Program: *src, Add: c.Add, Beside: c.Beside}, nil
}

// source reads the program, and tells what is wrong with it by itself.
func (c *steerCmd) source(e *env) (*program.Source, error) {
	src, err := e.readSource(c.Program, c.Set)
	if err != nil || c.Add { // it may need what the crawl has
		return src, err
	}
	s, _ := readAsRun(c.Dir)
	if _, err := src.Compile(flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: s.IgnoreRobots}); err != nil {
		return nil, e.programFault(err)
	}
	return src, nil
}

// keepProgram writes into crawl.yaml that the crawl has a program of its own now:
// what flags said of its scope holds no more.
func (c *steerCmd) keepProgram(got node.Turned) error {
	s := defaults()
	if _, err := readConfig(filepath.Join(c.Dir, crawlFile), s, nil); err != nil {
		return err
	}
	d := defaults()
	s.Scope, s.Depth, s.Match, s.Exclude, s.Requisites, s.Sitemaps = d.Scope, d.Depth, d.Match, d.Exclude, d.Requisites, d.Sitemaps
	switch {
	case len(got.Programs) > 0:
		files := append([]string{c.Program}, s.Program...)
		s.Program = nil
		for _, name := range got.Programs {
			named := func(file string) bool { return program.Title(file) == name }
			if i := slices.IndexFunc(files, named); i >= 0 {
				name = files[i]
			}
			s.Program = append(s.Program, name)
		}
		for _, set := range c.Set {
			if !slices.Contains(s.Set, set) {
				s.Set = append(s.Set, set)
			}
		}
	case c.Add:
		had, err := program.Load(c.Dir, got.Version)
		if err != nil {
			return err
		}
		s.Program, s.Set = []string{had.Name}, sets(had.Settings)
	default:
		s.Program, s.Set = []string{c.Program}, c.Set
	}
	return writeConfig(c.Dir, s)
}

// sets are settings as --set has them.
func sets(list []query.Setting) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

// maxChanges is how many clauses a person is shown.
const maxChanges = 20

// tellTurned says what another program changes.
func tellTurned(w io.Writer, t node.Turned) error {
	if t.Same {
		_, err := fmt.Fprintln(w, "the crawl has this program already; nothing changes")
		return err
	}
	tellClauses(w, t.Removed, t.Added)
	if len(t.Programs) > 0 {
		_, err := fmt.Fprintf(w, "\nThe crawl is shared by %s. %s stored: those that a program is new to are read again,\nthen fetching goes on. %s: those that nobody asks for end as steered-away.\n",
			strings.Join(t.Programs, ", "), manyAre(int(t.Stored), "page"), waits(t.Queued))
		return err
	}
	_, err := fmt.Fprintf(w, "\nThis is version %d of the crawl's program. %s stored: those that it asks for are read again now,\nthen fetching goes on. %s: those that it does not ask for end as steered-away.\n",
		t.Version, manyAre(int(t.Stored), "page"), waits(t.Queued))
	return err
}

// tellClauses shows what is gone and what is new.
func tellClauses(w io.Writer, removed, added []string) {
	for _, part := range []struct {
		sign    string
		clauses []string
	}{{"-", removed}, {"+", added}} {
		for i, clause := range part.clauses {
			if i == maxChanges {
				fmt.Fprintf(w, "  %s and %s more\n", part.sign, thousands(int64(len(part.clauses)-i)))
				break
			}
			fmt.Fprintf(w, "  %s %s\n", part.sign, cut(clause, 200))
		}
	}
	if len(removed)+len(added) == 0 {
		fmt.Fprintln(w, "  the rules are the same, what they are given is not")
	}
}

// steerAt changes the programs of a cluster's crawl.
func (c *steerCmd) steerAt(e *env, given map[string]bool) error {
	for _, flag := range []string{"limit", "timetable", "quota", "deadline", "dir"} {
		if given[flag] {
			return usage("a node's own link changes when it is started again, as in weir node --dir DIR --limit 2MB/s; bounds stay as they were submitted", "--%s and --at: what can change in a cluster are its programs", flag)
		}
	}
	where := contact{At: c.At, Certs: c.Certs, Node: "weir-node"}
	if c.Program == "" && c.Leave == "" {
		if err := c.aimless(); err != nil {
			return err
		}
		return c.tellAt(e, &where)
	}
	t, err := c.ask(e)
	if err != nil {
		return err
	}
	cl, err := where.client()
	if err != nil {
		return err
	}
	var got changed
	again, err := putAgreed(e.ctx, cl, steerTopic, t, &got)
	if err != nil {
		return err
	}
	switch {
	case got.Faults != "":
		fmt.Fprintln(e.err, got.Faults)
		return quiet(exitUsage)
	case c.JSON:
		return json.NewEncoder(e.out).Encode(got)
	case got.Same && !again:
		_, err := fmt.Fprintln(e.out, "the crawl has this program already; nothing changes")
		return err
	}
	tellClauses(e.out, got.Removed, got.Added)
	_, err = fmt.Fprintf(e.out, "\nThe crawl %s has the programs %s from now on. Every node takes that up, and reads its pages again for those that are new;\nthen fetching goes on. Pages that wait and that nobody asks for end as steered-away. weir status shows how it goes.\n", got.Crawl, strings.Join(got.Programs, ", "))
	return err
}

// tellAt says what holds in a cluster.
func (c *steerCmd) tellAt(e *env, where *contact) error {
	w, err := e.openSwarm(e.ctx, where, "")
	if err != nil {
		return err
	}
	names := w.names()
	if c.JSON {
		return json.NewEncoder(e.out).Encode(struct {
			Crawl    string   `json:"crawl"`
			Programs []string `json:"programs"`
		}{w.Name, names})
	}
	has := "the program"
	if len(names) > 1 {
		has = "the programs"
	}
	_, err = fmt.Fprintf(e.out, "The crawl %s has %s %s. weir status shows how it goes.\n", w.Name, has, namesOf(names))
	return err
}

// aimless refuses what is said about a program when none is named.
func (c *steerCmd) aimless() error {
	if len(c.Set) > 0 || c.Add || c.Beside || c.Seeds != "" {
		return usage("name it, as in weir steer --program FILE.dl", "--set, --add, --beside and --seeds are about a program")
	}
	return nil
}

func waits(n int64) string {
	if n == 1 {
		return many(n, "page") + " waits"
	}
	return many(n, "page") + " wait"
}
