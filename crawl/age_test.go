package crawl

import (
	"fmt"
	"testing"
	"time"

	"weir/page"
)

// A robots.txt is believed for a day from when it was fetched, however often the
// crawl is stopped and started meanwhile, and not a moment longer.
func TestRobotsAgeOverRestarts(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		pause time.Duration // between the runs
		again time.Duration // when it must be asked for again, from the first time
	}{
		{time.Minute, day},
		{23 * time.Hour, day},
		{25 * time.Hour, 25 * time.Hour},
		{30 * day, 30 * day},
	} {
		t.Run(fmt.Sprint(c.pause), func(t *testing.T) {
			p := newPlay(t, site("a.example", 40)...)
			p.cfg.MaxPages, p.cfg.Frontier.Wait = 2, time.Second
			p.robots = func(Fetch) Done {
				if len(p.asked) == 1 {
					return Done{Outcome: page.OK, Rules: rulesText("")}
				}
				return Done{Outcome: page.OK, Rules: rulesText("Disallow: /39")}
			}
			p.run()
			began := p.asked[0].at
			p.now = p.now.Add(c.pause)
			p.resume, p.cfg.MaxPages, p.cfg.Frontier.Wait = true, 0, time.Hour
			p.run()
			if len(p.asked) < 2 {
				t.Fatalf("robots.txt was asked for %d times, at %v", len(p.asked), p.asked)
			}
			late := p.asked[1].at.Sub(began) - c.again
			if late < 0 || late > 2*time.Hour { // the first page after it is due
				t.Errorf("it was asked for again %v after the first time, due after %v", late+c.again, c.again)
			}
			for _, v := range p.fetched {
				if age := v.at.Sub(began); age > day && v.at < p.asked[1].at {
					t.Errorf("%s was asked for by a robots.txt of %v ago", v.url, age)
				}
			}
			if got := p.page("http://a.example/39").Outcome; got != page.Denied {
				t.Errorf("what is forbidden since ended as %v", got)
			}
		})
	}
}
