package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/internal/node"
	"weir/internal/program"
	"weir/internal/store"
	"weir/overlay"
	"weir/query/flow"
)

// What a cluster crawls is a task, and which programs share it may change: whoever is
// asked writes the task anew, unless it has changed meanwhile, and every node takes up
// what it reads there. Programs are added behind the others and never taken out; those
// that have left are marked. See node.Roll, and ADR 0013.

const (
	steerTopic = "steer"
	lendTopic  = "lend"
)

// programsVersion is the version of the protocol from which on nodes heed that the
// programs of a task change.
const programsVersion = 6

// nearVersion is that from which on nodes know adaptive:rtt.
const nearVersion = 7

// boundVersion is that from which on nodes end a crawl together by the clock, or by bytes.
const boundVersion = 8

// youngVersion is that from which on nodes fetch pages again that are too old for a
// program.
const youngVersion = 9

// young says that a task has a program that wants young pages.
func (t *task) young() bool {
	return slices.ContainsFunc(t.Joined, func(p taskText) bool { return p.Since != 0 })
}

// near says that a task takes nodes that know adaptive:rtt.
func (t *task) near() bool {
	s, err := overlay.ParseScheme(t.Scheme)
	return err == nil && s.Second == overlay.Adapt && s.Far > 0
}

// roll is which programs a crawl has.
func (t *task) roll(crawl string) node.Roll {
	r := node.Roll{Number: t.Changes}
	for i := range t.Programs {
		p := &t.Programs[i]
		r.Programs = append(r.Programs, node.Enrolled{Name: p.As, Source: p.source()})
	}
	if len(r.Programs) == 0 {
		r.Programs = append(r.Programs, node.Enrolled{Name: crawl})
	}
	for i := range t.Joined {
		p := &t.Joined[i]
		r.Programs = append(r.Programs, node.Enrolled{Name: p.As, Source: p.source(), Joined: true, Since: p.Since})
	}
	for _, n := range t.Left {
		if n >= 0 && n < len(r.Programs) {
			r.Programs[n].Left = true
		}
	}
	return r
}

// change is a task that is about to change.
type change struct {
	sp       cluster.Spec
	t        *task
	settings *settings
	roll     node.Roll
	whys     []string // why rules have stopped programs, by number, as this node has heard
	options  flow.Options
}

// live are the numbers of programs that have not left.
func (c *change) live() (list []int) {
	for i, p := range c.roll.Programs {
		if !p.Left {
			list = append(list, i)
		}
	}
	return list
}

// names are theirs.
func (c *change) names() (list []string) {
	for _, i := range c.live() {
		list = append(list, c.roll.Programs[i].Name)
	}
	return list
}

// find returns the number of a program that has not left.
func (c *change) find(name string) (int, bool) {
	for _, i := range c.live() {
		if c.roll.Programs[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// source is a program's, or what the flags of the crawl mean.
func (c *change) source(n int) (*program.Source, error) {
	p := c.roll.Programs[n]
	if p.Source != nil {
		return p.Source, nil
	}
	text, err := c.settings.plain().Program()
	return &program.Source{Name: "flags", As: p.Name, Text: text}, err
}

// join adds a program, once it is sure that every node can run it. Pages that were
// fetched before since are too old for it, Unix nanoseconds; 0: none are.
func (c *change) join(src *program.Source, since int64) error {
	plan, err := src.Compile(c.options)
	if err != nil {
		return err
	}
	for _, in := range plan.Program.Inputs {
		if !src.Has(in.Table) {
			return fmt.Errorf("the rows of the input %s are missing", in.Table)
		}
	}
	if len(c.roll.Programs) > crawl.MaxProgram {
		return fmt.Errorf("this crawl has had %d programs, more than that cannot be told apart: another one needs a cluster of its own", len(c.roll.Programs))
	}
	text := textOf(src)
	text.Since = since
	c.t.Joined = append(c.t.Joined, text)
	c.roll = c.t.roll(c.sp.Name)
	return nil
}

// leave marks a program as one that has left.
func (c *change) leave(n int) {
	c.t.Left = append(c.t.Left, n)
	if n < len(c.whys) && c.whys[n] != "" {
		if c.t.Halted == nil {
			c.t.Halted = map[int]string{}
		}
		c.t.Halted[n] = c.whys[n]
	}
	c.roll = c.t.roll(c.sp.Name)
}

// changed is what came of a change. Names are for other versions: add, never rename.
type changed struct {
	Crawl    string   `json:"crawl"`
	Programs []string `json:"programs"`      // that share the crawl now
	New      []string `json:"new,omitempty"` // those that have come
	Changes  int      `json:"changes"`       // until then
	Same     bool     `json:"same,omitempty"`
	Added    []string `json:"added,omitempty"` // clauses
	Removed  []string `json:"removed,omitempty"`
	Faults   string   `json:"faults,omitempty"` // of the program: nothing has changed
}

// change changes the task of the cluster's crawl, as edit does. It does so again when
// another node was faster.
func (s *station) change(ctx context.Context, edit func(*change) (*changed, error)) (*changed, error) {
	for range 10 {
		sp, err := s.begunSpec(ctx)
		if err != nil {
			return nil, err
		}
		c, err := s.openChange(sp)
		if err != nil {
			return nil, err
		}
		got, err := edit(c)
		if fault := new(program.Fault); errors.As(err, &fault) {
			return &changed{Faults: fault.Error()}, nil
		}
		if err != nil {
			return nil, err
		}
		if !got.Same {
			if err := s.changeable(c); err != nil {
				return nil, err
			}
			c.t.Changes++
			c.t.Version, c.t.By = max(c.t.Version, changedVersion), version()
			if c.t.young() {
				c.t.Version = youngTask
			}
			body, err := json.Marshal(c.t)
			if err != nil {
				return nil, err
			}
			if err := s.cl.Replace(ctx, sp, body); errors.Is(err, cluster.ErrExists) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		got.Crawl, got.Programs, got.Changes = sp.Name, c.names(), c.t.Changes
		return got, nil
	}
	return nil, errors.New("others change the crawl all the time: try again")
}

// begunSpec is the crawl that the cluster has, as most nodes have it.
func (s *station) begunSpec(ctx context.Context) (cluster.Spec, error) {
	sp, ok, err := s.cl.Newest(ctx)
	if err == nil && !ok {
		err = errors.New("this cluster has no crawl yet: weir submit gives it one")
	}
	return sp, err
}

func (s *station) openChange(sp cluster.Spec) (*change, error) {
	t, err := readTask(sp.Body)
	if err != nil {
		return nil, err
	}
	if err := moving(sp.Name, t); err != nil {
		return nil, err
	}
	s.mu.Lock()
	c := &change{sp: sp, t: t, roll: t.roll(sp.Name), whys: s.last.Rules}
	s.mu.Unlock()
	if c.settings, _, _, err = t.open(); err != nil {
		return nil, err
	}
	scheme, err := overlay.ParseScheme(t.Scheme)
	if err != nil {
		return nil, err
	}
	c.options = flow.Options{Crawl: true, IgnoreRobots: c.settings.IgnoreRobots}
	c.options.Scheme, c.options.Spread = node.Tables(scheme)
	return c, nil
}

// moving refuses to touch a crawl that is on its way to the cluster.
func moving(name string, t *task) error {
	switch {
	case t.From == nil || !t.From.Moving:
		return nil
	case t.From.Off:
		return calledOff(name)
	}
	return errors.New("this cluster is " + t.From.moving(name))
}

const ownCluster = "another crawl needs a cluster of its own, whose nodes may run on the same machines (weir node --dir and --listen)"

// changeable says why a crawl must keep the programs that it has.
func (s *station) changeable(c *change) error {
	scheme, err := overlay.ParseScheme(c.t.Scheme)
	switch {
	case err != nil:
		return err
	case scheme.Second != overlay.Stay:
		return fmt.Errorf("the crawl %s has --scheme %s, which hands pages on, and what several programs ask of them stays at home: it keeps the one that it has; %s", c.sp.Name, c.t.Scheme, ownCluster)
	case c.settings.Warc == store.None.String():
		return fmt.Errorf("the crawl %s keeps no archive (--warc none): pages that it has could not be read again for another program; %s", c.sp.Name, ownCluster)
	}
	switch why, err := s.enough(c); {
	case err != nil:
		return err
	case why == crawl.StopTime:
		return fmt.Errorf("the time of the crawl %s is over, by its --max-time %s, for all its programs; %s", c.sp.Name, c.settings.MaxTime, ownCluster)
	case why == crawl.StopBytes:
		return fmt.Errorf("the crawl %s has fetched as many bytes as its --max-bytes %s allows, for all its programs; %s", c.sp.Name, c.settings.MaxBytes, ownCluster)
	case why != "":
		return fmt.Errorf("the crawl %s has fetched as many pages as its --max-pages %s allows, for all its programs; %s", c.sp.Name, c.settings.MaxPages, ownCluster)
	}
	if err := s.grown(programsVersion, "would not hear that the programs of the crawl have changed"); err != nil || !c.t.young() {
		return err
	}
	return s.grown(youngVersion, "does not know --share-within")
}

// grown says which node does not speak a version of the protocol, or might not.
func (s *station) grown(version int, lacks string) error {
	for _, p := range s.cl.Peers() {
		switch {
		case p.Version >= version:
		case p.Alive || p.Connected:
			return fmt.Errorf("the node %s runs an older weir, which %s: upgrade it first", p.Name, lacks)
		default: // it may only be cut off, and be back as it was
			return fmt.Errorf("the node %s is away, and as far as is known it runs an older weir, which %s: start it again with this version, or take it out with weir node remove %[1]s", p.Name, lacks)
		}
	}
	return nil
}

// grownFor says which node does not know what a task asks for, or might not. None has a
// session before there is a crawl, so each is asked.
func (s *station) grownFor(ctx context.Context, t *task) error {
	set, _, _, err := t.open()
	if err != nil {
		return err
	}
	version, lacks := 0, ""
	switch {
	case set.bound():
		version, lacks = boundVersion, "would not end with the others by --max-time or --max-bytes"
	case t.near():
		version, lacks = nearVersion, "does not know --scheme adaptive:rtt"
	default:
		return nil
	}
	strangers := s.cl.Acquaint(ctx)
	if err := s.grown(version, lacks); err != nil {
		return err
	}
	if len(strangers) > 0 {
		return fmt.Errorf("the node %s joined when this was not noted, and may run an older weir, which %s: start it again with this version", strangers[0], lacks)
	}
	return nil
}

// enough says why a crawl fetches nothing more, whatever its programs say, as its store
// knows from the start; "": it does.
func (s *station) enough(c *change) (string, error) {
	if c.settings.MaxPages == 0 && !c.settings.bound() {
		return "", nil
	}
	s.mu.Lock()
	st := s.store
	s.mu.Unlock()
	if st == nil {
		return "", errors.New("the node has only just started, and opens its part of the crawl: ask again in a few seconds")
	}
	return crawl.ReadEnough(st)
}

// submit keeps a crawl for all nodes: as the first, or as a program that shares the one
// that they have.
func (s *station) submit(ctx context.Context, b []byte) ([]byte, error) {
	var in submission
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("read what was submitted: %w", err)
	}
	t, err := readTask(in.Task)
	if err != nil {
		return nil, err
	}
	list, err := s.specs(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		if err := s.grownFor(ctx, t); err != nil {
			return nil, err
		}
		first := *t // there are no pages yet that could be too old
		if err := first.begin(time.Now()); err != nil {
			return nil, err
		}
		body, err := json.Marshal(first)
		if err != nil {
			return nil, err
		}
		err = s.keepTask(ctx, in.Name, body)
		if err == nil {
			return json.Marshal(changed{Crawl: in.Name})
		}
		if !errors.Is(err, cluster.ErrExists) { // else another one came first
			return nil, err
		}
	}
	got, err := s.change(ctx, func(c *change) (*changed, error) { return c.submit(t, &in) })
	if err != nil {
		return nil, err
	}
	return json.Marshal(got)
}

// submit lets what was submitted share the crawl.
func (c *change) submit(t *task, in *submission) (*changed, error) {
	if c.t.same(t) && (in.Name == c.sp.Name || !in.named()) {
		return &changed{Same: true}, nil
	}
	s, _, list, err := t.open()
	if err != nil {
		return nil, err
	}
	if err := c.agrees(s, t, in); err != nil {
		return nil, err
	}
	if len(t.Seeds) == 0 {
		return nil, errors.New("a program that comes to share the cluster's crawl " + needsSeeds + ": name some; with the crawl's own it starts by weir steer --at HOST:PORT --beside FILE.dl")
	}
	if len(list) > 1 && in.named() {
		return nil, errors.New(nameForOne + ", and these are several: they are called by their files")
	}
	if len(list) == 0 {
		text, err := s.plain().Program()
		if err != nil {
			return nil, err
		}
		list = append(list, &program.Source{Name: "flags", As: c.free(in), Text: text})
	} else if in.named() {
		list[0].As = in.Name
	}
	since := int64(0)
	if t.Version == youngTask {
		since = time.Now().Add(-time.Duration(s.ShareWithin)).UnixNano()
	}
	got := &changed{Same: true}
	for _, src := range list {
		for _, seed := range t.Seeds {
			src.Seeds = append(src.Seeds, program.Seed(seed))
		}
		if c.has(src, in.named()) {
			continue
		}
		if _, taken := c.find(src.As); taken {
			return nil, fmt.Errorf("a program called %s shares the crawl already, and it is another one: choose another --name, or put this one in its place with weir steer --at HOST:PORT FILE.dl", src.As)
		}
		if err := c.join(src, since); err != nil {
			return nil, err
		}
		got.Same, got.New = false, append(got.New, src.As)
	}
	return got, nil
}

// has says that a program shares the crawl already, under its name if that counts.
func (c *change) has(src *program.Source, named bool) bool {
	for _, i := range c.live() {
		if p := c.roll.Programs[i]; p.Source != nil && p.Source.Same(src) && (p.Name == src.As || !named) {
			return true
		}
	}
	return false
}

// free is what flags are called that come to share the crawl: as they were named, or
// as nothing is yet.
func (c *change) free(in *submission) string {
	name := in.Name
	for n := 2; !in.named(); n++ {
		if _, taken := c.find(name); !taken {
			break
		}
		name = fmt.Sprintf("%s-%d", in.Name, n)
	}
	return name
}

// same says that two tasks were asked for in the same words, at first.
func (t *task) same(o *task) bool {
	text := func(t *task) string {
		b, err := json.Marshal(task{Settings: t.Settings, Seeds: t.Seeds, Programs: t.Programs, Scheme: t.Scheme, Limit: t.Limit})
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	return text(t) == text(o)
}

// ofProgram are the settings that make the program of a crawl, that no node goes by, or
// that follow from others.
var ofProgram = []string{"deadline-as", "header-hosts", "dir", "seeds", "config", "scope", "depth", "match", "exclude", "requisites", "sitemaps", "program", "set", "index", "index-by-term", "allow-address", "json", "trace", "share-within"}

// agrees refuses settings that hold for all who share the crawl, and are others there.
func (c *change) agrees(s *settings, t *task, in *submission) error {
	var differ []string
	note := func(name, is, was string) {
		if name == "sites" { // no flag is called so
			differ = append(differ, "settings of single sites, in the list sites of a config file, that the crawl does not have")
			return
		}
		differ = append(differ, fmt.Sprintf("--%s %s, and the crawl has %s", name, cmp.Or(is, "none"), cmp.Or(was, "none")))
	}
	was, plain := fields(c.settings), fields(defaults())
	for i, f := range fields(s) {
		if !slices.Contains(ofProgram, f.name) && f.text() != was[i].text() && (f.text() != plain[i].text() || slices.Contains(in.Given, f.name)) {
			note(f.name, f.text(), was[i].text())
		}
	}
	if t.Scheme != c.t.Scheme && slices.Contains(in.Given, "scheme") {
		note("scheme", t.Scheme, c.t.Scheme)
	}
	if t.Limit != c.t.Limit && t.Limit > 0 {
		note("cluster-limit", rate(t.Limit).String(), rate(c.t.Limit).String())
	}
	for _, addr := range s.AllowAddress {
		if !c.settings.AllowPrivate && !slices.Contains(c.settings.AllowAddress, addr) {
			differ = append(differ, fmt.Sprintf("a page at the private address %s, and the crawl goes to those that it was begun with", addr))
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return fmt.Errorf("this cluster has the crawl %s, which this one would share, with %s; it asks for %s: leave these out; %s", c.sp.Name, settingsForBoth, strings.Join(differ, "; for "), ownCluster)
}

// One of these is in what a node says when a crawl cannot be asked for in these words: that
// is wrong usage, though only the node knows.
const (
	settingsForBoth = "settings that hold for both"
	needsSeeds      = "needs pages of its own to start from"
	nameForOne      = "--name is for one program"
)

var misasked = []string{settingsForBoth, needsSeeds, nameForOne}

// steer changes the programs of the crawl as weir steer does on one machine.
func (s *station) steer(ctx context.Context, b []byte) ([]byte, error) {
	var t node.Turn
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("read what is to change: %w", err)
	}
	got, err := s.change(ctx, func(c *change) (*changed, error) { return c.steer(t) })
	if err != nil {
		return nil, err
	}
	return json.Marshal(got)
}

func (c *change) steer(t node.Turn) (*changed, error) {
	name, src := cmp.Or(t.Leave, t.Program.As), &t.Program
	at, there := c.find(name)
	if live := c.live(); t.Leave == "" && !t.Beside && len(live) == 1 { // there is one to be replaced, whatever it is called
		at, there = live[0], true
	}
	had, since := &program.Source{}, int64(0)
	if there {
		since = c.roll.Programs[at].Since
		var err error
		if had, err = c.source(at); err != nil {
			return nil, err
		}
	}
	switch {
	case there && t.Beside:
		return nil, fmt.Errorf("a program called %s shares the crawl already: leave --beside out to put this one in its place, or give the file another name", name)
	case !there && t.Leave != "":
		return nil, fmt.Errorf("no program that shares the crawl is called %s; there are %s", name, strings.Join(c.names(), ", "))
	case !there && !t.Beside:
		return nil, fmt.Errorf("no program that shares the crawl is called %s; there are %s; --beside lets one share it too", name, strings.Join(c.names(), ", "))
	case t.Leave != "" && len(c.live()) == 1:
		return nil, fmt.Errorf("%s is the last program of the crawl; weir drain has the nodes leave", name)
	case t.Leave != "":
		got := new(changed)
		got.Removed, _ = program.Diff(had, &program.Source{})
		c.leave(at)
		return got, nil
	case t.Add:
		src = had.Add(src)
		src.As = had.As
	}
	if there {
		src.Seeds = had.Seeds
		if src.Same(had) {
			return &changed{Same: true}, nil
		}
		c.leave(at)
	}
	got := &changed{New: []string{src.As}}
	got.Removed, got.Added = program.Diff(had, src)
	return got, c.join(src, since)
}

// programStatus is one of the programs that share a crawl.
type programStatus struct {
	Name  string `json:"name"`
	File  string `json:"file,omitempty"` // that it was read from; none: flags
	Seeds int    `json:"seeds,omitempty"`
	State string `json:"state,omitempty"`   // new: some node has not begun with it; looking: nothing waits, and nodes find out whether more follows; crawling, done; stopped: by its rules; cancelled
	Why   string `json:"stopped,omitempty"` // by which rule
}

// heed passes on what a node hears of the programs. It never blocks: who is late gets
// the newest, which has all that was before.
func (s *station) heed(sp cluster.Spec) {
	t, err := readTask(sp.Body)
	if err != nil { // rows of programs that it does not hear of hold up all that it reads
		s.warn(err)
		return
	}
	if t.Changes > 0 {
		s.cl.Require(programsVersion)
	}
	if t.near() {
		s.cl.Require(nearVersion)
	}
	if t.Version >= boundTask {
		s.cl.Require(boundVersion)
	}
	if t.young() {
		s.cl.Require(youngVersion)
	}
	r := t.roll(sp.Name)
	s.mu.Lock()
	s.agreed, s.halted = r, t.Halted
	s.mu.Unlock()
	select {
	case <-s.rolls:
	default:
	}
	s.rolls <- r // there is room: nobody else sends
}

// programs are those of the crawl. The caller holds mu.
func (s *station) programs() (list []programStatus) {
	for i, p := range s.agreed.Programs {
		x := programStatus{Name: p.Name}
		if i < len(s.last.Rules) {
			x.Why = s.last.Rules[i]
		}
		if p.Source != nil {
			x.File, x.Seeds = p.Source.Name, len(p.Source.Seeds)
		}
		switch {
		case p.Left:
			x.State, x.Why = cancelled, s.halted[i]
		case x.Why != "":
			x.State = "stopped"
		}
		list = append(list, x)
	}
	return list
}

const cancelled = "cancelled"

// took notes which roll the node goes by.
func (s *station) took(number int) {
	s.mu.Lock()
	was := s.taken
	s.taken = number
	s.mu.Unlock()
	if was >= 0 && was != number {
		s.note(fmt.Sprintf("the programs of the crawl have changed (%d): pages that this node has are read again for those that are new", number))
	}
}

// lend answers a node that asks for a page.
func (s *station) lend(_ context.Context, b []byte) ([]byte, error) {
	s.mu.Lock()
	st, scheme, silent := s.store, s.scheme, s.silent
	s.mu.Unlock()
	if st == nil || silent {
		return nil, nil
	}
	return node.Lend(st, scheme, b)
}
