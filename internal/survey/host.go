package survey

import (
	"fmt"
	"slices"
	"strings"

	"weir/page"
)

// target is a site as a person names it: example.org, example.org:8080 or
// https://example.org/docs/.
type target struct {
	name   string     // as it was written
	starts []page.URL // where it may begin; the first that answers is taken
	key    string     // the host, with its port when that was written
}

func parseTarget(text string) (target, error) {
	t := target{name: text}
	if strings.Contains(text, "://") {
		u, err := page.Parse(text)
		if err != nil {
			return t, fmt.Errorf("%q is no site: %w", text, err)
		}
		t.starts = []page.URL{u}
	} else {
		for _, scheme := range []string{"https://", "http://"} {
			u, err := page.Parse(scheme + text)
			if err != nil {
				return t, fmt.Errorf("%q is no site: %w", text, err)
			}
			t.starts = append(t.starts, u)
		}
	}
	t.key = t.starts[0].HostPort()
	if last := t.starts[len(t.starts)-1].HostPort(); len(last) < len(t.key) {
		t.key = last // the port of one of the schemes, which says nothing
	}
	return t, nil
}

// targets are the sites that were asked for, and finds whose a site of a crawl
// is.
type targets struct {
	list []target
	by   map[string]int // by key: the first of that key
}

func parseTargets(hosts []string) (targets, error) {
	ts := targets{by: map[string]int{}}
	for _, text := range hosts {
		t, err := parseTarget(text)
		if err != nil {
			return ts, err
		}
		if _, twice := ts.by[t.key]; !twice {
			ts.by[t.key] = len(ts.list)
		}
		ts.list = append(ts.list, t)
	}
	return ts, nil
}

// find returns whose a site is: all that name its host, with its port or without.
// When there is none, those that name it with "www." or without, for the two are
// one as a rule, and the one redirects to the other.
func (ts *targets) find(site page.URL) []int {
	both := func(host, port string) (found []int) {
		for _, key := range [...]string{port, host} {
			if i, ok := ts.by[key]; ok && !slices.Contains(found, i) {
				found = append(found, i)
			}
		}
		return found
	}
	if found := both(site.Host(), site.HostPort()); found != nil {
		return found
	}
	return both(sister(site.Host()), sister(site.HostPort()))
}

// sister is a host's name with www. when it has none, else without.
func sister(host string) string {
	if rest, ok := strings.CutPrefix(host, "www."); ok {
		return rest
	}
	return "www." + host
}
