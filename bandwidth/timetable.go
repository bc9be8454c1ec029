package bandwidth

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

const (
	dayMinutes  = 24 * 60
	weekMinutes = 7 * dayMinutes
	week        = 7 * 24 * time.Hour

	maxEntries   = 100  // of a timetable
	maxTimetable = 8192 // bytes of its text
)

// Timetable is a rate for each minute of the week. The zero Timetable knows no
// limit. It is never changed once parsed, so copies may share it.
type Timetable struct {
	entries []entry // as given; the last one covers the whole week
	steps   []step  // the week they make: by minute, the first at 0, neighbours differ
}

// entry is one line of a timetable: on these days, from minute to minute, this
// rate. Where to is not after from, the entry ends on the day after.
type entry struct {
	days     uint8 // bit 0 is Monday
	from, to int   // minutes of the day: from < 24:00, 0 < to <= 24:00
	rate     int64
}

// step is the minute of the week, counted from Monday 00:00, where a rate begins.
type step struct {
	minute int
	rate   int64
}

const allDays = 1<<7 - 1

func (e entry) always() bool { return e.days == allDays && e.from == 0 && e.to == dayMinutes }

// length is how many minutes the entry runs from its start.
func (e entry) length() int {
	if e.to <= e.from {
		return e.to + dayMinutes - e.from
	}
	return e.to - e.from
}

// minutes calls f with each minute of the week that the entry covers.
func (e entry) minutes(f func(minute int)) {
	for day := range 7 {
		if e.days>>day&1 == 0 {
			continue
		}
		for m := range e.length() {
			f((day*dayMinutes + e.from + m) % weekMinutes)
		}
	}
}

// ParseTimetable reads entries separated by commas:
//
//	Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s
//
// An entry is days, hours and a rate, where no days mean every day and no hours
// the whole day. The first entry that matches a time gives its rate, and the last
// one must match all times. Days may be listed, Sat,Sun, and both days and hours
// may wrap: Fri-Mon, and 22:00-06:00, which belongs to the day it begins on.
// Besides the forms of ParseRate a rate may be off: in that time nothing is
// started and open connections rest.
func ParseTimetable(text string) (Timetable, error) {
	if len(text) > maxTimetable {
		return Timetable{}, fmt.Errorf("the timetable is longer than %d bytes", maxTimetable)
	}
	if strings.TrimSpace(text) == "" {
		return Timetable{}, fmt.Errorf(`the timetable is empty: write it as "Mon-Fri 08:00-18:00 500KB/s, 2MB/s"`)
	}
	var tt Timetable
	var days uint8 // listed before this piece, and still without a rate
	listed := ""
	for _, piece := range strings.Split(text, ",") {
		piece = strings.TrimSpace(piece)
		whole := listed + piece
		e, complete, err := parseEntry(piece, days)
		switch {
		case err != nil:
			return Timetable{}, fmt.Errorf("timetable entry %d, %q: %w", len(tt.entries)+1, whole, err)
		case !complete:
			days, listed = e.days, whole+", "
			continue
		case len(tt.entries) == maxEntries:
			return Timetable{}, fmt.Errorf("the timetable has more than %d entries", maxEntries)
		}
		tt.entries = append(tt.entries, e)
		days, listed = 0, ""
	}
	if listed != "" {
		listed = strings.TrimSuffix(listed, ", ")
		return Timetable{}, fmt.Errorf("timetable entry %d, %q: days without a rate: write %s 500KB/s", len(tt.entries)+1, listed, listed)
	}
	if !tt.entries[len(tt.entries)-1].always() {
		return Timetable{}, fmt.Errorf("the timetable has no rate for all other times: end it with a bare one, as %q or %q", text+", 2MB/s", text+", none")
	}
	tt.steps = weekOf(tt.entries)
	return tt, nil
}

// parseEntry reads the text between two commas, after the days listed before it.
// It is not complete when it is nothing but days.
func parseEntry(piece string, days uint8) (e entry, complete bool, err error) {
	fields := joinDashes(strings.Fields(piece))
	if len(fields) == 0 {
		return entry{}, false, fmt.Errorf("nothing between two commas, or after the last: write days, hours and a rate, as Mon-Fri 08:00-18:00 500KB/s")
	}
	for len(fields) > 0 {
		more, ok := parseDays(fields[0])
		if !ok {
			break
		}
		days |= more
		fields = fields[1:]
	}
	e = entry{days: days, to: dayMinutes}
	if len(fields) == 0 {
		return e, false, nil
	}
	if days == 0 {
		e.days = allDays
	}
	if strings.Contains(fields[0], ":") {
		if e.from, e.to, err = parseHours(fields[0]); err != nil {
			return entry{}, false, err
		}
		fields = fields[1:]
	}
	rate := strings.Join(fields, " ")
	switch {
	case rate == "":
		return entry{}, false, fmt.Errorf("hours without a rate: write one after them, as 08:00-18:00 500KB/s")
	case strings.EqualFold(rate, "off"):
		return e, true, nil
	case !strings.EqualFold(fields[0], "none") && isLetter(fields[0][0]):
		return entry{}, false, fmt.Errorf("%q is neither a day nor a rate: write days as Mon-Fri or Sat,Sun, and rates as 500KB/s, none or off", fields[0])
	}
	if e.rate, err = ParseRate(rate); err != nil {
		if n, _, bad := number(rate); bad == nil && n == 0 {
			err = fmt.Errorf("%q is no rate: write off to pause, or none for no limit", rate)
		}
		return entry{}, false, err
	}
	return e, true, nil
}

// joinDashes makes one field of Mon - Fri.
func joinDashes(fields []string) []string {
	var out []string
	for i := 0; i < len(fields); i++ {
		if fields[i] == "-" && len(out) > 0 && i+1 < len(fields) {
			i++
			out[len(out)-1] += "-" + fields[i]
			continue
		}
		out = append(out, fields[i])
	}
	return out
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

var dayNames = [7]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

// parseDay reads a name of three letters or more: Tue, Tues, tuesday.
func parseDay(text string) (day int, ok bool) {
	if len(text) < 3 {
		return 0, false
	}
	for day, name := range dayNames {
		if len(text) <= len(name) && strings.EqualFold(text, name[:len(text)]) {
			return day, true
		}
	}
	return 0, false
}

func parseDays(text string) (days uint8, ok bool) {
	first, last, span := strings.Cut(text, "-")
	from, ok := parseDay(first)
	if !ok || !span {
		return 1 << from, ok
	}
	to, ok := parseDay(last)
	for day := from; ok; day = (day + 1) % 7 {
		days |= 1 << day
		if day == to {
			break
		}
	}
	return days, ok
}

func parseHours(text string) (from, to int, err error) {
	first, last, span := strings.Cut(text, "-")
	from, ok := parseClock(first)
	to, also := parseClock(last)
	switch {
	case !span || !ok || !also:
		return 0, 0, fmt.Errorf("%q are no hours: write 08:00-18:00, from 00:00 to 24:00", text)
	case from == dayMinutes:
		return 0, 0, fmt.Errorf("%q begins at the end of the day: write 00:00-%s and the day after", text, last)
	case from == to:
		return 0, 0, fmt.Errorf("%q is no time at all: write 00:00-24:00, or no hours, for the whole day", text)
	case to == 0:
		to = dayMinutes
	}
	return from, to, nil
}

// parseClock reads a time of the day in minutes: 08:00, 8:00, 24:00.
func parseClock(text string) (minute int, ok bool) {
	hour, min, _ := strings.Cut(text, ":")
	if len(hour) < 1 || len(hour) > 2 || len(min) != 2 {
		return 0, false
	}
	h, ok := digits(hour)
	m, also := digits(min)
	minute = h*60 + m
	return minute, ok && also && m < 60 && minute <= dayMinutes
}

func digits(text string) (n int, ok bool) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// owners says for each minute of the week which entry gives its rate.
func owners(entries []entry) []int {
	owner := make([]int, weekMinutes)
	for i := len(entries) - 1; i >= 0; i-- {
		entries[i].minutes(func(m int) { owner[m] = i })
	}
	return owner
}

func weekOf(entries []entry) []step {
	var steps []step
	for m, i := range owners(entries) {
		if rate := entries[i].rate; m == 0 || rate != steps[len(steps)-1].rate {
			steps = append(steps, step{m, rate})
		}
	}
	return steps
}

// Set says whether there is a timetable at all.
func (tt Timetable) Set() bool { return len(tt.entries) > 0 }

// At is the rate at the local time t, and when it changes next: a week later if
// it never does. The zone of t is taken to keep its offset until then; who sees
// the offset change asks again.
func (tt Timetable) At(t time.Time) (rate int64, until time.Time) {
	if len(tt.steps) == 0 {
		return Unlimited, t.Add(week)
	}
	into := sinceMonday(t)
	next := sort.Search(len(tt.steps), func(i int) bool { return minutes(tt.steps[i].minute) > into })
	rate = tt.steps[next-1].rate
	// Sunday may run on into Monday.
	end := week
	switch {
	case next < len(tt.steps):
		end = minutes(tt.steps[next].minute)
	case len(tt.steps) == 1:
		end = into + week
	case tt.steps[0].rate == rate:
		end += minutes(tt.steps[1].minute)
	}
	return rate, t.Add(end - into)
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// sinceMonday is how far the local clock is into the week.
func sinceMonday(t time.Time) time.Duration {
	hour, min, sec := t.Clock()
	day := (int(t.Weekday()) + 6) % 7
	return minutes(day*dayMinutes+hour*60+min) + time.Duration(sec)*time.Second + time.Duration(t.Nanosecond())
}

// Warnings says what in the timetable is probably not meant: entries that never
// apply, that cross each other, or whose rate is doubtful.
func (tt Timetable) Warnings() []string {
	var warnings []string
	owner := owners(tt.entries)
	for i, e := range tt.entries {
		if w := RateWarning(e.rate); w != "" {
			warnings = append(warnings, fmt.Sprintf("timetable entry %d, %q: %s", i+1, e, w))
		}
		applies := false
		inside := make([]bool, i) // this entry covers all of that one
		for j := range inside {
			inside[j] = true
		}
		var covers [weekMinutes]bool
		e.minutes(func(m int) {
			covers[m] = true
			applies = applies || owner[m] == i
		})
		if !applies {
			// A default that is not needed is fine, the form asks for one.
			if i < len(tt.entries)-1 || tt.hasDefault(i) {
				warnings = append(warnings, fmt.Sprintf("timetable entry %d, %q, never applies: the entries before it cover all of its time", i+1, e))
			}
			continue
		}
		for j, earlier := range tt.entries[:i] {
			crosses := -1
			earlier.minutes(func(m int) {
				if !covers[m] {
					inside[j] = false
				} else if crosses < 0 || m < crosses {
					crosses = m
				}
			})
			if crosses >= 0 && !inside[j] && earlier.rate != e.rate {
				warnings = append(warnings, fmt.Sprintf("timetable entries %d, %q, and %d, %q, overlap from %s: there entry %d applies",
					j+1, earlier, i+1, e, weekMinute(crosses), j+1))
			}
		}
	}
	return warnings
}

// hasDefault says whether one of the first n entries matches all times.
func (tt Timetable) hasDefault(n int) bool {
	for _, e := range tt.entries[:n] {
		if e.always() {
			return true
		}
	}
	return false
}

func weekMinute(m int) string { return dayNames[m/dayMinutes][:3] + " " + clock(m%dayMinutes) }

func clock(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }

// String writes the timetable so that ParseTimetable reads the same.
func (tt Timetable) String() string {
	var b strings.Builder
	for i, e := range tt.entries {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(e.String())
	}
	return b.String()
}

func (e entry) String() string {
	var parts []string
	if e.days != allDays {
		parts = append(parts, formatDays(e.days))
	}
	if e.from != 0 || e.to != dayMinutes {
		parts = append(parts, clock(e.from)+"-"+clock(e.to))
	}
	return strings.Join(append(parts, FormatRate(e.rate)), " ")
}

// formatDays writes runs of three days or more as a range, beginning with the
// first run that starts in the week.
func formatDays(days uint8) string {
	has := func(day int) bool { return days>>(day%7)&1 == 1 }
	var parts []string
	for day := range 7 {
		if !has(day) || has(day+6) {
			continue
		}
		last := day
		for has(last + 1) {
			last++
		}
		name := func(day int) string { return dayNames[day%7][:3] }
		switch last - day {
		case 0:
			parts = append(parts, name(day))
		case 1:
			parts = append(parts, name(day), name(last))
		default:
			parts = append(parts, name(day)+"-"+name(last))
		}
	}
	return strings.Join(parts, ",")
}

// MarshalText writes what UnmarshalText reads.
func (tt Timetable) MarshalText() ([]byte, error) {
	if !tt.Set() {
		return []byte("none"), nil
	}
	return []byte(tt.String()), nil
}

// UnmarshalText reads a timetable; none is no timetable.
func (tt *Timetable) UnmarshalText(text []byte) (err error) {
	if string(text) == "none" {
		*tt = Timetable{}
		return nil
	}
	*tt, err = ParseTimetable(string(text))
	return err
}
