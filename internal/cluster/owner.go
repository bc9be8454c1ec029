package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"weir/overlay"
)

const (
	expireEvery = 250 * time.Millisecond
	staleTime   = 5 * time.Second  // without news where there should be some
	pollEvery   = 10 * time.Second // of owners: a change that was not heard of is found by then
	claimers    = 8
)

type owner struct {
	Node    string `json:"node"`
	Session uint64 `json:"session,string"`
	Before  uint64 `json:"before,omitempty,string"` // the epoch that this one has replaced
	New     bool   `json:"new,omitempty"`           // see overlay.Owner
}

// tell is how the Member hears of an owner.
func (w owner) tell(part int, epoch uint64) overlay.Owner {
	return overlay.Owner{Part: part, Node: w.Node, Session: w.Session, Epoch: epoch, Before: w.Before, New: w.New}
}

// owners changes who owns a partition, and hears of it.
type owners struct {
	n *Node

	mu      sync.Mutex
	waiting map[int]overlay.Claim // the last of each partition
	order   []int
	known   map[int]overlay.Owner // as told last
	seq     uint64                // of the last change heard of
	again   context.CancelFunc
	out     map[string]bool // folders of nodes that were removed
	told    map[string]bool // those of them that were read of, here or in another run
	whole   bool            // all was read once: what comes now is news

	ready chan struct{} // holds one when something waits
}

func newOwners(n *Node) *owners {
	return &owners{n: n, waiting: map[int]overlay.Claim{}, known: map[int]overlay.Owner{}, out: map[string]bool{}, told: map[string]bool{}, ready: make(chan struct{}, 1)}
}

func (o *owners) claim(c overlay.Claim) {
	o.mu.Lock()
	if _, ok := o.waiting[c.Part]; !ok {
		o.order = append(o.order, c.Part)
	}
	o.waiting[c.Part] = c
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

func (o *owners) take() (overlay.Claim, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.order) == 0 {
		return overlay.Claim{}, false
	}
	part := o.order[0]
	o.order = o.order[1:]
	c := o.waiting[part]
	delete(o.waiting, part)
	return c, true
}

// claims carries them out, a few at a time.
func (o *owners) claims(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, claimers)
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.ready:
		}
		for {
			c, ok := o.take()
			if !ok {
				break
			}
			select {
			case <-ctx.Done():
				return
			case slots <- struct{}{}:
			}
			wg.Go(func() {
				defer func() { <-slots }()
				o.swap(ctx, c)
			})
		}
	}
}

// swap answers a claim with what holds then, however long that takes to find out.
func (o *owners) swap(ctx context.Context, c overlay.Claim) {
	subject := ownerSubject(c.Part)
	w := owner{c.Node, c.Session, c.Before, c.New}
	data, err := json.Marshal(w)
	if err != nil {
		return
	}
	epoch, err := o.n.put(ctx, subject, data, c.Before)
	o.n.count.sent(overlay.Epochs, len(data))
	if err == nil {
		o.n.answer(w.tell(c.Part, epoch))
		return
	}
	for {
		data, epoch, err := o.n.last(ctx, ownersStream, subject)
		if err == nil {
			var w owner
			if epoch > 0 && json.Unmarshal(data, &w) != nil {
				w = owner{}
			}
			o.n.answer(w.tell(c.Part, epoch))
			return
		}
		if !pause(ctx, tailPause) {
			return
		}
	}
}

// watch tells of every change.
func (o *owners) watch(ctx context.Context) {
	for ctx.Err() == nil {
		sub, cancel := context.WithCancel(ctx)
		o.mu.Lock()
		o.again = cancel
		o.mu.Unlock()
		t := &tail{n: o.n, stream: ownersStream, subject: ">", latest: true, began: o.began, each: o.news}
		t.run(sub)
		cancel()
		pause(ctx, tailPause)
	}
}

func (o *owners) began(pending uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.whole = o.whole || pending == 0
}

func (o *owners) news(m jetstream.Msg, meta *jetstream.MsgMetadata) bool {
	o.n.count.received(overlay.Epochs, len(m.Data()))
	o.mu.Lock()
	o.seq = max(o.seq, meta.Sequence.Stream)
	fresh := o.whole
	o.whole = o.whole || meta.NumPending == 0
	o.mu.Unlock()
	if name, ok := strings.CutPrefix(m.Subject(), bannedSubject("")); ok {
		o.removed(name, string(m.Data()), fresh)
		return true
	}
	part, err := strconv.Atoi(m.Subject()[len("o."):])
	var w owner
	if err == nil && json.Unmarshal(m.Data(), &w) == nil {
		now := w.tell(part, meta.Sequence.Stream)
		o.mu.Lock()
		if o.known[part].Epoch < now.Epoch {
			o.known[part] = now
		}
		o.mu.Unlock()
		o.n.answer(now)
	}
	return true
}

// removed hears of the folders of a name that were removed, and tells people if that is
// news.
func (o *owners) removed(name, folders string, fresh bool) {
	tell := false
	o.mu.Lock()
	for folder := range strings.SplitSeq(folders, ",") {
		tell = tell || fresh && !o.told[folder]
		o.out[folder], o.told[folder] = true, true
	}
	o.mu.Unlock()
	if tell {
		o.n.warn(&RemovedError{Node: name, Away: o.n.host.away(name), Forget: o.n.cfg.Forget})
	}
}

// poll asks how far the owners have got, and has them read again if there is more
// than was heard of: a watch may be stale for a while after a node was killed.
func (o *owners) poll(ctx context.Context) {
	for pause(ctx, pollEvery) {
		o.mu.Lock()
		heard := o.seq
		o.mu.Unlock()
		rctx, cancel := context.WithTimeout(ctx, requestTime)
		info, err := o.n.streams[ownersStream].Info(rctx)
		cancel()
		if err != nil || info.State.LastSeq <= heard {
			continue
		}
		// It may be on its way. If not, this is more than ten seconds late next time.
		if !pause(ctx, tailPause*5) {
			return
		}
		o.mu.Lock()
		if o.seq == heard {
			o.again()
		}
		o.mu.Unlock()
	}
}

// ban keeps for good that a node was removed: its folder does not come back, nor do
// those that its name had before.
func (o *owners) ban(ctx context.Context, name string) error {
	folder := o.n.host.folder(name)
	if folder == "" {
		return nil // nobody of that name was ever seen
	}
	out, before, err := o.n.last(ctx, ownersStream, bannedSubject(name))
	if err != nil {
		return err
	}
	if list := string(out); !listed(list, folder) {
		if list != "" {
			list += ","
		}
		if _, err = o.n.put(ctx, bannedSubject(name), []byte(list+folder), before); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out[folder] = true // it may ask before this is read back
	return nil
}

// listed says whether a folder is one of those that a name had and that were removed.
func listed(list, folder string) bool { return slices.Contains(strings.Split(list, ","), folder) }

// expelled says whether this node was removed. Those who let it in may not have heard
// of that yet. It waits out elections.
func (n *Node) expelled(ctx context.Context) error {
	for {
		list, _, err := n.last(ctx, ownersStream, bannedSubject(n.cfg.Name))
		switch self := n.host.self; {
		case err == nil && listed(string(list), self.Node):
			return &Refused{Why: Removed, By: "the cluster", Who: self.Name + " at " + self.Lobby, Text: removedText}
		case err == nil:
			return nil
		case !pause(ctx, tailPause):
			return fmt.Errorf("ask who was removed: %w", err)
		}
	}
}

const removedText = "it was removed from the cluster while it was away; with an empty folder it can join again"

func (o *owners) banned(folder string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out[folder]
}
