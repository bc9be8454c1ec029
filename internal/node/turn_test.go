package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/program"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/page"
	"weir/query"
)

// near needs the texts of links, which a plain crawl does not read, and keeps
// them.
const near = `
set most = 2.
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < $most, host(V) = host(U).
crawl(V, D) :- crawl(U, D), redirect(U, V), host(V) = host(U).
live named.
named(V, T) :- link(_, V, T).
`

func source(text string, sets ...query.Setting) program.Source {
	return program.Source{Name: "near.dl", Text: text, Settings: sets}
}

func turned(t *testing.T, dir string, turn Turn) Turned {
	t.Helper()
	got, err := SteerProgram(context.Background(), dir, turn)
	if err != nil {
		t.Fatal(err, got.Faults)
	}
	return got
}

// turnWeb has pages that are far from the seeds, and robots.txt files.
func turnWeb(t *testing.T) *testweb.Web {
	return start(t, testweb.Config{Seed: 12, Sites: testweb.Even(6, testweb.Site{
		Pages: 60, Links: 4, Size: 3000, Faults: []testweb.Fault{{Kind: testweb.RedirectPage, Every: 7}, {Kind: testweb.NotFound, Every: 9}, {Kind: testweb.Unavailable, Every: 8, Times: 1}},
	})})
}

// state is what a crawl knows in the end: how its pages ended and how far from a
// seed, and what its program has derived.
type state struct {
	pages   map[string]string
	derived map[string]string
	totals  crawl.Totals
}

func stateOf(t *testing.T, dir string) state {
	t.Helper()
	st, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s := state{pages: map[string]string{}, derived: map[string]string{}}
	if s.totals, err = crawl.ReadTotals(st); err != nil {
		t.Fatal(err)
	}
	version, _, err := crawl.ReadProgram(st)
	if err != nil {
		t.Fatal(err)
	}
	view, err := crawl.NewView(st)
	if err != nil {
		t.Fatal(err)
	}
	err = view.Pages(func(p *crawl.PageInfo) bool {
		s.pages[p.URL.String()] = fmt.Sprint(p.Outcome, " at ", p.Depth)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	old := 0
	err = st.Scan([]byte{'f'}, []byte{'g'}, func(key, value []byte) bool {
		if key[1] == byte(version) {
			s.derived[string(key[2:])] = string(value)
		} else {
			old++
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if old > 0 {
		t.Errorf("%d rows of earlier programs are still there", old)
	}
	return s
}

// as holds a crawl that was steered against one that had the program from the
// start: it has the same pages, but for those that it has besides, and its program
// has derived the same.
func (s state) as(t *testing.T, want state) {
	t.Helper()
	for u, end := range want.pages {
		if s.pages[u] != end {
			t.Errorf("%s ended as %q, want %q", u, s.pages[u], end)
		}
	}
	if !maps.Equal(s.derived, want.derived) || len(want.derived) == 0 {
		t.Errorf("%d rows derived, want %d", len(s.derived), len(want.derived))
	}
	if tot := s.totals; tot.Due != 0 || tot.Stale || tot.Steered || tot.Queued != 0 {
		t.Errorf("at the end %+v", tot)
	}
}

// fromStart is the crawl that has a program from the start.
func fromStart(t *testing.T, web *testweb.Web, src program.Source) state {
	t.Helper()
	cfg := config(t, web)
	cfg.Programs = []*program.Source{&src}
	run(t, cfg)
	return stateOf(t, cfg.Dir)
}

func replays(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if played, err := crawl.Replay(f); err != nil {
		t.Errorf("after %d events: %v", played.Events, err)
	}
}

// turning runs a crawl to its end, and calls steer when it has some pages.
func turning(t *testing.T, cfg Config, steer func()) Report {
	t.Helper()
	n, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	var once bool
	n.cfg.Progress = func(s Status) {
		if !once && s.Totals.Fetched > 120 {
			once = true
			close(begun)
		}
	}
	var report Report
	ended := make(chan error, 1)
	go func() {
		var err error
		report, err = n.close(n.run(context.Background(), nil))
		ended <- err
	}()
	n.awaits <- crawl.Await{More: 1} // steer may take longer than the crawl
	<-begun
	steer()
	n.awaits <- crawl.Await{More: -1}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return report
}

// A crawl that gets another program while it runs ends as if it had run under that
// one from the start, but for the pages that it has besides.
func TestTurn(t *testing.T) {
	t.Parallel()
	web := turnWeb(t)
	cfg := config(t, web)
	cfg.Wait = 30 * time.Millisecond
	cfg.Trace = filepath.Join(t.TempDir(), "trace")
	var got Turned
	report := turning(t, cfg, func() {
		got = turned(t, cfg.Dir, Turn{Program: source(near)})
		if again := turned(t, cfg.Dir, Turn{Program: source(near)}); !again.Same || again.Version != 1 {
			t.Errorf("the same again: %+v", again)
		}
	})
	if got.Version != 1 || got.Stored == 0 || !slices.Contains(got.Added, "named(V, T) :- link(_, V, T).") || !slices.Contains(got.Removed, "small scope.") {
		t.Errorf("%+v", got)
	}
	if report.StoppedBy != crawl.StopDone || report.Outcomes[page.SteeredAway.String()] == 0 {
		t.Errorf("%+v", report)
	}
	stateOf(t, cfg.Dir).as(t, fromStart(t, web, source(near)))
	checkFolder(t, cfg)
	replays(t, cfg.Trace)

	// It goes on with that program, whatever flags it was begun with.
	if again := run(t, cfg); again.StoppedBy != crawl.StopDone || again.RunPages != 0 {
		t.Errorf("resumed: %+v", again)
	}
	cfg.Programs = []*program.Source{{Name: "other.dl", Text: "crawl(U, 0) :- seed(U)."}}
	if _, err := Run(context.Background(), nil, cfg); !errors.Is(err, ErrOtherProgram) {
		t.Errorf("under another program: %v", err)
	}
}

// One program after another, also while pages are still read again for the one
// before: the last one counts.
func TestTurnTwice(t *testing.T) {
	t.Parallel()
	web := turnWeb(t)
	cfg := config(t, web)
	cfg.Wait = 30 * time.Millisecond
	cfg.Trace = filepath.Join(t.TempDir(), "trace")
	less := source(near, query.Setting{Name: "most", Value: "1"})
	turning(t, cfg, func() {
		turned(t, cfg.Dir, Turn{Program: source(near)})
		turned(t, cfg.Dir, Turn{Program: less})
		turned(t, cfg.Dir, Turn{Program: source(near)})
		if got := turned(t, cfg.Dir, Turn{Program: source("live far.\nfar(U) :- crawl(U, D), D < $most."), Add: true}); got.Version != 4 || len(got.Removed) != 0 || len(got.Added) != 2 {
			t.Errorf("%+v", got)
		}
	})
	want := fromStart(t, web, source(near+"live far.\nfar(U) :- crawl(U, D), D < $most."))
	stateOf(t, cfg.Dir).as(t, want)
	replays(t, cfg.Trace)
}

// A crawl that is killed right after it was given a program goes on with it.
func TestTurnKilled(t *testing.T) {
	t.Parallel()
	web := turnWeb(t)
	c := childCrawl{Dir: t.TempDir(), DNS: web.DNS(), Seeds: web.Seeds(), Wait: 20 * time.Millisecond, Archive: "gzip", Trace: filepath.Join(t.TempDir(), "trace")}
	cfg, err := c.config()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	// What a run has left that was killed before its state named the version.
	if err := (&program.Source{Text: "left over"}).Save(cfg.Dir, 1); err != nil {
		t.Fatal(err)
	}
	for version, src := range []program.Source{source(near), source(near, query.Setting{Name: "most", Value: "1"})} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(text))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(time.Millisecond)
		for range tick.C {
			got, err := SteerProgram(context.Background(), cfg.Dir, Turn{Program: src})
			if errors.Is(err, ErrNotRunning) {
				continue // not yet
			}
			if err != nil || got.Version != version+1 {
				t.Errorf("%+v, %v", got, err)
			}
			break
		}
		tick.Stop()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	run(t, cfg)
	stateOf(t, cfg.Dir).as(t, fromStart(t, web, source(near, query.Setting{Name: "most", Value: "1"})))
	replays(t, c.Trace)
}

// What is wrong with a program is told as it stands in its file, and the crawl
// goes on as it was.
func TestTurnRefuses(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Wait = time.Millisecond
	n, _ := running(t, cfg)
	_, err := SteerProgram(context.Background(), cfg.Dir, Turn{Program: source("crawl(U, 0) :- seeds(U).")})
	if !errors.Is(err, ErrFaulty) {
		t.Errorf("an unknown table: %v", err)
	}
	got, err := SteerProgram(context.Background(), cfg.Dir, Turn{Program: source("% one\nfar(U) :- crawl(U, D, _), D > X."), Add: true})
	if !errors.Is(err, ErrFaulty) || !strings.HasPrefix(got.Faults, "near.dl:2:") || !strings.Contains(got.Faults, "D > X.\n") {
		t.Errorf("a fault in what is added: %v\n%s", err, got.Faults)
	}
	_, err = SteerProgram(context.Background(), cfg.Dir, Turn{Program: source("input bad(text) from \"bad.txt\".\ncrawl(U, 0) :- seed(U), !bad(host(U)).")})
	if err == nil || !strings.Contains(err.Error(), "rows of the input bad are missing") {
		t.Errorf("an input without rows: %v", err)
	}
	long := source("crawl(U, 0) :- seed(U). % " + strings.Repeat("x", query.MaxProgram))
	if _, err := SteerProgram(context.Background(), cfg.Dir, Turn{Program: long}); !errors.Is(err, ErrFaulty) {
		t.Errorf("a long program: %v", err)
	}
	if n.programs.Version != 0 {
		t.Errorf("version %d holds", n.programs.Version)
	}
	if _, err := SteerProgram(context.Background(), t.TempDir(), Turn{Program: source(near)}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("where no crawl runs: %v", err)
	}
}

// Without an archive there is nothing that could be read again.
func TestTurnNeedsArchive(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Wait, cfg.Archive = time.Millisecond, store.None
	running(t, cfg)
	if _, err := SteerProgram(context.Background(), cfg.Dir, Turn{Program: source(near)}); err == nil || !strings.Contains(err.Error(), "keeps no archive") {
		t.Errorf("error %v", err)
	}
}

// Versions are told apart by a byte.
func TestTurnTooOften(t *testing.T) {
	t.Parallel()
	cfg := config(t, long(t))
	cfg.Wait = time.Millisecond
	n, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.programs.Next = crawl.MaxProgram + 1
	if _, err := n.turn(context.Background(), Turn{Program: source(near)}); err == nil || !strings.Contains(err.Error(), "has had 255 programs") {
		t.Errorf("error %v", err)
	}
	if _, err := n.close(nil); err != nil {
		t.Error(err)
	}
}
