package bandwidth

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"
)

var (
	downloads = flag.String("downloads", "testdata/generated.csv", "the recording that predictions are compared on")
	renew     = flag.Bool("generate", false, "write testdata/generated.csv anew")
)

// errors2 are errors of predictions, as |log2(predicted/actual)|: 1 is a factor
// of two either way.
type errors2 []float64

func (e errors2) quantile(q float64) float64 {
	if len(e) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(e))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// warmAfter is how many downloads make a server well known.
const warmAfter = 10

// replay has p foretell each download before it learns of it. Downloads that our
// own limit slowed are learnt from but not judged by.
func replay(p *Predictor, all []download) (cold, warm errors2) {
	for _, d := range all {
		actual := float64(d.Bytes) / d.Elapsed.Seconds()
		e := p.Rate(d.at, d.server, d.domain)
		if !d.Throttled {
			off := math.Abs(math.Log2(e.Rate / actual))
			if !e.Known {
				cold = append(cold, off)
			} else if s := p.seen(d.server); s.n >= warmAfter {
				warm = append(warm, off)
			}
		}
		p.Learn(d.at, d.server, d.domain, d.Measure)
	}
	return cold, warm
}

func loadRecording(tb testing.TB) []download {
	b, err := os.ReadFile(*downloads)
	if err != nil {
		tb.Fatal(err)
	}
	all, err := readRecording(bytes.NewReader(b))
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// BenchmarkPrediction compares both forms by the error of what they foretell, for
// servers never seen (cold) and well known (warm), on -downloads FILE.
func BenchmarkPrediction(b *testing.B) {
	all := loadRecording(b)
	for _, exact := range []bool{true, false} {
		name := map[bool]string{true: "paper", false: "weir"}[exact]
		b.Run(name, func(b *testing.B) {
			var cold, warm errors2
			for b.Loop() {
				cold, warm = replay(NewPredictor(PredictorConfig{Exact: exact}), all)
			}
			b.ReportMetric(cold.quantile(0.5), "cold-p50-log2")
			b.ReportMetric(cold.quantile(0.9), "cold-p90-log2")
			b.ReportMetric(warm.quantile(0.5), "warm-p50-log2")
			b.ReportMetric(warm.quantile(0.9), "warm-p90-log2")
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(all)), "ns/download")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func BenchmarkLearn(b *testing.B) {
	for _, exact := range []bool{true, false} {
		b.Run(map[bool]string{true: "paper", false: "weir"}[exact], func(b *testing.B) {
			p := NewPredictor(PredictorConfig{Exact: exact})
			server := netip.MustParseAddr("198.51.100.7")
			t := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
			m := Measure{Bytes: 30e3, Elapsed: 400 * time.Millisecond, First: 150 * time.Millisecond}
			for range 100 {
				p.Learn(t, server, "example.com", m)
			}
			b.ReportAllocs()
			for b.Loop() {
				t = t.Add(time.Second)
				p.Learn(t, server, "example.com", m)
			}
		})
	}
}

func BenchmarkRate(b *testing.B) {
	p := NewPredictor(PredictorConfig{})
	server := netip.MustParseAddr("198.51.100.7")
	t := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	p.Learn(t, server, "example.com", Measure{Bytes: 30e3, Elapsed: 400 * time.Millisecond})
	for name, addr := range map[string]netip.Addr{"known": server, "new": netip.MustParseAddr("198.51.100.8")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Rate(t, addr, "example.com")
			}
		})
	}
}

// The recording in testdata is what its generator makes, up to how a machine
// rounds.
func TestRecordingGenerated(t *testing.T) {
	const name = "testdata/generated.csv"
	want := generate()
	if *renew {
		if err := os.WriteFile(name, writeRecording(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readRecording(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d downloads in %s, %d generated; run go test -run %s -generate", len(got), name, len(want), t.Name())
	}
	const rounding = 101 * time.Microsecond
	for i, g := range got {
		w := want[i]
		if g.at != w.at || g.server != w.server || g.domain != w.domain || max(g.Bytes-w.Bytes, w.Bytes-g.Bytes) > 1 ||
			(g.First-w.First).Abs() > rounding || (g.Elapsed-w.Elapsed).Abs() > rounding || g.Throttled != w.Throttled {
			t.Fatalf("%s, line %d: %+v, generated %+v", name, i+2, g, w)
		}
	}
}

// weir's own form is the default because it foretells better, cold and warm.
func TestPredictionBetter(t *testing.T) {
	all := loadRecording(t)
	var table bytes.Buffer
	fmt.Fprintf(&table, "%-6s %6s %6s %6s %6s\n", "", "cold50", "cold90", "warm50", "warm90")
	var q [2][4]float64
	for i, exact := range []bool{true, false} {
		cold, warm := replay(NewPredictor(PredictorConfig{Exact: exact}), all)
		q[i] = [4]float64{cold.quantile(0.5), cold.quantile(0.9), warm.quantile(0.5), warm.quantile(0.9)}
		fmt.Fprintf(&table, "%-6s %6.2f %6.2f %6.2f %6.2f   (%d cold, %d warm)\n", []string{"paper", "weir"}[i], q[i][0], q[i][1], q[i][2], q[i][3], len(cold), len(warm))
	}
	t.Logf("|log2(predicted/actual)| on %s\n%s", *downloads, &table)
	if *downloads != flag.Lookup("downloads").DefValue {
		return // the table is the answer
	}
	for k := range q[0] {
		if !math.IsNaN(q[0][k]) && q[1][k] > q[0][k] {
			t.Errorf("column %d: weir's form errs by %.2f, the paper's by %.2f", k, q[1][k], q[0][k])
		}
	}
}
