package bandwidth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
)

// Period is what a quota is counted over, by the local calendar.
type Period uint8

const (
	Hour  Period = iota + 1
	Day          // from midnight
	Week         // from Monday
	Month        // from the first
)

var periodNames = [...]string{Hour: "hour", Day: "day", Week: "week", Month: "month"}

func (p Period) valid() bool { return Hour <= p && p <= Month }

func (p Period) String() string {
	if !p.valid() {
		return "never"
	}
	return periodNames[p]
}

// number counts the periods by the local calendar, so that a zone which changes
// its offset in the middle of a month is still in that month.
func (p Period) number(t time.Time) int64 {
	year, month, day := t.Date()
	if p == Month {
		return int64(year)*12 + int64(month) - 1
	}
	hours := time.Date(year, month, day, t.Hour(), 0, 0, 0, time.UTC).Unix() / 3600
	switch p {
	case Hour:
		return hours
	case Day:
		return floorDiv(hours, 24)
	}
	return floorDiv(floorDiv(hours, 24)+3, 7) // day 0 was a Thursday
}

// bounds are the first moment of the period that t is in, and of the next one.
func (p Period) bounds(t time.Time) (start, end time.Time) {
	year, month, day := t.Date()
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(year, month, day, hour, 0, 0, 0, t.Location())
	}
	switch p {
	case Hour:
		return at(month, day, t.Hour()), at(month, day, t.Hour()+1)
	case Day:
		return at(month, day, 0), at(month, day+1, 0)
	case Week:
		monday := day - (int(t.Weekday())+6)%7
		return at(month, monday, 0), at(month, monday+7, 0)
	}
	return at(month, 1, 0), at(month+1, 1, 0)
}

func floorDiv(n, d int64) int64 {
	if n < 0 {
		return (n - d + 1) / d
	}
	return n / d
}

// Quota is how many bytes a period may bring. The zero Quota is none.
type Quota struct {
	Bytes int64
	Per   Period
}

// ParseQuota reads 1TB/month, 50GB/week, 2GiB/day or 100MB/hour; none is the
// zero Quota.
func ParseQuota(text string) (Quota, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, "none") {
		return Quota{}, nil
	}
	n, unit, err := number(text)
	if err != nil {
		return Quota{}, fmt.Errorf("%w: write a quota as 1TB/month, or none", err)
	}
	amount, per, _ := strings.Cut(unit, "/")
	amount, per = strings.TrimSpace(amount), strings.TrimSpace(per)
	q := Quota{}
	for p := Hour; p <= Month; p++ {
		if strings.EqualFold(per, p.String()) {
			q.Per = p
		}
	}
	factor, ok := byteUnit(amount)
	digits := strings.TrimSpace(strings.TrimSuffix(text, unit))
	switch {
	case n <= 0:
		return Quota{}, fmt.Errorf("%q is not more than 0: write none for no quota, or one as 1TB/month", text)
	case amount == "":
		return Quota{}, fmt.Errorf("%q has no unit: write %sGB/month", text, digits)
	case !ok:
		return Quota{}, fmt.Errorf("%q is no quota: write its size in bytes, as 1TB/month or 500MB/day", text)
	case q.Per == 0:
		return Quota{}, fmt.Errorf("%q is no quota: write it per hour, day, week or month, as %s%s/month", text, digits, amount)
	}
	if q.Bytes, err = whole(n * factor); err != nil {
		return Quota{}, fmt.Errorf("%q %w", text, err)
	}
	return q, nil
}

// String writes the quota so that ParseQuota reads the same.
func (q Quota) String() string {
	if !q.Set() {
		return "none"
	}
	return exact(q.Bytes) + "/" + q.Per.String()
}

// MarshalText writes what UnmarshalText reads.
func (q Quota) MarshalText() ([]byte, error) { return []byte(q.String()), nil }

// UnmarshalText reads a quota as ParseQuota does.
func (q *Quota) UnmarshalText(text []byte) (err error) {
	*q, err = ParseQuota(string(text))
	return err
}

// Set says whether there is a quota at all.
func (q Quota) Set() bool { return q.Bytes > 0 && q.Per.valid() }

// Warning says what is doubtful about the quota, nothing when it is sound.
func (q Quota) Warning() string {
	if !q.Set() {
		return ""
	}
	start, end := q.Per.bounds(time.Unix(0, 0).UTC())
	if rate := float64(q.Bytes) / end.Sub(start).Seconds(); rate < Packet {
		return fmt.Sprintf("%s is less than one packet of %d bytes a second: the crawl will mostly rest", q, Packet)
	}
	return ""
}

// End is when the period that t is in ends.
func (q Quota) End(t time.Time) time.Time {
	_, end := q.Per.bounds(t)
	return end
}

const (
	// quotaReserve is the part of a quota, one in so many, that is kept back for
	// packets which arrive after the limit was lowered.
	quotaReserve = 1000
	// quotaCatchUp is how many times the rate of an even period may be used to catch
	// up: the rest of a month in which little was crawled does not all come in
	// its last minutes.
	quotaCatchUp = 4
	// quotaAgain is how long a rate stays good enough.
	quotaAgain = time.Minute
)

// At is the rate at which the quota lasts until its period ends, with so many
// bytes of the period used: what is left is spread over the time left, so an
// unused share carries over to the rest of the period, though never to the next
// one. Hours in which the timetable allows less than that leave more to the
// others; the caller takes the lesser of both rates. The rate is good until the
// time returned, unless it is Off: then nothing may start before it.
//
// The rate is Off when the quota is spent, until the period ends, and when so
// little is left that it would not be a packet a second, until it is one.
func (q Quota) At(t time.Time, used int64, tt Timetable) (rate int64, until time.Time) {
	if !q.Set() {
		return Unlimited, t.Add(week)
	}
	start, end := q.Per.bounds(t)
	budget := q.Bytes - q.Bytes/quotaReserve
	left := budget - max(used, 0)
	if left <= 0 {
		return Off, end
	}
	even := spread(float64(budget), start, end, tt)
	now := min(spread(float64(left), t, end, tt), quotaCatchUp*even)
	if now < Packet {
		// Hours that are off only make it later: whoever asks then is told again.
		wake := end.Add(-time.Duration(float64(left) / Packet * float64(time.Second)))
		if wake.After(t) {
			return Off, wake
		}
		now = Packet
	}
	until = t.Add(quotaAgain)
	if end.Before(until) {
		until = end
	}
	if now >= maxBytes {
		return Unlimited, until
	}
	return int64(now), until
}

// spread is the rate which, wherever the timetable allows it, brings so many
// bytes from t to end. It is at least maxBytes when the timetable's own rates
// bring less.
func spread(bytes float64, t, end time.Time, tt Timetable) float64 {
	type slice struct {
		rate int64
		time float64 // seconds
	}
	var slices []slice
	for t.Before(end) {
		rate, until := tt.At(t)
		if end.Before(until) {
			until = end
		}
		slices = append(slices, slice{rate, until.Sub(t).Seconds()})
		t = until
	}
	sort.SliceStable(slices, func(i, j int) bool { return slices[i].rate < slices[j].rate })
	var time float64
	for _, s := range slices {
		time += s.time
	}
	// What allows less than the rate is filled first, and the rest shares what is left.
	for _, s := range slices {
		rate := bytes / max(time, 1)
		if rate <= float64(s.rate) {
			return rate
		}
		bytes -= float64(float64(s.rate) * s.time)
		time -= s.time
	}
	return maxBytes
}

// Usage is what the running period of a quota has brought. The zero Usage has
// seen none.
type Usage struct {
	per    Period
	number int64 // of the period
	used   int64
}

// Used are the bytes of the period that t is in.
func (u Usage) Used(q Quota, t time.Time) int64 { return u.Add(q, t, 0).used }

// Add counts n bytes at the local time t and begins anew when a new period has
// come, or when the quota is now counted over another one.
//
// A clock that goes back over the start of a period stays in the one it came
// from: changing zones does not bring a second helping.
func (u Usage) Add(q Quota, t time.Time, n int64) Usage {
	number := q.Per.number(t)
	switch {
	case u.per != q.Per || number > u.number:
		u = Usage{per: q.Per, number: number}
	case number < u.number-1:
		// The clock was wrong then or is now; what was used stays used.
		u.number = number
	}
	u.used = min(u.used+min(max(n, 0), maxBytes), maxBytes)
	return u
}

const usageVersion = 1

// Save writes the usage as a row: version, period, its number, bytes used.
func (u Usage) Save() []byte {
	row := []byte{usageVersion, byte(u.per)}
	row = binary.AppendVarint(row, u.number)
	return binary.AppendUvarint(row, uint64(u.used))
}

var errUsage = errors.New("bandwidth: damaged row of a quota's usage")

// LoadUsage reads what Save wrote. No row is a usage that has seen nothing.
func LoadUsage(row []byte) (Usage, error) {
	if len(row) == 0 {
		return Usage{}, nil
	}
	if row[0] != usageVersion {
		return Usage{}, fmt.Errorf("bandwidth: a quota's usage of version %d, this program reads %d", row[0], usageVersion)
	}
	if len(row) < 2 || Period(row[1]) > Month {
		return Usage{}, errUsage
	}
	number, n := binary.Varint(row[2:])
	if n <= 0 || number < -maxBytes || number > maxBytes {
		return Usage{}, errUsage
	}
	used, m := binary.Uvarint(row[2+n:])
	if m <= 0 || 2+n+m != len(row) || used > maxBytes {
		return Usage{}, errUsage
	}
	return Usage{per: Period(row[1]), number: number, used: int64(used)}, nil
}
