package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The tests of this file run the test binary again as a child: a store whose
// disk fails leaves Pebble's goroutines behind on purpose, and that the process
// lives on is what is tested.

func runChild(t *testing.T, task string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	c := exec.Command(exe, args...)
	c.Env = append(os.Environ(), "STORE_TEST_CHILD="+task)
	return c
}

// child is main in such a process.
func child(task string) int {
	var err error
	switch task {
	case "faults":
		err = childFaults(os.Args[1])
	case "stall":
		err = childStall()
	case "fill":
		err = childFill(os.Args[1])
	case "crawl":
		err = childCrawl(os.Args[1])
	case "read":
		err = childRead(os.Args[1])
	}
	if err != nil {
		fmt.Println("error:", err)
		if errors.Is(err, ErrFull) {
			return 3
		}
		return 1
	}
	return 0
}

// faultFS fails its n-th write, or sync, or both, and from then on all of them
// if the fault lasts.
type faultFS struct {
	vfs.FS
	mode string
	at   int64
	n    atomic.Int64
	off  atomic.Bool
}

func (f *faultFS) hit(op string) error {
	sync := op == "sync"
	if f.off.Load() || strings.HasSuffix(f.mode, "sync") != sync {
		return nil
	}
	n := f.n.Add(1)
	if n == f.at || n > f.at && strings.HasPrefix(f.mode, "full") {
		if sync {
			return syscall.EIO
		}
		return syscall.ENOSPC
	}
	return nil
}

func (f *faultFS) wrap(v vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &faultFile{File: v, fs: f}, nil
}

func (f *faultFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.hit("create"); err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return f.wrap(f.FS.Create(name, c))
}

func (f *faultFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.wrap(f.FS.OpenReadWrite(name, c, o...))
}

func (f *faultFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.wrap(f.FS.ReuseForWrite(from, to, c))
}

func (f *faultFS) OpenDir(name string) (vfs.File, error) { return f.wrap(f.FS.OpenDir(name)) }

func (f *faultFS) Rename(from, to string) error {
	if err := f.hit("rename"); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return f.FS.Rename(from, to)
}

func (f *faultFS) Unwrap() vfs.FS { return f.FS }

type faultFile struct {
	vfs.File
	fs *faultFS
}

// short is what is written of p before the fault.
func (f *faultFile) short(p []byte) []byte {
	if strings.HasPrefix(f.fs.mode, "short") {
		return p[:len(p)/2]
	}
	return nil
}

func (f *faultFile) Write(p []byte) (int, error) {
	if err := f.fs.hit("write"); err != nil {
		n, _ := f.File.Write(f.short(p))
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.hit("write"); err != nil {
		n, _ := f.File.WriteAt(f.short(p), off)
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultFile) Sync() error {
	if err := f.fs.hit("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultFile) SyncData() error {
	if err := f.fs.hit("sync"); err != nil {
		return err
	}
	return f.File.SyncData()
}

// TestFaults fails every write and every sync of a short crawl in turn. The
// crawl must end with an error that says what to do, in a living process, and
// go on from there once the fault is gone.
func TestFaults(t *testing.T) {
	for _, mode := range []string{"full write", "short write", "one sync"} {
		t.Run(mode, func(t *testing.T) {
			out, err := runChild(t, "faults", mode).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out[max(0, len(out)-6000):])
			}
			t.Logf("%s", out)
		})
	}
}

func childFaults(mode string) error {
	chunk, syncEvery = 1500, 3000
	const groups = 11
	// crawl works until the end or the first error and says how far it came.
	crawl := func(fs vfs.FS) (acked int, err error) {
		o := Options{FS: fs, MaxFile: 4000, Info: info, Cache: 1 << 20}
		acked = -1
		s, err := Open("crawl", o)
		if errors.Is(err, ErrNotCrawl) {
			s, err = Create("crawl", o)
		}
		if err != nil {
			return acked, err
		}
		if v, ok, err := s.Get([]byte("last")); err == nil && ok {
			fmt.Sscan(string(v), &acked)
		}
		enc := NewEncoder(Gzip, 0)
		for i := acked + 1; i < groups && err == nil; i++ {
			if err = commit(s, enc, i); err != nil {
				if again := s.Begin().Commit(); !errors.Is(again, err) {
					return acked, fmt.Errorf("after %w the next group says %v", err, again)
				}
				if _, _, again := s.Get([]byte("last")); again == nil {
					return acked, fmt.Errorf("after %w Get works", err)
				}
				break
			}
			acked = i
			switch i % 5 {
			case 2:
				err = s.Finish()
			case 3:
				err = s.call(s.db.Flush)
			case 4:
				err = s.Close()
				if err == nil {
					s, err = Open("crawl", o)
				}
			}
		}
		if s != nil {
			if cerr := s.Close(); err == nil {
				err = cerr
			}
		}
		return acked, err
	}

	count := &faultFS{FS: vfs.NewMem(), mode: mode, at: -1 << 40}
	if strings.HasPrefix(mode, "full") {
		count.at = 1 << 40
	}
	if _, err := crawl(count); err != nil {
		return fmt.Errorf("without a fault: %w", err)
	}
	total := count.n.Load()
	met := 0
	tried, step := int64(0), int64(1)
	if strings.HasPrefix(mode, "short") {
		step = 2 // the full disk met the others
	}
	for n := int64(1); n <= total; n += step {
		tried++
		fs := &faultFS{FS: vfs.NewMem(), mode: mode, at: n}
		acked, err := crawl(fs)
		if err != nil {
			met++
			if strings.HasSuffix(mode, "write") && !errors.Is(err, ErrFull) {
				return fmt.Errorf("fault %d: the error does not say the disk is full: %w", n, err)
			}
		}
		fs.off.Store(true)
		if _, err := crawlVerify(fs, acked); err != nil {
			return fmt.Errorf("fault %d: %w", n, err)
		}
		if last, err := crawl(fs); err != nil || last != groups-1 {
			return fmt.Errorf("fault %d: going on ended at %d: %w", n, last, err)
		}
		if _, err := crawlVerify(fs, groups-1); err != nil {
			return fmt.Errorf("fault %d, after going on: %w", n, err)
		}
	}
	fmt.Printf("%d faults, %d noticed\n", tried, met)
	if int64(met) < tried*3/4 {
		return fmt.Errorf("only %d of %d faults were noticed", met, tried)
	}
	return nil
}

// crawlVerify opens the folder and checks it.
func crawlVerify(fs vfs.FS, acked int) (last int, err error) {
	s, err := Open("crawl", Options{FS: fs, MaxFile: 4000, Info: info, Cache: 1 << 20})
	if acked < 0 && errors.Is(err, ErrNotCrawl) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	t := &childT{}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(t) {
				panic(p)
			}
		}()
		last = verify(t, s, acked)
	}()
	return last, errors.Join(t.err, s.Close())
}

// childT is a testing.TB for a process that is no test.
type childT struct {
	testing.TB
	err error
}

func (t *childT) Helper()           {}
func (t *childT) Fatal(args ...any) { t.err = errors.New(fmt.Sprint(args...)); panic(t) }
func (t *childT) Fatalf(f string, args ...any) {
	t.err = fmt.Errorf(f, args...)
	panic(t)
}

// TestStall has Pebble's flushes fail while its log can still be written: a
// commit that waits for room in memory must not wait for ever.
func TestStall(t *testing.T) {
	out, err := runChild(t, "stall").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
}

// noTables has no room for Pebble's tables.
type noTables struct{ vfs.FS }

func (f noTables) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") {
		return nil, syscall.ENOSPC
	}
	return f.FS.Create(name, c)
}

func childStall() error {
	s, err := Create("crawl", Options{FS: noTables{vfs.NewMem()}, Form: None})
	if err != nil {
		return err
	}
	value := []byte(randomText(1 << 20))
	for i := range 200 {
		g := s.Begin()
		g.Set(fmt.Append(nil, "u", i), value)
		if err := g.Commit(); err != nil {
			s.Close()
			return err
		}
	}
	return errors.New("200 MB were taken without a table")
}

// TestFullDisk fills a real file system.
func TestFullDisk(t *testing.T) {
	mount := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(mount, 0o755))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", mount).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount a small tmpfs: %v: %s", err, out)
	}
	defer exec.Command("umount", mount).Run()
	dir := filepath.Join(mount, "crawl")
	out, err := runChild(t, "fill", dir).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("a full disk: %v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("free space and run the same command again")) || bytes.Contains(out, []byte("goroutine ")) {
		t.Errorf("a full disk says:\n%s", out)
	}
	t.Logf("%s", out)
	if out, err := exec.Command("mount", "-o", "remount,size=64m", mount).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	out, err = runChild(t, "fill", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("after space was made: %v\n%s", err, out)
	}
	s, err := Open(dir, Options{Info: info})
	must(t, err)
	checkFiles(t, s)
	checkIndexSet(t, s)
	validate(t, s)
	must(t, s.Close())
}

// childFill crawls until 12 MB are kept.
func childFill(dir string) error {
	s, err := Open(dir, Options{Info: info})
	if errors.Is(err, ErrNotCrawl) {
		s, err = Create(dir, Options{Info: info})
	}
	if err != nil {
		return err
	}
	enc := NewEncoder(Gzip, 0)
	for s.End().Offset < 12<<20 {
		g := s.Begin()
		for range 10 {
			at := time.Now()
			text := fmt.Sprint(at.UnixNano(), randomText(30<<10))
			r, err := enc.Encode(exchange(fmt.Sprintf("http://example.org/%d", at.UnixNano()), text))
			if err != nil {
				return err
			}
			if _, _, err := g.Append(r); err != nil {
				return errors.Join(err, s.Close())
			}
			r.Release()
			g.Set(fmt.Appendf(nil, "u%d", at.UnixNano()), []byte(randomText(2000)))
		}
		if err := g.Commit(); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

// TestKill kills a process that commits as fast as it can, many times, and
// looks at the folder after each.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	last := -1
	for round := range 8 {
		c := runChild(t, "crawl", dir)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		pipe, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		acked := last
		lines := bufio.NewScanner(pipe)
		for n := 0; lines.Scan(); n++ {
			if _, err := fmt.Sscanf(lines.Text(), "acked %d", &acked); err != nil {
				t.Fatalf("child: %s %s", lines.Text(), stderr.String())
			}
			if n == 5+round*17%40 {
				must(t, c.Process.Kill())
			}
		}
		c.Wait()
		s, err := Open(dir, childOptions)
		must(t, err)
		// The child may have committed more than the pipe told.
		v, _, err := s.Get([]byte("last"))
		must(t, err)
		fmt.Sscan(string(v), &last)
		if last < acked {
			t.Fatalf("round %d: last group is %d, acknowledged %d", round, last, acked)
		}
		verify(t, s, last)
		validate(t, s)
		must(t, s.Close())
	}
	t.Logf("%d groups over 8 kills", last+1)
}

var childOptions = Options{MaxFile: 50_000, Info: info}

func childCrawl(dir string) error {
	s, err := Open(dir, childOptions)
	if errors.Is(err, ErrNotCrawl) {
		s, err = Create(dir, childOptions)
	}
	if err != nil {
		return err
	}
	last := -1
	if v, ok, _ := s.Get([]byte("last")); ok {
		fmt.Sscan(string(v), &last)
	}
	enc := NewEncoder(Gzip, 0)
	for i := last + 1; ; i++ {
		if err := commit(s, enc, i); err != nil {
			return err
		}
		fmt.Println("acked", i)
	}
}

// childRead has a folder open for reading until its input ends.
func childRead(dir string) error {
	s, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return s.Close()
}

// TestOtherProcess opens a folder that another process has.
func TestOtherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	c := runChild(t, "crawl", dir)
	pipe, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines := bufio.NewScanner(pipe)
	lines.Scan()
	_, err = Open(dir, childOptions)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", c.Process.Pid)) {
		t.Errorf("a folder of process %d: %v", c.Process.Pid, err)
	}
	must(t, c.Process.Kill())
	var drain sync.WaitGroup
	drain.Go(func() {
		for lines.Scan() {
		}
	})
	drain.Wait()
	c.Wait()
	s, err := Open(dir, childOptions)
	must(t, err)
	must(t, s.Close())
}
