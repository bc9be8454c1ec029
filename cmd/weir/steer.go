package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"weir/internal/node"
)

// steerCmd changes the limits, the deadlines or the program of a crawl that runs.
type steerCmd struct {
	Where     []string  `arg:"" optional:"" name:"dir-or-file" help:"Folder of the crawl, and the file of another program: the same as --dir and --program."`
	Dir       string    `placeholder:"DIR" default:"weir-crawl" help:"Folder of the crawl."`
	Limit     rate      `placeholder:"RATE" help:"Bandwidth that may be used from now on, none for no limit."`
	Timetable timetable `placeholder:"SPEC" help:"Limits by day and hour from now on, none for no timetable."`
	Quota     quota     `placeholder:"SIZE/PERIOD" help:"Bytes that a period may bring from now on, none for no quota."`
	Deadline  []string  `sep:"none" placeholder:"SITE=TIME" help:"Have all of a site by a time, as in example.org=06:00; SITE=none takes it back. Those that were promised before go first."`
	Program   string    `placeholder:"FILE" help:"Program that says from now on what to crawl. Pages that the crawl has are read again for it."`
	Set       []string  `sep:"none" placeholder:"NAME=VALUE" help:"Value of a setting of the program."`
	Add       bool      `help:"Add the program's rules to those that the crawl has, instead of replacing them."`
	Beside    bool      `help:"Let the program share the crawl with those that it has: it gets tables of its own, and each page is fetched once for all."`
	Leave     string    `placeholder:"NAME" help:"Name of a program that shares the crawl no longer: what only it asked for is not fetched any more."`
	Seeds     string    `placeholder:"FILE" help:"With --beside: URLs that this program starts from, instead of the crawl's; one per line, - for standard input."`
	At        string    `placeholder:"HOST:PORT" help:"A node of a cluster, any of them: all of its nodes take up the program."`
	Certs     string    `placeholder:"DIR" help:"With --at: folder of your certificate, as weir node cert makes it."`
	JSON      bool      `name:"json" help:"The answer as a line of JSON."`
}

// Help shows examples.
func (c *steerCmd) Help() string {
	return `What is not named stays as it is; nothing named only tells what holds now. A change takes effect at once, and is kept
for when the crawl goes on later.

Another program holds from the next page on. Pages that were fetched before are read again from the archive, as if the
crawl had run under the new program from the start, and its tables are made anew; pages that wait and that it does not
ask for end as steered-away. A crawl with --warc none must have kept the facts that the program needs: it does so if it
was begun with a bound on the depth, for what its first program looks at.

With --beside the program does not take the place of the crawl's own but shares the crawl with it, under its file's name. Where
several programs do, a program takes the place of the one with its name. A program may come to share a crawl that does not run, too.

Examples:
  weir steer
  weir steer --limit 500KB/s
  weir steer --deadline example.org=06:00
  weir steer --dir big --timetable 'Mon-Fri 08:00-18:00 500KB/s, 5MB/s' --quota none
  weir steer big docs.dl --set max=3
  weir steer --add --program broken.dl
  weir steer big broken.dl --beside              two programs, one crawl
  weir steer big --leave broken

With --at it is the crawl of a cluster. Its nodes agree on the change before they take it up, one that is away when it is back;
each reads the pages again that it has.

  weir steer --at a.example.org:7400 --certs me broken.dl --beside
  weir steer --at a.example.org:7400 --certs me --leave broken`
}

// Run implements the verb.
func (c *steerCmd) Run(e *env, k *kong.Context) error {
	var change node.Steering
	began, now := time.Now(), new(settings)
	given := map[string]bool{}
	for _, p := range k.Path {
		if p.Flag == nil {
			continue
		}
		given[p.Flag.Name] = true
		switch p.Flag.Name {
		case "limit":
			text := c.Limit.String()
			change.Limit, now.Limit = &text, c.Limit
		case "timetable":
			text := c.Timetable.String()
			change.Timetable, now.Timetable = &text, c.Timetable
		case "quota":
			text := c.Quota.String()
			change.Quota, now.Quota = &text, c.Quota
		case "deadline":
			text, err := c.deadlines(began)
			if err != nil {
				return err
			}
			change.Deadlines = &text
		}
	}
	if err := c.place(given); err != nil {
		return err
	}
	if c.At != "" {
		return c.steerAt(e, given)
	}
	if c.Program != "" || c.Leave != "" {
		if change != (node.Steering{}) {
			return usage("give one command for each", "limits and the program cannot be changed in one go")
		}
		return c.turn(e)
	}
	if err := c.aimless(); err != nil {
		return err
	}
	if change != (node.Steering{}) {
		if kept, err := c.changed(change, began); err == nil && kept.Yield && !kept.limits().Set() {
			return usage("name another limit, as in --limit 5MB/s; or stop the crawl and go on with weir crawl"+dirFlag(c.Dir)+" --yield=false --limit none",
				"the crawl has --yield, which needs a limit: it leaves a part of it to others")
		}
	}
	if err := c.single(); err != nil {
		return err
	}
	held, err := node.Steer(e.ctx, c.Dir, change)
	if errors.Is(err, node.ErrNotRunning) {
		return c.notRunning(change)
	}
	var unknown *node.Stranger
	if errors.As(err, &unknown) {
		return stranger(err)
	}
	if err != nil {
		return failure(err, "weir steer --help says how limits are written")
	}
	for _, w := range limitWarnings(now.limits()) {
		fmt.Fprintf(e.err, "weir: warning: %s\n", w)
	}
	if change != (node.Steering{}) {
		if err := c.keep(change, began); err != nil {
			return failure(fmt.Errorf("the crawl has changed its limits, but they could not be kept for later: %w", err), "give them again when the crawl goes on")
		}
	}
	if c.JSON {
		return json.NewEncoder(e.out).Encode(held)
	}
	return c.tell(e, held)
}

// single refuses the folder of a cluster's node: the others would not hear of it, and
// its part of a common limit is theirs too.
func (c *steerCmd) single() error {
	dir := filepath.Clean(c.Dir)
	for _, dir := range []string{dir, filepath.Dir(dir)} {
		if h, err := readHome(dir); err == nil {
			return usage(fmt.Sprintf("weir status --node %s tells how it is doing; for other limits of its link end the node with Ctrl-C, and start it with weir node --dir %s and --limit, --timetable or --quota", quoted(dir), quoted(dir)),
				"%s is of the node %s of a cluster, and is not steered by itself", c.Dir, h.Name)
		}
	}
	return nil
}

// notRunning says why there is nobody to steer, and what to do.
func (c *steerCmd) notRunning(change node.Steering) error {
	at, err := look(c.Dir)
	switch {
	case err != nil:
		return folderError(c.Dir, err)
	case at != begun:
		return failure(fmt.Errorf("there is no crawl in %s", c.Dir), "name the folder of a crawl with --dir; weir crawl"+dirFlag(c.Dir)+" URL starts one")
	}
	flags := ""
	for _, f := range []struct {
		name string
		text *string
	}{{"limit", change.Limit}, {"timetable", change.Timetable}, {"quota", change.Quota}, {"deadline", change.Deadlines}} {
		if f.text != nil {
			flags += fmt.Sprintf(" --%s '%s'", f.name, *f.text)
		}
	}
	return failure(fmt.Errorf("no crawl is running in %s", c.Dir), "weir crawl"+dirFlag(c.Dir)+flags+" goes on with it")
}

// keep writes the change into the folder, so that the crawl goes on with it.
func (c *steerCmd) keep(change node.Steering, began time.Time) error {
	s, err := c.changed(change, began)
	if err != nil {
		return err
	}
	return writeConfig(c.Dir, s)
}

// changed returns the folder's settings with a change that was told at a time.
func (c *steerCmd) changed(change node.Steering, began time.Time) (*settings, error) {
	s := defaults()
	if _, err := readConfig(filepath.Join(c.Dir, crawlFile), s, nil); err != nil {
		return nil, err
	}
	if change.Limit != nil {
		s.Limit = c.Limit
	}
	if change.Timetable != nil {
		s.Timetable = c.Timetable
	}
	if change.Quota != nil {
		s.Quota = c.Quota
	}
	if change.Deadlines != nil {
		had := append(s.lift(), telling("deadline", s.Deadline)...)
		all := strings.Split(*change.Deadlines, ",")
		if _, _, err := s.agree(began, &dues{had: had, flags: telling("--deadline", all)}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// deadlines are those to tell the crawl.
func (c *steerCmd) deadlines(now time.Time) (string, error) {
	wishes, err := readWishes(telling("--deadline", c.Deadline), now)
	if err != nil {
		return "", err
	}
	var all []string
	for _, w := range wishes {
		if err := w.over(now); err != nil {
			return "", err
		}
		all = append(all, w.String())
	}
	return strings.Join(all, ","), nil
}

// tell says what holds.
func (c *steerCmd) tell(e *env, h node.Held) error {
	out := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	now := "no limit"
	switch {
	case h.Now > 0:
		now = fmt.Sprintf("%s/s of %s/s%s", bytesOf(h.Rate), bytesOf(float64(h.Now)), inBrackets(h.Text))
	case h.Now < 0:
		now = h.Text
	}
	fmt.Fprintf(out, "  now\t%s\n", now)
	fmt.Fprintf(out, "  limit\t%s\n  timetable\t%s\n  quota\t%s", h.Limit, h.Timetable, h.Quota)
	if h.Quota != none {
		fmt.Fprintf(out, ", %s used", bytesOf(float64(h.Used)))
	}
	fmt.Fprintln(out)
	for _, p := range h.Promises {
		fmt.Fprintf(out, "  %s\t%s\n", p.Site, promiseLine(p, time.Now()))
	}
	if h.Late > 0 {
		fmt.Fprintf(out, "\n%s under way when this first limit came, and may still exceed it.\n", map[bool]string{true: "One download was", false: fmt.Sprintf("%d downloads were", h.Late)}[h.Late == 1])
	}
	return out.Flush()
}
