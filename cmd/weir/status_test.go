package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/internal/node"
)

// Whoever asks for the status is told whether nodes are missing or only choose a
// leader, and nothing while all is well.
func TestWhoLeads(t *testing.T) {
	fleet := func(leader string, states ...string) *fleetStatus {
		f := new(fleetStatus)
		var peers []peerAt
		for i := range states {
			peers = append(peers, peerAt{Name: string(rune('a' + i)), Storage: true})
		}
		for i, state := range states {
			n := nodeStatus{Name: peers[i].Name, State: state}
			if state != "gone" && state != "silent" {
				n.Peers, n.Leader = peers, leader
			}
			f.Nodes = append(f.Nodes, n)
		}
		return f
	}
	for _, c := range []struct {
		what, want string
		fleet      *fleetStatus
	}{
		{"all are here", "", fleet("a", "crawling", "crawling", "crawling")},
		{"one is gone", "of the nodes with storage c is missing: if one more goes, the others fetch nothing until it is back; start it again (weir node --dir), or take out what will not come back (weir node remove c)", fleet("a", "crawling", "crawling", "gone")},
		{"one of five is gone", "", fleet("a", "crawling", "crawling", "crawling", "crawling", "gone")},
		{"two of five are gone", "d and e are missing: if one more goes", fleet("a", "crawling", "crawling", "crawling", "gone", "gone")},
		{"an election", "choosing who leads", fleet("", "crawling", "crawling", "silent")},
		{"two are gone, and it has not come round", "most nodes with storage are missing (b and c): the others stop fetching within 20s", fleet("b", "crawling", "gone", "silent")},
		{"three of five, and one has not noticed", "missing (c, d and e): the others stop fetching within 20s", fleet("", "fenced", "quiet", "gone", "gone", "gone")},
		{"three of five", "missing (c, d and e): the others have stopped fetching", fleet("", "fenced", "fenced", "gone", "gone", "gone")},
		{"half of four", "half of the nodes with storage are missing (c and d)", fleet("", "fenced", "fenced", "gone", "gone")},
	} {
		if got := c.fleet.lead(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.what, got)
		}
	}
}

// Pages that were fetched before a move count for --max-pages, too.
func TestDoneAfterAMove(t *testing.T) {
	f := &fleetStatus{Nodes: []nodeStatus{{Name: "a", State: "quiet", Crawl: "crawl", Fetched: 880, Enough: true}}}
	for want, from := range map[string]*taskFrom{
		"done: 880 pages fetched, as many as":                   nil,
		"done: 880 pages fetched, with those before as many as": {Dir: "big", Machine: "m", Pages: 120},
	} {
		var out bytes.Buffer
		if f.Nodes[0].From = from; f.print(&out) != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
}

// The pages of nodes that do not answer are not counted, which is said with the number.
func TestDoneWithoutANode(t *testing.T) {
	f := &fleetStatus{Nodes: []nodeStatus{
		{Name: "a", State: "quiet", Crawl: "crawl", Fetched: 40}, {Name: "b", State: "quiet", Crawl: "crawl", Fetched: 44}, {Name: "c", State: "gone"},
	}}
	for _, want := range []string{
		"done: 84 pages fetched by the 2 nodes that answer (without c), nothing is left\n",
		"done: 40 pages fetched by the node that answers (without b and c), nothing is left\n",
	} {
		var out bytes.Buffer
		if f.print(&out) != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
		f.Nodes[1] = nodeStatus{Name: "b", State: "gone"}
	}
}

// A node whose part of a common limit is not known yet says so, instead of a number.
func TestNoPartOfTheLimit(t *testing.T) {
	none := node.Bound{Rate: node.LeastShare, By: "limit", Part: 1}
	p := &progress{cfg: &node.Config{Peer: &node.Peer{}}}
	if got := p.allowed(none); got != ", and has no part of the common limit yet" {
		t.Errorf("%q", got)
	}
	p.cfg.Peer = nil
	if got := p.allowed(none); got != " of 1 B/s" {
		t.Errorf("a crawl of one machine: %q", got)
	}
}

// Who waits for others hears now and then for whom, and not what servers say.
func TestWaitingForOthers(t *testing.T) {
	logs, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var said []string
	s := newStation(logs, func(text string) { said = append(said, text) })
	s.opening("waiting for b")
	s.opening("waiting for b")
	s.opening("server: b is not there")
	s.opening("waiting for b")
	s.waitsAt = s.waitsAt.Add(-openingEvery)
	s.opening("waiting for b")
	s.opening("waiting for c")
	if got := strings.Join(said, ", "); got != "waiting for b, waiting for b, waiting for c" {
		t.Errorf("said %q", got)
	}
}

// A crawl that its rules have ended is done, and says why.
func TestDoneByARule(t *testing.T) {
	f := &fleetStatus{Nodes: []nodeStatus{{Name: "a", State: "quiet", Crawl: "crawl", Fetched: 310, Enough: true, Stopped: "a bean was found"}}}
	var out bytes.Buffer
	if want := "done: 310 pages fetched, a rule has stopped the crawl: a bean was found\n"; f.print(&out) != nil || !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in %s", want, out.String())
	}
}

// A crawl whose time is over is done, and says so, though pages wait.
func TestDoneByTheClock(t *testing.T) {
	f := &fleetStatus{Nodes: []nodeStatus{{Name: "a", State: "quiet", Crawl: "crawl", Fetched: 310, Queued: 7, Enough: true, By: crawl.StopTime}, {Name: "b", State: "quiet", Crawl: "crawl"}}}
	var out bytes.Buffer
	if want := "done: 310 pages fetched, the time that --max-time gives is over\n"; f.print(&out) != nil || !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in %s", want, out.String())
	}
}

// What went wrong is shown for a while, once, and with its age.
func TestRecentWarnings(t *testing.T) {
	logs, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	said := 0
	s := newStation(logs, func(string) { said++ })
	s.warn(errors.New("one"))
	s.warn(errors.New("two"))
	s.warn(errors.New("one"))
	now := s.warned[len(s.warned)-1].at
	s.warned[0].at = now.Add(-warnedFor)
	s.warned[1].at = now
	if got := fmt.Sprint(s.recent(now.Add(5 * time.Second))); got != "[warning: one (5.0s ago)]" {
		t.Errorf("%s", got)
	}
	if said != 3 {
		t.Errorf("a person was told %d times", said)
	}
}

// A node that has nothing to do writes no more lines until it has.
func TestLinesOfAnIdleNode(t *testing.T) {
	var log bytes.Buffer
	p := &progress{cfg: &node.Config{Peer: &node.Peer{}}, screen: screen{out: &log}}
	s := running()
	for range 3 {
		p.line(s)
		s.Run += lineEvery
	}
	s.Totals.Fetched++
	p.line(s)
	if got := strings.Count(log.String(), "\n"); got != 2 {
		t.Errorf("%d lines:\n%s", got, log.String())
	}
}

// Of each program that shares a crawl it is said how it is.
func TestProgramsOfACrawl(t *testing.T) {
	node := func(name, state string, changes, begun int, programs ...programStatus) nodeStatus {
		return nodeStatus{Name: name, State: state, Crawl: "crawl", Agreed: changes, Changes: changes, Begun: begun, Programs: programs}
	}
	one, two, late := programStatus{Name: "one"}, programStatus{Name: "two"}, programStatus{Name: "late"}
	halted := programStatus{Name: "two", State: "stopped", Why: "it was found"}
	busy := node("b", "crawling", 1, 2, one, halted)
	busy.Queued = 7
	behind := node("b", "crawling", 1, 2, one, two)
	behind.Agreed = 2
	for _, c := range []struct {
		what, want string
		nodes      []nodeStatus
	}{
		{"there is one", "", []nodeStatus{node("a", "crawling", 0, 1, one)}},
		{"nothing is left", "one: done, two: done", []nodeStatus{node("a", "quiet", 1, 2, one, two)}},
		{"nothing waits", "one: looking, two: looking", []nodeStatus{node("a", "crawling", 1, 2, one, two)}},
		{"one node has heard that a rule has stopped one", "one: crawling, two: stopped by a rule: it was found", []nodeStatus{node("a", "crawling", 1, 2, one, two), busy}},
		{"one is called off", "one: done, two: cancelled", []nodeStatus{node("a", "quiet", 1, 2, one, programStatus{Name: "two", State: cancelled})}},
		{"one is called off that a rule had stopped", "one: done, two: cancelled, after a rule had stopped it: it was found", []nodeStatus{node("a", "quiet", 1, 2, one, programStatus{Name: "two", State: cancelled, Why: "it was found"})}},
		{"a node has not begun with one", "one: looking, two: looking, late: new", []nodeStatus{node("a", "crawling", 2, 3, one, two, late), behind}},
	} {
		f := &fleetStatus{Nodes: c.nodes}
		var out bytes.Buffer
		if err := f.print(&out); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			if text, ok := strings.CutPrefix(line, "  "); ok {
				got = append(got, strings.TrimSpace(text))
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", c.what, text, c.want)
		}
	}
}

// What all nodes say is wrong until somebody does something about it is shown once, with
// who says so; a node's own output has it when it is warned of.
func TestLastingWarnings(t *testing.T) {
	logs, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var said string
	s := newStation(logs, func(text string) { said += text })
	end := &cluster.EndError{Node: "c", At: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Left: 72 * time.Hour}
	s.warn(end)
	if want := "weir: warning: the certificate of c expires on 2026-12-01 00:00:00 UTC, in 3 days"; !strings.HasPrefix(said, want) || !strings.Contains(said, "weir node cert makes a new one") {
		t.Errorf("said %q", said)
	}
	if got := s.recent(time.Now()); len(got) != 0 {
		t.Errorf("it is kept twice: %q", got)
	}
	text := []string{warningOf(end)}
	f := &fleetStatus{Nodes: []nodeStatus{
		{Name: "a", State: "waiting", Warned: append([]string{"warning: of another (1.0s ago)"}, text...), Lasting: text},
		{Name: "b", State: "waiting", Warned: text}, // it runs a weir of before, if it says so at all
		{Name: "c", State: "waiting", Warned: append([]string{"warning: of another (7.0s ago)"}, text...), Lasting: text},
	}}
	f.Nodes[0].Missing = map[string][]int{"c": {3, 1}}
	f.Nodes[1].Missing = map[string][]int{"c": {0, 1, 2}}
	var out bytes.Buffer
	if err := f.print(&out); err != nil {
		t.Fatal(err)
	}
	if want := "a and c: warning: of another (1.0s ago)\nb: " + text[0] + "\na and c: " + text[0] + "\nwarning: one copy is missing of the logs of all partitions: that of c; "; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in %s", want, out.String())
	}
}

// The end of the authority is told of as that of a certificate is, with what to do before
// and after.
func TestEndOfTheAuthority(t *testing.T) {
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		left       time.Duration
		text, hint string
	}{
		{72 * time.Hour, "warning: the cluster's authority (ca.pem) expires on 2026-12-01 00:00:00 UTC, in 3 days: ", "; weir node init DIR makes another one: add its ca.pem to the end of that of every node"},
		{0, "warning: the cluster's authority (ca.pem) HAS EXPIRED, on 2026-12-01 00:00:00 UTC: ", "; weir node init DIR makes another one: give all nodes"},
	} {
		err := &cluster.EndError{At: at, Left: c.left}
		if got := warningOf(err); !strings.HasPrefix(got, c.text) || !strings.Contains(got, c.hint) || !lasts(err) {
			t.Errorf("%q", got)
		}
	}
}

// A person sees how far copies are behind, when some are, and what coordination costs, when
// there are enough URLs to say so.
func TestLagAndCoordination(t *testing.T) {
	f := &fleetStatus{Nodes: []nodeStatus{
		{Name: "a", State: "crawling", Crawl: "crawl", Seen: 600, Spoken: map[string]int64{"rows": 60_000, "gossip": 20_000}},
		{Name: "b", State: "crawling", Crawl: "crawl", Seen: 400, Spoken: map[string]int64{"rows": 120_000}},
		{Name: "c", State: "gone"},
	}}
	show := func() string {
		var out bytes.Buffer
		if err := f.print(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := show(); strings.Contains(got, "lag") || !strings.Contains(got, "\ncoordination: 200 KB received, 200 bytes for each of 1,000 URLs\n") {
		t.Errorf("%s", got)
	}
	f.Nodes[0].Lag, f.Nodes[1].Seen = 1234, 399
	got := show()
	for i, want := range []string{"unacked    lag", "0 B  1,234", "0 B      0", "gone"} {
		if line := strings.Split(got, "\n")[i]; !strings.HasSuffix(line, want) {
			t.Errorf("%q does not end with %q", line, want)
		}
	}
	if strings.Contains(got, "coordination") {
		t.Errorf("%s", got)
	}
}

// Whoever asks a node that starts hears that it takes some seconds.
func TestQuestionsThatComeTooEarly(t *testing.T) {
	for _, text := range []string{cluster.ErrEarly.Error(), `about "submit": ` + cluster.ErrSilent.Error()} {
		var f *fault
		if err := clusterFault(errors.New(text)); !errors.As(err, &f) || !strings.Contains(f.hint, "try again in a few seconds") {
			t.Errorf("%s: %+v", text, f)
		}
	}
}

// Whoever asks at a wrong port, or a node that hangs, hears what to try.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	for _, c := range []struct {
		err        cluster.LateError
		text, hint string
	}{
		{cluster.LateError{Addr: "a:7401"}, "nothing has answered at a:7401 in time", "not the port after it"},
		{cluster.LateError{Addr: "a:7400", Met: true}, "a:7400 was asked, and has not answered in time", "ask another node with --at"},
	} {
		var f *fault
		if err := clusterFault(&c.err); !errors.As(err, &f) || err.Error() != c.text || !strings.Contains(f.hint, c.hint) {
			t.Errorf("%v: %+v", err, f)
		}
	}
}
