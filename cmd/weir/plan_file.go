package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"weir/bandwidth"
	"weir/internal/survey"
	"weir/page"
	"weir/plan"
)

const (
	maxPlan      = 32 << 20 // bytes of a plan file
	maxPlanSites = 100_000
	maxPlanPages = 1 << 40
)

// planFile is what a plan file asks for.
type planFile struct {
	plan.Problem        // its Link is set by steps, which must know the sizes
	link         uplink // zero: none is given
	now          time.Time
	clock        bool // times of day are spoken of, not only spans
	entries      []planEntry
	left         []leftOut
}

// planEntry is what a plan file says of a site besides what the Problem has.
type planEntry struct {
	line     int
	host     string           // as URLs write it, with the port unless that is the usual one
	pageSize float64          // mean bytes of a page, 0: not said
	said     []pair           // that the file has
	sized    bool             // there is a size
	guessed  bool             // it is an estimate
	estimate *survey.Estimate // whose; nil: not a survey's
	why      string           // there is none
}

// leftOut is a site that could not be measured, and so is not in the plan.
type leftOut struct {
	line      int
	site, why string
}

// planReader reads a plan file and gathers what is wrong with it.
type planReader struct {
	planFile
	slips []slip
}

// planKey is a key of a plan file and what reads its value, which is neither a
// list nor a table, nor nothing, unless the key says so.
type planKey struct {
	name string
	read func(v pair)
}

// synonyms are words that people use for keys.
var synonyms = map[string]string{
	"limit": "link", "bandwidth": "link", "rate": "link or cap", "speed": "link or cap", "name": "site", "host": "site", "url": "site", "bytes": "size",
	"due": "deadline", "until": "deadline", "by": "deadline", "release": "not_before", "start": "not_before", "crawl_delay": "delay",
	"crawl-delay": "delay", "max_rate": "cap", "priority": "weight", "connections": "max_sites", "crawlers": "max_sites", "wait_time": "wait",
}

// readPlan reads a plan file as of a time. What is wrong with it comes in the
// order of its lines; then the rest means little.
func readPlan(b []byte, now time.Time) (*planFile, []slip) {
	r := &planReader{planFile: planFile{now: now}}
	top, bad := parseTree(b)
	if bad != nil {
		return nil, []slip{*bad}
	}
	if top.kind == nothing {
		return &r.planFile, nil
	}
	r.table(top, "a plan", []planKey{
		{"link", func(v pair) {
			var err error
			if r.link, err = parseLink(v.text); err != nil {
				r.add(v.line, linkHint, "link: %v", err)
			}
			r.clock = r.clock || r.link.table.Set()
		}},
		{"max_sites", func(v pair) { r.MaxSites = int(r.whole(v, 0, math.MaxInt32)) }},
		{"startup", func(v pair) { r.Startup = r.span(v) }},
		{"min_rate", func(v pair) { r.MinRate = r.rate(v) }},
		{"objective", func(v pair) {
			var err error
			if r.Objective, err = plan.ParseObjective(v.text); err != nil {
				r.add(v.line, "choose "+orOf(objectiveNames()), "objective: there is no %q", v.text)
			}
		}},
		{"sites", func(v pair) { r.sites(v.value) }},
	})
	slices.SortStableFunc(r.slips, func(a, b slip) int { return cmp.Compare(a.line, b.line) })
	return &r.planFile, r.slips
}

func objectiveNames() []string {
	var names []string
	for _, o := range []plan.Objective{plan.Sum, plan.Max, plan.Lateness, plan.Tardiness} {
		names = append(names, o.String())
	}
	return names
}

// orOf joins words: a, b or c.
func orOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func (r *planReader) add(line int, hint, format string, args ...any) {
	r.slips = append(r.slips, slip{line, fmt.Sprintf(format, args...), hint})
}

// table reads what the keys say, each at most once.
func (r *planReader) table(v *value, what string, keys []planKey) {
	if v.kind != tabled {
		r.add(v.line, "write a key and a value per line; weir plan --example shows how", "%s is a table of keys, and this is %s", what, v.kind)
		return
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	seen := map[string]int{}
	for _, p := range v.pairs {
		i := slices.Index(names, p.key)
		first, twice := seen[p.key]
		seen[p.key] = p.line
		switch {
		case i < 0:
			r.add(p.line, meant(p.key, names), "%s has no %q", what, p.key)
		case twice:
			r.add(p.line, "keep one of them", "%s is there already, in line %d", p.key, first)
		case p.kind == nothing && p.key != "site":
			// As if it were left out.
		case p.key == "sites" || p.kind == plainly:
			keys[i].read(p)
		default:
			r.add(p.line, "write one value after the key; weir plan --example shows how", "%s is a plain value, and this is %s", p.key, p.kind)
		}
	}
}

// meant is the hint about a key that there is not.
func meant(key string, names []string) string {
	lower := strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	for part := range strings.SplitSeq(synonyms[lower], " or ") {
		if slices.Contains(names, part) {
			return "did you mean " + part + "?"
		}
	}
	if near := nearest(lower, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are " + strings.Join(names, ", ")
}

// sites reads the list of sites.
func (r *planReader) sites(v *value) {
	switch {
	case v.kind == nothing:
		return
	case v.kind != listed:
		r.add(v.line, "write it as in: sites: [{site: example.org, size: 2.6GB, deadline: 06:00}]", "sites is a list, and this is %s", v.kind)
		return
	case len(v.list) > maxPlanSites:
		r.add(v.list[maxPlanSites].line, "split the plan", "more than %s sites", thousands(maxPlanSites))
		return
	}
	lines := map[string]int{}
	for _, item := range v.list {
		r.site(item)
		n := len(r.entries) - 1
		if n < 0 || r.entries[n].host == "" {
			continue
		}
		host := r.entries[n].host
		if first, twice := lines[host]; twice {
			r.add(r.entries[n].line, "name each site once; add the sizes up if it is one crawl", "%s is there already, in line %d", host, first)
			continue
		}
		lines[host] = r.entries[n].line
	}
}

// site reads one entry of the list.
func (r *planReader) site(v *value) {
	var s plan.Site
	e := planEntry{line: v.line}
	m := &s.Manners
	named := false
	before := len(r.slips)
	r.table(v, "a site", []planKey{
		{"site", func(v pair) {
			named = true
			e.line = v.line
			s.Name = v.text
			var err error
			if e.host, err = siteOf(v.text); err != nil {
				r.add(v.line, "write the name of a host, as in site: example.org", "site: %v", err)
			}
		}},
		{"size", func(v pair) {
			e.sized = true
			if s.Size = r.bytes(v); s.Size == 0 && len(r.slips) == before {
				r.add(v.line, "leave the site out if it is done, or size if it is not known", "size: a site of 0 bytes has nothing to crawl")
			}
		}},
		{"deadline", func(v pair) { s.Deadline = r.deadline(v) }},
		{"cap", func(v pair) { s.Cap = r.rate(v) }},
		{"weight", func(v pair) { s.Weight = r.weight(v) }},
		{"not_before", func(v pair) {
			at, clock := r.moment(v)
			if at < 0 && !clock {
				r.add(v.line, "write 0, or leave it out, for now", "not_before: %s is in the past", v.text)
			}
			s.NotBefore = max(at, 0)
		}},
		{"pages", func(v pair) {
			if m.Pages = int(r.whole(v, 0, maxPlanPages)); m.Pages == 0 && len(r.slips) == before {
				r.add(v.line, "leave the site out if it is done, or pages if their number is not known", "pages: a site of 0 pages has nothing to crawl")
			}
		}},
		{"page_size", func(v pair) { e.pageSize = r.bytes(v) }},
		{"per_conn", func(v pair) { m.PerConn = int(r.whole(v, 1, math.MaxInt32)) }},
		{"wait", func(v pair) { m.Wait = r.span(v) }},
		{"delay", func(v pair) { m.Delay = r.span(v) }},
		{"page_time", func(v pair) { m.PageTime = r.span(v) }},
	})
	if v.kind != tabled {
		return
	}
	for _, p := range v.pairs {
		if p.kind != nothing {
			e.said = append(e.said, p)
		}
	}
	if !named {
		r.add(v.line, "begin it with the site, as in site: example.org", "an entry without a site")
	}
	if !e.sized && m.Pages > 0 && e.pageSize > 0 {
		s.Size, e.sized, e.guessed = float64(m.Pages)*e.pageSize, true, true
	}
	if (m.Wait > 0 || m.Delay > 0 || m.PageTime > 0) && m.Pages == 0 && e.sized {
		r.add(e.line, "add pages: N, or leave out wait, delay and page_time", "manners of a site say little without the number of its pages")
	}
	r.Sites = append(r.Sites, s)
	r.entries = append(r.entries, e)
}

// siteOf reads the name of a site, a host or the URL of its start.
func siteOf(name string) (string, error) {
	if !strings.Contains(name, "://") {
		name = "http://" + name
	}
	u, err := page.Parse(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is no site: %w", strings.TrimPrefix(name, "http://"), err)
	case u.Rest() != "/":
		return "", fmt.Errorf("%q is a page, and a plan is about whole sites", name)
	}
	return u.HostPort(), nil
}

// The readers of single values. Each notes what is wrong and returns 0 then.

func (r *planReader) bytes(v pair) float64 {
	n, err := parseAmount(v.text)
	return r.or0(v, n, err, "weir plan --help says how sizes are written")
}

func (r *planReader) rate(v pair) float64 {
	if v.text == none {
		return 0
	}
	n, err := parseSpeed(v.text)
	return r.or0(v, n, err, "weir plan --help says how rates are written")
}

func (r *planReader) or0(v pair, n float64, err error, hint string) float64 {
	if err != nil {
		r.add(v.line, hint, "%s: %v", v.key, err)
		return 0
	}
	return n
}

func (r *planReader) span(v pair) float64 {
	const hint = "write a time that something takes: 0.5, 90s, 2m, 2h30m"
	n, err := parseSpan(v.text)
	if err == nil && n < 0 {
		err = fmt.Errorf("%s is less than nothing", v.text)
	}
	if measures(v.text) == aClock {
		err = fmt.Errorf("%q is a time of day", v.text)
	}
	return r.or0(v, n, err, hint)
}

// moment reads a time from now on, in seconds, and says whether it is one of the
// clock.
func (r *planReader) moment(v pair) (at float64, clock bool) {
	if at, ok := clockIn(v.text, r.now); ok {
		r.clock = true
		n, err := withinAge(v.text, at.Sub(r.now).Seconds())
		return r.or0(v, n, err, "write a time of this century"), true
	}
	n, err := parseSpan(v.text)
	return r.or0(v, n, err, "write seconds from now, a span, as 90m or 2h30m, or a time, as 06:00, Mon 06:00 or 2026-11-16T06:00"), false
}

func (r *planReader) deadline(v pair) float64 {
	if v.text == none || v.text == "0" {
		return 0
	}
	slips := len(r.slips)
	at, clock := r.moment(v)
	if at > 0 || len(r.slips) > slips {
		return at
	}
	now := ""
	if clock {
		now = ": it is " + r.now.Format("2006-01-02T15:04") + " now"
	}
	r.add(v.line, "write a time to come, or leave the deadline out", "deadline: %s is in the past%s", v.text, now)
	return 0
}

func (r *planReader) weight(v pair) float64 {
	const hint = "write a number above 0; 1 is what a site has otherwise"
	n, err := bareNumber(v.text)
	switch {
	case err != nil:
	case n < 0:
		err = fmt.Errorf("%s is negative: the site would be wanted late", v.text)
	case n == 0:
		err = fmt.Errorf("with a weight of 0 nobody would want the site")
	case n < leastAmount || n > 1/leastAmount:
		err = fmt.Errorf("%s is beyond %g to %.0f", v.text, leastAmount, 1/leastAmount)
	}
	return r.or0(v, n, err, hint)
}

func (r *planReader) whole(v pair, least, most int64) int64 {
	n, err := bareNumber(v.text)
	switch {
	case err != nil && v.text == none && least == 0:
		return 0
	case err != nil:
	case n != math.Trunc(n) || n < float64(least):
		err = fmt.Errorf("%s is no whole number from %d up", v.text, least)
	case n > float64(most):
		err = fmt.Errorf("%s is too many", v.text)
	}
	return int64(r.or0(v, n, err, "write a whole number"))
}

// uplink is a rate that always holds, or a timetable.
type uplink struct {
	rate  float64
	table bandwidth.Timetable
}

const linkHint = "write the rate that the link has for you, as in link: 2MB/s, or a timetable, as in link: Mon-Fri 08:00-18:00 500KB/s, 2MB/s"

func (l uplink) set() bool { return l.rate > 0 || l.table.Set() }

func (l uplink) String() string {
	if l.table.Set() {
		return l.table.String()
	}
	return bytesOf(l.rate) + "/s"
}

func parseLink(text string) (uplink, error) {
	n, err := parseSpeed(text)
	switch {
	case err == nil && n == 0 || text == "off":
		return uplink{}, fmt.Errorf("over a link of 0 nothing comes")
	case err == nil:
		return uplink{rate: n}, nil
	case text == none:
		return uplink{}, fmt.Errorf("a plan is about a link, and none is none")
	case !strings.ContainsAny(text, ",:"):
		return uplink{}, err
	}
	table, err := bandwidth.ParseTimetable(text)
	if err != nil {
		if _, err := bandwidth.ParseTimetable(text + ", 2MB/s"); err == nil {
			return uplink{}, fmt.Errorf("the timetable has no rate for all other times: end it with a bare one, as %q", text+", 2MB/s")
		}
		return uplink{}, err
	}
	week, unlimited := weekly(table)
	switch {
	case unlimited:
		return uplink{}, fmt.Errorf("a plan needs a rate for all times, and the timetable says none for some")
	case week == 0:
		return uplink{}, fmt.Errorf("over a link that is always off nothing comes")
	}
	return uplink{table: table}, nil
}

// weekly returns what a timetable lets through in a week, or that it has no limit
// at some time.
func weekly(t bandwidth.Timetable) (bytes float64, unlimited bool) {
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) // a Monday
	for at := begin; at.Before(begin.AddDate(0, 0, 7)); {
		rate, until := t.At(at)
		if rate == bandwidth.Unlimited {
			return 0, true
		}
		end := until
		if last := begin.AddDate(0, 0, 7); end.After(last) {
			end = last
		}
		bytes += float64(rate) * end.Sub(at).Seconds()
		at = until
	}
	return bytes, false
}

const weekLong = 7 * 24 * 3600.0 // seconds

// maxSteps bounds the changes of a link; after them it has its mean rate.
const maxSteps = 5000

// steps lays a link out from now on, until everything should be done.
func (f *planFile) steps(l uplink) []plan.Step {
	if !l.table.Set() {
		return []plan.Step{{Rate: l.rate}}
	}
	perWeek, _ := weekly(l.table)
	mean := perWeek / weekLong
	total, alone, last := 0.0, 0.0, 0.0
	for i := range f.Sites {
		s := &f.Sites[i]
		total += s.Size
		alone = max(alone, s.Size/min(s.Most(), mean))
		last = max(last, s.NotBefore, s.Deadline)
	}
	if f.MaxSites > 0 {
		total += mean * f.Startup * math.Ceil(float64(len(f.Sites))/float64(f.MaxSites))
	}
	end := last + total/mean + alone + f.Startup + 2*weekLong
	var steps []plan.Step
	for at := f.now; ; {
		from := at.Sub(f.now).Seconds()
		rate, until := l.table.At(at)
		n := len(steps)
		switch {
		case n > 0 && (from > end || n >= maxSteps || until.Sub(f.now).Seconds() > mostSeconds):
			return append(steps, plan.Step{From: from, Rate: mean})
		case n == 0 || steps[n-1].Rate != float64(rate):
			steps = append(steps, plan.Step{From: from, Rate: float64(rate)})
		}
		at = until
	}
}
