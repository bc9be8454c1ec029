package ask

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/crawl"
	"weir/internal/extract"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// Crawl is what a question is about. The View and the Archive are of the same
// state.
type Crawl struct {
	View    *crawl.View
	Archive *extract.Archive
	Far     Far // instead of both; nil: they are here
	// Input reads the file of an input that the question declares.
	Input func(*query.Input) ([]flow.Row, error)
}

// Work says how a question is worked out.
type Work struct {
	Memory int64  // for rows; more of them are kept on disk
	Temp   string // folder for those; "": where the system keeps such
	Now    int64  // what now() is: seconds since 1970
	// Progress is called for every page, with how many were read; it may be nil.
	Progress func(pages int64)
	// Moved is called when rows are moved to disk, and pages are read from the
	// beginning; it may be nil.
	Moved func()
}

// Wants says which facts the question needs.
func (p *Program) Wants() page.Want { return p.plan.Wants() }

// kept are the facts that every crawl's state has: others are in the archive, or
// among the facts that a crawl without one kept.
var kept = []string{"fetched", "seed", "crawl", "robots"}

// Reads says that pages have to be read again for the question.
func (p *Program) Reads() bool { return len(p.Missing(nothing)) > 0 }

// uses says that a rule that the answer needs reads a table.
func (p *Program) uses(table string) bool { return len(p.reads(table)) > 0 }

// reads are the places where rules that the answer needs read a table.
func (p *Program) reads(table string) []*flow.Input {
	var all []*flow.Input
	for _, s := range p.plan.Stages {
		for _, in := range slices.Concat(s.Inputs, s.Absent) {
			if in.Table != nil && in.Table.Name == table {
				all = append(all, in)
			}
		}
	}
	return all
}

// Rows calls fn for the rows of the answer, in their order, until it returns
// false.
func (p *Program) Rows(ctx context.Context, c Crawl, w Work, fn func(flow.Row) bool) error {
	if slices.Contains(p.kept, p.Answer.Name) && c.Far == nil {
		return until(ctx, fn, func(fn func(flow.Row) bool) error { return p.own.Rows(p.Answer.Name, fn) })
	}
	if err := p.load(c); err != nil {
		return err
	}
	err := p.run(ctx, c, w, nil, fn)
	if !errors.Is(err, flow.ErrFull) {
		return err
	}
	if w.Moved != nil {
		w.Moved()
	}
	runtime.GC() // what was in memory makes room for the caches of the disk
	d, err := newDisk(vfs.Default, w.Temp, w.Memory)
	if err != nil {
		return err
	}
	return errors.Join(p.run(ctx, c, w, d, fn), d.close())
}

// load reads the inputs.
func (p *Program) load(c Crawl) error {
	if p.loaded {
		return nil
	}
	for _, t := range p.Tables {
		if t.Kind != query.File || !p.uses(t.Name) {
			continue
		}
		rows, err := p.input(c, t)
		if err == nil {
			err = p.plan.Load(t, rows)
		}
		if err != nil {
			return err
		}
	}
	p.loaded = true
	return nil
}

// input reads the rows of an input: the crawl's own as it was when it began.
func (p *Program) input(c Crawl, t *query.Table) ([]flow.Row, error) {
	if !slices.Contains(p.asked, t.Name) {
		if rows, diags, ok := p.own.input(t.Input); ok {
			if query.Failed(diags) {
				return nil, fmt.Errorf("the input %s of the crawl's program: %s", t.Name, diags[0].Message)
			}
			return rows, nil
		}
	}
	return c.Input(t.Input)
}

// run is one try, on disk if there is one.
type run struct {
	*Program
	ctx   context.Context
	crawl Crawl
	work  Work
	part  *flow.Part
	out   flow.Out
	pages int64
	stale bool // a small table has grown: pages that were read before may mean more
}

func (p *Program) run(ctx context.Context, c Crawl, w Work, d *disk, fn func(flow.Row) bool) error {
	r := &run{Program: p, ctx: ctx, crawl: c, work: w}
	mem := flow.NewMem()
	mem.Bound(w.Memory)
	var state flow.State = mem
	if d != nil {
		state = d
	}
	var err error
	if r.part, err = flow.NewPart(p.plan, state, 0, 1); err != nil {
		return err
	}
	r.part.Now(w.Now)
	steps := []func() error{r.start, r.rows, r.tables, r.facts, r.finish}
	if c.Far != nil {
		steps = []func() error{r.start, func() error { return r.gather(c.Far) }, r.finish}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return r.answer(fn)
}

// take notes what followed from a delivery. Rows are where they belong already.
func (r *run) take(err error) error {
	if err != nil {
		return err
	}
	r.stale = r.stale || r.out.Stale
	r.out.Reset()
	return r.ctx.Err()
}

func (r *run) start() error { return r.take(r.part.Start(&r.out)) }

// rows delivers what the state knows of all pages, whether they ended or not, and
// the seeds.
func (r *run) rows() error {
	seeds, all := r.uses("seed"), r.plan.KeepsCrawl
	if seeds {
		known, err := r.seeds()
		if err != nil {
			return err
		}
		seeds = !known
	}
	if !seeds && !all {
		return nil
	}
	var bad error
	deliver := func(p *crawl.PageInfo) bool {
		if p.Stray {
			return true
		}
		if seeds {
			bad = r.root(p)
		}
		if bad == nil && all {
			bad = r.take(r.part.Crawled(p.URL.String(), int64(p.Depth), float64(p.Score), &r.out))
		}
		return bad == nil
	}
	for _, each := range []func(func(*crawl.PageInfo) bool) error{r.crawl.View.Pages, r.crawl.View.Queue, r.crawl.View.Parked} {
		if err := errors.Join(each(deliver), bad); err != nil {
			return err
		}
	}
	return nil
}

// seeds delivers what the user has named; false if the crawl has not kept it.
func (r *run) seeds() (known bool, err error) {
	var bad error
	err = r.crawl.View.Seeds(func(s crawl.Seed) bool {
		known = true
		bad = r.take(r.part.Seed(s.URL, float64(s.Score), &r.out))
		return bad == nil
	})
	return known, errors.Join(err, bad)
}

// root delivers a page as a seed if it seems to be one: a root that no page led to.
func (r *run) root(p *crawl.PageInfo) error {
	if p.State != "ended" { // of others a queue does not say
		full, err := r.crawl.View.Key(p.Key)
		if err != nil || full == nil {
			return err
		}
		full.Root = full.Root || full.Entry.Root
		p = full
	}
	if !p.Root || p.Parent != (page.Key{}) {
		return nil
	}
	return r.take(r.part.Seed(p.URL, float64(p.Score), &r.out))
}

// tables delivers what the crawl has kept of its own program.
func (r *run) tables() error {
	for _, name := range r.kept {
		if !r.uses(name) {
			continue
		}
		t := r.Table(name)
		var bad error
		err := r.own.Rows(name, func(row flow.Row) bool {
			bad = r.take(r.part.Give(t, row, &r.out))
			return bad == nil
		})
		if err := errors.Join(err, bad); err != nil {
			return err
		}
	}
	return nil
}

// robots delivers the sitemaps that sites name.
func (r *run) robots() error {
	if !r.uses("robots") {
		return nil
	}
	var bad error
	err := r.crawl.View.Sites(func(s *crawl.SiteInfo) bool {
		if !s.RobotsAt.IsZero() {
			bad = r.take(r.part.Page(r.crawl.Archive.Robots(s), &r.out))
		}
		return bad == nil
	})
	return errors.Join(err, bad)
}

// facts delivers what robots.txt files and the pages that ended say, and all of it
// again as long as that makes a small table grow.
func (r *run) facts() error {
	if !r.pageful() {
		return nil
	}
	for again := true; again; again = r.stale {
		r.stale = false
		if err := r.robots(); err != nil {
			return err
		}
		if err := r.read(); err != nil {
			return err
		}
	}
	return nil
}

// read delivers pages with what they said, as far as that is known, or only how they
// ended if that is all the question needs, or all there is.
func (r *run) read() error {
	if r.Reads() && r.crawl.Archive.Has(page.Want{}) {
		for f, err := range r.crawl.Archive.Facts(r.ctx, r.asked) {
			if err == nil {
				err = r.page(f)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	var bad error
	err := r.asked(func(p *crawl.PageInfo) bool {
		bad = r.page(p.Facts())
		return bad == nil
	})
	return errors.Join(err, bad)
}

// asked goes over the pages that ended and that the program of now has asked for:
// others have no facts.
func (r *run) asked(fn func(*crawl.PageInfo) bool) error {
	return r.crawl.View.Pages(func(p *crawl.PageInfo) bool { return p.Stray || p.Outcome == page.SteeredAway || fn(p) })
}

// pageful says that rules look at pages at all.
func (r *run) pageful() bool {
	return slices.ContainsFunc(r.Tables, func(t *query.Table) bool { return t.Kind == query.PageFact && r.uses(t.Name) })
}

func (r *run) page(f *page.Facts) error {
	if err := r.take(r.part.Page(f, &r.out)); err != nil {
		return err
	}
	r.pages++
	if r.work.Progress != nil {
		r.work.Progress(r.pages)
	}
	return nil
}

func (r *run) finish() error { return flow.Finish([]*flow.Part{r.part}) }

// answer hands out the rows, which are sorted.
func (r *run) answer(fn func(flow.Row) bool) error {
	return until(r.ctx, fn, func(fn func(flow.Row) bool) error { return r.part.Rows(r.Answer, fn) })
}

// until has rows handed out as long as the context goes on.
func until(ctx context.Context, fn func(flow.Row) bool, each func(func(flow.Row) bool) error) error {
	return errors.Join(each(func(row flow.Row) bool { return ctx.Err() == nil && fn(row) }), ctx.Err())
}
