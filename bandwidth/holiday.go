package bandwidth

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits on a file of holidays: 4096 days are eleven years of nothing else.
const (
	maxHolidays    = 4096
	maxHolidayLine = 1024
)

// Holidays are the days on which servers and links behave as on a weekend (w = 0
// in Diligenti et al., section 2). Saturdays and Sundays are holidays without
// being listed. The zero value lists none. Holidays never change once parsed and
// may be shared.
type Holidays struct {
	once   []date // sorted
	yearly []date // sorted, with year 0
}

type date struct{ year, month, day int }

func (d date) compare(e date) int {
	return cmp.Or(cmp.Compare(d.year, e.year), cmp.Compare(d.month, e.month), cmp.Compare(d.day, e.day))
}

// Has reports whether t, in its own zone, falls on a weekend or a listed day.
func (h Holidays) Has(t time.Time) bool {
	if wd := t.Weekday(); wd == time.Saturday || wd == time.Sunday {
		return true
	}
	year, month, day := t.Date()
	_, once := slices.BinarySearchFunc(h.once, date{year, int(month), day}, date.compare)
	_, yearly := slices.BinarySearchFunc(h.yearly, date{0, int(month), day}, date.compare)
	return once || yearly
}

// Len returns how many days are listed, a yearly one counting once.
func (h Holidays) Len() int { return len(h.once) + len(h.yearly) }

// ParseHolidays reads a list of holidays: one date a line, as 2026-12-25 or, for
// every year, as 12-25. What follows a # is a comment; empty lines and dates
// given twice are fine. An error names the line and says what to write instead.
func ParseHolidays(text string) (Holidays, error) {
	var h Holidays
	lines := bufio.NewScanner(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	lines.Buffer(make([]byte, 0, maxHolidayLine), maxHolidayLine)
	n := 0
	for lines.Scan() {
		n++
		s, _, _ := strings.Cut(lines.Text(), "#")
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		d, err := parseDate(s)
		if err != nil {
			return Holidays{}, fmt.Errorf("holidays, line %d: %w", n, err)
		}
		if h.Len() == maxHolidays {
			return Holidays{}, fmt.Errorf("holidays, line %d: more than %d dates; list days of every year once, as 12-25", n, maxHolidays)
		}
		if d.year == 0 {
			h.yearly = append(h.yearly, d)
		} else {
			h.once = append(h.once, d)
		}
	}
	if lines.Err() != nil {
		return Holidays{}, fmt.Errorf("holidays, line %d: longer than %d bytes; write one date a line", n+1, maxHolidayLine)
	}
	h.once = sortDates(h.once)
	h.yearly = sortDates(h.yearly)
	return h, nil
}

func sortDates(d []date) []date {
	slices.SortFunc(d, date.compare)
	return slices.Compact(d)
}

// parseDate reads YYYY-MM-DD or MM-DD.
func parseDate(s string) (date, error) {
	part := strings.Split(s, "-")
	wide := len(part) == 3 && len(part[0]) == 4 && len(part[1]) == 2 && len(part[2]) == 2
	if !wide && !(len(part) == 2 && len(part[0]) == 2 && len(part[1]) == 2) {
		return date{}, fmt.Errorf("%.40q is not a date; write 2026-12-25, or 12-25 for every year", s)
	}
	var num [3]int
	for i, p := range part {
		// Atoi alone would take a sign.
		v, err := strconv.Atoi(p)
		if err != nil || p[0] < '0' || p[0] > '9' {
			return date{}, fmt.Errorf("%.40q is not a date; write 2026-12-25, or 12-25 for every year", s)
		}
		num[3-len(part)+i] = v
	}
	d := date{num[0], num[1], num[2]}
	if wide && d.year == 0 {
		return date{}, fmt.Errorf("%q has the year 0; for every year write %s", s, s[5:])
	}
	if d.month < 1 || d.month > 12 {
		return date{}, fmt.Errorf("%q has no month %d; write the month before the day, as 12-25", s, d.month)
	}
	year := d.year
	if !wide {
		year = 2000 // a leap year: 02-29 comes in some years
	}
	if last := time.Date(year, time.Month(d.month)+1, 0, 0, 0, 0, 0, time.UTC).Day(); d.day < 1 || d.day > last {
		return date{}, fmt.Errorf("%q has no day %d; that month has the days 01 to %d", s, d.day, last)
	}
	return d, nil
}
