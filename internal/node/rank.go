package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

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
	Memory int64 // that would do, in all
	err    error
}

func (e *TooLarge) Error() string { return "rank the pages: " + e.err.Error() }

func (e *TooLarge) Unwrap() error { return e.err }

// rank ranks all pages by the links that are durable, beside the crawl, and hands
// the committer what comes of it. Pages that cannot be ranked within the memory
// end a crawl in batches; others go on by the scores they have.
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
	web, err := n.links(ctx)
	var large *rank.TooLarge
	switch {
	case ctx.Err() != nil:
		return
	case errors.As(err, &large) && order.Traits().Batched:
		n.fail(&TooLarge{Memory: large.Need * rankShare, err: err})
		return
	case large != nil:
		n.notice(fmt.Sprintf("%v; the order goes on by what it has", err))
	case err != nil:
		n.fail(fmt.Errorf("rank the pages: %w", err))
		return
	default:
		rounds := web.Rank(rank.Options{})
		n.log.event("rank", map[string]any{"version": version, "pages": web.Pages(), "links": web.Links(), "rounds": rounds})
		err := crawl.ReadScores(n.store, order, int(o.Pages), web, func(s []crawl.Score) bool {
			return send(scored{version: version, scores: s})
		})
		if err != nil {
			n.fail(err)
			return
		}
	}
	send(scored{version: version, last: true})
}

// links builds the web of what has been fetched so far.
func (n *node) links(ctx context.Context) (*rank.Web, error) {
	upto, err := crawl.Linked(n.store)
	if err != nil {
		return nil, err
	}
	b := rank.Builder{Budget: n.cfg.Memory / rankShare, Seed: binary.BigEndian.Uint64(n.secret[:])}
	return b.Build(func(visit func(from uint64, targets []uint64)) error {
		err := crawl.ReadLinks(n.store, upto, func(from uint64, targets []uint64) bool {
			visit(from, targets)
			return ctx.Err() == nil
		})
		return errors.Join(err, ctx.Err())
	})
}
