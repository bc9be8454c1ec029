package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/testweb"
)

// deadlines crawls uneven sites behind a link that is too small for them all, with
// deadlines for some, on the real clock: the contest of sim/deadline_test.go at a
// few minutes. Every run has another web.
//
// A deadline is met when the server gave out the last page of its site in time, by
// its own clock. A promised one must be met by the crawl's account as well, which
// comes later by what the limit held back of that page. The same crawl without
// deadlines, and another order, show what they are good for.
func (l *lab) deadlines() error {
	var given, met, kept, use, faults, fair, flat figures
	for seed := l.seed; seed < l.seed+max(1, l.runs); seed++ {
		c := newContest(uint64(seed), l.scale)
		l.say("seed %d: %d sites, --limit %dKB/s, %s falls to a third of its %d KB/s after %d answers", seed, len(c.sites), c.limit/1000, c.sites[c.slow].Name, c.sites[c.slow].Rate/1000, c.sites[c.slow].Slows.After)
		l.say("%s", c.config())
		with, err := l.contend(c, true, "--order", "siteopic")
		if err != nil {
			return err
		}
		without, err := l.contend(c, false, "--order", "siteopic")
		if err != nil {
			return err
		}
		other, err := l.contend(c, false, "--order", "depth-flat")
		if err != nil {
			return err
		}
		l.say("  %-10s %6s %10s %10s %6s | %6s %-8s | %8s %10s", "site", "pages", "size", "was told", "due", "done", "standing", "siteopic", "depth-flat")
		for i, d := range c.dues {
			s := c.sites[d.site]
			l.say("  %-10s %6d %7d KB %7d KB %4.0f s | %6s %-8s | %8s %10s", s.Name, s.Pages, s.Pages*s.Size/1000, d.told/1000, d.after.Seconds(),
				with.done[i], with.standing[s.Name], without.done[i], other.done[i])
		}
		given = append(given, float64(with.given))
		met, kept = append(met, float64(with.met)), append(kept, float64(with.kept))
		use, faults = append(use, 100*with.use), append(faults, float64(with.faults+without.faults+other.faults))
		fair, flat = append(fair, float64(without.met)), append(flat, float64(other.met))
		l.value("link used without deadlines", one(100*without.use), "%")
	}
	all := fmt.Sprintf("of %d", contestDues)
	l.target("deadlines promised", given, all, atLeast(contestDues))
	l.target("met, by the servers' account", met, all, atLeast(contestDues))
	l.target("met, by the crawl's own", kept, all, atLeast(contestDues))
	l.target("link used until the last deadline", use, "%", atLeast(85))
	l.target("hosts hurried, pages twice or forbidden", faults, "", atMost(0))
	l.target("met without promises, siteopic", fair, all, atMost(contestDues-1))
	l.target("met without promises, depth-flat", flat, all, atMost(contestDues-1))
	return nil
}

const (
	contestSites = 20
	contestDues  = 8
	contestLeast = 40 // pages of a site with a deadline
	contestWait  = 250 * time.Millisecond
)

// contest is a web and the deadlines of its first sites, in the order in which they
// are due.
type contest struct {
	sites []testweb.Site
	dues  []due
	slow  int   // the site that slows down
	limit int64 // bytes a second
}

// due is a deadline.
type due struct {
	site  int
	after time.Duration
	told  int64 // bytes that the crawl is told to expect
}

// last is when the contest is over.
func (c *contest) last() time.Duration { return c.dues[len(c.dues)-1].after }

// newContest draws one. A site with a deadline can be done in time at its own
// speed if it is twice as large as was told, so that the plan can accept it; what is
// told is up to twice too large or too small. The other sites have pages enough to
// fill the link, which is about a third of what all could bring.
func newContest(seed uint64, scale float64) *contest {
	rnd := rand.New(rand.NewPCG(seed, 6))
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, rnd.Float64()) }
	c := &contest{slow: -1}
	last, speeds, worst := 0.0, 0.0, 0.0
	for i, s := range testweb.Even(contestSites, testweb.Site{Links: 8}) {
		var d due
		for {
			s.Size, s.Rate = int(between(8e3, 40e3)), int64(between(30e3, 300e3))
			s.Latency = time.Duration(between(0.03, 0.15) * 1e9)
			if i >= contestDues {
				s.Pages = int(last * between(0.5, 1.5) / cycle(s, 1))
				break
			}
			at, wrong := math.Round(scale*between(150, 330)), between(0.5, 2)
			s.Pages = int((at - 20*scale) / (2 * wrong * between(1.3, 2)) / cycle(s, 1))
			d = due{i, time.Duration(at) * time.Second, int64(wrong * float64(s.Pages*s.Size))}
			if s.Pages >= contestLeast {
				break
			}
		}
		speeds += float64(s.Size) / cycle(s, 1)
		c.sites = append(c.sites, s)
		if i >= contestDues {
			continue
		}
		c.dues = append(c.dues, d)
		at := d.after.Seconds()
		last = max(last, at)
		// Who slows down can still be done in time when nobody hinders it, although it did
		// no more by then than its promise asks for; and it is the one that suffers most.
		loss := cycle(s, 3) / cycle(s, 1)
		if 0.35*at+float64(s.Pages)/2*cycle(s, 3) < 0.85*at && loss > worst {
			c.slow, worst = i, loss
		}
	}
	if c.slow < 0 {
		c.slow = contestDues // none could: a site without a deadline
	}
	c.sites[c.slow].Slows = testweb.Slows{After: c.sites[c.slow].Pages / 2, Factor: 1.0 / 3}
	slices.SortFunc(c.dues, func(a, b due) int { return int(a.after - b.after) })
	c.limit = int64(0.3*speeds/1000) * 1000
	return c
}

// cycle is the seconds from one request to the next at a site that sends so many
// times slower: a host rests as long as its answer took, at least the wait.
func cycle(s testweb.Site, slower float64) float64 {
	t := s.Latency.Seconds() + slower*float64(s.Size)/float64(s.Rate)
	return t + max(contestWait.Seconds(), t)
}

// config is what the crawl with deadlines reads.
func (c *contest) config() string {
	b := "sites:\n"
	for _, d := range c.dues {
		b += fmt.Sprintf("  - {site: %s, deadline: %v, size: %dKB}\n", c.sites[d.site].Name, d.after, d.told/1000)
	}
	return b
}

// played is how a contest went.
type played struct {
	given, met, kept int
	done             []string          // when each deadline's site was done, in seconds
	standing         map[string]string // of each promise at the end
	use              float64           // of the limit
	faults           int
}

// news is a line of the log about a promise.
type news struct {
	Time     time.Time
	Event    string
	Site     string
	Standing string
	Why      string
}

// contend crawls a contest once, until its last deadline is over.
func (l *lab) contend(c *contest, deadlines bool, args ...string) (played, error) {
	l.n++
	dir := filepath.Join(l.dir, fmt.Sprintf("crawl%d", l.n))
	defer os.RemoveAll(dir)
	out := played{standing: map[string]string{}}
	args = append(args, "--limit", fmt.Sprintf("%dKB/s", c.limit/1000), "--wait", contestWait.String(), "--conns", "64", "--warc", "none", "--max-time", (c.last() + time.Second).String())
	if deadlines {
		file := filepath.Join(l.dir, "deadlines.yaml")
		if err := os.WriteFile(file, []byte(c.config()), 0o644); err != nil {
			return out, err
		}
		args = append(args, "--config", file)
	}
	l.say("weir crawl %s", strings.ReplaceAll(strings.Join(args, " "), l.dir+string(filepath.Separator), ""))
	w, err := l.serve(webConfig{Sites: c.sites, Wait: contestWait, Each: true})
	if err != nil {
		return out, err
	}
	begun := time.Now()
	r, err := run(l.command(w, dir, args...))
	var ended error
	if r.audit, ended = w.close(); err == nil {
		err = ended
	}
	if err != nil {
		return out, err
	}
	for _, p := range r.audit.Problems {
		l.say("  MANNERS: %s", p)
	}
	out.faults = len(r.audit.Problems) + r.audit.Duplicates + r.audit.Forbidden
	out.use = float64(r.WireBytes) / r.Seconds / float64(c.limit)
	out.judge(c, begun, r)
	return out, l.tell(&out, dir, begun)
}

// judge holds the accounts of the servers and of the crawl against the deadlines.
func (p *played) judge(c *contest, begun time.Time, r result) {
	until := map[string]time.Time{}
	for _, one := range r.Promises {
		until[one.Site], p.standing[one.Site] = one.Deadline, one.Standing
		if one.Standing == "kept" {
			p.kept++
		}
	}
	for _, d := range c.dues {
		site, done := c.sites[d.site], "never"
		deadline, told := until[site.Name]
		if !told {
			deadline = begun.Add(d.after)
		}
		if h := r.audit.host(site.Name); h.Pages == site.Pages {
			if done = fmt.Sprintf("%.0f s", h.Latest.Sub(begun).Seconds()); !h.Latest.After(deadline) {
				p.met++
			} else {
				done += "!"
			}
		}
		p.done = append(p.done, done)
	}
}

// tell reads the log for what was promised, and prints what else became of it.
func (l *lab) tell(p *played, dir string, begun time.Time) error {
	text, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
	if err != nil {
		return err
	}
	held := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var n news
		if json.Unmarshal(lines.Bytes(), &n) != nil || n.Event != "promise" {
			continue
		}
		held[n.Site] = held[n.Site] || n.Standing == "held"
		why := ""
		if n.Why != "" {
			why = ": " + n.Why
		}
		l.say("  after %3.0f s %s is %s%s", n.Time.Sub(begun).Seconds(), n.Site, n.Standing, why)
	}
	for _, h := range held {
		if h {
			p.given++
		}
	}
	return nil
}
