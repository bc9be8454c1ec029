package crawl

import (
	"encoding/binary"
	"testing"
	"time"

	"weir/frontier"
	"weir/page"
)

// What pages of a host take is in its row after all else: rows without it are
// read as ever, and a row that lies is not believed.
func TestPaceInHostRows(t *testing.T) {
	row := func(numbers ...int64) []byte {
		var b []byte
		for _, n := range numbers {
			b = binary.AppendVarint(b, n)
		}
		return b
	}
	l := &Ledger{wall: 1e18}
	for _, st := range []frontier.HostState{
		{Failures: 2, Last: time.Second, Rest: time.Minute},
		{Pace: 300 * time.Millisecond},
		{Failures: 1, Pace: time.Second},
	} {
		l.extra = nil
		l.Host("a.example", st)
		if got, err := l.readHost(l.extra[0].Value); err != nil || got != st {
			t.Errorf("%+v was kept and came back as %+v, %v", st, got, err)
		}
	}
	for _, c := range []struct {
		name string
		row  []byte
		want frontier.HostState
	}{
		{"of an earlier version", row(3, int64(time.Second), 0), frontier.HostState{Failures: 3, Last: time.Second}},
		{"negative", row(0, 0, 0, -5), frontier.HostState{}},
		{"too long", row(0, 0, 0, 1<<62), frontier.HostState{Pace: page.MaxPause}},
	} {
		if got, err := l.readHost(c.row); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	if _, err := l.readHost(append(row(0, 0, 0), 0x80)); err == nil {
		t.Error("a row that is cut off was read")
	}
}

// TestPaceIsDurable: a crawl whose pages per connection follow the backlog keeps
// the pace of hosts that have much to do, and begins its next run with it.
func TestPaceIsDurable(t *testing.T) {
	for seed := uint64(1); ; seed++ {
		if seed > 40 {
			t.Fatal("no pace was kept in any crawl")
		}
		s := newSim(t, seed)
		s.cfg.Frontier.Auto, s.cfg.Frontier.PerConn, s.cfg.Frontier.Conns = true, 100, 6
		s.crawl(0)
		s.ledger.Clock(s.wall())
		st, err := s.ledger.Start(true)
		s.must(err)
		for _, h := range st.Hosts {
			if h.State.Pace > 0 {
				return
			}
		}
	}
}
