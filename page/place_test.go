package page

import (
	"strconv"
	"strings"
	"testing"
)

// Where things live is written to disk and agreed on by nodes of several
// versions: it must never change.
func TestSumIsFixed(t *testing.T) {
	for s, want := range map[string]uint64{
		"":                              0x8af9f80a650d668b,
		"a":                             0xd83ad7bfb516830e,
		"www.example.org":               0x2ec7226587ef6988,
		"https://www.example.org/a/b/c": 0x786730dd9d70d4d1,
	} {
		if got := Sum(s); got != want {
			t.Errorf("%q: %#x, want %#x", s, got, want)
		}
		if Sum(s) != Sum([]byte(s)) {
			t.Errorf("%q differs from its bytes", s)
		}
	}
}

func TestPlaceSpreads(t *testing.T) {
	const places, things = 256, 256 * 400
	counts := make([]int, places)
	for i := range things {
		counts[Place(Sum("https://www.example.org/page?id="+strconv.Itoa(i)), places)]++
	}
	for p, n := range counts {
		if n < 300 || n > 500 { // five standard deviations
			t.Errorf("place %d has %d things of about 400", p, n)
		}
	}
}

func TestSumTellsLengthsApart(t *testing.T) {
	seen := map[uint64]int{}
	for n := range 300 {
		h := Sum(strings.Repeat("\x00", n))
		if m, ok := seen[h]; ok {
			t.Errorf("%d and %d zeros hash alike", m, n)
		}
		seen[h] = n
	}
}
