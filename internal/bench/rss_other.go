//go:build !unix

package main

import (
	"os"
	"time"
)

func maxRSS(*os.ProcessState) int64 { return 0 }

func usage(int) (time.Duration, int64) { return 0, 0 }
