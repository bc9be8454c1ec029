package overlay

import "time"

// How long things last.
const (
	TTL     = 20 * time.Second        // of a session, from its last renewal
	Renewal = 1500 * time.Millisecond // between two renewals
	Hold    = TTL * 3 / 4             // how long after a renewal was sent a node may order requests
)
