package crawl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// Program are the Rules that a program gives: its plan, run by a flow.Part whose
// state lies in the crawl's store. A plain crawl is a program too, see
// ScopeConfig.Program: there is no other way from a page to what follows from it.
//
// The crawl table is not in the Part's state but in the Ledger's, as rows u and
// q: the Part hands out what it derives, and the Ledger finds out what is new.
type Program struct {
	cfg   ProgramConfig
	part  *flow.Part
	depth bool // crawl has a depth
	score bool // crawl has a priority
	laid  bool // the state says how its rows are laid out
	out   flow.Out
}

// ErrLayout says that the rows of a program's tables were kept by another build
// of weir, which compiled the program to another plan, and cannot be read by this
// one. They can be derived again, see Ledger.Steer.
var ErrLayout = errors.New("what the program has derived was kept in another form, by another version of weir")

// layoutKey is where a program's state says how its rows are laid out; no path of
// a plan has this number.
var layoutKey = []byte{0xff, 0xff}

// ProgramConfig says which program a crawl runs.
type ProgramConfig struct {
	Plan    *flow.Plan // compiled for a crawl, with its inputs
	Own     bool       // the user has written it; else it follows from flags
	Version byte       // counts the programs that a crawl has had, from 0: each has its own state
	Secret  page.Secret
}

// Rereads says that the program may need the facts of pages that ended again: it
// tests a depth or a priority that may improve, or joins pages with a table of the
// user that may grow. The scope of a plain crawl grows when a root redirects to
// another host, which is seldom news to pages that were read before; it is not worth
// keeping all facts.
func (c ProgramConfig) Rereads() bool {
	return c.Plan.TestsDepth || c.Own && (c.Plan.TestsPriority ||
		slices.ContainsFunc(c.Plan.Program.Tables, func(t *query.Table) bool { return t.Small }))
}

// NewProgram returns the rules of a program, with what earlier runs have kept.
// The error is ErrLayout when that cannot be read.
func NewProgram(cfg ProgramConfig, kv KV) (*Program, error) {
	state := partState{kv, []byte{keyFact, cfg.Version}}
	laid, err := cfg.laid(state)
	if err != nil {
		return nil, fmt.Errorf("open the program's state: %w", err)
	}
	part, err := flow.NewPart(cfg.Plan, state, 0, 1)
	if err != nil {
		return nil, fmt.Errorf("open the program's state: %w", err)
	}
	crawl := cfg.Plan.Program.Table("crawl")
	return &Program{cfg: cfg, part: part, depth: crawl.Arity() > 1, score: crawl.Arity() > 2, laid: laid}, nil
}

// layout is how the plan lays rows out, and which program it is of.
func (c *ProgramConfig) layout() []byte {
	text := fnv.New64a()
	text.Write([]byte(c.Plan.Program.Text))
	return text.Sum(binary.BigEndian.AppendUint64(nil, c.Plan.Layout()))
}

// laid says that a state has its rows where the plan looks for them. What other
// flags have derived under the same version stays as it is: they may change from
// run to run.
func (c *ProgramConfig) laid(s partState) (bool, error) {
	had, ok, err := s.Get(layoutKey)
	if err != nil || !ok {
		return false, err
	}
	own := c.layout()
	if len(had) != len(own) || bytes.Equal(had[8:], own[8:]) && !bytes.Equal(had, own) {
		return false, ErrLayout
	}
	return bytes.Equal(had, own), nil
}

// Compile makes a plan of the plain crawl.
func (c ScopeConfig) Compile() (*flow.Plan, error) {
	text, err := c.Program()
	if err != nil {
		return nil, err
	}
	p, faults := query.Parse("flags", text)
	var checked *query.Checked
	if !query.Failed(faults) {
		checked, faults = query.Check(p)
	}
	var plan *flow.Plan
	if !query.Failed(faults) {
		plan, faults = flow.Compile(checked, flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: c.NoRobots})
	}
	for _, d := range faults {
		if !d.Warning {
			return nil, fmt.Errorf("line %d: %s", d.Line, d.Message)
		}
	}
	return plan, nil
}

// Rules are those of the plain crawl, with what earlier runs have kept.
func (c ScopeConfig) Rules(secret page.Secret, kv KV) (*Program, error) {
	plan, err := c.Compile()
	if err != nil {
		return nil, err
	}
	return NewProgram(ProgramConfig{Plan: plan, Secret: secret}, kv)
}

// partState is the part of the store that is a program's.
type partState struct {
	kv     KV
	prefix []byte
}

func (s partState) under(key []byte) []byte {
	return append(s.prefix[:len(s.prefix):len(s.prefix)], key...)
}

// Get implements flow.State.
func (s partState) Get(key []byte) ([]byte, bool, error) { return s.kv.Get(s.under(key)) }

// Scan implements flow.State.
func (s partState) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	to := s.under(upper)
	if upper == nil {
		to = after(s.prefix)
	}
	return s.kv.Scan(s.under(lower), to, func(key, value []byte) bool { return fn(key[len(s.prefix):], value) })
}

// Number tells the program from the others that the crawl has, or has had.
func (p *Program) Number() uint8 { return p.cfg.Version }

// Wants says what the program asks pages for.
func (p *Program) Wants() page.Want { return p.cfg.Plan.Wants() }

// Traits says what the Ledger must do for the program.
func (p *Program) Traits() RuleTraits {
	plan, own := p.cfg.Plan, p.cfg.Own
	return RuleTraits{
		Crawled: plan.KeepsCrawl, Depth: plan.TestsDepth, Score: own && plan.TestsPriority, Ends: own,
		Priority: own && p.score, Robots: plan.Wants().Sitemaps,
	}
}

// Start implements Rules.
func (p *Program) Start(out *Out) error {
	p.out.Reset()
	if err := p.part.Start(&p.out); err != nil {
		return err
	}
	if !p.laid {
		p.out.Put = append(p.out.Put, flow.Pair{Key: layoutKey, Value: p.cfg.layout()})
	}
	p.hand(&page.Facts{}, out)
	tables := p.cfg.Plan.Program
	if t := tables.Table("stop"); t != nil {
		err := p.part.Rows(t, func(row flow.Row) bool {
			out.Stop = row[0].S
			return false
		})
		if err != nil {
			return err
		}
	}
	return p.Waits(func(w Wait) bool {
		out.Waits = append(out.Waits, w)
		return true
	})
}

// Share makes the program one that several nodes run, each for the partitions that
// it owns; see flow.Part.
func (p *Program) Share(parts int, owns func(part int) bool) { p.part.Share(parts, owns) }

// Tuple takes a row that a partition has sent; one of another program means nothing
// to it.
func (p *Program) Tuple(program uint8, t flow.Tuple, out *Out) error {
	if program != p.cfg.Version {
		return nil
	}
	p.out.Reset()
	if err := p.part.Tuple(t, &p.out); err != nil {
		return err
	}
	p.hand(&page.Facts{}, out)
	return nil
}

// Waits calls fn for the waits that the program has derived, until it returns
// false.
func (p *Program) Waits(fn func(Wait) bool) error {
	t := p.cfg.Plan.Program.Table("wait")
	if t == nil {
		return nil
	}
	return p.part.Rows(t, func(row flow.Row) bool {
		seconds := float64(row[1].N)
		if t.Types[1] == query.Float {
			seconds = row[1].Float()
		}
		return fn(wait(row[0].S, seconds))
	})
}

// wait is how long a host rests when a program asks for so many seconds.
func wait(host string, seconds float64) Wait {
	most := page.MaxAsked.Seconds()
	return Wait{Host: strings.ToLower(host), Delay: time.Duration(min(max(seconds, 0), most) * float64(time.Second))}
}

// Page implements Rules.
func (p *Program) Page(f *page.Facts, out *Out) error {
	p.out.Reset()
	var err error
	if f.Outcome == page.None {
		err = p.part.Seed(f.URL, float64(f.Score), &p.out)
	} else {
		err = p.part.Page(f, &p.out)
	}
	if err != nil {
		return err
	}
	p.hand(f, out)
	return nil
}

// Crawled implements Rules.
func (p *Program) Crawled(u page.URL, depth uint16, score float32, out *Out) error {
	p.out.Reset()
	if err := p.part.Crawled(u.String(), int64(depth), float64(score), &p.out); err != nil {
		return err
	}
	p.hand(&page.Facts{Depth: depth, Score: score}, out)
	return nil
}

// Follows says whether a link to a page would be followed that stands on a page
// of the same host, and no link away from a seed. It is for people who ask why a
// page is not there, and for rules that are not used for anything else after it.
func (p *Program) Follows(u page.URL) (bool, error) {
	return p.follows(&page.Facts{URL: u, Outcome: page.OK, Status: 200, Links: []page.Link{{URL: u, Hash: p.cfg.Secret.Hash(u.Rest())}}}, u)
}

// follows says whether the facts of a page lead to u.
func (p *Program) follows(f *page.Facts, u page.URL) (bool, error) {
	var out Out
	if err := p.Page(f, &out); err != nil {
		return false, err
	}
	return slices.ContainsFunc(out.Crawl, func(r Row) bool { return r.URL == u }), nil
}

// Rows calls fn for the rows of a table that the program keeps up, until it
// returns false.
func (p *Program) Rows(t *query.Table, fn func(flow.Row) bool) error { return p.part.Rows(t, fn) }

// Find calls fn for the rows of such a table that have a value in their first
// column.
func (p *Program) Find(t *query.Table, first query.Value, fn func(flow.Row) bool) error {
	return p.part.Find(t, first, fn)
}

// Committed implements Rules.
func (p *Program) Committed() { p.part.Committed() }

// hand turns what the Part has derived into what the Ledger takes.
func (p *Program) hand(f *page.Facts, out *Out) {
	for i := range p.out.Crawl {
		p.row(f, &p.out.Crawl[i], out)
	}
	for _, c := range p.out.Put {
		out.Put = append(out.Put, Pair{Key: append([]byte{p.cfg.Version}, c.Key...), Value: c.Value, Gone: c.Gone})
	}
	for _, t := range p.out.Send {
		out.Send = append(out.Send, Sent{p.cfg.Version, t})
	}
	if out.Stop == "" {
		out.Stop = p.out.Stop
	}
	for _, w := range p.out.Waits {
		out.Waits = append(out.Waits, wait(w.Host, w.Seconds))
	}
	out.Stale = out.Stale || p.out.Stale
}

// row hands an order on. Hops travel with the page: a redirect costs one, and so
// does an index of sitemaps, since neither is a link.
func (p *Program) row(f *page.Facts, o *flow.Order, out *Out) {
	row := Row{URL: o.URL, Depth: uint16(min(max(o.Depth, 0), math.MaxUint16)), Score: float32(min(max(o.Priority, -math.MaxFloat32), math.MaxFloat32))}
	if o.Link != nil {
		row.Hash = o.Link.Hash
	} else {
		row.Hash = p.cfg.Secret.Hash(o.URL.Rest())
	}
	via, step := o.Via, uint16(1)
	switch {
	case f.Outcome == page.None && o.URL == f.URL:
		row.Seed, row.Root, via, step = true, true, flow.BySeed, 0
	case f.Outcome == page.Redirected && !f.Robots && o.URL == f.Redirect.URL:
		row.Hops, row.Root, via, step = f.Hops+1, f.Root, flow.ByRedirect, 0
	case via == flow.BySitemapIndex:
		if f.Hops >= sitemapNest {
			return
		}
		row.Hops, step = f.Hops+1, 0
	case via == flow.ByRobots:
		step = 0
	}
	if !p.depth {
		row.Depth = max(f.Depth, f.Depth+step)
	}
	if !p.score {
		row.Score = f.Score
	}
	row.By = p.by(o.Rule, via)
	out.Crawl = append(out.Crawl, row)
}

// by names what brought a page: the user's own rules by their numbers, those of
// a plain crawl by what they are about.
func (p *Program) by(rule int, via flow.Via) Rule {
	if p.cfg.Own {
		return ByRules + Rule(min(rule, math.MaxUint8-int(ByRules)))
	}
	switch via {
	case flow.BySeed:
		return BySeed
	case flow.ByRedirect:
		return ByRedirect
	case flow.ByRequisite:
		return ByRequisite
	case flow.BySitemap, flow.BySitemapIndex, flow.ByRobots:
		return BySitemap
	}
	return ByLink
}
