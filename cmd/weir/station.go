package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/internal/node"
	"weir/internal/search"
	"weir/internal/store"
	"weir/overlay"
)

// What nodes are asked, see cluster.Node.Answer.
const (
	submitTopic   = "submit"
	cancelTopic   = "cancel"
	statusTopic   = "status"
	drainTopic    = "drain"
	removeTopic   = "remove"
	refetchTopic  = "refetch"
	fetchingTopic = "refetched"
	farewellTopic = "farewell"
)

// station is a node while it runs: what the cluster has submitted, how its crawl is
// doing, and the answers to those who ask. Safe for concurrent use.
type station struct {
	cl    *cluster.Node
	logs  *os.File
	news  chan cluster.Spec // what was submitted; the first one counts
	rolls chan node.Roll    // its programs, the newest

	work  sync.WaitGroup // what runs beside
	once  sync.Once
	leave chan struct{} // closed when the node is to hand over and end
	bye   sync.Once     // the others are told once why it cannot go on

	mu      sync.Mutex
	say     func(string) // tells a person
	crawl   string       // its name; "": none yet
	last    node.Status
	member  overlay.Status
	joined  bool                 // it has had a session
	warned  []warning            // the newest last
	lost    map[string]time.Time // nodes whose pages are fetched again, and since when
	store   *store.Store         // of the crawl; nil: there is none yet
	dir     string               // its folder
	began   search.Point         // up to where its archive was there when the node began with it
	waits   string               // what it waits for before it belongs to a cluster
	waitsAt time.Time            // when that was said
	from    *taskFrom            // where the crawl was before
	scheme  overlay.Scheme       // of the crawl
	agreed  node.Roll            // which programs it has, as this node has heard
	halted  map[int]string       // why rules had stopped programs that have left since
	taken   int                  // the number of the roll that the node goes by; -1: none yet

	streams map[uint64]*stream // see stream.go
	drawn   uint64             // how many there were
	silent  bool               // no more are begun
	reading sync.WaitGroup     // those who fill them
	indexes sync.Mutex         // held by whoever indexes the node's pages
}

// warning is one that weir status shows for a while.
type warning struct {
	at      time.Time // when it was said last
	text    string
	removed string // the node that was, if it is about that
}

const (
	maxWarned = 5
	warnedFor = 10 * time.Minute
)

func newStation(logs *os.File, say func(string)) *station {
	return &station{logs: logs, say: say, news: make(chan cluster.Spec, 1), rolls: make(chan node.Roll, 1), taken: -1, lost: map[string]time.Time{}, streams: map[uint64]*stream{}, leave: make(chan struct{})}
}

// note tells a person.
func (s *station) note(text string) {
	s.mu.Lock()
	say := s.say
	s.mu.Unlock()
	s.log(text)
	say(text)
}

// log keeps a line for those who look for the reason afterwards.
func (s *station) log(text string) {
	fmt.Fprintf(s.logs, "%s %s\n", time.Now().UTC().Format(time.RFC3339), line(text))
}

// warn tells a person, and those who ask for the status.
func (s *station) warn(err error) {
	now := warning{at: time.Now(), text: warningOf(err)}
	removed := new(cluster.RemovedError)
	if errors.As(err, &removed) {
		now.removed = removed.Node
	}
	s.mu.Lock()
	if since, ok := s.lost[now.removed]; ok && now.at.Sub(since) < heardTime { // it hears of that late
		now.text = again(now.removed)
	}
	if !lasts(err) { // else the status has it anyway
		s.warned = slices.DeleteFunc(s.warned, func(w warning) bool { return w.text == now.text })
		s.warned = append(s.warned, now)
		s.warned = s.warned[max(0, len(s.warned)-maxWarned):]
	}
	s.mu.Unlock()
	s.note("weir: " + now.text)
}

// warningOf says what is wrong, and what to do about it.
func warningOf(err error) string {
	text := "warning: " + line(err.Error())
	var f *fault
	if errors.As(clusterFault(err), &f) && f.hint != "" {
		text += "; " + f.hint
	}
	return text
}

// lasts says that a warning is about something that the status has as long as it lasts.
func lasts(err error) bool {
	return errors.As(err, new(*cluster.EndError)) || errors.As(err, new(*cluster.StorageError)) || errors.As(err, new(*cluster.ShortError))
}

// recent are the warnings that may matter still, and when they were said. The caller
// holds mu.
func (s *station) recent(now time.Time) (list []string) {
	for _, w := range s.warned {
		if ago := now.Sub(w.at); ago < warnedFor {
			list = append(list, fmt.Sprintf("%s (%s ago)", w.text, short(ago.Round(time.Second))))
		}
	}
	return list
}

// serve answers whoever asks the node from now on.
func (s *station) serve(cl *cluster.Node) {
	s.cl = cl
	cl.Answer(statusTopic, func(context.Context, []byte) ([]byte, error) { return json.Marshal(s.status()) })
	cl.Answer(submitTopic, s.submit)
	cl.Answer(steerTopic, s.steer)
	cl.AnswerInTurn(lendTopic, s.lend)
	cl.Answer(cancelTopic, s.cancel)
	cl.Answer(drainTopic, func(context.Context, []byte) ([]byte, error) {
		s.drain("somebody asked for it with weir drain")
		return nil, nil
	})
	cl.Answer(removeTopic, func(ctx context.Context, b []byte) ([]byte, error) {
		var name string
		if err := json.Unmarshal(b, &name); err != nil {
			return nil, err
		}
		return nil, cl.RemovePeer(ctx, name)
	})
	cl.Answer(refetchTopic, s.refetch)
	cl.Answer(fetchingTopic, s.fetching)
	cl.Answer(farewellTopic, s.left)
	cl.Answer(moveTopic, s.move)
	cl.Answer(streamTopic, s.stream)
	cl.Answer(crawlTopic, func(context.Context, []byte) ([]byte, error) { return json.Marshal(s.known()) })
	cl.Answer(showTopic, s.show)
	cl.Answer(seedsTopic, s.seeds)
	cl.Watch(func(sp cluster.Spec) {
		if sp.Body == nil || s.waitsFor(sp) {
			return
		}
		s.heed(sp)
		select {
		case s.news <- sp:
		default:
		}
	})
}

// drain has the node hand over and end.
func (s *station) drain(why string) {
	s.once.Do(func() {
		s.log("leaving: " + why)
		close(s.leave)
	})
}

// keepTask keeps a crawl for all nodes, unless they have one.
func (s *station) keepTask(ctx context.Context, name string, body []byte) error {
	if name == serverDir || name == homeFile {
		return fmt.Errorf("a crawl cannot be called %s: choose another --name", name)
	}
	list, err := s.specs(ctx, name)
	if err != nil {
		return err
	}
	for _, sp := range list {
		if t, err := readTask(sp.Body); err == nil {
			if err := moving(sp.Name, t); err != nil {
				return err
			}
		}
		if sp.Name != name || !slices.Equal(sp.Body, body) {
			return fmt.Errorf("this cluster has the crawl %s, also when it is done, and cannot take over one of another machine beside it: %s", sp.Name, ownCluster)
		}
	}
	return s.cl.Submit(ctx, name, body)
}

// specs lists what was submitted, as most nodes have it: under a name, what came last,
// and what this one has heard.
func (s *station) specs(ctx context.Context, name string) (list []cluster.Spec, err error) {
	newest, ok, err := s.cl.Newest(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{name}
	if ok && newest.Name != name {
		names = append(names, newest.Name)
	}
	for _, sp := range s.cl.Specs() {
		if !slices.Contains(names, sp.Name) {
			names = append(names, sp.Name)
		}
	}
	for _, name := range names {
		sp, ok, err := s.cl.Spec(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, sp)
		}
	}
	return list, nil
}

// waitsFor says that a crawl is still on its way to the cluster.
func (s *station) waitsFor(sp cluster.Spec) bool {
	t, err := readTask(sp.Body)
	if err != nil || t.From == nil {
		return false
	}
	if t.From.Moving {
		s.log(fmt.Sprintf("the crawl %s is being taken over from %s on %s", sp.Name, t.From.Dir, t.From.Machine))
		return true
	}
	s.mu.Lock()
	s.from = t.From
	s.mu.Unlock()
	return false
}

// told takes the crawl's newest numbers.
func (s *station) told(st node.Status) {
	s.mu.Lock()
	s.last = st
	s.mu.Unlock()
}

// What a node says when it has lost the others, and when it has found them again.
const (
	lostTouch = "weir: warning: this node has lost touch with the others, or with most of them, and has stopped fetching; it goes on when it reaches them again, and nothing is lost"
	inTouch   = "weir: in touch with the others again: this node goes on"
	logsBack  = "weir: no partition of this node waits for its log any more"
)

// logsAway says that some of a node's partitions wait.
func logsAway(parts int) string {
	return fmt.Sprintf("warning: this node does not read back what it writes to the logs of %s, and fetches nothing there until it does: nothing is lost (no node leads them just now, the way to who does is cut, or the machines are overloaded)", many(int64(parts), "partition"))
}

// watch takes what the node knows of the others, and tells a person when it has lost them.
func (s *station) watch(st overlay.Status) {
	s.mu.Lock()
	had, cut, joined := s.member.Held, s.member.Cut, s.joined
	s.member, s.joined = st, joined || st.Held
	s.mu.Unlock()
	switch {
	case st.Draining || !joined || had == st.Held: // who leaves is told otherwise, see forsaken
	case st.Held:
		s.note(inTouch)
	default:
		s.note(lostTouch)
	}
	switch {
	case !had || !st.Held: // which says it all
	case cut == 0 && st.Cut > 0:
		s.note("weir: " + logsAway(st.Cut))
	case cut > 0 && st.Cut == 0:
		s.note(logsBack)
	}
}

// nodeStatus is how one node is doing. Names are for programs: add, never rename.
type nodeStatus struct {
	Name    string `json:"name"`
	Addr    string `json:"addr"`
	Version string `json:"version"`
	State   string `json:"state"` // waiting; joining: it has no session yet; crawling, quiet, draining, fenced; silent: it does not answer, gone: it has no session
	Crawl   string `json:"crawl,omitempty"`

	Owned   int     `json:"partitions"`
	Queued  int64   `json:"queued"`
	Flying  int     `json:"flying"`
	Fetched int64   `json:"fetched"`
	Errors  int64   `json:"errors"`
	Bytes   int64   `json:"bytes"`
	Seen    int64   `json:"seen"` // URLs it knows
	Pages   float64 `json:"pages_per_second"`
	Rate    float64 `json:"rate"`
	Enough  bool    `json:"enough,omitempty"`   // nothing more is to be fetched
	By      string  `json:"ended_by,omitempty"` // max-pages, max-bytes, max-time: what says so, if not the rules
	Stopped string  `json:"stopped,omitempty"`  // why the crawl's rules have ended it
	Unacked int     `json:"unacked"`            // bytes that others have not acknowledged
	Limit   int64   `json:"limit,omitempty"`    // of all nodes
	Share   int64   `json:"share,omitempty"`    // of that

	Promises []node.Promise `json:"promises,omitempty"` // of sites that it owns

	Spoken map[string]int64 `json:"coordination_received"` // bytes, by what they are about

	Cluster string   `json:"cluster"`
	Teller  string   `json:"teller,omitempty"`
	Leader  string   `json:"leader,omitempty"`
	Lag     uint64   `json:"lag"` // batches that the copy farthest behind does not have
	Orphans []int    `json:"orphans,omitempty"`
	Peers   []peerAt `json:"peers,omitempty"`
	Warned  []string `json:"warnings,omitempty"`
	Lasting []string `json:"lasting,omitempty"` // those of the warnings that stay until somebody does something

	Missing map[string][]int `json:"copies_missing,omitempty"` // by node: of which logs, of those that this one leads, it has none

	CertEnds time.Time `json:"certificate_ends,omitzero"`

	From *taskFrom `json:"from,omitempty"`   // where the crawl was before
	Move string    `json:"moving,omitempty"` // the crawl that is being taken over, and what to do about it

	Programs []programStatus `json:"programs,omitempty"` // that share the crawl, or have
	Agreed   int             `json:"changes_agreed"`     // how often these have changed, as the node has heard
	Changes  int             `json:"changes_taken"`      // and as it goes by
	Begun    int             `json:"programs_taken"`     // how many it goes by
}

// peerAt is where another node is.
type peerAt struct {
	Name    string `json:"name"`
	Addr    string `json:"addr"`
	Storage bool   `json:"storage"`
	Alive   bool   `json:"alive"`
	Linked  bool   `json:"connected"`
}

// queuedAt is how many pages a node has to fetch. Its store knows more: those of
// partitions that have gone to others are in it as they were then.
func queuedAt(m overlay.Status) int64 {
	for _, p := range m.Peers {
		if p.Name == m.Name {
			return p.Queued
		}
	}
	return 0
}

// state is how a node is that has a crawl. The caller holds mu.
func (s *station) state() string {
	switch m := s.member; {
	case m.Draining:
		return "draining"
	case !s.joined:
		return "joining"
	case !m.Held:
		return "fenced"
	case m.Quiet:
		return "quiet"
	}
	return "crawling"
}

// status tells how the node is doing.
func (s *station) status() nodeStatus {
	cs, specs := s.cl.Status(), s.cl.Specs() // which have locks that others hold while they ask for s.mu
	s.mu.Lock()
	defer s.mu.Unlock()
	t, m := s.last, s.member
	st := nodeStatus{
		Name: cs.Name, Addr: s.cl.Addr(), Version: version(), State: "waiting", Crawl: s.crawl, Cluster: cs.Cluster, Leader: cs.Leader,
		Owned: m.Owned, Queued: queuedAt(m), Flying: t.Flying, Fetched: t.Totals.Fetched, Errors: t.Totals.Errors(), Bytes: t.Totals.Bytes, Seen: t.Totals.Seen,
		Pages: t.Pages, Rate: t.Rate, Enough: t.Enough != "" || t.Rule != "", By: t.Enough, Stopped: t.Rule, Unacked: m.Unacked, Limit: m.Limit, Share: m.Share, Teller: m.Teller, Warned: s.recent(time.Now()),
		Promises: node.Promises(t.Promises), Spoken: map[string]int64{}, From: s.from, Programs: s.programs(), Agreed: s.agreed.Number, Changes: max(s.taken, 0),
	}
	if s.crawl != "" {
		st.State, st.Begun = s.state(), max(len(t.Rules), 1)
		for part, p := range m.Parts {
			if !p.Alive {
				st.Orphans = append(st.Orphans, part)
			}
		}
	}
	for _, sp := range specs {
		if t, err := readTask(sp.Body); err == nil && t.From != nil && t.From.Moving {
			st.Move = t.From.moving(sp.Name)
		}
	}
	for _, l := range cs.Logs {
		st.Lag = max(st.Lag, l.Lag)
		for _, name := range l.Missing {
			if st.Missing == nil {
				st.Missing = map[string][]int{}
			}
			st.Missing[name] = append(st.Missing[name], l.Log)
		}
	}
	if len(cs.Headless) > 0 {
		st.Warned = append(st.Warned, "warning: no node leads "+strings.Join(slices.Sorted(slices.Values(cs.Headless)), ", ")+" just now: what goes there waits")
	}
	if m.Held && m.Cut > 0 {
		st.Warned = append(st.Warned, logsAway(m.Cut))
	}
	for _, err := range cs.Lasting {
		st.Lasting = append(st.Lasting, warningOf(err))
	}
	st.Warned = append(st.Warned, st.Lasting...)
	for _, k := range overlay.Traffics() {
		st.Spoken[k.String()] = cs.Account.Received[k]
	}
	for _, p := range cs.Peers {
		if p.Name == cs.Name {
			st.CertEnds = p.CertEnds
		}
		st.Peers = append(st.Peers, peerAt{p.Name, p.Addr, p.Storage, p.Alive, p.Connected})
	}
	return st
}

// openingEvery is how often a node says again for whom it waits.
const openingEvery = 15 * time.Second

// opening says for whom the node waits, when that changes and now and then. What servers say to one
// another is for the log.
func (s *station) opening(text string) {
	s.mu.Lock()
	server, now := strings.HasPrefix(text, "server:"), time.Now()
	again := text == s.waits && now.Sub(s.waitsAt) < openingEvery
	if !server && !again {
		s.waits, s.waitsAt = text, now
	}
	s.mu.Unlock()
	if server || again {
		s.log(text)
		return
	}
	s.note(text)
}

// begin notes that a crawl is under way: what people should know goes to its
// progress.
func (s *station) begin(name string, p *progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crawl, s.say = name, func(text string) {
		select {
		case p.says <- text:
		default: // it stands in the log
		}
	}
}

// ready takes the crawl's store, which is open until no question is answered any
// more. Keep refuses another one than the node has had: that is closed at once, and
// no question may find it.
func (s *station) ready(dir string, scheme overlay.Scheme, keep func(origin uint64) error) func(*store.Store) error {
	return func(st *store.Store) error {
		origin, _, err := crawl.ReadOrigin(st)
		if err != nil {
			return err
		}
		if err := keep(origin); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.store, s.dir, s.scheme, s.began = st, dir, scheme, search.Start(st.End())
		return nil
	}
}

// end takes that back.
func (s *station) end(e *env) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = func(text string) { fmt.Fprintln(e.err, text) }
}

// leaving says what Ctrl-C does.
func (s *station) leaving() {
	s.mu.Lock()
	crawl := s.crawl
	s.mu.Unlock()
	if crawl != "" {
		s.note("handing over to the others; Ctrl-C again ends at once")
	}
}

// gone says that the node has handed over all that it had.
func (s *station) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.member.Left
}

// untaken is how many partitions nobody takes from a node that has left: all others that
// were there leave too. One that stays takes also those that it had before a fence.
func untaken(m overlay.Status) (n int) {
	if slices.ContainsFunc(m.Peers, func(p overlay.PeerStatus) bool { return p.Name != m.Name && !p.Draining }) {
		return 0
	}
	for _, p := range m.Parts {
		if p.Owner == m.Name {
			n++
		}
	}
	return n
}

// forsaken ends a node that is to leave and has nobody to hand over to: too few
// others are there. It says why, for people.
func (s *station) forsaken(ctx context.Context, end func(why string)) {
	select {
	case <-s.leave:
	case <-ctx.Done():
		return
	}
	var h handing
	for pauseFor(ctx, nil, time.Second) {
		s.mu.Lock()
		m, flying := s.member, s.last.Flying
		s.mu.Unlock()
		near := 0
		for _, p := range s.cl.Peers() {
			if p.Connected {
				near++
			}
		}
		if !m.Held || near < 2 { // itself is one
			end("no other node is left to hand over to; everything is saved")
			return
		}
		switch h.look(time.Now(), m, flying) {
		case handWaits:
			s.note(fmt.Sprintf("the others do not take over; too few nodes with storage may be here. This one waits for %s more, or until Ctrl-C", short(handEnd-handWarn)))
		case handStuck:
			end("the nodes that are left did not take over; everything is saved, and what they have not heard yet this node tells them when it is back")
			return
		}
	}
}

// handing watches a node hand over. Of what it needs the others for, some may work
// while too few nodes are there for the rest: its session lasts, and nobody takes its
// partitions.
type handing struct {
	was    [4]int
	since  time.Time // that nothing has changed
	warned bool
}

// How long nothing may change before a person is told, and before a node ends. An
// election takes up to nine seconds.
const (
	handWarn = 10 * time.Second
	handEnd  = 30 * time.Second
)

// What handing has seen.
const (
	handWell = iota
	handWaits
	handStuck
)

func (h *handing) look(now time.Time, m overlay.Status, flying int) int {
	is := [4]int{m.Owned} // while it has some it may go on with them as ever
	if m.Owned == 0 {
		is = [4]int{0, 0, m.Parcels, m.Unacked}
	}
	for _, p := range m.Parts {
		if p.Phase != "" {
			is[1]++
		}
	}
	if is != h.was || flying > 0 && m.Owned == 0 || h.since.IsZero() { // a page may take its time
		h.was, h.since = is, now
	}
	switch still := now.Sub(h.since); {
	case still >= handEnd:
		return handStuck
	case still >= handWarn && !h.warned:
		h.warned = true
		return handWaits
	}
	return handWell
}

// done says that nothing is left, and how much there was on all nodes.
func (s *station) done() {
	ctx, cancel := context.WithTimeout(context.Background(), silentTime)
	defer cancel()
	st := s.status()
	pages, nodes, away := st.Fetched, 1, []string(nil)
	for _, p := range st.Peers {
		if p.Name == st.Name {
			continue
		}
		b, err := s.cl.Ask(ctx, p.Name, statusTopic, nil)
		var other nodeStatus
		if err == nil && json.Unmarshal(b, &other) == nil {
			pages, nodes = pages+other.Fetched, nodes+1
		} else {
			away = append(away, p.Name)
		}
	}
	by := many(int64(nodes), "node")
	if len(away) > 0 {
		by = fmt.Sprintf("the %s (without %s)", manyAnswer(nodes), namesOf(away))
	}
	why := ""
	if st.Stopped != "" {
		why = "a rule has stopped the crawl: " + st.Stopped + "; "
	}
	s.note(fmt.Sprintf("done: %s%s fetched by %s, %s here; this node stays to answer questions, Ctrl-C leaves", why, many(pages, "page"), by, thousands(st.Fetched)))
}
