package crawl

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
	"weir/page"
)

func TestBucketIsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(bucket{}); size != bucketBytes {
		t.Errorf("a bucket has %d bytes", size)
	}
}

// TestSeenIsAMap holds the table against a map of fingerprints to depths.
func TestSeenIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSeen(0, true)
		model := map[uint64]uint8{}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		spread := rapid.SampledFrom([]uint64{1 << 10, 1 << 20, 1 << 63}).Draw(t, "spread")
		for range rapid.IntRange(0, 20_000).Draw(t, "ops") {
			k := page.Key{Site: page.SiteID(rng.IntN(3)), Hash: rng.Uint64() % spread}
			print, depth := fingerprint(k), uint8(rng.IntN(256))
			d, ok := s.find(print)
			want, known := model[print]
			if ok != known || d != want {
				t.Fatalf("find = %d %v, want %d %v", d, ok, want, known)
			}
			if rng.IntN(2) == 0 {
				s.add(print, depth)
				if !known || depth < want {
					model[print] = depth
				}
			}
		}
		if s.pages != int64(len(model)) || !s.whole() {
			t.Fatalf("%d pages, want %d", s.pages, len(model))
		}
	})
}

// TestSeenKeepsItsBudget fills a small table over its budget: it stays within,
// knows that it is not whole, and forgets nothing it had.
func TestSeenKeepsItsBudget(t *testing.T) {
	const budget = 1 << 20
	s := newSeen(budget, true)
	var kept []uint64
	for i := range uint64(300_000) {
		print := fingerprint(page.Key{Site: 1, Hash: i * 0x9e3779b97f4a7c15})
		s.add(print, 3)
		if _, ok := s.find(print); ok {
			kept = append(kept, print)
		}
	}
	if s.bytes > budget || s.whole() || len(kept) < budget/bucketBytes*perBucket/2 {
		t.Errorf("%d bytes, whole %v, %d kept", s.bytes, s.whole(), len(kept))
	}
	for _, print := range kept {
		if d, ok := s.find(print); !ok || d != 3 {
			t.Fatal("an entry was lost")
		}
		s.add(print, 1)
		if d, _ := s.find(print); d != 1 {
			t.Fatal("a depth did not improve")
		}
	}
}

func BenchmarkSeen(b *testing.B) {
	s := newSeen(0, true)
	const n = 5_000_000
	for i := range uint64(n) {
		s.add(fingerprint(page.Key{Site: page.SiteID(i & 1023), Hash: i * 0xd6e8feb86659fd93}), 1)
	}
	b.ReportMetric(float64(s.bytes)/n, "B/page")
	b.ResetTimer()
	i := uint64(0)
	for b.Loop() {
		i = (i + 7919) % (2 * n)
		s.find(fingerprint(page.Key{Site: page.SiteID(i & 1023), Hash: i * 0xd6e8feb86659fd93}))
	}
	b.ReportMetric(float64(s.bytes)/n, "B/page")
}
