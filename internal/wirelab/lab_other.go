//go:build !linux

package wirelab

import "errors"

// Usable says why a laboratory cannot be opened here.
func Usable() error { return errors.New("the laboratory needs Linux") }
