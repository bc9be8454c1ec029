package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"weir/crawl"
	"weir/page"
	"weir/sim/link"
	"weir/sim/web"
)

// contest is a web of uneven sites behind one link that is too small for them
// all, and deadlines for some. How large those sites are was guessed, up to twice
// too large or too small, and one server falls to a third of its speed midway.
type contest struct {
	web     *web.Web
	limit   int64
	demands []crawl.Demand // of the sites with these numbers
	slow    Change
}

const (
	contestSites = 20
	contestDues  = 8
)

// newContest draws one. Deadlines are such that the site can be done in time at
// its own speed, if it is not more than twice as large as was guessed. The other
// sites have pages enough to fill the link until the last of them.
func newContest(seed uint64) *contest {
	rnd := rand.New(rand.NewPCG(seed, 6))
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, rnd.Float64()) }
	c := &contest{web: &web.Web{Name: "uneven"}}
	speeds, last := 0.0, 0.0
	for i := range contestSites {
		pages, most := int(between(150, 700)), math.Inf(1)
		if i >= contestDues {
			pages, most = math.MaxInt, last*between(0.5, 1.5)
		}
		bytes, least := c.site(rnd, between(8e3, 40e3), between(20e3, 200e3), between(0.05, 0.3), pages, most)
		speeds += bytes / least
		if i >= contestDues {
			continue
		}
		guess := bytes * between(0.5, 2)
		due := 60 + 2*guess/bytes*least*between(1.3, 2)
		last = max(last, due)
		c.demands = append(c.demands, crawl.Demand{Host: fmt.Sprintf("s%d.example", i), Size: int64(guess), Deadline: Epoch + int64(due*1e9)})
		// Who slows down can still be done in time when nobody hinders it.
		if c.slow.At == 0 && due/2+3*max(least-due/2, 0) < 0.9*due {
			c.slow = Change{Site: uint32(i), Factor: 1.0 / 3, At: time.Duration(due / 2 * 1e9)}
		}
	}
	c.web.First = append(c.web.First, uint32(len(c.web.SiteOf)))
	c.web.Off = append(c.web.Off, uint32(len(c.web.Adj)))
	c.limit = int64(0.35 * speeds)
	if c.slow.At == 0 {
		c.slow = Change{Site: contestDues, Factor: 1.0 / 3, At: time.Duration(last / 2 * 1e9)}
	}
	return c
}

// site adds a site of so many pages, or of as many as take most seconds, and
// returns its size and the seconds that it takes at least.
func (c *contest) site(rnd *rand.Rand, mean, speed, latency float64, pages int, most float64) (bytes, least float64) {
	w := c.web
	i, first := len(w.Sites), len(w.SiteOf)
	w.Sites = append(w.Sites, web.Site{Name: fmt.Sprintf("http://s%d.example", i), Speed: speed, Latency: latency, Again: latency / 2})
	w.First = append(w.First, uint32(first))
	for n := 0; n < pages && least < most; n++ {
		size := math.Exp(0.7*rnd.NormFloat64()-0.245)*mean + 200
		w.SiteOf, w.Size = append(w.SiteOf, uint32(i)), append(w.Size, uint32(size))
		bytes += size
		t := latency + size/speed
		least += t + max(contestWait.Seconds(), t)
	}
	pages = len(w.SiteOf) - first
	for p := range pages {
		w.Off = append(w.Off, uint32(len(w.Adj)))
		for k := 8*p + 1; k <= 8*p+8 && k < pages; k++ { // a tree
			w.Adj = append(w.Adj, uint32(first+k))
		}
	}
	return bytes, least
}

const contestWait = time.Second

// played is how a contest went.
type played struct {
	met  int
	late []string
	use  float64 // of the limit, until the last deadline
	news []News
}

func (c *contest) play(t *testing.T, order string, demands []crawl.Demand) played {
	var world *World
	ends, left := make([]float64, contestSites), make([]uint32, contestSites)
	for i := range left {
		left[i] = c.web.First[i+1] - c.web.First[i]
	}
	last, sent := 0.0, 0.0
	for _, d := range c.demands {
		last = max(last, float64(d.Deadline-Epoch)/1e9)
	}
	cfg := Config{Order: order, Conns: 64, Wait: contestWait, Limit: c.limit, Robots: true, Demands: demands, Fetched: func(p uint32) {
		now := seconds(world.now.Sub(page.Time(1)))
		site := c.web.SiteOf[p]
		if left[site]--; left[site] == 0 {
			ends[site] = now
		}
		if now <= last {
			sent += float64(c.web.Size[p])
		}
	}}
	world, err := New(c.web, Line{Rate: float64(c.limit), Sharing: link.MaxMin}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := world.Change(c.slow); err != nil {
		t.Fatal(err)
	}
	if err := world.Run(nil); err != nil {
		t.Fatal(err)
	}
	out := played{use: sent / last / float64(c.limit), news: world.Results()[0].News}
	for i, d := range c.demands {
		due := float64(d.Deadline-Epoch) / 1e9
		if ends[i] > 0 && ends[i] <= due {
			out.met++
		} else {
			out.late = append(out.late, fmt.Sprintf("%s ended after %.0f s, due were %.0f", d.Host, ends[i], due))
		}
	}
	return out
}

// Every deadline that the plan accepts is met, however wrong the sizes were and
// although a server slows down; and without promises some are not, with the
// default order and with the one that treats sites most evenly. -v prints all for
// every seed.
func TestDeadlinesAreMet(t *testing.T) {
	const seeds = 20
	missed := [seeds]bool{}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
			t.Parallel()
			c := newContest(seed + 1)
			p := c.play(t, "siteopic", c.demands)
			fair, length := c.play(t, "siteopic", nil), c.play(t, "depth-flat", nil)
			held, kept := 0, 0
			for _, n := range p.news {
				switch n.Standing {
				case crawl.Held:
					held++
				case crawl.Kept:
					kept++
				case crawl.Refused, crawl.Broken, crawl.Missed:
					t.Logf("after %.0f s: %s is %s: %s", n.Seconds, n.Host, n.Standing, n.Why)
				}
			}
			t.Logf("promised: %d of %d met, %.1f%% of the link used; fair shares: %d met (siteopic), %d met (depth-flat)", p.met, len(c.demands), 100*p.use, fair.met, length.met)
			if p.met != contestDues || held < contestDues || kept != contestDues {
				t.Errorf("%d met, %d told to be held, %d told to be kept, of %d: %s", p.met, held, kept, contestDues, strings.Join(p.late, "; "))
			}
			if p.use < 0.85 {
				t.Errorf("%.1f%% of the link was used", 100*p.use)
			}
			missed[seed] = fair.met < contestDues && length.met < contestDues
		})
	}
	t.Cleanup(func() {
		for seed, some := range missed {
			if !some {
				t.Errorf("seed %d: all deadlines were met without promises: it shows nothing", seed+1)
			}
		}
	})
}
