package plan

import (
	"errors"
	"math"
	"testing"
)

func TestCheck(t *testing.T) {
	link := []Step{{0, 10}}
	nan, inf := math.NaN(), math.Inf(1)
	site := func(s Site) Problem { return Problem{Link: link, Sites: []Site{{Name: "a", Size: 1}, s}} }
	for _, tc := range []struct {
		name  string
		p     Problem
		site  int
		field string // "" = none
	}{
		{"nothing at all", Problem{}, 0, ""},
		{"no sites", Problem{Link: link}, 0, ""},
		{"a size of 0", site(Site{Name: "b"}), 0, ""},
		{"a deadline in the past", site(Site{Name: "b", Size: 1, Deadline: -5}), 0, ""},
		{"sites without names", Problem{Link: link, Sites: []Site{{Size: 1}, {Size: 1}}}, 0, ""},
		{"a link that pauses", Problem{Link: []Step{{0, 0}, {5, 1}}, Sites: []Site{{Size: 1}}}, 0, ""},
		{"a link that ends in time", Problem{Link: []Step{{0, 1}, {5, 0}}, Sites: []Site{{Size: 5}}}, 0, ""},
		{"a link of 0 and nothing to do", Problem{Link: []Step{{0, 0}}, Sites: []Site{{}}}, 0, ""},
		{"no link", Problem{Sites: []Site{{Size: 1}}}, -1, "link"},
		{"a link of 0", Problem{Link: []Step{{0, 0}, {3, 0}}, Sites: []Site{{Size: 1}}}, -1, "link"},
		{"a link that ends too soon", Problem{Link: []Step{{0, 1}, {5, 0}}, Sites: []Site{{Size: 6}}}, -1, "link"},
		{"a negative link", Problem{Link: []Step{{0, -1}}}, -1, "link"},
		{"an endless link", Problem{Link: []Step{{0, inf}}}, -1, "link"},
		{"a link from later on", Problem{Link: []Step{{1, 1}}}, -1, "link"},
		{"steps out of order", Problem{Link: []Step{{0, 1}, {5, 1}, {4, 1}}}, -1, "link"},
		{"two steps at once", Problem{Link: []Step{{0, 1}, {0, 1}}}, -1, "link"},
		{"negative sites at a time", Problem{Link: link, MaxSites: -1}, -1, "max_sites"},
		{"startup", Problem{Link: link, Startup: nan}, -1, "startup"},
		{"least rate", Problem{Link: link, MinRate: -1}, -1, "min_rate"},
		{"least rate above the link", Problem{Link: link, MinRate: 11, Sites: []Site{{Size: 1}}}, -1, "min_rate"},
		{"least rate above the link, a slow site", Problem{Link: link, MinRate: 11, Sites: []Site{{Size: 1, Cap: 3}}}, 0, ""},
		{"objective", Problem{Link: link, Objective: 9}, -1, "objective"},
		{"two entries for one site", site(Site{Name: "a"}), 1, "name"},
		{"size", site(Site{Size: nan}), 1, "size"},
		{"size below 0", site(Site{Size: -1}), 1, "size"},
		{"sizes beyond numbers", Problem{Link: link, Sites: []Site{{Size: 1e308}, {Size: 1e308}}}, -1, "size"},
		{"deadline", site(Site{Deadline: nan}), 1, "deadline"},
		{"endless deadline", site(Site{Deadline: inf}), 1, "deadline"},
		{"cap", site(Site{Cap: -1}), 1, "cap"},
		{"weight", site(Site{Weight: -1}), 1, "weight"},
		{"begin", site(Site{NotBefore: -1}), 1, "not_before"},
		{"pages", site(Site{Manners: Manners{Pages: -1}}), 1, "pages"},
		{"wait", site(Site{Manners: Manners{Wait: inf}}), 1, "wait"},
		{"manners without end", site(Site{Size: 1, Manners: Manners{Pages: 1e9, Wait: 1e300}}), 1, "pages"},
	} {
		err := tc.p.Check()
		var f *Fault
		switch {
		case err == nil && tc.field == "":
		case !errors.As(err, &f) || f.Field != tc.field || f.Site != tc.site:
			t.Errorf("%s: %v", tc.name, err)
		case f.Message == "":
			t.Errorf("%s: nothing is said", tc.name)
		}
	}
}
