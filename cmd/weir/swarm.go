package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/crawl"
	"weir/internal/ask"
	"weir/internal/cluster"
	"weir/internal/node"
	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// crawlTopic asks a node which crawl the cluster has, and who owns what of it.
const crawlTopic = "crawl"

// crawlKnown is what a node knows of the cluster's crawl. Names are for other
// versions: add, never rename.
type crawlKnown struct {
	Name   string          `json:"name"` // "": there is none yet
	Task   json.RawMessage `json:"task,omitempty"`
	Nodes  []string        `json:"nodes"`
	Owners []string        `json:"owners"` // of each partition; "": nobody, for now
}

func (s *station) known() crawlKnown {
	s.mu.Lock()
	m := s.member
	k := crawlKnown{Name: s.crawl}
	s.mu.Unlock()
	for _, sp := range s.cl.Specs() {
		if sp.Name == k.Name {
			k.Task = sp.Body
		}
	}
	for _, p := range s.cl.Peers() {
		k.Nodes = append(k.Nodes, p.Name)
	}
	for _, p := range m.Parts {
		owner := p.Owner
		if !p.Alive {
			owner = ""
		}
		k.Owners = append(k.Owners, owner)
	}
	return k
}

// swarm is a crawl of all nodes, as a command asks for it: an ask.Far. Nodes that do
// not answer are left out, and named by lacks. Not safe for concurrent use.
type swarm struct {
	cl *cluster.Client
	crawlKnown
	settings *settings
	from     *taskFrom       // where the crawl was before; nil: nowhere
	programs []node.Enrolled // that share it, or the only one
	shared   bool            // more than one share it, or have
	options  flow.Options    // how their rows are spread
	seeds    []crawl.Seed
	of       string   // the program that is asked about, of several
	own      *ask.Own // nil: several programs share it
	missing  map[string]error
	orphans  int // partitions whose rows nobody has handed out
	note     func(string)
}

// takeover is how long partitions whose node has left may be without an owner, and a
// little longer.
const takeover = overlay.TTL + 10*time.Second

// openSwarm finds out what the cluster crawls. Of is the program that a question is
// about, of several.
func (e *env) openSwarm(ctx context.Context, c *contact, of string) (*swarm, error) {
	cl, err := c.client()
	if err != nil {
		return nil, err
	}
	w := &swarm{cl: cl, of: of, missing: map[string]error{}, note: func(text string) { fmt.Fprintln(e.err, "weir: "+text) }}
	if err := put(ctx, cl, "", crawlTopic, nil, &w.crawlKnown); err != nil {
		return nil, err
	}
	if w.Name == "" {
		return nil, failure(errors.New("the node that was asked takes part in no crawl yet"), "weir submit gives the cluster one; weir status shows how its nodes are")
	}
	t, err := readTask(w.Task)
	if err != nil {
		return nil, err
	}
	s, seeds, _, err := t.open()
	if err != nil {
		return nil, err
	}
	w.settings, w.from = s, t.From
	for _, seed := range seeds {
		w.seeds = append(w.seeds, crawl.Seed(seed))
	}
	scheme, err := overlay.ParseScheme(t.Scheme)
	if err != nil {
		return nil, err
	}
	w.options.Scheme, w.options.Spread = node.Tables(scheme)
	all := t.roll(w.Name).Programs
	w.shared = len(all) > 1
	for _, p := range all {
		if !p.Left {
			w.programs = append(w.programs, p)
		}
	}
	p, err := w.choose(of)
	if p == nil || err != nil {
		return w, err
	}
	return w, w.about(*p)
}

// about makes it the crawl of a program.
func (w *swarm) about(p node.Enrolled) error {
	own, err := ask.NewOwn(p.Source, w.settings.plain(), w.options)
	if err != nil {
		return err
	}
	if w.own = own; w.shared {
		w.of = p.Name
	}
	if p.Source != nil && len(p.Source.Seeds) > 0 {
		w.seeds = nil
		for _, s := range p.Source.Seeds {
			w.seeds = append(w.seeds, crawl.Seed{URL: page.Canonical(s.URL), Score: s.Score})
		}
	}
	return nil
}

// choose finds the program of a name; none when several share the crawl and none is
// named.
func (w *swarm) choose(of string) (*node.Enrolled, error) {
	if of == "" {
		if len(w.programs) == 1 {
			return &w.programs[0], nil
		}
		return nil, nil
	}
	for i, p := range w.programs {
		if p.Name == of && w.shared {
			return &w.programs[i], nil
		}
	}
	if !w.shared {
		return nil, usage("leave the name out", "this crawl has one program, which needs no name: %s", of)
	}
	return nil, usage("there are "+strings.Join(w.names(), ", "), "no program that shares the crawl is called %s", of)
}

// names are those of the programs.
func (w *swarm) names() (names []string) {
	for _, p := range w.programs {
		names = append(names, p.Name)
	}
	return names
}

// tables are those that each program derives.
func (w *swarm) tables() map[string][]string {
	all := map[string][]string{}
	for _, p := range w.programs {
		if own, err := ask.NewOwn(p.Source, w.settings.plain(), w.options); err == nil {
			all[p.Name] = own.Tables()
		}
	}
	return all
}

// Seeds implements ask.Far.
func (w *swarm) Seeds() []crawl.Seed { return w.seeds }

// Crawled implements ask.Far.
func (w *swarm) Crawled(ctx context.Context, fn func(url string, depth int64, score float64) error) error {
	return w.each(ctx, w.Nodes, want{Crawl: true}, func(b *batch) error {
		for _, row := range b.Rows {
			if len(row) != 3 {
				return errors.New("a row of crawl has three columns")
			}
			if err := fn(row[0].S, row[1].N, row[2].Float()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Rows implements ask.Far.
func (w *swarm) Rows(ctx context.Context, table string, fn func(flow.Row) error) error {
	arity := w.own.Table(table).Arity()
	return w.whole(ctx, func() error {
		return w.each(ctx, w.owners(), want{Table: table}, func(b *batch) error {
			for _, row := range b.Rows {
				if len(row) != arity {
					return fmt.Errorf("a row of %s has %d columns: nodes have different versions of weir", table, arity)
				}
				if err := fn(row); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// whole asks the owners of partitions for rows, again and again while some are being
// taken over. What ask has got before may come once more.
func (w *swarm) whole(ctx context.Context, ask func() error) error {
	missing, begin := w.missing, time.Now()
	for told := false; ; told = true {
		w.missing, w.orphans = maps.Clone(missing), 0
		if err := ask(); err != nil || w.orphans == 0 || time.Since(begin) > takeover {
			return err
		}
		if !told {
			w.note(fmt.Sprintf("%s being taken over by other nodes: waiting", manyAre(w.orphans, "partition")))
		}
		if !pauseFor(ctx, nil, time.Second) {
			return ctx.Err()
		}
		if err := put(ctx, w.cl, "", crawlTopic, nil, &w.crawlKnown); err != nil {
			return err
		}
	}
}

// owners are the nodes that own partitions.
func (w *swarm) owners() []string {
	names := slices.Compact(slices.Sorted(slices.Values(w.Owners)))
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Facts implements ask.Far.
func (w *swarm) Facts(ctx context.Context, n ask.Need, fn func(*page.Facts) error) error {
	if w.from != nil && w.from.Pages > 0 {
		w.note(fmt.Sprintf("%s that ended before the cluster took over are not among those that are asked: weir query %s, on %s, has them", many(w.from.Pages, "page"), w.from.Dir, w.from.Machine))
	}
	return w.each(ctx, w.Nodes, want{Facts: &n}, func(b *batch) error {
		for i := range b.Facts {
			if err := fn(b.Facts[i].facts()); err != nil {
				return err
			}
		}
		return nil
	})
}

// news is what comes of asking a node: pieces, and at last its end or an error.
type news struct {
	node  string
	batch *batch
	parts []int // with the first piece: the partitions that the node owns
	end   bool
	err   error
}

// tally keeps who has told what.
type tally struct {
	parts  map[string][]int
	whole  map[string]bool // nodes that told all of it
	failed map[string]error
}

func newTally() *tally {
	return &tally{map[string][]int{}, map[string]bool{}, map[string]error{}}
}

func (t *tally) take(n news) {
	switch {
	case n.err != nil:
		t.failed[n.node] = n.err
	case n.end:
		t.whole[n.node] = true
	default:
		t.parts[n.node] = append(t.parts[n.node], n.parts...)
	}
}

// orphans counts the partitions of which nobody has told all.
func (t *tally) orphans() int {
	var had [overlay.Parts]bool
	left := len(had)
	for node := range t.whole {
		for _, p := range t.parts[node] {
			if p >= 0 && p < len(had) && !had[p] {
				had[p] = true
				left--
			}
		}
	}
	return left
}

// miss notes whom an answer lacks. Of what lies in partitions nobody is missed when
// all of them were told: others have those of a node that has just left.
func (w *swarm) miss(t *tally, parted bool) {
	if parted {
		orphans := t.orphans()
		if w.orphans += orphans; orphans == 0 {
			return
		}
	}
	maps.Copy(w.missing, t.failed)
}

// each has nodes hand out what is wanted, all of them at a time, and calls fn with
// what comes. Those that fail are missing.
func (w *swarm) each(ctx context.Context, nodes []string, what want, fn func(*batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	what.Of = w.of
	out := make(chan news)
	slots := make(chan struct{}, maxAsked)
	var wg sync.WaitGroup
	tell := func(n news) error {
		select {
		case out <- n:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, name := range nodes {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			err := pull(ctx, w.cl, name, what, func(parts []int, b *batch) error { return tell(news{node: name, batch: b, parts: parts}) })
			_ = tell(news{node: name, end: err == nil, err: err}) // or nobody listens
		})
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	t := newTally()
	var bad error
	for n := range out {
		t.take(n)
		if n.batch != nil && bad == nil {
			if bad = fn(n.batch); bad != nil {
				cancel()
			}
		}
	}
	if bad == nil {
		bad = ctx.Err()
	}
	w.miss(t, what.Table != "" && what.First == nil)
	return bad
}

// pull has one node hand out what is wanted.
func pull(ctx context.Context, cl *cluster.Client, name string, what want, fn func(parts []int, b *batch) error) error {
	for {
		data, err := json.Marshal(what)
		if err != nil {
			return err
		}
		var p streamed
		limit := streamTime
		if what.ID == 0 {
			limit = streamBegin
		}
		err = func() error {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			b, err := cl.Ask(ctx, name, streamTopic, data)
			if err != nil {
				return err
			}
			return json.Unmarshal(b, &p)
		}()
		if err != nil {
			return err
		}
		var b *batch
		if len(p.Data) > 0 {
			if b, err = unpackBatch(p.Data); err != nil {
				return err
			}
		}
		if err := fn(p.Parts, b); err != nil {
			return err
		}
		if p.End {
			return nil
		}
		what = want{ID: p.ID}
	}
}

// lacks is the error of an answer that is written, and not whole.
func (w *swarm) lacks(what string) error {
	names := slices.Sorted(maps.Keys(w.missing))
	if len(names) == 0 && w.orphans == 0 {
		return nil
	}
	if len(names) == 0 {
		return failure(fmt.Errorf("%s, without the rows of %d partitions that have no owner at the moment", what, w.orphans), "ask again when weir status shows that others have taken them over")
	}
	why := w.missing[names[0]].Error()
	for _, n := range names[1:] {
		if w.missing[n].Error() != why {
			why = "no answer"
		}
	}
	have := "have"
	if len(names) == 1 {
		have = "has"
	}
	return failure(fmt.Errorf("%s, without what %s %s: %s", what, namesOf(names), have, why), "weir status shows how the nodes are; start them and ask again")
}
