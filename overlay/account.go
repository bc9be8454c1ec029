package overlay

import "encoding/binary"

// Traffic is what bytes between nodes are about.
type Traffic uint8

const (
	Rows        Traffic = iota // rows and facts on their way to their homes
	Ends                       // pages that have ended
	Epochs                     // who owns what, and marks in logs
	HostNews                   // what was learned of hosts
	Leases                     // asked for, granted and given back
	Gossip                     // loads, shares, whether all is quiet
	Sessions                   // who is there
	Replication                // copies of logs
	traffics
)

var trafficNames = [traffics]string{"rows", "ended", "epochs", "hosts", "leases", "gossip", "sessions", "replication"}

func (t Traffic) String() string {
	if t >= traffics {
		return "other"
	}
	return trafficNames[t]
}

// Traffics returns all kinds, in order.
func Traffics() []Traffic {
	all := make([]Traffic, traffics)
	for i := range all {
		all[i] = Traffic(i)
	}
	return all
}

// Account counts the bytes that a node has sent to others, and received from them. It
// is a plain value; its owner adds to it.
type Account struct {
	Sent     [traffics]int64
	Received [traffics]int64
}

// Add adds what another account has.
func (a *Account) Add(b *Account) {
	for i := range a.Sent {
		a.Sent[i] += b.Sent[i]
		a.Received[i] += b.Received[i]
	}
}

// Total returns what was received, of all kinds.
func (a *Account) Total() int64 {
	sum := int64(0)
	for _, n := range a.Received {
		sum += n
	}
	return sum
}

// PerURL returns how many bytes were received for each of so many distinct URLs that
// were queued; of the accounts of all nodes together it is what a URL costs.
func (a *Account) PerURL(urls int64) float64 {
	if urls <= 0 {
		return 0
	}
	return float64(a.Total()) / float64(urls)
}

// SentBatch and ReceivedBatch count a written batch record by record. size is what it
// took on the wire; what that is more or less than the batch, for headers or because
// it was compressed, is shared out in proportion.
func (a *Account) SentBatch(b []byte, size int)     { countBatch(&a.Sent, b, size) }
func (a *Account) ReceivedBatch(b []byte, size int) { countBatch(&a.Received, b, size) }

func countBatch(to *[traffics]int64, b []byte, size int) {
	var parts [traffics]int64
	sum := int64(0)
	for rest := afterOrigin(b); len(rest) > 0; {
		n, k := binary.Uvarint(rest[1:])
		if k <= 0 || n > uint64(len(rest)-1-k) {
			break
		}
		whole := 1 + k + int(n)
		parts[trafficOf(rest[0])] += int64(whole)
		sum += int64(whole)
		rest = rest[whole:]
	}
	if sum == 0 {
		to[Rows] += int64(size)
		return
	}
	left := int64(size)
	for i := range parts {
		n := int64(size) * parts[i] / sum
		to[i] += n
		left -= n
	}
	for i := range parts { // what rounding has left goes to the first
		if parts[i] > 0 {
			to[i] += left
			break
		}
	}
}

// afterOrigin returns the records of a batch.
func afterOrigin(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	_, k := binary.Uvarint(b[1:])
	if k <= 0 {
		return nil
	}
	return b[1+k:]
}

// trafficOf says what a kind of record is about.
func trafficOf(kind byte) Traffic {
	switch kind {
	case Done{}.kind():
		return Ends
	case Taken{}.kind(), Mark{}.kind():
		return Epochs
	case Hosts{}.kind(), Spread{}.kind(), Trips{}.kind():
		return HostNews
	}
	return Rows
}

// TrafficOfWord says what a message from node to node is about.
func TrafficOfWord(b []byte) Traffic {
	if len(b) > 1 {
		switch b[1] {
		case askKind, answerKind, returnKind, callKind:
			return Leases
		}
	}
	return Gossip
}
