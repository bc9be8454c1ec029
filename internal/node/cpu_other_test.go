//go:build !unix

package node

import "time"

func cpuTime() time.Duration { return 0 }
