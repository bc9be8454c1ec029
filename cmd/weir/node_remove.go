package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"weir/internal/cluster"
)

// nodeRemoveCmd takes a dead node out.
type nodeRemoveCmd struct {
	Name string `arg:"" name:"node" help:"The node, by its name in weir status."`
	contact
	Refetch bool `help:"Have the others fetch again what it had fetched: its disk is lost."`
}

// Help ends the help text of the command.
func (c *nodeRemoveCmd) Help() string {
	return `A node that is away has its work done by the others, and comes back whenever it likes. Remove one only when it does
not come back: its copies of the nodes' logs are then made elsewhere, and its folder is refused from then on.

The pages that it has fetched are in its folder and nowhere else. If its disk is lost, --refetch has them fetched again;
it can be given later, too. If not, weir export --dir still reads them.

Examples:
  weir node remove c --at a.example.org:7400 --certs me
  weir node remove c --refetch`
}

// refetchTime is how long a node may take to read all logs.
const refetchTime = 5 * time.Minute

// Run implements the verb.
func (c *nodeRemoveCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	ctx, stop, release := e.interrupts(func() {})
	defer release()
	if err := c.remove(ctx, stop, e, cl); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "%s is removed, and its folder is refused from now on; a new node takes its place with weir node and an empty --dir\n", c.Name)
	if !c.Refetch {
		fmt.Fprintf(e.out, "the pages it has fetched are in its folder only: if that is lost, weir node remove %s --refetch has them fetched again\n", c.Name)
		return nil
	}
	fmt.Fprintln(e.err, "looking for its pages in the logs")
	var pages int64
	if err := putFor(ctx, refetchTime, cl, "", refetchTopic, c.Name, &pages); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "%s that %s had fetched wait to be fetched again\n", many(pages, "page"), c.Name)
	return nil
}

// remove waits until the others know that the node is gone, since it may only be
// slow, and until those that came in its place have caught up. Whoever leads may not
// have heard yet of one that has come.
func (c *nodeRemoveCmd) remove(ctx context.Context, stop <-chan struct{}, e *env, cl *cluster.Client) error {
	begin := time.Now()
	for said := ""; ; {
		err := put(ctx, cl, "", removeTopic, c.Name, nil)
		if err == nil {
			return nil
		}
		wait := time.Duration(0)
		switch {
		case strings.Contains(err.Error(), cluster.ErrSoon.Error()):
			wait = removeTime
		case strings.Contains(err.Error(), cluster.ErrFew.Error()):
			wait = heardTime
		case strings.Contains(err.Error(), cluster.ErrHeadless.Error()):
			wait = electionTime
		}
		if time.Since(begin) >= wait {
			return err
		}
		if why := err.Error(); why != said {
			fmt.Fprintf(e.err, "waiting: %s; Ctrl-C gives up\n", why)
			said = why
		}
		if !pauseFor(ctx, stop, time.Second) {
			fmt.Fprintf(e.err, "weir: %s is not removed\n", c.Name)
			return quiet(exitInterrupted)
		}
	}
}

// removeTime is how long a node waits until another one can be removed, and heardTime
// until all have heard of one that has come. One that has come by the name of a removed
// one keeps no copies for five minutes.
const (
	removeTime = 6 * time.Minute
	heardTime  = 15 * time.Second
)

// refetch has pages fetched again that a node had.
func (s *station) refetch(ctx context.Context, b []byte) ([]byte, error) {
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, refetchTime)
	defer cancel()
	pages, err := s.cl.Refetch(ctx, name)
	if err != nil {
		return nil, err
	}
	s.note(fmt.Sprintf("%s was removed: %s that it had fetched wait to be fetched again", name, many(int64(pages), "page")))
	s.heal(name)
	s.spread(fetchingTopic, name)
	return json.Marshal(pages)
}

// fetching hears that the pages of a node are fetched again.
func (s *station) fetching(_ context.Context, b []byte) ([]byte, error) {
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return nil, err
	}
	if name != "" {
		s.heal(name)
	}
	return nil, nil
}

// heal takes the advice back to have the pages of a node fetched again.
func (s *station) heal(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.lost, func(_ string, at time.Time) bool { return now.Sub(at) >= heardTime })
	s.lost[name] = now
	for i := range s.warned {
		if s.warned[i].removed == name {
			s.warned[i].text = again(name)
		}
	}
}

// again says of a node that was removed that nothing is left to do about it.
func again(name string) string {
	return "warning: " + name + " was taken out of the cluster, and the pages that it had fetched are fetched again"
}
