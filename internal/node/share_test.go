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
)

// Two users of query.md, program 30: one stays near, the other looks for broken
// links.
const (
	homely = `
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < 3, host(V) = host(U).
`
	broken = `
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < 4, contains(V, "1").
crawl(V, D) :- crawl(U, D), redirect(U, V).
live broken.
broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400.
`
)

func called(name, text string) *program.Source {
	return &program.Source{Name: name + ".dl", As: name, Text: text}
}

// table is what one of those who share a crawl has in the end: its crawl table with
// the outcomes, and what it has derived.
func table(t *testing.T, dir, name string) state {
	t.Helper()
	st, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	view, err := crawl.NewView(st)
	if err != nil {
		t.Fatal(err)
	}
	number := view.Programs().Version
	if name != "" {
		i := slices.IndexFunc(view.Programs().Each, func(n crawl.Named) bool { return n.Name == name })
		if i < 0 {
			t.Fatalf("no program is called %s: %+v", name, view.Programs())
		}
		view, number = view.Of(view.Programs().Each[i]), view.Programs().Each[i].Number
	}
	s := state{pages: map[string]string{}, derived: map[string]string{}}
	if s.totals, err = crawl.ReadTotals(st); err != nil {
		t.Fatal(err)
	}
	err = view.Pages(func(p *crawl.PageInfo) bool {
		if !p.Stray {
			s.pages[p.URL.String()] = fmt.Sprint(p.Outcome, " at ", p.Depth)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Scan([]byte{'f', number}, []byte{'f', number + 1}, func(key, value []byte) bool {
		s.derived[string(key[2:])] = string(value)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sameAsAlone holds what those who share a crawl have against what each has alone.
func sameAsAlone(t *testing.T, web *testweb.Web, dir string, list ...*program.Source) {
	t.Helper()
	for _, src := range list {
		alone := config(t, web)
		alone.Programs = []*program.Source{src}
		run(t, alone)
		want, got := table(t, alone.Dir, ""), table(t, dir, src.As)
		if !maps.Equal(got.pages, want.pages) || len(want.pages) < 10 {
			t.Errorf("%s has %d pages, alone %d", src.As, len(got.pages), len(want.pages))
		}
		got.as(t, want)
	}
}

// once says that no page was asked for twice.
func once(t *testing.T, web *testweb.Web) {
	t.Helper()
	for _, h := range web.Audit().Hosts {
		if h.Duplicates > 0 {
			t.Errorf("%s was asked again for %v", h.Host, h.DuplicateURLs)
		}
	}
}

// Programs 1 and 11 share a crawl: one Fetch, two plans. Each has what it has
// alone, and every page is fetched once.
func TestShare(t *testing.T) {
	t.Parallel()
	web := shareWeb(t, 60)
	cfg := config(t, web)
	cfg.Programs = []*program.Source{called("homely", homely), called("broken", broken)}
	cfg.Trace = filepath.Join(t.TempDir(), "trace")
	report := run(t, cfg)
	if report.StoppedBy != crawl.StopDone {
		t.Errorf("%+v", report)
	}
	once(t, web)
	replays(t, cfg.Trace)
	checkFolder(t, cfg)
	sameAsAlone(t, web, cfg.Dir, cfg.Programs...)
	if again := run(t, cfg); again.RunPages != 0 {
		t.Errorf("begun again: %+v", again)
	}
	cfg.Programs = cfg.Programs[:1]
	if _, err := Run(context.Background(), nil, cfg); !errors.Is(err, ErrOtherProgram) {
		t.Errorf("with one of two programs: %v", err)
	}
	bare := config(t, web)
	bare.Programs, bare.Archive = []*program.Source{called("homely", homely), called("broken", broken)}, store.None
	run(t, bare) // it keeps what pages say instead
	sameAsAlone(t, web, bare.Dir, bare.Programs...)
}

func shareWeb(t *testing.T, pages int) *testweb.Web {
	return start(t, testweb.Config{Seed: 12, Sites: testweb.Even(6, testweb.Site{
		Pages: pages, Links: 4, Size: 3000, Faults: []testweb.Fault{{Kind: testweb.RedirectPage, Every: 7}, {Kind: testweb.NotFound, Every: 9}},
	})})
}

// A program that comes to share a crawl that runs, others that come and leave, and
// one that is put in the place of another: each that stays has what it has alone.
func TestShareLater(t *testing.T) {
	t.Parallel()
	web := shareWeb(t, 200)
	cfg := config(t, web)
	cfg.Wait = 30 * time.Millisecond
	cfg.Trace = filepath.Join(t.TempDir(), "trace")
	first := called("main", strings.Replace(homely, "D < 3", "D < 9", 1))
	cfg.Programs = []*program.Source{first}
	late, guest := called("late", broken), called("guest", near)
	other := called("late", strings.Replace(broken, "D < 4", "D < 5", 1))
	report := turning(t, cfg, func() {
		if got := turned(t, cfg.Dir, Turn{Program: *late, Beside: true}); !slices.Equal(got.Programs, []string{"main", "late"}) || len(got.Removed) > 0 || len(got.Added) != 5 {
			t.Errorf("%+v", got)
		}
		turned(t, cfg.Dir, Turn{Program: *guest, Beside: true})
		if _, err := SteerProgram(context.Background(), cfg.Dir, Turn{Program: *guest, Beside: true}); err == nil || !strings.Contains(err.Error(), "called guest shares the crawl already") {
			t.Errorf("twice: %v", err)
		}
		if _, err := SteerProgram(context.Background(), cfg.Dir, Turn{Program: *called("stranger", near)}); err == nil || !strings.Contains(err.Error(), "there are main, late, guest") {
			t.Errorf("a stranger: %v", err)
		}
		if got := turned(t, cfg.Dir, Turn{Program: *late}); !got.Same {
			t.Errorf("the same again: %+v", got)
		}
		turned(t, cfg.Dir, Turn{Program: *other})
		if got := turned(t, cfg.Dir, Turn{Leave: "guest"}); !slices.Equal(got.Programs, []string{"main", "late"}) {
			t.Errorf("%+v", got)
		}
	})
	if report.StoppedBy != crawl.StopDone {
		t.Errorf("%+v", report)
	}
	replays(t, cfg.Trace)
	sameAsAlone(t, web, cfg.Dir, first, other)
}

// Programs that share a crawl which is killed again and again, one of which comes
// in between, have what each has alone.
func TestShareKilled(t *testing.T) {
	t.Parallel()
	web := shareWeb(t, 60)
	first, late := called("main", strings.Replace(homely, "D < 3", "D < 9", 1)), called("late", broken)
	c := childCrawl{Dir: t.TempDir(), DNS: web.DNS(), Seeds: web.Seeds(), Wait: 20 * time.Millisecond, Archive: "gzip", Programs: []*program.Source{first, called("broken", broken)}}
	cfg, err := c.config()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Programs = nil // from the second run on the folder says which
	resumed, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range []Turn{{Program: *called("broken", strings.Replace(broken, "D < 4", "D < 2", 1))}, {Program: *late, Beside: true}, {Leave: "broken"}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(text))
		cmd.Stderr = os.Stderr
		text = resumed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(time.Millisecond)
		for range tick.C {
			if got, err := SteerProgram(context.Background(), cfg.Dir, turn); !errors.Is(err, ErrNotRunning) {
				if err != nil {
					t.Errorf("%+v, %v", got, err)
				}
				break
			} // else not yet
		}
		tick.Stop()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	cfg.Programs = nil
	run(t, cfg)
	sameAsAlone(t, web, cfg.Dir, first, late)
}
