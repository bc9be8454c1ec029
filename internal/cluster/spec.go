package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const maxSpec = 1 << 20

// Spec is a crawl that was submitted to the cluster.
type Spec struct {
	Name     string
	Body     []byte // nil when it was removed
	Revision uint64
}

// crawls knows what was submitted, wherever it was.
type crawls struct {
	n *Node

	mu       sync.Mutex
	known    map[string]Spec // those too that were removed
	watchers map[int]func(Spec)
	next     int
}

func newCrawls(n *Node) *crawls {
	return &crawls{n: n, known: map[string]Spec{}, watchers: map[int]func(Spec){}}
}

// Submit gives a crawl to the cluster. All nodes hear of it, those too that join
// later. A cluster has one, until it is removed: of several that come at the same
// moment, whatever their names, the first is kept.
func (n *Node) Submit(ctx context.Context, name string, body []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	if len(body) == 0 || len(body) > maxSpec-1024 {
		return fmt.Errorf("submit %s: %d bytes, and 1 to %d can be kept", name, len(body), maxSpec-1024)
	}
	for {
		last, ok, err := n.Newest(ctx)
		if err != nil {
			return fmt.Errorf("submit %s: %w", name, err)
		}
		if ok {
			if last.Name == name && slices.Equal(last.Body, body) {
				return nil
			}
			return fmt.Errorf("submit %s: %w", name, ErrExists)
		}
		_, err = n.publish(ctx, &nats.Msg{Subject: crawlSubject(name), Data: body}, jetstream.WithExpectLastSequenceForSubject(last.Revision, crawlSubject("*")))
		if err == nil {
			return nil
		}
		if !raced(err) {
			return fmt.Errorf("submit %s: %w", name, err)
		}
	}
}

// Spec returns what was submitted under a name, as most nodes have it.
func (n *Node) Spec(ctx context.Context, name string) (s Spec, ok bool, err error) {
	if err := checkName(name); err != nil {
		return s, false, err
	}
	body, rev, err := n.last(ctx, crawlsStream, crawlSubject(name))
	if err != nil {
		return s, false, fmt.Errorf("look up the crawl %s: %w", name, err)
	}
	return Spec{name, body, rev}, len(body) > 0, nil
}

// Newest returns what was submitted or changed last, whatever it is called, as most
// nodes have it. It is not ok if that was removed.
func (n *Node) Newest(ctx context.Context) (s Spec, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	m, err := n.streams[crawlsStream].GetLastMsgForSubject(ctx, crawlSubject("*"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("look up what was submitted: %w", err)
	}
	return Spec{m.Subject[len(crawlSubject("")):], m.Data, m.Sequence}, len(m.Data) > 0, nil
}

// Replace puts another crawl in the place of what was submitted, unless that has
// changed meanwhile.
func (n *Node) Replace(ctx context.Context, was Spec, body []byte) error {
	if len(body) == 0 || len(body) > maxSpec-1024 {
		return fmt.Errorf("change %s: %d bytes, and 1 to %d can be kept", was.Name, len(body), maxSpec-1024)
	}
	if _, err := n.put(ctx, crawlSubject(was.Name), body, was.Revision); err != nil {
		if raced(err) {
			err = ErrExists
		}
		return fmt.Errorf("change %s: %w", was.Name, err)
	}
	return nil
}

// ErrExists says that another crawl was submitted before.
var ErrExists = errors.New("there is a crawl, and it says something else")

// Remove takes a crawl back. Removing what is not there does nothing.
func (n *Node) Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	for {
		old, rev, err := n.last(ctx, crawlsStream, crawlSubject(name))
		if err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		if len(old) == 0 {
			return nil
		}
		_, err = n.put(ctx, crawlSubject(name), nil, rev)
		if err == nil {
			return nil
		}
		if !raced(err) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
}

// Specs lists what was submitted, by name, as far as this node has heard.
func (n *Node) Specs() []Spec {
	c := n.crawls
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Spec, 0, len(c.known))
	for _, name := range slices.Sorted(maps.Keys(c.known)) {
		if s := c.known[name]; s.Body != nil {
			out = append(out, s)
		}
	}
	return out
}

// Watch calls fn for everything that is submitted now, and whenever that changes,
// until stop is called. Fn must not call methods of the node.
func (n *Node) Watch(fn func(Spec)) (stop func()) {
	c := n.crawls
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	key := c.next
	c.watchers[key] = fn
	for _, name := range slices.Sorted(maps.Keys(c.known)) {
		if s := c.known[name]; s.Body != nil {
			fn(s)
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, key)
	}
}

func (c *crawls) watch(ctx context.Context) {
	t := &tail{n: c.n, stream: crawlsStream, subject: "c.*", latest: true, each: c.news}
	t.run(ctx)
}

func (c *crawls) news(m jetstream.Msg, meta *jetstream.MsgMetadata) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Spec{Name: m.Subject()[len("c."):], Revision: meta.Sequence.Stream}
	if s.Revision <= c.known[s.Name].Revision {
		return true
	}
	if len(m.Data()) > 0 {
		s.Body = slices.Clone(m.Data())
	}
	c.known[s.Name] = s
	for _, key := range slices.Sorted(maps.Keys(c.watchers)) {
		c.watchers[key](s)
	}
	return true
}
