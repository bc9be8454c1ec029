package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/bandwidth"
)

// none is how a person lifts a bound.
const none = "none"

// size is a number of bytes: 64MB, 2.6GB, 512KiB or a bare number. 0 is none.
type size int64

// rate is bytes per second: 140KB/s or 8Mbit/s. 0 is none, where package
// bandwidth has Unlimited: there 0 is Off, which only a timetable can say.
type rate int64

// span is a time: 500ms, 1s, 2h30m, 3d or a bare number of seconds. Negative is
// none, since a wait of 0 means something.
type span time.Duration

// count is how many of something, 0 is none.
type count int64

// depth is a number of links, negative is none.
type depth int

func (s *size) UnmarshalText(b []byte) error {
	if string(b) == none {
		*s = 0
		return nil
	}
	n, unit, err := number(string(b))
	if err != nil {
		return err
	}
	factor, ok := byteUnits[strings.ToLower(unit)]
	if !ok {
		return fmt.Errorf("%q is no size: write 500KB, 64MB or 2.6GB", b)
	}
	v, err := positive(n * factor)
	*s = size(v)
	return err
}

func (s size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s size) String() string {
	if s == 0 {
		return none
	}
	return exact(int64(s)) + "B"
}

func (r *rate) UnmarshalText(b []byte) error {
	v, err := bandwidth.ParseRate(string(b))
	if err != nil {
		return err
	}
	if v == bandwidth.Unlimited {
		v = 0
	}
	*r = rate(v)
	return nil
}

func (r rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r rate) String() string {
	if r == 0 {
		return none
	}
	return bandwidth.FormatRate(int64(r))
}

// timetable is a rate for each minute of the week; the zero timetable is none.
type timetable struct{ bandwidth.Timetable }

func (t timetable) String() string {
	if !t.Set() {
		return none
	}
	return t.Timetable.String()
}

// quota is how many bytes a period may bring; the zero quota is none.
type quota struct{ bandwidth.Quota }

func (s *span) UnmarshalText(b []byte) error {
	text := string(b)
	if text == none {
		*s = -1
		return nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil {
			return fmt.Errorf("%q is no time: write 500ms, 1s, 2h30m or 3d", b)
		}
		text = strconv.FormatFloat(n*24, 'f', -1, 64) + "h"
	} else if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no time: write 500ms, 1s, 2h30m or 3d", b)
	}
	if d < 0 {
		return fmt.Errorf("%q is less than nothing", b)
	}
	*s = span(d)
	return nil
}

func (s span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s span) String() string {
	if s < 0 {
		return none
	}
	text := time.Duration(s).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (c *count) UnmarshalText(b []byte) error {
	if string(b) == none {
		*c = 0
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no whole number", b)
	}
	if n <= 0 {
		return fmt.Errorf("%q is not more than 0; %q lifts the bound", b, none)
	}
	*c = count(n)
	return nil
}

func (c count) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (c count) String() string {
	if c == 0 {
		return none
	}
	return strconv.FormatInt(int64(c), 10)
}

func (d *depth) UnmarshalText(b []byte) error {
	if string(b) == none {
		*d = -1
		return nil
	}
	n, err := strconv.ParseUint(string(b), 10, 16)
	if err != nil {
		return fmt.Errorf("%q is no number of links from 0 to 65535", b)
	}
	*d = depth(n)
	return nil
}

func (d depth) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d depth) String() string {
	if d < 0 {
		return none
	}
	return strconv.Itoa(int(d))
}

var byteUnits = map[string]float64{
	"": 1, "b": 1,
	"k": 1e3, "kb": 1e3, "kib": 1 << 10,
	"m": 1e6, "mb": 1e6, "mib": 1 << 20,
	"g": 1e9, "gb": 1e9, "gib": 1 << 30,
	"t": 1e12, "tb": 1e12, "tib": 1 << 40,
}

// number cuts a text into the number it begins with and the unit after it.
func number(text string) (n float64, unit string, err error) {
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.0123456789", r) })
	if end < 0 {
		end = len(text)
	}
	n, err = strconv.ParseFloat(text[:end], 64)
	if err != nil {
		return 0, "", fmt.Errorf("%q does not begin with a number", text)
	}
	return n, strings.TrimSpace(text[end:]), nil
}

// positive rounds a number of bytes, which must be one at least.
func positive(n float64) (int64, error) {
	switch {
	case n <= 0:
		return 0, fmt.Errorf("it must be more than 0")
	case n < 1:
		return 0, fmt.Errorf("it is less than one byte")
	case n >= math.MaxInt64:
		return 0, fmt.Errorf("it is too large")
	}
	return int64(n), nil
}

// exact writes a number with the largest prefix that loses nothing.
func exact(n int64) string {
	for _, p := range []struct {
		factor int64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}} {
		if n%p.factor == 0 && n > 0 {
			return strconv.FormatInt(n/p.factor, 10) + p.prefix
		}
	}
	return strconv.FormatInt(n, 10)
}

// bytesOf writes a number of bytes for people: 3 digits that matter.
func bytesOf(n float64) string {
	prefix := ""
	for _, p := range []string{"K", "M", "G", "T", "P"} {
		if n < 999.5 {
			break
		}
		n, prefix = n/1000, p
	}
	if prefix == "" || n >= 99.95 {
		return fmt.Sprintf("%.0f %sB", n, prefix)
	}
	return fmt.Sprintf("%.1f %sB", n, prefix)
}

// thousands writes a number for people: 1,234,567.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// many writes how many of something there are: 1 page, 1,200 pages.
func many(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return thousands(n) + " " + what
}

// short writes a time for people, two units at most: 1.5s, 42s, 3m20s, 5h12m, 2d3h.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// milliseconds writes a time for people that a machine took: 0.3 ms, 12 ms, 1.5s.
func milliseconds(d time.Duration) string {
	switch ms := float64(d) / 1e6; {
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return short(d)
}
