package paper

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"weir/sim"
	"weir/sim/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tiny is a scale at which everything runs in a few seconds.
const tiny = 0.0002

func play(t *testing.T, only string, workers int) []Finding {
	t.Helper()
	all, err := Run(context.Background(), Options{Scale: tiny, Only: regexp.MustCompile(only), Workers: workers, Live: visitOf(1.05), Solve: solveAt(48)})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryExperimentSaysWhatItFound(t *testing.T) {
	all := play(t, "", 0)
	if len(all) != len(Experiments()) {
		t.Errorf("%d findings for %d experiments", len(all), len(Experiments()))
	}
	for _, f := range all {
		if f.Paper == "" || f.Setup == "" || f.Comment == "" || len(f.Plates) == 0 {
			t.Errorf("%s leaves something out: %+v", f.Name, f)
		}
		names := map[string]bool{}
		tables := 0
		for _, p := range f.Plates {
			if p.Table == nil {
				if names[p.Name] {
					t.Errorf("%s has two pictures called %q", f.Name, p.Name)
				}
				names[p.Name] = true
				continue
			}
			tables++
			if len(p.Table.Rows) == 0 {
				t.Errorf("%s has an empty table %q", f.Name, p.Name)
			}
			for _, row := range p.Table.Rows {
				if len(row) != len(p.Table.Columns) {
					t.Errorf("%s: row %q for columns %q", f.Name, row, p.Table.Columns)
				}
			}
		}
		if tables == 0 {
			t.Errorf("%s has no table", f.Name)
		}
	}
	dir := t.TempDir()
	if err := Write(dir, all, tiny); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.html", "table-6.1-table.csv", "figure-6.5-chile.svg", "figure-6.5-chile.png", "figure-6.5-chile.csv", "figure-6.11-chart.svg", "zhu-4-chart.svg", "zhu-4-table.csv", "zhu-10-assignments-table.csv", "zhu-2-chart.csv"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSameScaleGivesTheSameReport(t *testing.T) {
	text := func(workers int) string {
		var b bytes.Buffer
		if err := Report(play(t, "figure-6.(6|9|10)$", workers), tiny).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if a, b := text(1), text(3); a != b {
		t.Errorf("one worker:\n%s\nthree:\n%s", a, b)
	}
}

func TestATrialIsPlayedOnceForAll(t *testing.T) {
	played := map[string]int{}
	last := 0
	_, err := Run(context.Background(), Options{Scale: tiny, Workers: 1, Only: regexp.MustCompile("figure-6.1[013]"), Progress: func(p Progress) {
		if p.Done > last {
			last = p.Done
			played[p.Trial]++
		}
		if p.Trials != 2 || p.Done > p.Trials {
			t.Errorf("%d of %d crawls", p.Done, p.Trials)
		}
	}})
	if err != nil || len(played) != 2 {
		t.Errorf("played %v, %v", played, err)
	}
}

func TestStoppedRunGivesWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all, err := Run(ctx, Options{Scale: tiny, Workers: 1, Only: regexp.MustCompile("figure-6.6"), Progress: func(p Progress) {
		if p.Done == 1 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || len(all[0].Plates[0].Table.Rows) != 1 {
		t.Fatalf("found %+v", all)
	}
	if gaps := strings.Join(all[0].Gaps, "\n"); len(all[0].Gaps) != 8 || !strings.Contains(gaps, "depth-flat, r = 256 on chile") {
		t.Errorf("gaps: %s", gaps)
	}
	cancel()
	all, err = Run(ctx, Options{Scale: tiny, Only: regexp.MustCompile("figure-6.6")})
	if err != nil || len(all) > 1 {
		t.Errorf("stopped at once: %d findings, %v", len(all), err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, opt := range []Options{
		{Only: regexp.MustCompile("table-9")},
		{Scale: -1},
		{Scale: 1e9},
	} {
		if _, err := Run(context.Background(), opt); err == nil {
			t.Errorf("%+v was accepted", opt)
		}
	}
}

func TestABatchIsWhatWaits(t *testing.T) {
	// Two sites: 0 links to 1 and 2, 1 to 3; 4 links to 5.
	w := &web.Web{
		Sites: []web.Site{{Speed: 1}, {Speed: 2}}, First: []uint32{0, 4, 6}, SiteOf: []uint32{0, 0, 0, 0, 1, 1},
		Off: []uint32{0, 2, 3, 3, 3, 4, 4}, Adj: []uint32{1, 2, 3, 5}, Size: []uint32{10, 11, 12, 13, 14, 15},
	}
	if got := waiting(w, []bool{true, false, false, false, true, false}); !reflect.DeepEqual(got, []uint32{1, 2, 5}) {
		t.Errorf("%v wait", got)
	}
	b := cut(w, []uint32{1, 2, 5}, 2)
	if err := b.Check(); err != nil {
		t.Error(err)
	}
	b = cut(w, []uint32{1, 2, 5}, 9)
	if err := b.Check(); err != nil {
		t.Error(err)
	}
	if b.Pages() != 3 || len(b.Sites) != 2 || b.Size[2] != 15 || b.Sites[1].Speed != 2 || len(b.Starts()) != 3 {
		t.Errorf("the batch is %+v", b)
	}
}

func TestCurvesAreReadBetweenSamples(t *testing.T) {
	s := []sim.Sample{{}, {Seconds: 10, Pages: 100, Rank: 0.5, Busy: 4}, {Seconds: 30, Pages: 200, Rank: 1, Busy: 1}}
	if got := along(s, pagesOf, rankOf, 50); got != 0.25 {
		t.Errorf("rank at 50 pages: %v", got)
	}
	if got := along(s, secondsOf, pagesOf, 99); got != 200 {
		t.Errorf("pages in the end: %v", got)
	}
	if got := busy(s, 0, 20); got != 2.5 {
		t.Errorf("busy: %v", got)
	}
	if got := area(s); got != 0.5 {
		t.Errorf("area: %v", got)
	}
}

// A report names the papers that its findings are of, and no others.
func TestReportNamesItsPapers(t *testing.T) {
	finding := func(name string) Finding { return Finding{Name: name} }
	for name, want := range map[string]string{"figure-6.5": "Castillo", "beyond-orders": "Castillo", "zhu-4": "Zhu", "loo-table-1": "Krishnamurthy", "scale-crawl-20s": ""} {
		intro := Report([]Finding{finding(name)}, 0.1).Intro
		for _, paper := range []string{"Castillo", "Zhu", "Krishnamurthy"} {
			if strings.Contains(intro, paper) != (paper == want) {
				t.Errorf("%s: %s", name, intro)
			}
		}
	}
}
