package program

import (
	"errors"
	"io"
	"os"
	"runtime"
)

// readAll reads at most one byte more than is allowed: whoever takes it says that
// it is too long.
func readAll(r io.Reader, most int64) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	return string(b), err
}

func writeSynced(name, text string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir makes the names in a folder durable, where the system can.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && runtime.GOOS != "windows" {
		return err
	}
	return nil
}
