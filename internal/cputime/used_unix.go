//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Used returns the processor time so far, of the program and of the system for
// it; 0 where it cannot be told.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
