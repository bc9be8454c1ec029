package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"weir/frontier"
	"weir/internal/node"
	"weir/internal/program"
	"weir/overlay"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// task is a crawl as a cluster keeps it: everything that its nodes must agree on.
// Names are for other versions: add, never rename.
type task struct {
	Version  int        `json:"version"`
	By       string     `json:"by"`       // the weir that wrote it
	Settings string     `json:"settings"` // as crawl.yaml has them
	Seeds    []taskSeed `json:"seeds,omitempty"`
	Programs []taskText `json:"programs,omitempty"`
	Scheme   string     `json:"scheme"`
	Limit    int64      `json:"limit,omitempty"` // bytes a second, of all nodes together
	From     *taskFrom  `json:"from,omitempty"`  // it was begun on one machine, see move_at.go
	Ends     time.Time  `json:"ends,omitzero"`   // when --max-time is over: it counts from when a node has taken the task

	// What the nodes have agreed on since, see roll.go: programs that have joined, the
	// numbers of those that have left, and how often there was something.
	Joined  []taskText `json:"joined,omitempty"`
	Left    []int      `json:"left,omitempty"`
	Changes int        `json:"changes,omitempty"`

	Halted map[int]string `json:"halted,omitempty"` // why rules had stopped programs that have left, by number
}

type taskSeed struct {
	URL   string  `json:"url"`
	Score float32 `json:"score,omitempty"`
}

// taskText is a program with everything that it needs.
type taskText struct {
	As       string          `json:"as"`
	Name     string          `json:"name"`
	Text     string          `json:"text"`
	Settings []query.Setting `json:"settings,omitempty"`
	Inputs   []program.File  `json:"inputs,omitempty"`
	Seeds    []taskSeed      `json:"seeds,omitempty"` // its own; none: those of the crawl
	Since    int64           `json:"since,omitempty"` // of one that has joined: pages that were fetched before are fetched again for it, Unix nanoseconds
}

// taskVersion is that of tasks that this weir writes.
const taskVersion = 1

// movingVersion is that of tasks that no node may begin with yet.
const movingVersion = 2

// changedVersion is that of tasks whose programs have changed.
const changedVersion = 3

// nearTask is that of tasks with adaptive:rtt.
const nearTask = 4

// boundTask is that of tasks with --max-time or --max-bytes.
const boundTask = 5

// youngTask is that of tasks with a program that wants young pages, or that ask for one,
// and the highest that this weir reads.
const youngTask = 6

// newTask writes down what was asked for.
func newTask(s *settings, seeds []node.Seed, list []*program.Source, scheme overlay.Scheme, limit int64) (*task, error) {
	text, err := yaml.Marshal(kept(s))
	if err != nil {
		return nil, err
	}
	t := &task{Version: taskVersion, By: version(), Settings: string(text), Scheme: scheme.String(), Limit: limit}
	t.Version = t.least(s)
	for _, seed := range seeds {
		t.Seeds = append(t.Seeds, taskSeed{seed.URL.String(), seed.Score})
	}
	for _, src := range list {
		t.Programs = append(t.Programs, textOf(src))
	}
	return t, nil
}

// least is the version of task that nodes must read.
func (t *task) least(s *settings) int {
	switch {
	case s.bound():
		return boundTask
	case t.near():
		return nearTask
	}
	return taskVersion
}

// bound says that nodes must end a crawl together that older ones would each end alone.
func (s *settings) bound() bool { return s.MaxTime > 0 || s.MaxBytes > 0 }

// longest is how far ahead the end of a crawl may be. Clocks do not count much further.
const longest = 100 * 365 * 24 * time.Hour

// begin fixes when the crawl ends, now that nodes may start with it.
func (t *task) begin(now time.Time) error {
	s, _, _, err := t.open()
	if err != nil {
		return err
	}
	if t.Version = t.least(s); s.MaxTime > 0 {
		t.Ends = now.Add(min(time.Duration(s.MaxTime), longest)).UTC()
	}
	return nil
}

func textOf(src *program.Source) taskText {
	t := taskText{As: src.As, Name: src.Name, Text: src.Text, Settings: src.Settings, Inputs: src.Inputs}
	for _, s := range src.Seeds {
		t.Seeds = append(t.Seeds, taskSeed(s))
	}
	return t
}

func (t *taskText) source() *program.Source {
	src := &program.Source{As: t.As, Name: t.Name, Text: t.Text, Settings: t.Settings, Inputs: t.Inputs}
	for _, s := range t.Seeds {
		src.Seeds = append(src.Seeds, program.Seed(s))
	}
	return src
}

// readTask reads what another weir may have written.
func readTask(b []byte) (*task, error) {
	t := new(task)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("the crawl that was submitted cannot be read: %w", err)
	}
	if t.Version > youngTask {
		return nil, usage("run that version of weir on all nodes", "the crawl was submitted by weir %s, and this one, %s, does not understand it", t.By, version())
	}
	t.Scheme = numbered(t.Scheme)
	return t, nil
}

// numbered returns a task's scheme with the number that was meant where adaptive has
// none: weirs that did not write it took 500 for granted, and nodes that run one still do.
func numbered(scheme string) string {
	name, set, more := strings.Cut(scheme, ":")
	switch {
	case name != "adaptive" || strings.Contains(set, "over="):
		return scheme
	case more:
		return name + ":over=500," + set
	}
	return name + ":over=500"
}

// open makes of a task what a node runs: the settings, and the seeds and the
// programs that go with them. What the node itself decides the caller sets.
func (t *task) open() (*settings, []node.Seed, []*program.Source, error) {
	s := defaults()
	if _, err := parseConfig("the crawl's settings", []byte(t.Settings), s, nil); err != nil {
		return nil, nil, nil, err
	}
	var seeds []node.Seed
	for _, seed := range t.Seeds {
		u, err := page.Parse(seed.URL)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("the crawl's seed %q: %w", seed.URL, err)
		}
		seeds = append(seeds, node.Seed{URL: u, Score: seed.Score})
	}
	var list []*program.Source
	for _, p := range t.Programs {
		list = append(list, p.source())
	}
	return s, seeds, list, nil
}

// local are the flags that a crawl of several nodes cannot have, and what to do
// instead.
var local = map[string]string{
	"dir":         "every node has a folder of its own: weir node --dir",
	"limit":       "--cluster-limit holds for all nodes together, and weir node --limit for the link of one",
	"timetable":   "it is of one node's link: weir node --timetable",
	"quota":       "it is of one node's link: weir node --quota",
	"strict":      "it is of one node's link: weir node --strict",
	"yield":       "it is of one node's link: weir node --yield",
	"yield-probe": "it is of one node's link: weir node --yield-probe",
	"memory":      "it is of one machine: weir node --memory",
	"stop-gain":   "no node has all pages in the order in which they were worth less and less; --max-pages, --depth, --site-pages and the scope hold",
	"header":      "its value would be kept where all nodes can read it",
	"cookies":     "the file would have to be on every node",
	"auth":        "the file would have to be on every node",
	"learn-from":  "the folder would have to be on every node",
	"holidays":    "the file would have to be on every node",
	"share-with":  "the folder would have to be on every node: weir node --share-with",
	"trace":       "there are several nodes, and one file",
	"json":        "weir status --json is for programs",
}

// shareable refuses what several nodes cannot do together.
func (s *settings) shareable(list []*program.Source, scheme overlay.Scheme) error {
	was := fields(defaults())
	for i, f := range fields(s) {
		if why, ok := local[f.name]; ok && f.text() != was[i].text() {
			return usage(why, "--%s does not go with a cluster", f.name)
		}
	}
	for _, one := range s.Sites {
		if len(one.Headers) > 0 {
			return usage("leave them out", "%s: the headers of %s do not go with a cluster, since all nodes could read them", one.where(), one.Site)
		}
	}
	if scheme.Second == overlay.ByRTT && scheme.By != overlay.ByHost {
		return usage("take --scheme redirect:rtt", "--scheme %s: how far a host is knows the node that has all of its pages", scheme)
	}
	order, err := frontier.Order(s.Order)
	if err != nil {
		return err
	}
	if t := order.Traits(); t.Ranked || t.Batched {
		return usage("take --order siteopic, opic, length, depth or score", "--order %s ranks pages by all links of the crawl, and no node of a cluster has all of them", s.Order)
	}
	if len(list) > 1 && scheme.Second != overlay.Stay {
		return usage("take --scheme host, url or host-8", "--scheme %s hands pages on, and what several programs ask of them stays at home", scheme)
	}
	for _, src := range list {
		if _, err := src.Compile(flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: s.IgnoreRobots}); err != nil {
			return err
		}
	}
	return nil
}
