package node

import (
	"context"
	"fmt"

	"weir/crawl"
	"weir/internal/extract"
	"weir/page"
)

// delivered are the facts of pages on their way to the committer once more.
type delivered struct {
	turned int // how often the programs had changed when they were read
	facts  []*page.Facts
	lost   []page.Key // their records cannot be read
}

// redeliver finds the pages that are due and has them read again, beside the crawl.
func (c *committer) redeliver(ctx context.Context, o crawl.Redeliver) error {
	n := c.n
	if c.group != nil {
		if err := c.commit(ctx); err != nil {
			return err
		}
	}
	c.open()
	keys, err := n.ledger.Due(o.Pages)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		if err := c.commit(ctx); err != nil {
			return err
		}
		n.send(ctx, crawl.Redelivered{})
		return nil
	}
	turned := n.turned
	n.work.Go(func() { n.reread(ctx, turned, keys) })
	return nil
}

// reread reads pages again and hands them to the committer.
func (n *node) reread(ctx context.Context, turned int, keys []page.Key) {
	d, err := n.readAgain(ctx, keys)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		n.fail(fmt.Errorf("read pages again: %w", err))
		return
	}
	d.turned = turned
	select {
	case n.again <- d:
	case <-ctx.Done():
	}
}

// readAgain reads pages, and robots.txt, from the archive or from rows. A page
// whose record cannot be read has nothing more to say; the log names it.
func (n *node) readAgain(ctx context.Context, keys []page.Key) (d delivered, err error) {
	archive, err := extract.NewArchive(n.store, n.extract())
	if err != nil {
		return d, err
	}
	view, err := crawl.NewView(n.store)
	if err != nil {
		return d, err
	}
	var bad error
	pages := func(yield func(*crawl.PageInfo) bool) error {
		for _, k := range keys {
			if k.Hash == 0 {
				continue
			}
			info, err := view.Key(k)
			if err != nil {
				bad = err
				return err
			}
			if info == nil {
				info = &crawl.PageInfo{Key: k}
			}
			if !yield(info) {
				return nil
			}
		}
		return nil
	}
	read := func(r *extract.Rereader, p *crawl.PageInfo) (*page.Facts, error) {
		f, err := r.Facts(p)
		if err != nil {
			n.log.event("reread-failed", map[string]any{"url": p.URL.String(), "why": err.Error()})
			return &page.Facts{Key: p.Key}, nil
		}
		return f, nil
	}
	for f, err := range extract.Each(ctx, archive, pages, read) {
		switch {
		case err != nil:
			return d, err
		case f.Outcome == page.None:
			d.lost = append(d.lost, f.Key)
		default:
			d.facts = append(d.facts, f)
		}
	}
	if bad != nil {
		return d, bad
	}
	for _, k := range keys {
		if k.Hash != 0 {
			continue
		}
		site, err := view.Site(k.Site)
		if err != nil {
			return d, err
		}
		d.facts = append(d.facts, archive.Robots(site))
	}
	return d, ctx.Err()
}

// deliver gives the Ledger pages that were read again, in groups of their own.
// Those that were read for an earlier program are still due, if they are.
func (c *committer) deliver(ctx context.Context, d delivered) error {
	if d.turned != c.n.turned {
		c.n.send(ctx, crawl.Redelivered{})
		return nil
	}
	if c.group != nil {
		if err := c.commit(ctx); err != nil {
			return err
		}
	}
	c.open()
	for _, f := range d.facts {
		if err := c.n.ledger.Again(f); err != nil {
			return err
		}
		if c.full() {
			if err := c.commit(ctx); err != nil {
				return err
			}
			c.open()
		}
	}
	for _, k := range d.lost {
		if err := c.n.ledger.Skip(k); err != nil {
			return err
		}
	}
	c.n.ledger.Delivered()
	if err := c.commit(ctx); err != nil {
		return err
	}
	c.n.send(ctx, crawl.Redelivered{})
	return nil
}
