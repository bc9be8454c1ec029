package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"weir/crawl"
	"weir/internal/program"
	"weir/overlay"
	"weir/page"
)

// Roll is which programs a crawl of several nodes has, as all of them have agreed.
// Later ones name the same and others behind them, or say that more have left: so
// whichever a node hears of, all of them together are what holds.
type Roll struct {
	Number   int        // of the agreement, one more with each
	Programs []Enrolled // a program's number is its place
}

// Enrolled is a program on a Roll.
type Enrolled struct {
	Name   string
	Source *program.Source // nil: what the flags mean, which only the first can be
	Joined bool            // the crawl had begun
	Left   bool
	Since  int64 // pages that were fetched before are too old for it, see crawl.Member
}

// named are the programs of the crawl once a node that has some takes up a roll.
func (r *Roll) named(had crawl.Programs) []crawl.Named {
	list := slices.Clone(had.Each)
	for i, p := range r.Programs {
		if i == len(list) {
			list = append(list, crawl.Named{Name: p.Name, Number: uint8(i), Joined: p.Joined, Since: p.Since})
		}
		list[i].Left = list[i].Left || p.Left
	}
	return list
}

// beginRoll keeps the programs of a crawl that others have begun.
func (n *node) beginRoll(r *Roll) (crawl.Programs, []*program.Source, error) {
	p := crawl.Programs{Next: uint8(len(r.Programs)), Each: r.named(crawl.Programs{})}
	var list []*program.Source
	for i, x := range r.Programs {
		if x.Source != nil {
			if err := x.Source.Save(n.cfg.Dir, i); err != nil {
				return p, nil, err
			}
		}
		list = append(list, x.Source)
	}
	g := n.store.Begin()
	crawl.WritePrograms(g, p)
	return p, list, g.Commit()
}

// enrol makes ready what a roll asks for, and says whether that is news. The programs
// of now must stay that until it is done.
func (n *node) enrol(r *Roll) (o turn, news bool, err error) {
	each := r.named(n.programs)
	if n.several == nil && len(each) < 2 || slices.Equal(each, n.programs.Each) {
		return o, false, nil
	}
	o = turn{programs: crawl.Programs{Version: n.programs.Version, Next: uint8(len(each)), Each: each}, roll: r.Number, divide: n.several == nil, done: make(chan crawl.Totals, 1)}
	var had, members []crawl.Member
	if n.several != nil {
		had = n.several.Members()
	} else {
		one, ok := n.rules.(*crawl.Program)
		if !ok || one.Number() != 0 {
			return o, false, errors.New("the crawl's own program is not its first")
		}
		had = []crawl.Member{{Rules: one}}
	}
	var want page.Want
	for i, named := range each {
		var m crawl.Member
		if i < len(had) {
			m = had[i]
		} else {
			src := r.Programs[i].Source
			if err := src.Save(n.cfg.Dir, i); err != nil {
				return o, false, err
			}
			if m, err = n.member(named, src); err != nil {
				return o, false, fmt.Errorf("program %s: %w", named.Name, err)
			}
		}
		m.Name, m.Joined, m.Left, m.Since = named.Name, named.Joined, named.Left, named.Since
		members = append(members, m)
		if !m.Left {
			o.number, want = named.Number, want.Merge(m.Rules.Wants())
		}
	}
	o.rules, o.want = crawl.NewSeveral(n.store, members), n.wanted(want)
	return o, true, nil
}

// takeUp brings the crawl of a node that does not run yet to what was agreed.
func (n *node) takeUp(r *Roll) error {
	o, news, err := n.enrol(r)
	if err != nil || !news {
		return err
	}
	if o.divide {
		if err := n.divide(); err != nil {
			return err
		}
	}
	if _, err := n.take(o); err != nil {
		return err
	}
	// The Committed event is dropped: nobody listens yet, and what it would tell, parcels
	// and a stop, peer.open and openCore read from the Ledger after this (Outbox, Start).
	return n.flush(n.store.Begin())
}

// dividedAtOnce is how many rows of a crawl table are written at a time.
const dividedAtOnce = 20_000

// divide gives the crawl's only program a crawl table of its own.
func (n *node) divide() error {
	g, rows := n.store.Begin(), 0
	err := n.ledger.Divide(func(p crawl.Pair) error {
		g.Set(p.Key, p.Value)
		if rows++; rows%dividedAtOnce != 0 {
			return nil
		}
		err := g.Commit()
		g = n.store.Begin()
		return err
	})
	return errors.Join(err, g.Commit())
}

// heedRolls takes up whatever the nodes agree on while the crawl runs.
func (n *node) heedRolls(ctx context.Context, rolls <-chan Roll) {
	for {
		var r Roll
		select {
		case r = <-rolls:
		case <-ctx.Done():
			return
		}
		o, news, err := n.enrol(&r)
		if err != nil {
			n.fail(fmt.Errorf("take up the programs that the nodes have agreed on: %w", err))
			return
		}
		if !news {
			n.peer.post(took{roll: r.Number})
			continue
		}
		select {
		case n.turns <- o:
		case <-ctx.Done():
			return
		}
		select {
		case <-o.done:
		case <-n.saved:
			return
		}
	}
}

// took says that the Ledger has taken up a roll, and whether that has changed anything.
type took struct {
	roll int
	news bool
}

// took has the Member know that there may be more to do, before anybody hears that
// the node goes by the roll.
func (p *peer) took(ctx context.Context, t took) {
	if t.news {
		p.step(ctx, overlay.Turned{})
	}
	if p.cfg.Watch != nil {
		p.cfg.Watch(p.member.Status())
	}
	if p.cfg.Took != nil {
		p.cfg.Took(t.roll)
	}
}
