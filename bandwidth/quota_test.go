package bandwidth

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseQuota(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"1TB/month", "1TB/month"},
		{"0.5 TB / Month", "500GB/month"},
		{"2GiB/day", "2147483648B/day"},
		{"100MB/hour", "100MB/hour"},
		{"50G/week", "50GB/week"},
		{"none", "none"},
		{"0", "!none for no quota"},
		{"-1GB/day", "!none for no quota"},
		{"10", "!write 10GB/month"},
		{"10/month", "!write 10GB/month"},
		{"1TB", "!as 1TB/month"},
		{"1TB/year", "!per hour, day, week or month"},
		{"1TB/month/month", "!per hour, day, week or month"},
		{"8Mbit/day", "!in bytes"},
		{"a lot", "!write a quota as 1TB/month"},
		{"", "!write a quota as 1TB/month"},
		{"99999999TB/day", "!too large"},
	} {
		q, err := ParseQuota(c.text)
		if why, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%q: error %v, want one with %q", c.text, err, why)
			}
			continue
		}
		if err != nil || q.String() != c.want {
			t.Errorf("%q is %q, %v, want %q", c.text, q, err, c.want)
		}
	}
}

func TestQuotaWarning(t *testing.T) {
	for text, doubtful := range map[string]bool{"1TB/month": false, "1GB/month": true, "1MB/hour": true, "10MB/hour": false, "none": false} {
		q, err := ParseQuota(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Warning(); (got != "") != doubtful {
			t.Errorf("%s: warning %q", text, got)
		}
	}
}

func TestQuotaAt(t *testing.T) {
	at := func(text string) time.Time {
		when, err := time.ParseInLocation("2006-01-02T15:04:05", text, time.FixedZone("", -7*3600))
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for _, c := range []struct {
		quota, timetable string
		at               string
		used             int64
		rate             int64
		until            string
	}{
		{"none", "none", "2026-06-01T00:00:00", 0, Unlimited, "2026-06-08T00:00:00"},
		// 999 of 1000 parts over 86,400 seconds; the rest is kept back.
		{"86.4GB/day", "none", "2026-06-01T00:00:00", 0, 999_000, "2026-06-01T00:01:00"},
		{"86.4GB/day", "none", "2026-06-01T12:00:00", 43_113_600_000, 1_000_000, "2026-06-01T12:01:00"},
		// What was not used in the morning is there in the afternoon,
		{"86.4GB/day", "none", "2026-06-01T12:00:00", 0, 1_998_000, "2026-06-01T12:01:00"},
		// but not all of it in the last minute.
		{"86.4GB/day", "none", "2026-06-01T23:59:30", 0, 4 * 999_000, "2026-06-02T00:00:00"},
		// Spent: nothing until the period ends.
		{"86.4GB/day", "none", "2026-06-01T12:00:00", 86_400_000_000, Off, "2026-06-02T00:00:00"},
		{"86.4GB/day", "none", "2026-06-01T12:00:00", 1 << 60, Off, "2026-06-02T00:00:00"},
		{"1TB/month", "none", "2026-12-15T12:00:00", 1e12, Off, "2027-01-01T00:00:00"},
		{"1TB/week", "none", "2026-06-03T12:00:00", 1e12, Off, "2026-06-08T00:00:00"},
		{"1GB/hour", "none", "2026-06-03T23:12:00", 1e9, Off, "2026-06-04T00:00:00"},
		// 1.5 MB are 1,000 seconds of a packet each.
		{"86.4GB/day", "none", "2026-06-01T12:00:00", 86_313_600_000 - 1_500_000, Off, "2026-06-01T23:43:20"},
		// With half of the day closed the other half has twice the rate.
		{"86.4GB/day", "00:00-12:00 off, none", "2026-06-01T00:00:00", 0, 1_998_000, "2026-06-01T00:01:00"},
		// Where half the day allows a tenth, the rest may use what that leaves.
		{"86.4GB/day", "00:00-12:00 100KB/s, none", "2026-06-01T00:00:00", 0, 1_898_000, "2026-06-01T00:01:00"},
		// The timetable alone keeps within the quota.
		{"86.4GB/day", "500KB/s", "2026-06-01T00:00:00", 0, Unlimited, "2026-06-01T00:01:00"},
	} {
		q, err := ParseQuota(c.quota)
		if err != nil {
			t.Fatal(err)
		}
		var tt Timetable
		if err := tt.UnmarshalText([]byte(c.timetable)); err != nil {
			t.Fatal(err)
		}
		rate, until := q.At(at(c.at), c.used, tt)
		if rate != c.rate || !until.Equal(at(c.until)) {
			t.Errorf("%s with %s at %s, %d used: %s until %s, want %s until %s", c.quota, c.timetable, c.at, c.used,
				FormatRate(rate), until.Format("2006-01-02T15:04:05"), FormatRate(c.rate), c.until)
		}
	}
}

// A crawl that always has work uses nearly all of its quota and not a byte more,
// whatever the timetable, and still has some of it shortly before the end.
func TestQuotaLasts(t *testing.T) {
	for _, table := range []string{"none", "08:00-18:00 off, none", "Mon-Fri 1MB/s, 20MB/s", "Sat,Sun none, 500KB/s", "23:00-24:00 none, off"} {
		t.Run(table, func(t *testing.T) {
			tt, err := ParseTimetable(table)
			if err != nil {
				t.Fatal(err)
			}
			q := Quota{5e12, Month}
			now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
			end := q.End(now)
			var u Usage
			late := int64(0)
			for now.Before(end) {
				rate, until := q.At(now, u.Used(q, now), tt)
				allowed, change := tt.At(now)
				if change.Before(until) {
					until = change
				}
				rate = min(rate, allowed)
				if rate == Unlimited {
					t.Fatalf("no limit at %s", now)
				}
				if left := end.Sub(now); left < time.Hour && late == 0 {
					late = rate
				}
				// The wire goes 2% over now and then.
				u = u.Add(q, now, int64(float64(rate)*until.Sub(now).Seconds()*1.02))
				now = until
			}
			used := u.Used(q, end.Add(-time.Second))
			if used > q.Bytes || used < q.Bytes*99/100 {
				t.Errorf("%d of %d bytes used", used, q.Bytes)
			}
			if late < Packet {
				t.Errorf("in the last hour the rate was %s", FormatRate(late))
			}
		})
	}
}

func TestUsage(t *testing.T) {
	q := Quota{1e9, Month}
	may := time.Date(2026, 5, 31, 23, 30, 0, 0, time.FixedZone("", 3600))
	u := Usage{}.Add(q, may, 100)
	if got := u.Used(q, may.Add(29*time.Minute)); got != 100 {
		t.Errorf("%d used in May, want 100", got)
	}
	if got := u.Used(q, may.Add(time.Hour)); got != 0 {
		t.Errorf("%d used in June, want 0", got)
	}
	// Going west brings May back, and June's usage stays.
	u = u.Add(q, may.Add(time.Hour), 7)
	if got := u.Used(q, may.Add(time.Hour).In(time.FixedZone("", -3600))); got != 7 {
		t.Errorf("%d used after going west, want 7", got)
	}
	// Summer time in the middle of a month is still that month.
	if got := u.Used(q, may.Add(9*24*time.Hour).In(time.FixedZone("", 7200))); got != 7 {
		t.Errorf("%d used in summer time, want 7", got)
	}
	// A clock that was years ahead does not stop the counting for years.
	u = Usage{}.Add(q, may.AddDate(30, 0, 0), 9).Add(q, may, 1)
	if got, next := u.Used(q, may), u.Used(q, may.Add(time.Hour)); got != 10 || next != 0 {
		t.Errorf("%d used, then %d, want 10 and 0", got, next)
	}
	if got := u.Used(Quota{1e9, Day}, may); got != 0 {
		t.Errorf("%d used of a quota by day, want 0", got)
	}
}

// A period has one number from its start to its end, and the next one follows.
func TestPeriodBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Period(rapid.IntRange(int(Hour), int(Month)).Draw(t, "period"))
		zone := time.FixedZone("", 60*rapid.IntRange(-12*60, 14*60).Draw(t, "zone"))
		at := time.Unix(rapid.Int64Range(-4e9, 8e9).Draw(t, "at"), 0).In(zone)
		start, end := p.bounds(at)
		n := p.number(at)
		if start.After(at) || !end.After(at) {
			t.Fatalf("%s of %s is from %s to %s", p, at, start, end)
		}
		if p.number(start) != n || p.number(end.Add(-1)) != n || p.number(end) != n+1 || p.number(start.Add(-1)) != n-1 {
			t.Fatalf("%s of %s has numbers %d %d %d %d around %d", p, at, p.number(start.Add(-1)), p.number(start), p.number(end.Add(-1)), p.number(end), n)
		}
	})
}

func FuzzQuota(f *testing.F) {
	for _, s := range []string{"1TB/month", "2GiB/day", "none", "0", "10", "1TB/year", "1e9TB/hour"} {
		f.Add(s, int64(1780000000), int64(5e9))
	}
	f.Fuzz(func(t *testing.T, text string, unix, used int64) {
		q, err := ParseQuota(text)
		if err != nil {
			return
		}
		if again, err := ParseQuota(q.String()); err != nil || again != q {
			t.Fatalf("%q is written %q, read as %q, %v", text, q, again, err)
		}
		at := time.Unix(unix%(1<<33), 0).UTC()
		rate, until := q.At(at, used, Timetable{})
		if rate < Off || !until.After(at) || until.After(at.Add(31*24*time.Hour)) {
			t.Fatalf("%q: %d at %s until %s", q, rate, at, until)
		}
	})
}

func FuzzUsage(f *testing.F) {
	f.Add(Usage{}.Save())
	f.Add(Usage{}.Add(Quota{1e12, Month}, time.Unix(1780000000, 0).UTC(), 123456789).Save())
	f.Add([]byte{})
	f.Add([]byte{2, 1, 0, 0})
	f.Fuzz(func(t *testing.T, row []byte) {
		u, err := LoadUsage(row)
		if err != nil {
			return
		}
		again, err := LoadUsage(u.Save())
		if err != nil || again != u {
			t.Fatalf("%+v came back as %+v, %v", u, again, err)
		}
		at := time.Unix(1780000000, 0).UTC()
		for p := Hour; p <= Month; p++ {
			if used := u.Add(Quota{1e9, p}, at, 1<<62).Used(Quota{1e9, p}, at); used < 0 {
				t.Fatalf("%+v: %d used", u, used)
			}
		}
	})
}
