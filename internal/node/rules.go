package node

import (
	"errors"
	"fmt"
	"os"

	"weir/crawl"
	"weir/internal/program"
	"weir/internal/store"
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

// openRules makes the program of the crawl ready: that of its folder, if it has
// been begun, or the one that the user has named, which is kept there before
// anything follows from it.
func (n *node) openRules() (*crawl.Program, error) {
	version, begun, err := crawl.ReadProgram(n.store)
	if err != nil {
		return nil, err
	}
	src := n.cfg.Program
	other := false // the crawl had another one, which is over
	if begun {
		had, err := program.Load(n.cfg.Dir, version)
		if err != nil {
			return nil, err
		}
		if src != nil && (had == nil || !src.Same(had)) {
			if other, err = n.stopped(had, byte(version)); err != nil {
				return nil, err
			}
			if !other || n.cfg.Archive == store.None || version == maxVersion {
				return nil, ErrOtherProgram
			}
		} else {
			src = had
		}
	}
	plan, err := n.compile(src)
	if err != nil {
		return nil, err
	}
	cfg := crawl.ProgramConfig{Plan: plan, Own: src != nil, Version: byte(version), Secret: n.secret}
	want := n.cfg.Want.Merge(plan.Wants())
	if !begun {
		if err := n.begin(src, version, cfg.Rereads(), want); err != nil {
			return nil, err
		}
	}
	if n.cfg.Archive == store.None {
		if n.kept, n.keeps, err = crawl.ReadWant(n.store); err != nil {
			return nil, err
		}
		n.forgets = cfg.Rereads() && !n.keeps
	}
	n.version = uint8(version)
	want = want.Merge(n.kept) // an earlier program may have asked for more
	n.want.Store(&want)
	if other {
		return n.relay(cfg, src)
	}
	rules, err := crawl.NewProgram(cfg, n.store)
	if errors.Is(err, crawl.ErrLayout) && (n.cfg.Archive != store.None || n.keeps) && n.version < maxVersion {
		return n.relay(cfg, src)
	}
	return rules, err
}

// stopped says that the program that the crawl has had it stop: it could not go on
// under that one.
func (n *node) stopped(had *program.Source, version byte) (bool, error) {
	plan, err := n.compile(had)
	if err != nil {
		return false, err
	}
	rules, err := crawl.NewProgram(crawl.ProgramConfig{Plan: plan, Own: had != nil, Version: version, Secret: n.secret}, n.store)
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
	n.version, n.relaid = cfg.Version, true
	return crawl.NewProgram(cfg, n.store)
}

// begin notes which program the crawl has. Without an archive, one that may need
// facts of pages again keeps those that it wants now.
func (n *node) begin(src *program.Source, version int, rereads bool, want page.Want) error {
	totals, err := crawl.ReadTotals(n.store)
	if err != nil {
		return err
	}
	if totals.Seen > 0 {
		return ErrOld
	}
	if src == nil { // a start that was killed may have left one
		err = os.RemoveAll(program.Dir(n.cfg.Dir, version))
	} else {
		err = src.Save(n.cfg.Dir, version)
	}
	if err != nil {
		return err
	}
	g := n.store.Begin()
	crawl.WriteProgram(g, version)
	if n.cfg.Archive == store.None && rereads {
		crawl.WriteWant(g, want)
	}
	return g.Commit()
}

// compile makes a plan of a program, or of what the flags mean.
func (n *node) compile(src *program.Source) (*flow.Plan, error) {
	if src != nil {
		return src.Compile(flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: n.cfg.IgnoreRobots})
	}
	scope := n.cfg.Scope
	scope.NoRobots = n.cfg.IgnoreRobots
	plan, err := scope.Compile()
	if err != nil {
		return nil, fmt.Errorf("the program of the flags: %w", err)
	}
	return plan, nil
}
