package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"weir/bandwidth"
	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/node"
)

// setupLink says how much of the link may be used, and when. What is doubtful
// about it becomes a warning.
func setupLink(s *settings, cfg *node.Config, client *fetch.Client) error {
	limits := s.limits()
	cfg.Bandwidth = crawl.Bandwidth{
		Limits: limits, Control: s.Control, Lookahead: int(s.Lookahead),
		Predictor: bandwidth.PredictorConfig{Exact: s.Control == "paper"},
	}
	cfg.Strict, cfg.Yield, cfg.Probe = s.Strict, s.Yield, s.Probe
	cfg.Warnings = limitWarnings(limits)
	switch s.Control {
	case "weir", "paper", "reactive":
	default:
		return choice("--control", s.Control, "weir", "paper", "reactive")
	}
	if s.Lookahead == 0 {
		return usage("write a number from 1 up", "--lookahead cannot be none")
	}
	if s.Holidays != "" {
		text, err := readShort(s.Holidays)
		if err == nil {
			_, err = bandwidth.ParseHolidays(text)
		}
		if err != nil {
			return usage("write a date a line: 2026-12-25, or 12-25 for every year", "--holidays %s: %w", s.Holidays, err)
		}
		cfg.Bandwidth.Holidays = text
	}
	if s.Probe != "" {
		if _, err := fetch.ParseTarget(s.Probe); err != nil {
			return usage("as in --yield-probe 9.9.9.9", "--yield-probe: %w", err)
		}
	}
	if s.Yield {
		const hint = "say how much may be used when nobody else is there, as in --yield --limit 5MB/s"
		switch {
		case !limits.Set():
			return usage(hint, "--yield needs a limit: it leaves a part of it to others")
		case s.Control != "weir":
			return usage("take --control weir", "--yield does nothing under --control %s, which holds a limit only by what it starts", s.Control)
		}
		if openHours(limits) {
			cfg.Warnings = append(cfg.Warnings, "--yield does nothing in the hours for which the timetable says none: add --limit")
		}
		if s.Probe == "" {
			if _, err := client.NearTarget(); err != nil {
				return usage("name one with --yield-probe, as in --yield-probe 9.9.9.9", "--yield: %w", err)
			}
		}
	}
	if s.LearnFrom != "" && limits.Set() {
		if err := learnable(s.LearnFrom, s.Dir); err != nil {
			return err
		}
		cfg.LearnFrom = s.LearnFrom
	}
	switch {
	case !limits.Set():
		cfg.Warnings = append(cfg.Warnings, idle(s)...)
	case s.Control != "weir":
		cfg.Warnings = append(cfg.Warnings, fmt.Sprintf("--control %s holds the limit only by what it starts: fast servers will exceed it", s.Control))
	}
	return nil
}

// limits are those of the settings. none is 0 there, as in crawl.Limits.
func (s *settings) limits() crawl.Limits {
	return crawl.Limits{Rate: int64(s.Limit), Timetable: s.Timetable.Timetable, Quota: s.Quota.Quota}
}

// limitWarnings says what is doubtful about limits.
func limitWarnings(l crawl.Limits) []string {
	var all []string
	if w := bandwidth.RateWarning(l.Rate); w != "" {
		all = append(all, "--limit "+w)
	}
	for _, w := range l.Timetable.Warnings() {
		all = append(all, "--timetable: "+w)
	}
	if w := l.Quota.Warning(); w != "" {
		all = append(all, "--quota "+w)
	}
	return all
}

// openHours says that the timetable has hours without any limit.
func openHours(l crawl.Limits) bool {
	if l.Rate > 0 || l.Quota.Set() || !l.Timetable.Set() {
		return false
	}
	t := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) // any Monday
	for end := t.AddDate(0, 0, 7); t.Before(end); {
		rate, until := l.Timetable.At(t)
		if rate == bandwidth.Unlimited {
			return true
		}
		t = until
	}
	return false
}

// idle names the settings that mean nothing without a limit.
func idle(s *settings) []string {
	var all []string
	was := fields(defaults())
	for i, f := range fields(s) {
		switch f.name {
		case "control", "lookahead", "strict", "yield-probe", "holidays", "learn-from":
			if f.text() != was[i].text() {
				all = append(all, fmt.Sprintf("--%s has no effect without --limit, --timetable or --quota", f.name))
			}
		}
	}
	return all
}

// learnable checks that another crawl can be learned from.
func learnable(dir, own string) error {
	a, err1 := filepath.Abs(dir)
	b, err2 := filepath.Abs(own)
	if err1 == nil && err2 == nil && a == b {
		return usage("name the folder of another crawl; a crawl that goes on knows its own servers anyway", "--learn-from %s is the folder of this crawl itself", dir)
	}
	f, err := openFolder(dir)
	if err != nil {
		return usage("name the folder of a crawl that is not running", "--learn-from: %w", err)
	}
	f.close()
	return nil
}

// maxShort bounds files that a person writes by hand, in bytes.
const maxShort = 1 << 20

func readShort(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxShort+1))
	if err == nil && len(b) > maxShort {
		err = fmt.Errorf("longer than %s", bytesOf(maxShort))
	}
	return string(b), err
}

// allowed writes what may flow, to stand after what does; nothing when there is
// no limit.
func allowed(b node.Bound) string {
	if pause := b.Pause(); pause != "" {
		return ", " + pause
	}
	if b.By == "" {
		return ""
	}
	return " of " + bytesOf(float64(b.Rate)) + "/s" + inBrackets(b.Why())
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
