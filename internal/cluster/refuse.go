package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrClosed answers questions to a node that was closed.
var ErrClosed = errors.New("the node was closed")

// ErrEarly answers questions to a node that has not opened yet.
var ErrEarly = errors.New("the node is not ready yet")

// ErrInUse says that another process runs the node of a folder.
var ErrInUse = errors.New("another weir runs this node, in the same folder")

// ErrHeadless says that something had to be agreed on, and could not be.
var ErrHeadless = errors.New("most nodes with storage do not answer, or have not agreed yet on who leads them")

// plainly says in words what JetStream says in numbers. Errors that are about
// something else stay.
func plainly(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && api.Code == http.StatusServiceUnavailable,
		errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return ErrHeadless
	case errors.Is(err, nats.ErrTimeout):
		return late(err, nats.ErrTimeout)
	case errors.Is(err, context.DeadlineExceeded):
		return late(err, context.DeadlineExceeded)
	case api != nil:
		return errors.New(strings.ReplaceAll(err.Error(), api.Error(), api.Description))
	}
	return err
}

// late says of what took too long what it may be.
func late(err, cause error) error {
	return fmt.Errorf("%sno answer in time; perhaps %w", strings.TrimSuffix(err.Error(), cause.Error()), ErrHeadless)
}

// Reason says why a node is not let in.
type Reason string

const (
	OtherCluster Reason = "cluster"  // it belongs to another one
	OtherVersion Reason = "version"  // it speaks a protocol that is not spoken here
	OtherExpect  Reason = "expect"   // it wants to found a cluster of another size
	NameTaken    Reason = "name"     // a node of its name is alive
	NotItself    Reason = "identity" // its certificate is another node's
	Removed      Reason = "removed"  // it was taken out of the cluster
	Returned     Reason = "returned" // it comes back under its name without what it kept
	Busy         Reason = "busy"     // come again
)

// Refused says that one node turned another away. The one that was gets it from
// Open, the other one through Warn.
type Refused struct {
	Why  Reason
	By   string // the node that refuses, and its address
	Who  string // the node that is refused
	Text string
}

func (r *Refused) Error() string { return fmt.Sprintf("%s refuses %s: %s", r.By, r.Who, r.Text) }
