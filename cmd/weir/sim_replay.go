package main

import (
	"errors"
	"fmt"
	"os"

	"weir/crawl"
)

// simReplayCmd plays a trace again.
type simReplayCmd struct {
	Trace string `arg:"" name:"trace" help:"File that weir crawl --trace or weir sim run --trace wrote."`
}

// Help shows examples.
func (c *simReplayCmd) Help() string {
	return `Every event of the trace is given to a new engine, and every order that comes out is compared, byte by byte, with the one
that came out then. A trace may hold several runs of a crawl; one that a crash cut off is played to there.

Examples:
  weir crawl --trace run.trace https://example.org/
  weir sim replay run.trace

Exit codes: 0 the orders are the same, 1 they differ or the trace cannot be read, 2 wrong usage.`
}

// Run implements the verb.
func (c *simReplayCmd) Run(e *env) error {
	f, err := os.Open(c.Trace)
	if err != nil {
		return usage("name a file that weir crawl --trace wrote", "%s: %w", c.Trace, plain(err))
	}
	defer f.Close()
	played, err := crawl.Replay(f)
	var differ *crawl.Difference
	switch {
	case errors.As(err, &differ):
		fmt.Fprintf(e.out, "%s played, %s compared; then they differ\n", many(int64(played.Events), "event"), many(int64(played.Orders), "order"))
		return failure(fmt.Errorf("%s: %w", c.Trace, err), "the trace is of another version of weir, or it was changed")
	case err != nil:
		return failure(fmt.Errorf("%s: %w", c.Trace, err), "it must be a file that weir crawl --trace or weir sim run --trace wrote")
	case played.Events == 0:
		return failure(fmt.Errorf("%s: the trace is empty", c.Trace), "it must be a file that weir crawl --trace or weir sim run --trace wrote")
	}
	if played.Cut {
		fmt.Fprintf(e.err, "weir: warning: the last line of %s was cut off, as a crash leaves it; it was not played\n", c.Trace)
	}
	_, err = fmt.Fprintf(e.out, "%s of %s played, %s compared: byte for byte the same\n",
		many(int64(played.Events), "event"), many(int64(played.Runs), "run"), many(int64(played.Orders), "order"))
	return err
}
