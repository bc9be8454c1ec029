package plan

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	adviceTime = regexp.MustCompile(`(?:could be, within|has it after) ([0-9.dhms]+?)[,.](?: |$)`)
	adviceLink = regexp.MustCompile(`on ([0-9.]+) times the link`)
	adviceTrim = regexp.MustCompile(`without ([0-9.]+) ([KMG]?)B of it`)
)

func parseTime(t *rapid.T, text string) float64 {
	days, rest, ok := strings.Cut(text, "d")
	n := 0
	if ok {
		n, _ = strconv.Atoi(days)
	} else {
		rest = text
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		t.Fatalf("%q is no time", text)
	}
	return float64(n)*86400 + d.Seconds()
}

func parseNumber(t *rapid.T, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Whoever does what the messages say has a plan that keeps every promise: by later
// deadlines; by smaller sites, or later deadlines where that is not offered; by
// a better link, or later deadlines where that is not.
func TestAdviceWorks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyTight(t)
		p.Sites = p.Sites[:min(len(p.Sites), 5)]
		p.MaxSites = rapid.IntRange(0, 3).Draw(t, "sites")
		p.Startup = rapid.SampledFrom([]float64{0, 0.5, 3, 20}).Draw(t, "startup")
		p.MinRate = rapid.SampledFrom([]float64{0, 0, 1}).Draw(t, "least")
		scale := rapid.SampledFrom([]float64{1, 37, 4001}).Draw(t, "scale") // of time: seconds, minutes, hours
		for i := range p.Link {
			p.Link[i].From *= scale
		}
		for i := range p.Sites {
			s := &p.Sites[i]
			s.Size *= scale
			s.Deadline *= scale
			s.NotBefore *= scale
			s.Manners.Wait *= scale
		}
		if p.Check() != nil {
			return
		}
		troubles := Explain(p, Solve(p, Options{}))
		later, smaller, faster := with(p, func(*Problem) {}), with(p, func(*Problem) {}), with(p, func(*Problem) {})
		factor := 1.0
		for _, tr := range troubles {
			if tr.Earliest == 0 {
				t.Skip("too much to explain")
			}
			due := 0.0 // none
			if at := adviceTime.FindStringSubmatch(tr.Message); at != nil {
				due = parseTime(t, at[1])
			}
			later.Sites[tr.Site].Deadline = due
			if trim := adviceTrim.FindStringSubmatch(tr.Message); trim != nil {
				bytes := parseNumber(t, trim[1]) * map[string]float64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[trim[2]]
				smaller.Sites[tr.Site] = p.Sites[tr.Site].trim(bytes)
			} else {
				smaller.Sites[tr.Site].Deadline = due
			}
			if link := adviceLink.FindStringSubmatch(tr.Message); link != nil {
				factor = max(factor, parseNumber(t, link[1]))
			} else {
				faster.Sites[tr.Site].Deadline = due
			}
		}
		for i := range faster.Link {
			faster.Link[i].Rate *= factor
		}
		for name, q := range map[string]*Problem{"deadlines": later, "sizes": smaller, "the link": faster} {
			if pl := Solve(q, Options{}); pl.Late > 0 {
				for _, tr := range troubles {
					t.Log(tr.Message)
				}
				t.Fatalf("with other %s still %d are late: %+v", name, pl.Late, q)
			}
		}
	})
}
