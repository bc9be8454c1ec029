package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/survey"
	"weir/plan"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// handmade is a report of a plan that nobody made: three sites, one of them late.
func handmade(t *testing.T) *planReport {
	f, slips := readPlan([]byte(`
link: 2MB/s
sites:
- {site: a.example.org, size: 3.6GB, deadline: 06:00}
- {site: long-name-of-a-site.example.org, size: 720MB, deadline: 30m, weight: 2}
- {site: c.example.org, pages: 18000, page_size: 40KB}
`), planNow)
	if len(slips) > 0 {
		t.Fatal(slips)
	}
	f.Link = f.steps(f.link)
	p := &plan.Plan{Method: "weir", Value: 5400, Bound: 5000, Sum: 9000, Max: 3600, Late: 1, Courses: []plan.Course{
		{Start: 0, Finish: 2520, Rates: []plan.Rate{{From: 0, To: 1800, Rate: 1.6e6}, {From: 1800, To: 2520, Rate: 1e6}}},
		{Start: 0, Finish: 2520, Rates: []plan.Rate{{From: 0, To: 1800, Rate: 0.4e6}}},
		{Start: 2520, Finish: 3600, Rates: []plan.Rate{{From: 2520, To: 3600, Rate: 2e6 / 3}}},
	}}
	return &planReport{
		file:     f,
		attempt:  attempt{method: "weir", plan: p, spent: 1200 * time.Microsecond},
		troubles: []trouble{{1, "long-name-of-a-site.example.org cannot be done within 30 minutes: a link of 2.4 MB/s would do.", 2520, 2.4e6, 3e8, &plan.Slip{Site: 0, To: 3600}}},
		all: []attempt{
			{method: "weir", plan: p, spent: 1200 * time.Microsecond},
			{method: "cpq", plan: &plan.Plan{Method: "cpq", Value: 7200, Bound: 5000, Sum: 7200, Max: 3600}, spent: 12 * time.Millisecond},
			{method: "mip", err: errors.New("no solver is on the PATH"), spent: 0},
		},
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("it reads otherwise than %s (go test -rewrite writes it anew):\n%s", name, got)
	}
}

// What a person sees, on terminals of several widths and in a pipe.
func TestPlanPrint(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	var b bytes.Buffer
	for _, room := range []int{0, 80, 120, 50, 40} {
		before := b.Len()
		if err := handmade(t).print(&b, room); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()[before:]) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); room > 0 && n > room {
				t.Errorf("%d columns in a terminal of %d: %q", n, room, line)
			}
		}
		b.WriteString(strings.Repeat("=", 20) + "\n")
	}
	golden(t, "plan.txt", b.String())
}

// A terminal that knows UTF-8 gets bars.
func TestPlanBlocks(t *testing.T) {
	for env, want := range map[string]bool{"de_DE.UTF-8": true, "C.utf8": true, "C": false, "": false} {
		t.Setenv("LC_ALL", env)
		t.Setenv("LC_CTYPE", "")
		t.Setenv("LANG", "")
		var b bytes.Buffer
		if err := handmade(t).print(&b, 80); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "█"); got != want {
			t.Errorf("LC_ALL=%s: bars %v, want %v", env, got, want)
		}
	}
}

// Programs get numbers or null, under names that stay.
func TestPlanJSON(t *testing.T) {
	r := handmade(t)
	r.plan.Bound, r.plan.Courses[2].Finish, r.plan.Max = math.Inf(-1), math.Inf(1), math.Inf(1)
	r.troubles[0].earliest = math.Inf(1)
	var b bytes.Buffer
	if err := indented(&b, r.json()); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", b.String())
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"feasible", "objective", "value", "lower_bound", "gap", "sum", "max", "late", "seconds", "sites", "problems"} {
		if _, ok := got[key]; !ok {
			t.Errorf("there is no %s", key)
		}
	}
}

// How far from the best a plan is, in words.
func TestPlanQuality(t *testing.T) {
	for _, c := range []struct {
		value, bound float64
		objective    plan.Objective
		want         string
	}{
		{100, 100, plan.Sum, "no plan can do better"},
		{101.3, 100, plan.Sum, "at most 1.3% from the best possible"},
		{100.01, 100, plan.Max, "at most 0.05% from the best possible"},
		{150, 100, plan.Max, "at most 50% from the best possible"},
		{5000, 100, plan.Max, "at most 49 times from the best possible"},
		{100, math.Inf(-1), plan.Sum, "how far from the best possible is not known"},
		{-60, -120, plan.Lateness, "at most 1m00s from the best possible"},
		{-60, -60, plan.Lateness, "no plan can do better"},
		{0, 0, plan.Tardiness, "no plan can do better"},
	} {
		r := &planReport{file: &planFile{}, attempt: attempt{plan: &plan.Plan{Value: c.value, Bound: c.bound, Objective: c.objective}}}
		r.file.Objective = c.objective
		if got := r.quality(); got != c.want {
			t.Errorf("%v of %g with a bound of %g: %q, want %q", c.objective, c.value, c.bound, got, c.want)
		}
	}
}

// Parts of a second are told where they matter, so that a site with time to
// spare is not shown to be done at its deadline, nor a deadline after itself.
func TestPlanSpans(t *testing.T) {
	for seconds, want := range map[float64]string{
		0.5: "0.5s", 10: "10s", 10.5: "10.5s", -10.5: "-10.5s", 59.97: "1m00s", 100.4: "1m40s", 7500: "2h05m", math.Inf(1): "for ever",
	} {
		if got := spanText(seconds); got != want {
			t.Errorf("%g seconds are %s, want %s", seconds, got, want)
		}
	}
}

// A plan that is late has no gap, as others may do better by being later; nor does
// it hear of the bound of those that are not.
func TestPlanLateQuality(t *testing.T) {
	for _, c := range []struct {
		ours, late int
		objective  plan.Objective
		bound      float64
		want       string
	}{
		{0, 1, plan.Sum, math.Inf(-1), "being late as little as possible came first"},
		{1, 1, plan.Sum, 90, "being late as little as possible came first"},
		{0, 0, plan.Sum, 90, "at most 11% from the best possible"},
		{0, 1, plan.Tardiness, 90, "at most 11% from the best possible"},
	} {
		r := &planReport{file: &planFile{}, attempt: attempt{plan: &plan.Plan{Value: 100, Bound: math.Inf(-1), Objective: c.objective, Late: c.late}}}
		r.file.Objective = c.objective
		r.know(&r.attempt, &plan.Plan{Bound: 90, Late: c.ours})
		if got := r.quality(); got != c.want || r.plan.Bound != c.bound {
			t.Errorf("%v, %d late besides %d: %q with a bound of %g, want %q with %g", c.objective, c.late, c.ours, got, r.plan.Bound, c.want, c.bound)
		}
	}
}

// Times are of the clock, with the day as far as that is needed.
func TestPlanWhen(t *testing.T) {
	r := &planReport{file: &planFile{now: planNow, clock: true}, attempt: attempt{plan: &plan.Plan{Max: 1e6}}}
	for seconds, want := range map[float64]string{
		60: "22:01", 3600: "23:00", 7200: "Mon 00:00", 7200 + 5*86400: "Sat 00:00", 10 * 86400: "25 Nov 22:00", 90 * 86400: "2027-02-13 22:00", math.Inf(1): "never",
	} {
		if got := r.when(seconds); got != want {
			t.Errorf("%g seconds from now are %s, want %s", seconds, got, want)
		}
	}
	if got := r.by(61); got != "22:02" {
		t.Errorf("rounded up, 61 seconds from now are %s", got)
	}
	r.plan.Max = 100
	if got := r.when(61); got != "22:01:01" {
		t.Errorf("a short plan says %s", got)
	}
	r.file.clock = false
	if got := r.when(3700); got != "1h01m" {
		t.Errorf("without a clock it is %s", got)
	}
}

// Pages and pictures hold what the terminal shows.
func TestPlanHTML(t *testing.T) {
	var b bytes.Buffer
	if err := handmade(t).html().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "1 of 2 deadlines is not kept", "a link of 2.4 MB/s would do", "long-name-of-a-site.example.org", "Methods", "no solver is on the PATH"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Without a solver a comparison leaves the integer program out and says how to
// come by one; who asks for nothing else gets an error.
func TestPlanWithoutSolver(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	const text = "{link: 1MB/s, sites: [{site: a.org, size: 1GB}]}"
	all := weir(t, text, "plan", "-", "--method", "all")
	if all.code != 0 || !strings.Contains(all.out, "mip     –") || !strings.Contains(all.out, "cbc") {
		t.Errorf("exit %d\n%s%s", all.code, all.out, all.err)
	}
	one := weir(t, text, "plan", "-", "--method", "mip")
	if one.code != exitFailed || !strings.Contains(one.err, "cbc") || !strings.Contains(one.err, "hint: --method weir needs no solver") {
		t.Errorf("exit %d\n%s", one.code, one.err)
	}
}

// Risk is what may go wrong: too little slack, or a size that may be larger.
func TestPlanRisk(t *testing.T) {
	r := handmade(t)
	for _, c := range []struct {
		deadline float64
		est      *survey.Estimate
		want     string
	}{
		{0, nil, ""}, {2520, nil, "high"}, {2600, nil, "high"}, {3000, nil, "some"}, {4000, nil, "low"}, {2000, nil, "late"},
		{4000, &survey.Estimate{Size: 1e6, Low: 1e6, High: 1.1e6}, "low"},
		{4000, &survey.Estimate{Size: 1e6, Low: 1e6, High: 2e6}, "high"},
		{4000, &survey.Estimate{Size: 1e6, More: true}, "some"},
	} {
		r.file.Sites[0].Deadline, r.file.entries[0].estimate = c.deadline, c.est
		if got := r.risk(0); got != c.want {
			t.Errorf("done at 2520, due at %g, size %+v: %q, want %q", c.deadline, c.est, got, c.want)
		}
	}
}
