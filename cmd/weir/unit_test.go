package main

import (
	"encoding"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		into encoding.TextUnmarshaler
		text string
		want string // as written back, or the error after a !
	}{
		{new(size), "64MB", "64MB"},
		{new(size), "2.6GB", "2600MB"},
		{new(size), "512KiB", "524288B"},
		{new(size), "10", "10B"},
		{new(size), "1 TB", "1TB"},
		{new(size), "none", "none"},
		{new(size), "0", "!more than 0"},
		{new(size), "-1", "!more than 0"},
		{new(size), "0.1", "!less than one byte"},
		{new(size), "9999999TB", "!too large"},
		{new(size), "10 apples", "!no size"},
		{new(size), "", "!number"},
		{new(size), "140KB/s", "!no size"},

		{new(rate), "140KB/s", "140KB/s"},
		{new(rate), "8Mbit/s", "1MB/s"},
		{new(rate), "8mbit/s", "1MB/s"},
		{new(rate), "0.5Gbit/s", "62500KB/s"},
		{new(rate), "500kbit/s", "62500B/s"},
		{new(rate), "2MiB/s", "2097152B/s"},
		{new(rate), "10", "!write 10KB/s"},
		{new(rate), "8bit/s", "1B/s"},
		{new(rate), "none", "none"},
		{new(rate), "0", "!more than 0"},
		{new(rate), "-1", "!more than 0"},
		{new(rate), "5GB/h", "!per second"},
		{new(rate), "5GB", "!per second"},
		{new(rate), "1 MB/s/s", "!no rate"},
		{new(rate), "/s", "!number"},
		{new(rate), "", "!number"},
		{new(rate), "off", "!only a timetable"},
		{new(rate), "99999999TB/s", "!too large"},
		{new(rate), "0.1B/s", "!less than one byte"},

		{new(timetable), "Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s", "Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s"},
		{new(timetable), "22:00-06:00 none, off", "22:00-06:00 none, off"},
		{new(timetable), "none", "none"},
		{new(timetable), "", "!empty"},
		{new(timetable), "Mon 500KB/s", "!no rate for all other times"},
		{new(timetable), "Mon 08:00-18:00, 2MB/s", "!hours without a rate"},
		{new(timetable), "someday 1MB/s, 2MB/s", "!neither a day nor a rate"},

		{new(quota), "1TB/month", "1TB/month"},
		{new(quota), "500 MB/day", "500MB/day"},
		{new(quota), "none", "none"},
		{new(quota), "0", "!more than 0"},
		{new(quota), "-1GB/day", "!more than 0"},
		{new(quota), "10", "!no unit"},
		{new(quota), "1TB", "!per hour, day, week or month"},
		{new(quota), "1TB/year", "!per hour, day, week or month"},

		{new(span), "500ms", "500ms"},
		{new(span), "10", "10s"},
		{new(span), "1.5", "1.5s"},
		{new(span), "0", "0s"},
		{new(span), "3d", "72h"},
		{new(span), "2h30m", "2h30m"},
		{new(span), "90s", "1m30s"},
		{new(span), "none", "none"},
		{new(span), "-1", "!less than nothing"},
		{new(span), "soon", "!no time"},
		{new(span), "NaN", "!no time"},
		{new(span), "infd", "!no time"},
		{new(span), "9999999999", "!no time"},

		{new(count), "10", "10"},
		{new(count), "none", "none"},
		{new(count), "0", "!lifts the bound"},
		{new(count), "-1", "!lifts the bound"},
		{new(count), "1e6", "!whole number"},

		{new(depth), "0", "0"},
		{new(depth), "none", "none"},
		{new(depth), "-1", "!number of links"},

		{new(whole), "4", "4"},
		{new(whole), "0", "!from 1 up"},
		{new(whole), "-1", "!from 1 up"},
		{new(whole), "none", "!from 1 up"},

		{new(series), "1", "1"},
		{new(series), "100", "100"},
		{new(series), "auto", "auto"},
		{new(series), "auto:100", "auto"},
		{new(series), "auto:7", "auto:7"},
		{new(series), "auto:", "!or write auto or auto:N"},
		{new(series), "auto:0", "!from 1 up"},
		{new(series), "automatic", "!or write auto or auto:N"},
		{new(series), "0", "!from 1 up"},
		{new(series), "99999999999", "!is too large"},

		{new(trap), "default", "repeat=3,segments=30,length=2000,variants=500"},
		{new(trap), "segments=9, repeat=4", "repeat=4,segments=9,length=2000,variants=500"},
		{new(trap), "none", "repeat=0,segments=0,length=0,variants=0"},
		{new(trap), "segments=-1", "!no limit"},
		{new(trap), "segments", "!no limit"},
		{new(trap), "turns=3", "!no limit called"},
	} {
		err := c.into.UnmarshalText([]byte(c.text))
		if why, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%T %q: error %v, want one about %q", c.into, c.text, err, why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%T %q: %v", c.into, c.text, err)
			continue
		}
		if got, _ := c.into.(encoding.TextMarshaler).MarshalText(); string(got) != c.want {
			t.Errorf("%T %q is %s, want %s", c.into, c.text, got, c.want)
		}
	}
}

// What is written into crawl.yaml is read as the same value.
func TestUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<53).Draw(t, "n")
		var s size
		if err := s.UnmarshalText([]byte(size(n).String())); err != nil || int64(s) != n {
			t.Fatalf("size %d came back as %d, %v", n, s, err)
		}
		var r rate
		if err := r.UnmarshalText([]byte(rate(n).String())); err != nil || int64(r) != n {
			t.Fatalf("rate %d came back as %d, %v", n, r, err)
		}
		var d span
		if err := d.UnmarshalText([]byte(span(n).String())); err != nil || int64(d) != n {
			t.Fatalf("time %d came back as %d, %v", n, d, err)
		}
	})
}

func FuzzUnits(f *testing.F) {
	for _, s := range []string{"64MB", "8Mbit/s", "1h30m", "-1", "5GB/h", "none", "1e999d", "repeat=3", "Mon-Fri 08:00-18:00 500KB/s, off", "1TB/month", "auto:7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, into := range []encoding.TextUnmarshaler{new(size), new(rate), new(timetable), new(quota), new(span), new(count), new(depth), new(whole), new(series), new(trap)} {
			if into.UnmarshalText([]byte(text)) != nil {
				continue
			}
			back, err := into.(encoding.TextMarshaler).MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			if err := into.UnmarshalText(back); err != nil {
				t.Fatalf("%T %q is written %q, which cannot be read: %v", into, text, back, err)
			}
		}
	})
}

func TestForPeople(t *testing.T) {
	for n, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 99949: "99.9 KB", 140_000: "140 KB", 999_499: "999 KB", 999_500: "1.0 MB", 2.6e9: "2.6 GB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%v bytes are %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		1500 * time.Millisecond: "1.5s", 42 * time.Second: "42s", 200 * time.Second: "3m20s",
		5*time.Hour + 12*time.Minute: "5h12m", 51 * time.Hour: "2d03h",
	} {
		if got := short(d); got != want {
			t.Errorf("%s is %q, want %q", time.Duration(d), got, want)
		}
	}
}
