package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/overlay"
	"weir/page"
	"weir/query/flow"
)

// A crawl of one machine is brought to a cluster piece by piece (weir submit --from):
// its pages go into the partitions' logs, and nodes begin with it when all are there.
// Meanwhile its task is in the cluster and says so: nothing else can be submitted.
const moveTopic = "move"

// transfer asks a node to take something of a crawl over. Names are for other
// versions: add, never rename.
type transfer struct {
	Name  string          `json:"name"`
	ID    string          `json:"id"`             // of the crawl that is moved, see taskFrom
	Try   string          `json:"try,omitempty"`  // as it was answered to the task
	Task  json.RawMessage `json:"task,omitempty"` // to begin with
	Pages []movedPage     `json:"pages,omitempty"`
	Hosts []overlay.Host  `json:"hosts,omitempty"`
	Rows  []movedRow      `json:"rows,omitempty"`
	End   bool            `json:"end,omitempty"` // that was all
}

// transferred answers it.
type transferred struct {
	Cluster string `json:"cluster"`
	Over    bool   `json:"over"` // the cluster has all of it
	Try     string `json:"try,omitempty"`
}

// movedPage is a page of the crawl.
type movedPage struct {
	URL     string       `json:"u"`
	Depth   uint16       `json:"d,omitempty"`
	Hops    uint8        `json:"h,omitempty"`
	Root    bool         `json:"r,omitempty"`
	Seed    bool         `json:"s,omitempty"`
	Rule    uint8        `json:"by,omitempty"`
	Score   float32      `json:"w,omitempty"`
	Outcome page.Outcome `json:"o,omitempty"` // none: it waits
	Status  uint16       `json:"c,omitempty"`
}

// movedRow is a row of its program.
type movedRow struct {
	To    int    `json:"to"` // a partition, or flow.Everywhere
	Input uint32 `json:"in"`
	Row   []byte `json:"row"`
}

// taskFrom says where a crawl was before the cluster had it.
type taskFrom struct {
	ID      string `json:"id"`
	Machine string `json:"machine"`
	Dir     string `json:"dir"`
	Pages   int64  `json:"pages"`            // that have ended there: their archive is there too
	Moving  bool   `json:"moving,omitempty"` // not all of it has come yet
	Try     string `json:"try,omitempty"`    // drawn anew when it is begun with
	Off     bool   `json:"off,omitempty"`    // it was called off, and what has come is being dropped
}

// moving says of a crawl that not all of it has come yet, and what to do about that.
func (f *taskFrom) moving(name string) string {
	if f.Off {
		return fmt.Sprintf("dropping what has come of the crawl %s: weir submit --cancel%s finishes it, should that take longer than a minute", name, nameFlag(name))
	}
	return fmt.Sprintf("taking over the crawl %s from %s on %s: weir submit --from %s%s goes on there, weir submit --cancel%s calls it off", name, f.Dir, f.Machine, quoted(f.Dir), nameFlag(name), nameFlag(name))
}

// nameFlag is what to add to weir submit for a crawl.
func nameFlag(name string) string {
	if name == "crawl" || name == "" {
		return ""
	}
	return " --name " + name
}

// errStands says that a transfer will never be taken: asking again is of no use.
var errStands = errors.New("the cluster does not take it")

// stands says whether a node has answered so.
func stands(err error) bool { return strings.Contains(err.Error(), errStands.Error()) }

// move answers a transfer.
func (s *station) move(ctx context.Context, b []byte) ([]byte, error) {
	var q transfer
	if err := json.Unmarshal(b, &q); err != nil {
		return nil, fmt.Errorf("read what is to be taken over: %w", err)
	}
	if q.Task != nil {
		if err := s.reserve(ctx, q); err != nil {
			return nil, err
		}
	}
	// Who calls it off waits as long for what is being written.
	brief, cancel := context.WithTimeout(ctx, cluster.WriteTime)
	defer cancel()
	sp, ok, err := s.cl.Spec(brief, q.Name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: there is no crawl %s that could be gone on with; what it had was called off", errStands, q.Name)
	}
	t, err := readTask(sp.Body)
	if err != nil {
		return nil, err
	}
	if err := q.belongs(t.From); err != nil {
		return nil, err
	}
	if t.From.Moving {
		if err := s.takeOver(brief, t, &q); err != nil {
			return nil, err
		}
		if q.End {
			if err := s.settle(ctx, sp, t); err != nil {
				return nil, err
			}
			t.From.Moving = false
		}
	}
	return json.Marshal(transferred{Cluster: s.cl.Cluster(), Over: !t.From.Moving, Try: t.From.Try})
}

// belongs refuses a transfer to another crawl than the one that comes from there, or
// to the same one when what this mover has brought was dropped.
func (q *transfer) belongs(from *taskFrom) error {
	switch {
	case from != nil && from.Off:
		return calledOff(q.Name)
	case from == nil || from.ID != q.ID:
		return fmt.Errorf("%w: the crawl %s is another one: choose another --name", errStands, q.Name)
	case q.Task == nil && q.Try != from.Try:
		return fmt.Errorf("%w: taking over %s was called off, and begun anew from %s on %s", errStands, q.Name, from.Dir, from.Machine)
	}
	return nil
}

// calledOff says what to do about a crawl that is being dropped. Whoever drops it may
// have died meanwhile.
func calledOff(name string) error {
	return fmt.Errorf("%w: taking over %s was called off, and what has come of it is being dropped: try again in a moment, or have weir submit --cancel%s finish it if that takes longer", errStands, name, nameFlag(name))
}

// reserve keeps the cluster for a crawl that is on its way to it.
func (s *station) reserve(ctx context.Context, q transfer) error {
	if _, had, err := s.cl.Spec(ctx, q.Name); err != nil || had {
		return err
	}
	t, err := readTask(q.Task)
	if err != nil {
		return err
	}
	if t.From == nil || !t.From.Moving {
		return errors.New("a crawl to be taken over must say where it comes from")
	}
	if err := s.grownFor(ctx, t); err != nil {
		return err
	}
	return s.keepTask(ctx, q.Name, q.Task)
}

// cancel gives up taking a crawl over: what has come of it is dropped.
func (s *station) cancel(ctx context.Context, b []byte) ([]byte, error) {
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return nil, err
	}
	list, err := s.specs(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("the cluster has no crawl, and takes none over")
	}
	sp := list[0] // a cluster has one
	t, err := readTask(sp.Body)
	if err != nil {
		return nil, err
	}
	if t.From == nil || !t.From.Moving {
		return nil, begunWith(sp.Name)
	}
	// As long as this stands nothing else is submitted, and nothing more taken.
	t.From.Off = true
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if err := s.cl.Replace(ctx, sp, body); err != nil {
		return nil, err
	}
	if err := s.cl.Clear(ctx); err != nil {
		return nil, err
	}
	if err := s.cl.Remove(ctx, sp.Name); err != nil {
		return nil, err
	}
	return json.Marshal(t.From)
}

// settle lets the nodes begin with a crawl that is here.
func (s *station) settle(ctx context.Context, was cluster.Spec, t *task) error {
	done := *t
	if err := done.begin(time.Now()); err != nil {
		return err
	}
	from := *t.From
	from.Moving = false
	done.From = &from
	body, err := json.Marshal(&done)
	if err != nil {
		return err
	}
	return s.cl.Replace(ctx, was, body)
}

// takeOver writes what a transfer brings into the logs.
func (s *station) takeOver(ctx context.Context, t *task, q *transfer) error {
	scheme, err := overlay.ParseScheme(t.Scheme)
	if err != nil {
		return err
	}
	cargo, err := q.cargo()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errStands, q.Name, err)
	}
	return s.cl.Write(ctx, crawl.Land(overlay.NewKeys(scheme, overlay.Parts), overlay.Parts, s.cl.Secret(), holderOf(q.ID), cargo))
}

// cargo is what a transfer brings.
func (q *transfer) cargo() ([]crawl.Cargo, error) {
	list := make([]crawl.Cargo, 0, len(q.Pages)+len(q.Hosts)+len(q.Rows))
	for i := range q.Pages {
		p := &q.Pages[i]
		u, err := page.Parse(p.URL)
		if err != nil {
			return nil, fmt.Errorf("the page %.200q: %w", p.URL, err)
		}
		row := overlay.Row{URL: u, Depth: p.Depth, Hops: p.Hops, Root: p.Root, Seed: p.Seed, Rule: p.Rule, Score: p.Score}
		list = append(list, crawl.Cargo{Row: row, Outcome: p.Outcome, Status: int(p.Status)})
	}
	for _, h := range q.Hosts {
		list = append(list, crawl.Cargo{Host: h})
	}
	for _, r := range q.Rows {
		if r.To < flow.Everywhere || r.To >= overlay.Parts {
			return nil, fmt.Errorf("there is no partition %d", r.To)
		}
		list = append(list, crawl.Cargo{Tuple: &flow.Tuple{To: r.To, Input: r.Input, Row: r.Row}})
	}
	return list, nil
}

// holderOf names the archive of a crawl that was taken over: no node is called so.
func holderOf(id string) string { return "folder:" + id }
