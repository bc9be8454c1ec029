package ask

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"
)

// holds has this program hold a folder for a question, as another process.
const holds = "WEIR_TEST_HOLDS"

func TestMain(m *testing.M) {
	if in := os.Getenv(holds); in != "" {
		if _, err := newDisk(vfs.Default, in, 1); err != nil {
			panic(err)
		}
		fmt.Println("held")
		bufio.NewReader(os.Stdin).ReadByte() // until it is killed
		return
	}
	goleak.VerifyTestMain(m)
}

// left are the folders in a folder.
func left(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".weir-query-*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// fill sets rows until one fails, or there are many.
func fill(d *disk) error {
	value := make([]byte, 1000)
	for i := range uint64(20_000) {
		if err := d.Set(binary.BigEndian.AppendUint64(nil, i*0x9e3779b97f4a7c15), value); err != nil {
			return err
		}
	}
	return nil
}

// A full disk ends the question with a word on what to do, whatever could not be
// written, and its folder is gone.
func TestFullDisk(t *testing.T) {
	noSpace := syscall.ENOSPC
	if runtime.GOOS == "windows" {
		noSpace = 112 // ERROR_DISK_FULL
	}
	for _, c := range []struct {
		name string
		file string
		from int // writes to such files that go well
	}{
		{"the first rows", ".sst", 0},
		{"rows", ".sst", 50},
		{"the list of files", "MANIFEST", 6},
		{"the first list", "MANIFEST", 0},
	} {
		var writes atomic.Int32
		dir := t.TempDir()
		fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, c.file) {
				if int(writes.Add(1)) <= c.from {
					return nil
				}
				return &os.PathError{Op: "write", Path: op.Path, Err: noSpace}
			}
			return nil
		}))
		d, err := newDisk(fs, dir, 1)
		if err == nil {
			err = errors.Join(fill(d), d.close())
		}
		if err == nil || !strings.Contains(err.Error(), "free space") || !errors.Is(err, noSpace) {
			t.Errorf("%s: %v", c.name, err)
		}
		if names := left(t, dir); len(names) > 0 {
			t.Errorf("%s: %v is left behind", c.name, names)
		}
	}
}

// What a killed question has left is removed by the next one, and nothing of those
// that live.
func TestLeftBehind(t *testing.T) {
	dir := t.TempDir()
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holds+"="+dir)
	if _, err := other.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	held := left(t, dir)
	ask := func() {
		t.Helper()
		d, err := newDisk(vfs.Default, dir, 1)
		if err == nil {
			var mine *disk
			if mine, err = newDisk(vfs.Default, dir, 1); err == nil {
				err = mine.close()
			}
			err = errors.Join(err, fill(d), d.close())
		}
		if err != nil {
			t.Error(err)
		}
	}
	ask()
	if now := left(t, dir); len(held) != 1 || len(now) != 1 {
		t.Errorf("a living question has %v, and then %v", held, now)
	}
	other.Process.Kill()
	other.Wait()
	ask()
	if now := left(t, dir); len(now) > 0 {
		t.Errorf("%v is left behind", now)
	}
}
