package node

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/program"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/page"
)

// chain goes where pages lead on before it goes anywhere else, which finds most
// pages by a long way first.
const chain = `
crawl(U, 0, 9) :- seed(U).
crawl(V, D+1, 9) :- crawl(U, D, _), link(U, V, _, "next"), D < 5.
crawl(V, D+1, 1) :- crawl(U, D, _), link(U, V), D < 5.
`

// tangle is a site whose pages lead on from one to the next, and to a few others;
// least are the fewest links to each of them.
func tangle(t *testing.T, pages int) (web *testweb.Web, least map[string]int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	dir := t.TempDir()
	links := make([][]int, pages)
	name := func(i int) string {
		if i == 0 {
			return "index.html"
		}
		return fmt.Sprintf("p%d.html", i)
	}
	for i := range links {
		var b strings.Builder
		fmt.Fprintf(&b, "<!DOCTYPE html><title>Page %d</title>\n", i)
		if i+1 < pages {
			fmt.Fprintf(&b, "<p><a rel=next href=%s>on</a>\n", name(i+1))
			links[i] = append(links[i], i+1)
		}
		for range rng.IntN(3) {
			to := 1 + rng.IntN(pages-1)
			fmt.Fprintf(&b, "<p><a href=%s>to %d</a>\n", name(to), to)
			links[i] = append(links[i], to)
		}
		if err := os.WriteFile(filepath.Join(dir, name(i)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	web = start(t, testweb.Config{Seed: 1, Sites: []testweb.Site{{Name: "a.test", Folder: dir}}})
	least = map[string]int{web.URL(0): 0}
	for todo := []int{0}; len(todo) > 0; todo = todo[1:] {
		from := web.URL(0)
		if todo[0] > 0 {
			from += name(todo[0])
		}
		for _, to := range links[todo[0]] {
			u := web.URL(0) + name(to)
			if _, known := least[u]; !known && least[from] < 5 {
				least[u] = least[from] + 1
				todo = append(todo, to)
			}
		}
	}
	return web, least
}

// hasLeast holds a crawl against the least depths of its pages.
func hasLeast(t *testing.T, dir string, least map[string]int) {
	t.Helper()
	got := stateOf(t, dir)
	for u, depth := range least {
		if want := fmt.Sprint(page.OK, " at ", depth); got.pages[u] != want {
			t.Errorf("%s: %q, want %q", u, got.pages[u], want)
		}
	}
	if len(got.pages) != len(least) || got.totals.Due != 0 || got.totals.Queued != 0 {
		t.Errorf("%d pages, want %d; at the end %+v", len(got.pages), len(least), got.totals)
	}
}

// A page that is found nearer to a seed after it was fetched means more then, with
// and without an archive. The crawl is stopped after every page, so that it goes on
// with the one that has the greatest priority.
func TestDepthIsTheLeast(t *testing.T) {
	t.Parallel()
	web, least := tangle(t, 50)
	for _, form := range []store.Form{store.Gzip, store.None} {
		t.Run(form.String(), func(t *testing.T) {
			t.Parallel()
			src := source(chain)
			cfg := config(t, web)
			cfg.Archive, cfg.Order, cfg.Programs = form, "score", []*program.Source{&src}
			cfg.Trace = filepath.Join(t.TempDir(), "trace")
			for done := false; !done; done = run(t, cfg).StoppedBy == crawl.StopDone {
				cfg.MaxPages++
			}
			hasLeast(t, cfg.Dir, least)
			trace, err := os.ReadFile(cfg.Trace)
			if err != nil || !strings.Contains(string(trace), "redelivered") {
				t.Error("no page was delivered again: this test shows nothing", err)
			}
		})
	}
}

// A crawl that keeps facts is killed again and again: what pages said is there with
// their ends, or neither is.
func TestKillWithoutArchive(t *testing.T) {
	t.Parallel()
	web, least := tangle(t, 80)
	c := childCrawl{Dir: t.TempDir(), DNS: web.DNS(), Seeds: web.Seeds(), Wait: 2 * time.Millisecond, Archive: "none", Program: chain}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(text))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended: // on a fast machine
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Duration(100+rng.IntN(200)) * time.Millisecond):
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
		}
	}
	cfg, err := c.config()
	if err != nil {
		t.Fatal(err)
	}
	run(t, cfg)
	hasLeast(t, cfg.Dir, least)
}

// A crawl without an archive whose program looks at all that the next one does ends
// as if it had run under that one from the start.
func TestTurnWithoutArchive(t *testing.T) {
	t.Parallel()
	web := turnWeb(t)
	cfg := config(t, web)
	cfg.Wait, cfg.Archive = 30*time.Millisecond, store.None
	wide := source(`
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V, T), D < 9, T != "no page has this text".
crawl(V, D) :- crawl(U, D), redirect(U, V).
`)
	cfg.Programs = []*program.Source{&wide}
	turning(t, cfg, func() {
		headers := source(near + "live served.\nserved(U, H) :- header(U, \"server\", H).\n")
		if _, err := SteerProgram(context.Background(), cfg.Dir, Turn{Program: headers}); err == nil || !strings.Contains(err.Error(), "cannot be asked for headers") {
			t.Errorf("a program that looks at headers: %v", err)
		}
		if got := turned(t, cfg.Dir, Turn{Program: source(near)}); got.Version != 1 || got.Stored == 0 {
			t.Errorf("%+v", got)
		}
	})
	stateOf(t, cfg.Dir).as(t, fromStart(t, web, source(near)))
	cfg.Programs = nil
	if again := run(t, cfg); again.StoppedBy != crawl.StopDone || again.RunPages != 0 {
		t.Errorf("resumed: %+v", again)
	}
}

// A crawl that needs no facts again keeps none.
func TestPlainCrawlKeepsNoFacts(t *testing.T) {
	t.Parallel()
	web, _ := tangle(t, 20)
	for depth, keeps := range map[int]bool{-1: false, 3: true} {
		cfg := config(t, web)
		cfg.Archive, cfg.Scope.Depth = store.None, depth
		run(t, cfg)
		st, err := store.Open(cfg.Dir, store.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		if err := st.Scan([]byte{'x'}, []byte{'y'}, func(_, _ []byte) bool { rows++; return true }); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := crawl.ReadWant(st); ok != keeps || rows > 0 != keeps || err != nil {
			t.Errorf("depth %d: %d rows, %v, %v", depth, rows, ok, err)
		}
		st.Close()
	}
}
