//go:build !linux

package main

import "weir/internal/wirelab"

func byHand([]string) error { return wirelab.Usable() }

func (l *lab) wire() error { return wirelab.Usable() }
