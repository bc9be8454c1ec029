package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// machineMemory is how many bytes of memory this machine has.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return assumedMemory
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}

// spread asks the system to put large pages under the next bytes that the heap
// takes. A simulation waits for memory far apart most of the time, and with small
// pages much of that is for finding out where it lies. The advice stays with the
// addresses: the room is given back at once, untouched, and what comes next grows
// into it.
func spread(bytes int64) {
	_ = unix.Madvise(make([]byte, bytes), unix.MADV_HUGEPAGE) // without, it is slower and no worse
	runtime.GC()
}
