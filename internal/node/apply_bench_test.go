package node

import (
	"fmt"
	"testing"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/cputime"
	"weir/internal/store"
	"weir/overlay"
	"weir/page"
)

// BenchmarkApply measures what a row of a partition's log costs a node that stands by,
// or has to catch up: read it, keep it with its place in the queue, durably; then that
// its page has ended elsewhere. One operation is a row, and its end.
func BenchmarkApply(b *testing.B) {
	s, err := store.Create(b.TempDir(), store.Options{Form: store.None})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	secret := page.Secret{1}
	rules := benchRules(b, "", secret, s)
	keys := overlay.NewKeys(overlay.Scheme{}, overlay.Parts)
	l, err := crawl.NewLedger(s, crawl.LedgerConfig{
		Order: frontier.Length{}, Trap: frontier.DefaultTrap(), Rules: rules, Traits: rules.Traits(), Secret: secret,
		Share: &crawl.Sharing{Keys: keys, Parts: overlay.Parts, Node: "n", Origin: 1},
	})
	if err != nil {
		b.Fatal(err)
	}
	const sites, most = 80, 500
	type batch struct {
		part int
		data []byte
	}
	var rows, ends []batch
	for from := 0; from < b.N; from += most {
		site := fmt.Sprintf("http://s%04d.test", from/most%sites)
		var r overlay.Tuples
		d := overlay.Done{Epoch: 1, Node: "m"}
		for i := from; i < min(from+most, b.N); i++ {
			u := page.Canonical(fmt.Sprintf("%s/p/%d", site, i))
			r.Rows = append(r.Rows, overlay.Row{URL: u, Depth: 2})
			d.Pages = append(d.Pages, overlay.Ended{Site: site, Hash: secret.Hash(u.Rest()), Outcome: page.OK, Status: 200, Depth: 2})
		}
		part := keys.Home(r.Rows[0].URL)
		rows = append(rows, batch{part, overlay.AppendBatch(nil, &overlay.Batch{Origin: 2, Records: []overlay.Record{r}})})
		ends = append(ends, batch{part, overlay.AppendBatch(nil, &overlay.Batch{Origin: 2, Records: []overlay.Record{d}})})
	}
	b.ReportAllocs()
	b.ResetTimer()
	offset := uint64(0)
	apply := func(what string, list []batch) {
		used := cputime.Used()
		var g *store.Group
		for i, x := range list {
			batch, err := overlay.ReadBatch(x.data)
			if err != nil {
				b.Fatal(err)
			}
			if offset++; g == nil {
				g = s.Begin()
			}
			if err := l.Apply(x.part, offset, batch); err != nil {
				b.Fatal(err)
			}
			if l.Bytes() < groupBytes && i%groupPages != groupPages-1 && i < len(list)-1 {
				continue
			}
			if _, err := l.Flush(g); err != nil {
				b.Fatal(err)
			}
			if err := g.Commit(); err != nil {
				b.Fatal(err)
			}
			g = nil
		}
		b.ReportMetric(float64((cputime.Used()-used).Microseconds())/float64(b.N), what)
	}
	apply("cpu-µs/row", rows)
	apply("cpu-µs/end", ends)
	b.StopTimer()
	if t, err := crawl.ReadTotals(s); err != nil || t.Seen != int64(b.N) || t.Queued != 0 {
		b.Errorf("%+v, %v", t, err)
	}
}
