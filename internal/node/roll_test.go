package node

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/program"
	"weir/internal/testweb"
	"weir/overlay"
)

// nearProgram and oddProgram want some pages both, and others each by itself.
const (
	nearProgram = `
crawl(U, 0) :- seed(U).
crawl(V, D+1) :- crawl(U, D), link(U, V), D < 2.`
	oddProgram = `
crawl(U) :- seed(U).
crawl(V) :- crawl(U), link(U, V), matches(V, "[13579]$").
live named.
named(path(V), max count<U>) :- link(U, V).`
)

// alone is what each program asks for when one node crawls for both from the start.
func alone(t *testing.T, cfg testweb.Config, programs ...*program.Source) map[string]map[string]bool {
	t.Helper()
	one := start(t, cfg)
	c := config(t, one)
	c.Programs = programs
	run(t, c)
	all := map[string]map[string]bool{}
	for _, p := range programs {
		all[p.As] = claimed(t, p.As, c.Dir)
	}
	return all
}

// ended stops the nodes, which have nothing to do, and returns their folders. The last
// two could not leave: they are too few to agree on anything.
func (f *fleet) ended(nodes ...int) (dirs []string) {
	for _, i := range nodes {
		f.nodes[i].kill()
		dirs = append(dirs, filepath.Join(f.nodes[i].dir, "crawl"))
	}
	return dirs
}

// TestNodesTakeUpAProgram: a crawl of one program, on several nodes, gets another one
// beside it, while it runs and when it is done. Each has the pages then that it has on
// one node with both, and no page is fetched for the second time.
func TestNodesTakeUpAProgram(t *testing.T) {
	t.Parallel()
	sites := testweb.Config{Seed: 5, Sites: testweb.Even(9, testweb.Site{Pages: 25, Links: 5, Size: 1000, Latency: time.Millisecond})}
	near, odd := &program.Source{As: "near", Name: "near.dl", Text: nearProgram}, &program.Source{As: "odd", Name: "odd.dl", Text: oddProgram}
	want := alone(t, sites, near, odd)
	for _, when := range []string{"running", "done"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			web := start(t, sites)
			f, begun := slowFleet(t, web, near)
			if when == "done" {
				f.quieten(0, 1, 2)
			} else {
				<-begun
			}
			f.agree(func(list []Enrolled) []Enrolled {
				return append(list, Enrolled{Name: "odd", Source: odd, Joined: true})
			}, 0, 1, 2)
			f.agree(func(list []Enrolled) []Enrolled { return list }, 0, 1, 2) // nothing is new
			f.quieten(0, 1, 2)
			once(t, web)
			f.same(want, f.ended(0, 1, 2))
		})
	}
}

// slowFleet is three nodes that crawl for a program and take their time, and what is
// closed when they are in the middle of it.
func slowFleet(t *testing.T, web *testweb.Web, src *program.Source) (*fleet, <-chan struct{}) {
	t.Helper()
	f := newFleet(t, web, 3)
	watch, begun := busy(10)
	f.roll.Programs = []Enrolled{{Name: src.As, Source: src}}
	f.tune = func(_ int, cfg *Config) {
		cfg.Programs, cfg.Wait, cfg.Progress = []*program.Source{src}, 20*time.Millisecond, watch
	}
	for i := range f.nodes {
		f.launch(i)
	}
	return f, begun
}

// busy returns a function for Config.Progress, and what is closed when a node has
// fetched so many pages.
func busy(pages int64) (func(Status), <-chan struct{}) {
	begun, first := make(chan struct{}), new(sync.Once)
	return func(s Status) {
		if s.Totals.Fetched >= pages {
			first.Do(func() { close(begun) })
		}
	}, begun
}

// TestNodesLendOneAnotherPages: a node that has come late owns partitions whose pages
// others have fetched. A program that asks for them gets them from there.
func TestNodesLendOneAnotherPages(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"host", "url"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			lendOneAnother(t, scheme)
		})
	}
}

func lendOneAnother(t *testing.T, scheme string) {
	sites := testweb.Config{Seed: 5, Sites: testweb.Even(20, testweb.Site{Pages: 12, Links: 5, Size: 1000})}
	near, odd := &program.Source{As: "near", Name: "near.dl", Text: nearProgram}, &program.Source{As: "odd", Name: "odd.dl", Text: oddProgram}
	want := alone(t, sites, near, odd)
	web := start(t, sites)
	f := newFleet(t, web, 4)
	var err error
	if f.scheme, err = overlay.ParseScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f.roll.Programs = []Enrolled{{Name: "near", Source: near}}
	f.tune = func(_ int, cfg *Config) { cfg.Programs, cfg.Wait = []*program.Source{near}, time.Millisecond }
	for i := range 3 {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	f.launch(3)
	f.quieten(3)
	f.agree(func(list []Enrolled) []Enrolled {
		return append(list, Enrolled{Name: "odd", Source: odd, Joined: true})
	}, 0, 1, 2, 3)
	f.quieten(0, 1, 2, 3)
	once(t, web)
	dirs := f.ended(0, 1, 2, 3)
	lent := int64(0)
	for _, s := range f.nodes {
		lent += s.report.Lent
	}
	if lent == 0 {
		t.Error("no page was lent")
	}
	f.same(want, dirs)
}

// TestNodesFetchOldPagesAgain: a program comes to share a crawl that wants pages of the
// last while only. Those of its pages that were fetched before are asked for once more,
// with manners, and no others; its tables are what they are on one node.
func TestNodesFetchOldPagesAgain(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"host", "url"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			fetchOldAgain(t, scheme)
		})
	}
}

func fetchOldAgain(t *testing.T, scheme string) {
	sites := testweb.Config{Seed: 5, Sites: testweb.Even(20, testweb.Site{Pages: 12, Links: 5, Size: 1000})}
	near := &program.Source{As: "near", Name: "near.dl", Text: strings.ReplaceAll(nearProgram, "D < 2", "D < 1")}
	low := &program.Source{As: "low", Name: "low.dl", Text: strings.ReplaceAll(oddProgram, "13579", "0-4")}
	odd := &program.Source{As: "odd", Name: "odd.dl", Text: oddProgram}
	want := alone(t, sites, near, low, odd)
	var mu sync.Mutex
	asked := map[string]int{}
	sites.Heard = func(host, path string) {
		mu.Lock()
		defer mu.Unlock()
		if path != "/robots.txt" {
			asked[host+path]++
		}
	}
	web := start(t, sites)
	f := newFleet(t, web, 4)
	var err error
	if f.scheme, err = overlay.ParseScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f.roll.Programs = []Enrolled{{Name: "near", Source: near}}
	f.tune = func(_ int, cfg *Config) { cfg.Programs, cfg.Wait = []*program.Source{near}, 2*time.Millisecond }
	for i := range 3 {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	old := maps.Clone(asked) // nobody asks for anything now
	since := time.Now().UnixNano()
	f.agree(func(list []Enrolled) []Enrolled {
		return append(list, Enrolled{Name: "low", Source: low, Joined: true})
	}, 0, 1, 2)
	f.quieten(0, 1, 2)
	f.launch(3) // which owns pages that others have, then
	f.quieten(0, 1, 2, 3)
	young := maps.Clone(asked)
	f.agree(func(list []Enrolled) []Enrolled {
		return append(list, Enrolled{Name: "odd", Source: odd, Joined: true, Since: since})
	}, 0, 1, 2, 3)
	f.quieten(0, 1, 2, 3)
	dirs := f.ended(0, 1, 2, 3)
	f.same(want, dirs)
	twice, shared, lent := 0, 0, int64(0)
	for u := range want["odd"] {
		switch {
		case old[u] > 0:
			twice++
		case young[u] > 0:
			shared++
		}
	}
	for u, n := range asked {
		if again := old[u] > 0 && want["odd"][u]; n != 1 && !again || n != 2 && again {
			t.Errorf("%s was asked for %d times; it was fetched before: %v", u, n, old[u] > 0)
		}
	}
	for _, s := range f.nodes {
		lent += s.report.Lent
	}
	if twice < 20 || shared < 20 || lent == 0 {
		t.Errorf("%d pages were old, %d young, and %d were lent", twice, shared, lent)
	}
	for _, p := range web.Audit().Problems(testweb.Manners{Wait: 2 * time.Millisecond, Duplicates: twice}) {
		t.Error(p)
	}
}

// TestOldPagesKeepTheirPlace: where sites have a bound, a program that wants young pages
// has those fetched again which were within it, and nobody fetches others in their place.
func TestOldPagesKeepTheirPlace(t *testing.T) {
	t.Parallel()
	const bound = 10
	sites := testweb.Config{Seed: 6, Sites: testweb.Even(6, testweb.Site{Pages: 15, Links: 5, Size: 1000})}
	odd := &program.Source{As: "odd", Name: "odd.dl", Text: oddProgram}
	young := &program.Source{As: "young", Name: "young.dl", Text: strings.ReplaceAll(oddProgram, "13579", "0-9")}
	var mu sync.Mutex
	asked := map[string]map[string]int{}
	sites.Heard = func(host, path string) {
		mu.Lock()
		defer mu.Unlock()
		if asked[host] == nil {
			asked[host] = map[string]int{}
		}
		if path != "/robots.txt" {
			asked[host][path]++
		}
	}
	web := start(t, sites)
	f := newFleet(t, web, 3)
	f.roll.Programs = []Enrolled{{Name: "odd", Source: odd}}
	f.tune = func(_ int, cfg *Config) {
		cfg.Programs, cfg.Wait, cfg.SitePages = []*program.Source{odd}, time.Millisecond, bound
	}
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	old := map[string]int{} // nobody asks for anything now
	for host, pages := range asked {
		for path := range pages {
			old[host+path] = 1
		}
		if n := len(pages); n < 3 || n >= bound {
			t.Errorf("%d pages of %s were asked for at first", n, host)
		}
	}
	since := time.Now().UnixNano()
	f.agree(func(list []Enrolled) []Enrolled {
		return append(list, Enrolled{Name: "young", Source: young, Joined: true, Since: since})
	}, 0, 1, 2)
	f.quieten(0, 1, 2)
	f.ended(0, 1, 2)
	for host, pages := range asked {
		for path, n := range pages {
			if n != 1+old[host+path] {
				t.Errorf("%s%s was asked for %d times, %d of them before", host, path, n, old[host+path])
			}
		}
		if len(pages) != bound {
			t.Errorf("%d pages of %s were asked for, %d are to be", len(pages), host, bound)
		}
	}
}

// TestNodesTakeUpProgramsWhileOneDies: programs come and go while a node is killed, and
// is back when they have changed again. The others and it end with what one node has.
func TestNodesTakeUpProgramsWhileOneDies(t *testing.T) {
	t.Parallel()
	sites := testweb.Config{Seed: 8, Sites: testweb.Even(9, testweb.Site{Pages: 25, Links: 5, Size: 1000, Latency: time.Millisecond})}
	near, odd := &program.Source{As: "near", Name: "near.dl", Text: nearProgram}, &program.Source{As: "odd", Name: "odd.dl", Text: oddProgram}
	even := &program.Source{As: "even", Name: "even.dl", Text: strings.ReplaceAll(oddProgram, "13579", "02468")}
	want := alone(t, sites, odd, even)
	web := start(t, sites)
	f, begun := slowFleet(t, web, near)
	<-begun
	f.agree(func(list []Enrolled) []Enrolled {
		return append(list, Enrolled{Name: "odd", Source: odd, Joined: true})
	}, 0, 1, 2)
	f.nodes[2].kill()
	f.agree(func(list []Enrolled) []Enrolled {
		list[0].Left = true
		return append(list, Enrolled{Name: "even", Source: even, Joined: true})
	}, 0, 1)
	f.launch(2)
	f.quieten(0, 1, 2)
	f.same(want, f.ended(0, 1, 2))
}

// same compares what programs ask for in the folders of nodes with what they should.
func (f *fleet) same(want map[string]map[string]bool, dirs []string) {
	f.t.Helper()
	for name, rows := range want {
		got := claimed(f.t, name, dirs...)
		if !maps.Equal(got, rows) || len(rows) < 20 {
			f.t.Errorf("%s: the nodes have %d pages, one alone %d; missing %v", name, len(got), len(rows), missing(slices.Sorted(maps.Keys(rows)), slices.Sorted(maps.Keys(got))))
		}
	}
}

// TestNodesGoOnForAProgram: a crawl that a rule has stopped goes on for a program that
// comes later.
func TestNodesGoOnForAProgram(t *testing.T) {
	t.Parallel()
	sites := testweb.Config{Seed: 9, Sites: testweb.Even(6, testweb.Site{Pages: 20, Links: 5, Size: 1000})}
	odd := &program.Source{As: "odd", Name: "odd.dl", Text: oddProgram}
	short := &program.Source{As: "short", Name: "short.dl", Text: nearProgram + `
stop("enough") :- fetched(_, 200).`}
	want := alone(t, sites, short, odd)
	delete(want, "short") // which may stop a moment later
	web := start(t, sites)
	f := newFleet(t, web, 3)
	f.roll.Programs = []Enrolled{{Name: "short", Source: short}}
	f.tune = func(_ int, cfg *Config) { cfg.Programs, cfg.Wait = []*program.Source{short}, time.Millisecond }
	f.join(odd)
	once(t, web)
	f.same(want, f.ended(0, 1, 2))
}

// join starts three nodes, and when they are quiet has a program share their crawl.
func (f *fleet) join(src *program.Source) {
	for i := range f.nodes {
		f.launch(i)
	}
	f.quieten(0, 1, 2)
	f.agree(func(list []Enrolled) []Enrolled {
		return append(list, Enrolled{Name: src.As, Source: src, Joined: true})
	}, 0, 1, 2)
	f.quieten(0, 1, 2)
}

// TestNodesReadAgainWithEnough: a crawl that has as many pages as it should gets a program
// beside its own. It has those of these pages that it asks for before the nodes say that
// nothing is left.
func TestNodesReadAgainWithEnough(t *testing.T) {
	t.Parallel()
	sites := testweb.Config{Seed: 5, Sites: testweb.Even(9, testweb.Site{Pages: 25, Links: 5, Size: 1000})}
	near, odd := &program.Source{As: "near", Name: "near.dl", Text: strings.ReplaceAll(nearProgram, "D < 2", "D < 99")}, &program.Source{As: "odd", Name: "odd.dl", Text: oddProgram}
	want := alone(t, sites, near, odd)
	web := start(t, sites)
	f := newFleet(t, web, 3)
	f.roll.Programs = []Enrolled{{Name: "near", Source: near}}
	f.tune = func(_ int, cfg *Config) {
		cfg.Programs, cfg.Wait, cfg.MaxPages = []*program.Source{near}, time.Millisecond, int64(len(want["near"]))
	}
	f.join(odd)
	f.same(want, f.ended(0, 1, 2))
}
