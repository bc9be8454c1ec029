// Command weir crawls the web within a bandwidth budget and good manners.
//
// main parses the command line and turns an error into a line, a hint and an
// exit code; every verb is a type of cli with a method Run, in a file of its
// name. Read cli.go first.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], &env{
		ctx: context.Background(),
		in:  os.Stdin,
		out: os.Stdout,
		err: os.Stderr,
	}))
}
