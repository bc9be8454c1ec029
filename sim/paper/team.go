package paper

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/overlay"
	"weir/sim"
	"weir/sim/web"
)

// The webs of Loo et al., by the letters of their workloads.
const (
	world  = "world"  // A
	domain = "domain" // B
	single = "single" // C
)

// team is one crawl of a cluster. Equal teams are one.
type team struct {
	web    string
	scheme string // as overlay.ParseScheme reads it
	nodes  int
	brief  time.Duration // no longer than that, with as many partitions as so many nodes need; 0: a quarter of an hour
	apart  bool          // nodes and hosts stand where those of figure 12 do, and not all equally far
}

func (t team) String() string {
	return fmt.Sprintf("%s with %d nodes on %s", schemeName(t.scheme), t.nodes, t.web)
}

const (
	byURL    = "url"
	byHost   = "host"
	byHost8  = "host-8"
	redirect = "redirect:over=500"
	adaptive = "adaptive"
	fetchers = 3 // of every node
	most     = 80
	quarter  = 15 * time.Minute
)

// schemes are the four of section 4.1, and weir's own.
var schemes = []string{byURL, byHost, byHost8, redirect, adaptive}

// sizes are the numbers of nodes that are tried. The paper has 1 through 80.
var sizes = []int{1, 2, 8, 16, 40, most}

// schemeName is what the paper calls a scheme.
func schemeName(scheme string) string {
	switch scheme {
	case byURL:
		return "URL"
	case byHost:
		return "Hostname"
	case byHost8:
		return "Hostname-8"
	case redirect:
		return "Redirect"
	case adaptive:
		return "weir"
	}
	return scheme
}

// polite says that hosts are visited under leases. The paper's schemes know of no such
// thing.
func (t team) polite() bool { return strings.HasPrefix(t.scheme, "adaptive") }

// teams are all crawls of a web.
func teams(web string) []team {
	var all []team
	for _, s := range schemes {
		for _, n := range sizes {
			all = append(all, team{web: web, scheme: s, nodes: n})
		}
	}
	return all
}

// part is the size of a crawl of a cluster at a scale: from a tenth on it is whole.
func part(scale float64) float64 { return min(10*scale, 1) }

// quarterOf is how long a crawl lasts at a scale.
func quarterOf(scale float64) time.Duration {
	return max(time.Duration(float64(quarter)*part(scale)), 20*time.Second)
}

// cluster plays the crawls of clusters that experiments ask for, each once, web by
// web.
func (l *lab) cluster(chosen []Experiment) error {
	for _, name := range []string{world, domain, single} {
		var all []team
		for _, e := range chosen {
			for _, t := range e.teams {
				if t.web == name && t.fits(l.opt.Scale) && !slices.Contains(all, t) {
					all = append(all, t)
				}
			}
		}
		if len(all) == 0 || !l.on() {
			continue
		}
		slices.SortFunc(all, func(a, b team) int { return cmp.Compare(turn(b), turn(a)) })
		if err := l.field(name, all); err != nil && !errors.Is(err, errStopped) {
			return err
		}
	}
	return nil
}

// turn is higher for crawls that come first: single nodes, which the others are
// compared with, and then the longest.
func turn(t team) int {
	if t.nodes == 1 {
		return math.MaxInt
	}
	return t.nodes
}

// field plays the crawls of one web.
func (l *lab) field(name string, all []team) error {
	shape, err := web.Preset(name, part(l.opt.Scale))
	if err != nil {
		return err
	}
	shape.Seed = l.opt.Seed
	w, err := web.Generate(shape)
	if err != nil {
		return fmt.Errorf("making the web %s: %w", name, err)
	}
	w.Seeds = []uint32{w.First[largest(w)]}
	queue := make(chan team)
	var workers sync.WaitGroup
	for range min(l.opt.Workers, len(all)) {
		workers.Go(func() {
			for t := range queue {
				if err := l.team(w, t); err != nil && !errors.Is(err, errStopped) {
					l.stop.Store(true)
					l.mu.Lock()
					l.fail = cmp.Or(l.fail, fmt.Errorf("%s: %w", t, err))
					l.mu.Unlock()
				}
			}
		})
	}
	for _, t := range all {
		queue <- t
	}
	close(queue)
	workers.Wait()
	return l.fail
}

// largest is the site with most pages: google.com, as it were.
func largest(w *web.Web) (most int) {
	for s := range w.Sites {
		if w.First[s+1]-w.First[s] > w.First[most+1]-w.First[most] {
			most = s
		}
	}
	return most
}

// team plays one crawl.
func (l *lab) team(w *web.Web, t team) error {
	if t.large() {
		l.heavy.Lock()
		defer l.heavy.Unlock()
	}
	if !l.on() {
		return errStopped
	}
	scheme, err := overlay.ParseScheme(t.scheme)
	if err != nil {
		return err
	}
	if scheme.Over > 0 {
		scheme.Over = max(int(math.Round(float64(scheme.Over)*part(l.opt.Scale))), 1)
	}
	cfg := sim.ClusterConfig{
		Config: sim.Config{Order: "depth", Conns: fetchers, Wait: -1, MaxTime: t.lasts(l.opt.Scale)},
		Nodes:  t.nodes, Scheme: scheme, Leases: t.polite(), Parts: t.parts(), Joined: t.large(), Seed: l.opt.Seed,
	}
	if t.apart {
		cfg.Trip = ping(l.opt.Seed).between(l.opt.Seed)
	}
	c, err := sim.NewCluster(w, cfg)
	if err != nil {
		return err
	}
	var last int64
	step := func() {
		pages := c.Progress()
		l.pages.Add(pages - last)
		last = pages
	}
	if err := c.Run(func() bool {
		step()
		l.tell(t.String())
		return l.on()
	}); err != nil {
		return err
	}
	step()
	res, stopped := c.Result()
	if stopped {
		return errStopped
	}
	l.done.Add(1)
	l.tell(t.String())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rec.teams[t] = res
	return nil
}

// lasts is how long a crawl takes at a scale.
func (t team) lasts(scale float64) time.Duration {
	if t.brief > 0 {
		return min(quarterOf(scale), t.brief)
	}
	return quarterOf(scale)
}

// parts is how many partitions there are; 0 means as many as live.
func (t team) parts() int {
	switch {
	case t.brief == 0 || t.nodes < 500:
		return 0
	case t.nodes <= 2500:
		return 4096
	case t.nodes <= 5000:
		return 8192
	}
	return 10_240
}

// large says that a crawl takes minutes and gigabytes: there is one at a time, and none
// on webs that are not whole.
func (t team) large() bool { return t.nodes > 1000 }

// fits says that a crawl is played at a scale. More than 2,500 nodes take ten gigabytes and
// more, for which somebody has to ask.
func (t team) fits(scale float64) bool {
	return !t.large() || part(scale) == 1 && (t.nodes <= 2500 || scale >= 1)
}

// expected is about how many pages a crawl fetches.
func (t team) expected(scale float64) int64 {
	return int64(float64(t.nodes*fetchers) * t.lasts(scale).Seconds() / pageSeconds)
}

// pageSeconds is how long a fetcher took for a page in the paper, on the mean.
const pageSeconds = 80 * 3 * 900 / 43404.0
