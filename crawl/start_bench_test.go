package crawl

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"weir/frontier"
)

// rowsOfSites is a KV of a million sites with pages waiting, and as many that
// are over; every tenth host has failed. It makes its rows as they are read.
type rowsOfSites struct {
	KV
	n int
}

func (rowsOfSites) Get([]byte) ([]byte, bool, error) { return nil, false, nil }

func (r rowsOfSites) Scan(from, _ []byte, each func(key, value []byte) bool) error {
	var key, value []byte
	for i := 1; i <= 2*r.n; i++ {
		switch {
		case from[0] == keySite:
			key = binary.BigEndian.AppendUint32(append(key[:0], keySite), uint32(i))
			s := siteRow{name: fmt.Sprintf("https://www.site%d.example", i), queued: int64(i % 2), ended: 3, fetched: 2}
			value = s.append(value[:0])
		case i%10 > 0:
			continue
		default:
			key = fmt.Appendf(append(key[:0], keyHost), "www.site%d.example", i)
			value = append(value[:0], 4, 0, 0)
		}
		if !each(key, value) {
			break
		}
	}
	return nil
}

// BenchmarkStart begins a crawl again that has a million sites with pages
// waiting: how long it takes, and what stays in memory for each of them.
func BenchmarkStart(b *testing.B) {
	const sites = 1_000_000
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for range b.N {
		before := heap()
		l, err := NewLedger(rowsOfSites{n: sites}, LedgerConfig{Order: frontier.Length{}})
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		st, err := l.Start(true)
		if err != nil || len(st.Sites) != sites {
			b.Fatalf("%d sites, %v", len(st.Sites), err)
		}
		read := time.Since(began)
		event := heap() - before
		e, err := NewEngine(EngineConfig{Order: "length", Frontier: frontier.Config{Wait: time.Second, PerConn: 1, Conns: 100, PerServer: 4, Hot: 4096}})
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		e.Step(1, st)
		b.ReportMetric(read.Seconds(), "s/read")
		b.ReportMetric(time.Since(began).Seconds(), "s/step")
		b.ReportMetric(event/sites, "B/site-event")
		st = Start{}
		b.ReportMetric((heap()-before)/sites, "B/site")
		runtime.KeepAlive(e)
	}
}
