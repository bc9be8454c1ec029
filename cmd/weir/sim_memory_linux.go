package main

import "golang.org/x/sys/unix"

// machineMemory is how many bytes of memory this machine has.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return assumedMemory
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}
