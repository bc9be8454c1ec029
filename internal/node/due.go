package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/crawl"
)

// dueBatch is how many pages Reread reads at a time.
const dueBatch = 512

// errDue says that pages are due and cannot be had.
var errDue = errors.New("pages that are to be read again cannot be found")

// Reread delivers the pages of a stored crawl whose facts mean more by now than when
// they came, as a crawl does when it has nothing else to do: what follows from them
// waits afterwards. Nobody is asked for anything. Told hears how many were read. It
// may be cut short at any time, and goes on the next time.
func Reread(ctx context.Context, cfg Config, told func(pages int64)) error {
	n, err := open(cfg)
	if err != nil {
		return err
	}
	n.reason = crawl.StopByUser
	_, err = n.close(n.rereadAll(ctx, told))
	return err
}

func (n *node) rereadAll(ctx context.Context, told func(pages int64)) error {
	pages, idle := int64(0), 0
	for {
		if t := n.ledger.Totals(); t.Due == 0 && !t.Stale && !t.Steered {
			return nil
		}
		n.ledger.Clock(time.Now().UnixNano())
		keys, err := n.ledger.Due(dueBatch)
		if err != nil {
			return err
		}
		if idle++; len(keys) > 0 {
			idle = 0
		}
		if idle > 2 { // what was derived in the last turn is there by now
			return errDue
		}
		d, err := n.readAgain(ctx, keys)
		if err != nil {
			return fmt.Errorf("read pages again: %w", err)
		}
		for _, f := range d.facts {
			if err := n.ledger.Again(f); err != nil {
				return err
			}
			if n.ledger.Bytes() >= groupBytes {
				if err := n.flush(n.store.Begin()); err != nil {
					return err
				}
			}
		}
		for _, k := range d.lost {
			if err := n.ledger.Skip(k); err != nil {
				return err
			}
		}
		if len(keys) > 0 {
			n.ledger.Delivered()
		}
		if err := n.flush(n.store.Begin()); err != nil {
			return err
		}
		pages += int64(len(keys))
		told(pages)
	}
}
