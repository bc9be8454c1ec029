package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/bandwidth"
)

// What numbers of a plan may be. Beyond, sums and quotients would not be numbers
// any more.
const (
	leastAmount = 1e-6
	mostAmount  = 1 << 53 // bytes, or bytes a second
	mostSeconds = 1e10    // 300 years
)

// unitKind is what a text with a unit measures.
type unitKind string

const (
	aNumber unitKind = "a bare number"
	aSize   unitKind = "a size"
	aRate   unitKind = "a rate"
	aTime   unitKind = "a time"
	aClock  unitKind = "a time of day"
	noUnit  unitKind = ""
)

// measures says what a text is, by its form, so that units that are mixed up can
// be told from nonsense.
func measures(text string) unitKind {
	if _, err := bareNumber(text); err == nil {
		return aNumber
	}
	if _, err := bandwidth.ParseRate(text); err == nil && text != none {
		return aRate
	}
	if _, unit, err := number(text); err == nil {
		if _, ok := byteUnits[strings.ToLower(unit)]; ok && strings.HasSuffix(strings.ToLower(unit), "b") {
			return aSize
		}
	}
	if _, err := parseSpan(text); err == nil {
		return aTime
	}
	if _, ok := clockIn(text, time.Time{}); ok {
		return aClock
	}
	return noUnit
}

// bareNumber reads a number without a unit.
func bareNumber(text string) (float64, error) {
	if strings.Trim(text, "+-.0123456789eE") != "" || text == "" {
		return 0, fmt.Errorf("%q is no number", text)
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(n, 0):
		return 0, fmt.Errorf("%s is too large", text)
	case err != nil:
		return 0, fmt.Errorf("%q is no number", text)
	}
	return n, nil
}

// amount checks a number of bytes, or of bytes a second.
func amount(text string, n float64) (float64, error) {
	switch {
	case n < 0:
		return 0, fmt.Errorf("%s is less than nothing", text)
	case n > mostAmount:
		return 0, fmt.Errorf("%s is too large", text)
	case n > 0 && n < leastAmount:
		return 0, fmt.Errorf("%s is too small", text)
	}
	return n, nil
}

// parseAmount reads a size, 0 among them.
func parseAmount(text string) (float64, error) {
	if n, err := bareNumber(text); err == nil {
		return amount(text, n)
	}
	n, unit, err := number(text)
	if factor, ok := byteUnits[strings.ToLower(unit)]; err == nil && ok && unit != "m" {
		return amount(text, n*factor)
	}
	switch what := measures(text); {
	case unit == "m":
		return 0, fmt.Errorf("%q may be megabytes or minutes: write %gMB", text, n)
	case what == aRate:
		return 0, fmt.Errorf("%q is a rate, not a size: write it without a time, as 2.6GB", text)
	case what != noUnit:
		return 0, fmt.Errorf("%q is %s, not a size: write it as 2.6GB", text, what)
	case finiteWord(text):
		return 0, fmt.Errorf("%s is no number of bytes", text)
	}
	return 0, fmt.Errorf("%q is no size: write 500KB, 64MB, 2.6GB or a number of bytes", text)
}

// finiteWord says that a text is one of the words for what is no number.
func finiteWord(text string) bool {
	switch strings.TrimLeft(strings.ToLower(text), "+-.") {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

// parseSpeed reads a rate, 0 among them.
func parseSpeed(text string) (float64, error) {
	if n, err := bareNumber(text); err == nil {
		return amount(text, n)
	}
	if n, unit, err := number(text); err == nil && n == 0 {
		if _, err := bandwidth.ParseRate("1" + unit); err == nil {
			return 0, nil
		}
	}
	r, err := bandwidth.ParseRate(text)
	switch what := measures(text); {
	case err == nil && r != bandwidth.Unlimited:
		return float64(r), nil
	case what == aSize:
		return 0, fmt.Errorf("%q is a size, not a rate: write it per second, as %s/s", text, text)
	case what == aTime || what == aClock:
		return 0, fmt.Errorf("%q is %s, not a rate: write 140KB/s or 8Mbit/s", text, what)
	case finiteWord(text):
		return 0, fmt.Errorf("%s is no rate", text)
	}
	return 0, fmt.Errorf("%q is no rate: write 140KB/s, 8Mbit/s or a number of bytes a second", text)
}

// parseSpan reads a time in seconds: 90, 90m, 2h30m, 1d, 1d12h.
func parseSpan(text string) (float64, error) {
	if n, err := bareNumber(text); err == nil {
		return withinAge(text, n)
	}
	days, rest, cut := strings.Cut(text, "d")
	total := 0.0
	if cut {
		n, err := bareNumber(days)
		if err != nil {
			return 0, notSpan(text)
		}
		total = n * 24 * 60 * 60
		if rest == "" {
			return withinAge(text, total)
		}
	} else {
		rest = text
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, notSpan(text)
	}
	return withinAge(text, total+d.Seconds())
}

// withinAge checks a time in seconds.
func withinAge(text string, n float64) (float64, error) {
	if math.Abs(n) > mostSeconds {
		return 0, fmt.Errorf("%s is too long", text)
	}
	return n, nil
}

func notSpan(text string) error {
	if n, unit, err := number(text); err == nil {
		if _, ok := byteUnits[strings.ToLower(unit)]; ok && unit != "" {
			return fmt.Errorf("%q is a size, not a time: write %gs, %gm, %gh or %gd", text, n, n, n, n)
		}
	}
	if _, err := bandwidth.ParseRate(text); err == nil && text != none {
		return fmt.Errorf("%q is a rate, not a time: write 90m, 2h30m or 06:00", text)
	}
	if finiteWord(text) {
		return fmt.Errorf("%s is no time", text)
	}
	return fmt.Errorf("%q is no time: write seconds, 90m, 2h30m, 1d or 06:00", text)
}

// moments are the forms of a date with a time; those without a zone are local.
var moments = []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04"}

// clockIn reads a time of day after now: 06:00, the next there is; Mon 06:00, on
// the next such day; 2026-11-16T06:00, which may be over; all with seconds, and
// the last with a zone, if there are any.
func clockIn(text string, now time.Time) (at time.Time, ok bool) {
	dated := text
	if len(text) > 10 && text[10] == ' ' {
		dated = text[:10] + "T" + text[11:]
	}
	for _, form := range moments {
		if at, err := time.ParseInLocation(form, dated, now.Location()); err == nil {
			return at, true
		}
	}
	day, hours, named := strings.Cut(text, " ")
	if !named {
		hours = text
	}
	weekday, known := weekdayOf(day)
	if named && !known {
		return time.Time{}, false
	}
	of, err := time.Parse("15:04:05", hours)
	if err != nil {
		of, err = time.Parse("15:04", hours)
	}
	late := 0
	if hours == "24:00" {
		of, err, late = time.Time{}, nil, 1
	}
	if err != nil {
		return time.Time{}, false
	}
	y, m, d := now.Date()
	for ahead := range 9 {
		at := time.Date(y, m, d+ahead+late, of.Hour(), of.Minute(), of.Second(), 0, now.Location())
		if at.After(now) && (!named || at.AddDate(0, 0, -late).Weekday() == weekday) {
			return at, true
		}
	}
	return time.Time{}, false
}

// weekdayOf reads the name of a day: Mon, monday.
func weekdayOf(name string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if full := d.String(); strings.EqualFold(name, full) || strings.EqualFold(name, full[:3]) {
			return d, true
		}
	}
	return 0, false
}
