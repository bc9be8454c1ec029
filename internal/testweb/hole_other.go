//go:build !linux

package testweb

import "errors"

const canHole = false

func (s *site) dig(int) error { return errors.New("SYNs cannot be dropped on this system") }
