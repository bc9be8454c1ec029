//go:build !unix

package store

import "time"

func cpu() time.Duration { return 0 }
