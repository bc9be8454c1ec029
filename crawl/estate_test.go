package crawl

import (
	"testing"
	"time"

	"weir/frontier"
	"weir/overlay"
	"weir/page"
)

// A page that another node has ended meanwhile is under way until that is durable, though
// the Ledger does not count it as fetched; and so are those that could not be had.
func TestUnderWayUntilDurable(t *testing.T) {
	h := newHand(t, 3, Bandwidth{})
	h.cfg.Rationed = true
	h.start(monday)
	h.step(Allow{Pages: 3})
	asked := h.flying
	if c := h.census(); len(asked) != 3 || c.Pages.Begun != 3 || c.Pages.Under != 3 {
		t.Fatalf("of %d pages %d are begun and %d under way", len(asked), c.Pages.Begun, c.Pages.Under)
	}
	h.done(100, time.Second)
	h.done(100, time.Second)
	h.flying = h.flying[1:]
	h.step(Done{ID: asked[2].ID, Outcome: page.Aborted})
	if c := h.census(); c.Pages.Begun != 2 || c.Pages.Under != 3 {
		t.Errorf("answered, and not durable: %d are begun and %d under way", c.Pages.Begun, c.Pages.Under)
	}
	h.step(Committed{IDs: []uint64{asked[0].ID, asked[2].ID}, Totals: Totals{Fetched: 1}})
	if c := h.census(); c.Pages.Begun < 2 || c.Pages.Under != c.Pages.Begun-1 {
		t.Errorf("one is durable: %d are begun and %d under way", c.Pages.Begun, c.Pages.Under)
	}
	h.step(Committed{IDs: []uint64{asked[1].ID}, Totals: Totals{Fetched: 1}}) // the Ledger knew its end
	if c := h.census(); c.Pages.Begun < 2 || c.Pages.Under != c.Pages.Begun-2 {
		t.Errorf("all are durable: %d are begun and %d under way", c.Pages.Begun, c.Pages.Under)
	}
}

// Where bytes are counted nothing is begun before some are allowed, nor when there are as
// many; and before, no more than what would fit, by the size of those that have come.
func TestMetered(t *testing.T) {
	h := newHand(t, 40, Bandwidth{})
	h.cfg.Metered = true
	h.start(monday)
	if len(h.flying) != 0 {
		t.Fatalf("%d pages are begun before any may", len(h.flying))
	}
	h.step(Allow{Bytes: 1})
	all := len(h.flying)
	if all < 10 {
		t.Fatalf("%d pages are begun, of which nothing is known", all)
	}
	for range all {
		h.done(100, time.Second)
	}
	c := h.census()
	if sum := int64(100 * all); len(h.flying) != 0 || c.Bytes.Begun != sum || c.Bytes.Under != sum || c.Bytes.Allowed != 1 {
		t.Errorf("with %d bytes, %d pages are under way: %+v", sum, len(h.flying), c.Bytes)
	}
	if h.step(Allow{Bytes: c.Bytes.Begun + 201}); len(h.flying) > 3 {
		t.Errorf("%d pages of 100 bytes are begun for 201", len(h.flying))
	}
	h.step(Hold{Enough: true})
	for len(h.flying) > 0 {
		h.done(100, time.Second)
	}
}

// A connection is kept between two requests, but not while nothing is to be ordered:
// another node may have its host by then.
func TestHoldHangsUp(t *testing.T) {
	for _, c := range []struct {
		before []Event
		closes int
	}{
		{nil, 0},
		{[]Event{Hold{On: true}}, 1},
		{[]Event{Hold{Enough: true}}, 1},
		{[]Event{Hold{On: true}, Hold{}}, 0},
	} {
		h := newHand(t, 0, Bandwidth{})
		h.play = newPlay(t, "http://a.org/1", "http://a.org/2", "http://a.org/3")
		h.cfg.Shared, h.cfg.Frontier.PerConn, h.cfg.Frontier.NoRobots = true, 3, true
		h.lookup = ownAddr
		h.start(monday)
		if len(h.flying) != 1 || h.flying[0].Last {
			t.Fatalf("%+v", h.flying)
		}
		for _, ev := range c.before {
			h.step(ev)
		}
		if n := len(pull[Close](h.done(100, time.Second))); n != c.closes || len(h.flying) != 1-n {
			t.Errorf("%v: %d connections are closed, %d pages under way", c.before, n, len(h.flying))
		}
	}
}

// A node has connections to spare as long as it would begin pages if it had any.
func TestFreeWhileItMayBegin(t *testing.T) {
	free := func(cfg Bandwidth, rationed bool, events ...Event) int {
		h := newHand(t, 0, cfg)
		h.cfg.Shared, h.cfg.Rationed = true, rationed
		h.start(monday)
		for _, ev := range events {
			h.step(ev)
		}
		return h.census().Free
	}
	off := Bandwidth{Limits: Limits{Timetable: timetable(t, "00:00-12:00 off, none")}}
	for _, c := range []struct {
		name string
		got  int
		want int
	}{
		{"nothing is in the way", free(Bandwidth{}, false, Hold{}), 64},
		{"it holds", free(Bandwidth{}, false, Hold{On: true}), 0},
		{"it has enough", free(Bandwidth{}, false, Hold{Enough: true}), 0},
		{"its timetable says off", free(off, false), 0},
		{"it stops", free(Bandwidth{}, false, Command{Stop: StopByUser}), 0},
		{"it has no ration", free(Bandwidth{}, true), 0},
		{"it has one", free(Bandwidth{}, true, Allow{Pages: 9}), 64},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d connections are free", c.name, c.got)
		}
	}
}

// Hosts that wait for a connection are left to another node with all that waits of them:
// to a later partition than theirs, so that none comes back, and to none of the node's own.
func TestRelief(t *testing.T) {
	const parts = 16
	given := func(ev Relief, events ...Event) map[string]int {
		h := newHand(t, 70, Bandwidth{})
		h.cfg.Shared, h.cfg.Homes, h.cfg.Leave = true, parts, 1
		h.start(monday)
		for _, ev := range events {
			h.step(ev)
		}
		if c := h.census(); c.Ready != 6 || c.Spare != 6 {
			t.Fatalf("of 70 hosts %d wait for 64 connections, and %d could be left", c.Ready, c.Spare)
		}
		names, hosts := map[page.SiteID]string{}, map[string]int{}
		h.engine.f.Sites(func(id page.SiteID, name string) { names[id] = name })
		for _, o := range h.step(ev) {
			if g, ok := o.(Give); ok {
				if g.To != ev.Part {
					t.Errorf("a page goes to %d", g.To)
				}
				hosts[names[g.Site]]++
			}
		}
		if c := h.census(); c.Ready != 6-len(hosts) {
			t.Errorf("%d hosts were left, and %d wait still", len(hosts), c.Ready)
		}
		return hosts
	}
	last := uint16(0)
	for part := range uint16(parts) { // hosts are at home in partition 0 here, as far as the Engine was told
		for name := range given(Relief{Part: part, Hosts: 9}) {
			last = part
			home := overlay.NewKeys(overlay.Scheme{}, parts).HostPart(page.SiteHost(name))
			if (0-home+parts)%parts >= (int(part)-home+parts)%parts {
				t.Errorf("%s, at home in partition %d, goes from 0 to %d", name, home, part)
			}
		}
	}
	if last == 0 {
		t.Fatal("no host was left to anybody")
	}
	if n := len(given(Relief{Part: last, Hosts: 1})); n != 1 {
		t.Errorf("%d hosts are left, where one was asked for", n)
	}
	for name, ev := range map[string]Event{"its own": Adopted{Part: last}, "held": Hold{On: true}, "enough": Hold{Enough: true}} {
		if n := len(given(Relief{Part: last, Hosts: 9}, ev)); n != 0 {
			t.Errorf("%s: %d hosts are left", name, n)
		}
	}
}

// Pages that are stored are read again also when nothing more is to be fetched, and there
// is something to do until they are; but not while others have not heard of what was found.
func TestReadAgainWithEnough(t *testing.T) {
	for _, c := range []struct {
		hold  Hold
		again int
	}{{Hold{}, 1}, {Hold{Enough: true}, 1}, {Hold{On: true}, 0}, {Hold{On: true, Enough: true}, 0}} {
		h := newHand(t, 3, Bandwidth{})
		h.cfg.Shared = true
		h.start(monday, c.hold)
		for len(h.flying) > 0 {
			id := h.flying[0].ID
			h.done(100, time.Second)
			h.step(Committed{IDs: []uint64{id}})
		}
		again := len(pull[Redeliver](h.step(Committed{Totals: Totals{Due: 2, Steered: true}})))
		if n := h.census(); again != c.again || n.Flying != 1 || n.Enough != c.hold.Enough {
			t.Errorf("%+v: read again %d times; %+v", c.hold, again, n)
		}
		asked := len(h.flying)
		if n := len(pull[Fetch](h.step(Redelivered{}))); n > 0 || asked > 0 {
			t.Errorf("%+v: %d and %d pages are fetched", c.hold, asked, n)
		}
	}
}

// A crawl of several nodes that ends at a time orders nothing from then on, whatever
// happens: the clock is set back, requests are answered, or the node may begin pages
// again. Before, it wakes at that time by itself; and it does not finish.
func TestEnds(t *testing.T) {
	for name, length := range map[string]time.Duration{"later": 10 * time.Second, "before it began": -time.Second} {
		t.Run(name, func(t *testing.T) {
			h := newHand(t, 70, Bandwidth{})
			h.cfg.Shared, h.cfg.Ends = true, in(length)
			st := h.open() // the Ledger is alone, and its sites are all in partition 0
			h.step(monday)
			h.step(Adopted{})
			orders := h.step(st)
			if asked := len(pull[Fetch](orders)); (asked > 0) != (length > 0) {
				t.Fatalf("%d pages are asked for", asked)
			}
			if length > 0 {
				wakes := pull[Wake](orders)
				if len(wakes) == 0 || wakes[len(wakes)-1].At > h.now.Add(length) {
					t.Errorf("it wakes at %v", wakes)
				}
				h.now = h.now.Add(length - 1)
				if asked := pull[Fetch](h.done(100, time.Second)); len(asked) == 0 {
					t.Error("nothing is asked for a moment before")
				}
				h.now++
				orders = h.step(Tick{})
			}
			if len(pull[Overdue](orders)) != 1 {
				t.Errorf("it says %d times that the time is over", len(pull[Overdue](orders)))
			}
			for _, ev := range []Event{Tick{}, Hold{Enough: true}, Wall{Unix: in(-time.Hour)}, Hold{}, Tick{}} {
				h.now = h.now.Add(time.Second)
				orders = append(orders, h.step(ev)...)
			}
			for len(h.flying) > 0 {
				orders = append(orders, h.done(100, time.Second)...)
			}
			if asked, ends := len(pull[Fetch](orders)), len(pull[Finish](orders)); asked+ends > 0 || len(pull[Overdue](orders)) != 1 {
				t.Errorf("%d pages are asked for afterwards, and it finishes %d times", asked, ends)
			}
			if free := h.census().Free; free != 0 {
				t.Errorf("%d connections are offered to others", free)
			}
		})
	}
}

// TestOrdersCountOnce: what an order adds to the pages of its site is taken back if it
// has changed nothing, whether its answer comes before or after that is known; and is
// added to what others have fetched where the site was theirs meanwhile.
func TestOrdersCountOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(h *hand, id uint64, site frontier.Known) []Event
		want int64
	}{
		{"it is fetched", func(_ *hand, id uint64, _ frontier.Known) []Event {
			return []Event{Done{ID: id, Outcome: page.OK}, Committed{IDs: []uint64{id}}}
		}, 1},
		{"it cannot be had", func(_ *hand, id uint64, _ frontier.Known) []Event {
			return []Event{Done{ID: id, Outcome: page.HeaderTooLarge}, Committed{IDs: []uint64{id}}}
		}, 0},
		{"it is fetched in vain", func(_ *hand, id uint64, _ frontier.Known) []Event {
			return []Event{Done{ID: id, Outcome: page.OK}, Committed{IDs: []uint64{id}, Vain: []uint64{id}}}
		}, 0},
		{"it is in vain, and then fetched", func(_ *hand, id uint64, _ frontier.Known) []Event {
			return []Event{Committed{IDs: []uint64{id}, Vain: []uint64{id}}, Done{ID: id, Outcome: page.OK}}
		}, 0},
		{"it is in vain, and cannot be had", func(_ *hand, id uint64, _ frontier.Known) []Event {
			return []Event{Committed{IDs: []uint64{id}, Vain: []uint64{id}}, Done{ID: id, Outcome: page.HeaderTooLarge}}
		}, 0},
		{"another node has fetched one more", func(_ *hand, id uint64, site frontier.Known) []Event {
			site.Used, site.More = 1, 1
			return []Event{Committed{Sites: []frontier.Known{site}}, Done{ID: id, Outcome: page.OK}, Committed{IDs: []uint64{id}}}
		}, 2},
		{"others had the site", func(_ *hand, id uint64, site frontier.Known) []Event {
			site.Used, site.Queued = 5, 1
			return []Event{Disowned{Parts: []uint16{site.Part}, Fence: true}, Adopted{Part: site.Part, Sites: []frontier.Known{site}}, Done{ID: id, Outcome: page.OK}, Committed{IDs: []uint64{id}}}
		}, 6},
		{"others had the site, and it cannot be had", func(_ *hand, id uint64, site frontier.Known) []Event {
			site.Used, site.Queued = 5, 1
			return []Event{Disowned{Parts: []uint16{site.Part}, Fence: true}, Adopted{Part: site.Part, Sites: []frontier.Known{site}}, Done{ID: id, Outcome: page.HeaderTooLarge}, Committed{IDs: []uint64{id}}}
		}, 5},
		{"others had the site, and its end was durable before", func(_ *hand, id uint64, site frontier.Known) []Event {
			site.Used, site.Queued = 5, 1
			return []Event{Committed{IDs: []uint64{id}}, Disowned{Parts: []uint16{site.Part}, Fence: true}, Adopted{Part: site.Part, Sites: []frontier.Known{site}}, Done{ID: id, Outcome: page.HeaderTooLarge}}
		}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHand(t, 1, Bandwidth{})
			h.start(monday)
			f := h.flying[0]
			for _, ev := range c.then(h, f.ID, frontier.Known{ID: f.Site, Name: f.URL.Site()}) {
				h.step(ev)
			}
			if n := h.engine.f.Backlog(f.Site).Used; n != c.want {
				t.Errorf("the site has %d pages, want %d", n, c.want)
			}
		})
	}
}

// TestForgottenWhileItsPartitionComes: a partition is adopted while pages of it from before
// are under way. What comes of the first counts for its site, though the second takes so
// long that the site is forgotten.
func TestForgottenWhileItsPartitionComes(t *testing.T) {
	h := newHand(t, 2, Bandwidth{})
	h.start(monday)
	a, b := h.flying[0], h.flying[1]
	h.step(Disowned{Parts: []uint16{0}, Fence: true})
	h.step(Adopted{Sites: []frontier.Known{{ID: a.Site, Name: a.URL.Site(), Used: 5, Queued: 1}, {ID: b.Site, Name: b.URL.Site(), Queued: 1}}})
	h.step(Done{ID: a.ID, Outcome: page.OK})
	h.step(Committed{IDs: []uint64{a.ID}})
	for range 3 {
		h.now = h.now.Add(2 * time.Minute)
		h.step(Tick{})
	}
	if n := h.engine.f.Count().Sites; n != 1 {
		t.Fatalf("%d sites are known, want the second", n)
	}
	h.flying = nil
	h.step(Done{ID: b.ID, Outcome: page.OK})
	h.step(Committed{IDs: []uint64{b.ID}})
	begun := int64(0)
	for _, f := range h.flying {
		if f.Site == a.Site {
			begun++
		}
	}
	if n := h.engine.f.Backlog(a.Site).Used - begun; n != 6 {
		t.Errorf("the site has %d pages, want 6", n)
	}
}
