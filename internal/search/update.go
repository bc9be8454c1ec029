package search

import (
	"context"
	"errors"
	"fmt"
)

// Source reads the pages of a crawl again.
type Source interface {
	// Pages calls fn with the pages whose records lie in the ranges, in the order
	// of the archive, but for those that ask not to be indexed. It ends with the
	// first error, fn's included.
	Pages(ctx context.Context, in []Range, fn func(*Page) error) error
}

// Update indexes what is missing of the archive up to end. What was done before
// an error stays.
func (x *Index) Update(ctx context.Context, from Source, end Point) error {
	missing, err := x.Missing(end)
	if err != nil {
		return err
	}
	return x.Fill(ctx, from, missing)
}

// Fill indexes some of what Missing returned.
func (x *Index) Fill(ctx context.Context, from Source, missing []Range) error {
	if len(missing) == 0 {
		return nil
	}
	f := filler{x: x, missing: missing, build: newBuilder(), at: missing[0].From}
	if err := from.Pages(ctx, missing, f.add); err != nil {
		if ctx.Err() != nil && len(f.build.docs) > 0 { // what was done need not be done again
			err = errors.Join(err, f.spill(f.to))
		}
		return err
	}
	for len(f.missing) > 0 {
		if err := f.close(); err != nil {
			return err
		}
	}
	return nil
}

// filler makes segments of the pages of some gaps, which come in order.
type filler struct {
	x       *Index
	missing []Range // the first is being filled
	build   *builder
	at      Point // up to here it is
	to      Point // and up to here it can be, with what is in build
}

func (f *filler) add(p *Page) error {
	for len(f.missing) > 0 && !f.missing[0].Holds(p.Place) {
		if err := f.close(); err != nil {
			return err
		}
	}
	if len(f.missing) == 0 || Start(p.Place).Compare(f.at) < 0 {
		return fmt.Errorf("index: %s came out of order", p.URL)
	}
	f.build.add(p)
	f.to = End(p.Place)
	if f.build.size < f.x.memory {
		return nil
	}
	return f.spill(f.to)
}

// close ends the first gap.
func (f *filler) close() error {
	to := f.missing[0].To
	f.missing = f.missing[1:]
	if f.at.Compare(to) < 0 {
		if err := f.spill(to); err != nil {
			return err
		}
	}
	if len(f.missing) > 0 {
		f.at = f.missing[0].From
	}
	return nil
}

func (f *filler) spill(to Point) error {
	err := f.x.spill(f.build, Range{f.at, to})
	f.build, f.at = newBuilder(), to
	if err == nil && !f.x.guest {
		err = f.x.merge()
	}
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}
