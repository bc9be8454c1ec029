//go:build !linux

package node

import (
	"time"

	"weir/page"
)

// clock never goes back. Whether it counts sleep is the system's choice.
func clock() page.Time { return page.Time(time.Since(began)) }

var began = time.Now()
