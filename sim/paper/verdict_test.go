package paper

import (
	"math"
	"strings"
	"testing"

	"weir/sim"
	"weir/sim/link"
)

// made is a record of results that are made up.
func made() *record {
	return &record{scale: 1, trials: map[trial]sim.Result{}, webs: map[string]facts{chile: {pages: 1000, bytes: 200e3 * 86400 * 4}}}
}

func verdicts(f *Finding) map[string]Verdict {
	all := map[string]Verdict{}
	for _, t := range f.Targets {
		all[t.What] = t.Verdict
	}
	return all
}

func TestTable61IsHeldAgainstThePaper(t *testing.T) {
	r := made()
	for i, b := range speeds {
		for k, n := range robots {
			up := table[i][k]
			if b < 200e3 && n > 1 {
				up = 0.9 * most61(b, n) // enough at 20 KB/s, too little below
			} else if n == 1 {
				up = alone[i]
			}
			for _, s := range []link.Sharing{link.Even, link.MaxMin} {
				r.trials[cell61(b, n, s)] = sim.Result{Pages: 1e6, Seconds: 1e6 * onePage / up}
			}
		}
	}
	check := func(want map[string]Verdict) {
		t.Helper()
		var f Finding
		judgeSpeedUps(r, &f)
		got := verdicts(&f)
		for what, v := range want {
			if got[what] != v {
				t.Errorf("%s: %q, want %q", what, got[what], v)
			}
		}
	}
	check(map[string]Verdict{
		"column r = 1": Met, "20 MB/s, r = 64, even": Met, "200 KB/s, r = 256, even": Met,
		"20 KB/s, r = 64, max-min": Met, "2 KB/s, r = 64, max-min": NotMet, "200 B/s, r = 256, max-min": NotMet,
	})
	r.trials[cell61(200e3, 256, link.Even)] = sim.Result{Pages: 1e6, Seconds: 1e6 * onePage / (1.21 * 114.1)}
	r.trials[cell61(2e3, 1, link.Even)] = sim.Result{Pages: 1e6, Seconds: 1e6 * onePage / 0.8}
	delete(r.trials, cell61(20e3, 64, link.MaxMin))
	check(map[string]Verdict{"column r = 1": NotMet, "200 KB/s, r = 256, even": NotMet, "20 KB/s, r = 64, max-min": NotRun, "20 MB/s, r = 64, even": Met})
}

// The paper's own numbers leave room for at most this.
func TestPapersTableBreaksConservation(t *testing.T) {
	broken := 0
	for i, b := range speeds {
		for k, n := range robots {
			if n > 1 && table[i][k] > math.Min(b/impliedBytes, float64(n)) {
				broken++
			}
		}
	}
	if broken != 5 {
		t.Errorf("%d cells lie above the bound", broken)
	}
}

func TestDaysAreHeldAgainstThePaper(t *testing.T) {
	r := made()
	const day = 86400
	r.trials[realCrawl] = sim.Result{Seconds: 8.5 * day, Samples: []sim.Sample{{}, {Seconds: 2 * day, Pages: 450, Rank: 0.76}, {Seconds: 4 * day, Pages: 700, Rank: 0.95}, {Seconds: 8.5 * day, Pages: 1000, Rank: 1}}}
	var f Finding
	byDay().judge(r, &f)
	got := verdicts(&f)
	for what, v := range map[string]Verdict{
		"pages after day 2": Met, "PageRank after day 2": Met, "pages after day 4": NotMet, "PageRank after day 4": Met, "end of the crawl": Met,
	} {
		if got[what] != v {
			t.Errorf("%s: %q, want %q", what, got[what], v)
		}
	}
	if last := f.Targets[len(f.Targets)-1]; !strings.Contains(last.Got, "T* is 4.0") {
		t.Errorf("the end says %q", last.Got)
	}
}

func TestKeptConnectionsMustCutTheTime(t *testing.T) {
	for many, want := range map[float64]Verdict{100: Met, 120: NotMet} {
		r := made()
		r.trials[batchTrial(200e3, 1)] = sim.Result{Seconds: 190}
		r.trials[batchTrial(200e3, 100)] = sim.Result{Seconds: many}
		var f Finding
		keptConnections().judge(r, &f)
		if f.Targets[0].Verdict != want {
			t.Errorf("190 s to %v s: %s", many, f.Targets[0].Verdict)
		}
	}
}

func TestContestIsDecidedByBothTimes(t *testing.T) {
	r := made()
	r.trials[length1.trial(64)] = sim.Result{Seconds: 100, RankTime: 10}
	r.trials[siteopicAuto.trial(64)] = sim.Result{Seconds: 59, RankTime: 9.5}
	r.trials[length1.trial(1000)] = sim.Result{Seconds: 100, RankTime: 10}
	var f Finding
	judgeBeyond(r, &f)
	got := verdicts(&f)
	for what, v := range map[string]Verdict{
		"siteopic, c = auto, r = 64: end": Met, "siteopic, c = auto, r = 64: mean time by rank": NotMet, "siteopic, c = auto, r = 1000: end": NotRun,
	} {
		if got[what] != v {
			t.Errorf("%s: %q, want %q", what, got[what], v)
		}
	}
	if s := Summary([]Finding{f}); s != "1 of 2 targets met, 4 without a result" {
		t.Error(s)
	}
}

func TestOptimalIsOvertakenWhereAnotherHasMore(t *testing.T) {
	best := []sim.Sample{{}, {Pages: 500, Rank: 0.9}, {Pages: 900, Rank: 0.95}, {Pages: 1000, Rank: 1}}
	other := []sim.Sample{{}, {Pages: 500, Rank: 0.8}, {Pages: 900, Rank: 0.98}, {Pages: 1000, Rank: 1}}
	at := overtaken(best, other, 1000)
	if !(at > 0.7 && at < 0.85) {
		t.Errorf("overtaken at %v", at)
	}
	if at := overtaken(other[:2], best, 1000); at != 0.5 {
		t.Errorf("behind from the start: %v", at)
	}
	if at := overtaken(best, best, 1000); !math.IsNaN(at) {
		t.Errorf("overtaken by itself at %v", at)
	}
}

// What a comment says of a run comes from that run.
func TestCommentsFollowTheRun(t *testing.T) {
	for share, want := range map[float64]string{0.13: "As in the paper", 0.5: "50.0%", 0.9: "Not as in the paper", 1: "within a day"} {
		if got := fallen(share); !strings.Contains(got, want) {
			t.Errorf("the last day has %v of the first: %s", share, got)
		}
	}
	r := made()
	r.webs[batch] = facts{pages: 1000, bytes: 200e3 * 100}
	r.trials[batchTrial(200e3, 1)], r.trials[batchTrial(200e3, 100)] = sim.Result{Seconds: 250}, sim.Result{Seconds: 125}
	if got := nearFloor(r); !strings.Contains(got, "2.50 times T* with c = 1 and 1.25 with c = 100 at 200 KB/s") {
		t.Error(got)
	}
	if got := nearFloor(made()); !strings.Contains(got, "Too few") {
		t.Error(got)
	}
}
