package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/store"
	"weir/page"
)

// Horizon is how far ahead a deadline may be.
const Horizon = 10 * 366 * 24 * time.Hour

// ParseDemands reads deadlines as they are told to a crawl that runs: SITE=TIME,
// or SITE=none, separated by commas, one for a site.
func ParseDemands(text string, now time.Time) ([]crawl.Demand, error) {
	var all []crawl.Demand
	for one := range strings.SplitSeq(text, ",") {
		host, at, ok := strings.Cut(one, "=")
		if !ok || host == "" {
			return nil, fmt.Errorf("%q is no deadline: it reads SITE=TIME", one)
		}
		d := crawl.Demand{Host: host}
		if at != "none" {
			due, err := time.Parse(time.RFC3339, at)
			switch {
			case err != nil:
				return nil, fmt.Errorf("%q is no time as in 2006-01-02T15:04:05Z", at)
			case !due.After(now):
				return nil, fmt.Errorf("the deadline of %s is over", host)
			case due.Sub(now) > Horizon:
				return nil, fmt.Errorf("the deadline of %s is more than ten years ahead", host)
			}
			d.Deadline = due.UnixNano()
		}
		if slices.ContainsFunc(all, func(o crawl.Demand) bool { return crawl.SameSite(o.Host, host) }) {
			return nil, fmt.Errorf("%s has two deadlines", host)
		}
		all = append(all, d)
	}
	return all, nil
}

// Stranger says that a crawl does not come to a site that a deadline names.
type Stranger struct {
	Site  string   `json:"site"`
	Scope string   `json:"scope"`
	Known []string `json:"known,omitempty"` // hosts that it comes to, the first of them
}

func (s *Stranger) Error() string {
	return fmt.Sprintf("the deadline of %s: no seed leads there, and --scope %s goes nowhere else", s.Site, s.Scope)
}

// maxKnown is how many hosts a Stranger names.
const maxKnown = 1000

// Familiar checks that a crawl may come to every site that has a deadline, by the
// hosts that it comes to. The error is a *Stranger.
func Familiar(scope string, demands []crawl.Demand, hosts []string) error {
	if scope == "any" {
		return nil
	}
	for _, d := range demands {
		near := func(h string) bool {
			return crawl.SameSite(h, d.Host) || scope == "domain" && page.Domain(h) == page.Domain(d.Host)
		}
		if d.Deadline != 0 && !slices.ContainsFunc(hosts, near) {
			return &Stranger{d.Host, scope, hosts[:min(len(hosts), maxKnown)]}
		}
	}
	return nil
}

// Hosts lists the hosts that the crawl in a folder knows.
func Hosts(dir string) ([]string, error) {
	st, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return hosts(st)
}

func hosts(kv crawl.KV) ([]string, error) {
	view, err := crawl.NewView(kv)
	if err != nil {
		return nil, err
	}
	var all []string
	err = view.Sites(func(s *crawl.SiteInfo) bool {
		all = append(all, page.SiteHost(s.Name))
		return true
	})
	return all, err
}

// admit checks deadlines that a running crawl is told of.
func (n *node) admit(demands []crawl.Demand) error {
	if len(demands) == 0 {
		return nil
	}
	if order, err := frontier.Order(n.cfg.Order); err == nil && order.Traits().Batched {
		return fmt.Errorf("--order %s holds pages back until their batch comes, and cannot keep deadlines", n.cfg.Order)
	}
	if n.cfg.Scope.Scope == "any" {
		return nil
	}
	known, err := hosts(n.store)
	if err != nil {
		return err
	}
	return Familiar(n.cfg.Scope.Scope, demands, known)
}
