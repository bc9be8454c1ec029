package bandwidth

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rates are bytes a second. Off and Unlimited are chosen so that the least of
// several rates is the one that binds.
const (
	Off       int64 = 0             // nothing is started, connections rest
	Unlimited int64 = math.MaxInt64 // no limit
)

// Packet is the most one packet of the link carries. A rate of less than one
// packet a second cannot be held second by second.
const Packet = 1500

// ParseRate reads 140KB/s, 8Mbit/s, 500kbit/s, 2MiB/s or none. K is 1000 and
// Ki is 1024. The result is more than Off; none is Unlimited.
func ParseRate(text string) (int64, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "none":
		return Unlimited, nil
	case "off":
		return 0, fmt.Errorf(`"off" pauses, which only a timetable can: write none for no limit, or a rate as 140KB/s`)
	}
	n, unit, err := number(text)
	if err != nil {
		return 0, fmt.Errorf("%w: write a rate as 140KB/s or 8Mbit/s, or none for no limit", err)
	}
	digits := strings.TrimSpace(strings.TrimSuffix(text, unit))
	switch {
	case n <= 0:
		return 0, fmt.Errorf("%q is not more than 0: write none for no limit, or a rate as 140KB/s", text)
	case unit == "":
		return 0, fmt.Errorf("%q has no unit: write %sKB/s or %sMbit/s", text, digits, digits)
	}
	amount, second := cutFold(unit, "/s")
	factor, ok := byteUnit(amount)
	if bits, isBits := cutFold(amount, "bit"); isBits {
		factor, ok = byteUnit(bits)
		ok = ok && !strings.HasSuffix(strings.ToLower(bits), "b")
		factor /= 8
	}
	switch {
	case ok && !second:
		return 0, fmt.Errorf("%q is no rate: write it per second, as %s%s/s", text, digits, amount)
	case !ok || amount == "":
		return 0, fmt.Errorf("%q is no rate: write it per second, as 140KB/s or 8Mbit/s", text)
	}
	rate, err := whole(n * factor)
	if err != nil {
		return 0, fmt.Errorf("%q %w", text, err)
	}
	return rate, nil
}

// FormatRate writes a rate so that ParseRate reads the same: with the largest
// prefix that loses nothing. Off is "off", which a timetable reads.
func FormatRate(rate int64) string {
	switch {
	case rate <= Off:
		return "off"
	case rate == Unlimited:
		return "none"
	}
	return exact(rate) + "/s"
}

// RateWarning says what is doubtful about a rate, nothing when it is sound.
func RateWarning(rate int64) string {
	if rate <= Off || rate >= Packet {
		return ""
	}
	return fmt.Sprintf("%s is less than one packet of %d bytes a second: single seconds will exceed it, the mean will not", FormatRate(rate), Packet)
}

// number cuts a text into the number it begins with and the unit after it.
func number(text string) (n float64, unit string, err error) {
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.0123456789", r) })
	if end < 0 {
		end = len(text)
	}
	n, err = strconv.ParseFloat(text[:end], 64)
	switch {
	case math.IsInf(n, 0):
		return 0, "", fmt.Errorf("the number is too large")
	case err != nil:
		return 0, "", fmt.Errorf("%q does not begin with a number", text)
	}
	return n, strings.TrimSpace(text[end:]), nil
}

// maxBytes bounds sizes and rates to what a float holds exactly, so that what is
// written is read as the same number.
const maxBytes = 1 << 53

// whole rounds a number of bytes, which must be one at least.
func whole(n float64) (int64, error) {
	switch {
	case n < 1:
		return 0, fmt.Errorf("is less than one byte")
	case n > maxBytes:
		return 0, fmt.Errorf("is too large")
	}
	return int64(math.Round(n)), nil
}

func byteUnit(unit string) (factor float64, ok bool) {
	switch strings.ToLower(strings.TrimSpace(unit)) {
	case "", "b":
		return 1, true
	case "k", "kb":
		return 1e3, true
	case "m", "mb":
		return 1e6, true
	case "g", "gb":
		return 1e9, true
	case "t", "tb":
		return 1e12, true
	case "ki", "kib":
		return 1 << 10, true
	case "mi", "mib":
		return 1 << 20, true
	case "gi", "gib":
		return 1 << 30, true
	case "ti", "tib":
		return 1 << 40, true
	}
	return 0, false
}

func cutFold(text, suffix string) (string, bool) {
	if at := len(text) - len(suffix); at >= 0 && strings.EqualFold(text[at:], suffix) {
		return strings.TrimSpace(text[:at]), true
	}
	return text, false
}

// exact writes a number of bytes with the largest prefix that loses nothing.
func exact(n int64) string {
	for _, p := range []struct {
		factor int64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}} {
		if n%p.factor == 0 && n > 0 {
			return strconv.FormatInt(n/p.factor, 10) + p.prefix + "B"
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
