package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/internal/node"
)

func TestDue(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 5, time.UTC)
	for text, want := range map[string]string{
		"06:00":            "2026-11-16T06:00:00Z",
		"2026-11-17T06:00": "2026-11-17T06:00:00Z",
		"2h30m":            "2026-11-15T14:30:01Z", // it is a little past noon
		"3652d":            "2036-11-14T12:00:01Z",
	} {
		if at, err := due(text, now); err != nil || at.Format(dueForm) != want {
			t.Errorf("%s is %v, %v, want %s", text, at, err, want)
		}
	}
	for _, text := range []string{"2300-01-01T00:00", "9999-12-31T00:00", "2037-01-01T00:00", "110000d", "3700d", "1e9s", "0s", "-5m", "-110000d", "soon", ""} {
		if at, err := due(text, now); err == nil {
			t.Errorf("%s is %v", text, at)
		}
	}
}

// What a person means by a deadline depends on what was said before.
func TestAgree(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name         string
		had, as      string // in the folder
		file, flags  string
		want, wantAs string
		fresh        string
		err, note    string
	}{
		{name: "nothing"},
		{name: "a first one", flags: "a.org=1h", want: "a.org=2026-11-15T13:00:00Z", wantAs: "a.org=1h", fresh: "a.org"},
		{name: "flags win over the file", file: "a.org=1h b.org=1h", flags: "www.a.org=2h", want: "b.org=2026-11-15T13:00:00Z www.a.org=2026-11-15T14:00:00Z", wantAs: "b.org=1h www.a.org=2h", fresh: "b.org www.a.org"},
		{name: "two flags", flags: "a.org=1h www.a.org=2h", err: "--deadline: www.a.org has two deadlines, 1h and 2h"},
		{name: "two in a file", file: "a.org=1h a.org=1h", err: "file: a.org has two deadlines, 1h and 1h"},
		{name: "a passed flag", flags: "a.org=2026-11-15T11:00", err: "--deadline: 2026-11-15T11:00:00Z of a.org is in the past"},
		{name: "a passed one in a file", file: "a.org=2026-11-15T11:00", err: "file: 2026-11-15T11:00:00Z of a.org is in the past"},
		{name: "one that has passed and another", had: "a.org=2026-11-15T11:00:00Z", flags: "b.org=1h", want: "a.org=2026-11-15T11:00:00Z b.org=2026-11-15T13:00:00Z", wantAs: "b.org=1h", fresh: "b.org"},
		{name: "a new one for a site", had: "www.a.org=2026-11-15T13:00:00Z", as: "www.a.org=2h", flags: "a.org=3h", want: "a.org=2026-11-15T15:00:00Z", wantAs: "a.org=3h", fresh: "a.org", note: "a.org is due at 15:00 now; it was 13:00"},
		{name: "the same words", had: "a.org=2026-11-15T13:00:00Z", as: "a.org=2h", flags: "a.org=2h", want: "a.org=2026-11-15T13:00:00Z", wantAs: "a.org=2h", fresh: "a.org", note: "a.org is still due at 13:00, as when 2h was said first"},
		{name: "the same words in a file", had: "a.org=2026-11-15T13:00:00Z", as: "a.org=2h", file: "a.org=2h", want: "a.org=2026-11-15T13:00:00Z", wantAs: "a.org=2h", fresh: "a.org", note: "a.org is still due at 13:00"},
		{name: "the same hour of another day", had: "a.org=2026-11-15T06:00:00Z", as: "a.org=06:00", flags: "a.org=06:00", want: "a.org=2026-11-16T06:00:00Z", wantAs: "a.org=06:00", fresh: "a.org", note: "a.org is due at 2026-11-16 06:00 now; it was 06:00"},
		{name: "the same date, which has passed", had: "a.org=2026-11-15T11:00:00Z", as: "a.org=2026-11-15T11:00", flags: "a.org=2026-11-15T11:00", want: "a.org=2026-11-15T11:00:00Z", wantAs: "a.org=2026-11-15T11:00", fresh: "a.org"},
		{name: "taken back", had: "a.org=2026-11-15T13:00:00Z", as: "a.org=2h", flags: "www.a.org=none", want: "www.a.org=none", fresh: "www.a.org"},
		{name: "wanted again", had: "a.org=none", flags: "a.org=1h", want: "a.org=2026-11-15T13:00:00Z", wantAs: "a.org=1h", fresh: "a.org"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &settings{DeadlineAs: strings.Fields(c.as)}
			d := &dues{telling("folder", strings.Fields(c.had)), telling("file", strings.Fields(c.file)), telling("--deadline", strings.Fields(c.flags))}
			fresh, notes, err := s.agree(now, d)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Fatalf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, w := range fresh {
				names = append(names, w.host)
			}
			if !slices.Equal(s.Deadline, strings.Fields(c.want)) || !slices.Equal(s.DeadlineAs, strings.Fields(c.wantAs)) || !slices.Equal(names, strings.Fields(c.fresh)) {
				t.Errorf("%q, as %q, new are %q", s.Deadline, s.DeadlineAs, names)
			}
			if note := strings.Join(notes, "; "); !strings.HasPrefix(note, c.note) || (note == "") != (c.note == "") {
				t.Errorf("the note is %q, want %q", note, c.note)
			}
		})
	}
}

// Sizes that are told of a site, with www or without, belong to its deadline.
func TestDemandSizes(t *testing.T) {
	s := defaults()
	s.Deadline = []string{"www.a.org=1h", "b.org=1h"}
	s.Sites = []site{{Site: "a.org", Wait: -1, Size: 1000, Pages: 10}, {Site: "www.a.org", Wait: -1, Size: 500}, {Site: "c.org", Wait: -1, Size: 1}}
	var cfg node.Config
	if err := setupDeadlines(s, &cfg); err != nil {
		t.Fatal(err)
	}
	if w := cfg.Warnings; len(w) == 0 || !strings.Contains(w[0], "size and pages of c.org are for its deadline, and it has none") {
		t.Errorf("warnings: %q", w)
	}
	if d := cfg.Demands; len(d) != 2 || d[0].Size != 1500 || d[0].Pages != 10 || d[1].Size != 0 {
		t.Errorf("%+v", d)
	}
}

// In eighty columns a promise shows what it is worth, whatever is cut off.
func TestPromiseLine(t *testing.T) {
	now := time.Date(2026, 11, 15, 22, 0, 0, 0, time.UTC)
	done, slack := now.Add(432*time.Minute), 48*60.0
	p := node.Promise{Site: "news.example.org", Deadline: now.Add(8 * time.Hour), Standing: crawl.Held, ETA: &done, Slack: &slack, Risk: crawl.LowRisk, Pages: 63, Left: 38}
	if got, want := promiseLine(p, now), "promised, risk low, done about 05:12 (48m00s early), 63 of 101 pages, due 06:00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	late := -600.0
	p.Standing, p.Slack, p.Why = crawl.Broken, &late, "the site has become slower"
	if got, want := promiseLine(p, now), "LATE, done about 05:12, due 06:00: the site has become slower, 63 of 101 pages"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
