//go:build unix

package store

import (
	"syscall"
	"time"
)

// cpu is the processor time this process has used: what a benchmark on a busy
// machine can be judged by.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
