package cluster

import "sync/atomic"

// kind is what bytes are for.
type kind int

const (
	kindAppend  kind = iota // batches on their way to the logs
	kindFollow              // batches that were read from them
	kindSession             // renewals
	kindOwner               // claims
	kindTalk                // gossip and leases
	kindAsk                 // questions
	kinds
)

var kindNames = [kinds]string{"append", "follow", "session", "owner", "talk", "ask"}

// counters add up payloads by kind, as this node sent and received them.
type counters struct{ sent, received [kinds]atomic.Int64 }

func (c *counters) add(k kind, sent, received int) {
	c.sent[k].Add(int64(sent))
	c.received[k].Add(int64(received))
}
