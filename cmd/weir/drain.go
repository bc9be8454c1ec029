package main

import (
	"context"
	"fmt"
	"slices"
	"time"
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
	cl, err := c.client()
	if err != nil {
		return err
	}
	if err := put(e.ctx, cl, c.Name, drainTopic, nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "%s hands over\n", c.Name)
	ctx, stop, release := e.interrupts(func() {})
	defer release()
	for {
		if !pauseFor(ctx, stop, 500*time.Millisecond) {
			fmt.Fprintf(e.err, "weir: not waiting any longer; %s goes on to hand over\n", c.Name)
			return quiet(exitInterrupted)
		}
		all, err := gather(ctx, cl)
		if err != nil { // it may be the one that was asked
			break
		}
		i := slices.IndexFunc(all.Nodes, func(n nodeStatus) bool { return n.Name == c.Name })
		if i < 0 || all.Nodes[i].State == "gone" {
			break
		}
	}
	fmt.Fprintf(e.out, "%s has left; its folder keeps what it has fetched\n", c.Name)
	return nil
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

// nodeRemoveCmd takes a dead node out.
type nodeRemoveCmd struct {
	Name string `arg:"" name:"node" help:"The node, by its name in weir status."`
	contact
}

// Help ends the help text of the command.
func (c *nodeRemoveCmd) Help() string {
	return `A node that is away has its work done by the others, and comes back whenever it likes. Remove one only when its disk
is lost: its copies of the nodes' logs are then made elsewhere, and its folder is refused from then on.

Examples:
  weir node remove c --at a.example.org:7400 --certs me`
}

// Run implements the verb.
func (c *nodeRemoveCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	if err := put(e.ctx, cl, "", removeTopic, c.Name, nil); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "%s is removed; a new node takes its place with weir node and an empty --dir\n", c.Name)
	return nil
}
