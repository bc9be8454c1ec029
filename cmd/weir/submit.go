package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/internal/node"
	"weir/overlay"
)

// submitCmd gives a crawl to a cluster.
type submitCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Pages to start from."`
	contact
	Name   string `placeholder:"NAME" default:"crawl" help:"Name of the crawl: that of its folder on every node, or what it is called beside those that it shares the cluster with. Default: crawl, or that of the program's file."`
	Limit  rate   `name:"cluster-limit" placeholder:"RATE" default:"none" help:"Bandwidth that all nodes may use together, as in 20MB/s."`
	Scheme string `placeholder:"SCHEME" default:"host" help:"Which pages stay together on a node: host, those of one host; url, none; host-8, an eighth of those of a host. redirect hands pages on when more than 500 wait (redirect:url,over=200,max=2,n=16 if pages are on their own, 200 wait, two hand them on, to 16 partitions); redirect:rtt hands those of hosts more than 100 ms away to the nearest of three nodes (redirect:over=80ms). adaptive is host, but a host that a node has no connection for is left to one that has, unless more than 4,096 of its pages wait (adaptive:over=1000): those are spread over more nodes; adaptive:rtt leaves, besides, what is found of hosts more than 100 ms away to the nearest of three nodes (adaptive:rtt=80ms). Whatever it is, a host is visited by one node at a time."`
	From   string `placeholder:"DIR" help:"Take over the crawl in this folder, which weir crawl has begun: its settings, what it has fetched and what waits. It must have been stopped."`
	Cancel bool   `help:"With --name, end one of the programs that share the cluster's crawl. Without, call off a --from that was given up half-way: the cluster drops what it has of that crawl, and takes another one; the folder stays as it is."`
	Wait   bool   `name:"wait-done" help:"Wait until nothing is left to do."`
	settings

	changes int      // of the crawl's programs, with this one
	seeds   []string // that it starts from
}

// Help ends the help text of the command.
func (c *submitCmd) Help() string {
	return `Every node hears of the crawl, also one that joins later, and takes its part in it. The flags are those of weir crawl.

Examples:
  weir submit --at a.example.org:7400 --certs me https://example.org/
  weir submit --scope domain --depth 3 --cluster-limit 20MB/s --seeds urls.txt
  weir submit --cluster-limit 20MB/s --deadline example.org=06:00 https://example.org/ https://example.net/
  weir submit --program needle.dl --program news.dl --wait-done https://example.org/
  weir submit --index https://example.org/          then weir search --at a.example.org:7400 --certs me WORD
  weir submit --max-pages 100000 --seeds urls.txt
  weir submit --from big --at a.example.org:7400 --certs me
  weir submit --name docs --depth 2 https://docs.example.org/       beside the crawl that runs, or is done
  weir submit --name fresh --share-within 1h https://example.org/   the same, with pages of the last hour only
  weir submit --cancel --name docs

A cluster has one crawl, and whatever is submitted after the first comes to share it, as a program of its own with its own
seeds and tables: weir query --of NAME, weir export NAME.TABLE. Each page is fetched once, for all that ask for it, and those
that were fetched before are read again from the archive of the node that has them, however old they are; pages of a
node that is away are fetched again. With --share-within 1h so are those that were fetched more than an hour before it was
submitted, once, when it comes to ask for them; what they say now goes to all that ask for them, and --site-pages and
--max-pages count them once. What shares the crawl already stays as it is: under another --name it comes anew. What holds for
the whole crawl stays as it was submitted first (--wait, --warc, --scheme, --order, --user-agent, ...): to ask for something
else is refused. So is a second one where pages are handed on (--scheme redirect, adaptive), without an archive
(--warc none), and when --max-pages is reached. weir status names all, and how they are.

With --from a crawl of one machine goes on in the cluster: nothing is fetched again and nothing forgotten. Its archive
stays where it is, and weir export --dir reads it. Cut short, the same command goes on; until it has, the cluster takes
no other crawl. weir submit --cancel calls it off, and weir crawl --dir goes on with the folder.

With --max-pages nodes stop when they have fetched so many pages together. What is left is divided among them, so they
fetch a few more at most, unless a node dies and comes back with pages that the others had not heard of.

With --max-bytes it is the same with the bytes of bodies. How large a page is shows when it has come: so there are more in
the end, by the pages that are under way when it is enough, as many at most as all nodes have connections. What a crawl
that was taken over had fetched before does not count.

With --max-time no page is asked for after that time, counted from when the cluster has taken the crawl, by the clock of
each node; also when nodes are away meanwhile, or are started again. What is under way then is finished.

The node that owns a site answers for its deadline, also when the site has moved to another; weir status shows it.

Without --at and --certs the node in the folder weir-node of this machine is asked.`
}

// submission is what a node is asked to keep.
type submission struct {
	Name  string          `json:"name"`
	Task  json.RawMessage `json:"task"`
	Given []string        `json:"given,omitempty"` // the flags that were written
}

// named says that the name was chosen.
func (s *submission) named() bool { return slices.Contains(s.Given, "name") }

// Run checks everything as weir crawl does, and gives it to the cluster.
func (c *submitCmd) Run(e *env, k *kong.Context) error {
	given := map[string]bool{}
	for _, p := range k.Path {
		if p.Flag != nil {
			given[p.Flag.Name] = true
		}
	}
	if c.Cancel {
		return c.cancel(e, given)
	}
	if c.From != "" {
		if err := c.takeOver(e, given); err != nil {
			return err
		}
	} else if err := c.submit(e, given); err != nil {
		return err
	}
	if !c.Wait {
		return nil
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	ctx, stop, release := e.interrupts(func() {})
	defer release()
	return c.wait(ctx, stop, e, cl)
}

// cancel has the cluster give up a crawl that it has only a part of.
func (c *submitCmd) cancel(e *env, given map[string]bool) error {
	if len(c.URLs) > 0 || given["seeds"] || given["from"] || given["wait-done"] {
		return usage("call the old one off first, then submit", "--cancel and a crawl to submit do not go together")
	}
	for _, flag := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains([]string{"cancel", "name", "at", "certs", "node"}, flag) {
			return usage("leave it out, or call the old one off first, then submit", "--cancel takes no --%s", flag)
		}
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	if done, err := c.leave(e, cl, given["name"]); done || err != nil {
		return err
	}
	fmt.Fprintln(e.err, "waiting for what may still be on its way")
	var from taskFrom
	if err := putFor(e.ctx, cancelTime, cl, "", cancelTopic, c.Name, &from); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "called off: the cluster has forgotten what it had of the crawl in %s on %s, and takes another one; weir crawl --dir %s goes on there\n", from.Dir, from.Machine, from.Dir)
	return nil
}

// leave ends one of the programs that share the cluster's crawl, unless that is still
// being taken over.
func (c *submitCmd) leave(e *env, cl *cluster.Client, named bool) (bool, error) {
	var known crawlKnown
	if err := put(e.ctx, cl, "", crawlTopic, nil, &known); err != nil || known.Name == "" {
		return false, err
	}
	t, err := readTask(known.Task)
	if err != nil {
		return false, err
	}
	if t.From != nil && t.From.Moving {
		return false, nil
	}
	if !named {
		return false, begunWith(known.Name)
	}
	var got changed
	if err := put(e.ctx, cl, "", steerTopic, node.Turn{Leave: c.Name}, &got); err != nil {
		return false, err
	}
	fmt.Fprintf(e.err, "cancelled %s: what only it asked for is not fetched any more; left in the crawl: %s\n", c.Name, namesOf(got.Programs))
	return true, nil
}

// begunWith says why a crawl cannot be called off.
func begunWith(crawl string) error {
	return fmt.Errorf("the nodes have begun with the crawl %s, and it cannot be called off: weir drain has them leave; weir submit --cancel --name NAME ends one of several programs that share it", crawl)
}

// cancelTime is how long a node may take to drop a crawl.
const cancelTime = time.Minute

// submit gives a new crawl to the cluster.
func (c *submitCmd) submit(e *env, given map[string]bool) error {
	t, err := c.task(e, given)
	if err != nil {
		return err
	}
	body, err := json.Marshal(t)
	if err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	got := changed{Crawl: c.Name}
	again, err := putAgreed(e.ctx, cl, submitTopic, submission{c.Name, body, slices.Sorted(maps.Keys(given))}, &got)
	if err != nil {
		return err
	}
	c.changes = got.Changes
	for _, seed := range t.Seeds {
		c.seeds = append(c.seeds, seed.URL)
	}
	switch {
	case got.Faults != "":
		fmt.Fprintln(e.err, got.Faults)
		return quiet(exitUsage)
	case len(got.New) > 0:
		had := "pages that this has"
		if t.Version == youngTask {
			had += " and that are not older than --share-within"
		}
		fmt.Fprintf(e.err, "submitted %s, which shares the crawl %s: %s are not fetched again; weir status shows how it goes\n", strings.Join(got.New, ", "), got.Crawl, had)
	case got.Same && !again:
		fmt.Fprintf(e.err, "the crawl %s has this already, and nothing changes; weir status shows how it goes\n", got.Crawl)
	default:
		fmt.Fprintf(e.err, "submitted %s%s; weir status shows how it goes\n", got.Crawl, withPrograms(t))
	}
	return nil
}

// withPrograms names those of a task as --of does.
func withPrograms(t *task) string {
	var names []string
	for i := range t.Programs {
		names = append(names, t.Programs[i].As)
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return ", with the program " + names[0]
	}
	return ", with the programs " + namesOf(names)
}

// task makes of the command line what the cluster keeps.
func (c *submitCmd) task(e *env, given map[string]bool) (*task, error) {
	s, dues, err := settle(&c.settings, given, vacant)
	if err != nil {
		return nil, err
	}
	fresh, _, err := s.agree(time.Now(), dues)
	if err != nil {
		return nil, err
	}
	seeds, err := e.seeds(c.URLs, s.Seeds)
	if err != nil {
		return nil, err
	}
	if err := familiar(s, vacant, fresh, seeds); err != nil {
		return nil, err
	}
	if len(seeds) == 0 && len(s.Program) == 0 {
		return nil, usage("name a page to start from, as in weir submit https://example.org/", "no URL to crawl")
	}
	scheme, err := overlay.ParseScheme(c.Scheme)
	if err != nil {
		return nil, usage("take host, or write it as in --scheme adaptive:rtt=80ms, redirect:over=500 or host-8", "--scheme: %w", err)
	}
	list, err := s.sources(e, given, vacant)
	if err != nil {
		return nil, err
	}
	if err := s.shareable(list, scheme); err != nil {
		return nil, err
	}
	if s.ShareWithin <= 0 {
		return nil, noTime
	}
	if s.ByTerm = s.Index && len(list) == 0; s.Index && len(list) > 0 {
		return nil, usage("put the index into the program instead:\n"+crawl.IndexRules, "--index is a table of the crawl, and this crawl has a program of its own")
	}
	s.allow(seeds)
	cfg, err := setup(s, seeds)
	if err != nil {
		return nil, err
	}
	e.warn(s, seeds)
	bounded(cfg, int64(c.Limit))
	for _, w := range cfg.Warnings {
		fmt.Fprintf(e.err, "weir: warning: %s\n", w)
	}
	t, err := newTask(s, seeds, list, scheme, int64(c.Limit))
	if err == nil && (given["share-within"] || s.ShareWithin != defaults().ShareWithin) {
		t.Version = youngTask // a node that would not heed it refuses it
	}
	return t, err
}

// wait shows how the crawl goes until nothing is left of it.
func (c *submitCmd) wait(ctx context.Context, stop <-chan struct{}, e *env, cl *cluster.Client) error {
	sc := e.screen()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	defer sc.wipe()
	last := time.Now()
	for {
		select {
		case <-stop:
			sc.wipe()
			fmt.Fprintf(e.err, "weir: not waiting any longer; the crawl goes on\n")
			return quiet(exitInterrupted)
		case <-tick.C:
		}
		all, err := gather(ctx, cl)
		if err != nil {
			var f *fault
			if errors.As(err, &f) && f.code == exitUsage {
				return err
			}
			return failure(err, "the crawl goes on without this command; weir status asks again")
		}
		sum := all.sum()
		if all.quiet() && all.changes() >= c.changes {
			sc.wipe()
			why := after(", ", all.why())
			if why == "" {
				if err := c.reached(ctx, cl, all); err != nil {
					return err
				}
			}
			if sum.Fetched == 0 && why == "" {
				return failure(errors.New("the crawl has ended, and no page could be fetched"), "weir export pages --dir, with the crawl's folder on each node, tells why")
			}
			if len(all.missing()) > 0 {
				fmt.Fprintf(e.out, "done: %s, %s%s\n", all.fetched(), bytesOf(float64(sum.Bytes)), why)
				return nil
			}
			fmt.Fprintf(e.out, "done: %s fetched by %s, %s%s\n", many(sum.Fetched, "page"), many(int64(len(all.Nodes)), "node"), bytesOf(float64(sum.Bytes)), why)
			return nil
		}
		line := fmt.Sprintf("%s fetched, %.1f/s, %s queued, %s", many(sum.Fetched, "page"), sum.Pages, thousands(sum.Queued), many(int64(len(all.Nodes)), "node"))
		switch {
		case sc.width != nil:
			sc.paint([]string{"  " + line})
		case time.Since(last) >= lineEvery:
			last = time.Now()
			fmt.Fprintln(e.err, line)
		}
	}
}
