package sim

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/sim/web"
)

// single is a web of one page of 90 kB, whose site begins to send after a second
// and sends 20 kB a second.
func single() *web.Web {
	return &web.Web{
		Sites: []web.Site{{Speed: 20_000, Latency: 1, Again: 1}},
		First: []uint32{0, 1}, SiteOf: []uint32{0}, Off: []uint32{0, 0}, Size: []uint32{90_000},
	}
}

// answers plays a crawl during which sites change, and returns what its Engine
// heard of every page.
func answers(t *testing.T, w *web.Web, line Line, cfg Config, changes ...Change) []crawl.Done {
	t.Helper()
	var trace bytes.Buffer
	cfg.Trace = &trace
	world, err := New(w, line, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := world.Change(changes...); err != nil {
		t.Fatal(err)
	}
	if err := world.Run(nil); err != nil {
		t.Fatal(err)
	}
	var all []crawl.Done
	for dec := json.NewDecoder(&trace); dec.More(); {
		var l struct {
			Ev   string
			Data json.RawMessage
		}
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		if l.Ev != "done" {
			continue
		}
		var d crawl.Done
		if err := json.Unmarshal(l.Data, &d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// A site that slows down is seen as slower, and the crawl's own limit is not
// blamed for it; nor is the site blamed for the limit.
func TestSitesChange(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		name          string
		line          float64
		changes       []Change
		elapsed, held time.Duration
	}{
		{"it does not", 0, nil, 5500 * time.Millisecond, 0},
		{"midway to a third", 0, []Change{{2 * s, 0, 1.0 / 3}}, 12_500 * time.Millisecond, 0},
		{"before it begins to send", 0, []Change{{s / 2, 0, 0.5}}, 10 * s, 0},
		{"after it has sent all", 0, []Change{{6 * s, 0, 0.5}}, 5500 * time.Millisecond, 0},
		{"and is well again", 0, []Change{{2 * s, 0, 0.5}, {4 * s, 0, 1}}, 6500 * time.Millisecond, 0},
		{"and is faster than ever", 0, []Change{{2 * s, 0, 7}}, 2500 * time.Millisecond, 0},
		{"on a line as slow as that", 10_000, []Change{{2 * s, 0, 0.5}}, 10 * s, s / 2},
		{"on a line that is slower", 5_000, []Change{{2 * s, 0, 0.5}}, 19 * s, 750*time.Millisecond + 8500*time.Millisecond},
		{"on a line that was the limit before", 10_000, []Change{{4 * s, 0, 0.25}}, 4*s + 12*s, 1500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := answers(t, single(), Line{Rate: c.line}, Config{Conns: 1}, c.changes...)
			if len(all) != 1 {
				t.Fatalf("%d answers", len(all))
			}
			d := all[0]
			near := func(a, b time.Duration) bool { return (a - b).Abs() < time.Microsecond }
			if !near(d.Elapsed, c.elapsed) || !near(d.Waited, c.held) || d.First != s || d.Throttled != (c.held > 0) || d.Bytes != 90_000 {
				t.Errorf("%v, of which %v for our own limit (throttled: %v), after %v to the first byte; want %v, %v and 1 s",
					d.Elapsed, d.Waited, d.Throttled, d.First, c.elapsed, c.held)
			}
		})
	}
}

// Other sites stay as they are.
func TestOneSiteChanges(t *testing.T) {
	w := single()
	w.Sites = append(w.Sites, w.Sites[0])
	w.First, w.SiteOf, w.Off, w.Size = []uint32{0, 1, 2}, []uint32{0, 1}, []uint32{0, 0, 0}, []uint32{90_000, 90_000}
	all := answers(t, w, Line{}, Config{Conns: 2}, Change{2 * time.Second, 0, 1.0 / 3})
	if len(all) != 2 || all[0].Elapsed != 5500*time.Millisecond || all[1].Elapsed.Round(time.Microsecond) != 12_500*time.Millisecond {
		t.Errorf("%+v", all)
	}
}

func TestChangeFaults(t *testing.T) {
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{Site: 1, Factor: 1}, "the web has 1"},
		{Change{At: -time.Second, Factor: 1}, "between 0 and"},
		{Change{At: math.MaxInt64, Factor: 1}, "between 0 and"},
		{Change{Factor: 0}, "0 bytes a second"},
		{Change{Factor: math.NaN()}, "NaN bytes a second"},
		{Change{Factor: 1e12}, "bytes a second"},
	} {
		world, err := New(single(), Line{}, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := world.Change(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one about %q", c.change, err, c.want)
		}
	}
}
