//go:build unix

package node

import (
	"syscall"
	"time"
)

// cpuTime is the processor time this process has used: what a benchmark on a busy
// machine can be judged by.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
