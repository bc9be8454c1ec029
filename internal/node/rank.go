package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"weir/crawl"
	"weir/frontier"
	"weir/rank"
)

// scored are scores on their way to the committer.
type scored struct {
	version uint32
	scores  []crawl.Score
	last    bool
}

// rankShare is what part of the memory a ranking may take.
const rankShare = 8

// TooLarge says that pages cannot be ranked with the memory there is.
type TooLarge struct {
	Memory int64 // that would do, in all; 0: none would
	err    error
}

func (e *TooLarge) Error() string { return "rank the pages: " + e.err.Error() }

func (e *TooLarge) Unwrap() error { return e.err }

func tooLarge(err *rank.TooLarge) *TooLarge {
	e := &TooLarge{err: err}
	if err.Need <= math.MaxInt64/rankShare {
		e.Memory = err.Need * rankShare
	}
	return e
}

// rank ranks all pages by the links that are durable, beside the crawl, and hands
// the committer what comes of it. Pages that cannot be ranked within the memory
// end a crawl in batches; others go on by the scores they have, and do not try
// again: the web only grows.
func (n *node) rank(ctx context.Context, o crawl.Rank) {
	version := o.Version
	order, err := frontier.Order(n.cfg.Order)
	if err != nil {
		n.fail(err)
		return
	}
	send := func(s scored) bool {
		select {
		case n.scores <- s:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if n.outgrown {
		send(scored{version: version, last: true})
		return
	}
	on := func() bool { return ctx.Err() == nil }
	web, err := n.links(on)
	var large *rank.TooLarge
	switch {
	case !on():
		return
	case errors.As(err, &large) && order.Traits().Batched:
		n.fail(tooLarge(large))
		return
	case large != nil:
		n.outgrown = true
		n.notice(fmt.Sprintf("%v; for the rest of this run the order goes on by what it has", err))
	case err != nil:
		n.fail(fmt.Errorf("rank the pages: %w", err))
		return
	default:
		rounds := web.Rank(rank.Options{Stop: func() bool { return !on() }})
		if !on() {
			return
		}
		n.log.event("rank", map[string]any{"version": version, "pages": web.Pages(), "links": web.Links(), "rounds": rounds})
		err := crawl.ReadScores(n.store, order, int(o.Pages), web, on, func(s []crawl.Score) bool {
			return send(scored{version: version, scores: s})
		})
		if err != nil {
			n.fail(err)
			return
		}
		if !on() {
			return
		}
	}
	send(scored{version: version, last: true})
}

// links builds the web of what has been fetched so far, unless it is told to stop.
func (n *node) links(on func() bool) (*rank.Web, error) {
	upto, err := crawl.Linked(n.store)
	if err != nil {
		return nil, err
	}
	b := rank.Builder{Budget: n.cfg.Memory / rankShare, Seed: binary.BigEndian.Uint64(n.secret[:])}
	return b.Build(func(visit func(from uint64, targets []uint64)) error {
		more := true
		err := crawl.ReadLinks(n.store, upto, func(from uint64, targets []uint64) bool {
			visit(from, targets)
			more = on()
			return more
		})
		if err == nil && !more {
			err = context.Canceled
		}
		return err
	})
}
