package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// small makes files, syncs and sorts small, so that a short test meets all of
// their edges.
func small(t testing.TB) {
	c, e := chunk, syncEvery
	chunk, syncEvery = 1500, 3000
	t.Cleanup(func() { chunk, syncEvery = c, e })
}

// page is the j-th page of group i: what the test expects to find again.
func page(i, j int) *Exchange {
	n := (i*7 + j*13) % 5
	text := strings.Repeat(fmt.Sprintf("group %d page %d ", i, j), 1+n*n*8)
	if n == 3 {
		text = "a payload that many pages share"
	}
	x := exchange(fmt.Sprintf("http://example.org/%d/%d?b=2&a=1", i, j), text)
	if n == 4 {
		x.Meta = [][2]string{{"via", "http://example.org/"}}
	}
	return x
}

func pages(i int) int { return i * 5 % 4 }

// commit writes group i: its pages, a row for each, and the number of the last
// group.
func commit(s *Store, enc *Encoder, i int) error {
	g := s.Begin()
	for j := range pages(i) {
		r, err := enc.Encode(page(i, j))
		if err != nil {
			return err
		}
		p, _, err := g.Append(r)
		r.Release()
		if err != nil {
			g.Commit()
			return err
		}
		g.Set(fmt.Appendf(nil, "p%06d/%d", i, j), fmt.Appendf(nil, "%d %d %d", p.File, p.Offset, p.Length))
	}
	g.Set([]byte("last"), fmt.Append(nil, i))
	if i > 0 {
		g.DeleteRange([]byte("q"), fmt.Appendf(nil, "q%06d", i))
	}
	g.Set(fmt.Appendf(nil, "q%06d", i), []byte("queued"))
	return g.Commit()
}

// verify checks a store that was opened again: every group up to the last one
// is whole, there is nothing else, and that is at least what was acknowledged.
// It returns the number of the last group.
func verify(t testing.TB, s *Store, acked int) int {
	t.Helper()
	last := -1
	if v, ok, err := s.Get([]byte("last")); err != nil {
		t.Fatal(err)
	} else if ok {
		fmt.Sscan(string(v), &last)
	}
	if last < acked || last > acked+1 {
		t.Fatalf("last group is %d, acknowledged %d", last, acked)
	}
	answers := 0
	for i := 0; i <= last; i++ {
		for j := range pages(i) {
			answers++
			v, ok, err := s.Get(fmt.Appendf(nil, "p%06d/%d", i, j))
			if err != nil || !ok {
				t.Fatalf("row of page %d/%d: %v, %v", i, j, ok, err)
			}
			var p Place
			fmt.Sscan(string(v), &p.File, &p.Offset, &p.Length)
			x := page(i, j)
			want := make([]byte, x.PayloadSize)
			x.Response.ReadAt(want, int64(x.HeadLen))
			if got := body(t, s, p); got != string(want) {
				t.Fatalf("page %d/%d reads %.60q, want %.60q", i, j, got, want)
			}
		}
	}
	found := 0
	must(t, s.Walk(func(e *Entry) error {
		if e.Type == "response" || e.Type == "revisit" {
			found++
		}
		return nil
	}))
	if found != answers {
		t.Fatalf("%d answers in the archive, %d committed", found, answers)
	}
	queued := 0
	must(t, s.Scan([]byte("q"), []byte("r"), func(_, _ []byte) bool { queued++; return true }))
	if last >= 0 && queued != 1 {
		t.Fatalf("%d queued rows, want the last only", queued)
	}
	checkFiles(t, s)
	checkIndexSet(t, s)
	return last
}

// checkFiles compares the folder with what is committed.
func checkFiles(t testing.TB, s *Store) {
	t.Helper()
	names, err := s.fs.List(s.arch.dir)
	must(t, err)
	slices.Sort(names)
	var want []string
	for _, f := range s.committed() {
		want = append(want, f.name)
		info, err := s.fs.Stat(s.arch.path(f.name))
		must(t, err)
		if info.Size() != f.length {
			t.Fatalf("%s holds %d bytes, committed %d", f.name, info.Size(), f.length)
		}
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Fatalf("warc holds %v, committed %v", names, want)
	}
}

// checkIndexSet compares the index with the archive, whatever the order.
func checkIndexSet(t testing.TB, s *Store) {
	t.Helper()
	var fresh [][]byte
	must(t, s.lines(Place{}, func(b []byte) error { fresh = append(fresh, bytes.Clone(b)); return nil }))
	got := slices.Collect(bytes.Lines(readIndex(t, s)))
	slices.SortFunc(got, bytes.Compare)
	slices.SortFunc(fresh, bytes.Compare)
	if !slices.EqualFunc(got, fresh, bytes.Equal) {
		t.Fatalf("index.cdxj has %d lines, the archive %d:\n%s\nwant\n%s", len(got), len(fresh), bytes.Join(got, nil), bytes.Join(fresh, nil))
	}
}

// image is the disk as a power cut at one moment would leave it.
type image struct {
	fs    *vfs.MemFS
	acked int
	made  bool // Create had returned
	op    string
}

// camera takes images before randomly chosen operations of a file system.
type camera struct {
	mu     sync.Mutex
	fs     *vfs.MemFS
	rng    *rand.Rand
	chance float64
	acked  int
	made   bool
	images []image
}

func (c *camera) String() string { return "camera" }

func (c *camera) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rng.Float64() < c.chance {
		percent := []int{0, 50, 100}[c.rng.IntN(3)]
		cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.rng}
		c.images = append(c.images, image{c.fs.CrashClone(cfg), c.acked, c.made, fmt.Sprintf("%v %s, %d%% unsynced", op.Kind, op.Path, percent)})
	}
	return nil
}

func (c *camera) set(acked int) {
	c.mu.Lock()
	c.acked, c.made = acked, true
	c.mu.Unlock()
}

// TestPowerCut cuts the power at many moments of a short crawl: while the
// folder is made, between the WARC sync and the batch, in the middle of a
// rotation, while Pebble flushes, while the index is sorted.
func TestPowerCut(t *testing.T) {
	small(t)
	seen := map[string]int{}
	total := 0
	for seed := range uint64(12) {
		form := []Form{Gzip, Zstd}[seed%2]
		mem := vfs.NewCrashableMem()
		cam := &camera{fs: mem, rng: rand.New(rand.NewPCG(seed, 1)), acked: -1, chance: 0.07}
		o := Options{FS: errorfs.Wrap(mem, cam), Form: form, MaxFile: 4000, Info: info, Cache: 1 << 20}
		rng := rand.New(rand.NewPCG(seed, 2))
		enc := NewEncoder(form, 0)
		s, err := Create("crawl", o)
		must(t, err)
		cam.set(-1)
		for i := range 25 {
			must(t, commit(s, enc, i))
			cam.set(i)
			switch rng.IntN(8) {
			case 0:
				must(t, s.Close())
				s, err = Open("crawl", o)
				must(t, err)
			case 1:
				must(t, s.Finish())
			case 2:
				must(t, s.call(s.db.Flush))
			}
		}
		must(t, s.Close())
		for _, im := range cam.images {
			total++
			kind, path, _ := strings.Cut(im.op, " ")
			seen[kind+" "+area(path)]++
			t.Logf("seed %d: %d acknowledged, before %s", seed, im.acked, im.op)
			o := Options{FS: im.fs, Form: form, MaxFile: 4000, Info: info, Cache: 1 << 20}
			s, err := Open("crawl", o)
			if !im.made && errors.Is(err, ErrNotCrawl) {
				s, err = Create("crawl", o)
			}
			must(t, err)
			last := verify(t, s, im.acked)
			must(t, commit(s, enc, last+1))
			must(t, s.Finish())
			must(t, s.Close())
			s, err = Open("crawl", o)
			must(t, err)
			verify(t, s, last+1)
			if total%10 == 0 {
				validate(t, s)
			}
			must(t, s.Close())
		}
	}
	t.Logf("%d power cuts: %v", total, seen)
	if total < 200 {
		t.Errorf("only %d power cuts", total)
	}
	for _, a := range []string{"warc", "index", "state"} {
		n := 0
		for k, v := range seen {
			if strings.HasSuffix(k, " "+a) {
				n += v
			}
		}
		if n == 0 {
			t.Errorf("no power cut while writing to %s", a)
		}
	}
}

func area(path string) string {
	for _, a := range []string{"crawl/warc", "crawl/state", "crawl/index"} {
		if strings.Contains(path, a) {
			return strings.TrimPrefix(a, "crawl/")
		}
	}
	return "folder"
}
