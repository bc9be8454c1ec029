package bandwidth

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestHolidays(t *testing.T) {
	h, err := ParseHolidays("\ufeff# a list\n\n12-25  # every year\r\n2026-04-06 # Easter Monday\n02-29\n12-25\n")
	if err != nil {
		t.Fatal(err)
	}
	if h.Len() != 3 {
		t.Errorf("%d days, want 3: one was given twice", h.Len())
	}
	for day, want := range map[string]bool{
		"2026-12-25": true,  // a Friday
		"2027-12-25": true,  // a Saturday anyhow
		"2028-12-25": true,  // a Monday
		"2026-12-24": false, // a Thursday
		"2026-04-06": true,
		"2027-04-06": false, // only in 2026
		"2028-02-29": true,
		"2026-03-07": true, // Saturday
		"2026-03-08": true, // Sunday
		"2026-03-09": false,
	} {
		at, _ := time.Parse(time.DateOnly, day)
		if got := h.Has(at); got != want {
			t.Errorf("%s is a holiday: %v, want %v", day, got, want)
		}
		if got := h.Has(at.Add(24*time.Hour - 1)); got != want {
			t.Errorf("the end of %s is a holiday: %v, want %v", day, got, want)
		}
	}
}

// A day is a holiday where the crawler is, not in Greenwich.
func TestHolidaysZone(t *testing.T) {
	east := time.FixedZone("", 12*3600)
	at := time.Date(2026, 3, 7, 1, 0, 0, 0, east) // a Saturday there, a Friday in UTC
	if !(Holidays{}).Has(at) || (Holidays{}).Has(at.UTC()) {
		t.Error("weekends are those of the local time")
	}
}

func TestHolidaysBad(t *testing.T) {
	for text, want := range map[string]string{
		"12-25\n25.12.2026":         `line 2: "25.12.2026" is not a date; write 2026-12-25, or 12-25 for every year`,
		"# x\n\nMon":                `line 3: "Mon" is not a date`,
		"12/25":                     `line 1: "12/25" is not a date`,
		"25-12":                     `line 1: "25-12" has no month 25; write the month before the day, as 12-25`,
		"2026-02-29":                `line 1: "2026-02-29" has no day 29; that month has the days 01 to 28`,
		"04-31":                     `line 1: "04-31" has no day 31; that month has the days 01 to 30`,
		"2026-00-01":                `line 1: "2026-00-01" has no month 0`,
		"2026-01-00":                `line 1: "2026-01-00" has no day 0`,
		"0000-12-25":                `line 1: "0000-12-25" has the year 0; for every year write 12-25`,
		"2026-1-1":                  `line 1: "2026-1-1" is not a date`,
		"+1-+2":                     `line 1: "+1-+2" is not a date`,
		"2026-12-25 2026-12-26":     `line 1: "2026-12-25 2026-12-26" is not a date`,
		strings.Repeat("x", 2000):   `line 1: longer than 1024 bytes; write one date a line`,
		strings.Repeat("x", 900):    `line 1: "` + strings.Repeat("x", 37),
		everyDay(maxHolidays + 1):   `line 4097: more than 4096 dates; list days of every year once, as 12-25`,
		"12-25\x00":                 `line 1: "12-25\x00" is not a date`,
		"\u0661\u0662-\u0662\u0665": `is not a date`,
	} {
		_, err := ParseHolidays(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %s", text, err, want)
		}
	}
}

func everyDay(n int) string {
	var b strings.Builder
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		fmt.Fprintln(&b, day.AddDate(0, 0, i).Format(time.DateOnly))
	}
	return b.String()
}

// Whatever is taken is understood: each date that was read is a holiday.
func FuzzHolidays(f *testing.F) {
	for _, s := range []string{"", "12-25", "2026-12-25 # x\r\n02-29\n", "2026-02-30", "13-01", "-1-01-01", "\xff\n#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHolidays(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "holidays, line ") {
				t.Errorf("error without a line: %v", err)
			}
			return
		}
		for _, d := range append(h.once, h.yearly...) {
			year := d.year
			if year == 0 {
				year = 2000
			}
			at := time.Date(year, time.Month(d.month), d.day, 12, 0, 0, 0, time.UTC)
			if at.Day() != d.day || !h.Has(at) {
				t.Errorf("%q gave %+v, which is not a day or not a holiday", text, d)
			}
		}
	})
}
