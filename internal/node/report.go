package node

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"weir/page"
)

func (n *node) report() Report {
	t, s := n.ledger.Totals(), n.engine.Status()
	if n.broken {
		t = s.Totals // the Ledger has seen more than became durable
	}
	r := Report{
		Pages: t.Ended(), Fetched: t.Fetched, Bytes: t.Bytes, WireBytes: t.Wire, Errors: t.Errors(), Queued: t.Queued,
		Parked: t.Parked, Seconds: time.Since(n.began).Seconds(), Seeds: t.Seeds, SeedsOK: t.SeedsOK, Sites: int64(t.Sites),
		Outcomes: map[string]int64{}, StoppedBy: n.reason, Resumed: n.resumed, RunPages: t.Fetched - n.fresh.Fetched,
		Commits: n.commits.commits(), Robots: t.Robots, Dir: n.cfg.Dir, Waiting: s.Unreachable,
		Idle: s.IdleShare, Promises: Promises(s.Promises), Lent: n.lender.count() + n.peer.count(),
	}
	for _, o := range page.Outcomes() {
		if k := t.Outcomes[o]; k > 0 {
			r.Outcomes[o.String()] = k
		}
	}
	m, b := n.carried(), n.bound(s.Link.Used)
	r.Yields = b.Yields
	r.Bandwidth = Bandwidth{
		Limit: b.Number(), Mean: m.mean, Max1s: m.most, Control: s.Link.Control, Exact: n.wire != nil && n.wire.Exact(),
		Servers: s.Link.Servers, Used: s.Link.Used, Aside: b.Yielded.Seconds(),
	}
	return r
}

// writeReport replaces report.json in one step.
func writeReport(path string, r Report) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
