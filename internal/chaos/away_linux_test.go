package chaos

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/internal/testweb"
	"weir/overlay"
)

var away = flag.Duration("away", 30*time.Second, "how long a node of TestAway is gone: longer than a session lasts")

// outgrown is when the Raft logs of those that stay begin later than the log of who has gone: they are compacted every two or
// three minutes.
const outgrown = 5 * time.Minute

// TestAway: a node that was killed and comes back when its session, its leases and the epochs of its partitions are over takes
// part again as before; by snapshot if the others' logs no longer reach back to where it was. Then a node that has stayed is
// killed for good, and the one that was away takes partitions over from it, by its own copy of what was done meanwhile.
func TestAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	usable(t)
	const before, sites = 15 * time.Second, 60
	each := max(2*perConn, *pages/sites)
	length := before + *away + max(*away/9, 45*time.Second) // of a crawl that nothing disturbs
	ctx := context.Background()
	r, end, err := begin(ctx, Config{
		Weir: build(t), Dir: folder(t, "away"), Seed: *seed, Nodes: *nodes, Settle: *settle + length, Log: events(),
		Web:  testweb.Even(sites, testweb.Site{Pages: each, Links: 12, Size: 4000, Latency: 5 * time.Millisecond}),
		Pace: (length * perConn / time.Duration(each)).Round(10 * time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	stayed, gone := r.machines[0], r.machines[1]
	r.harm(ctx, r.now(), []Fault{{At: before, For: *away, Kind: Kill, Node: gone.i}})
	if n := r.compacted(gone, r.spans[0].Start); n <= overlay.Logs && *away >= outgrown {
		t.Errorf("only %d Raft logs were compacted: the node that is back finds what it missed in the others", n)
	}
	r.caughtUp(ctx, t, stayed, gone)
	r.say("kill %s for good", stayed.name())
	r.spans = append(r.spans, Span{Kind: Kill, Node: stayed.i, Start: r.now()})
	stayed.kill()
	for i := range r.spans {
		r.spans[i].End = r.spans[i].Start + 1 // a kill explains what was under way then, and nothing of the time after
	}
	res, err := r.finish(ctx, r.now())
	if err != nil {
		t.Fatal(err)
	}
	check(t, res)
	t.Logf("%d nodes, one away for %v, then another\n%s", *nodes, *away, table([]*Result{res}))
}

// compacted counts the Raft groups whose logs all but one node have compacted since a time.
func (r *run) compacted(but *machine, since time.Duration) (n int) {
	groups := map[string]bool{}
	for _, m := range r.machines {
		if m == but {
			continue
		}
		folders, _ := filepath.Glob(filepath.Join(m.dir, "cluster", "server", "jetstream", "$SYS", "_js_", "*", "snapshots"))
		for _, f := range folders {
			g := filepath.Base(filepath.Dir(f))
			all, known := groups[g]
			groups[g] = (all || !known) && changed(f, r.begin.Add(since))
		}
	}
	for _, all := range groups {
		if all {
			n++
		}
	}
	r.say("%d of %d Raft logs were compacted since %v", n, len(groups), since)
	return n
}

// changed says whether a folder has a file that is newer than a time.
func changed(dir string, since time.Time) bool {
	files, _ := os.ReadDir(dir)
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		info, err := f.Info()
		return err == nil && info.ModTime().After(since)
	})
}

// caughtUp waits until a node that is back has all that the others have, its share of the partitions, and a page of the web.
func (r *run) caughtUp(ctx context.Context, t *testing.T, stayed, m *machine) {
	t.Helper()
	back := r.now()
	var level, share, page time.Duration
	for level == 0 || share == 0 || page == 0 {
		if r.now() > back+patience+2*r.cfg.wait() {
			t.Errorf("%s has not caught up in time", m.name())
			break
		}
		r.until(ctx, r.now()+500*time.Millisecond)
		s, err := r.status(ctx, stayed)
		if err != nil {
			r.say("status by %s: %v", stayed.name(), err)
			continue
		}
		lag, owned := uint64(0), 0
		for _, n := range s.Nodes {
			lag = max(lag, n.Lag)
			if n.Name == m.name() {
				owned = n.Owned
			}
		}
		now := r.now()
		r.say("lag %d, status by %s: %v", lag, stayed.name(), s)
		if level == 0 && owned > 0 && lag == 0 {
			level = now - back
		}
		if share == 0 && owned >= overlay.Parts/r.cfg.Nodes*9/10 {
			share = now - back
		}
		r.mu.Lock()
		for _, v := range r.visits {
			if page == 0 && v.Node == m.i && v.At > back {
				page = v.At - back
			}
		}
		r.mu.Unlock()
	}
	t.Logf("%s is back after %v: level with the others %v later, its partitions %v, its first page %v (0: never)", m.name(), *away, level, share, page.Round(time.Millisecond))
}
