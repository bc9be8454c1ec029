package node

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"weir/crawl"
	"weir/internal/program"
	"weir/internal/store"
	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// ErrOtherProgram says that the folder's crawl has another program than the one
// that was named.
var ErrOtherProgram = errors.New("the crawl was begun with another program")

// forgetful is what a crawl without an archive cannot do that has kept no facts of
// its pages either.
const forgetful = "warning: this crawl has no archive (--warc none), and when it was begun nothing needed what pages say to be kept: a page that is found nearer to a seed after it was fetched cannot be read again, so pages may be missed"

// ErrOld says that the folder's crawl was begun before crawls were programs.
var ErrOld = errors.New("the crawl was begun by an older weir, which kept less of what its rules had derived")

// errPeers says that the crawl cannot have other programs, since nodes share it.
var errPeers = errors.New("this is one node of a cluster, and all of its nodes must take up other programs: weir steer --at HOST:PORT --certs DIR, with the address of any of them, has them do so")

// rules are those of a crawl's program, or of several that share it.
type rules interface {
	crawl.Rules
	Traits() crawl.RuleTraits
}

// openRules makes the programs of the crawl ready: those of its folder, if it has
// been begun, or those that the user has named, which are kept there before
// anything follows from them.
func (n *node) openRules() (rules, error) {
	programs, begun, err := crawl.ReadPrograms(n.store)
	if err != nil {
		return nil, err
	}
	list := n.cfg.Programs
	other := false // the crawl had another one, which is over
	if begun {
		had, err := n.sources(programs)
		if err != nil {
			return nil, err
		}
		if n.roll() == nil && len(list) > 0 && !slices.EqualFunc(list, had, (*program.Source).Same) {
			if other, err = n.over(programs, had, list); err != nil {
				return nil, err
			}
			if !other {
				return nil, ErrOtherProgram
			}
		} else {
			list = had
		}
	} else if r := n.roll(); r != nil && len(r.Programs) > 1 && r.Programs[len(r.Programs)-1].Joined {
		if programs, list, err = n.beginRoll(r); err != nil {
			return nil, err
		}
	} else if programs, err = n.beginPrograms(list); err != nil {
		return nil, err
	}
	n.programs = programs
	if n.cfg.Archive == store.None {
		if n.kept, n.keeps, err = crawl.ReadWant(n.store); err != nil {
			return nil, err
		}
	}
	if len(programs.Each) > 0 {
		return n.openSeveral(list)
	}
	plan, err := n.compile(first(list))
	if err != nil {
		return nil, err
	}
	n.wants(plan.Wants())
	cfg := crawl.ProgramConfig{Plan: plan, Own: len(list) > 0, Version: programs.Version, Secret: n.secret}
	n.forgets = n.cfg.Archive == store.None && cfg.Rereads() && !n.keeps
	if other {
		return n.relay(cfg, first(list))
	}
	one, err := crawl.NewProgram(cfg, n.store)
	if n.relays(err) {
		return n.relay(cfg, first(list))
	}
	return one, err
}

// roll is what the nodes have agreed on; nil: nothing, or there is one.
func (n *node) roll() *Roll {
	if n.cfg.Peer == nil {
		return nil
	}
	return n.cfg.Peer.Roll
}

// flags says that one of several programs is what the flags mean: nodes can agree on
// that.
func (n *node) flags(number uint8) bool { return n.cfg.Peer != nil && number == 0 }

// first is the only program of a crawl; nil: it follows from flags.
func first(list []*program.Source) *program.Source {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// beginPrograms keeps the programs of a crawl that begins. Without an archive, those
// that may need facts of pages again keep those that they want now.
func (n *node) beginPrograms(list []*program.Source) (crawl.Programs, error) {
	p := crawl.Programs{Next: uint8(max(len(list), 1))}
	totals, err := crawl.ReadTotals(n.store)
	switch {
	case err != nil:
		return p, err
	case totals.Seen > 0:
		return p, ErrOld
	case len(list) > crawl.MaxProgram:
		return p, fmt.Errorf("%d programs: at most %d can share a crawl", len(list), crawl.MaxProgram)
	case len(list) == 0: // a start that was killed may have left one
		err = os.RemoveAll(program.Dir(n.cfg.Dir, 0))
	}
	for i, src := range list {
		if err == nil {
			err = src.Save(n.cfg.Dir, i)
		}
		if len(list) > 1 {
			p.Each = append(p.Each, crawl.Named{Name: src.As, Number: uint8(i)})
		}
	}
	if err != nil {
		return p, err
	}
	g := n.store.Begin()
	crawl.WritePrograms(g, p)
	if n.cfg.Archive == store.None {
		if err := n.keepFacts(g, list); err != nil {
			return p, err
		}
	}
	return p, g.Commit()
}

// keepFacts notes which facts of pages are kept where there is no archive.
func (n *node) keepFacts(g *store.Group, list []*program.Source) error {
	if len(list) == 0 {
		list = []*program.Source{nil}
	}
	want, rereads := n.cfg.Want, len(list) > 1
	for _, src := range list {
		plan, err := n.compile(src)
		if err != nil {
			return err
		}
		cfg := crawl.ProgramConfig{Plan: plan, Own: src != nil, Secret: n.secret}
		want, rereads = want.Merge(plan.Wants()), rereads || cfg.Rereads()
	}
	if rereads {
		crawl.WriteWant(g, want)
	}
	return nil
}

// sources reads the programs that the crawl's folder keeps; none for a crawl
// without one of its own.
func (n *node) sources(p crawl.Programs) ([]*program.Source, error) {
	if len(p.Each) == 0 {
		src, err := program.Load(n.cfg.Dir, int(p.Version))
		if err != nil || src == nil {
			return nil, err
		}
		return []*program.Source{src}, nil
	}
	var list []*program.Source
	for _, named := range p.Each {
		src, err := program.Load(n.cfg.Dir, int(named.Number))
		if err == nil && src == nil && !n.flags(named.Number) {
			err = fmt.Errorf("the program %s is missing in %s", named.Name, program.Dir(n.cfg.Dir, int(named.Number)))
		}
		if err != nil {
			return nil, err
		}
		list = append(list, src)
	}
	return list, nil
}

// openSeveral makes programs ready that share the crawl. One whose tables are in a
// form that this build cannot read begins anew, under the next number.
func (n *node) openSeveral(list []*program.Source) (*crawl.Several, error) {
	var members []crawl.Member
	var want page.Want
	for i, src := range list {
		named := &n.programs.Each[i]
		m, err := n.member(*named, src)
		if n.relays(err) {
			named.Number, n.relaid = n.programs.Next, true
			n.programs.Next++
			if err = src.Save(n.cfg.Dir, int(named.Number)); err == nil {
				m, err = n.member(*named, src)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("program %s: %w", named.Name, err)
		}
		members, want = append(members, m), want.Merge(m.Rules.Wants())
	}
	n.wants(want)
	return crawl.NewSeveral(n.store, members), nil
}

// member makes one of several programs ready.
func (n *node) member(named crawl.Named, src *program.Source) (crawl.Member, error) {
	m, own := crawl.Member{Name: named.Name, Joined: named.Joined, Left: named.Left, Since: named.Since}, src != nil
	plan, err := n.compile(src)
	if err != nil {
		return m, err
	}
	if src == nil {
		src = &program.Source{}
	}
	for _, s := range src.Seeds {
		u, err := page.Parse(s.URL)
		if err != nil {
			return m, fmt.Errorf("the seed %s: %w", s.URL, err)
		}
		m.Seeds = append(m.Seeds, crawl.Seed{URL: n.cfg.Strip.Apply(u), Score: s.Score})
	}
	m.Rules, err = crawl.NewProgram(crawl.ProgramConfig{Plan: plan, Own: own, Version: named.Number, Secret: n.secret}, n.store)
	return m, err
}

// wants says what programs ask pages for.
func (n *node) wants(w page.Want) {
	w = n.wanted(w)
	n.want.Store(&w)
}

// wanted is what pages are asked for when programs ask for w.
func (n *node) wanted(w page.Want) page.Want {
	w = n.cfg.Want.Merge(n.kept).Merge(w) // an earlier program may have asked for more
	w.Words = w.Words || n.index != nil   // what is indexed needs its words
	return w
}

// relays says that what a program has derived must and can be derived again.
func (n *node) relays(err error) bool {
	return errors.Is(err, crawl.ErrLayout) && n.cfg.Peer == nil && (n.cfg.Archive != store.None || n.keeps) && n.programs.Next <= crawl.MaxProgram
}

// over says that another program may take the place of the only one that the crawl
// has, since that had it stop: it could not go on under that one.
func (n *node) over(programs crawl.Programs, had, list []*program.Source) (bool, error) {
	if len(programs.Each) > 0 || len(list) > 1 || n.cfg.Archive == store.None || programs.Next > crawl.MaxProgram {
		return false, nil
	}
	src := first(had)
	plan, err := n.compile(src)
	if err != nil {
		return false, err
	}
	rules, err := crawl.NewProgram(crawl.ProgramConfig{Plan: plan, Own: src != nil, Version: programs.Version, Secret: n.secret}, n.store)
	if err != nil {
		return false, err
	}
	var out crawl.Out
	err = rules.Start(&out)
	return out.Stop != "", err
}

// relay makes a program the crawl's next version, as if the crawl were steered to
// it. It may be the one that the crawl has, when what that has derived is in a form
// that this build cannot read.
func (n *node) relay(cfg crawl.ProgramConfig, src *program.Source) (*crawl.Program, error) {
	cfg.Version++
	var err error
	if src == nil { // a turn that was killed may have left one
		err = os.RemoveAll(program.Dir(n.cfg.Dir, int(cfg.Version)))
	} else {
		err = src.Save(n.cfg.Dir, int(cfg.Version))
	}
	if err != nil {
		return nil, err
	}
	n.programs = crawl.Programs{Version: cfg.Version, Next: cfg.Version + 1}
	n.relaid = true
	return crawl.NewProgram(cfg, n.store)
}

// turnTo gives the Ledger other rules: all anew, or some of several.
func (n *node) turnTo(version uint8, r rules) error {
	if several, ok := r.(*crawl.Several); ok && version == n.programs.Version {
		return n.ledger.Change(several)
	}
	return n.ledger.Steer(version, r, r.Traits())
}

// compile makes a plan of a program, or of what the flags mean.
func (n *node) compile(src *program.Source) (*flow.Plan, error) {
	if src != nil {
		options := flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: n.cfg.IgnoreRobots}
		if n.cfg.Peer != nil { // rows of crawl live where the others think they do
			options.Scheme, options.Spread = Tables(n.cfg.Peer.Scheme)
		}
		return src.Compile(options)
	}
	scope := n.cfg.Scope
	scope.NoRobots = n.cfg.IgnoreRobots
	plan, err := scope.Compile()
	if err != nil {
		return nil, fmt.Errorf("the program of the flags: %w", err)
	}
	return plan, nil
}

// Tables says how rows are spread over nodes where pages are so.
func Tables(s overlay.Scheme) (flow.Scheme, int) {
	switch s.By {
	case overlay.ByURL:
		return flow.ByURL, 0
	case overlay.ByHostN:
		return flow.ByHostN, s.N
	}
	return flow.ByHost, 0
}
