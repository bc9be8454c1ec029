//go:build !linux

package main

// machineMemory is how many bytes of memory this machine is taken to have.
func machineMemory() int64 { return assumedMemory }

// spread does nothing: large pages are the system's business.
func spread(int64) {}
