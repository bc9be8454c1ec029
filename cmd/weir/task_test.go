package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"weir/frontier"
	"weir/internal/node"
	"weir/internal/program"
	"weir/overlay"
	"weir/page"
)

// TestTask: a node makes of what was submitted the settings that were given.
func TestTask(t *testing.T) {
	s := defaults()
	s.Scope, s.Depth, s.Exclude, s.DNS = "domain", 3, []string{`\?sort=`}, "127.0.0.1:53"
	u, err := page.Parse("https://example.org/a")
	if err != nil {
		t.Fatal(err)
	}
	src := &program.Source{Name: "p.dl", As: "p", Text: "crawl(U, 0) :- seed(U).\n", Inputs: []program.File{{Table: "x", Name: "x.tsv", Text: "1\n"}}}
	made, err := newTask(s, []node.Seed{{URL: u, Score: 2}}, []*program.Source{src}, overlay.Scheme{}, 1e6)
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readTask(written)
	if err != nil {
		t.Fatal(err)
	}
	was, seeds, list, err := got.open()
	if err != nil {
		t.Fatal(err)
	}
	if !same(was, s) {
		t.Errorf("the settings are %v, they were %v", kept(was), kept(s))
	}
	if len(seeds) != 1 || seeds[0].URL != u || seeds[0].Score != 2 {
		t.Errorf("the seeds are %v", seeds)
	}
	if len(list) != 1 || !list[0].Same(src) {
		t.Errorf("the program is %v", list)
	}
	if got.Limit != 1e6 || got.Scheme != "host" {
		t.Errorf("limit %d, scheme %s", got.Limit, got.Scheme)
	}
}

// TestTaskOfAnotherVersion: a node that is older than the one who submits says so.
func TestTaskOfAnotherVersion(t *testing.T) {
	_, err := readTask([]byte(`{"version": 99, "by": "9.9"}`))
	if err == nil || !strings.Contains(err.Error(), "weir 9.9") {
		t.Errorf("%v", err)
	}
}

// TestTaskThatOlderNodesRefuse: adaptive:rtt is nothing that they know.
func TestTaskThatOlderNodesRefuse(t *testing.T) {
	for scheme, want := range map[string]int{"adaptive": taskVersion, "redirect:rtt": taskVersion, "adaptive:rtt": nearTask} {
		s, err := overlay.ParseScheme(scheme)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := newTask(defaults(), nil, nil, s, 0); err != nil || got.Version != want || got.near() != (want == nearTask) {
			t.Errorf("%s is of version %d, %v", scheme, got.Version, err)
		}
	}
}

// TestTaskThatEnds: --max-time counts from when a node has taken the task, wherever and
// whenever that is read; older nodes refuse it, also when its programs have changed.
func TestTaskThatEnds(t *testing.T) {
	s := defaults()
	s.MaxTime = span(time.Hour)
	made, err := newTask(s, nil, nil, overlay.Scheme{}, 0)
	if err != nil || made.Version != boundTask || !made.Ends.IsZero() {
		t.Fatalf("%+v, %v", made, err)
	}
	now := time.Date(2026, 11, 16, 20, 0, 0, 5, time.Local)
	if err := made.begin(now); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	read, err := readTask(written)
	if err != nil || !read.Ends.Equal(now.Add(time.Hour)) || read.Version != boundTask {
		t.Errorf("%+v, %v", read, err)
	}
	s.MaxTime = span(math.MaxInt64)
	if made, err = newTask(s, nil, nil, overlay.Scheme{}, 0); err != nil || made.begin(now) != nil || made.Ends.UnixNano() < now.UnixNano() {
		t.Errorf("one that never ends does so at %v, %v", made.Ends, err)
	}
	s.MaxTime = -1
	s.MaxBytes = 5000
	if made, err = newTask(s, nil, nil, overlay.Scheme{}, 0); err != nil || made.begin(now) != nil || !made.Ends.IsZero() || made.Version != boundTask {
		t.Errorf("with --max-bytes: %+v, %v", made, err)
	}
	s.MaxBytes = defaults().MaxBytes
	if made, err = newTask(s, nil, nil, overlay.Scheme{}, 0); err != nil || made.begin(now) != nil || !made.Ends.IsZero() || made.Version != taskVersion {
		t.Errorf("without --max-time: %+v, %v", made, err)
	}
}

// TestTaskWithoutNumber: a crawl that an older weir has written goes on as it began.
func TestTaskWithoutNumber(t *testing.T) {
	for scheme, want := range map[string]string{
		"adaptive": "adaptive:over=500", "adaptive:n=64": "adaptive:over=500,n=64", "adaptive:over=7,n=64": "adaptive:over=7,n=64",
		"host": "host", "redirect": "redirect", "": "",
	} {
		got, err := readTask([]byte(`{"version": 1, "scheme": "` + scheme + `"}`))
		if err != nil || got.Scheme != want {
			t.Errorf("%s is read as %+v, %v", scheme, got, err)
		}
	}
}

// TestShareable: what no node of a cluster can do alone is refused before anything
// is submitted.
func TestShareable(t *testing.T) {
	for scheme, refused := range map[string]bool{"host": false, "url": false, "host-8": false, "redirect": false, "redirect:url,over=20": false, "adaptive": false, "redirect:rtt": false, "redirect:url,rtt": true} {
		x, err := overlay.ParseScheme(scheme)
		if err != nil {
			t.Fatal(err)
		}
		if err := defaults().shareable(nil, x); (err != nil) != refused {
			t.Errorf("the scheme %s: %v, refused should be %t", scheme, err, refused)
		}
	}
	for _, order := range frontier.Orders() {
		s := defaults()
		s.Order = order
		o, err := frontier.Order(order)
		if err != nil {
			t.Fatal(err)
		}
		if refused := s.shareable(nil, overlay.Scheme{}) != nil; refused != (o.Traits().Ranked || o.Traits().Batched) {
			t.Errorf("the order %s: refused is %v", order, refused)
		}
	}
	two := []*program.Source{{Name: "p.dl"}, {Name: "q.dl"}}
	if defaults().shareable(two, overlay.Scheme{}) == nil {
		t.Error("two programs are not refused")
	}
}

// TestLocalFlags: every flag that a cluster cannot have is one of weir crawl.
func TestLocalFlags(t *testing.T) {
	all := fields(defaults())
	for name := range local {
		if _, ok := find(all, name); !ok {
			t.Errorf("there is no --%s", name)
		}
	}
}
