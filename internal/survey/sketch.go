package survey

import (
	"math"
	"slices"

	"weir/page"
)

// sketch counts different URLs in little memory, and draws some of them with
// equal chances. Of all hashes it keeps the smallest: their number while they are
// few, and how densely they lie later, tell how many there are. With sketched of
// them the count is right within two hundredths, as a rule.
type sketch struct {
	secret page.Secret // so that no site can choose what is drawn
	low    []uint64    // the smallest hashes, and newer ones; all when not full
	full   bool        // low had more than sketched different ones
	limit  uint64      // when full: hashes from here on are not among the smallest
	draw   int         // how many URLs to draw
	drawn  []draw      // the smallest ones, in order
}

type draw struct {
	hash uint64
	url  page.URL
}

const sketched = 1 << 13

func (s *sketch) add(u page.URL) {
	h := s.secret.Hash(u.String())
	s.keep(h, u)
	if s.full && h >= s.limit {
		return
	}
	if s.low = append(s.low, h); len(s.low) >= 2*sketched {
		s.settle()
	}
}

func (s *sketch) keep(h uint64, u page.URL) {
	i, found := slices.BinarySearchFunc(s.drawn, h, func(d draw, h uint64) int {
		switch {
		case d.hash < h:
			return -1
		case d.hash > h:
			return 1
		}
		return 0
	})
	if found || i >= s.draw {
		return
	}
	s.drawn = slices.Insert(s.drawn, i, draw{h, u})
	s.drawn = s.drawn[:min(len(s.drawn), s.draw)]
}

// settle drops what is there twice or too much.
func (s *sketch) settle() {
	slices.Sort(s.low)
	s.low = slices.Compact(s.low)
	if len(s.low) > sketched {
		s.low = s.low[:sketched]
		s.full = true
		s.limit = s.low[sketched-1]
	}
}

// count returns how many different URLs there were.
func (s *sketch) count() float64 {
	s.settle()
	if !s.full {
		return float64(len(s.low))
	}
	return (sketched - 1) / (float64(s.limit) / math.MaxUint64)
}

// urls returns those that were drawn.
func (s *sketch) urls() []page.URL {
	out := make([]page.URL, len(s.drawn))
	for i, d := range s.drawn {
		out[i] = d.url
	}
	return out
}
