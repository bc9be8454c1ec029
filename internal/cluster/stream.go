package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weir/overlay"
)

// Names of the streams that hold state; logs are log0, log1, ...
const (
	membersStream = "members"
	ownersStream  = "owners"
	crawlsStream  = "crawls"
)

func logStream(log int) string         { return "log" + strconv.Itoa(log) }
func logSubject(log int) string        { return "l." + strconv.Itoa(log) }
func lendSubject(log int) string       { return "w." + strconv.Itoa(log) }
func memberSubject(name string) string { return "m." + name }
func ownerSubject(part int) string     { return "o." + strconv.Itoa(part) }
func bannedSubject(name string) string { return "r." + name }
func crawlSubject(name string) string  { return "c." + name }

// layout lists the streams of a cluster. State is read from whoever leads its
// group, never from a copy that may lag (AllowDirect stays off); for logs a copy
// will do (read.go).
func layout(cfg Config) []jetstream.StreamConfig {
	state := func(name, subject string) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: name, Subjects: []string{subject}, Replicas: cfg.Replicas, MaxMsgsPerSubject: 1, Storage: jetstream.FileStorage}
	}
	crawls := state(crawlsStream, "c.*")
	crawls.MaxMsgSize = maxSpec
	owners := state(ownersStream, "o.*")
	owners.Subjects = append(owners.Subjects, "r.*")
	out := []jetstream.StreamConfig{state(membersStream, "m.*"), owners, crawls}
	for i := range overlay.Logs {
		out = append(out, jetstream.StreamConfig{
			Name: logStream(i), Subjects: []string{logSubject(i)},
			Replicas: cfg.Replicas, Storage: jetstream.FileStorage, AllowDirect: true,
		})
	}
	return out
}

// prepare makes the streams that are not there yet, and waits until all answer.
func (n *Node) prepare(ctx context.Context) error {
	said := time.Now().Add(firstSay - sayEvery)
	for _, sc := range layout(n.cfg) {
		for {
			st, err := n.stream(ctx, sc)
			if err == nil {
				n.streams[sc.Name] = st
				break
			}
			if now := time.Now(); now.Sub(said) >= sayEvery && ctx.Err() == nil {
				said = now
				n.cfg.Log(n.waiting(err))
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s: %w", n.waiting(err), context.Cause(ctx))
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}

func (n *Node) stream(ctx context.Context, sc jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	st, err := n.js.Stream(ctx, sc.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		// Several nodes may do so at once: the same stream is made once.
		st, err = n.js.CreateStream(ctx, sc)
	}
	if err != nil {
		return nil, err
	}
	if c := st.CachedInfo().Cluster; c == nil || c.Leader == "" {
		return nil, fmt.Errorf("%s: %w", sc.Name, ErrHeadless)
	}
	return st, nil
}

// waiting says what keeps the node from starting.
func (n *Node) waiting(err error) string {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	text := "waiting until most nodes with storage are here"
	var names []string
	here, routes := 0, n.routes()
	for _, p := range n.host.id.Peers {
		if p.Storage {
			names = append(names, p.Name+" at "+p.Routes)
			if routes[p.Name] {
				here++
			}
		}
	}
	if len(names) > 0 {
		if n.cfg.Storage && 2*here >= len(names) || 2*here > len(names) { // with this one, most
			text = "waiting until the nodes with storage have chosen who leads them"
		}
		text += fmt.Sprintf(" (connected to %d of %s)", here, strings.Join(names, ", "))
	}
	if err = plainly(err); errors.Is(err, ErrHeadless) {
		return text // that they do not answer is said
	}
	return text + ": " + err.Error()
}

// raced reports whether a compare-and-swap failed because another was first.
func raced(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// last reads the last message of a subject from the group's leader. Seq is 0 when
// there is none.
func (n *Node) last(ctx context.Context, stream, subject string) (data []byte, seq uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	m, err := n.streams[stream].GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return m.Data, m.Sequence, nil
}

// put writes the next message of a subject if the last one was before, and
// returns its sequence number.
func (n *Node) put(ctx context.Context, subject string, data []byte, before uint64) (uint64, error) {
	return n.putMsg(ctx, &nats.Msg{Subject: subject, Data: data}, before)
}

func (n *Node) putMsg(ctx context.Context, m *nats.Msg, before uint64) (uint64, error) {
	return n.publish(ctx, m, jetstream.WithExpectLastSequencePerSubject(before))
}

// publish writes a message if what is expected holds, and returns its sequence number.
func (n *Node) publish(ctx context.Context, m *nats.Msg, expected jetstream.PublishOpt) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	ack, err := n.js.PublishMsg(ctx, m, expected, jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}
