//go:build !unix

package cluster

// syncDir does nothing where a folder cannot be opened as a file.
func syncDir(string) error { return nil }
