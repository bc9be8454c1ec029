package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"weir/crawl"
	"weir/internal/extract"
	"weir/internal/store"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// A table of all nodes has each page once. Of one that several have, since its
// partition has gone from one to another, the owner's copy counts, and else the one
// that was fetched last. What waits, and what is known of sites, the owner tells:
// others know it as it was when they were owners, or as they stand by.
//
// Who asks says who counts as the owner of what, so that all nodes go by the same
// though partitions move meanwhile. A row's cells come as those of a program's table
// do, with one more behind them: when the page was fetched; of a site, whether the
// node owns it.
const urlTable = "strays" // url, and when it was fetched; the name is for other versions

// cells makes a row of a table ready for a stream.
func cells[T any](row *T, last int64) flow.Row {
	v := reflect.ValueOf(row).Elem()
	out := make(flow.Row, 0, v.NumField()+1)
	for i := range v.NumField() {
		switch x := v.Field(i).Interface().(type) {
		case string:
			out = append(out, query.Value{S: x})
		case int64:
			out = append(out, query.Value{N: x})
		case float64:
			out = append(out, query.FloatValue(x))
		case bool:
			n := int64(0)
			if x {
				n = 1
			}
			out = append(out, query.Value{N: n})
		case time.Time:
			n := int64(0)
			if !x.IsZero() {
				n = x.UnixNano()
			}
			out = append(out, query.Value{N: n})
		default:
			panic("a column of type " + v.Field(i).Type().String())
		}
	}
	return append(out, query.Value{N: last})
}

var errCells = errors.New("a row has other columns than it should: nodes have different versions of weir")

// uncells reads it.
func uncells[T any](in flow.Row) (row T, last int64, err error) {
	v := reflect.ValueOf(&row).Elem()
	if len(in) != v.NumField()+1 {
		return row, 0, errCells
	}
	for i := range v.NumField() {
		f, c := v.Field(i), in[i]
		switch f.Interface().(type) {
		case string:
			f.SetString(c.S)
		case int64:
			f.SetInt(c.N)
		case float64:
			f.SetFloat(c.Float())
		case bool:
			f.SetBool(c.N != 0)
		case time.Time:
			if c.N != 0 {
				f.Set(reflect.ValueOf(time.Unix(0, c.N).UTC()))
			}
		}
	}
	return row, in[len(in)-1].N, nil
}

// heart tells whoever waits for a stream that the node is at it: much may lie before
// the first row that is wanted. It may beat beside the goroutine that takes rows.
type heart struct {
	out  *filler
	last time.Time
	err  error // why not to go on
}

func (o *filler) heart() *heart { return &heart{out: o, last: time.Now()} }

const heartbeat = 5 * time.Second // well within streamBegin

// beat is called for whatever is looked at. It says whether to go on.
func (h *heart) beat() bool {
	if h.err == nil && time.Since(h.last) >= heartbeat {
		h.err = h.out.emit(new(batch))
		h.last = time.Now()
	}
	return h.err == nil
}

// some are those pages that are wanted.
func (h *heart) some(pages extract.Pages, wanted func(*crawl.PageInfo) bool) extract.Pages {
	return func(fn func(*crawl.PageInfo) bool) error {
		err := pages(func(p *crawl.PageInfo) bool {
			is := wanted(p)
			return h.beat() && (!is || fn(p))
		})
		return errors.Join(err, h.err, h.out.ctx.Err())
	}
}

// fillExport takes the node's part of a table.
func (s *station) fillExport(f *folder, w want, out *filler) error {
	name := s.cl.Status().Name
	alive := out.heart()
	own := func(id page.SiteID) bool {
		part, err := f.Part(id)
		alive.err = errors.Join(alive.err, err)
		return part < len(w.Owners) && w.Owners[part] == name
	}
	some := func(pages extract.Pages) extract.Pages {
		return alive.some(pages, func(p *crawl.PageInfo) bool { return own(p.Key.Site) != w.Strays })
	}
	switch w.Export {
	case urlTable:
		return some(f.Pages)(func(p *crawl.PageInfo) bool {
			return out.row(flow.Row{{S: p.URL.String()}, {N: p.At.UnixNano()}})
		})
	case "pages":
		return some(f.Pages)(func(p *crawl.PageInfo) bool {
			row := newPageRow(p)
			return out.row(cells(&row, p.At.UnixNano()))
		})
	case "parked":
		return some(f.Parked)(func(p *crawl.PageInfo) bool {
			row := newParkedRow(p)
			return out.row(cells(&row, 0))
		})
	case "queue":
		return some(f.Queue)(func(p *crawl.PageInfo) bool {
			row := newQueueRow(p)
			return out.row(cells(&row, 0))
		})
	case "hosts":
		err := f.Sites(func(s *crawl.SiteInfo) bool {
			mine := int64(0)
			if own(s.ID) {
				mine = 1
			} else if s.RobotsAt.IsZero() {
				return alive.beat()
			}
			row := newHostRow(s)
			return alive.beat() && out.row(cells(&row, mine))
		})
		return errors.Join(err, alive.err, out.ctx.Err())
	case "links":
		_, kept, err := crawl.ReadWant(f.store)
		if err != nil {
			return err
		}
		if !kept && f.store.Form() == store.None {
			return unread(w.Export)
		}
		all, err := f.links(out.ctx, some(f.Pages))
		return fillRows(out, all, err)
	case "text":
		all, err := f.texts(out.ctx, some(f.Pages))
		return fillRows(out, all, err)
	}
	return fmt.Errorf("the node does not know the table %s: a newer weir asks", w.Export)
}

func fillRows[T any](out *filler, all iter.Seq2[rowsOf[T], error], err error) error {
	if err != nil {
		return err
	}
	for of, err := range all {
		if err != nil {
			return err
		}
		for i := range of.rows {
			if !out.row(cells(&of.rows[i], of.at)) {
				return errors.Join(out.err, out.ctx.Err())
			}
		}
	}
	return out.ctx.Err()
}

// gather writes a table of all nodes.
func (c *exportCmd) gather(e *env, of, format string) error {
	ctx, release := e.interruptible()
	defer release()
	w, err := e.openSwarm(ctx, c.contact(), of)
	if err != nil {
		return err
	}
	if c.Table == "text" && w.settings.Warc == store.None.String() {
		return unread(c.Table)
	}
	c.namesake(e, w.own, "--at "+c.At, w.of)
	out, err := e.create("-o", c.Output)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(out, 64<<10)
	err = w.table(ctx, c.Table, buf, cmp.Or(format, "csv"))
	if err == nil {
		err = buf.Flush()
	}
	if err = out.finish(err); err != nil {
		if err = ending(err); err != nil && !errors.As(err, new(*fault)) {
			err = failure(fmt.Errorf("export %s: %w", c.Table, err), "nothing is lost: ask again")
		}
		return err
	}
	if w.from != nil && w.from.Pages > 0 {
		fmt.Fprintf(e.err, "weir: %s that ended before the cluster took over are not in it: weir export %s --dir %s, on %s, has them\n", many(w.from.Pages, "page"), c.Table, w.from.Dir, w.from.Machine)
	}
	return w.lacks("the table is written")
}

// table writes one that every crawl has.
func (w *swarm) table(ctx context.Context, name string, out io.Writer, format string) error {
	switch name {
	case "pages":
		return fetchedRows(ctx, w, name, newTable[pageRow](out, format))
	case "links":
		return fetchedRows(ctx, w, name, newTable[linkRow](out, format))
	case "text":
		return fetchedRows(ctx, w, name, newTable[textRow](out, format))
	case "queue":
		return ownedRows(ctx, w, name, newTable[queueRow](out, format))
	case "parked":
		return ownedRows(ctx, w, name, newTable[parkedRow](out, format))
	}
	return w.hosts(ctx, newTable[hostRow](out, format))
}

// rowsAt asks nodes for their rows of a table.
func rowsAt[T any](ctx context.Context, w *swarm, nodes []string, table string, strays bool, fn func(row *T, last int64) error) error {
	return w.each(ctx, nodes, want{Export: table, Owners: w.Owners, Strays: strays}, func(b *batch) error {
		for _, cells := range b.Rows {
			row, last, err := uncells[T](cells)
			if err == nil {
				err = fn(&row, last)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// copies says which copy of a page counts. It keeps some fifty bytes for each page that
// lies with another node than its owner.
type copies struct {
	seed maphash.Seed
	last map[uint64]int64 // when strays were fetched last
}

// stray notes a copy of a page that its owner may have, too.
func (c *copies) stray(url string, at int64) {
	key := maphash.String(c.seed, url)
	c.last[key] = max(c.last[key], at)
}

// owned notes that the owner of a page has it.
func (c *copies) owned(url string) {
	if len(c.last) > 0 {
		delete(c.last, maphash.String(c.seed, url))
	}
}

// counts says whether a stray is shown.
func (c *copies) counts(url string, at int64) bool {
	last, ok := c.last[maphash.String(c.seed, url)]
	return ok && at >= last // it may have been fetched anew meanwhile
}

// urls asks all nodes which pages they have, and when those were fetched: of their own
// partitions, or strays.
func (w *swarm) urls(ctx context.Context, strays bool, fn func(url string, at int64)) error {
	return w.each(ctx, w.Nodes, want{Export: urlTable, Owners: w.Owners, Strays: strays}, func(b *batch) error {
		for _, row := range b.Rows {
			if len(row) != 2 {
				return errCells
			}
			fn(row[0].S, row[1].N)
		}
		return nil
	})
}

// fetchedRows writes a table whose rows lie with the nodes that have fetched pages.
func fetchedRows[T any](ctx context.Context, w *swarm, name string, out table[T]) error {
	c := copies{maphash.MakeSeed(), map[uint64]int64{}}
	err := w.urls(ctx, true, c.stray)
	if err == nil && len(c.last) > 0 && name != "pages" {
		// What its owner has of a page counts also if that has no rows.
		err = w.urls(ctx, false, func(url string, _ int64) { c.owned(url) })
	}
	if err != nil {
		return err
	}
	url := func(row *T) string { return reflect.ValueOf(row).Elem().Field(0).String() }
	err = rowsAt(ctx, w, w.Nodes, name, false, func(row *T, _ int64) error {
		c.owned(url(row))
		return out.write(row)
	})
	if err == nil && len(c.last) > 0 {
		err = rowsAt(ctx, w, w.Nodes, name, true, func(row *T, at int64) error {
			if !c.counts(url(row), at) {
				return nil
			}
			return out.write(row)
		})
	}
	return errors.Join(err, out.close())
}

// ownedRows writes a table whose rows lie with the owners of partitions.
func ownedRows[T any](ctx context.Context, w *swarm, name string, out table[T]) error {
	if err := w.settled(ctx); err != nil {
		return err
	}
	err := rowsAt(ctx, w, w.owners(), name, false, func(row *T, _ int64) error { return out.write(row) })
	return errors.Join(err, out.close())
}

// settled waits until all partitions have owners, if that is soon.
func (w *swarm) settled(ctx context.Context) error {
	return w.whole(ctx, func() error {
		for _, owner := range w.Owners {
			if owner == "" {
				w.orphans++
			}
		}
		return nil
	})
}

// hosts writes the table of sites, by their names. It keeps all of it: the pages of a
// site may be spread over partitions, and its robots.txt may have been read by
// another node than its owner.
func (w *swarm) hosts(ctx context.Context, out table[hostRow]) error {
	if err := w.settled(ctx); err != nil {
		return err
	}
	type site struct {
		hostRow
		owned bool
	}
	sites := map[string]*site{}
	err := rowsAt(ctx, w, w.Nodes, "hosts", false, func(row *hostRow, mine int64) error {
		s := sites[row.Site]
		if s == nil {
			s = &site{hostRow: hostRow{Site: row.Site, Host: row.Host}}
			sites[row.Site] = s
		}
		if row.RobotsAt.After(s.RobotsAt) {
			s.RobotsAt = row.RobotsAt
		}
		if mine == 0 {
			return nil
		}
		s.owned = true
		s.Queued, s.Ended, s.Fetched, s.Parked = s.Queued+row.Queued, s.Ended+row.Ended, s.Fetched+row.Fetched, s.Parked+row.Parked
		s.Delay, s.Failures = max(s.Delay, row.Delay), max(s.Failures, row.Failures)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(sites)) {
		if s := sites[name]; s.owned {
			if err := out.write(&s.hostRow); err != nil {
				return err
			}
		}
	}
	return out.close()
}
