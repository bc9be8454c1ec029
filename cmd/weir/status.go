package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/overlay"
)

// statusCmd shows a cluster.
type statusCmd struct {
	contact
	JSON bool `name:"json" help:"JSON on standard output."`
}

// Help ends the help text of the command.
func (c *statusCmd) Help() string {
	return `Examples:
  weir status                                      a node on this machine, in the folder weir-node
  weir status --at a.example.org:7400 --certs me
  weir status --json

A node that does not answer within two seconds is shown as silent. Partitions are the parts of the web that
nodes own; those without an owner wait until a node takes them. Unacked is what a node has written and the others have not
confirmed yet. Lag, shown when there is any, is how many batches of the logs that the node leads the copy farthest behind
does not have: it goes away when that node has caught up.

Of several programs that share the crawl it is said how each is: new, until all nodes have begun with it; crawling; looking,
when nothing waits and the nodes find out whether anything follows from what they have; done; stopped, by its own rules;
cancelled.

What a node has fetched it knows itself: a page that two nodes have fetched, since one was cut off or its disk was lost,
counts twice, and the pages of a node that does not answer are not counted.`
}

// Run implements the verb.
func (c *statusCmd) Run(e *env) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	all, err := gather(e.ctx, cl)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(e.out).Encode(struct {
			*fleetStatus
			Quiet    bool            `json:"quiet"`
			Programs []programStatus `json:"programs,omitempty"` // that share the crawl, if more than one has
		}{all, all.quiet(), all.programs()})
	}
	return all.print(e.out)
}

// fleetStatus is what all nodes say together.
type fleetStatus struct {
	Cluster string       `json:"cluster"`
	Nodes   []nodeStatus `json:"nodes"`
}

const (
	silentTime = 2 * time.Second // a node that takes longer is silent
	maxAsked   = 16              // nodes asked at once
	manySeen   = 1000            // URLs: with fewer, what nodes say of themselves is most of what they say
)

// gather asks all nodes how they are.
func gather(ctx context.Context, cl *cluster.Client) (*fleetStatus, error) {
	var first nodeStatus
	if err := put(ctx, cl, "", statusTopic, nil, &first); err != nil {
		return nil, err
	}
	all := &fleetStatus{Cluster: first.Cluster, Nodes: []nodeStatus{first}}
	others := slices.DeleteFunc(slices.Clone(first.Peers), func(p peerAt) bool { return p.Name == first.Name })
	answers := make([]nodeStatus, len(others))
	slots := make(chan struct{}, maxAsked)
	var wg sync.WaitGroup
	for i, p := range others {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, silentTime)
			defer cancel()
			if put(ctx, cl, p.Name, statusTopic, nil, &answers[i]) == nil && answers[i].Name == p.Name {
				return
			}
			answers[i] = nodeStatus{Name: p.Name, Addr: p.Addr, State: "silent"}
			if !p.Alive && !p.Linked {
				answers[i].State = "gone"
			}
		})
	}
	wg.Wait()
	all.Nodes = append(all.Nodes, answers...)
	slices.SortFunc(all.Nodes, func(a, b nodeStatus) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// quiet says that nothing is left to do.
func (f *fleetStatus) quiet() bool {
	some, changes := false, f.changes()
	for _, n := range f.Nodes {
		switch n.State {
		case "quiet":
			if some = true; n.Changes < changes {
				return false
			}
		case "gone":
		default:
			return false
		}
	}
	return some
}

// stopped says why the crawl's rules have ended it; "" if they have not.
func (f *fleetStatus) stopped() string {
	for _, n := range f.Nodes {
		if n.Stopped != "" {
			return n.Stopped
		}
	}
	return ""
}

// why says what has ended the crawl before all was fetched; "": nothing.
func (f *fleetStatus) why() string {
	by := ""
	for _, n := range f.Nodes {
		switch {
		case n.By != "":
			by = n.By
		case n.Enough && n.Stopped == "" && by == "":
			by = crawl.StopPages // the node runs a weir that knows no other reason
		}
	}
	switch {
	case f.stopped() != "":
		return "a rule has stopped the crawl: " + f.stopped()
	case by == crawl.StopTime:
		return "the time that --max-time gives is over"
	case by == crawl.StopBytes:
		return "as many bytes as --max-bytes asks for"
	case by != "" && f.from() != nil:
		return "with those before as many as --max-pages asks for"
	case by != "":
		return "as many as --max-pages asks for"
	}
	return ""
}

// changes is how often the programs have changed.
func (f *fleetStatus) changes() (most int) {
	for _, n := range f.Nodes {
		most = max(most, n.Agreed, n.Changes)
	}
	return most
}

// programs are those that share the crawl, or have, as the node says that has heard
// most; none if it has one, as most have.
func (f *fleetStatus) programs() []programStatus {
	changes, state := f.changes(), "looking"
	var list []programStatus
	begun := math.MaxInt // with how many all have
	for _, n := range f.Nodes {
		if n.Agreed == changes && len(n.Programs) > len(list) {
			list = slices.Clone(n.Programs)
		}
		if n.Crawl != "" && n.Changes < changes {
			begun = min(begun, n.Begun)
		}
		if n.Queued > 0 || n.Flying > 0 || n.State == "silent" {
			state = "crawling"
		}
	}
	if f.quiet() {
		state = "done"
	}
	if len(list) < 2 {
		return nil
	}
	for i := range list {
		for _, n := range f.Nodes {
			if n.Agreed == changes && i < len(n.Programs) && n.Programs[i].Why != "" {
				list[i] = n.Programs[i] // the others have not heard of it yet
			}
		}
		if i >= begun {
			list[i].State = cmp.Or(list[i].State, "new")
		}
		list[i].State = cmp.Or(list[i].State, state)
	}
	return list
}

// sum adds the nodes up.
func (f *fleetStatus) sum() (sum nodeStatus) {
	for _, n := range f.Nodes {
		sum.Owned += n.Owned
		sum.Queued += n.Queued
		sum.Flying += n.Flying
		sum.Fetched += n.Fetched
		sum.Bytes += n.Bytes
		sum.Seen += n.Seen
		sum.Pages += n.Pages
		sum.Rate += n.Rate
	}
	return sum
}

// fetched says how many pages were, and by whom if not all nodes could be asked.
func (f *fleetStatus) fetched() string {
	text := many(f.sum().Fetched, "page") + " fetched"
	if missing := f.missing(); len(missing) > 0 {
		text += fmt.Sprintf(" by the %s (without %s)", manyAnswer(len(f.Nodes)-len(missing)), namesOf(missing))
	}
	return text
}

func manyAnswer(n int) string {
	if n == 1 {
		return "node that answers"
	}
	return fmt.Sprintf("%d nodes that answer", n)
}

// spoken is how many bytes nodes have received of one another.
func (f *fleetStatus) spoken() (sum int64) {
	for _, n := range f.Nodes {
		for _, bytes := range n.Spoken {
			sum += bytes
		}
	}
	return sum
}

// orphans are partitions that no node owns, as all who crawl say.
func (f *fleetStatus) orphans() int {
	least := -1
	for _, n := range f.Nodes {
		if n.Crawl != "" && n.State != "fenced" && n.State != "joining" && (least < 0 || len(n.Orphans) < least) {
			least = len(n.Orphans)
		}
	}
	return max(least, 0)
}

// from is where the crawl was before the cluster had it; nil: nowhere.
func (f *fleetStatus) from() *taskFrom {
	for _, n := range f.Nodes {
		if n.From != nil {
			return n.From
		}
	}
	return nil
}

// moving tells of a crawl that is being taken over; "": there is none.
func (f *fleetStatus) moving() string {
	for _, n := range f.Nodes {
		if n.Move != "" {
			return n.Move
		}
	}
	return ""
}

// missing are the nodes that do not answer.
func (f *fleetStatus) missing() (names []string) {
	for _, n := range f.Nodes {
		if n.State == "silent" || n.State == "gone" {
			names = append(names, n.Name)
		}
	}
	return names
}

// versions lists which nodes run which weir.
func (f *fleetStatus) versions() (list []string) {
	by := map[string][]string{}
	for _, n := range f.Nodes {
		if n.Version != "" {
			by[n.Version] = append(by[n.Version], n.Name)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(by)) {
		list = append(list, v+" at "+strings.Join(by[v], " "))
	}
	return list
}

// storing are the nodes with storage that answer, and those that do not.
func (f *fleetStatus) storing() (here, missing []string) {
	for _, n := range f.Nodes {
		if len(n.Peers) == 0 {
			continue // it did not answer; another one knows the same
		}
		for _, p := range n.Peers {
			switch at := f.node(p.Name); {
			case !p.Storage:
			case at == nil || at.State == "gone" || at.State == "silent":
				missing = append(missing, p.Name)
			default:
				here = append(here, p.Name)
			}
		}
		break
	}
	return here, missing
}

// lead says what is amiss when nobody may lead the cluster, or soon might not; "": nothing.
func (f *fleetStatus) lead() string {
	here, missing := f.storing()
	switch {
	case len(here)+len(missing) > 0 && len(here) <= len(missing):
		share := "most"
		if len(here) == len(missing) {
			share = "half of the"
		}
		when := "have stopped fetching"
		if slices.ContainsFunc(f.Nodes, func(n nodeStatus) bool { return n.State == "crawling" || n.State == "quiet" || n.State == "draining" }) {
			when = "stop fetching within " + short(overlay.TTL) + ","
		}
		return fmt.Sprintf("%s nodes with storage are missing (%s): the others %s until they are back (weir node --dir); nothing is lost", share, namesOf(missing), when)
	case !slices.ContainsFunc(f.Nodes, func(n nodeStatus) bool { return n.Leader != "" }):
		return "the nodes with storage are choosing who leads them: that takes some seconds, and what is found meanwhile waits"
	case len(missing) > 0 && 2*(len(here)-1) <= len(here)+len(missing):
		are, them := "is", "it"
		if len(missing) > 1 {
			are, them = "are", "them"
		}
		return fmt.Sprintf("of the nodes with storage %s %s missing: if one more goes, the others fetch nothing until it is back; start %s again (weir node --dir), or take out what will not come back (weir node remove %s)", namesOf(missing), are, them, missing[0])
	}
	return ""
}

// namesOf joins names as people do.
func namesOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// lined writes a table: the first so many columns begin below one another, the
// others, which are numbers, end so.
func lined(w io.Writer, texts int, rows [][]string) error {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, s := range row {
			wide[i] = max(wide[i], len(s))
		}
	}
	for _, row := range rows {
		line := ""
		for i, s := range row {
			pad := strings.Repeat(" ", wide[i]-len(s))
			if i >= texts {
				line += pad + s + "  "
			} else {
				line += s + pad + "  "
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// print shows it to a person.
func (f *fleetStatus) print(w io.Writer) error {
	rows := [][]string{{"node", "address", "state", "partitions", "queued", "flying", "fetched", "pages/s", "link", "unacked"}}
	lag := slices.ContainsFunc(f.Nodes, func(n nodeStatus) bool { return n.Lag > 0 })
	if lag {
		rows[0] = append(rows[0], "lag")
	}
	for _, n := range f.Nodes {
		if n.State == "silent" || n.State == "gone" {
			rows = append(rows, []string{n.Name, n.Addr, n.State})
			continue
		}
		link := bytesOf(n.Rate) + "/s"
		if n.Share > 0 {
			link += " of " + bytesOf(float64(n.Share)) + "/s"
		}
		row := []string{
			n.Name, n.Addr, n.State, strconv.Itoa(n.Owned), thousands(n.Queued), strconv.Itoa(n.Flying), thousands(n.Fetched),
			fmt.Sprintf("%.1f", n.Pages), link, bytesOf(float64(n.Unacked)),
		}
		if lag {
			row = append(row, thousands(int64(n.Lag)))
		}
		rows = append(rows, row)
	}
	if err := lined(w, 3, rows); err != nil {
		return err
	}
	sum := f.sum()
	crawls := map[string]bool{}
	for _, n := range f.Nodes {
		if n.Crawl != "" {
			crawls[n.Crawl] = true
		}
	}
	fmt.Fprintln(w)
	switch move := f.moving(); {
	case len(crawls) == 0 && move != "":
		fmt.Fprintln(w, "the cluster is "+move)
	case len(crawls) == 0:
		fmt.Fprintln(w, "no crawl was submitted yet: weir submit URL")
	case f.quiet():
		fmt.Fprintf(w, "done: %s, %s\n", f.fetched(), cmp.Or(f.why(), "nothing is left"))
	default:
		fmt.Fprintf(w, "%s, %s queued, %s\n", f.fetched(), thousands(sum.Queued), bytesOf(float64(sum.Bytes)))
	}
	for _, p := range f.programs() {
		fmt.Fprintf(w, "  %s: %s", p.Name, p.State)
		switch {
		case p.Why != "" && p.State == cancelled:
			fmt.Fprintf(w, ", after a rule had stopped it: %s", p.Why)
		case p.Why != "":
			fmt.Fprintf(w, " by a rule: %s", p.Why)
		}
		if p.Seeds > 0 {
			fmt.Fprintf(w, ", from %s of its own", many(int64(p.Seeds), "seed"))
		}
		fmt.Fprintln(w)
	}
	if from := f.from(); from != nil {
		fmt.Fprintf(w, "%s were fetched before, by the crawl in %s on %s, which this cluster has taken over\n", many(from.Pages, "page"), from.Dir, from.Machine)
	}
	for _, n := range f.Nodes {
		for _, p := range n.Promises {
			fmt.Fprintf(w, "%s (%s): %s\n", p.Site, n.Name, promiseLine(p, time.Now()))
		}
	}
	if text := f.lead(); text != "" {
		fmt.Fprintln(w, text)
	}
	if by := f.versions(); len(by) > 1 {
		fmt.Fprintf(w, "nodes run different versions of weir: %s\n", strings.Join(by, ", "))
	}
	if n := f.orphans(); n > 0 {
		fmt.Fprintf(w, "%d of %d partitions have no owner now\n", n, overlay.Parts)
	}
	if spoken := f.spoken(); sum.Seen >= manySeen {
		fmt.Fprintf(w, "coordination: %s received, %.0f bytes for each of %s\n", bytesOf(float64(spoken)), float64(spoken)/float64(sum.Seen), many(sum.Seen, "URL"))
	}
	for _, text := range slices.Concat(f.passing(), f.lasting(), f.short()) {
		fmt.Fprintln(w, text)
	}
	return nil
}

// short says which copies of logs are missing. Each log is told of by the node that leads
// it, or by two while that changes.
func (f *fleetStatus) short() (list []string) {
	logs := map[string][]int{}
	for _, n := range f.Nodes {
		for name, some := range n.Missing {
			logs[name] = append(logs[name], some...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		list = append(list, warningOf(&cluster.ShortError{Node: name, Logs: slices.Compact(slices.Sorted(slices.Values(logs[name])))}))
	}
	return list
}

// lasting lists the warnings that stay, passing those that do not.
func (f *fleetStatus) lasting() []string {
	return f.said(func(n *nodeStatus) []string { return n.Lasting })
}

func (f *fleetStatus) passing() []string {
	return f.said(func(n *nodeStatus) []string {
		return slices.DeleteFunc(slices.Clone(n.Warned), func(text string) bool { return slices.Contains(n.Lasting, text) })
	})
}

// said lists what nodes say, and who does: of most things all do. How long ago it was, the
// first of them says.
func (f *fleetStatus) said(texts func(*nodeStatus) []string) (list []string) {
	by, what := map[string][]string{}, []string{}
	for i := range f.Nodes {
		for _, text := range texts(&f.Nodes[i]) {
			base := text
			if at := strings.LastIndex(text, " ("); at >= 0 && strings.HasSuffix(text, " ago)") {
				base = text[:at]
			}
			if by[base] == nil {
				list, what = append(list, text), append(what, base)
			}
			by[base] = append(by[base], f.Nodes[i].Name)
		}
	}
	for i, base := range what {
		list[i] = namesOf(by[base]) + ": " + list[i]
	}
	return list
}
