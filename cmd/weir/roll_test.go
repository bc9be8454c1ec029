package main

import (
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/store"
)

// TestNoProgramBesideEnough: a crawl that has as many pages as it should, or whose time is
// over, takes no other program, also right after its node has started and when a rule has stopped it besides.
func TestNoProgramBesideEnough(t *testing.T) {
	st, err := store.Create(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	g := st.Begin()
	crawl.WriteEnough(g, crawl.StopPages)
	if err := g.Commit(); err != nil {
		t.Fatal(err)
	}
	s := newStation(nil, nil)
	c := &change{t: &task{Scheme: "host"}, settings: &settings{MaxPages: 9}}
	refused := func(want string) {
		t.Helper()
		if err := s.changeable(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	refused("ask again in a few seconds")
	s.store = st
	refused("--max-pages 9")
	c.settings = &settings{MaxTime: span(time.Hour)}
	g = st.Begin()
	crawl.WriteEnough(g, crawl.StopTime)
	if err := g.Commit(); err != nil {
		t.Fatal(err)
	}
	refused("--max-time 1h")
	c.settings = &settings{MaxBytes: 5000}
	g = st.Begin()
	crawl.WriteEnough(g, crawl.StopBytes)
	if err := g.Commit(); err != nil {
		t.Fatal(err)
	}
	refused("--max-bytes 5KB")
	s.last.Enough, s.last.Rule = crawl.StopBytes, "a rule"
	refused("--max-bytes 5KB")
}

// TestCancelledAfterAStop: a program that is called off after a rule had stopped it keeps
// the reason, also on nodes that have not heard of that.
func TestCancelledAfterAStop(t *testing.T) {
	c := &change{t: &task{Programs: []taskText{{As: "one"}, {As: "two"}}}, whys: []string{"", "it was found"}}
	c.roll = c.t.roll("crawl")
	c.leave(1)
	c.leave(0)
	s := newStation(nil, nil)
	s.agreed, s.halted = c.roll, c.t.Halted
	if list := s.programs(); len(list) != 2 || list[0].Why != "" || list[1].Why != "it was found" || list[1].State != cancelled {
		t.Errorf("%+v", list)
	}
}

// TestOtherSitesThanTheCrawl: settings of single sites stand in a file, and are no flag.
func TestOtherSitesThanTheCrawl(t *testing.T) {
	c := &change{t: &task{Scheme: "host"}, settings: defaults()}
	s := defaults()
	s.Sites = []site{{Site: "example.org", Wait: span(time.Second)}}
	err := c.agrees(s, &task{Scheme: "host"}, &submission{})
	if err == nil || !strings.Contains(err.Error(), "settings of single sites, in the list sites of a config file") || strings.Contains(err.Error(), "--sites") {
		t.Errorf("%v", err)
	}
}
