package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"weir/internal/cluster"
)

// drainCmd has a node leave.
type drainCmd struct {
	Name string `arg:"" name:"node" help:"The node, by its name in weir status."`
	contact
}

// Help ends the help text of the command.
func (c *drainCmd) Help() string {
	return `The node stops to fetch, hands its partitions over, and ends. What it has fetched stays in its folder, and
weir node with the same folder brings it back. Ctrl-C at the node does the same.

Examples:
  weir drain c
  weir drain c --at a.example.org:7400 --certs me`
}

// Run implements the verb.
func (c *drainCmd) Run(e *env) error {
	if c.Name == "" {
		return usage("weir status lists them", "which node is to leave?")
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	all, err := gather(e.ctx, cl)
	if err != nil {
		return err
	}
	if n := all.node(c.Name); n == nil {
		return failure(fmt.Errorf("no node of this cluster is called %s", c.Name), "weir status lists them")
	} else if n.State == "gone" {
		return failure(fmt.Errorf("%s is not here", c.Name), "it has left or died; what it did is done by the others")
	}
	if all.pivotal(c.Name) {
		fmt.Fprintf(e.err, "weir: warning: without %s half of the nodes with storage or more are missing: the others fetch nothing until one is back, and nothing is lost\n", c.Name)
	}
	if err := put(e.ctx, cl, c.Name, drainTopic, nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "%s hands over\n", c.Name)
	ctx, stop, release := e.interrupts(func() {})
	defer release()
	left, err := c.watch(ctx, stop, cl, all)
	switch {
	case err != nil:
		return err
	case !left:
		fmt.Fprintf(e.err, "weir: not waiting any longer; %s goes on to hand over\n", c.Name)
		return quiet(exitInterrupted)
	}
	fmt.Fprintf(e.out, "%s has left; its folder keeps what it has fetched\n", c.Name)
	return nil
}

// wsaRefused is what Windows says when nobody listens.
const wsaRefused = syscall.Errno(10061)

// drainTries is how often the last node may fail to answer before nobody knows
// whether it has left.
const drainTries = 10

// watch returns when the node has left, or nobody wants to wait. The node that is
// asked may be the one that leaves: then it asks the others.
func (c *drainCmd) watch(ctx context.Context, stop <-chan struct{}, cl *cluster.Client, all *fleetStatus) (left bool, err error) {
	for fails := 0; pauseFor(ctx, stop, 500*time.Millisecond); {
		now, err := gather(ctx, cl)
		alone := true
		for _, n := range all.Nodes {
			if n.Name == c.Name || n.State == "gone" {
				continue
			}
			if alone = false; err == nil {
				break
			}
			other := cl.At(n.Addr)
			if now, err = gather(ctx, other); err == nil {
				cl = other
			}
		}
		if err != nil && alone {
			if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wsaRefused) {
				return true, nil // it was the last one
			}
			if fails++; fails < drainTries {
				continue // it may be busy, or about to end
			}
		}
		if err != nil {
			return false, failure(fmt.Errorf("%s was told to leave, and nobody says whether it has: %w", c.Name, err), "weir status --at, with the address of a node that is left, tells")
		}
		if n := now.node(c.Name); n == nil || n.State == "gone" {
			return true, nil
		}
		all, fails = now, 0
	}
	return false, nil
}

// pivotal says that without a node half of those with storage or more would be
// missing.
func (f *fleetStatus) pivotal(name string) bool {
	here, missing := f.storing()
	all := len(here) + len(missing)
	left := slices.DeleteFunc(here, func(n string) bool { return n == name })
	return (len(left) < len(here) || slices.Contains(missing, name)) && len(left) <= all/2
}

// farewell tells the other nodes why this one ends though nobody asked it to.
func (s *station) farewell(why error) { s.bye.Do(func() { s.sayFarewell(why) }) }

func (s *station) sayFarewell(why error) {
	s.spread(farewellTopic, farewell{s.cl.Peers()[0].Name, why.Error()})
}

// spread tells the other nodes something, those that hear it within a moment.
func (s *station) spread(topic string, news any) {
	ctx, cancel := context.WithTimeout(context.Background(), silentTime)
	defer cancel()
	text, err := json.Marshal(news)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	for _, p := range s.cl.Peers()[1:] {
		if p.Connected {
			wg.Go(func() { _, _ = s.cl.Ask(ctx, p.Name, topic, text) }) // it may be gone, too
		}
	}
	wg.Wait()
}

// farewell is what a node says that cannot go on.
type farewell struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// left takes the farewell of another node.
func (s *station) left(_ context.Context, b []byte) ([]byte, error) {
	var f farewell
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	s.warn(fmt.Errorf("%s has left: %s", f.Name, f.Why))
	return nil, nil
}

// node finds a node by its name.
func (f *fleetStatus) node(name string) *nodeStatus {
	i := slices.IndexFunc(f.Nodes, func(n nodeStatus) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Nodes[i]
}

// pauseFor waits, and says whether nobody wants it to end.
func pauseFor(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
	case <-ctx.Done():
	}
	return false
}
