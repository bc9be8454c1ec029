package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What JetStream says in numbers is said in words.
func TestPlainly(t *testing.T) {
	busy := &jetstream.APIError{Code: 503, ErrorCode: 10008, Description: "JetStream system temporarily unavailable"}
	full := &jetstream.APIError{Code: 400, ErrorCode: 10077, Description: "maximum messages exceeded"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "<nil>"},
		{fmt.Errorf("submit x: %w", busy), ErrHeadless.Error()},
		{fmt.Errorf("submit x: %w", nats.ErrNoResponders), ErrHeadless.Error()},
		{fmt.Errorf("submit x: %w", context.DeadlineExceeded), "submit x: no answer in time; perhaps " + ErrHeadless.Error()},
		{fmt.Errorf("submit x: %w", full), "submit x: maximum messages exceeded"},
		{ErrExists, ErrExists.Error()},
	} {
		if got := fmt.Sprint(plainly(c.err)); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	if !errors.Is(plainly(ErrKeep), ErrKeep) {
		t.Error("an error of ours is another one now")
	}
}
