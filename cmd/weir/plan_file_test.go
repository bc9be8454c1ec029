package main

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/plan"
)

// planNow is a Sunday.
var planNow = time.Date(2026, 11, 15, 22, 0, 0, 0, time.UTC)

const goodYAML = `# nightly
link: 2MB/s
max_sites: 2
startup: 3s
min_rate: 1KB/s
objective: tardiness
sites:
  - site: a.example.org
    size: 2.6GB
    deadline: 06:00
  - {site: "https://b.example.org/", size: 1000, cap: 140KB/s, weight: 2, not_before: 30m, deadline: 1d12h}
  - site: c.example.org
    pages: 100
    page_size: 20KB
    per_conn: 10
    wait: 2s
    delay: 1.5
    page_time: 200ms
    deadline: Mon 08:30
`

const goodJSON = `{
 "link": 2000000, "max_sites": 2, "startup": 3, "min_rate": 1e3, "objective": "tardiness",
 "sites": [
  {"site": "a.example.org", "size": 2600000000, "deadline": "2026-11-16T06:00"},
  {"site": "https://b.example.org/", "size": "1000", "cap": 140000, "weight": 2, "not_before": 1800, "deadline": 129600},
  {"site": "c.example.org", "pages": 100, "page_size": 20000, "per_conn": 10, "wait": "2s", "delay": 1.5, "page_time": 0.2, "deadline": "2026-11-16 08:30:00"}
 ]
}`

func TestReadPlan(t *testing.T) {
	want := plan.Problem{
		MaxSites: 2, Startup: 3, MinRate: 1000, Objective: plan.Tardiness,
		Sites: []plan.Site{
			{Name: "a.example.org", Size: 2.6e9, Deadline: 8 * 3600},
			{Name: "https://b.example.org/", Size: 1000, Cap: 140e3, Weight: 2, NotBefore: 1800, Deadline: 36 * 3600},
			{Name: "c.example.org", Size: 2e6, Deadline: 10.5 * 3600, Manners: plan.Manners{Pages: 100, PerConn: 10, Wait: 2, Delay: 1.5, PageTime: 0.2}},
		},
	}
	for name, text := range map[string]string{"YAML": goodYAML, "JSON": goodJSON, "JSON with a mark": "\ufeff" + goodJSON} {
		f, slips := readPlan([]byte(text), planNow)
		if len(slips) > 0 {
			t.Errorf("%s: %v", name, slips)
			continue
		}
		if !reflect.DeepEqual(f.Problem, want) {
			t.Errorf("%s:\n%+v, want\n%+v", name, f.Problem, want)
		}
		if f.link.rate != 2e6 || !f.clock || !f.entries[2].guessed || f.entries[1].host != "b.example.org" {
			t.Errorf("%s: link %v, clock %v, entries %+v", name, f.link, f.clock, f.entries)
		}
	}
}

// An empty plan is one without sites.
func TestReadEmptyPlan(t *testing.T) {
	for _, text := range []string{"", " \n", "# nothing\n", "{}", "null", "sites: []", "sites:\n", `{"sites": []}`, "link: 1MB/s\n", "---\n"} {
		if f, slips := readPlan([]byte(text), planNow); len(slips) > 0 || len(f.Sites) > 0 {
			t.Errorf("%q: %v", text, slips)
		}
	}
}

// What is wrong with a plan, line by line, and what to do about it.
func TestReadBadPlan(t *testing.T) {
	site := func(text string) string { return "link: 1MB/s\nsites:\n- site: a.org\n  size: 1GB\n" + text }
	for _, c := range []struct {
		text, want, hint string
	}{
		{"link: 0\n", "1: link: over a link of 0 nothing comes", "write the rate"},
		{"link: 0KB/s\n", "1: link: over a link of 0", ""},
		{"link: off\n", "1: link: over a link of 0", ""},
		{"link: none\n", "1: link: a plan is about a link", ""},
		{"link: 2GB\n", `1: link: "2GB" is a size, not a rate: write it per second, as 2GB/s`, ""},
		{"link: 90m\n", `1: link: "90m" is a time, not a rate`, ""},
		{"link: -5\n", "1: link: -5 is less than nothing", ""},
		{"link: .nan\n", "1: link: .nan is no rate", ""},
		{"link: .inf\n", "1: link: .inf is no rate", ""},
		{"link: 1e999\n", "1: link: ", ""},
		{"link: fast\n", `1: link: "fast" is no rate`, ""},
		{"link: [1, 2]\n", "1: link is a plain value, and this is a list", ""},
		{"link: Mon 500KB/s\n", `1: link: "Mon 500KB/s" is no rate`, ""},
		{"link: Mon 500KB/s, Tue 5MB/s\n", "1: link: the timetable has no rate for all other times", ""},
		{"link: Mon 500KB/s, none\n", "1: link: a plan needs a rate for all times", ""},
		{"link: 08:00-18:00 off, off\n", "1: link: over a link that is always off", ""},
		{"limit: 1MB/s\n", `1: a plan has no "limit"`, "did you mean link?"},
		{"max-sites: 2\n", `1: a plan has no "max-sites"`, "did you mean max_sites?"},
		{"lnk: 1MB/s\n", `1: a plan has no "lnk"`, "did you mean link?"},
		{"colour: red\n", `1: a plan has no "colour"`, "there are link, max_sites"},
		{"max_sites: 1.5\n", "1: max_sites: 1.5 is no whole number from 0 up", ""},
		{"max_sites: -1\n", "1: max_sites: -1 is no whole number", ""},
		{"max_sites: many\n", `1: max_sites: "many" is no number`, ""},
		{"max_sites: 1e30\n", "1: max_sites: 1e30 is too many", ""},
		{"startup: -3s\n", "1: startup: -3s is less than nothing", ""},
		{"startup: 06:00\n", `1: startup: "06:00" is a time of day`, ""},
		{"startup: 5KB\n", `1: startup: "5KB" is a size, not a time`, ""},
		{"min_rate: 3h\n", `1: min_rate: "3h" is a time, not a rate`, ""},
		{"objective: fastest\n", `1: objective: there is no "fastest"`, "choose sum, max, lateness or tardiness"},
		{"sites: a.org\n", "1: sites is a list, and this is a plain value", ""},
		{"sites:\n- a.org\n", "2: a site is a table of keys, and this is a plain value", ""},
		{"- site: a.org\n", "1: a plan is a table of keys, and this is a list", ""},
		{"hello\n", "1: a plan is a table of keys, and this is a plain value", ""},
		{"sites:\n- size: 1GB\n", "2: an entry without a site", "site: example.org"},
		{"sites:\n- site:\n  size: 1GB\n", "2: site is a plain value, and this is nothing", ""},
		{"sites:\n- site: 'a b'\n  size: 1GB\n", `2: site: "a b" is no site`, "write the name of a host"},
		{"sites:\n- site: http://a.org/page\n  size: 1GB\n", "2: site: \"http://a.org/page\" is a page", ""},
		{"sites:\n- size: 0\n  site: a.org\n", "2: size: a site of 0 bytes has nothing to crawl", "leave the site out"},
		{"sites:\n- site: a.org\n  size: 140KB/s\n", `3: size: "140KB/s" is a rate, not a size`, ""},
		{"sites:\n- site: a.org\n  size: 2h\n", `3: size: "2h" is a time, not a size`, ""},
		{"sites:\n- site: a.org\n  size: 90m\n", `3: size: "90m" may be megabytes or minutes: write 90MB`, ""},
		{"sites:\n- site: a.org\n  size: -1GB\n", "3: size: -1GB is less than nothing", ""},
		{"sites:\n- site: a.org\n  size: NaN\n", "3: size: NaN is no number of bytes", ""},
		{"sites:\n- site: a.org\n  size: -.inf\n", "3: size: -.inf is no number of bytes", ""},
		{"sites:\n- site: a.org\n  size: 1e300\n", "3: size: 1e300 is too large", ""},
		{"sites:\n- site: a.org\n  size: big\n", `3: size: "big" is no size`, ""},
		{"sites:\n- site: a.org\n  size: {mean: 3}\n", "3: size is a plain value, and this is a table of keys", ""},
		{site("  deadline: 2020-01-01T06:00\n"), "5: deadline: 2020-01-01T06:00 is in the past: it is 2026-11-15T22:00 now", "write a time to come"},
		{site("  deadline: -5\n"), "5: deadline: -5 is in the past", ""},
		{site("  deadline: 0s\n"), "5: deadline: 0s is in the past", ""},
		{site("  deadline: 5KB\n"), `5: deadline: "5KB" is a size, not a time: write 5s, 5m, 5h or 5d`, "06:00"},
		{site("  deadline: 5KB/s\n"), `5: deadline: "5KB/s" is a rate, not a time`, ""},
		{site("  deadline: tomorrow\n"), `5: deadline: "tomorrow" is no time`, ""},
		{site("  deadline: 25:00\n"), `5: deadline: "25:00" is no time`, ""},
		{site("  deadline: .nan\n"), "5: deadline: .nan is no time", ""},
		{site("  deadline: 1e12\n"), "5: deadline: 1e12 is too long", ""},
		{site("  not_before: -1\n"), "5: not_before: -1 is in the past", ""},
		{site("  weight: -1\n"), "5: weight: -1 is negative", ""},
		{site("  weight: 0\n"), "5: weight: with a weight of 0", ""},
		{site("  weight: heavy\n"), `5: weight: "heavy" is no number`, ""},
		{site("  weight: 1e20\n"), "5: weight: 1e20 is beyond", ""},
		{site("  cap: 3GB\n"), `5: cap: "3GB" is a size, not a rate`, ""},
		{site("  pages: -3\n"), "5: pages: -3 is no whole number", ""},
		{site("  per_conn: 0\n"), "5: per_conn: 0 is no whole number from 1 up", ""},
		{site("  wait: 5s\n"), "3: manners of a site say little", "add pages: N"},
		{site("  sizes: 5\n"), `5: a site has no "sizes"`, "did you mean size?"},
		{site("  crawl-delay: 5\n"), `5: a site has no "crawl-delay"`, "did you mean delay?"},
		{site("- site: A.org\n  size: 2GB\n"), "5: a.org is there already, in line 3", "name each site once"},
		{site("- site: http://a.org/\n  size: 2GB\n"), "5: a.org is there already, in line 3", ""},
		{"link: &x 1MB/s\n", "1: anchors, tags and references", ""},
		{"a: b: c\n", "1: ", "YAML or JSON"},
		{"link: 1MB/s\n---\nlink: 2MB/s\n", "3: a second document", ""},
		{"link: \xff\n", "1: this is no text in UTF-8", ""},
		{strings.Repeat("[", 1000), "1: ", ""},
		{strings.Repeat("- ", 1000), "1: values stand too deep", ""},
		{"{\n \"link\": 1e6,\n \"link\": 2e6\n}", "3: link is there already, in line 2", ""},
		{"{\n \"link\": 1e6,\n \"sites\": [\n", "3: the file ends before the JSON does", ""},
		{"{\n \"link\": 1e6,,\n}", "2: invalid character", ""},
		{"{\n \"link\": NaN,\n \"sites\": []}", "2: link: NaN is no rate", ""},
		{"{\"link\": 1e6} {}", "1: something follows the end", ""},
		{"{\n\"sites\": [\n{\"site\": \"a.org\",\n\"size\": true}]}", `4: size: "true" is no size`, ""},
		{"{\n\"sites\": [\n{\"site\": \"a.org\",\n\"size\": null, \"weight\": \"-2\"}]}", "4: weight: -2 is negative", ""},
	} {
		_, slips := readPlan([]byte(c.text), planNow)
		if len(slips) == 0 {
			t.Errorf("%q is fine", c.text)
			continue
		}
		if got := fmt.Sprintf("%d: %s", slips[0].line, slips[0].message); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
		if slips[0].hint == "" || !strings.Contains(slips[0].hint, c.hint) {
			t.Errorf("%q: the hint is %q, want %q", c.text, slips[0].hint, c.hint)
		}
	}
}

// All mistakes are told at once, in the order of the lines.
func TestReadBadPlanWhole(t *testing.T) {
	_, slips := readPlan([]byte("sites:\n- {site: a.org, size: 1KB/s, weight: -1}\n- {site: b.org, size: 0}\nlink: 0\n"), planNow)
	var lines []int
	for _, s := range slips {
		lines = append(lines, s.line)
	}
	if want := []int{2, 2, 3, 4}; !reflect.DeepEqual(lines, want) {
		t.Errorf("mistakes in lines %v, want %v: %v", lines, want, slips)
	}
}

func TestClockIn(t *testing.T) {
	at := func(text string) time.Time {
		when, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for text, want := range map[string]time.Time{
		"06:00": at("2026-11-16 06:00:00"), "23:15": at("2026-11-15 23:15:00"), "22:00": at("2026-11-16 22:00:00"), "6:05": at("2026-11-16 06:05:00"),
		"06:00:30": at("2026-11-16 06:00:30"), "24:00": at("2026-11-16 00:00:00"),
		"Mon 06:00": at("2026-11-16 06:00:00"), "sunday 23:00": at("2026-11-15 23:00:00"), "Sun 21:00": at("2026-11-22 21:00:00"), "Sun 24:00": at("2026-11-16 00:00:00"),
		"2026-12-01T06:00": at("2026-12-01 06:00:00"), "2026-12-01 06:00:10": at("2026-12-01 06:00:10"), "2026-12-01T06:00+02:00": at("2026-12-01 04:00:00"),
		"2026-12-01T06:00:00Z": at("2026-12-01 06:00:00"), "2020-01-01T00:00": at("2020-01-01 00:00:00"),
	} {
		if got, ok := clockIn(text, planNow); !ok || !got.Equal(want) {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "6", "25:00", "06:60", "noon", "Mo 06:00", "2026-13-01T06:00", "2026-12-01"} {
		if got, ok := clockIn(text, planNow); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// A timetable becomes a link that changes, until all should be done and a while
// longer.
func TestSteps(t *testing.T) {
	l, err := parseLink("Mon-Fri 08:00-18:00 500KB/s, 2MB/s")
	if err != nil {
		t.Fatal(err)
	}
	f := planFile{now: planNow, Problem: plan.Problem{Sites: []plan.Site{{Size: 1e12, Deadline: 3600}}}}
	steps := f.steps(l)
	for i, want := range []plan.Step{{From: 0, Rate: 2e6}, {From: 10 * 3600, Rate: 500e3}, {From: 20 * 3600, Rate: 2e6}, {From: 34 * 3600, Rate: 500e3}} {
		if steps[i] != want {
			t.Errorf("step %d is %v, want %v", i, steps[i], want)
		}
	}
	carried := 0.0
	for i, s := range steps[:len(steps)-1] {
		carried += s.Rate * (steps[i+1].From - s.From)
	}
	last := steps[len(steps)-1]
	if mean := (50*500e3 + 118*2e6) / 168; math.Abs(last.Rate-mean) > 1 || carried < 1e12 {
		t.Errorf("%d steps carry %g bytes and end with %v, want the mean %v", len(steps), carried, last, mean)
	}
	f.Sites[0].Size = mostAmount
	if n := len(f.steps(l)); n > maxSteps+1 {
		t.Errorf("%d steps", n)
	}
}

// Whatever a plan file holds, it is read or refused with a line of it.
func FuzzReadPlan(f *testing.F) {
	for _, text := range []string{goodYAML, goodJSON, "", "{", "a: [", "link: Mon 1KB/s, 2MB/s", "sites:\n- {site: a.org, size: 1e3, deadline: 24:00}", "? a\n: b", "a: |\n  x\n  y"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, slips := readPlan(b, planNow)
		for _, s := range slips {
			if s.line < 1 || s.line > strings.Count(string(b), "\n")+1 || s.message == "" || s.hint == "" {
				t.Errorf("%q: %+v", b, s)
			}
		}
		if len(slips) > 0 {
			return
		}
		if len(file.Sites) != len(file.entries) {
			t.Fatalf("%d sites and %d entries", len(file.Sites), len(file.entries))
		}
		for i, s := range file.Sites {
			for _, v := range []float64{s.Size, s.Deadline, s.Cap, s.Weight, s.NotBefore, s.Manners.Least()} {
				if !(v >= 0 && v <= 1e30) {
					t.Errorf("%q: %+v", b, s)
				}
			}
			if file.entries[i].host == "" {
				t.Errorf("%q: a site without a host", b)
			}
		}
		if file.link.set() {
			if steps := file.steps(file.link); steps[0].From != 0 || len(steps) > maxSteps+1 {
				t.Errorf("%q: %v", b, steps)
			}
		}
	})
}
