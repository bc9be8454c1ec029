package main

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

func disk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: disk DIR SIZE")
	}
	dir, size := ts.MkAbs(args[0]), "size="+args[1]
	if _, err := os.Stat(dir); err == nil {
		ts.Check(unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, size))
		return
	}
	ts.Check(os.Mkdir(dir, 0o777))
	ts.Check(unix.Mount("tmpfs", dir, "tmpfs", 0, size))
	ts.Defer(func() { ts.Check(unix.Unmount(dir, unix.MNT_DETACH)) })
}
