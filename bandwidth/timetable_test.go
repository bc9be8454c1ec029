package bandwidth

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseRate(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // as written back, or the error after a !
		{"140KB/s", "140KB/s"},
		{"8Mbit/s", "1MB/s"},
		{"8mbit/s", "1MB/s"},
		{"500kbit/s", "62500B/s"},
		{"0.5Gbit/s", "62500KB/s"},
		{"8bit/s", "1B/s"},
		{"2MiB/s", "2097152B/s"},
		{"1 MB/s", "1MB/s"},
		{"0.29KB/s", "290B/s"},
		{"10K/s", "10KB/s"},
		{" none ", "none"},
		{"0", "!write none for no limit"},
		{"0KB/s", "!write none for no limit"},
		{"-1", "!write none for no limit"},
		{"10", "!no unit: write 10KB/s"},
		{"5GB/h", "!per second"},
		{"5GB", "!write it per second, as 5GB/s"},
		{"1 MB/s/s", "!per second"},
		{"8MBbit/s", "!per second"},
		{"10/s", "!per second"},
		{"10 apples", "!per second"},
		{"", "!does not begin with a number: write a rate as 140KB/s"},
		{"/s", "!does not begin with a number"},
		{"--1KB/s", "!does not begin with a number"},
		{"off", "!write none for no limit"},
		{"0.1B/s", "!less than one byte"},
		{"99999999TB/s", "!too large"},
		{strings.Repeat("9", 400) + "KB/s", "!too large"},
	} {
		rate, err := ParseRate(c.text)
		if why, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%q: error %v, want one with %q", c.text, err, why)
			}
			continue
		}
		if err != nil || FormatRate(rate) != c.want {
			t.Errorf("%q is %s, %v, want %s", c.text, FormatRate(rate), err, c.want)
		}
	}
}

func TestRateWarning(t *testing.T) {
	for rate, doubtful := range map[int64]bool{Off: false, 1: true, Packet - 1: true, Packet: false, Unlimited: false} {
		if got := RateWarning(rate); (got != "") != doubtful {
			t.Errorf("%s: warning %q", FormatRate(rate), got)
		}
	}
}

func TestParseTimetable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s", "Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s"},
		{"2MB/s", "2MB/s"},
		{"none", "none"},
		{"monday-FRIDAY 8:00 - 18:00 4Mbit/s,none", "Mon-Fri 08:00-18:00 500KB/s, none"},
		{"Sat, Sun, 5MB/s, 2MB/s", "Sat,Sun 5MB/s, 2MB/s"},
		{"Sat Sun 5 MB/s, 2MB/s", "Sat,Sun 5MB/s, 2MB/s"},
		{"Mon, Wed-Fri, Sun 00:00-24:00 1MB/s, off", "Wed-Fri,Sun,Mon 1MB/s, off"},
		{"Fri-Mon 1MB/s, 2MB/s", "Fri-Mon 1MB/s, 2MB/s"},
		{"Tues,thurs off, 2MB/s", "Tue,Thu off, 2MB/s"},
		{"22:00-06:00 none, 00:00-00:00 1KB/s", "!no time at all"},
		{"22:00-00:00 none, 1MB/s", "22:00-24:00 none, 1MB/s"},
		{"Mon-Sun 00:00-24:00 1MB/s", "1MB/s"},

		{"", "!empty: write it as"},
		{" \t", "!empty"},
		{",", "!nothing between two commas"},
		{"Mon 1MB/s,, 2MB/s", "!nothing between two commas"},
		{"2MB/s,", "!after the last"},
		{"Mon-Fri 500KB/s", `!end it with a bare one, as "Mon-Fri 500KB/s, 2MB/s"`},
		{"2MB/s, Sat 5MB/s", "!no rate for all other times"},
		{"Sat,Sun", "!days without a rate: write Sat, Sun 500KB/s"},
		{"08:00-18:00, 2MB/s", "!hours without a rate"},
		{"Mon 0, 2MB/s", "!write off to pause"},
		{"Mon 0KB/s, 2MB/s", "!write off to pause"},
		{"Mon -1, 2MB/s", "!not more than 0"},
		{"Mon 10, 2MB/s", "!write 10KB/s"},
		{"5GB/h", "!per second"},
		{"weekdays 1MB/s, 2MB/s", "!neither a day nor a rate"},
		{"Mon-Foo 1MB/s, 2MB/s", "!neither a day nor a rate"},
		{"25:00-26:00 1MB/s, 2MB/s", "!write 08:00-18:00"},
		{"08:00-24:01 1MB/s, 2MB/s", "!write 08:00-18:00"},
		{"08:60-18:00 1MB/s, 2MB/s", "!write 08:00-18:00"},
		{"08:00 1MB/s, 2MB/s", "!write 08:00-18:00"},
		{"24:00-06:00 1MB/s, 2MB/s", "!end of the day"},
		{"08:00-12:00 13:00-18:00 1MB/s, 2MB/s", "!entry 1"},
		{strings.Repeat("Mon 1MB/s,", 100) + "1MB/s", "!more than 100 entries"},
		{strings.Repeat(" ", 10000), "!longer than"},
	} {
		tt, err := ParseTimetable(c.text)
		if why, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%.60q: error %v, want one with %q", c.text, err, why)
			}
			continue
		}
		if err != nil || tt.String() != c.want {
			t.Errorf("%q is %q, %v, want %q", c.text, tt, err, c.want)
		}
	}
}

func TestTimetableWarnings(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // what each warning has in it
	}{
		{"Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s", nil},
		{"Mon 08:00-18:00 500KB/s, Mon-Fri 1MB/s, 2MB/s", nil}, // the particular before the general
		{"Mon-Fri 1MB/s, Sat,Sun 2MB/s, 3MB/s", nil},           // the form asks for a default
		{"Mon-Fri 1MB/s, Mon 08:00-18:00 500KB/s, 2MB/s", []string{`entry 2, "Mon 08:00-18:00 500KB/s", never applies`}},
		{"1MB/s, 2MB/s", []string{`entry 2, "2MB/s", never applies`}},
		{"Fri 22:00-06:00 1MB/s, Sat 00:00-06:00 2MB/s, 3MB/s", []string{"entry 2"}},
		{"Mon-Fri 08:00-18:00 1MB/s, Mon 16:00-20:00 2MB/s, 3MB/s", []string{"overlap from Mon 16:00: there entry 1 applies"}},
		{"Mon-Fri 08:00-18:00 1MB/s, Mon 16:00-20:00 1MB/s, 3MB/s", nil},
		{"Mon 1KB/s, 10B/s", []string{"one packet", "one packet"}},
		{"Mon off, none", nil},
	} {
		tt, err := ParseTimetable(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got := tt.Warnings()
		if len(got) != len(c.want) {
			t.Errorf("%q: warnings %q, want %d", c.text, got, len(c.want))
			continue
		}
		for i, w := range got {
			if !strings.Contains(w, c.want[i]) {
				t.Errorf("%q: warning %q, want one with %q", c.text, w, c.want[i])
			}
		}
	}
}

func TestTimetableAt(t *testing.T) {
	const tables = "Mon-Fri 08:00-18:00 500KB/s, Fri,Sun 22:00-06:00 off, Sat,Sun 5MB/s, 2MB/s"
	tt, err := ParseTimetable(tables)
	if err != nil {
		t.Fatal(err)
	}
	nepal := time.FixedZone("", 5*3600+45*60)
	for _, c := range []struct{ at, rate, until string }{ // 2026-06-01 is a Monday
		{"2026-06-01T05:59:59.999999999", "off", "2026-06-01T06:00:00"}, // Sunday's night
		{"2026-06-01T06:00:00", "2MB/s", "2026-06-01T08:00:00"},
		{"2026-06-01T08:00:00", "500KB/s", "2026-06-01T18:00:00"},
		{"2026-06-01T17:59:59", "500KB/s", "2026-06-01T18:00:00"},
		{"2026-06-01T18:00:00", "2MB/s", "2026-06-02T08:00:00"},
		{"2026-06-05T21:00:00", "2MB/s", "2026-06-05T22:00:00"},
		{"2026-06-05T23:00:00", "off", "2026-06-06T06:00:00"},
		{"2026-06-06T06:00:00", "5MB/s", "2026-06-07T22:00:00"},
		{"2026-06-07T22:00:00", "off", "2026-06-08T06:00:00"}, // over the end of the week
	} {
		at, err := time.ParseInLocation("2006-01-02T15:04:05", c.at, nepal)
		if err != nil {
			t.Fatal(err)
		}
		rate, until := tt.At(at)
		if got := until.Format("2006-01-02T15:04:05"); FormatRate(rate) != c.rate || got != c.until {
			t.Errorf("at %s the rate is %s until %s, want %s until %s", c.at, FormatRate(rate), got, c.rate, c.until)
		}
	}
	at := time.Date(2026, 6, 3, 12, 0, 0, 0, nepal)
	for _, text := range []string{"none", "2MB/s"} {
		if err := tt.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, until := tt.At(at); !until.Equal(at.Add(week)) {
			t.Errorf("%s changes at %s", text, until)
		}
	}
}

// brute reads the rate of a minute from the text alone: entry by entry, day by
// day, as a person with the timetable in hand would.
func brute(entries []entry, t time.Time) int64 {
	minute := t.Hour()*60 + t.Minute()
	today := (int(t.Weekday()) + 6) % 7
	yesterday := (today + 6) % 7
	for _, e := range entries {
		begun := e.days&(1<<today) != 0 && minute >= e.from
		late := e.days&(1<<yesterday) != 0 && minute < e.to
		if e.from < e.to && begun && minute < e.to || e.from > e.to && (begun || late) {
			return e.rate
		}
	}
	panic("no default")
}

func drawTimetable(t *rapid.T) Timetable {
	n := rapid.IntRange(0, 5).Draw(t, "entries")
	var text []string
	rate := rapid.SampledFrom([]string{"off", "none", "1KB/s", "2MB/s", "3GB/s"})
	for range n {
		e := entry{days: uint8(rapid.IntRange(1, allDays).Draw(t, "days"))}
		e.from = rapid.IntRange(0, dayMinutes-1).Draw(t, "from")
		e.to = rapid.IntRange(1, dayMinutes).Filter(func(to int) bool { return to != e.from }).Draw(t, "to")
		day := strings.TrimSuffix(e.String(), FormatRate(0))
		text = append(text, day+rate.Draw(t, "rate"))
	}
	tt, err := ParseTimetable(strings.Join(append(text, rate.Draw(t, "default")), ", "))
	if err != nil {
		t.Fatal(err)
	}
	return tt
}

// The rate and the time it lasts are what looking at every minute gives.
func TestTimetableMinuteByMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tt := drawTimetable(t)
		zone := time.FixedZone("", 60*rapid.IntRange(-12*60, 14*60).Draw(t, "zone"))
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(zone)
		rate, until := tt.At(at)
		if want := brute(tt.entries, at); rate != want {
			t.Fatalf("%s: %s at %s, want %s", tt, FormatRate(rate), at, FormatRate(want))
		}
		next := at.Truncate(time.Minute)
		for range weekMinutes {
			next = next.Add(time.Minute)
			if brute(tt.entries, next) != rate {
				if !until.Equal(next) {
					t.Fatalf("%s: from %s on good until %s, want %s", tt, at, until, next)
				}
				return
			}
		}
		if !until.Equal(at.Add(week)) {
			t.Fatalf("%s: never changes, but at %s", tt, until)
		}
	})
}

func FuzzTimetable(f *testing.F) {
	for _, s := range []string{
		"Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s", "Fri-Mon 22:00-06:00 off, none", "Mon - Fri 1 MB/s, 8Mbit/s",
		"10", "-1", "5GB/h", "1 MB/s/s", ",", "Mon,", "24:00-24:00 1B/s", "- Mon - , 1K/s",
	} {
		f.Add(s, int64(1780000000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		tt, err := ParseTimetable(text)
		if err != nil {
			return
		}
		tt.Warnings()
		again, err := ParseTimetable(tt.String())
		if err != nil || again.String() != tt.String() {
			t.Fatalf("%q is written %q, read as %q, %v", text, tt, again, err)
		}
		at := time.Unix(unix%(1<<33), 0).UTC()
		rate, until := tt.At(at)
		if rate != brute(tt.entries, at) || !until.After(at) || until.After(at.Add(week)) {
			t.Fatalf("%q: %s at %s until %s", tt, FormatRate(rate), at, until)
		}
	})
}
