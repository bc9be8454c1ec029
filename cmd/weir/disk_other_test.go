//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func disk(ts *testscript.TestScript, neg bool, args []string) {
	ts.Fatalf("disks are made on Linux only")
}
