package crawl

import (
	"fmt"
	"testing"
	"time"

	"weir/page"
)

// caller is a node that always has pages of a host.
type caller struct {
	name, host string
	asked      bool
	again      page.Time // when it asks next
	end        page.Time // of the visit that is under way
}

// All nodes always have pages of all hosts, which have one address. Whoever grants
// what, a host is visited as soon as it has rested: nobody waits for what one has who
// waits for it.
func TestDeskNeverStandsStill(t *testing.T) {
	const (
		lasts = time.Minute
		visit = 100 * time.Millisecond
		rest  = time.Second
	)
	names := []string{"a", "b", "c"}
	for hosts := 1; hosts <= 3; hosts++ {
		for turn := range names {
			h := newHall(t, "a", names...)
			h.owner = func(part int) string { return names[(part+turn)%len(names)] }
			for part := range 4 {
				h.desks["a"].Stop(part)
				h.desks[h.owner(part)].Start(0, part)
			}
			var callers []*caller
			for k := range hosts {
				for _, name := range names {
					callers = append(callers, &caller{name: name, host: fmt.Sprintf("%d.example.org", k)})
				}
			}
			h.hear = func(name string, ev Leased) {
				for _, c := range callers {
					switch {
					case c.name != name || c.host != ev.Host || ev.Others || ev.Waits:
					case ev.Given:
						c.end = h.now.Add(ev.In + visit)
					default:
						c.asked, c.again = false, h.now.Add(ev.In)
					}
				}
			}
			visits := 0
			for end := h.now.Add(lasts); h.now < end; h.run(visit / 5) {
				for _, c := range callers {
					switch {
					case c.end != 0 && c.end <= h.now:
						visits++
						h.give(c.name, c.host, true, rest)
						*c = caller{name: c.name, host: c.host, again: h.now.Add(rest)}
					case !c.asked && c.again <= h.now:
						c.asked = true
						h.want(c.name, c.host)
					}
				}
			}
			if best := hosts * int(lasts/(visit+rest)); visits < best*95/100 {
				t.Errorf("%d hosts, owners turned by %d: %d visits in %v, want nearly %d", hosts, turn, visits, lasts, best)
			}
		}
	}
}
