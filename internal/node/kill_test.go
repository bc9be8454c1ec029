package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nlnwa/gowarc/v2"
	"weir/crawl"
	"weir/internal/program"
	"weir/internal/store"
	"weir/internal/testweb"
)

var kills = flag.Int("kills", 10, "how often TestKill kills the crawler")

// childEnv makes the test binary a crawler: it holds the configuration.
const childEnv = "WEIR_TEST_CRAWL"

// childCrawl is what a child process needs to know.
type childCrawl struct {
	Dir, DNS, Trace string
	Seeds           []string
	Wait            time.Duration
	Archive         string
	Program         string // the text of one; "": what flags mean
	Programs        []*program.Source
}

func (c childCrawl) config() (Config, error) {
	cfg := baseConfig(c.Dir, c.DNS)
	cfg.Wait, cfg.PerConn, cfg.Trace = c.Wait, 1, c.Trace
	cfg.Want.Words, cfg.Memory = true, 2<<20
	var err error
	if cfg.Archive, err = store.ParseForm(c.Archive); err != nil {
		return cfg, err
	}
	cfg.Programs = c.Programs
	if c.Program != "" {
		cfg.Programs, cfg.Order = []*program.Source{{Name: "child.dl", Text: c.Program}}, "score"
	}
	cfg.Seeds, err = seeds(c.Seeds)
	return cfg, err
}

// childFull is the exit code of a child whose disk was full.
const childFull = 3

// crawlAsChild runs when the test binary was started as a crawler.
func crawlAsChild(text string) int {
	var c childCrawl
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		var cfg Config
		if cfg, err = c.config(); err == nil {
			var r Report
			if r, err = Run(context.Background(), nil, cfg); errors.Is(err, store.ErrFull) && r.StoppedBy == crawl.StopNoRoom {
				return childFull
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestKill kills a crawler with -9 again and again. After every kill the
// archive holds exactly the committed pages; at the end every page was fetched,
// none more often than the kills explain, and no host was hurried.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"gzip", "zstd"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			testKill(t, form)
		})
	}
}

func testKill(t *testing.T, form string) {
	sites := testweb.Even(30, testweb.Site{Pages: 60 + 12**kills, Links: 6, Size: 3000})
	sites[0].Delay = time.Second / 10
	sites[0].Pages = 40
	sites[1].Deny = []string{"/private/"}
	sites[2].Faults = []testweb.Fault{{Kind: testweb.Duplicate, Every: 5}, {Kind: testweb.Unavailable, Every: 7, Times: 1}}
	web, err := testweb.Start(testweb.Config{Seed: 7, Sites: sites})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	c := childCrawl{
		Dir: t.TempDir(), DNS: web.DNS(), Seeds: web.Seeds(), Wait: 20 * time.Millisecond, Archive: form,
		Trace: filepath.Join(t.TempDir(), "trace.jsonl"),
	}
	cfg, err := c.config()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(form))))
	wasted := 0
rounds:
	for kill := range *kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(text))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("run %d: %v\n%s", kill, err, &stderr)
			}
			t.Logf("run %d ended before it could be killed", kill) // a fast machine
			break rounds
		case <-time.After(time.Duration(100+rng.IntN(500)) * time.Millisecond):
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		committed := checkFolder(t, cfg)
		answers := 0
		for _, h := range web.Audit().Hosts {
			answers += h.Pages + h.Duplicates
		}
		flying := answers - wasted - committed
		t.Logf("kill %d: %d pages committed, %d answered and not", kill, committed, flying)
		if most := 4*cfg.Conns + 512; flying > most {
			t.Errorf("kill %d: %d pages were answered and not committed, more than may be ordered (%d)", kill, flying, most)
		}
		wasted += max(flying, 0)
	}
	report, err := Run(context.Background(), nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkFolder(t, cfg)
	if got, want := web.Served(), web.Truth(); !slices.Equal(got, want) {
		t.Errorf("served %d pages, the web has %d: %v", len(got), len(want), missing(want, got))
	}
	if report.StoppedBy != crawl.StopDone || report.Queued != 0 {
		t.Errorf("the crawl ended as %+v", report)
	}
	problems := web.Audit().Problems(testweb.Manners{Wait: c.Wait, Conns: 1, Duplicates: wasted, Forgets: true})
	for _, p := range problems {
		t.Error(p)
	}
	if cfg.Archive == store.Gzip {
		checkWithGowarc(t, cfg.Dir)
	}
	trace, err := os.Open(c.Trace)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	played, err := crawl.Replay(trace)
	if err != nil {
		t.Errorf("the trace does not replay: %v", err)
	}
	if played.Events < 1000 {
		t.Errorf("the trace holds only %d events", played.Events)
	}
}

// checkFolder opens a crawl folder as the next start would and holds archive
// and state against each other. It returns the pages with an answer.
func checkFolder(t *testing.T, cfg Config) int {
	t.Helper()
	s, err := store.Open(cfg.Dir, store.Options{Form: cfg.Archive})
	if errors.Is(err, store.ErrNotCrawl) {
		return 0 // killed before there was anything to keep
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	totals, err := crawl.ReadTotals(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, begun, err := crawl.ReadSecret(s); err == nil && !begun && totals.Seen == 0 {
		return 0 // killed before there was anything to say
	}
	view, err := crawl.NewView(s)
	if err != nil {
		t.Fatal(err)
	}
	inArchive := map[store.Place]string{}
	records := 0
	err = s.Walk(func(e *store.Entry) error {
		if e.Type != "response" && e.Type != "revisit" {
			return nil
		}
		if _, err := io.Copy(io.Discard, e.Raw()); err != nil {
			return fmt.Errorf("%s: %w", e.URI, err)
		}
		inArchive[store.Place{File: e.Place.File, Offset: e.Place.Offset}] = e.URI
		records++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkIndex(t, s, cfg, inArchive)
	if cfg.Want.Words {
		t.Logf("%d pages are indexed", checkWords(t, s, view, cfg))
	}
	answered, ended := 0, int64(0)
	err = view.Pages(func(p *crawl.PageInfo) bool {
		ended++
		if p.Record.File == 0 {
			if p.Outcome.Row().Answer {
				t.Errorf("%s was answered and is not in the archive", p.URL)
			}
			return true
		}
		answered++
		place := store.Place{File: p.Record.File, Offset: p.Record.Offset}
		if inArchive[place] != p.URL.String() {
			t.Errorf("the record of %s is that of %q", p.URL, inArchive[place])
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if int64(answered) != totals.Fetched || int64(records) != totals.Fetched+totals.Robots {
		t.Errorf("the archive has %d records; the state has %d pages, the totals say %d pages and %d robots.txt",
			records, answered, totals.Fetched, totals.Robots)
	}
	if ended != totals.Ended() || totals.Seen != totals.Queued+totals.Parked+ended {
		t.Errorf("seen %d, queued %d, parked %d, ended %d", totals.Seen, totals.Queued, totals.Parked, ended)
	}
	return answered
}

// checkIndex holds index.cdxj against the archive: a line for every answer, and
// no other.
func checkIndex(t *testing.T, s *store.Store, cfg Config, inArchive map[store.Place]string) {
	t.Helper()
	if cfg.Archive == store.None {
		return
	}
	b, err := os.ReadFile(filepath.Join(cfg.Dir, "index.cdxj"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for p, uri := range inArchive {
		want[fmt.Sprintf("%s %d", s.FileName(p.File), p.Offset)] = uri
	}
	lines := 0
	for line := range strings.Lines(string(b)) {
		lines++
		var l struct{ URL, Offset, Filename string }
		if err := json.Unmarshal([]byte(line[strings.IndexByte(line, '{'):]), &l); err != nil {
			t.Fatalf("index.cdxj line %d: %v", lines, err)
		}
		if uri := want[l.Filename+" "+l.Offset]; uri != l.URL {
			t.Errorf("index.cdxj line %d: %s at %s of %s, the archive has %q there", lines, l.URL, l.Offset, l.Filename, uri)
		}
	}
	if lines != len(want) {
		t.Errorf("index.cdxj has %d lines, the archive %d answers", lines, len(want))
	}
}

// checkWithGowarc reads the archive with another library, as strict as it can
// be.
func checkWithGowarc(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no archive: %v", err)
	}
	for _, file := range files {
		r, err := gowarc.NewWarcFileReader(file, 0, gowarc.WithBufferTmpDir(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, offset, complaints, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = rec.ValidateDigest(complaints)
			}
			if err == nil && !complaints.Valid() {
				err = complaints
			}
			if err != nil {
				t.Fatalf("%s, record at %d: %v", filepath.Base(file), offset, err)
			}
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func missing(want, got []string) []string {
	var out []string
	for _, u := range want {
		if _, ok := slices.BinarySearch(got, u); !ok && len(out) < 5 {
			out = append(out, u)
		}
	}
	return out
}
